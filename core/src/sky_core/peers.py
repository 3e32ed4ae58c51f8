"""Jobs that are alike: what one of them is told is told to all, while nothing changes."""

from bisect import bisect_left
from collections.abc import Callable, Hashable, Mapping, Sequence
from operator import itemgetter

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

    __slots__ = ("_not_let_in", "_reasons", "attempts", "orders")

    def __init__(self, orders: Sequence[Order], attempts: Sequence[Attempt | None]) -> None:
        """Nothing has been told to them yet."""
        self.orders = orders
        self.attempts = attempts
        self._reasons: tuple[Reason, ...] = ()
        self._not_let_in: dict[JobId, Verdict] = {}

    def not_let_in(self, reasons: tuple[Reason, ...]) -> dict[JobId, Verdict]:
        """What was told so far for these reasons, to be added to."""
        if self._reasons != reasons:
            self._reasons, self._not_let_in = reasons, {}
        return self._not_let_in

    def parts(self, key: Callable[[JobId], Hashable]) -> list["Crowd"]:
        """Those that have the same key, each."""
        keys = [key(id_) for _, id_ in self.orders]
        return _crowds(self.orders, self.attempts, keys) if len(set(keys)) > 1 else [self]


class Told(msgspec.Struct, frozen=True, gc=False):
    """Jobs of a crowd, from one place in it to before another, that were told in their turn what `by` was in its."""

    crowd: Crowd
    begin: int
    end: int
    by: JobId

    @property
    def ids(self) -> list[JobId]:
        """Who they are."""
        return [id_ for _, id_ in self.crowd.orders[self.begin : self.end]]

    @property
    def attempts(self) -> Sequence[Attempt | None]:
        """Their last attempts."""
        return self.crowd.attempts[self.begin : self.end]


class Peers:
    """Jobs that are alike, kept in order."""

    __slots__ = ("_attempts", "_crowds", "_orders")

    def __init__(self) -> None:
        """Nobody."""
        self._orders: list[Order] = []
        self._attempts: list[Attempt | None] = []
        self._crowds: list[Crowd] | None = None

    def __len__(self) -> int:
        """How many."""
        return len(self._orders)

    def add(self, order: Order) -> None:
        """One more."""
        self._orders.insert(bisect_left(self._orders, order), order)
        self._crowds = None

    def drop(self, order: Order) -> None:
        """One less."""
        del self._orders[bisect_left(self._orders, order)]
        self._crowds = None

    def crowds(self, attempts: Mapping[JobId, Attempt]) -> list[Crowd]:
        """All of them, by what their last attempts say."""
        found = list(map(attempts.get, map(itemgetter(1), self._orders)))
        if self._crowds is None or found != self._attempts:
            distinct = dict(zip(map(id, found), found, strict=True))
            said = {number: _said(attempt) for number, attempt in distinct.items()}
            keys = [said[number] for number in map(id, found)] if len(said) > 1 else [None] * len(found)
            self._attempts, self._crowds = found, _crowds(tuple(self._orders), found, keys)
        return self._crowds


def _crowds(orders: Sequence[Order], attempts: Sequence[Attempt | None], keys: Sequence[Hashable]) -> list[Crowd]:
    if len(set(keys)) == 1:
        return [Crowd(orders, attempts)]
    places: dict[Hashable, list[int]] = {}
    for at, key in enumerate(keys):
        places.setdefault(key, []).append(at)
    return [Crowd([orders[at] for at in each], [attempts[at] for at in each]) for each in places.values()]


def _said(attempt: Attempt | None) -> Hashable:
    """What an attempt says, but for the names in its findings."""
    if attempt is None:
        return None
    verdict = attempt.verdict
    others = [getattr(attempt, name) for name in attempt.__struct_fields__ if name != "verdict"]
    return (verdict.rung, verdict.codes(), *others)
