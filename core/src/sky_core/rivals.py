"""Who is best where scores are relative to the worst candidate: of nodes from which spot pods would have to go."""

from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heappush

from sky_core.model import Node, NodeName
from sky_core.plugin import Field

Value = Callable[[Node], int]
Entry = tuple[int, int, NodeName]
"""Negated score, position in index order, node: the least is the best."""


class _Most:
    """The largest of the nodes' values, in step with the nodes that change."""

    def __init__(self, value: Value, nodes: Iterable[Node]) -> None:
        self._value = value
        self._values = {node.name: value(node) for node in nodes}
        self._heap = [(-value, name) for name, value in self._values.items()]
        heapify(self._heap)

    def renew(self, name: NodeName, node: Node | None) -> None:
        """A node has changed, or is no candidate any more."""
        self._values.pop(name, None)
        if node is not None:
            self._values[name] = self._value(node)
            heappush(self._heap, (-self._values[name], name))

    def most(self) -> int:
        """0 without nodes, as in `Field`."""
        while self._heap and self._values.get(self._heap[0][1]) != -self._heap[0][0]:
            heappop(self._heap)
        return -self._heap[0][0] if self._heap else 0


class Rivals(Field):
    """The candidates of one class in one area, compared with each other.

    Scores are kept until their node changes, or the worst candidate by which they are measured.
    """

    def __init__(
        self, nodes: Iterable[Node], score: Callable[[Node, Field], int], place: Callable[[Node], int]
    ) -> None:
        """`score` says how good a node is in this field, `place` where it stands in index order."""
        super().__init__(tuple(nodes))
        self._candidates = {node.name: node for node in self.nodes}
        self._score = score
        self._place = place
        self._mosts: dict[str, _Most] = {}
        self._measures: dict[str, int] = {}
        self._stale: dict[NodeName, None] = dict.fromkeys(self._candidates)
        self._entries: dict[NodeName, Entry] = {}
        self._heap: list[Entry] = []

    def most(self, what: str, value: Value) -> int:
        """The largest value over the candidates as they stand now."""
        if what not in self._mosts:
            self._mosts[what] = _Most(value, self._candidates.values())
        return self._mosts[what].most()

    def change(self, node: Node, *, takes: bool) -> None:
        """A node has changed; whether it is a candidate now."""
        if takes:
            self._candidates[node.name] = node
        else:
            self._candidates.pop(node.name, None)
        self._stale[node.name] = None

    def best(self) -> NodeName | None:
        """The candidate with the highest score, the first in index order of equal ones."""
        for name in self._stale:
            for most in self._mosts.values():
                most.renew(name, self._candidates.get(name))
        measures = {what: most.most() for what, most in self._mosts.items()}
        anew = self._stale if measures == self._measures else self._candidates
        for name in [*anew, *(name for name in self._stale if name not in anew)]:
            self._entries.pop(name, None)
            if (node := self._candidates.get(name)) is not None:
                entry = (-self._score(node, self), self._place(node), name)
                self._entries[name] = entry
                heappush(self._heap, entry)
        self._measures = {what: most.most() for what, most in self._mosts.items()}
        self._stale = {}
        while self._heap and self._entries.get(self._heap[0][2]) != self._heap[0]:
            heappop(self._heap)
        return self._heap[0][2] if self._heap else None
