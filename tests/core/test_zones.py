"""Communication groups in zones: which zones a gang takes, and which rank sits where (behaviour.md 5.1, 5.2, 7.2)."""

from collections.abc import Mapping, Sequence
from typing import Any

from sky_core.api.configuration import API_VERSION, KIND, read_configuration
from sky_core.api.instants import instant
from sky_core.cycle import REGISTRY, default_policy
from sky_core.policy import Policy
from sky_core.simulation.run import run
from sky_core.simulation.timeline import events
from sky_core.testing.objects import GPU, HCA, Object, group, node, pod, quota

NOW = instant("2026-01-01T00:00:00Z")
TIMELINE = {"apiVersion": "simulation.scheduling.infini-ai.com/v1alpha1", "kind": "Timeline"}
WHOLE = {GPU: "8", HCA: "8"}


def machines(zone: str | None, *indexes: int, kind: str = "a100", fabric: str = "") -> list[Object]:
    """Whole machines of eight cards behind one switch; their index is the number in their name."""
    labels = {"scheduling.infini-ai.com/spec": kind}
    if zone is not None:
        labels["scheduling.infini-ai.com/zone"] = zone
    if fabric:
        labels["scheduling.infini-ai.com/fabric"] = fabric
    amounts = {GPU: "8", HCA: "8", "cpu": "64", "pods": "110"}
    return [node(f"n{i}", amounts, labels=labels) for i in indexes]


def gang(size: int, *, asks: Mapping[str, str] = WHOLE, notes: Mapping[str, str] | None = None) -> list[Object]:
    """A gang `j`, a quota for each of its members, all of one size."""
    tasks = [pod(f"j-{i}", asks, group="j") for i in range(size)]
    return [group("j", size, notes=notes), *tasks, *(quota(f"q-{i}", asks) for i in range(size))]


def simulated(objects: Sequence[Object], *later: Mapping[str, Any], policy: Policy | None = None) -> dict[str, Any]:
    policy = policy or default_policy()
    script = events([{**TIMELINE, "events": list(later)}]) if later else ()
    report = run(objects, script, policy, policy.settings, now=NOW, cycles=200)
    assert not report.violations
    return report.contract


def places(said: dict[str, Any], size: int) -> list[str | None]:
    return [said["pods"][f"default/j-{i}"]["node"] for i in range(size)]


def codes(said: dict[str, Any]) -> set[str]:
    return {reason["code"] for reason in said["jobs"]["default/j"]["reasons"]}


def test_the_zone_with_least_left_over_takes_the_gang() -> None:
    said = simulated([*machines("s1", *range(5)), *machines("s2", *range(5, 8)), *gang(3)])

    assert places(said, 3) == ["n5", "n6", "n7"]


def test_of_equal_zones_the_one_with_fewer_nodes_then_the_lowest_index() -> None:
    half = {GPU: "4", HCA: "4"}
    taken = pod("other", half, on="n0", scheduler="default-scheduler")
    said = simulated([taken, *machines("s1", 0, 1), *machines("s2", 2), *gang(2, asks=half)])

    assert places(said, 2) == ["n2", "n2"]  # s1 has one slot more than is needed, s2 none


def test_ranks_spread_over_a_zone_in_index_order() -> None:
    said = simulated([*machines("s1", 0, 1, 2), *gang(4, asks={GPU: "1", HCA: "1"})])

    assert places(said, 4) == ["n0", "n0", "n1", "n2"]


def test_ranks_pack_where_the_configuration_says_so() -> None:
    named: list[dict[str, Any]] = [{"name": p} for p in ("gang", "predicates", "quotapredicates")]
    named.append({"name": "topology", "args": {"ranks": "pack"}})
    policy = read_configuration({"apiVersion": API_VERSION, "kind": KIND, "plugins": named}, REGISTRY)
    said = simulated([*machines("s1", 0, 1, 2), *gang(4, asks={GPU: "1", HCA: "1"})], policy=policy)

    assert places(said, 4) == ["n0", "n0", "n0", "n0"]


