"""What is known of one class of parcels: how many of it each node takes, and how well it is liked there."""

from collections.abc import Hashable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sky_core.columns import Columns, Numbers
from sky_core.plugin import Area, Sieve
from sky_core.policy import Policy
from sky_core.reasons import Finding, Reason
from sky_core.rivals import Rivals

NOWHERE: Final = int(np.iinfo(np.int64).min)
"""The score of a node that does not take the parcel."""

UNASKED: Final = -1
"""The number of an answer that is not known."""


class Mask:
    """Which nodes a sieve lets through, kept in step with nodes that become others."""

    def __init__(self, columns: Columns, sieve: Sieve) -> None:
        """Asked of every node once."""
        self._columns = columns
        self._lets = sieve.lets
        self._cursor = len(columns.moved)
        self.lets: NDArray[np.bool_] = np.fromiter(map(sieve.lets, columns.nodes), np.bool_, len(columns.nodes))

    def renew(self) -> None:
        """Ask the nodes again that have become others."""
        moved = self._columns.moved
        if self._cursor < len(moved):
            for at in moved[self._cursor :]:
                self.lets[at] = self._lets(self._columns.nodes[at])
            self._cursor = len(moved)


class View:
    """One class: slots by node, their sums by area and by zone, and scores where somebody asked who is best.

    Without masks every node is asked about more than its room. `unscored` are the positions whose score is not known
    any more. `answers` are, by position, the places in `said` of refusals that somebody asked for, `UNASKED` where
    nobody has, `by_fill` likewise by how full a node is; `told` is what was made of them for an area. `rivals` hold for
    the session of `owner` alone.
    """

    __slots__ = (
        "_numbers",
        "answers",
        "by_fill",
        "by_zone",
        "cursor",
        "masks",
        "owner",
        "rivals",
        "said",
        "scores",
        "slots",
        "told",
        "totals",
        "unscored",
    )

    def __init__(self, masks: Sequence[Mask] | None) -> None:
        """Nothing is known."""
        self.masks = masks
        self.cursor = -1
        self.slots: Numbers = np.zeros(0, dtype=np.int64)
        self.totals: dict[Area, int] = {}
        self.by_zone: Numbers | None = None
        self.scores: Numbers | None = None
        self.unscored: set[int] = set()
        self.owner: object = None
        self.answers: Numbers = np.zeros(0, dtype=np.int64)
        self.said: list[tuple[Reason, ...]] = []
        self._numbers: dict[tuple[Reason, ...], int] = {}
        self.by_fill: dict[Hashable, int] = {}
        self.told: dict[Area, tuple[Finding, ...]] = {}
        self.rivals: dict[Area, Rivals] = {}

    def lets(self, at: int) -> bool:
        """Whether nothing but room keeps the parcels from a node, as far as is known."""
        return self.masks is not None and all([mask.lets[at] for mask in self.masks])

    def forget_answers(self) -> None:
        """Nobody has asked why anybody refuses."""
        self.answers = np.full(len(self.slots), UNASKED, dtype=np.int64)
        self.said.clear()
        self._numbers.clear()
        self.by_fill.clear()
        self.told.clear()

    def number_of(self, reasons: tuple[Reason, ...]) -> int:
        """The place of an answer in `said`."""
        number = self._numbers.setdefault(reasons, len(self.said))
        if number == len(self.said):
            self.said.append(reasons)
        return number


class Kept:
    """What outlives a session: columns, masks, and the views of quotas.

    Only where plugins say what their answers depend on: who is asked node by node may look at the clock.
    """

    def __init__(self, columns: Columns, policy: Policy) -> None:
        """Nothing is known yet. Another policy may answer otherwise."""
        self.columns = columns
        self.policy = policy
        self.views: dict[Hashable, View] = {}
        self._masks: dict[Hashable, Mask] = {}

    def mask(self, name: str, sieve: Sieve) -> Mask:
        """The mask of a plugin's sieve."""
        key = (name, sieve.about)
        if key not in self._masks:
            self._masks[key] = Mask(self.columns, sieve)
        return self._masks[key]

    def forget(self, most: int) -> None:
        """Begin anew where there are more views than that: shapes come and go."""
        if len(self.views) > most:
            self.views.clear()
            self._masks.clear()
