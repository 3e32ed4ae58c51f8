"""Pods and nodes go from JSON straight into their struct: what is read of them is what would be read otherwise."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sky_core.api.identity import Key
from sky_core.api.intake import Intake
from sky_core.api.pods import Reader, read
from sky_core.api.wire import core
from sky_core.settings import PREFIX, Settings
from sky_core.testing.objects import GPU, Object, node, pod

HOSTILE: list[Any] = [None, "", "x", -1, True, [], {}, ["a"], {"a": None}, {"a": 1}, 2**70, 0.5]
FIELDS = {
    "metadata": ("labels", "annotations", "creationTimestamp", "deletionTimestamp", "uid", "namespace", "name"),
    "spec": (
        "nodeName", "schedulerName", "containers", "initContainers", "overhead", "nodeSelector", "affinity",
        "tolerations", "topologySpreadConstraints", "volumes", "hostNetwork", "schedulingGates", "priority",
        "resources", "priorityClassName", "preemptionPolicy", "terminationGracePeriodSeconds",
    ),
    "status": ("phase", "startTime", "conditions", "containerStatuses", "resources"),
}  # fmt: skip
GOOD: dict[str, list[Any]] = {
    "labels": [{"batch.kubernetes.io/job-completion-index": "3"}, {"app": "a"}],
    "annotations": [
        {"scheduling.k8s.io/group-name": "g"},
        {"scheduling.k8s.io/group-name": "h"},
        {"scheduling.infini-ai.com/queue-name": "a"},
        {"scheduling.infini-ai.com/inherit-resource-from": "a-0"},
        {"scheduling.infini-ai.com/topology-policy": "required"},
        {"scheduling.infini-ai.com/task-index": "1"},
        {"scheduling.infini-ai.com/spot-pool": "shared"},
        {"scheduling.infini-ai.com/required-mount-points": "fast"},
        {"scheduling.infini-ai.com/quota-affinity": "tier=gold"},
        {"scheduling.infini-ai.com/quota-name": "q"},
    ],
    "nodeName": ["n1", "n2"],
    "containers": [[{"resources": {"requests": {GPU: amount}}}] for amount in ("1", "2", "1k")],
    "overhead": [{"cpu": "1"}],
    "nodeSelector": [{"disk": "fast"}],
    "tolerations": [[{"operator": "Exists"}]],
    "affinity": [
        {
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"topologyKey": "zone", "labelSelector": {}, "matchLabelKeys": ["app"]}
                ]
            }
        }
    ],
    "conditions": [
        [{"type": "PodScheduled", "status": "True"}],
        [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}],
    ],
    "phase": ["Running", "Succeeded"],
    "schedulerName": ["other", "sky-scheduler"],
    "schedulingGates": [[{"name": "held"}]],
    "priority": [5],
    "preemptionPolicy": ["Never"],
    "volumes": [[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}], [{"name": "v", "ephemeral": {}}]],
    "containerStatuses": [[{"name": "", "resources": {"requests": {GPU: "4"}}}]],
}


NODE_FIELDS = {
    "metadata": ("labels", "annotations", "creationTimestamp", "uid", "name"),
    "spec": ("unschedulable", "taints"),
    "status": ("capacity", "allocatable", "conditions"),
}
GOOD_NODE: dict[str, list[Any]] = {
    "labels": [{f"{PREFIX}zone": "s1", f"{PREFIX}spec": "a100"}, {f"{PREFIX}zone": "\n"}],
    "annotations": [{f"{PREFIX}node-index": "7"}, {f"{PREFIX}node-index": "x"}, {f"{PREFIX}spot-pools": "{}"}],
    "unschedulable": [True],
    "taints": [[{"key": "a", "effect": "NoSchedule"}]],
    "allocatable": [{GPU: "8"}, {GPU: "4", "pods": "9"}],
    "conditions": [[{"type": "Ready", "status": "False"}], [{"type": "infiniai-fs-a", "lastHeartbeatTime": "x"}]],
}


@st.composite
def changed(draw: st.DrawFn, base: Object, fields: dict[str, tuple[str, ...]], good: dict[str, list[Any]]) -> Object:
    """The object, some fields of which are given otherwise, or wrongly."""
    made: Object = msgspec.json.decode(msgspec.json.encode(base))
    for part in draw(st.lists(st.sampled_from(sorted(fields)), max_size=3)):
        field = draw(st.sampled_from(fields[part]))
        wrong = draw(st.integers(0, 4)) == 0
        value = draw(st.sampled_from(HOSTILE if wrong or field not in good else good[field]))
        made[part] = {**made.get(part, {}), field: value}
    return made


pods = st.sampled_from(["a-0", "a-1", "b"]).flatmap(lambda name: changed(pod(name, {GPU: "1"}), FIELDS, GOOD))
nodes = st.sampled_from(["n-1", "n-2"]).flatmap(lambda name: changed(node(name, {GPU: "8"}), NODE_FIELDS, GOOD_NODE))


PLAIN: Object = pod("a-0", {GPU: "1"})
RICH: Object = {
    **PLAIN,
    **{
        part: {**PLAIN.get(part, {}), **{field: GOOD[field][-1] for field in fields if field in GOOD}}
        for part, fields in FIELDS.items()
    },
}
RICH["metadata"]["annotations"] = {key: text for notes in GOOD["annotations"] for key, text in notes.items()}


def variations(base: Object) -> Iterator[Object]:
    """The pod with each of its fields given otherwise, or not at all."""
    for part, fields in FIELDS.items():
        for field in fields:
            rest = {name: value for name, value in base.get(part, {}).items() if name != field}
            yield from ({**base, part: {**rest, field: value}} for value in GOOD.get(field, []))
            if field != "name":
                yield {**base, part: rest}
    notes = base["metadata"].get("annotations", {})
    for gone in notes:
        left = {key: text for key, text in notes.items() if key != gone}
        yield {**base, "metadata": {**base["metadata"], "annotations": left}}


@pytest.mark.parametrize("base", [PLAIN, RICH])
def test_what_is_kept_in_mind_of_one_pod_shows_in_no_other(base: Object) -> None:
    key, settings = Key("Pod", "default", "a-0"), Settings()
    for other in variations(base):
        reader = Reader(settings, lambda shape: shape)
        for raw in (base, other, base):
            assert repr(reader.read(key, msgspec.convert(raw, core.Pod))) == repr(read(key, raw, settings))


def test_pods_of_two_namespaces_have_nothing_in_common() -> None:
    reader, told = Reader(Settings(), lambda shape: shape), msgspec.convert(PLAIN, core.Pod)
    found = [reader.read(Key("Pod", namespace, "a-0"), told).task for namespace in ("default", "kube-system")]
    assert [(task.namespace, task.shape.namespace, task.critical) for task in found] == [
        ("default", "default", False),
        ("kube-system", "kube-system", True),
    ]


def told(intake: Intake) -> Any:
    """All that is known."""
    world = intake.world()
    rows = (world.tasks, world.jobs, world.nodes, world.books, world.zones)
    return repr(rows), intake.invalid, intake.warnings  # shapes are equal only to themselves


@given(st.lists(pods | nodes, min_size=1, max_size=8))
def test_an_object_is_read_alike_from_json_and_from_a_mapping(objects: list[Object]) -> None:
    straight, roundabout = Intake(Settings()), Intake(Settings())
    for one in objects:
        name, namespace = one["metadata"].get("name"), one["metadata"].get("namespace", "")
        if not (isinstance(name, str) and isinstance(namespace, str)):
            continue  # a server has none of these
        straight.put_json(Key(one["kind"], namespace, name), msgspec.json.encode(one))
        roundabout.put(one)
    assert told(straight) == told(roundabout)


def test_pods_that_ask_for_the_same_share_a_shape() -> None:
    intake = Intake(Settings())
    for name, amount in (("a-0", "1"), ("a-1", "1"), ("b", "2"), ("a-2", "1")):
        intake.put_json(Key("Pod", "default", name), msgspec.json.encode(pod(name, {GPU: amount})))
    shapes = {task.name: task.shape for task in intake.world().tasks.values()}
    assert shapes["a-0"] is shapes["a-1"] is shapes["a-2"]
    assert shapes["b"] is not shapes["a-0"]


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"\xff", b'{"metadata": ' * 100_000])
def test_what_is_no_object_is_refused_and_changes_nothing(text: bytes) -> None:
    intake = Intake(Settings())
    key = Key("Pod", "default", "a")
    intake.put_json(key, msgspec.json.encode(pod("a", {GPU: "1"})))
    before = told(intake)
    with pytest.raises((msgspec.DecodeError, UnicodeDecodeError, RecursionError)):
        intake.put_json(key, text)
    assert told(intake) == before
