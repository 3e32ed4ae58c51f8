"""Who may be evicted now, and from which nodes: what reclaim and its predictions share."""

from collections.abc import Callable, Container, Sequence

from sky_core.eviction import Candidates, Choice, Pricing, freed
from sky_core.model import Budget, Instant, NodeName, Pool, Task, TaskId
from sky_core.policy import Points
from sky_core.resources import NOTHING, Resources
from sky_core.room import awaited
from sky_core.states import TaskState
from sky_core.world import World


class _Known:
    """What has been found out about a node as it stands: who may be evicted, what that frees, what room costs."""

    __slots__ = ("costs", "evictable", "frees")

    def __init__(self) -> None:
        self.evictable: tuple[Task, ...] | None = None
        self.frees: Resources | None = None
        self.costs: dict[tuple[tuple[str, int], ...], int] = {}


class Victims:
    """One session's victims. Budgets count what this cycle has evicted already."""

    def __init__(self, world: World, points: Points, cards: str, pricing: Pricing, now: Instant) -> None:
        """Nobody is evicted yet. `cards` is the resource by which shares of a node are counted."""
        self._world = world
        self._points = points
        self._cards = cards
        self._now = now
        self._pricing = pricing
        self._spent: dict[tuple[str, str], int] = {}
        self._known: dict[NodeName, _Known] = {}
        self._known_at: tuple[int, dict[tuple[str, str], int]] = (len(world.changed), {})

    def evictable(self, node: NodeName) -> tuple[Task, ...]:
        """The pods on a node that may be evicted: our spot pods that the policy gives up and no budget protects."""
        known = self._about(node)
        if known.evictable is None:
            spot = [task for task in self.spot(node) if self.allows((), task)]
            willing: frozenset[TaskId] | None = self._points["reclaimable"](None, spot) if spot else None
            known.evictable = tuple(task for task in spot if willing is not None and task.id in willing)
        return known.evictable

    def frees(self, node: NodeName) -> Resources:
        """What evictions may free on a node: of pods that share a budget the largest go."""
        if not self._lends(node):
            return NOTHING
        known = self._about(node)
        if known.frees is None:
            together = self._together(self.evictable(node), lambda task: task.shape.spot_units)
            known.frees = sum((task.shape.load for task in together), start=NOTHING)
        return known.frees

    def lent(self, node: NodeName) -> Resources:
        """What spot pods hold on a node that are not on their way out, whether or not they may be evicted."""
        total = NOTHING
        for task in self.spot(node):
            total += task.shape.load
        return total

    def allows(self, gone: Sequence[Task], task: Task) -> bool:
        """Whether all budgets let a task go besides these, and besides what this cycle has evicted already."""
        for key, budget in self._world.budgets.items():
            if _covers(budget, task):
                others = sum(_covers(budget, other) for other in gone)
                if budget.allowed - self._spent.get(key, 0) - others < 1:
                    return False
        return True

    def spot(self, node: NodeName) -> list[Task]:
        """Our spot pods on a node that are not on their way out."""
        world = self._world
        if not self._lends(node):
            return []
        tasks = (world.tasks[id_] for id_ in world.tasks_on.get(node, ()))
        alive = (TaskState.BOUND, TaskState.RUNNING)
        return [t for t in tasks if t.shape.spot is not None and t.job is not None and t.state in alive]

    def _lends(self, node: NodeName) -> bool:
        book = self._world.books[node]
        return bool(book.exclusive or book.shared)

    def choose(self, node: NodeName, short: Resources, among: Container[TaskId] | None = None) -> Choice | None:
        """The cheapest evictions (`among` these alone) that free what is short on a node; None where nothing helps.

        Where budgets do not let the cheapest go together, of those that share one the largest are tried.
        """
        candidates = Candidates(self._world, self._world.books[node], self._cards, self._pricing, self._now)
        tasks = [t for t in self.evictable(node) if _helps(t, short) and (among is None or t.id in among)]
        choice = candidates.choose(tasks, short, self.allows)
        if choice is None and self._world.budgets:
            together = self._together(tasks, lambda task: sum(freed(task, short).units.values()))
            choice = candidates.choose(together, short, self.allows)
        return choice

    def cost(self, node: NodeName, load: Resources) -> int:
        """What it would cost to make room for a load on a node, beside all who are to come; 0 where there is room."""
        costs, key = self._about(node).costs, tuple(load.units.items())
        if key not in costs:
            room = self._world.books[node].idle - awaited(self._world, node)
            choice = None if load.fits_in(room) else self.choose(node, load.shortfall(room))
            costs[key] = choice.cost if choice is not None else 0
        return costs[key]

    def note(self, task: Task) -> None:
        """Count an eviction against the budgets that cover the pod; undone with the trial that it is made in."""
        for key, budget in self._world.budgets.items():
            if _covers(budget, task):
                self._world.put(self._spent, key, self._spent.get(key, 0) + 1)

    def _about(self, node: NodeName) -> _Known:
        """What is known of a node; forgotten when it changes, and of all nodes when budgets are drawn on."""
        changed, (cursor, spent) = self._world.changed, self._known_at
        if self._spent != spent:
            self._known.clear()
        elif cursor < len(changed):
            for name in changed[cursor:]:
                self._known.pop(name, None)
        self._known_at = (len(changed), dict(self._spent) if self._spent != spent else spent)
        return self._known.setdefault(node, _Known())

    def _together(self, tasks: Sequence[Task], size: Callable[[Task], int]) -> list[Task]:
        """Of these tasks those that budgets let go together, the largest first."""
        if not self._world.budgets:
            return list(tasks)
        going: list[Task] = []
        for task in sorted(tasks, key=lambda task: (-size(task), task.key)):
            if self.allows(going, task):
                going.append(task)
        return going


def _covers(budget: Budget, task: Task) -> bool:
    return budget.namespace == task.namespace and budget.pods.matches(task.labels)


def _helps(task: Task, short: Resources) -> bool:
    """Shared spot pods hold no card: they go only where cpu or memory is what is short."""
    return task.shape.spot is Pool.EXCLUSIVE or bool(short["cpu"] or short["memory"])
