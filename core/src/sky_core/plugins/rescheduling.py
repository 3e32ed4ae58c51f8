"""Off by default: proposes evictions that would free a zone for a waiting spot gang, and with `act` makes them."""

from sky_core.plugin import Context, Functions, Plugin
from sky_core.rescheduling import Rescheduling


def open_session(_context: Context, _: Rescheduling) -> Functions:
    """Registers at no point: the session asks `sky_core.rescheduling` when reclaim runs."""
    return Functions()


PLUGIN = Plugin(name="rescheduling", open=open_session, arguments=Rescheduling)
