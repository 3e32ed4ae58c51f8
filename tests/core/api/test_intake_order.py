"""The world is a function of the objects that are there, however they came."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sky_core.api.intake import Intake
from sky_core.invariants import check
from sky_core.settings import PREFIX, Settings
from sky_core.testing.likeness import likeness
from sky_core.testing.objects import (
    GPU,
    HCA,
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

NODES = ["n0", "n1", "m1"]
PODS = ["w-0", "w-1", "w-10", "x"]
APART = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "a"}}}
        ]
    }
}
QUOTAS_APART = {"quotaAntiAffinity": {"required": [{"labelSelector": {"matchLabels": {"app": "a"}}}]}}

created = st.sampled_from(["2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"])
labels = st.sampled_from([{}, {"app": "a"}, {"app": "b"}])
some_node = st.sampled_from([*NODES, "gone"])


@st.composite
def pods(draw: st.DrawFn) -> Object:
    where = draw(st.none() | some_node)
    metadata = {"labels": draw(labels), "creationTimestamp": draw(created)}
    if uid := draw(st.sampled_from(["", "", "u1", "u2"])):
        metadata["uid"] = uid
    if draw(st.integers(0, 3)) == 0:
        metadata["deletionTimestamp"] = "2026-01-01T00:01:00Z"
    wishes = {"enable-topology-scheduling": "false", "topology-policy": "required", "reservation-ttl": "10m"}
    notes = draw(st.sampled_from([{}, {}, {"task-index": "3"}, {"task-index": "x"}, {"queue-name": "a"}, wishes]))
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": name}} for name in draw(st.sets(claims_names))]
    requests = draw(st.sampled_from([{GPU: "1"}, {GPU: "2", HCA: "1"}, {SPOT: "1"}, {"cpu": "500m"}, {GPU: "-1"}]))
    return pod(
        draw(st.sampled_from(PODS)),
        requests,
        namespace=draw(st.sampled_from(["default", "kube-system"])),
        group=draw(st.sampled_from([None, "g", "h"])),
        scheduler=draw(st.sampled_from(["sky-scheduler", "sky-scheduler", "other"])),
        on=where,
        phase=draw(st.sampled_from(["Running", "Pending", "Succeeded", "Failed"])) if where else "Pending",
        notes=notes,
        metadata=metadata,
        priorityClassName=draw(st.sampled_from(["", "high", "never"])),
        affinity=draw(st.sampled_from([{}, APART])),
        volumes=volumes,
    )


claims_names = st.sampled_from(["c0", "c1"])


@st.composite
def quotas(draw: st.DrawFn) -> Object:
    tied = draw(st.lists(st.sampled_from(PODS), unique=True, max_size=2))
    uids = draw(st.sampled_from([{}, {"uid": "u1"}])) if len(tied) == 1 else {}
    kept = {"namespace": "default", "job": "g", "task": "w-9", "rank": "/9", "expiresAt": "2026-01-01T01:00:00Z"}
    status = {
        "nodeName": draw(st.sampled_from(["", *NODES, "gone"])),
        "tasks": [claim(name, {GPU: "1"}, **uids) for name in tied],
        "reservedTasks": draw(st.sampled_from([[], [kept]])),
    }
    return quota(
        draw(st.sampled_from(["q-2", "q-10", "q"])),
        draw(st.sampled_from([{GPU: "4"}, {GPU: "1", "cpu": "1"}, {GPU: "bad"}])),
        metadata={"creationTimestamp": draw(created), "labels": draw(labels)},
        status=status,
        affinity=draw(st.sampled_from([{}, QUOTAS_APART])),
    )


@st.composite
def nodes(draw: st.DrawFn) -> Object:
    zone = draw(st.sampled_from([{}, {PREFIX + "zone": "z"}, {PREFIX + "fabric": "f"}]))
    spec = draw(st.sampled_from([{}, {PREFIX + "spec": "a100"}, {"nvidia.com/gpu.product": "h100"}]))
    return node(
        draw(st.sampled_from(NODES)),
        {GPU: draw(st.sampled_from(["8", "4", "x"])), "pods": "10"},
        labels={**zone, **spec},
        notes=draw(st.sampled_from([{}, {"node-index": "7"}, {"node-index": "-1"}])),
        unschedulable=draw(st.booleans()),
    )


others = st.one_of(
    st.builds(topology, st.sampled_from(NODES), st.sampled_from(["s1", "s2"])),
    st.builds(
        group,
        st.sampled_from(["g", "h"]),
        st.sampled_from([1, 2, -1]),
        notes=st.sampled_from([{}, {"reservation-ttl": "5m"}, {"topology-patience": "1m"}]),
        priorityClassName=st.sampled_from(["", "high", "never"]),
    ),
    st.builds(queue, st.sampled_from(["default", "a"]), weight=st.sampled_from([1, 2, "x"])),
    st.builds(job_queue, st.sampled_from(["a", "b"]), priority=st.integers(0, 2)),
    st.builds(namespace, st.sampled_from(["default", "kube-system"]), team=st.sampled_from(["a", "b"])),
    st.builds(priority_class, st.just("high"), st.sampled_from([10, 20])),
    st.builds(priority_class, st.just("never"), st.just(5), preemptionPolicy=st.just("Never")),
    st.builds(volume, st.sampled_from(["v0", "v1"]), st.sampled_from(["a", "b"])),
    st.builds(volume_claim, claims_names, st.sampled_from(["", "v0", "v1"])),
    st.builds(
        budget,
        st.sampled_from(["b0", "b1"]),
        labels,
        maxUnavailable=st.sampled_from([1, "50%", "x"]),
    ),
)
objects = st.one_of(pods(), pods(), pods(), quotas(), nodes(), others)


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[str, Object]]:
    """Puts, removals and looks, in an order."""
    steps: list[tuple[str, Object]] = []
    known: list[Object] = []
    for object_ in draw(st.lists(objects, min_size=1, max_size=25)):
        steps.append(("put", object_))
        known.append(object_)
        if draw(st.integers(0, 3)) == 0:
            steps.append(("remove", draw(st.sampled_from(known))))
        if draw(st.integers(0, 2)) == 0:
            steps.append(("look", {}))
    return steps


def key(object_: Object) -> tuple[str, str, str]:
    metadata = object_["metadata"]
    return object_["kind"], metadata.get("namespace", ""), metadata["name"]


@given(histories(), st.randoms(use_true_random=False))
def test_the_world_depends_on_the_objects_and_not_on_how_they_came(
    history: list[tuple[str, Object]], luck: Any
) -> None:
    warm, final = Intake(Settings()), {}
    for verb, object_ in history:
        if verb == "put":
            warm.put(object_)
            final[key(object_)] = object_
        elif verb == "remove":
            warm.remove(*key(object_))
            final.pop(key(object_), None)
        else:
            warm.world()
    cold = Intake(Settings())
    left = list(final.values())
    luck.shuffle(left)
    for object_ in left:
        cold.put(object_)

    assert likeness(warm.world()) == likeness(cold.world())
    assert warm.invalid == cold.invalid
    assert warm.warnings == cold.warnings


@given(histories())
def test_what_is_kept_beside_the_rows_equals_a_recount(history: list[tuple[str, Object]]) -> None:
    intake = Intake(Settings())
    for verb, object_ in history:
        if verb == "put":
            intake.put(object_)
        elif verb == "remove":
            intake.remove(*key(object_))

        assert check(intake.world()) == ()
