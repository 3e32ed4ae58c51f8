"""Who is where, as one task sees it that comes to a node: counts by topology domain, itself left out."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

from sky_core.census import Census
from sky_core.constraints import PodTerm, Spread
from sky_core.kubernetes.comers import Comers
from sky_core.model import Node, NodeName, Task
from sky_core.world import World

T = TypeVar("T", bound=PodTerm | Spread)


class Neighbours(Generic[T]):
    """The tasks present in each topology domain, by the term that they count for.

    `counted` says for which terms a task counts while it is on a node.
    """

    def __init__(
        self,
        world: World,
        counted: Callable[[Task, Node], Iterable[T]],
        domains: Mapping[T, Iterable[str]] | None = None,
    ) -> None:
        """Good for one session."""
        self._world = world
        self._counted = counted
        self.census: Census[T] = Census(world, self._entries, domains)

    def seen_by(self, task: Task, who: Comers, node: Node) -> "Sight[T]":
        """What the task sees if those who come are on the node, wherever they count now."""
        moved: Counter[tuple[T, str]] = Counter()
        for comer in who.tasks:
            there = self._world.nodes.get(_place(self._world, comer))
            if there is not None:
                moved.subtract(self._of(self._world.tasks[comer.id], there))
            if comer.id != task.id:
                moved.update(self._of(comer, node))
        return Sight(self.census, moved)

    def _entries(self, node: Node) -> Iterator[tuple[T, str]]:
        for task in self._world.present(node.name):
            yield from self._of(task, node)

    def _of(self, task: Task, node: Node) -> Iterator[tuple[T, str]]:
        for term in self._counted(task, node):
            domain = node.labels.get(term.topology_key)
            if domain is not None:
                yield term, domain


class Sight(Generic[T]):
    """The counts of a census, less and plus those who move."""

    def __init__(self, census: Census[T], moved: Mapping[tuple[T, str], int]) -> None:
        """`moved`: what to add, by term and domain."""
        self._census = census
        self._moved = moved

    def at(self, term: T, node: Node) -> int:
        """How many count for the term in the node's domain; 0 where the node is in none."""
        domain = node.labels.get(term.topology_key)
        if domain is None:
            return 0
        return self._census.counts(term).get(domain, 0) + self._moved.get((term, domain), 0)

    def anyone(self) -> bool:
        """Whether anyone counts for any term anywhere."""
        return self._census.size + sum(self._moved.values()) > 0

    def domains(self, term: T) -> int:
        """How many domains the term has."""
        return len(self._census.counts(term))

    def least(self, term: T) -> int:
        """The smallest count over the term's domains; 0 if it has none."""
        counts = self._census.counts(term)
        moved = {domain: counts[domain] + n for (t, domain), n in self._moved.items() if t == term and domain in counts}
        unmoved = self._census.least(term, but=moved)
        return min((*moved.values(), *(() if unmoved is None else (unmoved,))), default=0)


def _place(world: World, task: Task) -> NodeName:
    """Where the world counts a task as present, the reverse of `World.present`; no node's name if nowhere."""
    row = world.tasks.get(task.id)
    if row is None:
        return NodeName("")
    if row.node is not None:
        return row.node
    quota = world.quotas.get(row.quota) if row.quota is not None else None
    return quota.node if quota is not None and quota.node is not None else NodeName("")
