"""Reclaim: who goes when an owner comes for its cards, and when nobody does (behaviour.md 5.4)."""

import pytest

from sky_core.testing.objects import GPU, Object, budget, node, pod, priority_class, quota
from sky_core.testing.stories import at, cards, fixed, gang, gone, note, reborn, spot, spot_node, tell

NEVER = priority_class("never", 0, preemptionPolicy="Never")
GUARDED: Object = {"labels": {"app": "guarded"}}


def lenders(*names: str) -> list[Object]:
    return [spot_node(name) for name in names]


def filling(name: str, on: str, count: int = 8, units: int = 1, **fields: Object) -> list[Object]:
    """Spot pods on a node."""
    return [spot(f"{name}{i}", units, on=on, **fields) for i in range(count)]


def test_as_many_go_as_it_takes_and_the_claimant_binds_when_they_are_gone() -> None:
    tale = tell(spot_node("n0"), fixed("q", 4, "n0"), *filling("s", "n0"), pod("w", cards(3)))
    assert len(tale.evicted) == 3
    assert {e["cycle"] for e in tale.told["evictions"]} == {1}
    assert {e["for"] for e in tale.told["evictions"]} == {"default/w"}
    assert tale.bound["w"] == 3


def test_room_that_is_there_counts() -> None:
    tale = tell(spot_node("n0"), fixed("q", 4, "n0"), *filling("s", "n0", 6), pod("w", cards(3)))
    assert len(tale.evicted) == 1
    enough = tell(spot_node("n0"), fixed("q", 4, "n0"), *filling("s", "n0", 5), pod("w", cards(3)))
    assert enough.evicted == []
    assert enough.bound["w"] == 1


def test_only_pods_on_the_claimants_own_nodes_go() -> None:
    tale = tell(
        *lenders("n0", "n1"), fixed("q", 8, "n1"), *filling("s", "n0"), *filling("t", "n1", 4, 2), pod("w", cards(2))
    )
    assert tale.evicted == ["t0"]


def test_a_gang_is_made_room_for_on_all_its_nodes_at_once() -> None:
    quotas = [fixed(f"q{i}", 8, f"n{i}") for i in range(2)]
    fill = [*filling("s", "n0", 2, 4), *filling("t", "n1", 2, 4)]
    tale = tell(*lenders("n0", "n1"), *quotas, *fill, *gang("w", 2, cards(8)))
    assert sorted(tale.evicted) == ["s0", "s1", "t0", "t1"]
    assert tale.bound["w-0"] == tale.bound["w-1"] == 3


def test_nobody_goes_if_one_member_of_the_gang_would_still_not_fit() -> None:
    quotas = [fixed(f"q{i}", 8, f"n{i}") for i in range(2)]
    fill = [*filling("s", "n0", 2, 4), *filling("t", "n1", 1, 4)]
    foreign = pod("other", cards(1), on="n1", scheduler="default-scheduler")
    tale = tell(*lenders("n0", "n1"), *quotas, *fill, foreign, *gang("w", 2, cards(8)), cycles=30)
    assert tale.evicted == []
    assert tale.places("w-0", "w-1") == [None, None]


def test_a_node_that_refuses_the_claimant_for_something_else_loses_no_pod() -> None:
    tale = tell(spot_node("n0", unschedulable=True), fixed("q", 8, "n0"), *filling("s", "n0"), pod("w", cards(2)))
    assert tale.evicted == []
    assert "NodeUnschedulable" in tale.codes("w")


def test_quotas_are_placed_where_evictions_cost_nothing() -> None:
    tale = tell(*lenders("n0", "n1"), quota("q", cards(8)), *filling("s", "n0", 1), pod("w", cards(8)))
    assert tale.evicted == []
    assert tale.place("w") == "n1"


def test_quotas_are_placed_where_the_cheapest_pods_would_have_to_go() -> None:
    fill = [spot("dear", 8, on="n0", priority=1000), spot("cheap", 8, on="n1", priority=0)]
    tale = tell(*lenders("n0", "n1"), quota("q", cards(8)), *fill, pod("w", cards(8)))
    assert tale.evicted == ["cheap"]
    assert tale.place("w") == "n1"


