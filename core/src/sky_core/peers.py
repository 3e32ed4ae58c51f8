"""Jobs that are alike: what one of them is told is told to all, while nothing changes."""

from bisect import bisect_left
from collections.abc import Hashable, Mapping, Sequence

import msgspec

from sky_core.memory import Attempt
from sky_core.model import Instant, Job, JobId, Task
from sky_core.reasons import Reason, Verdict
from sky_core.states import TaskState
from sky_core.world import World

Order = tuple[Instant, JobId]
"""Among jobs of equal key the older goes first."""


def likeness(world: World, job: Job) -> Hashable | None:
    """What the answers to a waiting job hang on, but for its name, its labels and its age; None: on more than that.

    Only jobs that hold nothing and ask for nothing by its name are alike to any other.
    """
    tasks = [world.tasks[id_] for id_ in job.tasks]
    if job.fault or not job.known or not tasks or not all(map(_is_plain, tasks)):
        return None
    return (
        job.queue,
        job.namespace,
        job.topology,
        job.min_member,
        job.min_task_member,
        job.min_resources,
        job.priority,
        job.preempts,
        job.waiting_since,
        job.version,
        tuple([(task.shape, task.role, task.priority) for task in tasks]),
    )


def _is_plain(task: Task) -> bool:
    named = task.required_quota or task.inherits or task.gated
    return task.state is TaskState.PENDING and not (named or task.shape.spot or task.shape.looks_around)


class Crowd:
    """Jobs that are alike, and were told the same by their last attempts but for names; in order.

    `not_let_in` are the verdicts of those that were told, by name, for which reasons they take no part.
    """

    __slots__ = ("_not_let_in", "_reasons", "attempts", "ids", "orders")

    def __init__(self, orders: Sequence[Order], ids: Sequence[JobId], attempts: Sequence[Attempt | None]) -> None:
        """Nothing has been told to them yet."""
        self.orders = orders
        self.ids = ids
        self.attempts = attempts
        self._reasons: tuple[Reason, ...] = ()
        self._not_let_in: dict[JobId, Verdict] = {}

    def not_let_in(self, reasons: tuple[Reason, ...]) -> dict[JobId, Verdict]:
        """What was told so far for these reasons, to be added to."""
        if self._reasons != reasons:
            self._reasons, self._not_let_in = reasons, {}
        return self._not_let_in

    def parts(self, keys: Sequence[Hashable]) -> list["Crowd"]:
        """Those that have the same key, each."""
        places: dict[Hashable, list[int]] = {}
        for at, key in enumerate(keys):
            places.setdefault(key, []).append(at)
        if len(places) < 2:
            return [self]
        return [
            Crowd([self.orders[at] for at in each], [self.ids[at] for at in each], [self.attempts[at] for at in each])
            for each in places.values()
        ]


class Told(msgspec.Struct, frozen=True, gc=False):
    """Jobs of a crowd, from one place in it to before another, that were told in their turn what `by` was in its."""

    crowd: Crowd
    begin: int
    end: int
    by: JobId

    @property
    def ids(self) -> Sequence[JobId]:
        """Who they are."""
        return self.crowd.ids[self.begin : self.end]

    @property
    def attempts(self) -> Sequence[Attempt | None]:
        """Their last attempts."""
        return self.crowd.attempts[self.begin : self.end]


class Peers:
    """Jobs that are alike, kept in order."""

    __slots__ = ("_attempts", "_crowds", "_ids", "_orders")

    def __init__(self) -> None:
        """Nobody."""
        self._orders: list[Order] = []
        self._ids: list[JobId] = []
        self._attempts: list[Attempt | None] = []
        self._crowds: list[Crowd] = []

    def __len__(self) -> int:
        """How many."""
        return len(self._ids)

    def add(self, order: Order) -> None:
        """One more."""
        at = bisect_left(self._orders, order)
        self._orders.insert(at, order)
        self._ids.insert(at, order[1])
        self._attempts = []

    def drop(self, order: Order) -> None:
        """One less."""
        at = bisect_left(self._orders, order)
        del self._orders[at], self._ids[at]
        self._attempts = []

    def crowds(self, attempts: Mapping[JobId, Attempt]) -> list[Crowd]:
        """All of them, by what their last attempts say."""
        found = list(map(attempts.get, self._ids))
        if found != self._attempts:
            everybody = Crowd(self._orders, self._ids, found)
            self._attempts, self._crowds = found, [everybody]
            if len(set(map(id, found))) > 1:
                keys = {number: said(attempt) for number, attempt in {id(one): one for one in found}.items()}
                self._crowds = everybody.parts([keys[id(one)] for one in found])
        return self._crowds


def said(attempt: Attempt | None) -> Hashable:
    """What an attempt says, but for the names in its findings."""
    if attempt is None:
        return None
    verdict = attempt.verdict
    others = [getattr(attempt, name) for name in attempt.__struct_fields__ if name != "verdict"]
    return (verdict.rung, verdict.codes(), *others)
