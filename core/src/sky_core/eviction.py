"""Which spot pods go when room is needed on a node: the cheapest set, and what it costs (behaviour.md 7.4).

Costs are integers, in thousandths of the weights' unit.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, Literal

import msgspec

from sky_core.model import Book, Instant, JobId, Task
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
    """The pods that may be evicted from one node, priced against each other."""

    def __init__(self, world: World, book: Book, cards: str, pricing: Pricing, now: Instant) -> None:
        """`cards` is the resource by which shares of the node are counted."""
        self._world = world
        self._pricing = pricing
        self._now = now
        self._cards = max(book.allocatable[cards], 1)
        self._resource = cards
        self._tasks: tuple[Task, ...] = ()
        self._longest = 1

    def choose(
        self, tasks: Sequence[Task], short: Resources, allows: Callable[[Sequence[Task], Task], bool]
    ) -> Choice | None:
        """The cheapest of these that free what is short; None where those that may go together would not.

        By ascending cost, then larger amount freed, younger, name, until it fits; costs are read again after each
        choice. Then from the dearest each that is not needed is spared. A single pod that does it for less goes alone.
        `allows` says whether one more may go besides those chosen.
        """
        useful = [task for task in tasks if freed(task, short)]
        self._tasks = tuple(useful)
        self._longest = max((self._running(task) for task in useful), default=1) or 1
        if not short.fits_in(_sum(task.shape.load for task in useful)):
            return None
        chosen: list[Task] = []
        left = list(useful)
        while not short.fits_in(_sum(task.shape.load for task in chosen)):
            left = [task for task in left if allows(chosen, task)]
            if not left:
                return None
            best = min(left, key=lambda task: self._preference(task, chosen, short))
            chosen.append(best)
            left.remove(best)
        chosen = self._spare(chosen, short)
        alone = min(
            ((self.cost([task]), task.key, task) for task in useful if short.fits_in(task.shape.load)),
            key=lambda entry: entry[:2],
            default=None,
        )
        cost = self.cost(chosen)
        if alone is not None and alone[0] < cost:
            chosen, cost = [alone[2]], alone[0]
        return Choice(victims=tuple(chosen), cost=cost, alone=alone[0] if alone is not None else None)

    def cost(self, victims: Sequence[Task]) -> int:
        """What it costs that all these go. A gang that falls below minMember costs all its members, once."""
        gone: dict[JobId, list[Task]] = {}
        for task in victims:
            gone.setdefault(task.job or JobId(task.key), []).append(task)
        return sum(self._price(task) for job, tasks in gone.items() for task in self._losses(job, tasks))

    def _losses(self, job: JobId, tasks: Sequence[Task]) -> Sequence[Task]:
        row = self._world.jobs.get(job)
        if row is None:
            return tasks
        placed = [task for id_ in row.tasks if (task := self._world.tasks[id_]).placed]
        broken = len(placed) - len(tasks) < row.min_member
        return [*tasks, *(task for task in placed if task not in tasks)] if broken else tasks

    def _price(self, task: Task) -> int:
        pricing = self._pricing
        band = 0 if task.priority < pricing.lowBelow else 2 if task.priority >= pricing.highFrom else 1
        running = UNIT * self._running(task) // self._longest
        runtime = running if pricing.runtimeFirst == "shortest" else UNIT - running
        parts = (
            pricing.priority * UNIT * band // 2,
            pricing.tasks * UNIT // max(len(self._tasks), 1),
            pricing.resources * UNIT * task.shape.load[self._resource] // self._cards,
            pricing.runtime * min(runtime, UNIT),
        )
        return sum(parts)

    def _running(self, task: Task) -> int:
        return max(self._now - (task.started if task.started is not None else task.created), 0)

    def _preference(self, task: Task, chosen: Sequence[Task], short: Resources) -> tuple[int, int, int, str]:
        more = self.cost([*chosen, task]) - self.cost(chosen)
        return (more, -sum(freed(task, short).units.values()), -task.created, task.key)

    def _spare(self, chosen: Sequence[Task], short: Resources) -> list[Task]:
        """Those that are needed, dearest first: by what it would save to leave each out."""
        cost = self.cost(chosen)
        saved = {task.id: cost - self.cost([other for other in chosen if other is not task]) for task in chosen}
        kept = sorted(chosen, key=lambda task: (-saved[task.id], task.key))
        for task in tuple(kept):
            rest = [other for other in kept if other is not task]
            if short.fits_in(_sum(other.shape.load for other in rest)):
                kept = rest
        return kept


def freed(task: Task, short: Resources) -> Resources:
    """What of the short resources the task's end would free, up to what is short."""
    return task.shape.load.only(short.units).least(short)


def _sum(amounts: Iterable[Resources]) -> Resources:
    total = NOTHING
    for amount in amounts:
        total += amount
    return total
