"""Which quotas a pod wants, and which quotas belong together or apart (behaviour.md 7.3)."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from sky_core.affinity_cycles import conflict, cycle
from sky_core.constraints import QuotaTerm
from sky_core.model import Node, NodeName, Quota, Task
from sky_core.normal_scores import FULL, between
from sky_core.plugin import QN, TQ, Context, Field, Functions, Parcel, Plugin
from sky_core.quotas_around import QuotasAround, domain
from sky_core.reasons import Code, Reason
from sky_core.world import World


def open_session(context: Context, _: None) -> Functions:
    """Opens the counts of quotas by node and zone."""
    world, around = context.world, QuotasAround(context.world)

    def unplaced(parcel: Parcel) -> Reason | None:
        """A required term whose target is on no node is refused by all nodes at once."""
        quota = parcel.quota
        for term in quota.spec.quota_affinity.required:
            if not term.selector.matches(quota.spec.labels) and not around.anywhere(quota, term):
                return Reason(Code.QUOTA_AFFINITY_NOT_MATCH, detail=_why(world, quota, term))
        return None

    def node_for_quota(parcel: Parcel, node: Node) -> Reason | None:
        quota, affinity = parcel.quota, parcel.quota.spec.quota_affinity
        for term in affinity.required:
            first = term.selector.matches(quota.spec.labels) and not around.anywhere(quota, term)
            if domain(term, node) is None or not (first or around.near(quota, term, node)):
                return Reason(Code.QUOTA_AFFINITY_NOT_MATCH, detail=f"not with {_text(term)}")
        for term in affinity.anti_required:
            if around.near(quota, term, node):
                return Reason(Code.QUOTA_AFFINITY_NOT_MATCH, detail=f"with {_text(term)}")
        if world.quotas_apart and around.keep_away(quota, node):
            return Reason(Code.QUOTA_AFFINITY_NOT_MATCH, detail="quotas there keep it away")
        return None

    @lru_cache(maxsize=8)
    def compared(parcel: Parcel, field: Field) -> dict[NodeName, int]:
        quota, affinity = parcel.quota, parcel.quota.spec.quota_affinity
        raw = [
            sum(liking.weight * around.near(quota, liking.term, node) for liking in affinity.preferred)
            - sum(dislike.weight * around.near(quota, dislike.term, node) for dislike in affinity.anti_preferred)
            for node in field.nodes
        ]
        return dict(zip((node.name for node in field.nodes), between(raw), strict=True))

    def score(parcel: Parcel, node: Node, field: Field) -> int:
        affinity = parcel.quota.spec.quota_affinity
        return compared(parcel, field)[node.name] if affinity.preferred or affinity.anti_preferred else 0

    def scores(parcel: Parcel, nodes: Sequence[Node]) -> list[int]:
        return [score(parcel, node, Field((node,))) for node in nodes]

    return Functions(
        tq=TQ(predicate=_quota_for_task, order=_liked),
        qn=QN(
            pre_predicate=unplaced,
            predicate=node_for_quota,
            batch_order=score,
            sieve=_sieve,
            batch_orders=scores,
            order_holds=True,
        ),
    )


def _quota_for_task(task: Task, quota: Quota) -> Reason | None:
    wanted = task.shape.quota_affinity
    if wanted is None or wanted.matches(quota.spec.labels):
        return None
    return Reason(Code.POD_QUOTA_AFFINITY_NOT_MATCH)


def _liked(task: Task, quota: Quota) -> int:
    wanted = task.shape.preferred_quota_affinity
    return FULL if wanted is not None and wanted.matches(quota.spec.labels) else 0


def _why(world: World, quota: Quota, term: QuotaTerm) -> str:
    quotas = world.quotas.values()
    if circle := cycle(quota, quotas):
        return "each waits for the next: " + " → ".join(circle)
    if (enemy := conflict(quota, quotas)) is not None:
        return f"it must be with {enemy}, and must not"
    return f"no quota with {_text(term)} is on a node"


def _text(term: QuotaTerm) -> str:
    return ",".join(map(str, term.selector.requirements)) or "any label"


def _sieve(parcel: Parcel) -> Literal[True] | None:
    """Every node, for a quota without terms of its own; one that others may keep away is asked about each time."""
    return None if parcel.quota.spec.looks_around else True


PLUGIN = Plugin(name="quotaaffinity", open=open_session)
