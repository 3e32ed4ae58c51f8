"""The steps of a cycle, by the names that configurations use. Each takes the session and changes it."""

from collections.abc import Callable, Mapping
from typing import Final

from sky_core.actions.allocate_job import allocate_job
from sky_core.actions.allocate_quota import allocate_quota
from sky_core.actions.allocate_zone import allocate_zone
from sky_core.actions.backfill import backfill
from sky_core.actions.bind import bind
from sky_core.actions.reclaim import reclaim
from sky_core.actions.release_quota import release_quota
from sky_core.session import Session

Action = Callable[[Session], None]

ACTIONS: Final[Mapping[str, Action]] = {
    "allocateJob": allocate_job,
    "allocateZone": allocate_zone,
    "allocateQuota": allocate_quota,
    "bind": bind,
    "reclaim": reclaim,
    "backfill": backfill,
    "releaseQuota": release_quota,
}
