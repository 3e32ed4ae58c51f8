"""Whether a task may claim a quota (behaviour.md 2, 5.1)."""

from collections.abc import Iterator
from typing import Final

from sky_core.model import BY_NODE, Job, Quota, Task
from sky_core.reasons import Code, Reason
from sky_core.resources import Resources
from sky_core.session import Session

Key = tuple[object, ...]
"""What sorts: the least is the first choice."""

CLAIMS: Final = 256
"""Entries that `status.tasks` of a Quota may hold (contracts.md)."""


def may_use(session: Session, job: Job, task: Task, quota: Quota) -> tuple[Reason, ...]:
    """Why the task may not claim the quota; empty where it may.

    Of the plugins' stages, a quota refused in one is not asked in the next.
    """
    own = tuple(_own(session, job, task, quota))
    select: tuple[Reason, ...] = session.points["tq.select"](task, quota)
    return (*own, *(select or session.points["tq.predicate"](task, quota)))


def usable(session: Session, job: Job, task: Task, quota: Quota) -> bool:
    """Whether the task may claim the quota."""
    room = no_room(session, task.shape.request, quota) is None  # asked first: most are full
    return room and not may_use(session, job, task, quota)


def liking(session: Session, job: Job, task: Task, quota: Quota) -> Key:
    """What is least of the quota to be claimed within a tier.

    Highest score, static before bound, claimed by this job already, least left over, natural name.
    """
    points = session.points
    score: int = points["tq.order"](task, quota) + points["tq.batchOrder"](task, quota)
    claimed = any(claim.job == job.id for claim in quota.claims)
    left = session.share(quota.capacity - quota.claimed - task.shape.request)
    return (-score, quota.spec.static_node is None, not claimed, left, quota.order)


def no_room(session: Session, request: Resources, quota: Quota) -> Reason | None:
    """Whether the request is more than the quota has left, live reservations aside (behaviour.md 2).

    What the quota does not name of cpu, memory and ephemeral-storage is bounded by its node.
    """
    by_node = request.only(BY_NODE).without(quota.spec.named)
    idle = quota.capacity - quota.claimed
    bounded = request.without(by_node.units) if by_node else request
    if not bounded.fits_in(idle):
        return Reason(Code.INSUFFICIENT_QUOTA, needed=request, available=idle.only(quota.spec.named))
    book = session.world.books.get(quota.node) if by_node and quota.node is not None else None
    if book is not None and not by_node.fits_in(book.quota_idle):
        return Reason(Code.INSUFFICIENT_QUOTA_IDLE, needed=by_node, available=book.quota_idle.only(by_node.units))
    return None


def _own(session: Session, job: Job, task: Task, quota: Quota) -> Iterator[Reason]:
    """The core's own questions: whose it is, whether it is free for this job, and whether there is room."""
    if job.queue != quota.spec.queue and job.queue not in quota.spec.shared_queues:
        yield Reason(Code.QUOTA_FORBIDDEN, detail=f"belongs to queue {quota.spec.queue}")
    if quota.pending:
        yield Reason(Code.INSUFFICIENT_QUOTA, detail="is being written")
    if quota.node is None and any(claim.job != job.id for claim in quota.claims):
        yield Reason(Code.INSUFFICIENT_QUOTA, detail=f"claimed by {quota.claims[0].job}")
    if len(quota.claims) >= CLAIMS:
        yield Reason(Code.INSUFFICIENT_QUOTA, detail=f"holds {CLAIMS} claims, all that its status has room for")
    if quota.over_allocated:
        yield Reason(Code.INSUFFICIENT_QUOTA, detail="holds more claims than its request")
    if (short := no_room(session, task.shape.request, quota)) is not None:
        yield short