def test_quotas_of_different_sizes_walk_along_the_index() -> None:
    sizes = ["8", "2", "8", "2"]
    tasks = [pod(f"j-{i}", {GPU: s, HCA: s}, group="j", notes={"quota-name": f"q-{i}"}) for i, s in enumerate(sizes)]
    quotas = [quota(f"q-{i}", {GPU: s, HCA: s}) for i, s in enumerate(sizes)]
    said = simulated([*machines("s1", 0, 1, 2, 3), group("j", 4), *tasks, *quotas])

    assert places(said, 4) == ["n0", "n1", "n2", "n3"]


def test_a_preferred_gang_fills_the_largest_zones_and_leaves_the_smallest_rest() -> None:
    zones = [*machines("s1", 0, 1, 2), *machines("s2", 3, 4, 5), *machines("s3", 6), *machines("s4", 7, 8)]
    said = simulated([*zones, *gang(4)])

    assert places(said, 4) == ["n0", "n1", "n2", "n6"]
    assert said["jobs"]["default/j"]["zones"] == ["s1", "s3"]


def test_zones_of_two_fabrics_are_never_combined() -> None:
    said = simulated([*machines("roce#s1", 0, 1), *machines("ib#s2", 2, 3), *gang(3)])
    assert places(said, 3) == [None] * 3

    said = simulated([*machines("roce#s1", 0, 1), *machines("roce#s2", 2, 3), *gang(3)])
    assert places(said, 3) == ["n0", "n1", "n2"]


def test_the_fabric_label_of_a_zones_first_node_counts_where_the_key_names_none() -> None:
    said = simulated([*machines("row-1", 0, 1, fabric="x"), *machines("row-2", 2, 3, fabric="y"), *gang(3)])

    assert places(said, 3) == [None] * 3


def test_a_node_without_a_zone_joins_last_and_only_for_preferred() -> None:
    objects = [*machines(None, 0), *machines("s1", 1, 2), *gang(3)]
    assert places(simulated(objects), 3) == ["n0", "n1", "n2"]

    required = [*machines(None, 0), *machines("s1", 1, 2), *gang(3, notes={"topology-policy": "required"})]
    said = simulated(required)
    assert places(said, 3) == [None] * 3
    assert "TopologyZoneInsufficient" in codes(said)


def test_where_no_zone_is_known_the_job_says_so_under_both_policies() -> None:
    for policy in ("required", "preferred"):
        said = simulated([*machines(None, 0, 1), *gang(2, notes={"topology-policy": policy})])

        assert places(said, 2) == [None, None]
        assert "TopologyUnknown" in codes(said)


def test_without_rdma_an_annotation_turns_topology_on_and_off() -> None:
    cards = {GPU: "8"}
    on = gang(2, asks=cards, notes={"enable-topology-scheduling": "true"})
    objects = [*machines("s1", 0), *machines("s2", 1, 2)]
    assert places(simulated([*objects, *on]), 2) == ["n1", "n2"]

    off = gang(2, notes={"enable-topology-scheduling": "false"})
    assert places(simulated([*machines("s1", 0), *machines("s2", 1), *off]), 2) != [None, None]


def test_a_strict_job_takes_no_zones_whose_indexes_interleave() -> None:
    strict = {"enable-topology-scheduling": "true"}
    crossed = [*machines("s1", 0, 2), *machines("s2", 1, 3)]
    assert places(simulated([*crossed, *gang(3, notes=strict)]), 3) == [None] * 3
    assert places(simulated([*crossed, *gang(3)]), 3) == ["n0", "n2", "n1"]  # not strict: zone after zone

    apart = [*machines("s1", 0, 1), *machines("s2", 2, 3)]
    assert places(simulated([*apart, *gang(3, notes=strict)]), 3) == ["n0", "n1", "n2"]


def test_a_lost_rank_returns_between_its_neighbours_or_a_strict_job_waits() -> None:
    def story(notes: Mapping[str, str] | None) -> dict[str, Any]:
        gone = {"at": "10s", "delete": {"kind": "Pod", "namespace": "default", "name": "j-1"}}
        dead = {"at": "10s", "apply": {**machines("s1", 1)[0], "spec": {"unschedulable": True}}}
        again = {"at": "20s", "apply": pod("j-1", WHOLE, group="j", metadata={"uid": "second"})}
        return simulated([*machines("s1", *range(4)), *gang(3, notes=notes)], gone, dead, again)

    said = story(None)
    assert places(said, 3) == ["n0", "n3", "n2"]  # nothing is left between n0 and n2: anywhere in the zone

    said = story({"enable-topology-scheduling": "true"})
    assert places(said, 3) == ["n0", None, "n2"]
    assert "RankOrderBroken" in codes(said)


