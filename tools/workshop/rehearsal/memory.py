"""Grounds in memory, in simulated time: everything a case may choose can be chosen, broken objects too."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import msgspec
import trio
import yaml

from rehearsal.grounds import RESOURCES, ask, listed, path
from rehearsal.refusal import RefusedError
from sky_core import drift, reservations
from sky_core.api.encode import quota_status
from sky_core.api.identity import Key, is_name, key_of
from sky_core.api.intake import Intake
from sky_core.model import SECOND, Duration, Instant
from sky_core.settings import Settings
from sky_core.simulation.cluster import mended, still_bound
from sky_core.simulation.objects import Object, conditions, part, text, written
from sky_core.simulation.timeline import OUTCOME_UNKNOWN, FailNextBind
from sky_sandbox.api.requests import Request
from sky_sandbox.api.watching import Watch
from sky_sandbox.faults import Fault
from sky_sandbox.hollow.orders import HOLD, Habits
from sky_sandbox.sandbox import Sandbox, open_sandbox
from sky_sandbox.state import load, new_server
from sky_sandbox.transport import SandboxTransport
from sky_scheduler.station import LISTED_EVERY, RunSync
from sky_scheduler.testing.stage import at_once
from sky_shell.transport import Transport

CRDS: Final = Path(__file__).parents[3] / "deploy" / "crds"
_NEW: Final = {"Pod": {"phase": "Pending"}}
"""The status of objects that were put in past the server, and bring none."""


class InMemory:
    """A sandbox as `Grounds`. Objects go through the server's admission, and past it where it refuses them.

    An order to go is followed so late that, as in a simulation, the next cycle still sees the pod and the one after
    that does not, whether it was given by a cycle or between two.
    """

    namespace = "kube-system"
    period: Duration | None = None
    waits = True

    def __init__(self, sandbox: Sandbox) -> None:
        """Made by `open_memory`."""
        self.transport: Transport = SandboxTransport(sandbox)
        self.scheduling: Transport = self.transport
        self.now: Callable[[], Instant] = sandbox.clock.now
        self.run_sync: RunSync = at_once
        self._sandbox = sandbox

    async def apply(self, raw: Object) -> None:
        """See `Grounds.apply`."""
        key = key_of(raw)
        if (
            is_name(key.namespace)
            and await ask(self.transport, "GET", path(Key("Namespace", "", key.namespace))) is None
        ):
            await self.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": key.namespace}})
        old = await ask(self.transport, "GET", path(key))
        if old is not None and text(part(raw, "metadata"), "uid") not in ("", old["metadata"]["uid"]):
            await ask(self.transport, "DELETE", path(key), {"gracePeriodSeconds": 0})
            old = None
        new = _kept(self._admitted(key, raw, old), raw, old)
        load(self._sandbox.server, [new if old is None or key.kind != "Pod" else still_bound(new, old)], self.now())
        await trio.lowlevel.checkpoint()

    async def fail_next_bind(self, order: FailNextBind) -> None:
        """See `Grounds.fail_next_bind`."""
        done = order.status == OUTCOME_UNKNOWN
        _, namespace, name = order.pod
        fault = Fault(
            verbs=("create",), resource="pods/binding", namespace=namespace, name=name, status=order.status, done=done
        )
        self._sandbox.faults.add(fault)

    async def repair(self, settings: Settings) -> None:
        """See `Grounds.repair`: by the plans that a simulation has carried out too, and through the server."""
        objects, intake = await listed(self.transport), Intake(settings)
        for raw in objects.values():
            intake.put(raw)
        for mend in drift.plan(intake.world(), self.now()):
            key = Key("Quota", "", mend.write.quota)
            new = mended(objects[key], intake.world().quotas[mend.write.quota], mend, self.now())
            if new != objects[key]:
                objects[key] = await self._write(key, new)
                intake.put(objects[key])
        for write in reservations.collected(intake.world(), self.now()):
            key = Key("Quota", "", write.quota)
            said = quota_status(write, intake.world().quotas[write.quota], self.now(), conditions(objects[key]))
            await self._write(key, written(objects[key], ("status",), said))

    async def _write(self, key: Key, raw: Object) -> Object:
        done = await ask(self.transport, "PUT", path(key, "status"), raw)
        if done is None:
            raise RefusedError(f"{key} is gone in the midst of its repair")
        return done

    def _admitted(self, key: Key, raw: Object, old: Object | None) -> Object:
        """What the server would make of it, with its defaults; the object as it is where the server would not take it.

        Nothing happens to a node that is not ready: else hollow kubelets would mend it.
        """
        if key.kind == "Node" and not _is_ready(raw):
            raw = written(raw, ("metadata", "labels", HOLD), "")
        resource, metadata = RESOURCES[key.kind], {**part(raw, "metadata")}
        metadata.pop("uid", None)
        if old is None:
            method, where = "POST", resource.collection(key.namespace)
        else:
            method, where = "PUT", path(key)
            metadata["resourceVersion"] = old["metadata"]["resourceVersion"]
        request = Request(
            method=method, path=where, query={"dryRun": "All"}, body=msgspec.json.encode({**raw, "metadata": metadata})
        )
        answer = self._sandbox.server.handle(request, self.now())
        assert not isinstance(answer, Watch)  # noqa: S101  a write is none
        taken = answer.status in (200, 201)
        return msgspec.json.decode(answer.body, type=dict[str, Any]) if taken else raw


def _kept(admitted: Object, raw: Object, old: Object | None) -> Object:
    """With what is chosen, and with what the old object has and the new one does not bring."""
    said, before = part(raw, "metadata"), part(old or {}, "metadata")
    metadata = {name: value for name, value in part(admitted, "metadata").items() if name != "resourceVersion"}
    for name in ("uid", "creationTimestamp"):
        chosen = said.get(name) or before.get(name)
        metadata = {**metadata, name: chosen} if chosen else {n: v for n, v in metadata.items() if n != name}
    status = raw.get("status") or part(old or {}, "status") or admitted.get("status") or _NEW.get(str(raw["kind"]), {})
    return {**written(admitted, ("status",), status), "metadata": metadata}


def _is_ready(raw: Object) -> bool:
    """Whether a node says so, or says nothing of it, as one that is being set up."""
    told = [one for one in conditions(raw) if one.get("type") == "Ready"]
    return not told or told[0].get("status") == "True"


@asynccontextmanager
async def open_memory(start: Instant, period: Duration) -> AsyncIterator[InMemory]:
    """Grounds on which a scheduler that comes at once has its first cycle at `start`: it has to list everything."""
    start = Instant(start - round(LISTED_EVERY * SECOND))
    server = new_server(start)
    load(server, definitions(), start)
    async with open_sandbox(start, server=server, habits=Habits(stop_after=Duration(period + period // 4))) as sandbox:
        yield InMemory(sandbox)


def definitions() -> list[dict[str, Any]]:
    """Our kinds."""
    found = [yaml.load(file.read_text(), yaml.CSafeLoader) for file in sorted(CRDS.glob("*.yaml"))]
    return [one for one in found if one["kind"] == "CustomResourceDefinition"]
