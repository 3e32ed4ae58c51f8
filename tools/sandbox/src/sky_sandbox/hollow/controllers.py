"""What a cluster's controllers do to nodes and disruption budgets, which schedulers rely on."""

from collections.abc import Callable
from typing import Final

from sky_core.api.faults import Invalid
from sky_core.model import Instant
from sky_core.simulation.objects import Object, conditions, part, written
from sky_sandbox.api.storage import Change, Key
from sky_sandbox.api.writing import Writer
from sky_sandbox.hollow.orders import is_held
from sky_sandbox.hollow.statuses import ready
from sky_sandbox.objects import disruption
from sky_sandbox.objects.admission import NOT_READY
from sky_sandbox.objects.parts import items

UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"
_NODES: Final = "nodes"
_BY_CONDITION: Final = frozenset({NOT_READY, UNSCHEDULABLE})


class Controllers:
    """Nodes get ready, and have the taints of their state; budgets say how many pods they let go."""

    due: Instant | None = None
    """Never: they act on changes alone."""

    def __init__(self, writer: Writer) -> None:
        """Controllers of all nodes that are not held, and of all budgets."""
        self.wake: Callable[[], None] = lambda: None
        self._writer = writer
        self._nodes: dict[Key, None] = {}
        self._namespaces: dict[str, None] = {}
        writer.storage.listen(_NODES, self._node_changed)
        for resource in ("pods", disruption.RESOURCE):
            writer.storage.listen(resource, self._budget_changed)
        for stored in writer.storage.objects(_NODES):
            self._nodes["", stored.object["metadata"]["name"]] = None
        for stored in writer.storage.objects(disruption.RESOURCE):
            self._namespaces[stored.object["metadata"]["namespace"]] = None

    def act(self, now: Instant) -> None:
        """Do everything that is to be done."""
        while self._nodes:
            key = next(iter(self._nodes))
            del self._nodes[key]
            self._see_node(key, now)
        while self._namespaces:
            namespace = next(iter(self._namespaces))
            del self._namespaces[namespace]
            self._see_budgets(namespace, now)

    def _see_node(self, key: Key, now: Instant) -> None:
        storage, kind = self._writer.storage, self._writer.registry[_NODES]
        stored = storage.find(_NODES, key)
        if stored is None:
            return
        if not _is_ready(stored.object) and not is_held(stored.object):
            self._writer.put_status(kind, key, ready(stored.object, now), now)
            stored = self._writer.found(kind, key)
        node = stored.object
        taints = [one for one in items(part(node, "spec"), "taints") if one.get("key") not in _BY_CONDITION]
        if not _is_ready(node):
            taints += [{"key": NOT_READY, "effect": effect} for effect in ("NoSchedule", "NoExecute")]
        if part(node, "spec").get("unschedulable"):
            taints.append({"key": UNSCHEDULABLE, "effect": "NoSchedule"})
        if taints != items(part(node, "spec"), "taints"):
            storage.put(_NODES, key, written(node, ("spec", "taints"), taints or None), now)

    def _see_budgets(self, namespace: str, now: Instant) -> None:
        storage, kind = self._writer.storage, self._writer.registry[disruption.RESOURCE]
        pods = [stored.object for stored in storage.objects("pods", namespace)]
        for stored in storage.objects(disruption.RESOURCE, namespace):
            budget = stored.object
            protected = [pod for pod in pods if disruption.protects(budget, pod)]
            try:
                status = disruption.status(budget, protected, now)
            except Invalid:
                continue
            self._writer.put_status(kind, (namespace, budget["metadata"]["name"]), status, now)

    def _node_changed(self, change: Change) -> None:
        self._nodes[change.key] = None
        self.wake()

    def _budget_changed(self, change: Change) -> None:
        if self._writer.storage.table(disruption.RESOURCE).objects:
            self._namespaces[change.key[0]] = None
            self.wake()


def _is_ready(node: Object) -> bool:
    return any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions(node))
