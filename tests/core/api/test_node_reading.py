import json
from typing import Any

import pytest

from sky_core.api.intake import Intake
from sky_core.constraints import Effect, Taint
from sky_core.model import SECOND, Mount, Node, NodeName, ZoneId
from sky_core.resources import Resources
from sky_core.settings import PREFIX, Settings
from sky_core.testing.objects import GPU, SPOT, node, topology
from sky_core.world import World

Object = dict[str, Any]
SPEC, PRODUCT = PREFIX + "spec", "nvidia.com/gpu.product"


def intake_of(*objects: Object, settings: Settings | None = None) -> Intake:
    intake = Intake(settings or Settings())
    for object_ in objects:
        intake.put(object_)
    intake.world()
    return intake


def world_of(*objects: Object) -> World:
    return intake_of(*objects).world()


def only(*objects: Object, settings: Settings | None = None) -> Node:
    (row,) = intake_of(*objects, settings=settings).world().nodes.values()
    return row


@pytest.mark.parametrize(
    ("name", "note", "index"),
    [
        ("n7", None, 7),
        ("gpu-node-007.rack1.dc2", None, 7),
        ("rack1.node", None, 1),
        ("master", None, None),
        ("n1x", None, None),
        ("n7", "12", 12),
        ("n7", "012", 12),
    ],
)
def test_the_index_is_noted_or_ends_the_first_label_of_the_name(name: str, note: str | None, index: int | None) -> None:
    assert only(node(name, notes={"node-index": note} if note else {})).index == index


KEY, LABEL = {"rdma-topology-key": "pod-a"}, {PREFIX + "zone": "row-b"}


@pytest.mark.parametrize(
    ("objects", "zone", "fabric"),
    [
        ([node("n", notes=KEY, labels=LABEL), topology("n", "s1")], "pod-a", ""),
        ([node("n", labels=LABEL), topology("n", "s1")], "row-b", ""),
        ([node("n"), topology("n", "s2", "s1", "s2")], "roce#s1,s2", "roce"),
        ([node("n"), topology("n", "b", "a", fabric="ib")], "ib#a,b", "ib"),
        ([node("n")], None, ""),
        ([node("n"), topology("n")], None, ""),
        ([node("n"), topology("other", "s1")], None, ""),
        ([node("n", labels={PREFIX + "fabric": "f"}), topology("n", "s1")], "roce#s1", "roce#f"),
        ([node("n", labels={**LABEL, PREFIX + "fabric": "f"})], "row-b", "#f"),
    ],
)
def test_the_zone_is_noted_labelled_or_discovered(objects: list[Object], zone: str | None, fabric: str) -> None:
    row = only(*objects)

    assert (row.zone, row.fabric) == (zone, fabric)


def test_infiniband_makes_the_zone_where_there_is_any() -> None:
    both = topology("n", "s1")
    both["spec"]["net"]["ib"] = [{"name": "mlx5_0", "switchName": "i1"}, {"name": "mlx5_1"}]

    assert only(node("n"), both).zone == "ib#i1"


def test_a_new_node_of_an_old_name_inherits_no_topology() -> None:
    seen = topology("n", "s1", ownerReferences=[{"kind": "Node", "name": "n", "uid": "old"}])
    fresh = node("n")
    fresh["metadata"]["uid"] = "new"

    assert only(fresh, seen).zone is None
    fresh["metadata"]["uid"] = "old"
    assert only(fresh, seen).zone == "roce#s1"


@pytest.mark.parametrize(
    ("labels", "spec"),
    [
        ({}, ""),
        ({SPEC: "a100"}, "a100"),
        ({PRODUCT: "A100", SPEC: "a100"}, "a100"),
        ({f"{SPEC}-fine": "fine", SPEC: "coarse"}, "fine"),
        ({f"{SPEC}-b": "2", f"{SPEC}-a": "1"}, "1"),
        ({"other": "x"}, ""),
    ],
)
def test_the_longest_spec_label_names_the_card(labels: dict[str, str], spec: str) -> None:
    assert only(node("n", labels=labels)).spec == spec


def test_which_labels_name_a_card_is_a_setting() -> None:
    assert only(node("n", labels={"card": "x", SPEC: "y"}), settings=Settings(spec_labels=("card",))).spec == "x"


def pools(text: str, units: int = 4) -> tuple[int, int]:
    row = only(node("n", {SPOT: str(units)}, notes={"spot-pools": text}))
    return row.shared, row.exclusive


def test_spot_units_are_exclusive_unless_split() -> None:
    assert pools(json.dumps({"shared": 1, "exclusive": 3})) == (1000, 3000)
    assert pools(json.dumps({"exclusive": 1})) == (0, 1000)
    assert only(node("n", {SPOT: "4"})).exclusive == 4000
    assert only(node("n")).exclusive == 0


