"""Counts over topology domains, kept in step with the world's log of changed nodes."""

from collections.abc import Callable, Container, Hashable, Iterable, Mapping
from typing import Generic, TypeVar

from sky_core.model import Node, NodeName
from sky_core.world import World

S = TypeVar("S", bound=Hashable)


class Census(Generic[S]):
    """How often each subject is counted in each of its domains.

    `entries` says what a node contributes: pairs of a subject and the domain in which it counts there. `domains` names
    those that exist even with nobody in them. Good for one session: it hears of what is on nodes, not of new nodes.
    """

    def __init__(
        self,
        world: World,
        entries: Callable[[Node], Iterable[tuple[S, str]]],
        domains: Mapping[S, Iterable[str]] | None = None,
    ) -> None:
        """Counts everyone once."""
        self._world = world
        self._entries = entries
        self._counts: dict[S, dict[str, int]] = {s: dict.fromkeys(d, 0) for s, d in (domains or {}).items()}
        self._at: dict[NodeName, tuple[tuple[S, str], ...]] = {}
        self._ascending: dict[S, list[tuple[int, str]]] = {}
        self._size = 0
        self._cursor = len(world.changed)
        for name in {**world.tasks_on, **world.quotas_on}:
            self._recount(name)

    @property
    def size(self) -> int:
        """How many entries there are, over all subjects."""
        self._catch_up()
        return self._size

    def counts(self, subject: S) -> Mapping[str, int]:
        """By domain; zeros may be left out."""
        self._catch_up()
        return self._counts.get(subject, {})

    def subjects(self) -> Iterable[tuple[S, Mapping[str, int]]]:
        """Every subject with its counts."""
        self._catch_up()
        return self._counts.items()

    def least(self, subject: S, but: Container[str] = ()) -> int | None:
        """The smallest count over the domains other than these; None if there is no other."""
        self._catch_up()
        if subject not in self._ascending:
            self._ascending[subject] = sorted((n, domain) for domain, n in self.counts(subject).items())
        return next((n for n, domain in self._ascending[subject] if domain not in but), None)

    def _catch_up(self) -> None:
        changed = self._world.changed
        if self._cursor < len(changed):
            for name in dict.fromkeys(changed[self._cursor :]):
                self._recount(name)
            self._cursor = len(changed)
            self._ascending.clear()

    def _recount(self, name: NodeName) -> None:
        old = self._at.pop(name, ())
        node = self._world.nodes.get(name)
        new = () if node is None else tuple(self._entries(node))
        for subject, domain in old:
            self._counts[subject][domain] -= 1
        for subject, domain in new:
            counts = self._counts.setdefault(subject, {})
            counts[domain] = counts.get(domain, 0) + 1
        self._size += len(new) - len(old)
        if new:
            self._at[name] = new