def test_shared_pods_go_only_where_cpu_or_memory_is_short() -> None:
    asks = {"cpu": "40"}
    low = [spot("low", 1, on="n0", notes={"spot-pool": "shared"}, more=asks)]
    machine, held = spot_node("n0", exclusive=4, shared=4), fixed("q", 8, "n0")
    for_cpu = tell(machine, held, *low, pod("w", {GPU: "1", "cpu": "40"}))
    assert for_cpu.evicted == ["low"]
    for_cards = tell(machine, held, *low, spot("s", 4, on="n0"), pod("w", {GPU: "8", "cpu": "1"}))
    assert for_cards.evicted == ["s"]


def test_pods_of_other_schedulers_are_never_victims() -> None:
    foreign = spot("other", 8, on="n0", scheduler="default-scheduler")
    tale = tell(spot_node("n0"), fixed("q", 8, "n0"), foreign, pod("w", cards(1)), cycles=20)
    assert tale.evicted == []
    assert tale.place("w") is None


@pytest.mark.parametrize("mark", [{"namespace": "kube-system"}, {"priorityClassName": "system-node-critical"}])
def test_what_the_cluster_needs_is_never_a_victim(mark: Object) -> None:
    tale = tell(spot_node("n0"), fixed("q", 8, "n0"), spot("s", 8, on="n0", **mark), pod("w", cards(1)), cycles=20)
    assert tale.evicted == []
    assert "EvictionBlocked" in tale.codes("w")


def test_a_budget_that_allows_nothing_protects_its_pods() -> None:
    guarded = filling("g", "n0", 2, 2, metadata=GUARDED)
    fill = [*guarded, *filling("s", "n0", 2, 2)]
    tale = tell(
        spot_node("n0"), fixed("q", 8, "n0"), *fill, budget("b", {"app": "guarded"}, minAvailable=2), pod("w", cards(4))
    )
    assert sorted(tale.evicted) == ["s0", "s1"]


def test_a_budget_counts_what_this_decision_evicts() -> None:
    fill, allows_one = filling("g", "n0", 2, 4, metadata=GUARDED), budget("b", {"app": "guarded"}, maxUnavailable=1)
    tale = tell(spot_node("n0"), fixed("q", 8, "n0"), *fill, allows_one, pod("w", cards(8)), cycles=30)
    assert tale.evicted == []
    assert "EvictionBlocked" in tale.codes("w")


def test_a_budget_counts_across_the_nodes_of_a_gang() -> None:
    quotas = [fixed(f"q{i}", 8, f"n{i}") for i in range(2)]
    fill = [*filling("g", "n0", 1, 8, metadata=GUARDED), *filling("h", "n1", 1, 8, metadata=GUARDED)]
    allows_one = budget("b", {"app": "guarded"}, maxUnavailable=1)
    tale = tell(*lenders("n0", "n1"), *quotas, *fill, allows_one, *gang("w", 2, cards(8)), cycles=30)
    assert tale.evicted == []
    assert "EvictionBlocked" in tale.codes("w")


def test_where_a_budget_lets_one_go_it_is_one_that_is_enough() -> None:
    fill = [spot("small", 2, on="n0", metadata=GUARDED), spot("large", 6, on="n0", metadata=GUARDED)]
    allows_one = budget("b", {"app": "guarded"}, maxUnavailable=1)
    tale = tell(spot_node("n0"), fixed("q", 8, "n0"), *fill, allows_one, pod("w", cards(6)))
    assert tale.evicted == ["large"]


def test_a_job_that_never_preempts_makes_nobody_go_and_takes_room_elsewhere() -> None:
    never = pod("w", cards(2), priorityClassName="never")
    crowded = [spot_node("n0"), fixed("q0", 2, "n0"), *filling("s", "n0"), NEVER]
    waits = tell(*crowded, never, cycles=20)
    assert waits.evicted == []
    assert "EvictionBlocked" in waits.codes("w")
    elsewhere = tell(*crowded, node("n1"), quota("q1", cards(2)), never)
    assert elsewhere.evicted == []
    assert elsewhere.place("w") == "n1"


