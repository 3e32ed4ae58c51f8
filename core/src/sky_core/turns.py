"""In which order jobs have their turn in a cycle (behaviour.md 5.1)."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cmp_to_key

from sky_core import reservations
from sky_core.members import OPEN
from sky_core.model import Job, Queue, QueueName
from sky_core.world import World


def turns(
    world: World, job_order: Callable[[Job, Job], int], queue_order: Callable[[Queue, Queue], int]
) -> Iterator[Job]:
    """Every job with something to do: the first job of the first queue that has one, shares read anew each time.

    Jobs whose Queue does not exist come first; they are refused whatever their order.
    """
    waiting: dict[QueueName, list[Job]] = defaultdict(list)
    for job in world.jobs.values():
        if _restless(world, job):
            waiting[job.queue].append(job)
    for name in sorted(waiting.keys() - world.queues.keys()):
        yield from sorted(waiting.pop(name), key=lambda job: job.id)
    first = cmp_to_key(job_order)
    lines = {
        queue: iter(sorted(jobs, key=lambda job: (first(job), job.created, job.id))) for queue, jobs in waiting.items()
    }
    heads = {queue: next(line) for queue, line in lines.items()}
    order = cmp_to_key(queue_order)

    def standing(name: QueueName) -> tuple[object, ...]:
        queue = world.queues[name]
        return (order(queue), queue.created, name)

    while heads:
        queue = min(heads, key=standing) if len(heads) > 1 else next(iter(heads))
        yield heads.pop(queue)
        if (follower := next(lines[queue], None)) is not None:
            heads[queue] = follower


def _restless(world: World, job: Job) -> bool:
    """Whether a job has a member to place, or cannot even be asked."""
    if not job.tasks:
        return not reservations.is_finished(world, job)
    tasks = [world.tasks[id_] for id_ in job.tasks]
    unasked = bool(job.fault) or not job.known
    return any(task.state in OPEN or (unasked and not task.placed) for task in tasks)
