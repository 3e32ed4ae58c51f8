"""Prioritised sub-queues: a job in a Queue that has JobQueues needs one that lets it in (behaviour.md 7.5)."""

from collections.abc import Sequence

from sky_core.lanes import Lanes
from sky_core.members import OPEN, is_spot
from sky_core.model import Job, JobQueue
from sky_core.plugin import Context, Functions, Plugin
from sky_core.reasons import Code, Reason
from sky_core.resources import NOTHING, Resources
from sky_core.status import job_queue_statuses


def open_session(context: Context, _: None) -> Functions:
    """Sorts jobs into their JobQueues."""
    world = context.world
    lanes = Lanes(world)

    def job_enqueueable(job: Job) -> Reason | None:
        """Never asked of a job that has begun, or that was let in earlier and waits with its claims for room."""
        if not lanes.ruled(job.queue) or context.begun(job) or lanes.inside(job):
            return None
        lane = lanes.of(job)
        fault = "no JobQueue of its Queue selects it" if lane is None else shut(lane, job)
        return Reason(Code.BLOCKED_BY_JOB_QUEUE, detail=fault) if fault else None

    def shut(lane: JobQueue, job: Job) -> str:
        """Why a JobQueue does not let the job in; empty where it does."""
        if lane.suspended:
            return f"{lane.name} is suspended"
        if lane.running_max is not None or lane.capability is not None:
            jobs = (*lanes.running(lane), *context.admitted())
            inside = {other.id: other for other in jobs if lanes.of(other) is lane}
            if fault := full(lane, job, list(inside.values())):
                return fault
        return before(lane, job)

    def full(lane: JobQueue, job: Job, inside: Sequence[Job]) -> str:
        """Why there is no room for the job beside those inside; empty where there is."""
        if lane.running_max is not None and len(inside) >= lane.running_max:
            return f"{lane.name} runs {len(inside)} of at most {lane.running_max} jobs"
        held = needs(job)
        for other in inside:
            held += needs(other)
        over = [name for name, cap in (lane.capability or {}).items() if held[name] > cap]
        return f"{lane.name} would hold more {over[0]} than its capability" if over else ""

    def before(lane: JobQueue, job: Job) -> str:
        """Under StrictFIFO, who has to go first."""
        if not lane.strict:
            return ""
        going = {other.id for other in context.admitted() if not is_spot(world, other)}  # spot jobs are placed later
        for other in lanes.waiting:
            theirs = lanes.of(other)
            if other.id == job.id or other.id in going or theirs is None or theirs.queue != lane.queue:
                continue
            older = theirs is lane and (other.created, other.id) < (job.created, job.id)
            if older or theirs.priority > lane.priority:
                return f"{other.key} waits in {theirs.name} before it"
        return ""

    def needs(job: Job) -> Resources:
        """What the job holds, or would hold with its needed members."""
        tasks = [world.tasks[id_] for id_ in job.tasks]
        placed = [task for task in tasks if task.placed and task.unfinished]
        rest = [task for task in tasks if task.state in OPEN][: max(job.min_member - len(placed), 0)]
        total = NOTHING
        for task in (*placed, *rest):
            total += task.shape.request
        return total

    def job_order(one: Job, other: Job) -> int:
        """By the priority of their JobQueues; without one, 0."""
        return job_key(one) - job_key(other)

    def job_key(job: Job) -> int:
        lane = lanes.of(job)
        return -lane.priority if lane is not None else 0

    likens = lanes.speaks_for if world.job_queues else None
    return Functions(job_enqueueable=job_enqueueable, job_order=job_order, job_key=job_key, likens=likens)


PLUGIN = Plugin(name="jobqueue", open=open_session, reconcile=job_queue_statuses)
