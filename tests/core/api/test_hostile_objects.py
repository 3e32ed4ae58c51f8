"""Whatever an object holds, it is set aside with a field and a fault, and spoils itself only."""

import copy
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sky_core.api.intake import Intake
from sky_core.model import JobId, NodeName
from sky_core.settings import PREFIX, Settings
from sky_core.testing.objects import (
    GPU,
    SPOT,
    budget,
    claim,
    group,
    job_queue,
    namespace,
    node,
    pod,
    priority_class,
    queue,
    quota,
    topology,
    volume,
    volume_claim,
)

Object = dict[str, Any]

EXPRESSIONS = [{"key": "a", "operator": "In", "values": ["b"]}, {"key": "c", "operator": "Exists"}]
POD_TERM = {"topologyKey": "zone", "labelSelector": {"matchExpressions": EXPRESSIONS}, "matchLabelKeys": ["app"]}
NODE_TERM = {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]}
NODE_AFFINITY = {
    "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [NODE_TERM]},
    "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": NODE_TERM}],
}
QUOTA_TERM = {"labelSelector": {"matchLabels": {"a": "b"}}, "topologyKey": "kubernetes.io/hostname"}
KEPT = {"namespace": "default", "job": "g", "task": "w", "rank": "0", "expiresAt": "2026-01-01T01:00:00Z"}
CONDITIONS = [
    {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"},
    {"type": "infiniai-fs-mp1", "status": "True", "lastHeartbeatTime": "2026-01-01T00:00:00Z"},
]

GOOD: list[Object] = [
    pod(
        "p",
        {GPU: "1", "cpu": 0.5},
        group="g",
        on="n",
        notes={
            "task-index": "1",
            "quota-affinity": "a in (b)",
            "reservation-ttl": "10m",
            "topology-patience": "1m",
            "topology-affinity-key": "k",
            "topology-policy": "required",
            "enable-topology-scheduling": "true",
            "required-mount-points": "mp1",
            "quota-name": "q",
            "inherit-resource-from": "w-1",
            "spot-pool": "shared",
        },
        metadata={"labels": {"app": "x"}, "uid": "u"},
        status={
            "startTime": "2026-01-01T00:00:00Z",
            "containerStatuses": [{"name": "main", "resources": {"requests": {"cpu": "2"}}}],
        },
        affinity={"nodeAffinity": NODE_AFFINITY, "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [POD_TERM],
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "podAffinityTerm": POD_TERM}],
        }},
        tolerations=[{"key": "k", "operator": "Exists"}],
        topologySpreadConstraints=[{"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}],
        volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}, {"name": "e", "ephemeral": {}}],
        overhead={"cpu": "1"},
        initContainers=[{"name": "i", "restartPolicy": "Always", "ports": [{"containerPort": 1, "hostPort": 2}]}],
        resources={"requests": {"cpu": "3"}},
        priority=5,
        terminationGracePeriodSeconds=30,
        schedulingGates=[{"name": "x"}],
    ),
    pod("foreign", {GPU: "1", "cpu": "1"}, scheduler="other", on="n"),
    node(
        "n",
        {GPU: "8", SPOT: "8", "pods": 110},
        notes={"node-index": "1", "rdma-topology-key": "z", "spot-pools": '{"shared": 1, "exclusive": 2}'},
        labels={PREFIX + "spec": "a100"},
        conditions=CONDITIONS,
        taints=[{"key": "k", "effect": "NoSchedule"}],
    ),
    quota(
        "q",
        {GPU: "8", "cpu": "1"},
        nodeSelector={"a": "b"},
        sharedQueues=["other"],
        affinity={
            "nodeAffinity": NODE_AFFINITY,
            "quotaAffinity": {"required": [QUOTA_TERM], "preferred": [{"weight": 1, **QUOTA_TERM}]},
        },
        status={
            "nodeName": "n",
            "tasks": [claim("p", {GPU: "1"}, reservedUntil="2026-01-01T01:00:00Z")],
            "reservedTasks": [KEPT],
            "shadowResource": {GPU: "1"},
            "staticBindStatus": {"nodeName": "n", "bound": True},
        },
    ),
    group("g", 2, notes={"reservation-ttl": "1h"}, minTaskMember={"a": 1}, minResources={GPU: "1"},
          status={"phase": "Pending", "conditions": [{"type": "WaitingForZone", "status": "True",
                                                     "lastTransitionTime": "2026-01-01T00:00:00Z"}]}),
    queue("default", weight=1, capability={GPU: "8"}, namespaceSelector={"matchExpressions": EXPRESSIONS}),
    job_queue("j", queueName="default", maxRunningJobs=3, jobSelector={"matchLabels": {"a": "b"}}),
    topology("n", "s1", "s2", ownerReferences=[{"kind": "Node", "uid": "x"}]),
    namespace("default", team="a"),
    priority_class("high", 100),
    volume("v", "x"),
    volume_claim("c", "v"),
    budget("b", {"app": "x"}, maxUnavailable="50%"),
]  # fmt: skip

