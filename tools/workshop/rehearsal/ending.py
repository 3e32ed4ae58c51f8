"""What came of a rehearsal, as simulate's report: by what the cluster says, and what the process has noted."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from rehearsal.attempts import OK, Attempt
from rehearsal.notes import Notes
from sky_core import invariants
from sky_core.api.identity import Key
from sky_core.api.intake import Intake
from sky_core.api.reports import SCHEDULED, reason
from sky_core.course import Course
from sky_core.model import Job
from sky_core.reasons import Code, Verdict
from sky_core.settings import Settings
from sky_core.simulation.objects import Object, conditions, part, text
from sky_core.simulation.report import (
    Bind,
    End,
    Eviction,
    QuotaWritten,
    Report,
    Step,
    allocatable,
    contract,
    requests,
)
from sky_core.simulation.scheduler import NAME
from sky_core.world import World

GATED: Final = "SchedulingGated"
"""The reason that a server gives itself, without our codes."""


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """How things stand in the end.

    Attributes:
        objects: That are in the cluster.
        course: Of the process.
        notes: Of the process.
        attempts: To carry out what was decided.
        happened: What happened after each cycle that was not the scheduler's doing.
        settings: What it decided by.
        warnings: Of events that met nothing.
        defects: Of ours, that the process told of.
    """

    objects: Mapping[Key, Object]
    course: Course
    notes: Notes
    attempts: Sequence[Attempt]
    happened: Mapping[int, Sequence[str]]
    settings: Settings
    warnings: Sequence[str]
    defects: Sequence[str]


def report(end: Ending) -> Report:
    """Make it."""
    intake = Intake(end.settings)
    for raw in end.objects.values():
        intake.put(raw)
    world, steps, read = intake.world(), _steps(end), end.course.intake
    said = contract(
        End(
            objects=end.objects,
            world=world,
            verdicts=end.notes.verdicts,
            settings=end.settings,
            cycles=len(end.notes.cycles),
            invalid=read.invalid,
            warnings=(*read.warnings, *end.warnings),
        ),
        steps,
    )
    said["jobs"] = _jobs(end, world, said["jobs"])
    broken = [f"{one.invariant}: {one.object}: {one.fault}" for one in invariants.check(world)]
    return Report(
        contract=said,
        world=world,
        steps=steps,
        allocatable=allocatable(world),
        requests=requests(world),
        violations=(*end.notes.defects, *end.defects, *broken),
    )


def _steps(end: Ending) -> tuple[Step, ...]:
    """What was done and what happened, by cycle; attempts in the order in which they were decided on."""
    by_cycle: dict[int, list[Attempt]] = defaultdict(list)
    for attempt in end.attempts:
        by_cycle[attempt.cycle].append(attempt)
    found = []
    for number, cycle in enumerate(end.notes.cycles, 1):
        order = {pod: at for at, pod in enumerate(end.notes.order[number])}
        tries = sorted(by_cycle[number], key=lambda one: (order.get(one.object, len(order)), one.object))
        step = Step(
            cycle=number,
            at=cycle.at,
            writes=tuple(
                QuotaWritten(quota=one.object, node=one.node or None, by=NAME)
                for one in tries
                if one.what == "quota" and one.result == OK
            ),
            binds=tuple(
                Bind(pod=one.object, node=one.node, result=one.result) for one in tries if one.what == "binding"
            ),
            evictions=tuple(
                Eviction(pod=one.object, job=end.notes.claimants.get(one.object, ""), result=one.result)
                for one in tries
                if one.what == "eviction"
            ),
            events=tuple(end.happened.get(number, ())),
            told=cycle.told,
        )
        if step.writes or step.binds or step.evictions or step.events or step.told:
            found.append(step)
    return tuple(found)


def _jobs(end: Ending, world: World, simulated: Any) -> dict[str, Any]:
    """What the cluster says of each job: its PodGroup, or else its pods."""
    found: dict[str, Any] = dict(simulated)
    for job in sorted(world.jobs.values(), key=lambda job: (job.key, job.grouped)):
        group, verdict = Key("PodGroup", job.namespace, job.name), end.notes.verdicts.get(job.id)
        if job.grouped and group in end.objects:
            found[job.key] |= _of_group(part(end.objects[group], "status"), verdict)
        else:
            codes = _told(end, world, job)
            reasons = [one for one in found[job.key]["reasons"] if one["code"] in codes]
            found[job.key] |= {"reasons": reasons}
    return found


def _of_group(status: Object, verdict: Verdict | None) -> dict[str, Any]:
    """What a PodGroup says. That its job backs off is no reason there, and is one in a simulation."""
    waits = [reason(one) for one in verdict.findings if one.code is Code.BACKING_OFF] if verdict is not None else []
    return {
        "phase": status.get("phase", "Pending"),
        "rung": status.get("rung", "Enqueue"),
        "reasons": [*status.get("reasons", ()), *waits],
    }


def _told(end: Ending, world: World, job: Job) -> frozenset[str]:
    """The codes that the job's pods have been told."""
    found: set[str] = {Code.BACKING_OFF.value}
    for id_ in job.tasks:
        task = world.tasks[id_]
        for one in conditions(end.objects[Key("Pod", task.namespace, task.name)]):
            if one.get("type") == SCHEDULED and one.get("status") == "False":
                found.update(text(one, "message").partition(":")[0].split(", "))
                found.update([GATED] if one.get("reason") == GATED else [])
    return frozenset(found)
