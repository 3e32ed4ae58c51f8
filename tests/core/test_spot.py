"""Spot pods: cards that are promised and unused, lent until their owner comes (behaviour.md 5.5, 7.4)."""

from sky_core.testing.objects import GPU, HCA, SPOT, Object, node, pod, queue
from sky_core.testing.stories import at, cards, fixed, gang, gone, note, spot, spot_node, tell

LOW_POWER = {"spot-pool": "shared"}


def idle(tale_nodes: Object, name: str) -> tuple[str, str]:
    """What a node has left for pods and for promises, in cards."""
    return tale_nodes[name]["idle"][GPU], tale_nodes[name]["quotaIdle"][GPU]


def test_a_spot_pod_takes_a_card_of_its_node_and_nothing_of_what_is_promised() -> None:
    tale = tell(spot_node("n0"), spot("s", 3))
    assert tale.place("s") == "n0"
    assert idle(tale.told["nodes"], "n0") == ("5", "8")


def test_a_shared_spot_pod_takes_units_of_its_pool_alone() -> None:
    tale = tell(spot_node("n0", exclusive=4, shared=16), spot("s", 16, notes=LOW_POWER))
    assert tale.place("s") == "n0"
    assert idle(tale.told["nodes"], "n0") == ("8", "8")


def test_each_pool_ends_by_itself() -> None:
    machine = spot_node("n0", exclusive=2, shared=1)
    full = [spot("e", 2, on="n0"), spot("l", 1, on="n0", notes=LOW_POWER)]
    tale = tell(machine, *full, spot("more", 1), spot("more-shared", 1, notes=LOW_POWER))
    assert tale.places("more", "more-shared") == [None, None]
    assert "SpotInsufficient" in tale.codes("more") & tale.codes("more-shared")


def test_without_a_split_all_units_are_exclusive() -> None:
    machine = node("n0", {GPU: "8", SPOT: "4", "pods": "110"})
    tale = tell(machine, spot("a", 4), spot("b", 1, notes=LOW_POWER))
    assert tale.places("a", "b") == ["n0", None]


def test_a_split_beyond_what_there_is_spoils_the_split_alone() -> None:
    machine = node("n0", {GPU: "8", SPOT: "4", "pods": "110"}, notes={"spot-pools": '{"shared": 3, "exclusive": 2}'})
    tale = tell(machine, spot("s", 4))
    assert [fault["object"] for fault in tale.told["invalid"]] == ["Node/n0"]
    assert tale.place("s") == "n0"


def test_spot_runs_on_cards_that_are_promised_and_not_where_they_are_used() -> None:
    owner = pod("w", cards(6), notes={"quota-name": "q"})
    tale = tell(spot_node("n0"), fixed("q", 6, "n0"), owner, spot("s", 2), spot("t", 1))
    assert tale.place("s") == "n0"
    assert tale.place("t") is None


def test_spot_packs_nodes_by_what_is_used_there() -> None:
    tale = tell(spot_node("n0"), spot_node("n1"), spot("old", 3, on="n1"), spot("s", 2))
    assert tale.place("s") == "n1"


def test_a_spot_pod_claims_no_quota_even_if_it_names_one() -> None:
    tale = tell(spot_node("n0"), fixed("q", 8, "n0"), spot("s", 1, notes={"quota-name": "q"}))
    assert tale.place("s") == "n0"
    assert tale.told["quotas"]["q"]["tasks"] == []


def test_a_pod_that_asks_for_cards_both_ways_is_invalid() -> None:
    tale = tell(spot_node("n0"), fixed("q", 8, "n0"), pod("w", {GPU: "1", SPOT: "1"}))
    assert tale.codes("w") == {"InvalidObject"}


def test_a_job_that_mixes_spot_and_other_pods_is_invalid() -> None:
    members = gang("w", 1, cards(1), least=2)
    tale = tell(spot_node("n0"), fixed("q", 8, "n0"), *members, spot("w-1", 1, group="w"))
    assert tale.codes("w") == {"InvalidObject"}
    assert tale.places("w-0", "w-1") == [None, None]


