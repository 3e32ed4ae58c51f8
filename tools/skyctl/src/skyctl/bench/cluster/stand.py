"""The control plane that races are run on, from admin's side."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
import trio

from sky_control_plane import ControlPlane, find, service_account
from sky_control_plane.binaries import MODULE
from sky_shell.access import kubeconfig
from sky_shell.answers import status_of
from sky_shell.bridge import bridge
from sky_shell.objects import read_head, read_page
from sky_shell.resources import NODES, PODS, QUEUES, QUOTAS, SEEN, Resource
from sky_shell.transport import JSON, MERGE_PATCH, Response, Transport
from skyctl.bench.cluster.objects import Object, bound, gang, node, node_name, pods, queue

SCHEDULER: Final = service_account("sky-system", "sky-scheduler")
DEPLOY: Final = MODULE.parents[1] / "deploy"
ACCOUNTS: Final = "/api/v1/namespaces/default/serviceaccounts"
PARTS: Final = ("kwok",)
"""No controllers: they go on patching new machines for a minute, and a race needs nothing of them."""
AT_ONCE: Final = 32
SECONDS: Final = 120.0
"""For one answer."""
PATIENCE: Final = 1200.0
"""For thousands."""


@contextlib.contextmanager
def furnished(folder: Path, say: Callable[[str], object]) -> Iterator[ControlPlane]:
    """A control plane with our kinds, and the scheduler's account, roles and fence."""
    binaries = find(notice=say)
    with ControlPlane(binaries, folder, parts=[one for one in PARTS if binaries.has(one)], users=[SCHEDULER]) as plane:
        for part in ("crds", "base/scheduler"):
            done = plane.kubectl("apply", "-k", str(DEPLOY / part))
            if done.returncode:
                raise RuntimeError(f"the control plane does not take {DEPLOY / part}: {done.stderr}")
        for resource in SEEN:
            plane.wait_until(partial(plane.serves, resource.collection()))
        yield plane


class Stand:
    """What is done to a cluster around a race.

    Attributes:
        plane: The control plane itself.
        transport: The way to it, with all rights.
    """

    def __init__(self, plane: ControlPlane, transport: Transport) -> None:
        """See `stand`."""
        self.plane = plane
        self.transport = transport

    async def ask(self, method: str, path: str, body: Object | None = None, content_type: str = JSON) -> Response:
        """The answer, which must be that all is well."""
        sent = None if body is None else msgspec.json.encode(body)
        response = await self.transport.request(method, path, body=sent, content_type=content_type, timeout=SECONDS)
        if response.status >= 300:
            raise RuntimeError(f"{method} {path}: {status_of(response)}")
        return response

    async def each(self, jobs: Iterable[Callable[[], Awaitable[object]]]) -> None:
        """Await all of these calls, so many at once."""
        waiting = iter(jobs)

        async def work() -> None:
            for job in waiting:
                await job()

        async with trio.open_nursery() as nursery:
            for _ in range(AT_ONCE):
                nursery.start_soon(work)

    async def create(self, objects: Iterable[tuple[Resource, Object]]) -> None:
        """Create all of these."""
        await self.each(
            partial(self.ask, "POST", resource.collection(one["metadata"].get("namespace", "")), one)
            for resource, one in objects
        )

    async def machines(self, count: int) -> None:
        """So many machines that pods can run on."""
        await self.each(partial(self._machine, index) for index in range(count))

    async def _machine(self, index: int) -> None:
        await self.ask("POST", NODES.collection(), node(index))
        await self.ask("PATCH", NODES.path("", node_name(index)), {"spec": {"taints": None}}, MERGE_PATCH)

    async def clear(self, prefix: str, *resources: Resource) -> None:
        """Delete all objects of these kinds whose names begin so, and wait until they are gone."""
        for resource in resources:
            await self.each(partial(self._delete, resource, name) for name in await self.names(resource, prefix))

        async def some() -> bool:
            return any([await self.names(resource, prefix) for resource in resources])

        await self._while(some)

    async def occupy(self, gangs: int) -> None:
        """So many gangs that run, each in a quota of eight cards on a machine of its own."""
        await self.each(partial(self._occupy, index) for index in range(gangs))
        await self._while(partial(self._listed, PODS, {"fieldSelector": "status.phase!=Running", "limit": "1"}))

    async def _while(self, question: Callable[[], Awaitable[object]]) -> None:
        with trio.fail_after(PATIENCE):
            while await question():  # noqa: ASYNC110  a server sets no event
                await trio.sleep(0.3)

    async def _occupy(self, index: int) -> None:
        name = f"standing-{index:05d}"
        for resource, one in gang(name, 1):
            found = await self.ask("POST", resource.collection(one["metadata"].get("namespace", "")), one)
        quota = msgspec.json.decode(found.body)
        tasks = []
        for _, one in pods(name, "sky-scheduler", node_name(index)):
            made_ = msgspec.json.decode((await self.ask("POST", PODS.collection("default"), one)).body)
            tasks.append(made_)
        status = bound(quota, node_name(index), tasks)
        await self.ask("PUT", QUOTAS.path("", quota["metadata"]["name"], "status"), {**quota, "status": status})

    async def names(self, resource: Resource, prefix: str) -> list[str]:
        """What the objects of a kind are called whose names begin so."""
        found = [read_head(raw).identity.name for raw in await self._listed(resource, {})]
        return [name for name in found if name.startswith(prefix)]

    async def _listed(self, resource: Resource, query: Mapping[str, str]) -> list[msgspec.Raw]:
        response = await self.transport.request("GET", resource.collection(), query=query, timeout=SECONDS)
        if response.status != 200:
            raise RuntimeError(f"{resource} are not listed: {status_of(response)}")
        return read_page(response.body).items or []

    async def _delete(self, resource: Resource, name: str) -> None:
        path = resource.path("default" if resource.namespaced else "", name)
        await self.ask("DELETE", path, {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0})


@contextlib.asynccontextmanager
async def stand(plane: ControlPlane) -> AsyncIterator[Stand]:
    """A stand with the namespaces and the queue that races need."""
    async with bridge(kubeconfig(str(plane.kubeconfig())), "skyctl-bench") as transport:
        made_ = Stand(plane, transport)
        await made_.ask("POST", QUEUES.collection(), queue())
        await made_.ask("POST", ACCOUNTS, {"metadata": {"name": "default"}})
        yield made_
