"""Pods: defaults, priorities, what may change, bindings and evictions."""

import pytest

from sky_core.model import SECOND, Duration
from sky_sandbox.testing import PODS, Caller, binding, named, node, pod
from sky_shell.transport import MERGE_PATCH

CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
MINUTE = Duration(60 * SECOND)


def priority_class(name: str, value: int, **more: object) -> dict[str, object]:
    return named("scheduling.k8s.io/v1", "PriorityClass", name, value=value, **more)


def eviction(name: str, **options: object) -> dict[str, object]:
    return named("policy/v1", "Eviction", name, deleteOptions=options)


def test_a_pod_gets_the_defaults_that_schedulers_rely_on(caller: Caller) -> None:
    raw = pod("p", gpu="1")
    raw["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": "1", "cpu": "2"}}
    made = caller.post(PODS, raw).body
    assert made["spec"]["containers"][0]["resources"]["requests"] == {"nvidia.com/gpu": "1", "cpu": "2"}
    assert made["spec"]["schedulerName"] == "default-scheduler"
    assert made["spec"]["priority"] == 0
    assert [one["key"] for one in made["spec"]["tolerations"]] == [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ]
    assert made["status"] == {"phase": "Pending", "qosClass": "Burstable"}


def test_a_priority_class_gives_a_pod_its_priority(caller: Caller) -> None:
    caller.post(CLASSES, priority_class("high", 1000, preemptionPolicy="Never"))
    caller.post(CLASSES, priority_class("usual", 10, globalDefault=True))
    named_class = pod("p")
    named_class["spec"]["priorityClassName"] = "high"
    spec = caller.post(PODS, named_class).body["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (1000, "Never")
    assert caller.post(PODS, pod("q")).body["spec"]["priorityClassName"] == "usual"
    named_class["spec"]["priorityClassName"] = "absent"
    assert caller.post(PODS, named_class).reason == "Forbidden"
    assert caller.patch(f"{CLASSES}/high", {"value": 1}, MERGE_PATCH).status == 422
    assert caller.post(CLASSES, priority_class("huge", 2_000_000_000)).status == 422


@pytest.mark.parametrize(
    ("resources", "status"),
    [
        ({"requests": {"cpu": "many"}}, 400),
        ({"requests": {"cpu": "-1"}}, 422),
        ({"limits": {"nvidia.com/gpu": "500m"}}, 422),
        ({"requests": {"nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "2"}}, 422),
        ({"requests": {"nvidia.com/gpu": "1"}}, 422),
    ],
)
def test_amounts_that_no_pod_can_have_are_refused(caller: Caller, resources: object, status: int) -> None:
    raw = pod("p")
    raw["spec"]["containers"][0]["resources"] = resources
    assert caller.post(PODS, raw).status == status


def test_a_pod_without_containers_or_with_two_of_a_name_is_refused(caller: Caller) -> None:
    assert caller.post(PODS, named("v1", "Pod", "p", spec={})).status == 422
    twice = pod("p")
    twice["spec"]["containers"] *= 2
    assert caller.post(PODS, twice).status == 422


def test_little_of_a_spec_may_change(caller: Caller) -> None:
    gated = pod("p")
    gated["spec"]["schedulingGates"] = [{"name": "example.com/gate"}]
    made = caller.post(PODS, gated).body
    assert made["status"]["conditions"][0]["reason"] == "SchedulingGated"

    def change(**spec: object) -> int:
        return caller.patch(f"{PODS}/p", {"spec": spec}, MERGE_PATCH).status

    assert change(nodeSelector={"a": "b"}) == 200
    assert change(schedulingGates=[]) == 200
    assert change(nodeSelector={"a": "c"}) == 422
    assert change(schedulingGates=[{"name": "example.com/gate"}]) == 422
    assert change(nodeName="n") == 422
    assert change(tolerations=[]) == 200
    assert change(tolerations=[*made["spec"]["tolerations"], {"operator": "Exists"}]) == 200
    assert change(containers=[{**made["spec"]["containers"][0], "image": "another"}]) == 200


def test_a_binding_gives_a_pod_its_node_and_its_notes(caller: Caller) -> None:
    made = caller.post(PODS, pod("p", annotations={"mine": "old", "kept": "yes"})).body
    bound = caller.post(
        f"{PODS}/p/binding", binding("p", "n", uid=made["metadata"]["uid"], annotations={"mine": "new"})
    )
    assert bound.status == 201
    assert bound.body["status"] == "Success"
    found = caller.get(f"{PODS}/p").body
    assert found["spec"]["nodeName"] == "n"
    assert found["metadata"]["annotations"] == {"mine": "new", "kept": "yes"}
    (scheduled,) = found["status"]["conditions"]
    assert (scheduled["type"], scheduled["status"]) == ("PodScheduled", "True")


def test_a_binding_that_cannot_be_is_refused_and_says_why(caller: Caller) -> None:
    def bind(name: str, **metadata: object) -> tuple[int, str]:
        reply = caller.post(f"{PODS}/{name}/binding", binding(name, "n", **metadata))
        return reply.status, reply.body.get("message", "").rpartition(": ")[2]

    caller.post(PODS, pod("p"))
    assert bind("absent")[0] == 404
    assert bind("p", uid="another")[0] == 409
    assert bind("p", resourceVersion="1")[0] == 409
    assert bind("p") == (201, "")
    assert bind("p") == (409, 'pod p is already assigned to node "n"')
    gated = pod("g")
    gated["spec"]["schedulingGates"] = [{"name": "example.com/gate"}]
    caller.post(PODS, gated)
    assert bind("g") == (409, "pod g has non-empty .spec.schedulingGates")
    going = pod("d")
    going["metadata"]["finalizers"] = ["example.com/keep"]
    caller.post(PODS, going)
    caller.delete(f"{PODS}/d")
    assert bind("d") == (409, "pod d is being deleted, cannot be assigned to a host")
    assert caller.post(f"{PODS}/p/binding", named("v1", "Binding", "p", target={})).status == 500
    assert caller.post(f"{PODS}/p/binding", binding("q", "n")).status == 400


def test_a_pod_that_has_ended_can_still_be_bound(caller: Caller) -> None:
    caller.post(PODS, pod("p"))
    caller.patch(f"{PODS}/p/status", {"status": {"phase": "Failed"}}, MERGE_PATCH)
    assert caller.post(f"{PODS}/p/binding", binding("p", "no-such-node")).status == 201


def test_a_pod_on_a_node_has_time_to_go_and_another_goes_at_once(caller: Caller) -> None:
    caller.post(PODS, pod("p", node="n"))
    caller.post(PODS, pod("q"))
    assert caller.delete(f"{PODS}/q").status == 200
    assert caller.get(f"{PODS}/q").status == 404
    told = caller.delete(f"{PODS}/p").body["metadata"]
    assert (told["deletionTimestamp"], told["deletionGracePeriodSeconds"]) == ("2026-01-01T00:00:30Z", 30)
    assert caller.delete(f"{PODS}/p", gracePeriodSeconds=60).body["metadata"]["deletionGracePeriodSeconds"] == 30
    assert caller.delete(f"{PODS}/p", gracePeriodSeconds=5).body["metadata"]["deletionGracePeriodSeconds"] == 5
    caller.delete(f"{PODS}/p", gracePeriodSeconds=0)
    assert caller.get(f"{PODS}/p").status == 404


@pytest.fixture
def guarded(caller: Caller) -> Caller:
    """A running pod with a budget that no controller has looked at."""
    caller.post("/api/v1/nodes", node("n"))
    caller.post(PODS, pod("p", node="n"))
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    caller.patch(f"{PODS}/p/status", {"status": ready}, MERGE_PATCH)
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "p"}}}
    caller.post(BUDGETS, named("policy/v1", "PodDisruptionBudget", "b", spec=spec))
    return caller


def allow(caller: Caller, allowed: int) -> None:
    status = {
        "observedGeneration": 1, "disruptionsAllowed": allowed, "currentHealthy": 1, "desiredHealthy": 1,
        "expectedPods": 1,
    }  # fmt: skip
    assert caller.patch(f"{BUDGETS}/b/status", {"status": status}, MERGE_PATCH).status == 200


def test_an_eviction_waits_for_the_budget_to_be_looked_at(guarded: Caller) -> None:
    refused = guarded.post(f"{PODS}/p/eviction", eviction("p"))
    assert (refused.status, refused.headers["retry-after"]) == (429, "10")


def test_an_eviction_against_the_budget_is_refused_without_saying_when(guarded: Caller) -> None:
    allow(guarded, 0)
    refused = guarded.post(f"{PODS}/p/eviction", eviction("p", preconditions={"uid": "another"}))
    assert refused.status == 429
    assert "retry-after" not in refused.headers
    assert refused.body["details"]["causes"][0]["reason"] == "DisruptionBudget"


def test_an_eviction_that_is_allowed_is_counted(guarded: Caller) -> None:
    allow(guarded, 1)
    assert guarded.post(f"{PODS}/p/eviction", eviction("p", preconditions={"uid": "another"})).status == 409
    assert guarded.post(f"{PODS}/p/eviction", eviction("p", dryRun=["All"])).status == 201
    assert guarded.post(f"{PODS}/p/eviction", eviction("p")).status == 201
    assert guarded.get(f"{BUDGETS}/b").body["status"]["disruptionsAllowed"] == 0
    assert "deletionTimestamp" in guarded.get(f"{PODS}/p").body["metadata"]
    assert guarded.post(f"{PODS}/absent/eviction", eviction("absent")).status == 404


def test_two_budgets_of_one_pod_are_one_too_many(guarded: Caller) -> None:
    spec = {"minAvailable": 1, "selector": {}}
    guarded.post(BUDGETS, named("policy/v1", "PodDisruptionBudget", "c", spec=spec))
    assert guarded.post(f"{PODS}/p/eviction", eviction("p")).status == 500
    both = {"minAvailable": 1, "maxUnavailable": 1}
    assert guarded.post(BUDGETS, named("policy/v1", "PodDisruptionBudget", "d", spec=both)).status == 422
