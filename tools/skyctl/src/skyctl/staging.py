"""What a simulation came to, or what a cluster's objects say, made into a scene."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from sky_core.api.identity import key_of
from sky_core.api.intake import Intake
from sky_core.model import Book, JobId, Task
from sky_core.model import Job as JobRow
from sky_core.model import Node as NodeRow
from sky_core.model import Quota as QuotaRow
from sky_core.resources import render, render_all
from sky_core.settings import Settings
from sky_core.simulation.objects import Object, part
from sky_core.simulation.report import Report
from sky_core.status import zones as zones_of
from sky_core.world import World
from skyctl.scene import Card, Job, Machine, Quota, Reason, Scene, Use, Zone
from skyctl.story import chapters, setbacks

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
_THOUSAND: Final = 1000
_CARDS_MAX: Final = 256 * _THOUSAND
"""A node that claims to have more is told in words."""


def staged(report: Report, settings: Settings) -> Scene:
    """Where everything ended up, and how it came about."""
    contract: Mapping[str, Any] = report.contract
    faults = (*(f"{f['object']}: {f['field']}: {f['fault']}" for f in contract["invalid"]), *contract["warnings"])
    scene = _scene(report.world, contract["jobs"], settings, faults)
    return scene._replace(cycles=contract["cycles"], story=chapters(report.steps), setbacks=setbacks(report.steps))


def seen(objects: Iterable[Object], settings: Settings) -> Scene:
    """A cluster as its objects say it is. Of jobs is shown what their PodGroups say, and no others."""
    intake, told = Intake(settings), {}
    for raw in objects:
        intake.put(raw)
        if raw["kind"] == "PodGroup":
            key = key_of(raw)
            told[f"{key.namespace}/{key.name}"] = part(raw, "status")
    world = intake.world()
    faults = tuple(f"{fault.object}: {fault.field}: {fault.fault}" for fault in sorted(intake.invalid))
    return _scene(world, {job.key: _said(world, job, told[job.key]) for job in _grouped(world, told)}, settings, faults)


def _scene(world: World, told: Mapping[str, Any], settings: Settings, faults: tuple[str, ...]) -> Scene:
    """What can be seen of a world; of the jobs that are told of what is told."""
    letters = _job_letters(world)
    zones = _zones(world, letters, settings)
    return Scene(
        cycles=0,
        zones=zones,
        jobs=_jobs(world, told, letters, {zone.key: zone.letter for zone in zones}),
        quotas=tuple(_quota(world.quotas[name]) for name in sorted(world.quotas)),
        story=(),
        setbacks=(),
        faults=faults,
    )


def _grouped(world: World, told: Mapping[str, Any]) -> list[JobRow]:
    return [job for job in world.jobs.values() if job.grouped and job.key in told]


def _said(world: World, job: JobRow, status: Mapping[str, Any]) -> dict[str, Any]:
    """What a PodGroup's status says of its job, as a simulation's answer words it."""
    return {
        "phase": status.get("phase", "Pending"),
        "rung": status.get("rung", ""),
        "zones": zones_of(world, job),
        "reasons": status.get("reasons", ()),
    }


def _zones(world: World, letters: Mapping[JobId, str], settings: Settings) -> tuple[Zone, ...]:
    """Zones by their first machine, then the machines that are in none."""
    machines: dict[str | None, list[Machine]] = defaultdict(list)
    for node in sorted(world.nodes.values(), key=lambda node: node.order):
        machines[node.zone].append(_machine(world, node, letters, settings))
    keys = sorted(machines, key=lambda key: key is None)
    return tuple(
        Zone("" if key is None else _zone_letter(at), key, tuple(machines[key])) for at, key in enumerate(keys)
    )


def _machine(world: World, node: NodeRow, letters: Mapping[JobId, str], settings: Settings) -> Machine:
    book = world.books[node.name]
    resource = _card_resource(book, settings)
    tasks = sorted((world.tasks[id_] for id_ in world.tasks_on.get(node.name, ())), key=lambda task: task.key)
    shown = tuple(task.key for task in tasks if task.job is not None or task.shape.load[resource])
    cards = tuple(_cards(book, resource, tasks, letters)) if book.allocatable[resource] <= _CARDS_MAX else ()
    return Machine(node.name, node.spec, cards, shown, tuple(_notes(node, book, resource, drawn=bool(cards))))


def _cards(book: Book, resource: str, tasks: Iterable[Task], letters: Mapping[JobId, str]) -> list[Card]:
    """A node's cards in the order of `Use`. Who has how many is known, not which: free ones are promised ones last."""
    there = book.allocatable[resource] // _THOUSAND
    taken = sorted(_taken(tasks, resource, letters, there), key=lambda card: list(Use).index(card.use))[:there]
    free = there - len(taken)
    idle = min(free, max(0, book.quota_idle[resource] // _THOUSAND))
    return [*taken, *[_card(Use.PROMISED)] * (free - idle), *[_card(Use.IDLE)] * idle]


def _card_resource(book: Book, settings: Settings) -> str:
    """What counts as a card on this node: what spot cards are backed by, else the most numerous device."""
    if book.allocatable[settings.spot_backed_by]:
        return settings.spot_backed_by
    devices = book.allocatable.extended().without({*settings.rdma_resources, settings.spot_resource})
    return max(devices.units, key=lambda name: (devices[name], name), default=settings.spot_backed_by)


def _taken(tasks: Iterable[Task], resource: str, letters: Mapping[JobId, str], most: int) -> Iterator[Card]:
    for task in tasks:
        cards = min(-(-task.shape.load[resource] // _THOUSAND), most)
        for _ in range(cards):
            if task.job is None:
                yield _card(Use.FOREIGN, task.key)
            elif task.shape.spot is not None:
                yield _card(Use.SPOT, task.key)
            else:
                yield Card(Use.JOB, letters[task.job], task.key)


def _card(use: Use, pod: str = "") -> Card:
    return Card(use, use.sign, pod)


def _notes(node: NodeRow, book: Book, resource: str, *, drawn: bool) -> Iterator[str]:
    if not node.ready:
        yield "not ready"
    if node.unschedulable:
        yield "cordoned"
    counted = resource if book.allocatable[resource] else "cpu"
    if not drawn:
        yield f"{render(counted, book.idle[counted])} of {render(counted, book.allocatable[counted])} {counted} idle"
    if (missing := -book.idle[resource]) > 0:
        yield f"{render(resource, missing)} more {resource} in use than there is"
    if (missing := -book.quota_idle[resource]) > 0:
        yield f"{render(resource, missing)} more {resource} promised than there is"


def _job_letters(world: World) -> dict[JobId, str]:
    """A letter for every job that has cards, by name; after z comes a again."""
    with_cards = {
        task.job
        for tasks in world.tasks_on.values()
        for task in map(world.tasks.__getitem__, tasks)
        if task.job is not None and task.shape.spot is None and task.shape.load.extended()
    }
    ordered = sorted(with_cards, key=lambda id_: world.jobs[id_].key)
    return {id_: _LETTERS[at % len(_LETTERS)] for at, id_ in enumerate(ordered)}


def _zone_letter(at: int) -> str:
    """A … Z, AA, AB …, as spreadsheets count columns."""
    more, last = divmod(at, len(_LETTERS))
    return (_zone_letter(more - 1) if more else "") + _LETTERS[last].upper()


def _jobs(
    world: World, told: Mapping[str, Any], letters: Mapping[JobId, str], zones: Mapping[str | None, str]
) -> tuple[Job, ...]:
    """All jobs that are told of, those that wait first."""
    ordered = sorted(
        (job for job in world.jobs.values() if job.key in told),
        key=lambda job: (not told[job.key]["reasons"], job.key),
    )
    return tuple(
        Job(
            letter=letters.get(job.id, ""),
            name=job.key,
            phase=told[job.key]["phase"],
            rung=told[job.key]["rung"],
            zones=tuple(zones[key] for key in told[job.key]["zones"]),
            placed=sum(world.tasks[id_].placed for id_ in job.tasks),
            pods=len(job.tasks),
            reasons=tuple(Reason(reason["code"], reason["message"]) for reason in told[job.key]["reasons"]),
        )
        for job in ordered
    )


def _quota(quota: QuotaRow) -> Quota:
    allocated = ", ".join(f"{amount} {resource}" for resource, amount in render_all(quota.claimed).items())
    tasks = sorted(f"{claim.namespace}/{claim.name}" for claim in quota.claims)
    reserved = sorted(f"{kept.namespace}/{kept.task}" for kept in quota.reservations)
    return Quota(quota.name, quota.node or "", allocated or "nothing", tuple(tasks), tuple(reserved))
