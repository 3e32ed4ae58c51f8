"""What is set side by side: annotations of the jobs that are on several nodes."""

from collections.abc import Callable, Mapping
from typing import Final

from sky_core.settings import PREFIX
from skyctl.bench.quality.site import Site, machines
from skyctl.bench.quality.trace import Job

Notes = Callable[[Job, Site], Mapping[str, str]]


def _index_order(_job: Job, _site: Site) -> Mapping[str, str]:
    """No topology: of nodes that are alike the first, in index order."""
    return {f"{PREFIX}enable-topology-scheduling": "false"}


def _best_fit(_job: Job, _site: Site) -> Mapping[str, str]:
    """The default: the zone with the least left over, else the fewest zones."""
    return {}


def _patience(_job: Job, _site: Site) -> Mapping[str, str]:
    """Ten minutes for a single zone, where one could hold the job."""
    return {f"{PREFIX}topology-patience": "10m"}


def _required(job: Job, site: Site) -> Mapping[str, str]:
    """A single zone or none, where one could hold the job; else the default."""
    return {f"{PREFIX}topology-policy": "required"} if machines(job) <= site.per_leaf else {}


POLICIES: Final[Mapping[str, Notes]] = {
    "index-order": _index_order,
    "best-fit": _best_fit,
    "patience": _patience,
    "required": _required,
}
