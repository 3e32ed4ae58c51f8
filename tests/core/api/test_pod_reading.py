from typing import Any

import pytest

from sky_core.api.intake import Intake
from sky_core.constraints import Effect, HostPort, NodeTerm, PodTerm, Spread, Toleration
from sky_core.model import SECOND, Pool, Task
from sky_core.resources import NOTHING, Resources
from sky_core.selector_text import parse_selector
from sky_core.selectors import Operator, Requirement, Selector
from sky_core.settings import PREFIX, Settings
from sky_core.states import TaskState
from sky_core.testing.objects import (
    CREATED,
    GPU,
    HCA,
    SPOT,
    claim,
    group,
    pod,
    priority_class,
    quota,
    volume,
    volume_claim,
)

Object = dict[str, Any]
HOUR = 3600 * SECOND


def only(*objects: Object, settings: Settings | None = None) -> Task:
    """The one task of a world of these objects, none of which is malformed."""
    intake = Intake(settings or Settings())
    for object_ in objects:
        intake.put(object_)
    (task,) = intake.world().tasks.values()
    assert intake.invalid == ()
    return task


def faults(*objects: Object) -> list[tuple[str, str]]:
    intake = Intake(Settings())
    for object_ in objects:
        intake.put(object_)
    intake.world()
    return [(fault.object, fault.field) for fault in intake.invalid]


DELETED = {"deletionTimestamp": CREATED}


@pytest.mark.parametrize(
    ("raw", "state", "evicted"),
    [
        (pod("p"), TaskState.PENDING, False),
        (pod("p", on="n", phase="Pending"), TaskState.BOUND, False),
        (pod("p", on="n"), TaskState.RUNNING, False),
        (pod("p", on="n", phase="Unknown"), TaskState.RUNNING, False),
        (pod("p", on="n", metadata=DELETED), TaskState.RELEASING, False),
        (pod("p", metadata=DELETED), TaskState.RELEASING, False),
        (pod("p", on="n", phase="Succeeded"), TaskState.SUCCEEDED, False),
        (pod("p", on="n", phase="Failed"), TaskState.FAILED, False),
        (pod("p", on="n", phase="Succeeded", metadata=DELETED), TaskState.SUCCEEDED, True),
    ],
)
def test_the_state_is_what_the_pod_shows(raw: Object, state: TaskState, evicted: bool) -> None:
    task = only(raw)

    assert (task.state, task.evicted) == (state, evicted)


def test_a_claim_is_what_the_status_of_a_quota_says() -> None:
    task = only(pod("p", {GPU: "1"}), quota("q", status={"nodeName": "n", "tasks": [claim("p", {GPU: "1"})]}))

    assert (task.state, task.quota, task.node) == (TaskState.ALLOCATED_TO_QUOTA, "q", None)


def test_of_two_quotas_that_name_a_pod_the_first_by_name_counts() -> None:
    ties = {"tasks": [claim("p", {GPU: "1"})]}

    assert only(pod("p", {GPU: "1"}), quota("q-b", status=ties), quota("q-a", status=ties)).quota == "q-a"


def test_a_pod_of_another_scheduler_is_foreign() -> None:
    task = only(pod("p", {GPU: "1"}, scheduler="other", group="g", notes={"quota-name": "q", "task-index": "x"}))

    assert (task.job, task.required_quota, task.rank) == (None, None, ())


def test_which_pods_are_ours_is_a_setting() -> None:
    assert only(pod("p", scheduler="mine"), settings=Settings(scheduler_name="mine")).job == "default/pod/p"


def test_what_annotations_ask_is_on_the_task() -> None:
    notes = {
        "quota-name": "q",
        "inherit-resource-from": "w-0",
        "quota-affinity": "tier=gold",
        "preferred-quota-affinity": "fast",
        "required-mount-points": " mp2, mp1,mp2 ",
        "spot-pool": "exclusive",
    }

    task = only(pod("p", {HCA: "1"}, notes=notes))

    assert (task.required_quota, task.inherits) == ("q", "w-0")
    assert task.shape.quota_affinity == parse_selector("tier=gold")
    assert task.shape.preferred_quota_affinity == parse_selector("fast")
    assert (task.shape.mounts, task.shape.rdma) == (("mp1", "mp2"), True)


@pytest.mark.parametrize(
    ("note", "text"),
    [
        *(("task-index", text) for text in ("", "-1", "+1", "1e3", " 5", "5 ", "٣", "\uff19", "1234567890", "9" * 300)),
        ("quota-name", "Q/1"),
        ("queue-name", "-"),
        ("inherit-resource-from", "a" * 254),
        ("quota-affinity", "a in"),
        ("preferred-quota-affinity", "=="),
        ("reservation-ttl", "-10m"),
        ("reservation-ttl", "ten minutes"),
        ("topology-patience", "1w"),
        ("topology-policy", "always"),
        ("enable-topology-scheduling", "yes"),
        ("topology-affinity-key", "a b"),
        ("required-mount-points", "mp1,,mp2"),
        ("required-mount-points", "m" * 64),
        ("spot-pool", "Shared"),
    ],
)
def test_a_malformed_annotation_makes_its_pod_invalid(note: str, text: str) -> None:
    assert faults(pod("p", notes={note: text})) == [("Pod/default/p", f"metadata.annotations[{PREFIX}{note}]")]


