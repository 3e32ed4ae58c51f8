from typing import Any

import pytest

from sky_core.api.identity import Key
from sky_core.model import Instant, NodeName, QuotaName, Task, TaskId
from sky_core.settings import Settings
from sky_core.simulation.cluster import Cluster
from sky_core.simulation.objects import part
from sky_core.states import TaskState
from sky_core.testing.objects import GPU, budget, namespace, node, pod, quota

ONE = {GPU: "1"}
N0, Q = NodeName("n0"), QuotaName("q")


def cluster(*objects: dict[str, Any]) -> Cluster:
    made = Cluster(Settings(), Instant(0))
    for each in objects:
        made.apply(each)
    return made


def key(name: str) -> Key:
    return Key("Pod", "default", name)


def task(of: Cluster, name: str) -> Task:
    return next(task for task in of.world.tasks.values() if task.name == name)


def passed(of: Cluster, steps: int = 1) -> Cluster:
    """The cluster after so many steps in which nothing is decided."""
    for _ in range(steps):
        of.step += 1
        of.start_pods()
        of.clear_away()
    return of


def test_what_an_object_does_not_say_is_added() -> None:
    bare = pod("w", ONE)
    bare["metadata"] = {"name": "w"}
    c = cluster(bare)
    meta = part(c.objects[key("w")], "metadata")
    assert (meta["namespace"], meta["uid"], meta["creationTimestamp"]) == (
        "default",
        "Pod/default/w",
        "1970-01-01T00:00:00Z",
    )
    assert c.world.namespaces["default"] == {"kubernetes.io/metadata.name": "default"}


def test_a_namespace_keeps_its_labels_whether_it_comes_before_or_after_who_names_it() -> None:
    team = namespace("default", team="a")
    for objects in ([pod("w"), team], [team, pod("w")]):
        assert cluster(*objects).world.namespaces["default"]["team"] == "a"


def test_a_bound_pod_runs_if_its_node_is_there() -> None:
    waiting = {"phase": "Pending"}
    c = passed(cluster(node("n0"), pod("a", on="n0", status=waiting), pod("b", on="n9", status=waiting)))
    assert [task(c, name).state for name in "ab"] == [TaskState.RUNNING, TaskState.BOUND]


def test_an_object_that_is_applied_again_keeps_what_the_cluster_made_of_it() -> None:
    c = cluster(node("n0"), pod("w", ONE, status={}))
    assert c.bind(task(c, "w"), N0, Q) == "ok"
    passed(c)
    again = pod("w", ONE, metadata={"labels": {"new": "yes"}})
    del again["status"]
    c.apply(again)
    w = task(c, "w")
    assert (w.state, w.node, w.required_quota, w.labels) == (TaskState.RUNNING, "n0", "q", {"new": "yes"})


def test_what_people_wrote_they_can_take_away() -> None:
    c = cluster(pod("w", ONE, notes={"quota-name": "q"}))
    c.apply(pod("w", ONE))
    assert task(c, "w").required_quota is None


def test_a_status_that_an_object_brings_along_counts() -> None:
    c = cluster(quota("q", ONE, status={"nodeName": "n0"}))
    c.apply(quota("q", ONE, status={"nodeName": "n1"}))
    assert c.world.quotas[Q].node == "n1"


def test_a_pod_with_another_uid_replaces_the_old_one_at_once() -> None:
    c = cluster(node("n0"), pod("w", ONE, on="n0", metadata={"uid": "first"}))
    c.apply(pod("w", ONE, metadata={"uid": "second"}))
    assert list(c.world.tasks) == ["second"]
    assert not c.world.tasks[TaskId("second")].node


def test_without_a_uid_of_its_own_an_object_is_the_one_that_is_there() -> None:
    c = cluster(pod("w", ONE, metadata={"uid": "first"}))
    c.apply(pod("w", {GPU: "2"}))
    assert list(c.world.tasks) == ["first"]


