"""What is kept for a lost task is for nobody else until it expires."""

from sky_core import reservations
from sky_core.model import Quota, Task
from sky_core.plugin import TQ, Context, Functions, Plugin
from sky_core.reasons import Code, Reason


def open_session(context: Context, _arguments: None) -> Functions:
    """Closes over the session."""

    def predicate(task: Task, quota: Quota) -> Reason | None:
        """Room is what is idle besides the live reservations of others."""
        if not quota.reservations:
            return None
        held = quota.held(context.now)
        mine = reservations.returner(context.world, task, quota, context.now)
        if mine is not None:
            held -= mine.resources
        idle = quota.capacity - quota.claimed
        request = task.shape.request.only(quota.spec.named)
        if not held or request.fits_in(idle - held) or not request.fits_in(idle):
            return None
        kept = ", ".join(f"{kept.namespace}/{kept.task}" for kept in quota.reservations[:3])
        return Reason(Code.RESERVED_FOR_OTHER, needed=request, available=idle - held, detail=f"kept for {kept}")

    return Functions(tq=TQ(predicate=predicate))


PLUGIN = Plugin(name="reservation", open=open_session)
