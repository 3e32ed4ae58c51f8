"""Which of a job's tasks must start together, and which may follow (behaviour.md 1, Members)."""

from collections.abc import Callable
from functools import cmp_to_key

import msgspec

from sky_core.model import Job, Task
from sky_core.states import TaskState
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


def members(world: World, job: Job, order: Callable[[Task, Task], int]) -> Members:
    """Split a job's tasks. `order` compares two tasks of equal standing; ranks decide ties.

    Needed are those placed, then per role its minimum in task order, then task order up to minMember. Of the open
    tasks, one that holds a claim comes before one that doesn't.
    """
    tasks = [world.tasks[id_] for id_ in job.tasks]
    if len(tasks) == 1 <= job.min_member:  # most jobs of most clusters
        return Members(tuple(task for task in tasks if task.placed or task.state in OPEN), ())
    placed = [task for task in tasks if task.placed]
    open_ = sorted((task for task in tasks if task.state in OPEN), key=cmp_to_key(order))  # stable: rank decides ties
    open_.sort(key=lambda task: task.state is TaskState.PENDING)
    needed = list(placed)
    for role, least in roles(job):
        lacking = least - sum(task.role == role for task in placed)
        needed += [task for task in open_ if task.role == role][: max(lacking, 0)]
    taken = {task.id for task in needed}
    rest = [task for task in open_ if task.id not in taken]
    lacking = max(job.min_member - len(needed), 0)
    return Members(tuple(needed + rest[:lacking]), tuple(rest[lacking:]))


def is_spot(world: World, job: Job) -> bool:
    """Whether a job goes straight to nodes, by backfill; the intake refuses jobs that mix spot and other tasks."""
    return any(world.tasks[id_].shape.spot is not None for id_ in job.tasks)


def started(world: World, job: Job) -> bool:
    """Whether a member of the job is placed."""
    return any(world.tasks[id_].placed for id_ in job.tasks)
