from typing import Any

import pytest

from sky_core.api.intake import Intake
from sky_core.model import SECOND, Duration, Job, JobId, QueueName, Topology
from sky_core.resources import Resources
from sky_core.settings import PREFIX, Settings
from sky_core.testing.objects import GPU, HCA, SPOT, group, job_queue, pod, priority_class, queue

Object = dict[str, Any]


def intake_of(*objects: Object) -> Intake:
    intake = Intake(Settings())
    for object_ in objects:
        intake.put(object_)
    intake.world()
    return intake


def only(*objects: Object) -> Job:
    (row,) = intake_of(*objects).world().jobs.values()
    return row


def test_a_group_and_its_pods_are_one_job() -> None:
    raw = group(
        "g", 2, queue="gold", minTaskMember={"b": 1, "a": 2}, minResources={GPU: "4"}, metadata={"labels": {"x": "y"}}
    )

    job = only(raw, pod("g-10", group="g"), pod("g-2", group="g"))

    assert (job.id, job.key, job.grouped, job.known) == ("default/g", "default/g", True, True)
    assert (job.queue, job.min_member, job.min_task_member) == ("gold", 2, (("a", 2), ("b", 1)))
    assert (job.min_resources, job.labels) == (Resources({GPU: 4000}), {"x": "y"})
    assert job.tasks == ("Pod/default/g-2", "Pod/default/g-10")


def test_a_pod_without_a_group_is_a_job_of_its_own_name() -> None:
    world = intake_of(
        pod("g", notes={"queue-name": "gold"}, metadata={"labels": {"x": "y"}}), group("g"), pod("a", group="g")
    ).world()

    lone, job = world.jobs[JobId("default/pod/g")], world.jobs[JobId("default/g")]
    assert (lone.key, lone.grouped, lone.queue, lone.labels) == ("default/g", False, "gold", {"x": "y"})
    assert (lone.tasks, job.tasks) == (("Pod/default/g",), ("Pod/default/a",))


def test_pods_whose_group_does_not_exist_wait_as_an_unknown_job() -> None:
    job = only(pod("b", group="g", metadata={"creationTimestamp": "1970-01-01T00:00:09Z"}),
               pod("a", group="g", metadata={"creationTimestamp": "1970-01-01T00:00:07Z"}))  # fmt: skip

    assert (job.id, job.key, job.known, job.grouped) == ("default/g", "default/g", False, True)
    assert job.created == 7 * SECOND


def test_a_group_does_not_reach_into_other_namespaces() -> None:
    world = intake_of(group("g", namespace="a"), pod("p", group="g", namespace="b")).world()

    assert {id_: job.known for id_, job in world.jobs.items()} == {"a/g": True, "b/g": False}


HIGH, SHY = priority_class("high", 100), priority_class("shy", 7, preemptionPolicy="Never")


@pytest.mark.parametrize(
    ("class_", "priority", "preempts"),
    [("", 20, True), ("high", 100, True), ("shy", 7, False), ("nobody", 20, True)],
)
def test_a_jobs_priority_is_its_groups_or_its_highest_tasks(class_: str, priority: int, preempts: bool) -> None:
    job = only(group("g", priorityClassName=class_), pod("a", group="g", priority=20), pod("b", group="g"), HIGH, SHY)

    assert (job.priority, job.preempts) == (priority, preempts)


def test_a_member_that_may_not_preempt_holds_its_job_back() -> None:
    assert not only(pod("a", priorityClassName="shy"), SHY).preempts


ON, OFF = {"enable-topology-scheduling": "true"}, {"enable-topology-scheduling": "false"}
STRICT = Topology(on=True, strict=True)
PATIENT = Topology(patience=Duration(600 * SECOND), affinity_key="k")


@pytest.mark.parametrize(
    ("on_group", "on_pod", "requests", "topology"),
    [
        ({}, {}, {GPU: "1"}, Topology()),
        ({}, {}, {HCA: "1"}, Topology(on=True)),
        ({}, ON, {}, STRICT),
        ({}, OFF, {HCA: "1"}, Topology()),
        (OFF, ON, {HCA: "1"}, Topology()),
        (ON, OFF, {}, STRICT),
        ({"topology-policy": "required"}, {"topology-policy": "preferred"}, {}, Topology(required=True)),
        ({"topology-patience": "10m"}, {"topology-affinity-key": "k"}, {}, PATIENT),
    ],
)
def test_the_groups_wishes_come_before_its_pods(on_group: Any, on_pod: Any, requests: Any, topology: Topology) -> None:
    job = only(group("g", notes=on_group), pod("g-0", requests, group="g"), pod("g-1", group="g", notes=on_pod))

    assert job.topology == topology


