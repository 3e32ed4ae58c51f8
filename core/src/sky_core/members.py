"""Which of a job's tasks must start together, and which may follow (behaviour.md 1, Members)."""

from collections.abc import Callable, Sequence
from functools import cmp_to_key, reduce

import msgspec

from sky_core.model import Job, Task, TaskId
from sky_core.resources import Resources
from sky_core.states import PLACED, TaskState
from sky_core.world import World

OPEN = frozenset({TaskState.PENDING, TaskState.ALLOCATED_TO_QUOTA, TaskState.PIPELINED, TaskState.ALLOCATED})
"""States of tasks that still need, or have only tentatively, a place."""


class Members(msgspec.Struct, frozen=True, gc=False):
    """`needed` settle all or nothing; `extras` each alone. Both in task order; `needed` includes those placed."""

    needed: tuple[Task, ...]
    extras: tuple[Task, ...]

    def waiting(self) -> tuple[Task, ...]:
        """The needed members that are not placed yet."""
        return tuple(task for task in self.needed if not task.placed)


def roles(job: Job) -> tuple[tuple[str, int], ...]:
    """The minimum of each role, where they count: not where they add up to more than minMember (Volcano's rule)."""
    return job.min_task_member if sum(least for _, least in job.min_task_member) <= job.min_member else ()


def in_task_order(world: World, job: Job, order: Callable[[Task, Task], int]) -> tuple[TaskId, ...]:
    """The job's tasks as `order` compares two of equal standing; of ties the lower rank goes first."""
    if len(job.tasks) < 2:
        return job.tasks
    first = cmp_to_key(order)
    return tuple(sorted(job.tasks, key=lambda id_: first(world.tasks[id_])))


def members(world: World, job: Job, tasks: Sequence[Task]) -> Members:
    """Split a job's tasks, which stand in task order (`in_task_order`).

    Needed are those placed, then per role its minimum in task order, then task order up to minMember. Of the open
    tasks, one that holds a claim comes before one that doesn't.
    """
    if len(tasks) == 1 <= job.min_member:  # most jobs of most clusters
        return Members(tuple(tasks) if tasks[0].state in OPEN or tasks[0].placed else (), ())
    placed = [task for task in tasks if task.state in PLACED and task.placed]
    open_ = [task for task in tasks if task.state in OPEN]
    pending = [task for task in open_ if task.state is TaskState.PENDING]
    if len(pending) < len(open_):
        open_ = [task for task in open_ if task.state is not TaskState.PENDING] + pending
    needed = [task for id_ in job.tasks if (task := world.tasks[id_]).placed] if placed else []
    for role, least in roles(job):
        lacking = least - sum(task.role == role for task in placed)
        needed += [task for task in open_ if task.role == role][: max(lacking, 0)]
    lacking = max(job.min_member - len(needed), 0)
    if not needed:
        return Members(tuple(open_[:lacking]), tuple(open_[lacking:]))
    taken = {task.id for task in needed}
    rest = [task for task in open_ if task.id not in taken]
    return Members(tuple(needed + rest[:lacking]), tuple(rest[lacking:]))


def by_rank(task: Task) -> tuple[object, ...]:
    """The key that sorts the tasks of a job."""
    return task.rank


def least_request(world: World, job: Job) -> Resources:
    """What each task of the job requests at least."""
    shapes = dict.fromkeys([world.tasks[id_].shape for id_ in job.tasks])
    return reduce(Resources.least, [shape.request for shape in shapes])


def is_spot(world: World, job: Job) -> bool:
    """Whether a job goes straight to nodes, by backfill; one that mixes spot and other tasks is never let in."""
    return bool(job.tasks) and world.tasks[job.tasks[0]].shape.spot is not None


def started(world: World, job: Job) -> bool:
    """Whether a member of the job is placed."""
    tasks = world.tasks
    for id_ in job.tasks:  # noqa: SIM110 - any() over a generator takes three times as long
        if (task := tasks[id_]).state in PLACED and task.placed:
            return True
    return False
