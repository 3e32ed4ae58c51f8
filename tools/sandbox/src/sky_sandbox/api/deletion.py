"""Deletion: at once, or told to go and waited for; and what goes with a namespace or with the definition of a kind."""

from sky_core.model import SECOND, Instant
from sky_core.simulation.objects import Object, part, text, written
from sky_sandbox.api.bodies import DeleteOptions
from sky_sandbox.api.kinds import Kind
from sky_sandbox.api.metadata import timestamp
from sky_sandbox.api.refusals import conflict, forbidden
from sky_sandbox.api.storage import Change, Key, Stored
from sky_sandbox.api.writing import Writer
from sky_sandbox.objects import definitions

ENDED = frozenset({"Succeeded", "Failed"})
PERMANENT = frozenset({"default", "kube-system", "kube-public", "kube-node-lease"})
_NAMESPACES = "namespaces"
_PODS = "pods"


class Deleter:
    """Deletes objects, and lets go of what was waiting for that."""

    def __init__(self, writer: Writer) -> None:
        """By this writer, hearing of everything that goes."""
        self._writer = writer
        self._storage = writer.storage
        self._storage.listen("*", self._heard)

    def delete(self, kind: Kind, key: Key, options: DeleteOptions, now: Instant) -> tuple[Stored, bool]:
        """Delete an object: how it is left, or was last, and whether it is gone.

        Raises:
            Refusal: It is not there, a precondition does not hold, or it may not go.
        """
        current = self._writer.found(kind, key)
        if why := options.preconditions.broken_by(current.object):
            raise conflict(kind.qualified, key[1], why)
        if kind.kept_as == _NAMESPACES and key[1] in PERMANENT:
            raise forbidden(kind.resource, key[1], "this namespace may not be deleted")
        grace = _grace(kind, current.object, options.grace_period_seconds)
        metadata = current.object["metadata"]
        waits = bool(grace or metadata.get("finalizers") or self._holds(kind, key))
        told = _told_to_go(kind, current.object, grace, now)
        if options.is_trial:
            return (Stored(told, current.version) if waits or kind.kept_as == _PODS else current), not waits
        if metadata.get("deletionTimestamp") and waits and metadata.get("deletionGracePeriodSeconds", 0) <= grace:
            return current, False
        if not waits:
            if kind.kept_as == _PODS:  # that a pod goes is written down even where it goes at once
                self._storage.put(kind.kept_as, key, told, now)
            return self._storage.remove(kind.kept_as, key, now), True
        stored = self._storage.put(kind.kept_as, key, told, now)
        self._empty(kind, key, now)
        return self._storage.find(kind.kept_as, key) or stored, False

    def _holds(self, kind: Kind, key: Key) -> bool:
        """Whether something is in a namespace, or of a defined kind."""
        if kind.kept_as == _NAMESPACES:
            return any(self._storage.objects(one, key[1]) for one in self._storage.resources() if one != _NAMESPACES)
        return kind.resource == definitions.RESOURCE and bool(self._storage.table(key[1]).objects)

    def _empty(self, kind: Kind, key: Key, now: Instant) -> None:
        """Delete what is in a namespace, or of a defined kind."""
        at_once = DeleteOptions()
        for inner in list(self._writer.registry):
            if inner.stored_as:
                continue
            if kind.kept_as == _NAMESPACES and inner.namespaced:
                for stored in self._storage.objects(inner.kept_as, key[1]):
                    self.delete(inner, (key[1], stored.object["metadata"]["name"]), at_once, now)
            elif kind.resource == definitions.RESOURCE and inner.resource == key[1]:
                for own in sorted(self._storage.table(inner.resource).objects):
                    self.delete(inner, own, at_once, now)

    def _heard(self, change: Change) -> None:
        """Of the last object in a namespace, or of a defined kind, that went."""
        if change.type != "DELETED":
            return
        namespace, registry = change.key[0], self._writer.registry
        for resource, key in ((_NAMESPACES, ("", namespace)), (definitions.RESOURCE, ("", change.resource))):
            waiting = self._storage.find(resource, key) if key[1] else None
            if waiting is None or not text(part(waiting.object, "metadata"), "deletionTimestamp"):
                continue
            if not self._holds(registry[resource], key) and not waiting.object["metadata"].get("finalizers"):
                self._storage.remove(resource, key, change.at)


def _grace(kind: Kind, raw: Object, wanted: int | None) -> int:
    """The seconds that a pod has to end; 0 for one that does not run, and for all else."""
    if kind.kept_as != _PODS or not text(part(raw, "spec"), "nodeName"):
        return 0
    if text(part(raw, "status"), "phase") in ENDED:
        return 0
    usual: int = part(raw, "spec").get("terminationGracePeriodSeconds", 30)
    return usual if wanted is None else max(wanted, 0)


def _told_to_go(kind: Kind, raw: Object, grace: int, now: Instant) -> Object:
    until = timestamp(Instant(now + grace * SECOND))
    told = written(raw, ("metadata", "deletionTimestamp"), until)
    told = written(told, ("metadata", "deletionGracePeriodSeconds"), grace)
    if kind.counted and not raw["metadata"].get("deletionTimestamp"):
        told = written(told, ("metadata", "generation"), raw["metadata"].get("generation", 0) + 1)
    return written(told, ("status", "phase"), "Terminating") if kind.kept_as == _NAMESPACES else told
