"""What one node answers to one parcel, asked anew each time: what every quicker way must agree with."""

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sky_core.guards import Guards
from sky_core.model import Node, NodeName, Pool
from sky_core.plugin import Area, Field, Parcel
from sky_core.policy import Points
from sky_core.reasons import Reason
from sky_core.resources import UNBOUNDED, Resources
from sky_core.room import expected
from sky_core.world import World


class Pairs:
    """Every question asked of every pair, each time: what the classes must agree with."""

    def __init__(self, world: World, points: Points, frees: Callable[[NodeName], Resources]) -> None:
        """For one session. `frees`: what reclaim may free on a node."""
        self._world = world
        self._points = points
        self._frees = frees
        self._all: tuple[NodeName, ...] | None = None

    @cached_property
    def _guards(self) -> Guards:
        return Guards(self._world)

    @property
    def watched(self) -> tuple[str, ...]:
        """The keys of pods' labels for which others may keep them away."""
        return self._guards.labels

    def nodes(self, area: Area) -> tuple[NodeName, ...]:
        """The nodes of an area in index order."""
        world = self._world
        if area.zone is not None:
            zone = world.zones.get(area.zone)
            return zone.nodes if zone is not None else ()
        if area.spec is not None:
            return world.specs.get(area.spec, ())
        if self._all is None:
            self._all = tuple(sorted(world.nodes, key=lambda name: world.nodes[name].order))
        return self._all

    def refusals(self, parcel: Parcel, node: NodeName) -> tuple[Reason, ...]:
        """Select, then Predicate; a node refused in one stage is not asked in the next."""
        row = self._world.nodes[node]
        bundle, asked = ("tn", parcel.tasks[0]) if parcel.direct else ("qn", parcel)
        refused: tuple[Reason, ...] = self._points[f"{bundle}.select"](asked, row)
        return refused or self._points[f"{bundle}.predicate"](asked, row)

    def slots(self, parcel: Parcel, node: NodeName) -> int:
        """By arithmetic where the node takes one."""
        if self.refusals(parcel, node):
            return 0
        single = any(task.shape.ports for task in parcel.tasks) or self.depends(parcel)
        return 1 if single else max(self.room(parcel, node), 1)

    def room(self, parcel: Parcel, node: NodeName) -> int:
        """How often the parcel fits a node that refuses it, if at all, for want of room: 0 where it doesn't."""
        world, book = self._world, self._world.books[node]
        if not parcel.direct and not parcel.footprint.fits_in(book.quota_idle):
            return 0
        coming, others = expected(world, node)
        idle = book.idle - coming
        pods = (world.nodes[node].pods_max - book.pods - others) // max(len(parcel.tasks), 1)
        if parcel.direct:
            return max(min(parcel.load.slots_in(idle), pods, self._spot_room(parcel, node)), 0)
        room = idle + book.releasing
        if parcel.evicts:
            room += self._frees(node)
        return max(min(parcel.footprint.slots_in(book.quota_idle), parcel.load.slots_in(room), pods), 0)

    def _spot_room(self, parcel: Parcel, node: NodeName) -> int:
        """How often the task's spot units fit what is left of its pool."""
        row, book, shape = self._world.nodes[node], self._world.books[node], parcel.tasks[0].shape
        left = row.shared - book.shared if shape.spot is Pool.SHARED else row.exclusive - book.exclusive
        return left // shape.spot_units if shape.spot_units else UNBOUNDED

    def depends(self, parcel: Parcel) -> bool:
        """Whether an answer about one node depends on what others hold."""
        return parcel.looks_around or self._guards.may_refuse(parcel)

    def total(self, parcel: Parcel, area: Area) -> int:
        """Node by node."""
        return sum(self.slots(parcel, name) for name in self.nodes(area))

    def by_zone(self, parcel: Parcel) -> NDArray[np.int64]:
        """Zone by zone."""
        return np.array([self.total(parcel, Area(zone.spec, zone)) for zone in self._world.zones], dtype=np.int64)

    def best(self, parcel: Parcel, area: Area) -> NodeName | None:
        """Five stages over all nodes of the area."""
        rows = [self._world.nodes[name] for name in self.nodes(area) if not self.refusals(parcel, name)]
        return self.choose(parcel, rows)

    def choose(self, parcel: Parcel, rows: Sequence[Node]) -> NodeName | None:
        """BestN's answer, else the highest score, then node index, then name."""
        if not rows:
            return None
        bundle, asked = ("tn", parcel.tasks[0]) if parcel.direct else ("qn", parcel)
        answer: NodeName | None = self._points[f"{bundle}.best"](asked, rows)
        if answer is not None:
            return answer
        field = Field(rows)
        return max(rows, key=lambda row: self.score(parcel, row, field)).name  # rows are in index order: first wins

    def score(self, parcel: Parcel, node: Node, field: Field) -> int:
        """NOrder and BatchNOrder together."""
        bundle, asked = ("tn", parcel.tasks[0]) if parcel.direct else ("qn", parcel)
        order: int = self._points[f"{bundle}.order"](asked, node, field)
        batch: int = self._points[f"{bundle}.batchOrder"](asked, node, field)
        return order + batch
