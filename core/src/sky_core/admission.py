"""Whether a job takes part in a cycle at all: the core's own questions, and those of the enqueue plugins."""

from collections.abc import Callable, Iterator

from sky_core.model import Job, Queue
from sky_core.reasons import Code, Reason
from sky_core.resources import Resources
from sky_core.session import Session
from sky_core.states import TaskState

Question = Callable[[Session, Job], tuple[Reason, ...]]


def admission(session: Session, job: Job) -> tuple[Reason, ...]:
    """Why the job is not let in (behaviour.md 5.1): the first question that it fails. Empty: it takes part."""
    for question in _QUESTIONS:
        if refused := question(session, job):
            return refused
    return ()


def over_capability(session: Session, queue: Queue, more: Resources) -> Reason | None:
    """Whether so much more would be beyond what the queue may hold."""
    if queue.capability is None:
        return None
    held = session.holdings.of_queue(queue.name) + more
    if all(held[name] <= cap for name, cap in queue.capability.items() if more[name]):
        return None
    cap = Resources.of(queue.capability)
    return Reason(Code.QUEUE_CAPABILITY_EXCEEDED, needed=held.only(queue.capability), available=cap)


def _sound(_: Session, job: Job) -> tuple[Reason, ...]:
    if job.fault:
        return (Reason(Code.INVALID_OBJECT, detail=job.fault),)
    return () if job.known else (Reason(Code.POD_GROUP_NOT_FOUND),)


def _valid(session: Session, job: Job) -> tuple[Reason, ...]:
    answer: tuple[Reason, ...] = session.points["jobValid"](job)
    return answer


def _queue(session: Session, job: Job) -> tuple[Reason, ...]:
    return tuple(_queue_refusals(session, job))


def _queue_refusals(session: Session, job: Job) -> Iterator[Reason]:
    queue = session.world.queues.get(job.queue)
    if queue is None:
        yield Reason(Code.QUEUE_NOT_FOUND, detail=job.queue)
        return
    if queue.fault:
        yield Reason(Code.INVALID_OBJECT, detail=f"Queue/{queue.name}: {queue.fault}")
    labels = session.world.namespaces.get(job.namespace, {})
    if queue.namespaces is not None and not queue.namespaces.matches(labels):
        yield Reason(Code.QUEUE_FORBIDDEN, detail=f"queue {queue.name} does not admit namespace {job.namespace}")
    if session.has_begun(job):
        return
    if not queue.open:
        yield Reason(Code.QUEUE_CLOSED, detail=queue.name)
    if job.min_resources and (beyond := over_capability(session, queue, job.min_resources)) is not None:
        yield beyond


def _ungated(session: Session, job: Job) -> tuple[Reason, ...]:
    waiting = (task for task in session.members(job).needed if task.state is TaskState.PENDING)
    return tuple(Reason(Code.SCHEDULING_GATED, detail=task.name) for task in waiting if task.gated)


def _enqueueable(session: Session, job: Job) -> tuple[Reason, ...]:
    answer: tuple[Reason, ...] = session.points["jobEnqueueable"](job)
    return answer


_QUESTIONS: tuple[Question, ...] = (_sound, _queue, _valid, _ungated, _enqueueable)
