"""Who is in the cluster, in simulated time: nodes get ready, pods start, end and go, budgets count."""

from collections.abc import AsyncIterator

import pytest
import trio
from trio.testing import MockClock

from sky_core.api.instants import duration
from sky_sandbox.hollow.orders import FAIL_AFTER, FINISH_AFTER, HOLD, START_AFTER, STOP_AFTER, Habits
from sky_sandbox.sandbox import Sandbox, open_sandbox
from sky_sandbox.testing import NODES, PODS, START, Caller, binding, named, node, pod
from sky_shell.transport import MERGE_PATCH, STRATEGIC_PATCH

BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
HABITS = Habits(start_after=duration("2s"), stop_after=duration("3s"))


class Cluster(Caller):
    """A caller at a sandbox whose clock goes on."""

    def __init__(self, sandbox: Sandbox) -> None:
        super().__init__(sandbox.server)
        self._sandbox = sandbox

    async def after(self, seconds: float) -> None:
        await trio.sleep(seconds)
        await trio.testing.wait_all_tasks_blocked()
        self.now = self._sandbox.clock.now()

    def phase(self, name: str) -> str:
        found = self.get(f"{PODS}/{name}")
        return str(found.body["status"]["phase"]) if found.status == 200 else "gone"

    def taints(self, name: str) -> list[str]:
        return [one["key"].rpartition("/")[2] for one in self.get(f"{NODES}/{name}").body["spec"].get("taints", [])]


@pytest.fixture
async def cluster(autojump_clock: MockClock) -> AsyncIterator[Cluster]:
    async with open_sandbox(START, habits=HABITS) as sandbox:
        yield Cluster(sandbox)


async def test_a_node_gets_ready_and_loses_its_taint(cluster: Cluster, autojump_clock: MockClock) -> None:
    cluster.post(NODES, node("n", cpu="4"))
    await cluster.after(0)
    found = cluster.get(f"{NODES}/n").body
    assert [(one["type"], one["status"]) for one in found["status"]["conditions"]] == [("Ready", "True")]
    assert found["status"]["capacity"] == {"pods": "110", "cpu": "4"}
    assert cluster.taints("n") == []


async def test_a_node_that_is_held_stays_as_it_is_said_to_be(cluster: Cluster, autojump_clock: MockClock) -> None:
    held = node("n")
    held["metadata"]["labels"] = {HOLD: ""}
    cluster.post(NODES, held)
    cluster.post(PODS, pod("p", node="n"))
    await cluster.after(10)
    assert cluster.taints("n") == ["not-ready", "not-ready"]
    ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    cluster.patch(f"{NODES}/n/status", ready, STRATEGIC_PATCH)
    await cluster.after(10)
    assert (cluster.taints("n"), cluster.phase("p")) == ([], "Pending")
    cluster.patch(f"{NODES}/n", {"metadata": {"labels": {HOLD: None}}}, MERGE_PATCH)
    await cluster.after(2)
    assert cluster.phase("p") == "Running"


async def test_a_cordoned_node_is_tainted(cluster: Cluster, autojump_clock: MockClock) -> None:
    cluster.post(NODES, node("n"))
    cluster.patch(f"{NODES}/n", {"spec": {"unschedulable": True}}, STRATEGIC_PATCH)
    await cluster.after(0)
    assert cluster.taints("n") == ["unschedulable"]


async def test_a_bound_pod_starts_and_runs_for_ever(cluster: Cluster, autojump_clock: MockClock) -> None:
    cluster.post(NODES, node("n"))
    cluster.post(PODS, pod("p"))
    await cluster.after(10)
    assert cluster.phase("p") == "Pending"
    cluster.post(f"{PODS}/p/binding", binding("p", "n"))
    await cluster.after(1.9)
    assert cluster.phase("p") == "Pending"
    await cluster.after(0.1)
    status = cluster.get(f"{PODS}/p").body["status"]
    assert (status["phase"], status["startTime"]) == ("Running", "2026-01-01T00:00:12Z")
    assert ("Ready", "True") in [(one["type"], one["status"]) for one in status["conditions"]]
    assert status["containerStatuses"][0]["ready"] is True
    version = cluster.server.storage.version
    await cluster.after(100_000)
    assert cluster.server.storage.version == version


