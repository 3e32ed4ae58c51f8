"""Who may be evicted now, and from which nodes: what reclaim and its predictions share."""

from collections import Counter

from sky_core.eviction import Candidates, Choice, Pricing
from sky_core.model import Instant, NodeName, Pool, Task, TaskId
from sky_core.policy import Points
from sky_core.resources import Resources
from sky_core.room import awaited
from sky_core.states import TaskState
from sky_core.world import World


class Victims:
    """One session's victims. Budgets count what this cycle has evicted already."""

    def __init__(self, world: World, points: Points, cards: str, pricing: Pricing, now: Instant) -> None:
        """Nobody is evicted yet. `cards` is the resource by which shares of a node are counted."""
        self._world = world
        self._points = points
        self._cards = cards
        self._now = now
        self._pricing = pricing
        self._anywhere: bool | None = None
        self._spent: Counter[tuple[str, str]] = Counter()

    def anywhere(self) -> bool:
        """Whether any node had spot pods when the session began."""
        if self._anywhere is None:
            self._anywhere = any(book.exclusive or book.shared for book in self._world.books.values())
        return self._anywhere

    def evictable(self, node: NodeName) -> list[Task]:
        """The pods on a node that may be evicted: our spot pods that the policy gives up and no budget protects."""
        spot = [task for task in self.spot(node) if not self._protected(task)]
        willing: frozenset[TaskId] | None = self._points["reclaimable"](None, spot) if spot else None
        return [task for task in spot if willing is not None and task.id in willing]

    def spot(self, node: NodeName) -> list[Task]:
        """Our spot pods on a node that are not on their way out."""
        world = self._world
        if not (world.books[node].exclusive or world.books[node].shared):
            return []
        tasks = (world.tasks[id_] for id_ in world.tasks_on.get(node, ()))
        alive = (TaskState.BOUND, TaskState.RUNNING)
        return [t for t in tasks if t.shape.spot is not None and t.job is not None and t.state in alive]

    def choose(self, node: NodeName, short: Resources) -> Choice | None:
        """The cheapest evictions that free what is short on a node; None where nothing helps."""
        candidates = Candidates(self._world, self._world.books[node], self._cards, self._pricing, self._now)
        return candidates.choose([task for task in self.evictable(node) if _helps(task, short)], short)

    def cost(self, node: NodeName, load: Resources, but: frozenset[TaskId] = frozenset()) -> int:
        """What it would cost to make room for a load on a node, beside all who are to come; 0 where there is room."""
        room = self._world.books[node].idle - awaited(self._world, node, but=but)
        if load.fits_in(room):
            return 0
        choice = self.choose(node, load.shortfall(room))
        return choice.cost if choice is not None else 0

    def note(self, task: Task) -> None:
        """Count an eviction against the budgets that cover the pod."""
        for key, budget in self._world.budgets.items():
            if budget.namespace == task.namespace and budget.pods.matches(task.labels):
                self._spent[key] += 1

    def _protected(self, task: Task) -> bool:
        return any(
            budget.allowed - self._spent[key] < 1
            for key, budget in self._world.budgets.items()
            if budget.namespace == task.namespace and budget.pods.matches(task.labels)
        )


def _helps(task: Task, short: Resources) -> bool:
    """Shared spot pods hold no card: they go only where cpu or memory is what is short."""
    return task.shape.spot is Pool.EXCLUSIVE or bool(short["cpu"] or short["memory"])
