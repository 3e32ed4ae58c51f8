"""Higher priority first: of jobs, of tasks, of queues."""

from sky_core.model import Job, Queue, Task
from sky_core.plugin import Context, Functions, Plugin


def job_order(one: Job, other: Job) -> int:
    """A job's priority is its PodGroup's, else its highest task's."""
    return job_key(one) - job_key(other)


def job_key(job: Job) -> int:
    """The same of one job."""
    return -job.priority


def task_order(one: Task, other: Task) -> int:
    """Tasks of one job."""
    return other.priority - one.priority


def queue_order(one: Queue, other: Queue) -> int:
    """Queues by their own priority."""
    return other.priority - one.priority


def open_session(_context: Context, _arguments: None) -> Functions:
    """Needs nothing of the session."""
    return Functions(job_order=job_order, job_key=job_key, task_order=task_order, queue_order=queue_order)


PLUGIN = Plugin(name="priority", open=open_session)
