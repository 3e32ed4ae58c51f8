"""A communication group inside one RDMA switch domain, in rank order (behaviour.md 7.2)."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Final, Literal

import msgspec

from sky_core.model import Job, Node, NodeName, Task
from sky_core.plugin import POINT, QN, TN, Context, Field, Functions, Parcel, Plugin, Sieve
from sky_core.reasons import Code, Reason
from sky_core.resources import UNBOUNDED
from sky_core.topology import Layout, homes, zone_of
from sky_core.zoning import continuous, zoned

Algorithm = Callable[[Context, Job, Sequence[Parcel], Sequence[Parcel], str], Layout | None]

ALGORITHMS: Final[dict[str, Algorithm]] = {"namedzone": zoned, "continuity": continuous}


class Arguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Weights of the two zone algorithms (0 switches one off), and how ranks go onto a zone's nodes."""

    namedzone: int = 100
    continuity: int = 0
    ranks: Literal["spread", "pack"] = "spread"


def open_session(context: Context, arguments: Arguments) -> Functions:
    """Orders the algorithms by weight."""
    world = context.world
    weights = {"namedzone": arguments.namedzone, "continuity": arguments.continuity}
    order = sorted((name for name in weights if weights[name] > 0), key=lambda name: -weights[name])

    def predicate_zone(job: Job, group: Sequence[Parcel], extras: Sequence[Parcel]) -> Layout | None:
        """The first algorithm that answers."""
        answers = (ALGORITHMS[name](context, job, group, extras, arguments.ranks) for name in order)
        return next((answer for answer in answers if answer is not None), None)

    def predicate(parcel: Parcel, node: Node) -> Reason | None:
        """Under `required`, a node whose zone is unknown is no candidate."""
        if parcel.job.topology.on and parcel.job.topology.required and node.zone is None:
            return Reason(Code.TOPOLOGY_UNKNOWN)
        return None

    def best(parcel: Parcel, nodes: Sequence[Node]) -> NodeName | None:
        """The seat that the zone algorithm gave."""
        seat = context.seat(parcel)
        return seat if any(node.name == seat for node in nodes) else None

    def gate(job: Job) -> Reason | None:
        """A strict job's index never falls with its rank."""
        if not (job.topology.on and job.topology.strict):
            return None
        placed = [(task, world.nodes[node]) for task, node in homes(world, job, zoned=True)]
        for (before, lower), (after, higher) in pairwise(placed):
            if lower.order > higher.order:
                detail = f"{before.name} would be on {lower.name}, {after.name} on {higher.name}"
                return Reason(Code.RANK_ORDER_BROKEN, detail=detail)
        return None

    def score(parcel: Parcel, node: Node, _: Field) -> int:
        """Where other jobs spare the zones: small ones, or nodes without free neighbours, first."""
        if parcel.job.topology.on or not order:
            return 0
        return scores[order[0]](parcel, node)

    def scores_of(parcel: Parcel, nodes: Sequence[Node]) -> list[int]:
        """The same of many nodes."""
        if parcel.job.topology.on or not order:
            return [0] * len(nodes)
        return [scores[order[0]](parcel, node) for node in nodes]

    scores = {"namedzone": partial(_spare_large_zones, context), "continuity": partial(_spare_runs, context)}

    def direct(task: Task, node: Node) -> Reason | None:
        """The same of a spot task that goes to its node directly."""
        job = world.jobs.get(task.job) if task.job is not None else None
        known = node.zone is not None or task.shape.spot is None
        required = job is not None and job.topology.on and job.topology.required
        return None if known or not required else Reason(Code.TOPOLOGY_UNKNOWN)

    return Functions(
        qn=QN(
            predicate=predicate,
            order=score,
            best=best,
            sieve=_sieve,
            orders=scores_of,
            order_spans=order[:1] == ["continuity"],
            order_holds=order[:1] != ["continuity"],
        ),
        tn=TN(predicate=direct, slots=lambda task, node: 0 if direct(task, node) else UNBOUNDED),
        predicate_zone=predicate_zone,
        quota_allocate=gate,
    )


def _sieve(parcel: Parcel) -> Sieve | Literal[True]:
    """Under `required` nodes with a zone, else every node."""
    topology = parcel.job.topology
    return Sieve(None, lambda node: node.zone is not None) if topology.on and topology.required else True


def _spare_large_zones(context: Context, _: Parcel, node: Node) -> int:
    """100 ÷ zone size; 100 without a zone."""
    zone = zone_of(node)
    return 100 * POINT // (len(context.world.zones[zone].nodes) if zone is not None else 1)


def _spare_runs(context: Context, parcel: Parcel, node: Node) -> int:
    """100, 50, 0 with 0, 1, 2 neighbours in index order that would take the parcel."""
    line = context.world.specs[node.spec]
    at = line.index(node.name)
    near = [line[i] for i in (at - 1, at + 1) if 0 <= i < len(line)]
    return (100 - 50 * sum(not context.refusals(parcel, name) for name in near)) * POINT


PLUGIN = Plugin(name="topology", open=open_session, arguments=Arguments)