deep: list[Any] = []
for _ in range(3000):
    deep = [deep, {"a": deep}]
cyclic: dict[str, Any] = {"kind": None}
cyclic["metadata"] = cyclic["spec"] = cyclic["a"] = cyclic

HOSTILE: list[Any] = [
    None, True, False, 0, -1, 1.5, float("nan"), float("inf"), 10**400, -(10**400), 2**63, "", " ", "\x00", "\x1b[31m",
    "a" * 10_000, "9" * 10_000, "\ud800", "٣", "\uff19", "1e999999999", "1e-999999999", "-5", "9Ei", "../..", "in (",
    "2026-02-31T00:00:00Z", "9999-12-31T23:59:59+23:59", "{", "[]", "[" * 5000, "100000h", [], {}, [[]], [{}], [None],
    {"": ""}, {"a": None}, {None: 0}, {1: 2}, {"\ud800": 1}, {"\x1b": "1"}, {"a" * 400: "1"}, {"cpu": {}}, deep, cyclic,
    b"x", datetime(2026, 1, 1, tzinfo=UTC), (1, 2), {"requests": 1}, [{"name": "\x00" * 300, "uid": 5}],
]  # fmt: skip


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield (*path, key)
        yield from paths(part, (*path, key))


CASES = [(index, path) for index, good in enumerate(GOOD) for path in paths(good)]


def spoilt(index: int, path: tuple[Any, ...], value: Any) -> Object:
    made = copy.deepcopy(GOOD[index])
    part: Any = made
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    return made


def take_in(intake: Intake, *objects: Any) -> None:
    """Put the objects beside a healthy job, which must not notice them."""
    for object_ in objects:
        intake.put(object_)
    intake.put(node("healthy"))
    intake.put(pod("healthy", {GPU: "2"}, namespace="elsewhere", on="healthy", metadata={"uid": "healthy"}))
    world = intake.world()

    assert world.jobs[JobId("elsewhere/pod/healthy")].fault == ""
    assert world.books[NodeName("healthy")].used[GPU] == 2000
    for fault in intake.invalid:
        assert (str(fault).isprintable(), len(str(fault)) < 1000) == (True, True)
        assert fault.object
        assert fault.fault
    assert all(warning.isprintable() for warning in intake.warnings)


@pytest.mark.parametrize(
    "value", HOSTILE, ids=lambda value: ascii(value)[:20] if not isinstance(value, list | dict) else ""
)
def test_a_field_of_any_value_spoils_its_own_object_only(value: Any) -> None:
    for index, path in CASES:
        take_in(Intake(Settings()), spoilt(index, path, value))


@given(st.lists(st.tuples(st.sampled_from(CASES), st.sampled_from(HOSTILE)), min_size=2, max_size=6))
def test_several_spoilt_objects_spoil_only_themselves(spoils: list[tuple[tuple[int, tuple[Any, ...]], Any]]) -> None:
    take_in(Intake(Settings()), *(spoilt(index, path, value) for (index, path), value in spoils))


leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
names = st.text(max_size=8)
trees = st.recursive(leaves, lambda parts: st.lists(parts, max_size=3) | st.dictionaries(names, parts, max_size=3))
kinds = st.sampled_from([good["kind"] for good in GOOD])


@given(kinds, trees, trees, trees)
def test_random_json_spoils_only_itself(kind: str, metadata: Any, spec: Any, status: Any) -> None:
    take_in(Intake(Settings()), {"kind": kind, "metadata": metadata, "spec": spec, "status": status})
    take_in(Intake(Settings()), {"kind": kind, "metadata": {"name": "x"}, "spec": spec, "status": status})
    take_in(Intake(Settings()), {"kind": spec, "apiVersion": status, "metadata": metadata})


def test_the_good_objects_that_are_spoilt_here_are_good() -> None:
    intake = Intake(Settings())
    take_in(
        intake,
        *(good for good in GOOD if good["metadata"]["name"] != "p"),
        spoilt(0, ("metadata", "annotations", PREFIX + "spot-pool"), "exclusive"),
    )

    assert intake.invalid == ()
