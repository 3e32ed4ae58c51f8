"""The shell, with no more rights than the scheduler has, against a real API server."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest
import trio

from sky_control_plane import ControlPlane, service_account
from sky_shell.access import kubeconfig
from sky_shell.bridge import bridge
from sky_shell.lease import Candidate, Election, Leadership
from sky_shell.lease_record import EPOCH
from sky_shell.objects import Identity
from sky_shell.reflector import Reflector
from sky_shell.resources import PODS, QUOTAS, SEEN, Resource
from sky_shell.transport import Transport
from sky_shell.writer import Acknowledged, Refused, Result, Writer
from sky_shell.writes import Refusal, bind, create_event, evict, pod_condition, put_status

SCHEDULER = service_account("sky-system", "sky-scheduler").name
LEASE = "/apis/coordination.k8s.io/v1/namespaces/sky-system/leases/sky-scheduler"
LIMIT = 60.0
Made = Callable[..., dict[str, Any]]


class Shelf:
    """A sink that holds what is there, and lets a test wait for it."""

    def __init__(self) -> None:
        self.there: dict[str, Identity] = {}

    def put(self, resource: Resource, identity: Identity, raw: bytes) -> None:
        self.there[identity.name] = identity

    def remove(self, resource: Resource, identity: Identity) -> None:
        del self.there[identity.name]

    def synced(self, resource: Resource) -> None: ...

    async def has(self, name: str, *, version: str | None = None, gone: bool = False) -> None:
        while (name in self.there) == gone or (version is not None and self.there[name].version != version):
            await trio.testing.wait_all_tasks_blocked(0.01)


@asynccontextmanager
async def reached(plane: ControlPlane) -> AsyncIterator[Transport]:
    with trio.fail_after(LIMIT):
        async with bridge(kubeconfig(str(plane.kubeconfig(SCHEDULER)))) as transport:
            yield transport


@pytest.fixture
def made(plane: ControlPlane) -> Iterator[Made]:
    """Makes a pod on no node, or a Quota; both go with the test."""
    paths: list[str] = []

    def make(resource: Resource, name: str, spec: dict[str, Any]) -> dict[str, Any]:
        namespace = "default" if resource.namespaced else ""
        content = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name}, "spec": spec}
        answer = plane.request("POST", resource.collection(namespace), content)
        assert answer.status == 201, answer.body
        paths.append(resource.path(namespace, name))
        found: dict[str, Any] = answer.body
        return found

    yield make
    for path in paths:
        plane.request("DELETE", path, {"gracePeriodSeconds": 0})


def pod_spec(**more: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "none"}
    return {"schedulerName": "sky-scheduler", "containers": [container], "terminationGracePeriodSeconds": 0, **more}


def uid(found: dict[str, Any]) -> str:
    return str(found["metadata"]["uid"])


def version(found: dict[str, Any]) -> str:
    return str(found["metadata"]["resourceVersion"])


async def perform(transport: Transport, write: Any) -> Result:
    return await Writer(transport, lambda: True).perform(write)


async def test_every_kind_is_listed_and_watched(plane: ControlPlane) -> None:
    async with reached(plane) as transport, trio.open_nursery() as nursery:
        reflectors = [Reflector(transport, resource, Shelf(), Random(1)) for resource in SEEN]
        for reflector in reflectors:
            nursery.start_soon(reflector.run)
        for reflector in reflectors:
            await reflector.synced.wait()
        await trio.testing.wait_all_tasks_blocked(1.5)
        assert [reflector.fault for reflector in reflectors] == [None] * len(SEEN)
        nursery.cancel_scope.cancel()


async def test_what_happens_is_seen_and_a_status_is_written_once(plane: ControlPlane, made: Made) -> None:
    found = made(QUOTAS, "shell-q", {})
    shelf = Shelf()
    async with reached(plane) as transport, trio.open_nursery() as nursery:
        nursery.start_soon(Reflector(transport, QUOTAS, shelf, Random(1)).run)
        await shelf.has("shell-q", version=version(found))
        write = put_status(
            QUOTAS, "", "shell-q", uid=uid(found), version=version(found), status={"phase": "QuotaEmpty", "epoch": 1}
        )
        result = await perform(transport, write)
        assert isinstance(result, Acknowledged)
        await shelf.has("shell-q", version=result.version)
        assert isinstance(await perform(transport, write), Acknowledged)  # the same again is its own echo
        stale = put_status(
            QUOTAS, "", "shell-q", uid=uid(found), version=version(found), status={"phase": "QuotaBound", "epoch": 1}
        )
        refused = await perform(transport, stale)
        assert isinstance(refused, Refused)
        assert refused.why is Refusal.CONFLICT
        plane.request("DELETE", QUOTAS.path("", "shell-q"))
        await shelf.has("shell-q", gone=True)
        gone = await perform(transport, write)
        assert isinstance(gone, Refused)
        assert gone.why is Refusal.GONE
        nursery.cancel_scope.cancel()


async def test_a_pod_is_bound_once_and_each_refusal_is_told_apart(plane: ControlPlane, made: Made) -> None:
    pods = {name: made(PODS, f"shell-{name}", pod_spec()) for name in ("free", "other")}
    gates = [{"name": "example.org/wait"}]
    pods["gated"] = made(PODS, "shell-gated", pod_spec(schedulingGates=gates))

    def binding(name: str, node: str = "shell-n0", uid_: str = "") -> Any:
        notes = {"scheduling.infini-ai.com/quota-name": "q"}
        return bind("default", f"shell-{name}", uid=uid_ or uid(pods[name]), node=node, annotations=notes)

    async with reached(plane) as transport:
        assert isinstance(await perform(transport, binding("free")), Acknowledged)
        live = plane.request("GET", PODS.path("default", "shell-free")).body
        assert live["spec"]["nodeName"] == "shell-n0"
        assert live["metadata"]["annotations"]["scheduling.infini-ai.com/quota-name"] == "q"
        assert isinstance(await perform(transport, binding("free")), Acknowledged)
        for write, why in (
            (binding("free", node="shell-n1"), Refusal.ASSIGNED),
            (binding("other", uid_=uid(pods["free"])), Refusal.REPLACED),
            (binding("gated"), Refusal.GATED),
            (bind("default", "shell-none", uid="u", node="n", annotations={}), Refusal.GONE),
        ):
            result = await perform(transport, write)
            assert isinstance(result, Refused)
            assert result.why is why


async def test_an_eviction_reaches_the_pod_that_it_means(plane: ControlPlane, made: Made) -> None:
    found = made(PODS, "shell-victim", pod_spec())
    async with reached(plane) as transport:
        assert isinstance(await perform(transport, evict("default", "shell-victim", uid="another")), Acknowledged)
        assert plane.request("GET", PODS.path("default", "shell-victim")).status == 200
        assert isinstance(await perform(transport, evict("default", "shell-victim", uid=uid(found))), Acknowledged)
        assert plane.request("GET", PODS.path("default", "shell-victim")).status == 404


async def test_a_budget_forbids_an_eviction(plane: ControlPlane, made: Made) -> None:
    found = made(PODS, "shell-guarded", pod_spec() | {"schedulerName": "sky-scheduler"})
    plane.request(
        "PATCH", PODS.path("default", "shell-guarded"), {"metadata": {"labels": {"shell": "guarded"}}},
        content_type="application/merge-patch+json",
    )  # fmt: skip
    budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"shell": "guarded"}}}
    content = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "shell"}, "spec": spec}
    assert plane.request("POST", budgets, content).status == 201
    running = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    plane.request(
        "PATCH", PODS.path("default", "shell-guarded", "status"), {"status": running},
        content_type="application/merge-patch+json",
    )  # fmt: skip
    async with reached(plane) as transport:
        result = await perform(transport, evict("default", "shell-guarded", uid=uid(found)))
    plane.request("DELETE", f"{budgets}/shell")
    assert isinstance(result, Refused)
    assert result.why is Refusal.BUDGET


async def test_conditions_and_events_are_told(plane: ControlPlane, made: Made) -> None:
    found = made(PODS, "shell-told", pod_spec())
    condition = {"type": "PodScheduled", "status": "False", "reason": "Undetermined", "message": "waits"}
    event = {
        "eventTime": "2026-12-01T00:00:00.000000Z",
        "reportingController": "sky-scheduler",
        "reportingInstance": "test",
        "action": "Scheduling",
        "reason": "FailedScheduling",
        "type": "Warning",
        "note": "waits",
        "regarding": {"kind": "Pod", "namespace": "default", "name": "shell-told", "uid": uid(found)},
    }
    async with reached(plane) as transport:
        told = pod_condition("default", "shell-told", uid=uid(found), condition=condition)
        assert isinstance(await perform(transport, told), Acknowledged)
        assert isinstance(await perform(transport, create_event("default", "shell-told.1", event)), Acknowledged)
    live = plane.request("GET", PODS.path("default", "shell-told")).body
    assert [one["reason"] for one in live["status"]["conditions"] if one["type"] == "PodScheduled"] == ["Undetermined"]


async def test_one_leads_after_the_other_and_their_epochs_rise(plane: ControlPlane) -> None:
    plane.request("DELETE", LEASE)
    epochs: list[int] = []

    async def work(leadership: Leadership) -> None:
        assert leadership.permit()
        epochs.append(await leadership.open_epoch(6))
        lease = plane.request("GET", LEASE).body
        assert lease["metadata"]["annotations"][EPOCH] == str(epochs[-1])
        assert lease["spec"]["leaseDurationSeconds"] == 15

    async with reached(plane) as transport:
        for identity in ("one", "two"):
            await Election(transport, "sky-system", "sky-scheduler", Candidate(identity), Random(1)).lead(work)
            lease = plane.request("GET", LEASE).body
            assert "holderIdentity" not in lease["spec"]
    plane.request("DELETE", LEASE)
    assert epochs == [7, 8]
    assert lease["spec"]["leaseTransitions"] == 1


async def test_f18_an_api_server_that_is_killed_is_found_again_with_nothing_lost(
    plane: ControlPlane, made: Made
) -> None:
    made(QUOTAS, "shell-before", {})
    goes = made(QUOTAS, "shell-goes", {})
    shelf = Shelf()
    async with reached(plane) as transport, trio.open_nursery() as nursery:
        reflector = Reflector(transport, QUOTAS, shelf, Random(1))
        nursery.start_soon(reflector.run)
        await shelf.has("shell-goes", version=version(goes))
        plane.servers["kube-apiserver"].kill()
        while reflector.fault is None:
            await trio.testing.wait_all_tasks_blocked(0.01)
        assert {"shell-before", "shell-goes"} <= set(shelf.there)
        plane.servers["kube-apiserver"].start()
        await trio.to_thread.run_sync(plane.wait_until_ready)
        await trio.to_thread.run_sync(lambda: plane.request("DELETE", QUOTAS.path("", "shell-goes")))
        made(QUOTAS, "shell-after", {})
        await shelf.has("shell-after")
        await shelf.has("shell-goes", gone=True)
        assert "shell-before" in shelf.there
        nursery.cancel_scope.cancel()
