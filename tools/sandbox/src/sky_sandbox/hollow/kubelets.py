"""Hollow kubelets: pods that have a node start, run and end in due time, and are refused where there is no room."""

import heapq
from collections.abc import Callable
from typing import Final

from sky_core.api.decoding import decoded
from sky_core.api.faults import Invalid
from sky_core.api.instants import instant
from sky_core.api.requests import request
from sky_core.api.wire import core
from sky_core.model import SECOND, Instant
from sky_core.quantity import QuantityError
from sky_core.resources import NOTHING, Resources, parse_resources, render
from sky_core.simulation.objects import Object, part, text
from sky_sandbox.api.bodies import DeleteOptions
from sky_sandbox.api.deletion import ENDED, Deleter
from sky_sandbox.api.storage import Change, Key
from sky_sandbox.api.writing import Writer
from sky_sandbox.hollow.orders import Habits, Orders, is_held, orders
from sky_sandbox.hollow.statuses import ended, rejected, running

PODS: Final = "pods"
NODES: Final = "nodes"
ORPHANED: Final = 40 * SECOND
"""How long a pod outlives its node (controller-manager, podgc)."""

_AT_ONCE: Final = DeleteOptions(grace_period_seconds=0)
_ONE: Final = parse_resources({"pods": 1})


class Kubelets:
    """The kubelets of all nodes. Whoever drives them calls `act` when `wake` is called, and at `due`."""

    def __init__(self, writer: Writer, deleter: Deleter, habits: Habits) -> None:
        """Kubelets that look after every pod on a node that is not held."""
        self.wake: Callable[[], None] = lambda: None
        self._writer = writer
        self._deleter = deleter
        self._habits = habits
        self._to_see: dict[Key, None] = {}
        self._agenda: list[tuple[Instant, Key]] = []
        self._since: dict[tuple[str, str], Instant] = {}
        self._taken: dict[str, dict[str, Resources]] = {}
        writer.storage.listen(PODS, self._pod_changed)
        writer.storage.listen(NODES, self._node_changed)
        for stored in writer.storage.objects(PODS):
            self._to_see[_key(stored.object)] = None
            self._keep(stored.object)

    @property
    def due(self) -> Instant | None:
        """When to act, even if nothing wakes; None if never."""
        return self._agenda[0][0] if self._agenda else None

    def act(self, now: Instant) -> None:
        """Do everything that is to be done by now."""
        while self._agenda and self._agenda[0][0] <= now:
            self._to_see[heapq.heappop(self._agenda)[1]] = None
        while self._to_see:
            key = next(iter(self._to_see))
            del self._to_see[key]
            if (again := self._see(key, now)) is not None:
                heapq.heappush(self._agenda, (again, key))

    def _see(self, key: Key, now: Instant) -> Instant | None:
        """Do what is due of one pod; when it is to be looked at again."""
        stored = self._writer.storage.find(PODS, key)
        pod = stored.object if stored else {}
        node = text(part(pod, "spec"), "nodeName")
        if not node or is_held(pod):
            return None
        host = self._writer.storage.find(NODES, ("", node))
        if host is None:
            return self._go(key, self._first_seen(pod, "orphan", now) + ORPHANED, now)
        if is_held(host.object):
            return None
        wanted = orders(pod, self._habits)
        if part(pod, "metadata").get("deletionTimestamp"):
            return self._go(key, self._first_seen(pod, "stop", now) + wanted.stop_after, now)
        return self._run(key, pod, host.object, wanted, now)

    def _run(self, key: Key, pod: Object, node: Object, wanted: Orders, now: Instant) -> Instant | None:
        phase, status = text(part(pod, "status"), "phase"), part(pod, "status")
        if phase == "Pending" and self._admit(key, pod, node, now):
            at = self._first_seen(pod, "start", now) + wanted.start_after
            then = running(pod, now)
        elif phase == "Running" and wanted.ends_after is not None:
            at = instant(status["startTime"]) + wanted.ends_after
            then = ended(pod, now, succeeds=wanted.succeeds)
        else:
            return None
        if at > now:
            return Instant(at)
        self._writer.put_status(self._writer.registry[PODS], key, then, now)
        return None

    def _go(self, key: Key, at: int, now: Instant) -> Instant | None:
        if at > now:
            return Instant(at)
        self._deleter.delete(self._writer.registry[PODS], key, _AT_ONCE, now)
        return None

    def _first_seen(self, pod: Object, what: str, now: Instant) -> Instant:
        return self._since.setdefault((pod["metadata"]["uid"], what), now)

    def _admit(self, key: Key, pod: Object, node: Object, now: Instant) -> bool:
        """Whether the pod has room on its node; one that has none fails, as on a kubelet (lifecycle/predicate.go)."""
        taken = self._taken.setdefault(node["metadata"]["name"], {})
        uid = pod["metadata"]["uid"]
        if uid in taken:
            return True
        try:
            asked = _ONE + request(decoded(pod, core.Pod))
            room = parse_resources(part(node, "status", "allocatable"))
        except (Invalid, QuantityError) as error:
            reason, message = "UnexpectedAdmissionError", str(error)
        else:
            used = sum(taken.values(), NOTHING)
            lacking = asked.shortfall(room - used)
            if not lacking:
                taken[uid] = asked
                return True
            name = min(lacking.units)
            reason = f"OutOf{name}"
            message = (
                f"Node didn't have enough resource: {name}, requested: {render(name, asked[name])}, "
                f"used: {render(name, used[name])}, capacity: {render(name, room[name])}"
            )
        self._writer.put_status(self._writer.registry[PODS], key, rejected(pod, reason, message, now), now)
        return False

    def _pod_changed(self, change: Change) -> None:
        pod = change.now.object
        self._keep(pod)
        uid, node = pod["metadata"]["uid"], text(part(pod, "spec"), "nodeName")
        if change.type == "DELETED":
            for what in ("start", "stop", "orphan"):
                self._since.pop((uid, what), None)
        if change.type == "DELETED" or text(part(pod, "status"), "phase") in ENDED:
            self._taken.get(node, {}).pop(uid, None)
        if node:
            self._to_see[change.key] = None
            self.wake()

    def _node_changed(self, change: Change) -> None:
        name = change.key[1]
        if change.type == "DELETED":
            self._taken.pop(name, None)
        was_held = change.before is None or is_held(change.before.object)
        if change.type == "DELETED" or (was_held and not is_held(change.now.object)):
            for stored in self._writer.storage.objects(PODS):
                if part(stored.object, "spec").get("nodeName") == name:
                    self._to_see[_key(stored.object)] = None
            self.wake()

    def _keep(self, pod: Object) -> None:
        """Count a pod that runs as taken, whoever let it run."""
        node = text(part(pod, "spec"), "nodeName")
        taken = self._taken.setdefault(node, {})
        if text(part(pod, "status"), "phase") == "Running" and pod["metadata"]["uid"] not in taken:
            taken[pod["metadata"]["uid"]] = _asked(pod)


def _key(pod: Object) -> Key:
    return pod["metadata"]["namespace"], pod["metadata"]["name"]


def _asked(pod: Object) -> Resources:
    try:
        return _ONE + request(decoded(pod, core.Pod))
    except Invalid:
        return _ONE