def test_a_spot_gang_starts_whole_or_not_at_all() -> None:
    tale = tell(spot_node("n0"), *gang("w", 3, {SPOT: "4"}))
    assert tale.places("w-0", "w-1", "w-2") == [None] * 3
    assert "SpotInsufficient" in tale.codes("w")
    grown = at(10, apply=spot_node("n1"))
    assert None not in tell(spot_node("n0"), *gang("w", 3, {SPOT: "4"}), later=(grown,)).places("w-0", "w-1", "w-2")


def test_extras_of_a_spot_gang_follow_each_alone() -> None:
    tale = tell(spot_node("n0"), *gang("w", 4, {SPOT: "3"}, least=2))
    assert tale.places("w-0", "w-1", "w-2", "w-3") == ["n0", "n0", None, None]


def test_a_spot_gang_keeps_to_one_kind_of_card() -> None:
    kinds = [spot_node(f"n{i}", labels={note("spec"): kind}) for i, kind in enumerate(["a100", "h100", "h100"])]
    tale = tell(*kinds, *gang("w", 2, {SPOT: "8"}))
    assert tale.places("w-0", "w-1") == ["n1", "n2"]


def test_a_spot_gang_that_asks_for_rdma_lands_in_one_zone_in_rank_order() -> None:
    switches = ["s1", "s2", "s2", "s2"]
    machines = [
        spot_node(f"n{i}", more={HCA: "8"}, labels={note("zone"): f"roce#{switch}"})
        for i, switch in enumerate(switches)
    ]
    tale = tell(*machines, *gang("w", 3, {SPOT: "8", HCA: "8"}))
    assert tale.places("w-0", "w-1", "w-2") == ["n1", "n2", "n3"]
    assert tale.told["jobs"]["default/w"]["zones"] == ["roce#s2"]


def test_a_spot_gang_that_requires_a_zone_waits_for_one() -> None:
    machines = [spot_node(f"n{i}", more={HCA: "8"}, labels={note("zone"): f"roce#s{i}"}, notes={}) for i in range(2)]
    strict = {"notes": {"topology-policy": "required"}}
    tale = tell(*machines, *gang("w", 2, {SPOT: "8", HCA: "8"}, group=strict))
    assert tale.places("w-0", "w-1") == [None, None]
    assert "TopologyZoneInsufficient" in tale.codes("w")


def test_spot_counts_against_its_queues_capability() -> None:
    capped = queue("small", capability={SPOT: "3"})
    asks = [spot(name, 2, notes={"queue-name": "small"}) for name in ("a", "b")]
    tale = tell(capped, spot_node("n0"), *asks)
    assert tale.places("a", "b") == ["n0", None]
    assert tale.codes("b") == {"QueueCapabilityExceeded"}


def test_a_closed_queue_lets_no_spot_in() -> None:
    tale = tell(queue("shut", state="Closed"), spot_node("n0"), spot("s", 1, notes={"queue-name": "shut"}))
    assert tale.place("s") is None
    assert tale.codes("s") == {"QueueClosed"}


def test_spot_evicts_nobody_whatever_its_priority() -> None:
    tale = tell(spot_node("n0"), spot("old", 8, on="n0", priority=0), spot("s", 8, priority=1000), cycles=30)
    assert tale.evicted == []
    assert tale.place("s") is None


def test_spot_that_waits_follows_when_there_is_room() -> None:
    tale = tell(spot_node("n0"), spot("old", 8, on="n0"), spot("s", 8), later=(at(10, delete=gone("old")),))
    assert tale.place("s") == "n0"


def test_a_node_that_takes_no_pods_takes_no_spot_pods() -> None:
    tale = tell(spot_node("n0", unschedulable=True), spot("s", 1))
    assert tale.place("s") is None
    assert "NodeUnschedulable" in tale.codes("s")


def test_spot_whose_bindings_are_refused_makes_way_after_the_third() -> None:
    refusals = [at(0, failNextBind={"pod": "default/a", "status": 409}) for _ in range(30)]
    time_passes = at(30, delete=gone("nobody"))
    tale = tell(spot_node("n0"), later=(*refusals, at(1, apply=spot("a", 8)), at(2, apply=spot("b", 8)), time_passes))
    assert tale.tried("a") == [3, 4, 5, 7, 8, 9]
    assert tale.bound == {"b": 11}