def test_a_role_that_cannot_be_a_label_is_refused() -> None:
    assert faults(pod("p", notes={"volcano.sh/task-spec": "r" * 64})) == [
        ("Pod/default/p", "metadata.annotations[volcano.sh/task-spec]")
    ]


HIGH = priority_class("high", 100)
SHY = priority_class("shy", 7, preemptionPolicy="Never")


@pytest.mark.parametrize(
    ("spec", "priority", "preempts"),
    [
        ({}, 0, True),
        ({"priorityClassName": "high"}, 100, True),
        ({"priorityClassName": "high", "priority": -5}, -5, True),
        ({"priorityClassName": "nobody"}, 0, True),
        ({"priorityClassName": "shy"}, 7, False),
        ({"priorityClassName": "shy", "preemptionPolicy": "PreemptLowerPriority"}, 7, True),
        ({"preemptionPolicy": "Never"}, 0, False),
        ({"priorityClassName": "system-node-critical"}, 2_000_001_000, True),
    ],
)
def test_priority_is_the_pods_own_before_its_classs(spec: Object, priority: int, preempts: bool) -> None:
    task = only(pod("p", **spec), HIGH, SHY)

    assert (task.priority, task.preempts) == (priority, preempts)


@pytest.mark.parametrize(
    ("raw", "critical"),
    [
        (pod("p"), False),
        (pod("p", namespace="kube-system"), True),
        (pod("p", priorityClassName="system-cluster-critical"), True),
    ],
)
def test_system_pods_are_critical(raw: Object, critical: bool) -> None:
    assert only(raw).critical is critical


@pytest.mark.parametrize(
    ("on_group", "on_pod", "kept"),
    [
        (None, None, 60 * SECOND),
        (None, "10m", 600 * SECOND),
        ("20m", "10m", 1200 * SECOND),
        ("2h", None, HOUR),
        (None, "0s", 0),
        (None, "100ms", SECOND),
    ],
)
def test_how_long_a_place_is_kept(on_group: str | None, on_pod: str | None, kept: int) -> None:
    notes = [{"reservation-ttl": text} if text else {} for text in (on_group, on_pod)]
    settings = Settings(default_reservation=60 * SECOND)  # type: ignore[arg-type]

    assert only(group("g", notes=notes[0]), pod("p", group="g", notes=notes[1]), settings=settings).reservation == kept


def test_a_pod_carries_what_evictions_ask() -> None:
    task = only(pod("p", on="n", status={"startTime": "1970-01-01T00:01:00Z"}, terminationGracePeriodSeconds=7))

    assert (task.started, task.grace) == (60 * SECOND, 7 * SECOND)
    assert only(pod("p")).grace == 30 * SECOND


def test_gates_hold_a_pod() -> None:
    assert only(pod("p", schedulingGates=[{"name": "wait"}])).gated


def test_constraints_are_read_as_kubernetes_reads_them() -> None:
    term = {
        "topologyKey": "zone",
        "labelSelector": {"matchLabels": {"app": "x"}, "matchExpressions": [{"key": "z", "operator": "Exists"}]},
        "matchLabelKeys": ["version", "absent"],
        "mismatchLabelKeys": ["tenant"],
    }
    spread = {"topologyKey": "zone", "maxSkew": 2, "whenUnsatisfiable": "ScheduleAnyway", "matchLabelKeys": ["version"]}
    task = only(
        pod(
            "p",
            metadata={"labels": {"version": "2", "tenant": "t"}},
            nodeSelector={"disk": "ssd"},
            tolerations=[
                {"key": "a", "value": "b", "effect": "NoSchedule"},
                {"operator": "Exists"},
                {"key": "n", "operator": "Gt", "value": "5"},
            ],
            affinity={
                "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]},
                "podAntiAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": [
                        {"topologyKey": "host", "namespaces": ["b", "a"]}
                    ]
                },
            },
            topologySpreadConstraints=[spread],
            containers=[{"ports": [{"containerPort": 80, "hostPort": 8080}, {"containerPort": 90}]}],
        )
    )

    version = Requirement("version", Operator.IN, ("2",))
    wanted = (
        Requirement("app", Operator.IN, ("x",)),
        Requirement("tenant", Operator.NOT_IN, ("t",)),
        version,
        Requirement("z", Operator.EXISTS),
    )
    affinity = task.shape.pod_affinity
    assert affinity.required == (PodTerm("zone", Selector(wanted), ("default",)),)
    assert affinity.anti_required[0].namespaces == ("a", "b")
    assert not affinity.anti_required[0].selector.matches({})
    assert task.shape.selector.matches({"disk": "ssd"})
    assert task.shape.tolerations == (
        Toleration(key="a", value="b", effect=Effect.NO_SCHEDULE),
        Toleration(exists=True),
    )
    (found,) = task.shape.spread
    assert (found.max_skew, found.hard, found.selector.matches({"version": "2"})) == (2, False, False)
    assert task.shape.ports == (HostPort(8080),)