def test_a_required_gang_stays_in_its_members_zone() -> None:
    gone = {"at": "10s", "delete": {"kind": "Pod", "namespace": "default", "name": "j-1"}}
    dead = {"at": "10s", "apply": {**machines("s1", 1)[0], "spec": {"unschedulable": True}}}
    again = {"at": "20s", "apply": pod("j-1", WHOLE, group="j", metadata={"uid": "second"})}
    zones = [*machines("s1", 0, 1), *machines("s2", 2, 3, 4)]

    for policy, place in (("required", None), ("preferred", "n2")):
        tight = [pod(f"other-{name}", WHOLE, on=name, scheduler="default-scheduler") for name in ("n3", "n4")]
        said = simulated([*zones, *tight, *gang(2, notes={"topology-policy": policy})], gone, dead, again)

        assert places(said, 2) == ["n0", place]


def test_patience_waits_for_one_zone_and_then_takes_several() -> None:
    notes = {"topology-patience": "30s"}
    fits_when_empty = [*machines("s1", 0, 1, 2), *machines("s2", 3), pod("other", WHOLE, on="n0", scheduler="x")]
    report = simulated([*fits_when_empty, *gang(3, notes=notes)])
    assert places(report, 3) == ["n1", "n2", "n3"]
    assert min(bind["cycle"] for bind in report["binds"]) == 31  # thirty periods later

    freed = {"at": "10s", "delete": {"kind": "Pod", "namespace": "default", "name": "other"}}
    report = simulated([*fits_when_empty, *gang(3, notes=notes)], freed)
    assert places(report, 3) == ["n0", "n1", "n2"]


def test_patience_is_not_spent_on_what_no_zone_could_hold() -> None:
    report = simulated([*machines("s1", 0, 1), *machines("s2", 2), *gang(3, notes={"topology-patience": "1h"})])

    assert places(report, 3) == ["n0", "n1", "n2"]
    assert {bind["cycle"] for bind in report["binds"]} == {1}


def test_of_a_mixed_job_only_the_members_with_rdma_are_zoned() -> None:
    head = pod("head", {"cpu": "1"}, group="j", notes={"quota-name": "q-head"})
    tasks = [pod(f"j-{i}", WHOLE, group="j") for i in range(2)]
    quotas = [quota("q-head", {"cpu": "1"}), *(quota(f"q-{i}", WHOLE) for i in range(2))]
    cpus = node("c0", {"cpu": "4", "pods": "10"})
    said = simulated([cpus, *machines("s1", 0), *machines("s2", 1, 2), group("j", 3), head, *tasks, *quotas])

    assert places(said, 2) == ["n1", "n2"]
    assert said["pods"]["default/head"]["node"] == "n1"  # it follows into the zone


def test_bound_quotas_of_a_zone_are_used_with_free_ones_beside_them() -> None:
    bound = quota("q-bound", WHOLE, staticBindNode="n3", status={"phase": "QuotaBound", "nodeName": "n3"})
    objects = [*machines("s1", 0, 1), *machines("s2", 2, 3, 4), bound, *gang(2)]
    said = simulated(objects)

    assert {said["pods"][f"default/j-{i}"]["quota"] for i in range(2)} == {"q-bound", "q-0"}
    assert set(places(said, 2)) == {"n3", "n4"} or set(places(said, 2)) == {"n2", "n3"}
    assert said["jobs"]["default/j"]["zones"] == ["s2"]


def test_continuity_takes_the_shortest_run_of_free_nodes() -> None:
    named: list[dict[str, Any]] = [{"name": p} for p in ("gang", "predicates", "quotapredicates")]
    named.append({"name": "topology", "args": {"namedzone": 0, "continuity": 100}})
    policy = read_configuration({"apiVersion": API_VERSION, "kind": KIND, "plugins": named}, REGISTRY)
    full = [pod(f"other-{i}", WHOLE, on=f"n{i}", scheduler="x") for i in (3, 6)]
    said = simulated([*machines("s1", *range(4)), *machines("s2", *range(4, 9)), *full, *gang(2)], policy=policy)

    assert places(said, 2) == ["n4", "n5"]
