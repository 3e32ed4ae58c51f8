"""Keeps nodes, their zones and their books."""

from collections.abc import Iterable

from sky_core import ledger
from sky_core.api import nodes
from sky_core.api.identity import Key
from sky_core.api.store import Dirty, Store
from sky_core.api.upkeep.openings import node_opens
from sky_core.api.upkeep.tables import settle
from sky_core.api.upkeep.zoning import Zoning
from sky_core.model import Book, Node, NodeName
from sky_core.reasons import Topic
from sky_core.resources import NOTHING, Resources
from sky_core.world import World


class NodeUpkeep:
    """Nodes as the store has them and their NodeTopologies."""

    def __init__(self, store: Store, world: World) -> None:
        """Nothing is there."""
        self._store = store
        self._world = world
        self._zoning = Zoning()
        self._allocatable: dict[NodeName, Resources] = {}

    def flush(self, dirty: Dirty) -> set[NodeName]:
        """Take up changed nodes. Returns those that changed by more than a heartbeat."""
        world = self._world
        changes: dict[NodeName, Node | None] = {}
        touched = set()
        for name in sorted({key.name for kind in ("Node", "NodeTopology") for key in dirty[kind]}):
            node = NodeName(name)
            old, new = world.nodes.get(node), self._row(node)
            changes[node] = new
            resized = self._resize(node)
            opened = node_opens(old, new) or resized
            world.openings[Topic.NODE] += opened
            if opened:
                touched.add(node)
            self._zoning.node(old, new)
        settle(world.nodes, changes, lambda _, row: row.order)
        self._zoning.flush(world)
        return touched

    def recount(self, touched: Iterable[NodeName]) -> None:
        """Fold the books of these nodes anew, from tasks and quotas that are up to date, and tell the caches."""
        world = self._world
        books: dict[NodeName, Book | None] = {}
        for node in sorted(touched):
            known = node in world.nodes
            books[node] = ledger.recount(world, node, self._allocatable[node]) if known else None
            world.touch(node)
        settle(world.books, books, lambda node, _: node)

    def _row(self, node: NodeName) -> Node | None:
        reading = self._store.nodes.get(Key("Node", "", node))
        return nodes.row(reading, self._store.topologies.get(Key("NodeTopology", "", node))) if reading else None

    def _resize(self, node: NodeName) -> bool:
        """Take up what a node can take; whether that has changed."""
        reading = self._store.nodes.get(Key("Node", "", node))
        old, new = self._allocatable.get(node, NOTHING), reading.allocatable if reading else NOTHING
        if reading:
            self._allocatable[node] = new
        else:
            self._allocatable.pop(node, None)
        if old == new:
            return False
        self._world.total = self._world.total - old + new
        return True
