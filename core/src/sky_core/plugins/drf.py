"""Dominant resource fairness: who holds less of the cluster goes first.

A share is the largest amount held ÷ Σ allocatable over all nodes; a queue's counts against its weight.
"""

from sky_core.model import Job, Queue
from sky_core.plugin import Context, Functions, Plugin


def open_session(context: Context, _arguments: None) -> Functions:
    """Closes over the session."""

    def job_order(one: Job, other: Job) -> int:
        """Lower dominant share first."""
        return job_key(one) - job_key(other)

    def job_key(job: Job) -> int:
        return context.job_share(job.id)

    def queue_order(one: Queue, other: Queue) -> int:
        """Lower dominant share ÷ weight first, compared without division."""
        left = context.queue_share(one.name) * max(other.weight, 1)
        return left - context.queue_share(other.name) * max(one.weight, 1)

    return Functions(job_order=job_order, job_key=job_key, queue_order=queue_order)


PLUGIN = Plugin(name="drf", open=open_session)
