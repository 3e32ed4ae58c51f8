"""What an object's coming, change and going do to the world: openings, versions, faults."""

from collections.abc import Callable
from typing import Any

import pytest

from sky_core.api.intake import Intake
from sky_core.model import JobId, NodeName
from sky_core.reasons import Topic
from sky_core.settings import Settings
from sky_core.testing.objects import (
    CREATED,
    GPU,
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
REMOVED: Object = {}


def intake_of(*objects: Object) -> Intake:
    intake = Intake(Settings())
    for object_ in objects:
        intake.put(object_)
    intake.world()
    return intake


def opened(old: Object | None, new: Object) -> set[Topic]:
    """The topics under which one change opens something; an empty new object is a removal."""
    intake = intake_of(*([old] if old else []))
    before = dict(intake.world().openings)
    if new is REMOVED and old:
        metadata = old["metadata"]
        intake.remove(old["kind"], metadata.get("namespace", ""), metadata["name"])
    else:
        intake.put(new)
    after = intake.world().openings
    return {topic for topic in Topic if after[topic] != before[topic]}


TIED = {"nodeName": "n", "tasks": [claim("p", {GPU: "1"})]}
KEPT = {"namespace": "default", "job": "g", "task": "w", "rank": "0", "expiresAt": CREATED}
MOUNT = {"type": "infiniai-fs-m", "status": "True", "lastHeartbeatTime": "2026-01-01T00:10:00Z"}
LATER = {**MOUNT, "lastHeartbeatTime": "2026-01-01T00:20:00Z"}
LOST = {**MOUNT, "status": "False"}
READY = {"type": "Ready", "status": "True", "lastTransitionTime": CREATED}


@pytest.mark.parametrize(
    ("old", "new", "topics"),
    [
        (None, quota("q"), {Topic.QUOTA}),
        (quota("q"), REMOVED, {Topic.QUOTA}),
        (quota("q"), quota("q", {GPU: "2"}), {Topic.QUOTA}),
        (quota("q"), quota("q", status=TIED), set()),
        (quota("q", status=TIED), quota("q", status={"nodeName": "n"}), {Topic.QUOTA}),
        (quota("q", status=TIED), quota("q", status={**TIED, "nodeName": "m"}), {Topic.QUOTA}),
        (quota("q", status={"reservedTasks": [KEPT]}), quota("q"), {Topic.QUOTA}),
        (quota("q"), quota("q", status={"reservedTasks": [KEPT]}), set()),
        (quota("q"), quota("q", status={"shadowResource": {GPU: "1"}}), {Topic.QUOTA}),
        (quota("q"), quota("q", status={"epoch": 5}), set()),
        (None, node("n"), {Topic.NODE}),
        (node("n"), REMOVED, {Topic.NODE}),
        (node("n"), node("n", unschedulable=True), {Topic.NODE}),
        (node("n"), node("n", {GPU: "7"}), {Topic.NODE}),
        (node("n"), topology("n", "s"), {Topic.NODE}),
        (node("n"), topology("other", "s"), set()),
        (node("n"), node("n"), set()),
        (node("n"), node("n", conditions=[READY, MOUNT]), {Topic.NODE}),
        (node("n", conditions=[READY, MOUNT]), node("n", conditions=[READY, LATER]), set()),
        (node("n", conditions=[READY, MOUNT]), node("n", conditions=[READY, LOST]), {Topic.NODE}),
        (None, queue("a"), {Topic.QUEUE}),
        (queue("a"), queue("a", weight=2), {Topic.QUEUE}),
        (None, job_queue("a"), {Topic.JOB_QUEUE}),
        (namespace("a"), namespace("a", team="x"), {Topic.NAMESPACE}),
        (None, pod("p"), set()),
        (pod("p"), pod("p", on="n"), set()),
        (pod("p", on="n"), pod("p", on="n", phase="Succeeded"), {Topic.POD}),
        (pod("p", on="n", phase="Succeeded"), REMOVED, set()),
        (pod("p", on="n"), REMOVED, {Topic.POD}),
        (pod("p"), REMOVED, {Topic.POD}),
        (pod("p", on="n"), pod("p", on="n", metadata={"deletionTimestamp": CREATED}), set()),
        (pod("p", {GPU: "2"}, on="n"), pod("p", {GPU: "1"}, on="n"), {Topic.POD}),
        (pod("p", on="n", metadata={"uid": "a"}), pod("p", metadata={"uid": "b"}), {Topic.POD}),
    ],
)  # fmt: skip
def test_what_may_let_a_waiting_job_in_is_counted(old: Object | None, new: Object, topics: set[Topic]) -> None:
    assert opened(old, new) == topics


def versions(intake: Intake, *changes: Callable[[], None]) -> list[int]:
    found = []
    for change in changes:
        change()
        found.append(intake.world().jobs[JobId("default/g")].version)
    return found


def test_a_jobs_version_counts_changes_of_its_group_and_its_pods() -> None:
    intake = intake_of(group("g"), pod("a", group="g", schedulingGates=[{"name": "x"}]), priority_class("high", 5))

    assert versions(
        intake,
        lambda: intake.put(group("g", 2)),
        lambda: intake.put(pod("b", group="g")),
        lambda: intake.put(pod("a", group="g")),
        lambda: intake.put(pod("b", group="g", metadata={"uid": "again"})),
        lambda: intake.remove("Pod", "default", "b"),
        lambda: intake.put(group("g", 2, notes={"topology-policy": "required"})),
    ) == [1, 2, 3, 4, 5, 6]


def test_a_jobs_version_does_not_count_what_became_of_it() -> None:
    intake = intake_of(group("g"), pod("a", {GPU: "1"}, group="g"))
    waits = {"type": "WaitingForZone", "status": "True", "lastTransitionTime": CREATED}

    assert versions(
        intake,
        lambda: intake.put(group("g", status={"phase": "Inqueue", "conditions": [waits]})),
        lambda: intake.put(quota("q", status={"nodeName": "n", "tasks": [claim("a", {GPU: "1"})]})),
        lambda: intake.put(pod("a", {GPU: "1"}, group="g", on="n", notes={"quota-name": "q"})),
        lambda: intake.put(pod("a", {GPU: "1"}, group="g", on="n", notes={"quota-name": "q"}, phase="Succeeded")),
    ) == [0, 0, 0, 0]


@pytest.mark.parametrize(
    "news",
    [
        pod("a", {GPU: "1"}, group="g", on="n", phase="Running"),
        pod("a", {GPU: "1"}, group="g", on="n", phase="Succeeded"),
        pod("a", {GPU: "2"}, group="g", on="n"),
        group("g", status={"phase": "Inqueue"}),
        quota("q", status={"nodeName": "n", "tasks": [claim("a", {GPU: "1"})]}),
    ],
)
def test_a_jobs_row_is_another_one_once_there_is_something_to_tell_of_it(news: Object) -> None:
    intake = intake_of(group("g"), pod("a", {GPU: "1"}, group="g", on="n", phase="Pending"), pod("b", group="h"))
    before = dict(intake.world().jobs)

    intake.put(news)
    after = intake.world().jobs

    assert after[JobId("default/g")] is not before[JobId("default/g")]
    assert after[JobId("default/h")] is before[JobId("default/h")]


@pytest.mark.parametrize(
    ("bad", "good"),
    [
        (quota("q", {GPU: "-1"}), quota("q")),
        (node("n", notes={"node-index": "x"}), node("n")),
        (pod("p", {GPU: "-1"}), pod("p")),
        (group("g", -1), group("g")),
        (queue("a", weight=0), queue("a")),
    ],
)
def test_a_repaired_object_is_reported_no_more(bad: Object, good: Object) -> None:
    intake = intake_of()
    metadata = bad["metadata"]
    counts = []
    steps: list[Callable[[], None]] = [
        lambda: intake.put(bad),
        lambda: intake.put(good),
        lambda: intake.put(bad),
        lambda: intake.remove(bad["kind"], metadata.get("namespace", ""), metadata["name"]),
    ]
    for step in steps:
        step()
        intake.world()
        counts.append(len(intake.invalid))

    assert counts == [1, 0, 1, 0]


def test_a_spoilt_quota_takes_its_claims_with_it() -> None:
    intake = intake_of(pod("p", {GPU: "1"}), quota("q", status=TIED))
    intake.put(quota("q", {GPU: "x"}, status=TIED))

    assert [task.quota for task in intake.world().tasks.values()] == [None]


def test_of_two_pods_with_one_uid_the_first_by_name_counts() -> None:
    intake = intake_of(pod("b", metadata={"uid": "u"}), pod("a", metadata={"uid": "u"}))

    assert [task.name for task in intake.world().tasks.values()] == ["a"]
    assert [(fault.object, fault.field) for fault in intake.invalid] == [("Pod/default/b", "metadata.uid")]
    intake.remove("Pod", "default", "a")
    assert [task.name for task in intake.world().tasks.values()] == ["b"]
    assert intake.invalid == ()


def test_of_two_pods_with_one_uid_and_one_name_the_second_belongs_to_no_job() -> None:
    uid = {"uid": "u"}
    intake = intake_of(pod("w", metadata=uid), pod("w", namespace="kube-system", metadata=uid))
    assert list(intake.world().jobs) == ["default/pod/w"]


def test_what_a_pod_leans_on_reaches_it_whenever_it_comes() -> None:
    mounted = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    intake = intake_of(
        pod("p", {GPU: "1"}, priorityClassName="high", group="g", volumes=mounted), quota("q", status={"nodeName": "n"})
    )
    seen = []
    for late in (
        volume_claim("c", "v"),
        volume("v", "x"),
        priority_class("high", 9),
        quota("q", status=TIED),
        group("g", notes={"reservation-ttl": "1m"}),
    ):
        intake.put(late)
        (task,) = intake.world().tasks.values()
        seen.append((len(task.shape.volumes), task.priority, task.quota, task.reservation))

    minute = 60_000_000_000
    assert seen == [(0, 0, None, 0), (1, 0, None, 0), (1, 9, None, 0), (1, 9, "q", 0), (1, 9, "q", minute)]


def test_a_budget_follows_its_pods() -> None:
    intake = intake_of(budget("b", {"app": "x"}, minAvailable=1))
    seen = []
    for raw in (
        pod("p", on="n", metadata={"labels": {"app": "x"}}),
        pod("q", on="n", metadata={"labels": {"app": "x"}}),
        pod("q", on="n", metadata={"labels": {"app": "y"}}),
        pod("q", on="n", metadata={"labels": {"app": "x"}}),
        pod("q", on="n", metadata={"labels": {"app": "x"}}, phase="Succeeded"),
    ):
        intake.put(raw)
        seen += [row.allowed for row in intake.world().budgets.values()]

    assert seen == [0, 1, 0, 1, 0]


def test_only_nodes_about_which_something_changed_are_touched() -> None:
    intake = intake_of(node("a"), node("b"), quota("q", status={"nodeName": "a"}))
    mark = len(intake.world().changed)
    intake.put(pod("p", {GPU: "1"}, on="b"))
    intake.put(queue("a"))

    assert intake.world().changed[mark:] == ["b"]
    assert intake.world().changed[mark:] == ["b"]
    intake.put(quota("q", status={"nodeName": "b"}))
    assert intake.world().changed[mark + 1 :] == ["a", "b"]


def test_a_pod_that_claims_a_bound_quota_touches_the_node_that_it_will_be_on() -> None:
    intake = intake_of(node("n"), quota("q", status=TIED))
    mark = len(intake.world().changed)
    intake.put(pod("p", {GPU: "1"}))

    assert intake.world().changed[mark:] == ["n"]


def test_the_world_is_always_the_same_one() -> None:
    intake = intake_of()
    world = intake.world()
    intake.put(node("n"))

    assert intake.world() is world
    assert NodeName("n") in world.nodes


@pytest.mark.parametrize(
    "raw",
    [
        {"kind": "Deployment", "metadata": {"name": "d"}},
        {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "d"}},
        {"apiVersion": "policy/v1", "kind": "Pod", "metadata": {"name": "d", "namespace": "a"}},
    ],
)
def test_an_object_of_a_kind_that_is_not_read_is_named(raw: Object) -> None:
    intake = intake_of(raw)

    (warning,) = intake.warnings
    assert warning.endswith("d is of no kind that the scheduler reads")
    assert intake.world().queues == {}


def test_an_object_without_a_name_is_reported() -> None:
    assert [fault.object for fault in intake_of({"kind": "Node"}).invalid] == ["Node/"]
    assert [fault.object for fault in intake_of({"kind": "Pod", "metadata": {}}).invalid] == ["Pod/default/"]


def test_removing_what_is_not_there_does_nothing() -> None:
    intake = intake_of(node("n"))
    intake.remove("Node", "", "m")
    intake.remove("Gizmo", "", "m")
    intake.remove("Pod", "", "p")

    assert list(intake.world().nodes) == ["n"]
