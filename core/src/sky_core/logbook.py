"""A flight recorder's format: how things stood at the beginning, then every cycle's input, and what came out.

It is exact because `schedule` is a function and this is all that goes into it: the objects as the server sent them, in
the order in which they were taken up, which decisions counted as done, the time of each cycle, and the memory and the
counts at the beginning; all later memory follows.
"""

from collections.abc import Iterable, Mapping
from hashlib import sha256

import msgspec

from sky_core.api.intake import Counts
from sky_core.course import Changes, Course, Told
from sky_core.cycle import DONE, Outcome
from sky_core.decisions import Decision
from sky_core.memory import Memory
from sky_core.model import Instant
from sky_core.policy import Policy
from sky_core.settings import Settings


class Opening(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """How things stood. `configuration` is the text of the file that was in use; empty: none was."""

    configuration: str
    objects: tuple[Told, ...]
    assumed: tuple[Decision, ...]
    memory: Memory
    counts: Counts


class Entry(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """One cycle: what was learnt before it, when it ran, and what it decided. `digest` is of all that came out."""

    changes: Changes
    now: Instant
    decisions: tuple[Decision, ...]
    digest: str


class Difference(msgspec.Struct, frozen=True):
    """A cycle that comes out otherwise than it did. Equal decisions: something else differs, such as a verdict."""

    cycle: int
    now: Instant
    recorded: tuple[Decision, ...]
    found: tuple[Decision, ...]


Page = Opening | Entry

encoder = msgspec.json.Encoder()
decoder: msgspec.json.Decoder[Page] = msgspec.json.Decoder(Page)
_sorted = msgspec.json.Encoder(order="deterministic")


def opened(course: Course, configuration: str, objects: Iterable[Told]) -> Opening:
    """How things stand between two cycles. `objects` are those that the course has learnt and that are still there."""
    return Opening(
        configuration=configuration,
        objects=tuple(objects),
        assumed=course.intake.assumed,
        memory=course.memory,
        counts=course.intake.counts,
    )


def reopened(opening: Opening, settings: Settings) -> Course:
    """The course that goes on from there."""
    course = Course(settings, opening.memory)
    course.learn(Changes(objects=opening.objects))
    course.assume(opening.assumed)
    course.intake.count_on(opening.counts)
    return course


def digest(outcome: Outcome) -> str:
    """Of every byte of an outcome, but for the verdicts that say nothing."""
    verdicts: Mapping[str, object] = {id_: said for id_, said in outcome.verdicts.items() if said != DONE}
    return sha256(_sorted.encode(msgspec.structs.replace(outcome, verdicts=verdicts))).hexdigest()


def entry(changes: Changes, now: Instant, outcome: Outcome) -> Entry:
    """What is written down of a cycle."""
    return Entry(changes=changes, now=now, decisions=outcome.decisions, digest=digest(outcome))


def replayed(course: Course, policy: Policy, cycle: int, page: Entry) -> Difference | None:
    """Run a cycle anew, and go on as it was recorded: whatever comes out, what then happened is what happened."""
    course.learn(page.changes)
    outcome = course.cycle(policy, page.now)
    course.assume(page.decisions)
    if digest(outcome) == page.digest and outcome.decisions == page.decisions:
        return None
    return Difference(cycle, page.now, page.decisions, outcome.decisions)
