"""A job that failed waits before it is tried again, unless something it was refused for has changed."""

from sky_core.model import SECOND, Job
from sky_core.plugin import Context, Functions, Plugin
from sky_core.reasons import Code, Reason
from sky_core.waiting import cut_short


def open_session(context: Context, _arguments: None) -> Functions:
    """Closes over the session."""

    def job_enqueueable(job: Job) -> Reason | None:
        """A started job with a missing member does not wait: its last attempt says 0 s."""
        last = context.memory.attempts.get(job.id)
        if last is None or context.now >= last.next or cut_short(context.world, job, last, context.now):
            return None
        return Reason(Code.BACKING_OFF, detail=f"{last.wait // SECOND} s after its last attempt")

    return Functions(job_enqueueable=job_enqueueable)


PLUGIN = Plugin(name="backoff", open=open_session)
