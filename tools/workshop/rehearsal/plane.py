"""Grounds on a real control plane: the server's clock, its uids, its validation, KWOK for kubelets.

Nodes are held from KWOK by the label that it heeds, so that they are as they say. The cluster is for this alone: it is
emptied at the beginning.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from time import time_ns
from typing import Final

import trio

from rehearsal.grounds import KINDS, RESOURCES, ask, listed, path
from rehearsal.refusal import RefusedError
from sky_core.api.identity import Key, is_name, key_of
from sky_core.model import SECOND, Duration, Instant
from sky_core.settings import Settings
from sky_core.simulation.objects import Object, part, text, written
from sky_core.simulation.timeline import FailNextBind
from sky_sandbox.hollow.orders import HOLD
from sky_scheduler.station import RunSync
from sky_shell.access import kubeconfig
from sky_shell.bridge import bridge
from sky_shell.resources import EVENTS
from sky_shell.transport import Transport

PERIOD: Final = Duration(SECOND // 5)
STAYS: Final = frozenset({"Namespace"})
"""Kinds of which nothing is taken away: it would take the controllers too long."""
OF_THE_CLUSTER: Final = "system-"
"""So begin the names of PriorityClasses that every cluster has."""
ACCOUNT: Final = "/api/v1/namespaces/{}/serviceaccounts/default"


class OnPlane:
    """A control plane as `Grounds`."""

    namespace = "sky-system"
    period: Duration | None = PERIOD
    waits = False

    def __init__(self, transport: Transport, scheduling: Transport) -> None:
        """Made by `open_plane`."""
        self.transport = transport
        self.scheduling = scheduling
        self.now: Callable[[], Instant] = lambda: Instant(time_ns())
        self.run_sync: RunSync = trio.to_thread.run_sync
        self._homes: set[str] = set()
        self._there: set[Key] = set()

    async def apply(self, raw: Object) -> None:
        """See `Grounds.apply`."""
        key = key_of(raw)
        if key.kind == "Pod":
            await self._house(key.namespace)
        if key.kind == "Node":
            raw = written(raw, ("metadata", "labels", HOLD), "")
        metadata = {name: part(raw, "metadata")[name] for name in _OURS if part(raw, "metadata").get(name)}
        old = await ask(self.transport, "GET", path(key)) if key in self._there else None
        if old is not None and text(part(raw, "metadata"), "uid") not in ("", old["metadata"]["uid"]):
            await ask(self.transport, "DELETE", path(key), {"gracePeriodSeconds": 0})
            old = None
        if old is None:
            await ask(
                self.transport, "POST", RESOURCES[key.kind].collection(key.namespace), {**raw, "metadata": metadata}
            )
            self._there.add(key)
        else:
            metadata["resourceVersion"] = old["metadata"]["resourceVersion"]
            await ask(self.transport, "PUT", path(key), {**raw, "metadata": metadata})
        if raw.get("status"):
            await ask(self.transport, "PATCH", path(key, "status"), {"status": raw["status"]})

    async def fail_next_bind(self, order: FailNextBind) -> None:
        """See `Grounds.fail_next_bind`."""
        raise RefusedError(f"{order}: a real API server does not fail on demand")

    async def repair(self, settings: Settings) -> None:
        """Nobody does."""

    async def empty(self) -> None:
        """Take away whatever an earlier play has left."""
        found = await listed(self.transport)
        self._there = {key for key in found if key.kind in STAYS}
        namespaces = [key.name for key in found if key.kind == "Namespace"]
        for kind in reversed(KINDS):
            resource = RESOURCES[kind]
            for where in namespaces if resource.namespaced else [""]:
                if kind not in STAYS and kind != "PriorityClass":
                    await ask(self.transport, "DELETE", resource.collection(where), {"gracePeriodSeconds": 0})
        for namespace in namespaces:
            await ask(self.transport, "DELETE", EVENTS.collection(namespace))
        for key in found:
            if key.kind == "PriorityClass" and not key.name.startswith(OF_THE_CLUSTER):
                await ask(self.transport, "DELETE", path(key))

    async def _house(self, namespace: str) -> None:
        """Have a namespace, and the account that its pods run as, which a controller makes."""
        if namespace in self._homes or not is_name(namespace):
            return
        home = Key("Namespace", "", namespace)
        if await ask(self.transport, "GET", path(home)) is None:
            await self.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        while await ask(self.transport, "GET", ACCOUNT.format(namespace)) is None:  # noqa: ASYNC110  no event tells
            await trio.sleep(0.05)
        self._homes.add(namespace)


_OURS: Final = ("name", "namespace", "labels", "annotations", "finalizers")
"""What of an object's metadata is not the server's to say."""


@asynccontextmanager
async def open_plane(administrator: Path, scheduler: Path) -> AsyncIterator[OnPlane]:
    """Grounds that the kubeconfig of its administrator leads to; the scheduler goes by its own."""
    async with bridge(kubeconfig(str(administrator))) as transport, bridge(kubeconfig(str(scheduler))) as scheduling:
        grounds = OnPlane(transport, scheduling)
        await grounds.empty()
        yield grounds
