"""Brings what is known of a class up to date with the nodes that have changed."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from sky_core.columns import EVERYWHERE, Columns, Numbers, Positions
from sky_core.model import Node, ZoneId
from sky_core.pairs import Pairs
from sky_core.plugin import Area, Field, Parcel
from sky_core.policy import Points
from sky_core.views import NOWHERE, UNASKED, View
from sky_core.world import World

FEW: Final = 12
"""Setting out to renew many nodes at once takes as long as renewing so many one by one."""


MANY: Final = 2
"""How many different refusals of each node are kept at most: with each change there may be new numbers."""


class Renewal:
    """For one session. Each question about a view comes with a parcel of its class."""

    def __init__(self, world: World, points: Points, pairs: Pairs, columns: Columns, few: int) -> None:
        """Nothing is renewed yet. Up to `few` nodes are renewed one by one."""
        self._few = few
        self._changed = world.changed
        self._points = points
        self._pairs = pairs
        self._columns = columns

    def renew(self, view: View, parcel: Parcel) -> None:
        """Ask again about the nodes that have changed since the view was last renewed."""
        columns, cursor = self._columns, view.cursor
        columns.renew()
        for mask in view.masks or ():
            mask.renew()
        view.cursor = len(self._changed)
        if cursor < 0 or view.cursor - cursor > len(columns.names):
            view.slots = self._slots(view, parcel, EVERYWHERE)
            view.scores = None
            view.forget_answers()
            self._forget_sums(view)
            return
        stale = columns.stale(cursor)
        if len(view.said) > MANY * len(columns.names):
            view.forget_answers()
        if len(stale) <= self._few:
            for at in stale:
                self.set(view, at, self._slots_at(view, parcel, at))
            return
        positions = np.array(stale, dtype=np.intp)
        self.set_all(view, stale, self._slots(view, parcel, positions))

    def set_all(self, view: View, at: Sequence[int], slots: Numbers) -> None:
        """Note the slots of several nodes."""
        if len(at) <= self._few:
            for one, left in zip(at, slots.tolist(), strict=True):
                self.set(view, one, left)
            return
        view.slots[at] = slots
        view.answers[at] = UNASKED
        if view.scores is not None:
            view.scores[at] = NOWHERE
            view.unscored.update(at)
        self._forget_sums(view)

    def set(self, view: View, at: int, slots: int) -> None:
        """Note a node's slots, and what follows for its areas."""
        columns = self._columns
        node = columns.nodes[at]
        gained = slots - int(view.slots[at])
        view.slots[at] = slots
        view.told.clear()
        if view.said:
            view.answers[at] = UNASKED
        for area in _areas(node) if view.totals or view.rivals else ():
            if area in view.totals:
                view.totals[area] += gained
            if area in view.rivals:
                view.rivals[area].change(node, takes=slots > 0)
        if view.by_zone is not None:
            view.by_zone[columns.zone_at[at]] += gained
        if view.scores is not None:
            view.scores[at] = NOWHERE
            if slots:
                view.unscored.add(at)

    def by_zone(self, view: View) -> Numbers:
        """The slots of each zone."""
        if view.by_zone is None:
            columns = self._columns
            sums = np.bincount(columns.zone_at, weights=view.slots, minlength=len(columns.zones) + 1)
            view.by_zone = sums.astype(np.int64)
        return view.by_zone[:-1]

    def scores(self, view: View, parcel: Parcel) -> Numbers:
        """How well each node that takes the parcel is liked, on its own."""
        if view.scores is None:
            view.scores = np.full(len(view.slots), NOWHERE, dtype=np.int64)
            view.unscored = set(np.flatnonzero(view.slots).tolist())
        if view.unscored:
            at = [one for one in view.unscored if view.slots[one]]
            view.scores[at] = self._scored(parcel, [self._columns.nodes[one] for one in at])
            view.unscored.clear()
        return view.scores

    def _scored(self, parcel: Parcel, nodes: Sequence[Node]) -> Sequence[int]:
        many = self._points.scores if not parcel.direct and len(nodes) > 1 else None
        if many is not None:
            scores: Sequence[int] = many(parcel, nodes)
            return scores
        return [self._pairs.score(parcel, node, Field((node,))) for node in nodes]

    def _slots_at(self, view: View, parcel: Parcel, at: int) -> int:
        if view.masks is None:
            return self._pairs.slots(parcel, self._columns.names[at])
        return self._columns.slots_at(parcel, at) if view.lets(at) else 0

    def _slots(self, view: View, parcel: Parcel, at: Positions | slice) -> Numbers:
        columns = self._columns
        if view.masks is None:
            asked = range(len(columns.names)) if isinstance(at, slice) else at.tolist()
            return np.array([self._pairs.slots(parcel, columns.names[one]) for one in asked], dtype=np.int64)
        slots = columns.slots(parcel, at)
        for mask in view.masks:
            slots[~mask.lets[at]] = 0
        return slots

    def _forget_sums(self, view: View) -> None:
        view.totals.clear()
        view.told.clear()
        view.rivals.clear()
        view.by_zone = None


def _areas(node: Node) -> tuple[Area, ...]:
    """All that a node is in."""
    if node.zone is None:
        return (Area(), Area(node.spec))
    return (Area(), Area(node.spec), Area(node.spec, ZoneId(node.spec, node.zone)))
