"""Which pods each PodDisruptionBudget covers, kept up to date pod by pod."""

from collections.abc import Iterable, Mapping

from sky_core.api.budgets import Rule
from sky_core.api.identity import Key
from sky_core.api.upkeep.indexes import Index
from sky_core.model import Budget, Task, TaskId
from sky_core.states import TaskState


class Coverage:
    """Budgets, the unfinished pods under each, and which of these run."""

    def __init__(self) -> None:
        """No budget, no pod."""
        self._rules: dict[Key, Rule] = {}
        self._covered: dict[Key, dict[TaskId, bool]] = {}
        self._healthy: dict[Key, int] = {}
        self._budgets_of: dict[str, set[Key]] = {}
        self._pods_of: Index[str, TaskId] = Index()
        self._stale: set[Key] = set()

    def pod(self, old: Task | None, new: Task | None) -> None:
        """A pod has come, changed or gone. One uid in two namespaces is two pods."""
        if old and new and old.namespace != new.namespace:
            self.pod(old, None)
            self.pod(None, new)
            return
        task = new or old
        if task is None:
            return
        self._pods_of.shift(task.id, old.namespace if old else None, new.namespace if new else None)
        for key in self._budgets_of.get(task.namespace, ()):
            self._count(key, task, gone=new is None)

    def rule(self, key: Key, rule: Rule | None, tasks: Mapping[TaskId, Task]) -> None:
        """A budget has come, changed or, where `rule` is None, gone. `tasks` holds all pods as they are."""
        self._stale.add(key)
        self._covered.pop(key, None)
        self._healthy.pop(key, None)
        budgets = self._budgets_of.setdefault(key.namespace, set())
        if rule is None:
            self._rules.pop(key, None)
            budgets.discard(key)
            if not budgets:
                del self._budgets_of[key.namespace]
            return
        self._rules[key] = rule
        budgets.add(key)
        self._covered[key] = {}
        self._healthy[key] = 0
        for id_ in self._pods_of.of(key.namespace):
            self._count(key, tasks[id_], gone=False)

    def drain(self) -> Iterable[tuple[tuple[str, str], Budget | None]]:
        """The budgets whose row may have changed since the last time, None for one that is gone."""
        stale, self._stale = self._stale, set()
        for key in sorted(stale):
            rule = self._rules.get(key)
            row = None
            if rule is not None:
                allowed = rule.allowed(len(self._covered[key]), self._healthy[key])
                row = Budget(namespace=key.namespace, name=key.name, pods=rule.pods, allowed=allowed)
            yield (key.namespace, key.name), row

    def _count(self, key: Key, task: Task, *, gone: bool) -> None:
        covered = self._covered[key]
        before = covered.pop(task.id, None)
        now = None
        if not gone and task.unfinished and self._rules[key].pods.matches(task.labels):
            now = covered[task.id] = task.state is TaskState.RUNNING
        self._healthy[key] += (now is True) - (before is True)
        if now is not before:
            self._stale.add(key)