def test_nobody_goes_for_a_neighbour_that_never_preempts() -> None:
    claimants = [
        pod("w", cards(2), notes={"quota-name": "q0"}),
        pod("v", cards(2), notes={"quota-name": "q1"}, priorityClassName="never"),
    ]
    tale = tell(spot_node("n0"), fixed("q0", 2, "n0"), fixed("q1", 2, "n0"), NEVER, *filling("s", "n0"), *claimants)
    assert len(tale.evicted) == 2
    assert tale.places("w", "v") == ["n0", None]


def test_a_claim_beyond_what_a_quota_requests_makes_nobody_go() -> None:
    lent = fixed("q0", 1, "n0", status={"shadowResource": cards(4)})
    crowded = [spot_node("n0"), lent, *filling("s", "n0")]
    assert tell(*crowded, pod("w", cards(2)), cycles=20).evicted == []
    assert tell(*crowded, node("n1"), quota("q1", cards(2)), pod("w", cards(2))).place("w") == "n1"
    idle = tell(spot_node("n0"), lent, *filling("s", "n0", 6), pod("w", cards(2)))
    assert (idle.place("w"), idle.evicted) == ("n0", [])


def test_two_claimants_on_a_node_are_each_made_room_for_by_their_own_victims() -> None:
    quotas = [fixed(f"q{i}", 4, "n0") for i in range(2)]
    claimants = [pod(name, cards(4)) for name in ("v", "w")]
    tale = tell(spot_node("n0"), *quotas, *filling("s", "n0"), *claimants)
    fors = [e["for"] for e in tale.told["evictions"]]
    assert sorted(fors) == ["default/v"] * 4 + ["default/w"] * 4
    assert tale.bound["v"] == tale.bound["w"] == 3


def test_what_one_claimants_victims_leave_over_is_for_the_next() -> None:
    quotas = [fixed(f"q{i}", 4, "n0") for i in range(2)]
    tale = tell(spot_node("n0"), *quotas, spot("s", 8, on="n0"), *(pod(name, cards(4)) for name in ("v", "w")))
    assert tale.evicted == ["s"]
    assert tale.bound["v"] == tale.bound["w"] == 3


def test_the_room_is_held_against_other_spot_pods_and_against_the_victim_made_again() -> None:
    victim = spot("s", 8, on="n0")
    again = reborn(spot("s", 8))
    later = (at(1, apply=again), at(1, apply=spot("late", 1)))
    tale = tell(spot_node("n0"), fixed("q", 8, "n0"), victim, pod("w", cards(8)), later=later)
    assert tale.evicted == ["s"]
    assert tale.places("w", "s", "late") == ["n0", None, None]


def test_extras_make_nobody_go() -> None:
    quotas = [fixed(f"q{i}", 4, "n0") for i in range(2)]
    tale = tell(spot_node("n0"), *quotas, *filling("s", "n0"), *gang("w", 2, cards(4), least=1))
    assert len(tale.evicted) == 4
    assert tale.places("w-0", "w-1") == ["n0", None]


def test_a_lost_rank_of_a_running_gang_is_made_room_for() -> None:
    quotas = [fixed(f"q{i}", 8, f"n{i}") for i in range(2)]
    members = gang("w", 2, cards(8))
    later = (at(5, delete=gone("w-1")), at(8, apply=spot("s", 8)), at(12, apply=reborn(members[2])))
    tale = tell(*lenders("n0", "n1"), *quotas, *members, later=later)
    assert tale.evicted == ["s"]
    assert tale.places("w-0", "w-1") == ["n0", "n1"]


def test_zones_where_nobody_has_to_go_come_first() -> None:
    machines = [spot_node(f"n{i}", more={"rdma/hca": "8"}, labels={note("zone"): f"roce#s{i // 2}"}) for i in range(4)]
    quotas = [quota(f"q{i}", {GPU: "8", "rdma/hca": "8"}) for i in range(2)]
    tale = tell(*machines, *quotas, spot("s", 1, on="n0"), *gang("w", 2, {GPU: "8", "rdma/hca": "8"}))
    assert tale.evicted == []
    assert tale.places("w-0", "w-1") == ["n2", "n3"]
