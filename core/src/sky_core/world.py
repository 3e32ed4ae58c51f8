"""Everything that the scheduler believes at one instant: tables of rows, and the one way of changing them.

The world is long-lived. Between cycles the intake changes it; within a cycle Statements do, and take everything back.
"""

from collections.abc import Hashable, Iterator
from typing import Any, Final

from sky_core.model import (
    Book,
    Budget,
    Job,
    JobId,
    JobQueue,
    Node,
    NodeName,
    Queue,
    QueueName,
    Quota,
    QuotaName,
    Task,
    TaskId,
    Zone,
    ZoneId,
)
from sky_core.reasons import Topic
from sky_core.resources import NOTHING, Resources
from sky_core.selectors import Labels

LONGEST: Final = 1_000_000
"""How many changes the log holds before it begins anew."""

_ABSENT: Final = object()
_SEVERAL: Final = object()
"""In the place of a key: the entry holds several rows."""


class News:
    """Whose rows have come, changed or gone since those who keep something of them last looked. Cycles leave none."""

    __slots__ = ("jobs", "quotas", "tasks")

    def __init__(self) -> None:
        """None."""
        self.jobs: set[JobId] = set()
        self.quotas: set[QuotaName] = set()
        self.tasks: set[TaskId] = set()


class World:
    """The tables, by id.

    `tasks_on` and `quotas_on` list what is on each node in the order of arrival: unfinished pods, bound quotas.
    `specs` lists the nodes of each spec code in index order, `zones` those of each zone. `total` is the sum of all
    nodes' allocatable. `openings` counts, by topic, the changes so far that may let a waiting job in. `anti_affine`
    counts the tasks that keep others away by required anti-affinity, `quotas_apart` the quotas that do.

    `unanswered`: the jobs for which something that we sent is unanswered; nothing is decided for them.

    `changed` is a log of nodes whose row, book or lists changed, by whomever; caches hold a cursor into it. `kept` is
    where they may outlive a session, each under its class: they never know more than the log and the `news` tell.
    """

    def __init__(self) -> None:
        """An empty world."""
        self.tasks: dict[TaskId, Task] = {}
        self.jobs: dict[JobId, Job] = {}
        self.quotas: dict[QuotaName, Quota] = {}
        self.nodes: dict[NodeName, Node] = {}
        self.books: dict[NodeName, Book] = {}
        self.tasks_on: dict[NodeName, tuple[TaskId, ...]] = {}
        self.quotas_on: dict[NodeName, tuple[QuotaName, ...]] = {}
        self.queues: dict[QueueName, Queue] = {}
        self.job_queues: dict[str, JobQueue] = {}
        self.namespaces: dict[str, Labels] = {}
        self.budgets: dict[tuple[str, str], Budget] = {}
        self.zones: dict[ZoneId, Zone] = {}
        self.specs: dict[str, tuple[NodeName, ...]] = {}
        self.total: Resources = NOTHING
        self.openings: dict[Topic, int] = dict.fromkeys(Topic, 0)
        self.anti_affine = 0
        self.quotas_apart = 0
        self.unanswered: frozenset[JobId] = frozenset()
        self.changed: list[NodeName] = []
        self.kept: dict[object, object] = {}
        self.news = News()
        self._log: list[tuple[dict[Any, Any], Any, Any]] = []

    def put(self, table: dict[Any, Any], key: Hashable, row: object) -> None:
        """Write a row, remembering the one that it replaces."""
        self._log.append((table, key, table.get(key, _ABSENT)))
        table[key] = row

    def put_all(self, table: dict[Any, Any], rows: dict[Any, Any]) -> None:
        """Write several rows, remembering those that they replace together."""
        get = table.get
        self._log.append((table, _SEVERAL, {key: get(key, _ABSENT) for key in rows}))
        table.update(rows)

    def touch(self, node: NodeName) -> None:
        """Tell the caches that something about this node has changed."""
        self.changed.append(node)

    def shorten(self) -> None:
        """Forget what has changed where nobody keeps anything; with all that is kept, where the log has become long.

        Between sessions.
        """
        if len(self.changed) > LONGEST:
            self.kept.clear()
        if not self.kept:
            self.changed.clear()
            self.news = News()

    def present(self, node: NodeName) -> list[Task]:
        """Who counts as being on a node: the pods on it, and who claims a quota bound to it (behaviour.md 5.2)."""
        tasks = [self.tasks[id_] for id_ in self.tasks_on.get(node, ())]
        for name in self.quotas_on.get(node, ()):
            for claim in self.quotas[name].claims:
                task = self.tasks.get(claim.task)
                if task is not None and task.node is None:
                    tasks.append(task)
        return tasks

    def mark(self) -> int:
        """Where the undo log stands."""
        return len(self._log)

    def rollback(self, mark: int) -> None:
        """Take back every write since the mark."""
        undone = self._log[mark:]
        del self._log[mark:]
        undone.reverse()
        for table, key, old in undone:
            if key is _SEVERAL:
                self._restore(table, old)
            elif old is _ABSENT:
                del table[key]
            else:
                table[key] = old
                if table is self.books:
                    self.changed.append(key)
                elif table is self.quotas and old.node is not None:
                    self.changed.append(old.node)  # a claim on a bound quota need not have moved the book

    def _restore(self, table: dict[Any, Any], rows: dict[Any, Any]) -> None:
        table.update(rows)
        for key in [key for key, row in rows.items() if row is _ABSENT]:
            del table[key]
        if table is self.books:
            self.changed += rows
        elif table is self.quotas:
            self.changed += [row.node for row in rows.values() if row is not _ABSENT and row.node is not None]

    def written(self, table: dict[Any, Any]) -> set[Any]:
        """The keys of one table that an open trial has written."""
        return {key for rows in self._replaced(table, 0) for key in rows}

    def before(self, table: dict[Any, Any], mark: int) -> dict[Any, Any]:
        """The rows of a table that were written since the mark, as they stood at it (absent ones left out)."""
        found: dict[Any, Any] = {}
        for rows in self._replaced(table, mark):
            found.update({key: old for key, old in rows.items() if key not in found})
        return {key: old for key, old in found.items() if old is not _ABSENT}

    def _replaced(self, table: dict[Any, Any], mark: int) -> Iterator[dict[Any, Any]]:
        for written, key, old in self._log[mark:]:
            if written is table:
                yield old if key is _SEVERAL else {key: old}
