"""What was decided and does not show yet: it counts as done, and nothing else is decided on whom it concerns."""

from sky_core.api.pods import PodReading
from sky_core.decisions import BindTask, Decision, EvictTask, WriteQuota
from sky_core.model import JobId, NodeName, Quota, QuotaName, TaskId
from sky_core.world import World


class Assumptions:
    """Decisions that are laid over what objects say.

    A bind or an eviction lies there until the pod shows it or is gone, a write until it is dropped. `quotas` and
    `tasks` are those to be derived anew, for the intake to empty.
    """

    def __init__(self) -> None:
        """Everything shows."""
        self.quotas: set[QuotaName] = set()
        self.tasks: set[TaskId] = set()
        self._writes: dict[QuotaName, WriteQuota] = {}
        self._binds: dict[TaskId, BindTask] = {}
        self._evictions: dict[TaskId, EvictTask] = {}

    @property
    def all(self) -> tuple[Decision, ...]:
        """All that is assumed."""
        return (*self._writes.values(), *self._evictions.values(), *self._binds.values())

    def add(self, decision: Decision) -> None:
        """Lay a decision over what is there."""
        match decision:
            case WriteQuota():
                self._writes[decision.quota] = decision
                self.quotas.add(decision.quota)
            case BindTask():
                self._binds[decision.task] = decision
                self.tasks.add(decision.task)
            case EvictTask():
                self._evictions[decision.task] = decision
                self.tasks.add(decision.task)

    def drop(self, decision: Decision) -> None:
        """Take a decision away; nothing happens if it shows already."""
        match decision:
            case WriteQuota():
                if self._writes.pop(decision.quota, None) is not None:
                    self.quotas.add(decision.quota)
            case BindTask():
                if self._binds.pop(decision.task, None) is not None:
                    self.tasks.add(decision.task)
            case EvictTask():
                if self._evictions.pop(decision.task, None) is not None:
                    self.tasks.add(decision.task)

    def quota(self, read: Quota | None) -> Quota | None:
        """The quota with what is being written of it. Another one of its name is not meant."""
        write = self._writes.get(read.name) if read is not None else None
        if read is None or write is None or write.uid != read.uid:
            return read
        return write.over(read).on_its_way()

    def bound(self, task: TaskId) -> NodeName | None:
        """The node that a task is being bound to."""
        bind = self._binds.get(task)
        return bind.node if bind is not None else None

    def evicted(self, task: TaskId) -> bool:
        """Whether a task is being evicted."""
        return task in self._evictions

    def seen(self, task: TaskId, reading: PodReading | None) -> None:
        """What a pod shows of itself need not be assumed; None: it is gone."""
        if reading is None or reading.task.node is not None:
            self._binds.pop(task, None)
        if reading is None or reading.deleting:
            self._evictions.pop(task, None)

    def jobs(self, world: World) -> frozenset[JobId]:
        """Whose claims are being written or whose tasks are being bound."""
        found = {bind.job for bind in self._binds.values()}
        for name, write in self._writes.items():
            found.update(write.jobs)
            if name in world.quotas:
                found.update(claim.job for claim in world.quotas[name].claims)
        return frozenset(found)