@pytest.mark.parametrize(
    "text",
    ['{"shared": 2, "exclusive": 3}', "{", "[]", '{"shared": -1}', '{"shared": 1.5}', '{"mine": 1}', "[" * 9000],
)  # fmt: skip
def test_a_malformed_split_is_ignored_and_reported(text: str) -> None:
    intake = intake_of(node("n", {SPOT: "4"}, notes={"spot-pools": text}))

    (row,) = intake.world().nodes.values()
    assert (row.shared, row.exclusive) == (0, 4000)
    assert [fault.field for fault in intake.invalid] == [f"metadata.annotations[{PREFIX}spot-pools]"]


@pytest.mark.parametrize("text", ["1e3", "-1", "", "٣", "1234567890"])
def test_a_malformed_index_is_ignored_and_reported(text: str) -> None:
    intake = intake_of(node("n5", notes={"node-index": text}))

    assert [row.index for row in intake.world().nodes.values()] == [5]
    assert [fault.field for fault in intake.invalid] == [f"metadata.annotations[{PREFIX}node-index]"]


@pytest.mark.parametrize("text", ["k" * 254, "a\x1b[31m", "a\u202eb"])
def test_a_malformed_topology_key_is_ignored_and_reported(text: str) -> None:
    intake = intake_of(node("n", notes={"rdma-topology-key": text}, labels=LABEL))

    assert [row.zone for row in intake.world().nodes.values()] == ["row-b"]
    assert [fault.field for fault in intake.invalid] == [f"metadata.annotations[{PREFIX}rdma-topology-key]"]


def test_a_malformed_topology_is_ignored_and_reported() -> None:
    intake = intake_of(node("n"), topology("n", "s\x00"))

    assert [row.zone for row in intake.world().nodes.values()] == [None]
    assert [(fault.object, fault.field) for fault in intake.invalid] == [
        ("NodeTopology/n", "spec.net.roce[0].switchName")
    ]


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        (node("n", {GPU: "-8"}), f"status.allocatable[{GPU}]"),
        (node("n", taints=[{"key": "k", "effect": "Sometimes"}]), "spec.taints[0].effect"),
        (node("n", unschedulable="yes"), "spec.unschedulable"),
        (node("N"), "metadata.name"),
    ],
)
def test_a_malformed_node_is_not_in_the_world(raw: Object, field: str) -> None:
    intake = intake_of(raw)

    assert intake.world().nodes == {}
    assert [fault.field for fault in intake.invalid] == [field]


def test_a_node_is_what_it_reports() -> None:
    ready = {"type": "Ready", "status": "Unknown", "lastTransitionTime": "1970-01-01T00:00:10Z"}
    mount = {"type": "infiniai-fs-mp1", "status": "True", "lastHeartbeatTime": "1970-01-01T00:00:20Z"}
    taint = {"key": "k", "value": "v", "effect": "NoExecute"}
    row = only(node("n", conditions=[ready, mount], taints=[taint], unschedulable=True))

    assert (row.ready, row.ready_since, row.unschedulable) == (False, 10 * SECOND, True)
    assert row.mounts == {"mp1": Mount(ready=True, heartbeat=20 * SECOND)}  # type: ignore[arg-type]
    assert row.taints == (Taint(key="k", value="v", effect=Effect.NO_EXECUTE),)


def test_a_mount_whose_time_is_malformed_is_not_there() -> None:
    intake = intake_of(node("n", conditions=[{"type": "infiniai-fs-m", "status": "True", "lastHeartbeatTime": "soon"}]))

    assert [row.mounts for row in intake.world().nodes.values()] == [{}]
    assert [fault.field for fault in intake.invalid] == ["status.conditions[infiniai-fs-m].lastHeartbeatTime"]


def test_a_book_leaves_out_pods_which_the_node_counts() -> None:
    world = world_of(node("n", {GPU: "8", "pods": "3"}))

    assert world.books[NodeName("n")].allocatable == Resources({GPU: 8000})
    assert world.nodes[NodeName("n")].pods_max == 3


def test_capacity_stands_for_an_allocatable_that_is_not_reported() -> None:
    raw = node("n", {})
    raw["status"]["capacity"] = {GPU: "8"}

    assert world_of(raw).total == Resources({GPU: 8000})


def test_zones_are_within_one_spec_code_and_in_index_order() -> None:
    nodes = [node(f"n{i}", labels={SPEC: spec}) for i, spec in [(10, "a"), (2, "a"), (3, "b")]]
    world = world_of(*nodes, *(topology(raw["metadata"]["name"], "s") for raw in nodes))

    assert {id_: zone.nodes for id_, zone in world.zones.items()} == {
        ZoneId("a", "roce#s"): ("n2", "n10"),
        ZoneId("b", "roce#s"): ("n3",),
    }
    assert world.specs == {"a": ("n2", "n10"), "b": ("n3",)}
    assert list(world.nodes) == ["n2", "n3", "n10"]


def test_equal_indexes_give_one_warning() -> None:
    assert intake_of(node("a1"), node("b2")).warnings == ()
    assert intake_of(node("a1"), node("b1"), node("a2"), node("b2")).warnings == (
        "nodes share an index and are ordered by name: a1 and b1 have 1",
    )