def test_an_absent_selector_of_a_spread_selects_nobody() -> None:
    constraint = {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
    task = only(pod("p", topologySpreadConstraints=[constraint]))

    assert task.shape.spread == (Spread("zone", 1, True, Selector()),)


def test_on_the_hosts_network_every_port_is_the_hosts() -> None:
    container = {"ports": [{"containerPort": 80, "protocol": "UDP", "hostIP": "10.0.0.1"}]}

    assert only(pod("p", hostNetwork=True, containers=[container])).shape.ports == (HostPort(80, "UDP", "10.0.0.1"),)


MOUNTED = [
    {"name": "a", "persistentVolumeClaim": {"claimName": "c"}},
    {"name": "b", "ephemeral": {}},
    {"name": "d", "emptyDir": {}},
]


def test_a_bound_volume_says_from_where_it_can_be_reached() -> None:
    shape = only(
        pod("p", volumes=MOUNTED), volume_claim("c", "v"), volume_claim("p-b", "w"), volume("v", "x"), volume("w", "y")
    ).shape

    terms = [NodeTerm(labels=(Requirement("disk", Operator.IN, (disk,)),)) for disk in ("x", "y")]
    assert shape.volumes == ((terms[0],), (terms[1],))


@pytest.mark.parametrize(
    "more", [[], [volume_claim("c")], [volume_claim("c", "v")], [volume_claim("c", "v"), volume("v")]]
)
def test_a_claim_that_is_missing_or_not_bound_adds_nothing(more: list[Object]) -> None:
    assert only(pod("p", volumes=MOUNTED), *more).shape.volumes == ()


def test_nulls_are_absent_fields() -> None:
    nulls = {"labels": {"a": None}, "deletionTimestamp": None, "ownerReferences": None}
    raw = pod("p", {GPU: "1"}, metadata=nulls, tolerations=None, affinity=None, initContainers=None, priority=None)

    assert only(raw).labels == {"a": ""}


BROKEN: Object = {"tolerations": 5}


@pytest.mark.parametrize(
    ("raw", "used"),
    [
        (pod("p", {GPU: "2"}, scheduler="other", on="n", **BROKEN), {GPU: 2000}),
        (pod("p", {GPU: "2", "cpu": "-1"}, scheduler="other", on="n"), {GPU: 2000}),
        (pod("p", {GPU: "2"}, on="n", overhead={"cpu": "1"}, **BROKEN), {GPU: 2000, "cpu": 1000}),
        (pod("p", {SPOT: "1"}, on="n", **BROKEN), {SPOT: 1000, GPU: 1000}),
        (pod("p", {SPOT: "1", GPU: "1"}, on="n"), {SPOT: 1000, GPU: 1000}),
        (pod("p", {GPU: "x"}, on="n", containers=[{"resources": {"limits": {GPU: "3"}}}, 7], **BROKEN), {GPU: 3000}),
    ],
)
def test_a_malformed_pod_counts_on_its_node_as_far_as_it_can_be_read(raw: Object, used: dict[str, int]) -> None:
    intake = Intake(Settings())
    intake.put(raw)
    (task,) = intake.world().tasks.values()

    assert task.shape.load == Resources(used)
    assert (task.node, task.state) == ("n", TaskState.RUNNING)
    assert [fault.object for fault in intake.invalid] == ["Pod/default/p"]


def test_a_malformed_pod_that_no_server_could_have_is_reported_only() -> None:
    intake = Intake(Settings())
    intake.put(pod("../p", {GPU: "1"}, on="n"))

    assert intake.world().tasks == {}
    assert [fault.object for fault in intake.invalid] == ["Pod/default/../p"]


def test_equal_shapes_are_one() -> None:
    intake = Intake(Settings())
    for name in ("a", "b"):
        intake.put(pod(name, {"cpu": "1", "memory": "1Gi"}, nodeSelector={"x": "1", "y": "2"}))
    intake.put(pod("c", {"memory": "1024Mi", "cpu": "1000m"}, nodeSelector={"y": "2", "x": "1"}))
    intake.put(pod("d", {"memory": "1024Mi", "cpu": "1000m"}, nodeSelector={"y": "2", "x": "1"}, namespace="e"))
    shapes = [task.shape for task in intake.world().tasks.values()]

    assert [shape is shapes[0] for shape in shapes] == [True, True, True, False]


def test_a_spot_pod_picks_its_pool() -> None:
    assert only(pod("p", {SPOT: "1"}, notes={"spot-pool": "shared"})).shape.spot is Pool.SHARED
    assert only(pod("p")).shape.request is NOTHING