def test_a_deleted_pod_is_told_to_go_and_gone_a_step_later() -> None:
    c = cluster(node("n0"), pod("w", on="n0"))
    c.step = 1
    assert c.delete(key("w"))
    assert task(c, "w").state is TaskState.RELEASING
    c.clear_away()
    assert c.waits_for_pods_to_go
    passed(c)
    assert not c.world.tasks
    assert not c.waits_for_pods_to_go


def test_a_pod_without_a_node_goes_at_once_and_one_that_was_going_already_in_the_first_step() -> None:
    going = pod("w", on="n0", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    c = cluster(node("n0"), pod("v"), going)
    c.step = 1
    assert c.delete(key("v"))
    assert [t.name for t in c.world.tasks.values()] == ["w"]
    c.clear_away()
    assert not c.world.tasks


def test_what_is_not_there_can_neither_be_deleted_nor_end() -> None:
    c = cluster()
    assert not c.delete(key("w"))
    assert not c.finish(key("w"), "Failed")


def test_a_bind_is_refused_where_pods_would_exceed_what_the_node_has() -> None:
    c = cluster(node("n0", {GPU: "2", "pods": "2"}), pod("a", {GPU: "2"}), pod("b", ONE), pod("c"), pod("d"))
    assert c.bind(task(c, "a"), N0, None) == "ok"
    assert c.bind(task(c, "b"), N0, None) == "node n0 lacks nvidia.com/gpu=1"
    assert c.bind(task(c, "c"), N0, None) == "ok"
    assert c.bind(task(c, "d"), N0, None) == "node n0 takes no more pods"


def test_a_bind_is_refused_for_what_is_not_there_and_for_what_is_bound() -> None:
    c = cluster(node("n0"), pod("a"), pod("b"))
    a, b = task(c, "a"), task(c, "b")
    c.delete(key("a"))
    assert c.bind(a, N0, None) == "HTTP 404: the pod is gone"
    assert c.bind(b, NodeName("n9"), None) == "HTTP 404: there is no node n9"
    assert c.bind(b, N0, None) == "ok"
    assert c.bind(b, N0, None) == "HTTP 409: the pod is bound to node n0"


def test_failing_binds_add_up_and_one_that_timed_out_is_bound_all_the_same() -> None:
    c = cluster(node("n0"), pod("w"))
    for status in (409, 500, 504):
        c.fail_next_bind(key("w"), status)
    answers = [c.bind(task(c, "w"), N0, Q) for _ in range(2)]
    assert (answers, task(c, "w").node) == (["HTTP 409", "HTTP 500"], None)
    assert (c.bind(task(c, "w"), N0, Q), task(c, "w").node) == ("HTTP 504", "n0")


def test_an_eviction_is_refused_where_a_budget_allows_none() -> None:
    def spare(name: str, **spec: Any) -> list[dict[str, Any]]:
        pods = [pod(f"{name}-{i}", on="n0", metadata={"labels": {"app": name}}) for i in range(3)]
        return [*pods, budget(name, {"app": name}, **spec)]

    c = cluster(node("n0"), *spare("a", minAvailable=2), *spare("b", maxUnavailable="50%"), pod("c-0", on="n0"))
    assert c.evict(task(c, "a-0")) == "ok"
    assert c.evict(task(c, "a-1")) == "HTTP 429: PodDisruptionBudget default/a allows no disruption"
    assert [c.evict(task(c, f"b-{i}")) for i in range(3)][:2] == ["ok", "ok"]
    assert c.evict(task(c, "b-2")) == "HTTP 429: PodDisruptionBudget default/b allows no disruption"
    assert c.evict(task(c, "c-0")) == "ok"
    assert task(c, "c-0").state is TaskState.RELEASING


@pytest.mark.parametrize("malformed", [{"labels": []}, {"annotations": "none"}, {"uid": 7}])
def test_a_malformed_object_stays_malformed(malformed: dict[str, Any]) -> None:
    c = cluster(node("n0"), pod("w", on="n0", status={"phase": "Pending"}, metadata=malformed))
    c.apply({**namespace("x"), "metadata": {"name": "x", **malformed}})
    passed(c)
    assert {fault.object for fault in c.intake.invalid} == {"Pod/default/w", "Namespace/x"}
