"""What came of a simulation: the object of contracts.md, and beside it what a page or a table shows."""

from collections.abc import Mapping, Sequence

import msgspec

from sky_core import status
from sky_core.api.faults import Fault
from sky_core.api.identity import Key
from sky_core.api.reports import queue_shares, reason
from sky_core.ledger import is_outside
from sky_core.model import Instant, Job, JobId, NodeName, Quota, TaskId
from sky_core.reasons import Code, Rung, Verdict
from sky_core.resources import Resources, render, render_all
from sky_core.settings import Settings
from sky_core.simulation.objects import Object, part, text
from sky_core.states import observed
from sky_core.world import World

_PODS = "pods"


class QuotaWritten(msgspec.Struct, frozen=True, kw_only=True):
    """A write of a Quota's status: who wrote it, and the node that it has now."""

    quota: str
    node: str | None
    by: str


class Bind(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt to bind a pod: `ok`, or the refusal."""

    pod: str
    node: str
    result: str


class Eviction(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt to evict a pod for a job: `ok`, or the refusal."""

    pod: str
    job: str
    result: str


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """A job's verdict where it differs from that of the cycle before."""

    job: str
    rung: Rung
    codes: tuple[Code, ...]


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """A cycle that did something, and the step after it. `events`, and which pods are gone, are in words."""

    cycle: int
    at: Instant
    writes: tuple[QuotaWritten, ...] = ()
    binds: tuple[Bind, ...] = ()
    evictions: tuple[Eviction, ...] = ()
    events: tuple[str, ...] = ()
    told: tuple[Told, ...] = ()


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it.

    `contract` is the JSON object of contracts.md, `world` what it was made from. `allocatable` is by node, `requests`
    by pod, both as texts.
    `skipped` has one line for each object of a kind that a simulation has no use for. `violations` are invariants that
    a cycle broke, and defects that it met: it must be empty.
    """

    contract: dict[str, object]
    world: World
    steps: tuple[Step, ...]
    allocatable: dict[str, dict[str, str]]
    requests: dict[str, dict[str, str]]
    skipped: tuple[str, ...] = ()
    violations: tuple[str, ...] = ()


class End(msgspec.Struct, frozen=True, kw_only=True):
    """How things stand when a simulation has ended."""

    objects: Mapping[Key, Object]
    world: World
    verdicts: Mapping[JobId, Verdict]
    settings: Settings
    cycles: int
    invalid: Sequence[Fault]
    warnings: Sequence[str]


def contract(end: End, steps: Sequence[Step]) -> dict[str, object]:
    """The JSON object of contracts.md. Everything in it is sorted or in order of time."""
    world = end.world
    return {
        "cycles": end.cycles,
        "quotas": {name: _quota(world.quotas[name]) for name in sorted(world.quotas)},
        "pods": _pods(end),
        "nodes": {name: _node(world, name) for name in sorted(world.nodes)},
        "jobs": _jobs(end),
        "queues": _queues(world, end.settings),
        "evictions": [
            {"cycle": step.cycle, "pod": eviction.pod, "for": eviction.job}
            for step in steps
            for eviction in step.evictions
            if eviction.result == "ok"
        ],
        "binds": [
            {"cycle": step.cycle, "pod": bind.pod, "node": bind.node, "result": bind.result}
            for step in steps
            for bind in step.binds
        ],
        "invalid": [{"object": f.object, "field": f.field, "fault": f.fault} for f in sorted(end.invalid)],
        "warnings": sorted(end.warnings),
    }


def allocatable(world: World) -> dict[str, dict[str, str]]:
    """What each node reports."""
    return {name: render_all(world.books[name].allocatable) for name in sorted(world.nodes)}


def requests(world: World) -> dict[str, dict[str, str]]:
    """What each pod asks for."""
    tasks = sorted(world.tasks.values(), key=lambda task: task.key)
    return {task.key: render_all(task.shape.request) for task in tasks}


def _quota(quota: Quota) -> dict[str, object]:
    return {
        "phase": "QuotaEmpty" if quota.node is None else "QuotaBound",
        "node": quota.node,
        "allocated": render_all(quota.claimed),
        "tasks": sorted(f"{claim.namespace}/{claim.name}" for claim in quota.claims),
        "reserved": sorted(f"{kept.namespace}/{kept.task}" for kept in quota.reservations),
    }


def _pods(end: End) -> dict[str, object]:
    """All pods, foreign and malformed ones too."""
    holders = {claim.task: name for name in sorted(end.world.quotas) for claim in end.world.quotas[name].claims}
    found: dict[str, object] = {}
    for key in sorted(key for key in end.objects if key.kind == "Pod"):
        raw = end.objects[key]
        uid, node = text(part(raw, "metadata"), "uid"), text(part(raw, "spec"), "nodeName")
        quota = holders.get(TaskId(uid))
        state = observed(
            phase=text(part(raw, "status"), "phase"),
            deleting=bool(part(raw, "metadata").get("deletionTimestamp")),
            node=bool(node),
            binding=False,
            claim=quota is not None,
        )
        found[f"{key.namespace}/{key.name}"] = {"state": state.value, "quota": quota, "node": node or None}
    return found


def _node(world: World, name: NodeName) -> dict[str, object]:
    node, book = world.nodes[name], world.books[name]
    outside = sum(is_outside(world, world.tasks[id_], name) for id_ in world.tasks_on.get(name, ()))
    return {
        "zone": node.zone,
        "index": node.index,
        "idle": _amounts(book.idle, book.allocatable) | {_PODS: str(node.pods_max - book.pods)},
        "quotaIdle": _amounts(book.quota_idle, book.allocatable) | {_PODS: str(node.pods_max - outside)},
    }


def _amounts(left: Resources, of: Resources) -> dict[str, str]:
    """What is left, zeros too."""
    return {name: render(name, left[name]) for name in sorted({*left.units, *of.units})}


def _jobs(end: End) -> dict[str, object]:
    """All jobs; where a pod without a group is called as a PodGroup, the latter."""
    jobs = sorted(end.world.jobs.values(), key=lambda job: (job.key, job.grouped))
    return {job.key: _job(end, job) for job in jobs}


def _job(end: End, job: Job) -> dict[str, object]:
    verdict = end.verdicts.get(job.id)
    return {
        "phase": status.phase(end.world, job, verdict).value,
        "rung": (verdict.rung if verdict is not None else Rung.ENQUEUE).value,
        "zones": list(status.zones(end.world, job)),
        "reasons": [reason(finding) for finding in verdict.findings] if verdict is not None else [],
    }


def _queues(world: World, settings: Settings) -> dict[str, object]:
    return {name: queue_shares(report) for name, report in status.queue_statuses(world, settings).items()}
