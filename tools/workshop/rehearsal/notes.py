"""What a scheduler notes of its cycles, in the place of a flight recorder's file."""

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import msgspec

from sky_core.course import Changes, Course
from sky_core.cycle import Outcome
from sky_core.decisions import BindTask, EvictTask
from sky_core.model import Instant, JobId
from sky_core.reasons import Verdict
from sky_core.simulation.report import Told
from sky_core.simulation.scheduler import expects_more, news
from sky_scheduler.recorder import Recorder


class Cycle(msgspec.Struct, frozen=True, kw_only=True):
    """One cycle: when it ran, and which verdicts changed."""

    at: Instant
    told: tuple[Told, ...]


class Notes(Recorder):
    """A recorder that writes no file.

    Attributes:
        cycles: All so far.
        verdicts: Of the last one.
        is_quiet: Whether the last one learnt nothing and decided nothing.
        expects_more: Whether a later one may decide otherwise though nothing happens.
        defects: That cycles met.
        claimants: For which jobs pods were to be evicted, by `namespace/name` both.
        order: The pods of decisions, in the order in which they were decided on in each cycle.
    """

    def __init__(self) -> None:
        """No cycle has run yet."""
        super().__init__(Path())
        self.cycles: list[Cycle] = []
        self.verdicts: Mapping[JobId, Verdict] = {}
        self.is_quiet = False
        self.expects_more = True
        self.defects: list[str] = []
        self.claimants: dict[str, str] = {}
        self.order: dict[int, list[str]] = defaultdict(list)

    def learn(self, changes: Changes) -> None:
        """Nothing is kept: the course holds it."""

    def forget(self) -> None:
        """Nothing was kept."""

    def open(self, epoch: int, course: Course, configuration: str) -> None:
        """No file is needed."""

    def write(self, course: Course, _: str, changes: Changes, now: Instant, outcome: Outcome) -> None:
        """Note a cycle."""
        world = course.world
        number = len(self.cycles) + 1
        for decision in outcome.decisions:
            if isinstance(decision, BindTask | EvictTask) and decision.task in world.tasks:
                pod = world.tasks[decision.task].key
                self.order[number].append(pod)
                if isinstance(decision, EvictTask):
                    self.claimants[pod] = world.jobs[decision.certificate.claimant].key
        self.defects += [f"cycle {number}: {defect}" for defect in outcome.defects]
        told = news(world, self.verdicts, outcome.verdicts)
        self.verdicts = dict(outcome.verdicts)
        self.expects_more = expects_more(world, course.memory, outcome, now)
        self.is_quiet = not (changes.objects or changes.gone or changes.answered or outcome.decisions)
        self.cycles.append(Cycle(at=now, told=told))
