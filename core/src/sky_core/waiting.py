"""When a waiting job is tried again (behaviour.md 7.6)."""

from typing import Final

from sky_core.memory import Attempt
from sky_core.model import SECOND, Duration, Instant, Job
from sky_core.reasons import Topic, cures
from sky_core.world import World

FIRST: Final = SECOND
LONGEST: Final = Duration(300 * SECOND)


def next_wait(last: Attempt | None, *, reset: bool) -> Duration:
    """How long to back off after another failure: 1 s, doubled up to 5 min; 1 s again after a cut."""
    return FIRST if last is None or reset or not last.wait else Duration(min(last.wait * 2, LONGEST))


def cut_short(world: World, job: Job, attempt: Attempt, now: Instant) -> bool:
    """Whether something that the job was refused for has changed since its attempt, or its patience has ended."""
    if job.version != attempt.version or patience_ended(job, attempt, now):
        return True
    topics = frozenset[Topic]().union(*(cures(finding.code) for finding in attempt.verdict.findings))
    return any(
        topic in topics and world.openings[topic] != seen for topic, seen in zip(Topic, attempt.openings, strict=True)
    )


def patience_ended(job: Job, attempt: Attempt, now: Instant) -> bool:
    """Whether the wait for a single zone, begun before the attempt, is over by now and was not then."""
    if attempt.waiting_since is None:
        return False
    end = attempt.waiting_since + job.topology.patience
    return attempt.at < end <= now
