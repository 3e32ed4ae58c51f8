"""Which spot pods go when room is needed on a node: the cheapest set, and what it costs (behaviour.md 7.4).

Costs are integers, in thousandths of the weights' unit.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Literal

import msgspec

from sky_core.model import Book, Instant, JobId, Task, TaskId
from sky_core.resources import NOTHING, Resources
from sky_core.world import World

UNIT: Final = 1000


class Pricing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an eviction costs: the weight of each part, and where the bands of priority lie."""

    priority: int = 1000
    tasks: int = 100
    resources: int = 10
    runtime: int = 1
    runtimeFirst: Literal["shortest", "longest"] = "shortest"  # noqa: N815  as the configuration spells it
    lowBelow: int = 1  # noqa: N815
    highFrom: int = 1000  # noqa: N815


class Choice(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Victims on one node, dearest first, what they cost, and the cost of the cheapest pod that would do alone."""

    victims: tuple[Task, ...]
    cost: int
    alone: int | None


class Candidates:
    """The pods that may be evicted from one node for what is short there, priced against each other."""

    def __init__(self, world: World, book: Book, cards: str, pricing: Pricing, now: Instant) -> None:
        """`cards` is the resource by which shares of the node are counted."""
        self._world = world
        self._pricing = pricing
        self._now = now
        self._cards = max(book.allocatable[cards], 1)
        self._resource = cards
        self._tasks: tuple[Task, ...] = ()
        self._longest = 1
        self._prices: dict[TaskId, int] = {}

    def choose(
        self, tasks: Sequence[Task], short: Resources, allows: Callable[[Sequence[Task], Task], bool]
    ) -> Choice | None:
        """The cheapest of these that free what is short; None where those that may go together would not.

        By ascending cost, then larger amount freed, younger, name, until it fits; costs are read again after each
        choice. Then from the dearest each that is not needed is spared. A single pod that does it for less goes alone.
        `allows` says whether one more may go besides those chosen.
        """
        useful = {task.id: freed(task, short) for task in tasks}
        self._tasks = tuple(task for task in tasks if useful[task.id])
        self._longest = max((self._running(task) for task in self._tasks), default=0) or 1
        self._prices.clear()
        together = _sum(task.shape.load for task in self._tasks)
        if not short.fits_in(together):
            return None
        if not any([short.fits_in(together - task.shape.load) for task in self._tasks]):
            chosen = self._everyone(allows)  # whatever they cost, none of them can be spared
        else:
            chosen = self._cheapest(short, useful, allows)
        if chosen is None:
            return None
        chosen = self._spare(chosen, short)
        cost = self.cost(chosen)
        able = (task for task in self._tasks if short.fits_in(task.shape.load))
        alone = min(((self.cost([task]), task.key, task) for task in able), key=lambda entry: entry[:2], default=None)
        if alone is None:
            return Choice(victims=tuple(chosen), cost=cost, alone=None)
        if alone[0] < cost:
            chosen, cost = [alone[2]], alone[0]
        return Choice(victims=tuple(chosen), cost=cost, alone=alone[0])

    def cost(self, victims: Sequence[Task]) -> int:
        """What it costs that all these go. A gang that falls below minMember costs all its members, once."""
        gone: dict[JobId, list[Task]] = defaultdict(list)
        for task in victims:
            gone[task.job or JobId(task.key)].append(task)
        return sum(self._loss(job, tasks) for job, tasks in gone.items())

    def _everyone(self, allows: Callable[[Sequence[Task], Task], bool]) -> list[Task] | None:
        """All of them, if they may go together."""
        chosen: list[Task] = []
        for task in self._tasks:
            if not allows(chosen, task):
                return None
            chosen.append(task)
        return chosen

    def _cheapest(
        self, short: Resources, useful: Mapping[TaskId, Resources], allows: Callable[[Sequence[Task], Task], bool]
    ) -> list[Task] | None:
        """One after the other, until it fits."""
        chosen: list[Task] = []
        gone: dict[JobId | None, list[Task]] = defaultdict(list)

        def preference(task: Task) -> tuple[int, int, int, str]:
            mine = gone[task.job]
            more = self._loss(task.job, [*mine, task]) - self._loss(task.job, mine)
            return (more, -sum(useful[task.id].units.values()), -task.created, task.key)

        left = {task.id: (preference(task), task) for task in self._tasks}
        room = NOTHING
        while not short.fits_in(room):
            left = {id_: entry for id_, entry in left.items() if allows(chosen, entry[1])}
            if not left:
                return None
            _, best = min(left.values(), key=lambda entry: entry[0])
            del left[best.id]
            chosen.append(best)
            gone[best.job].append(best)
            room += best.shape.load
            for id_, (_, task) in left.items():
                if task.job == best.job:
                    left[id_] = (preference(task), task)
        return chosen

    def _spare(self, chosen: Sequence[Task], short: Resources) -> list[Task]:
        """Those that are needed, dearest first: by what it would save to leave each out."""
        gone: dict[JobId | None, list[Task]] = defaultdict(list)
        for task in chosen:
            gone[task.job].append(task)

        def saved(task: Task) -> int:
            others = [other for other in gone[task.job] if other is not task]
            return self._loss(task.job, gone[task.job]) - self._loss(task.job, others)

        kept, room = [], _sum(task.shape.load for task in chosen)
        for task in sorted(chosen, key=lambda task: (-saved(task), task.key)):
            if short.fits_in(room - task.shape.load):
                room -= task.shape.load
            else:
                kept.append(task)
        return kept

    def _loss(self, job: JobId | None, gone: Sequence[Task]) -> int:
        """What it costs that these tasks of one job go, with those that are of no use without them."""
        row = self._world.jobs.get(job) if job is not None else None
        lost = list(gone)
        if row is not None and len(row.tasks) > 1 and gone:
            placed = [task for id_ in row.tasks if (task := self._world.tasks[id_]).placed]
            if len(placed) - len(gone) < row.min_member:
                lost += [task for task in placed if task not in gone]
        return sum(self._price(task) for task in lost)

    def _price(self, task: Task) -> int:
        if task.id not in self._prices:
            pricing = self._pricing
            band = 0 if task.priority < pricing.lowBelow else 2 if task.priority >= pricing.highFrom else 1
            running = UNIT * self._running(task) // self._longest
            runtime = running if pricing.runtimeFirst == "shortest" else UNIT - running
            self._prices[task.id] = (
                pricing.priority * UNIT * band // 2
                + pricing.tasks * UNIT // max(len(self._tasks), 1)
                + pricing.resources * UNIT * task.shape.load[self._resource] // self._cards
                + pricing.runtime * min(runtime, UNIT)
            )
        return self._prices[task.id]

    def _running(self, task: Task) -> int:
        return max(self._now - (task.started if task.started is not None else task.created), 0)


def freed(task: Task, short: Resources) -> Resources:
    """What of the short resources the task's end would free, up to what is short."""
    return task.shape.load.only(short.units).least(short)


def _sum(amounts: Iterable[Resources]) -> Resources:
    total = NOTHING
    for amount in amounts:
        total += amount
    return total
