"""In which order jobs have their turn in a cycle (behaviour.md 5.1)."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cmp_to_key
from typing import Any

from sky_core.model import Job, Queue, QueueName
from sky_core.world import World


def turns(
    world: World, jobs: Iterable[Job], job_key: Callable[[Job], Any], queue_order: Callable[[Queue, Queue], int]
) -> Iterator[Job]:
    """These jobs, in any order: the first job of the first queue that has one, shares read anew each time.

    Jobs whose Queue does not exist come first; they are refused whatever their order.
    """
    waiting: dict[QueueName, list[Job]] = defaultdict(list)
    for job in jobs:
        waiting[job.queue].append(job)
    for name in sorted(waiting.keys() - world.queues.keys()):
        yield from sorted(waiting.pop(name), key=lambda job: job.id)
    lines = {
        queue: iter(sorted(jobs, key=lambda job: (job_key(job), job.created, job.id)))
        for queue, jobs in waiting.items()
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