@pytest.mark.parametrize(
    ("orders", "phase", "reason"),
    [
        ({FINISH_AFTER: "10s"}, "Succeeded", "Completed"),
        ({FAIL_AFTER: "10s"}, "Failed", "Error"),
        ({FAIL_AFTER: "10s", FINISH_AFTER: "20s"}, "Failed", "Error"),
        ({FAIL_AFTER: "20s", FINISH_AFTER: "10s"}, "Succeeded", "Completed"),
    ],
)
async def test_a_pod_ends_as_its_annotations_say(
    cluster: Cluster, autojump_clock: MockClock, orders: dict[str, str], phase: str, reason: str
) -> None:
    cluster.post(NODES, node("n"))
    cluster.post(PODS, pod("p", node="n", annotations={START_AFTER: "5s", **orders}))
    await cluster.after(14.9)
    assert cluster.phase("p") == "Running"
    await cluster.after(0.2)
    assert cluster.phase("p") == phase
    state = cluster.get(f"{PODS}/p").body["status"]["containerStatuses"][0]["state"]
    assert state["terminated"]["reason"] == reason


async def test_a_pod_that_is_told_to_goes_in_its_time(cluster: Cluster, autojump_clock: MockClock) -> None:
    cluster.post(NODES, node("n"))
    cluster.post(PODS, pod("p", node="n"))
    cluster.post(PODS, pod("q", node="n", annotations={STOP_AFTER: "1m"}))
    await cluster.after(2)
    for name in ("p", "q"):
        cluster.delete(f"{PODS}/{name}")
    await cluster.after(3)
    assert (cluster.phase("p"), cluster.phase("q")) == ("gone", "Running")
    await cluster.after(57)
    assert cluster.phase("q") == "gone"


async def test_a_full_node_refuses_a_pod(cluster: Cluster, autojump_clock: MockClock) -> None:
    cluster.post(NODES, node("n", gpu="2", cpu="4"))
    cluster.post(PODS, pod("p", node="n", gpu="2"))
    cluster.post(PODS, pod("q", node="n", gpu="1"))
    await cluster.after(0)
    status = cluster.get(f"{PODS}/q").body["status"]
    assert (status["phase"], status["reason"]) == ("Failed", "OutOfnvidia.com/gpu")
    assert status["message"] == ("Node didn't have enough resource: nvidia.com/gpu, requested: 1, used: 2, capacity: 2")
    cluster.delete(f"{PODS}/p", gracePeriodSeconds=0)
    cluster.post(PODS, pod("r", node="n", gpu="1"))
    await cluster.after(5)
    assert cluster.phase("r") == "Running"


async def test_a_node_that_ran_a_pod_to_its_end_has_room_again(cluster: Cluster, autojump_clock: MockClock) -> None:
    cluster.post(NODES, node("n", gpu="1"))
    cluster.post(PODS, pod("p", node="n", gpu="1", annotations={FINISH_AFTER: "1s"}))
    await cluster.after(5)
    cluster.post(PODS, pod("q", node="n", gpu="1"))
    await cluster.after(5)
    assert (cluster.phase("p"), cluster.phase("q")) == ("Succeeded", "Running")


async def test_a_pod_outlives_its_node_by_a_little(cluster: Cluster, autojump_clock: MockClock) -> None:
    cluster.post(NODES, node("n"))
    cluster.post(PODS, pod("p", node="n"))
    await cluster.after(5)
    cluster.delete(f"{NODES}/n")
    await cluster.after(39)
    assert cluster.phase("p") == "Running"
    await cluster.after(2)
    assert cluster.phase("p") == "gone"


async def test_a_budget_is_counted_and_an_eviction_is_let_through_or_not(
    cluster: Cluster, autojump_clock: MockClock
) -> None:
    cluster.post(NODES, node("n"))
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    cluster.post(BUDGETS, named("policy/v1", "PodDisruptionBudget", "b", spec=spec))
    for name in ("p", "q"):
        raw = pod(name, node="n")
        raw["metadata"]["labels"] = {"app": "web"}
        cluster.post(PODS, raw)
    await cluster.after(5)
    status = cluster.get(f"{BUDGETS}/b").body["status"]
    assert (status["expectedPods"], status["currentHealthy"], status["disruptionsAllowed"]) == (2, 2, 1)
    assert cluster.post(f"{PODS}/p/eviction", named("policy/v1", "Eviction", "p")).status == 201
    assert cluster.post(f"{PODS}/q/eviction", named("policy/v1", "Eviction", "q")).status == 429
    await cluster.after(10)
    status = cluster.get(f"{BUDGETS}/b").body["status"]
    assert (status["expectedPods"], status["currentHealthy"], status["disruptionsAllowed"]) == (1, 1, 0)
    assert "disruptedPods" not in status


async def test_an_empty_cluster_does_nothing_by_itself(autojump_clock: MockClock) -> None:
    async with open_sandbox(START, habits=None) as sandbox:
        cluster = Cluster(sandbox)
        cluster.post(NODES, node("n"))
        cluster.post(PODS, pod("p", node="n"))
        version = sandbox.server.storage.version
        await cluster.after(1000)
        assert sandbox.server.storage.version == version
