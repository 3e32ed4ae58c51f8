"""The claims that jobs make in the course of a cycle, and those that they give back."""

from collections import Counter
from collections.abc import Callable, Sequence

from sky_core import reservations
from sky_core.holdings import Holdings
from sky_core.model import Claim, Instant, Job, Quota, QuotaName, Reservation, Task, TaskId
from sky_core.shelves import Shelving
from sky_core.statement import Statement
from sky_core.states import TaskState
from sky_core.world import World


class Claims:
    """Those of a session. `gave_back`: whether any was ended, so that others may have it."""

    def __init__(
        self,
        world: World,
        now: Instant,
        holdings: Holdings,
        shelves: Callable[[], Shelving],
        trial: Callable[[], Statement],
    ) -> None:
        """None is made. `trial` begins one within the cycle's own."""
        self._world = world
        self._now = now
        self._holdings = holdings
        self._shelves = shelves
        self._trial = trial
        self._taken_up: dict[TaskId, Reservation | None] = {}
        self.gave_back = False

    def make(self, trial: Statement, job: Job, task: Task, quota: Quota) -> None:
        """Hop 1: tie the task to the quota, taking up its reservation there if it has one."""
        kept = reservations.returner(self._world, task, quota, self._now) if quota.reservations else None
        if kept is not None:
            trial.set_reservations(quota.name, tuple(other for other in quota.reservations if other is not kept))
        self._taken_up[task.id] = kept
        trial.claim(task, quota.name, claim_of(job, task, kept.expires if kept is not None else None))
        self._holdings.add(job, task.shape.request)

    def make_run(
        self, trial: Statement, job: Job, tasks: Sequence[Task], quotas: Sequence[QuotaName], each: int
    ) -> None:
        """The same for tasks of one shape, `each` to one of these quotas, which are on no node and kept for nobody."""
        trial.claim_run(tasks, [claim_of(job, task) for task in tasks], quotas, each)
        self._taken_up.update(dict.fromkeys([task.id for task in tasks]))
        self._holdings.add(job, tasks[0].shape.request.times(len(tasks)))

    def give_back(self, trial: Statement, job: Job, task: Task) -> None:
        """End the task's claim; a quota that is free again is offered again.

        A place that was taken up in this cycle is kept as before, though its quota is on no node any more.
        """
        trial.give_back(task)
        if task.quota is None:
            return
        self._holdings.add(job, task.shape.request.times(-1))
        self._shelves().put_back((task.quota,))
        kept, quota = self._taken_up.get(task.id), self._world.quotas[task.quota]
        if kept is not None and quota.node is None:
            trial.set_reservations(quota.name, (*quota.reservations, kept))

    def has_waited(self, job: Job) -> bool:
        """Whether a task of the job holds a claim that it did not make in this cycle."""
        tasks = (self._world.tasks[id_] for id_ in job.tasks if id_ not in self._taken_up)
        return any(task.state is TaskState.ALLOCATED_TO_QUOTA for task in tasks)

    def give_back_fresh(self, job: Job) -> None:
        """End the claims that the job made in this cycle: what it was refused for, others may have."""
        tasks = (self._world.tasks[id_] for id_ in job.tasks if id_ in self._taken_up)
        self.give_back_tasks(job, [task for task in tasks if task.state is TaskState.ALLOCATED_TO_QUOTA])

    def give_back_all(self, job: Job) -> None:
        """End all claims of the job that are not on their way to a node, written ones too."""
        tasks = (self._world.tasks[id_] for id_ in job.tasks)
        claiming = (TaskState.ALLOCATED_TO_QUOTA, TaskState.PIPELINED)
        self.give_back_tasks(job, [task for task in tasks if task.state in claiming])

    def give_back_tasks(self, job: Job, tasks: Sequence[Task]) -> None:
        """End the claims of these tasks of the job."""
        with self._trial() as trial:
            if all(map(self._claims_simply, tasks)):
                self._give_back_run(trial, job, tasks)
            else:
                for task in tasks:
                    self.give_back(trial, job, task)
            trial.commit()
        self.gave_back = self.gave_back or bool(tasks)

    def _claims_simply(self, task: Task) -> bool:
        """Whether a claim's end concerns nothing but its quota."""
        if task.state is not TaskState.ALLOCATED_TO_QUOTA or task.quota is None:
            return False
        return self._world.quotas[task.quota].node is None and self._taken_up.get(task.id) is None

    def _give_back_run(self, trial: Statement, job: Job, tasks: Sequence[Task]) -> None:
        trial.give_back_run(tasks)
        for shape, count in Counter([task.shape for task in tasks]).items():
            self._holdings.add(job, shape.request.times(-count))
        self._shelves().put_back(list(dict.fromkeys([task.quota for task in tasks if task.quota is not None])))


def claim_of(job: Job, task: Task, reserved_until: Instant | None = None) -> Claim:
    """A task's claim on any quota."""
    return Claim(
        task=task.id,
        namespace=task.namespace,
        name=task.name,
        job=job.id,
        place=task.place,
        resources=task.shape.request,
        reservation=task.reservation,
        reserved_until=reserved_until,
    )