def test_what_became_of_a_job_is_read_from_its_group() -> None:
    waits = {"type": "WaitingForZone", "status": "True", "lastTransitionTime": "1970-01-01T00:00:05Z"}

    assert only(group("g", status={"phase": "Inqueue", "conditions": [waits]})).waiting_since == 5 * SECOND
    assert only(group("g", status={"phase": "Inqueue", "conditions": [waits]})).phase == "Inqueue"
    assert only(group("g", status={"conditions": [{**waits, "status": "False"}]})).waiting_since is None


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        (group("g", -1), "spec.minMember"),
        (group("g", 0), "spec.minMember"),
        (group("g", "2"), "spec.minMember"),
        (group("g", minTaskMember={"a": -1}), "spec.minTaskMember[...]"),
        (group("g", minResources={GPU: "x"}), f"spec.minResources[{GPU}]"),
        (group("g", queue="a/b"), "spec.queue"),
        (group("g", notes={"reservation-ttl": "1"}), f"metadata.annotations[{PREFIX}reservation-ttl]"),
        (group("g", status={"phase": "Odd"}), "status.phase"),
    ],
)
def test_a_malformed_group_makes_a_job_with_a_fault(raw: Object, field: str) -> None:
    intake = intake_of(raw, pod("p", group="g"))
    (job,) = intake.world().jobs.values()
    (fault,) = intake.invalid

    assert (fault.object, fault.field) == ("PodGroup/default/g", field)
    assert (job.fault, job.tasks, job.known) == (str(fault), ("Pod/default/p",), True)


def test_a_malformed_pod_makes_its_job_faulty_and_no_other() -> None:
    world = intake_of(
        group("g"), pod("g-0", group="g"), pod("g-1", {GPU: "-1"}, group="g"), group("h"), pod("h-0", group="h")
    ).world()

    assert world.jobs[JobId("default/g")].fault.startswith("Pod/default/g-1: spec.containers[0].resources.requests")
    assert len(world.jobs[JobId("default/g")].tasks) == 2
    assert world.jobs[JobId("default/h")].fault == ""


def test_a_job_that_mixes_spot_and_other_tasks_is_faulty() -> None:
    intake = intake_of(group("g"), pod("g-0", {SPOT: "1"}, group="g"), pod("g-1", {GPU: "1"}, group="g"))
    (job,) = intake.world().jobs.values()

    assert "default/g-0" in job.fault
    assert [(fault.object, fault.fault) for fault in intake.invalid] == [("PodGroup/default/g", job.fault)]
    intake.remove("Pod", "default", "g-1")
    assert [job.fault for job in intake.world().jobs.values()] == [""]
    assert intake.invalid == ()


def test_a_queue_is_what_it_declares() -> None:
    intake = intake_of(
        queue("a"),
        queue("b", weight=3, priority=-2, state="Closed", capability={"cpu": "2", GPU: "0"}, namespaceSelector={}),
        queue("c", namespaceSelector={"matchLabels": {"team": "x"}}),
    )
    queues = intake.world().queues

    assert [(row.weight, row.priority, row.open) for row in queues.values()] == [
        (1, 0, True),
        (3, -2, False),
        (1, 0, True),
    ]
    assert [row.capability for row in queues.values()] == [None, {"cpu": 2000, GPU: 0}, None]
    only_x = queues[QueueName("c")].namespaces
    assert [row.namespaces for row in queues.values()] == [None, None, only_x]
    assert only_x
    assert only_x.matches({"team": "x"})
    assert not only_x.matches({})


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"weight": 0}, "spec.weight"),
        ({"capability": {GPU: "many"}}, f"spec.capability[{GPU}]"),
        ({"state": "Ajar"}, "spec.state"),
        ({"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}},
         "spec.namespaceSelector.matchExpressions[0].values"),
    ],
)  # fmt: skip
def test_a_malformed_queue_is_there_with_its_fault(spec: Object, field: str) -> None:
    intake = intake_of(queue("q", **spec))

    assert [fault.field for fault in intake.invalid] == [field]
    assert [row.fault for row in intake.world().queues.values()] == [str(intake.invalid[0])]


def test_a_job_queue_is_what_it_declares() -> None:
    intake = intake_of(
        job_queue("a"),
        job_queue("b", queueName="gold", priority=5, jobSelector={"matchLabels": {"x": "y"}}, maxRunningJobs=0,
                  capability={GPU: "1"}, policy="StrictFIFO", suspend=True),
        job_queue("bad", policy="Random"),
    )  # fmt: skip
    plain, full = intake.world().job_queues.values()

    assert (plain.queue, plain.running_max, plain.strict, plain.suspended) == ("default", None, False, False)
    assert plain.jobs.matches({})
    assert (full.queue, full.priority, full.running_max, full.strict, full.suspended) == ("gold", 5, 0, True, True)
    assert (full.capability, full.jobs.matches({})) == ({GPU: 1000}, False)
    assert [fault.object for fault in intake.invalid] == ["JobQueue/bad"]
