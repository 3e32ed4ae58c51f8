"""Whether a task and a quota, and a quota and a node, go together (behaviour.md 7.3)."""

from sky_core.kubernetes import node_affinity, taints
from sky_core.model import Node, Quota, Task
from sky_core.plugin import QN, TQ, Context, Functions, Parcel, Plugin, Sieve
from sky_core.reasons import Code, Reason, never_fits
from sky_core.resources import NOTHING
from sky_core.selectors import Operator, Selector


def open_session(context: Context, _: None) -> Functions:
    """Closes over what labels name a card."""
    world, spec_labels = context.world, context.settings.spec_labels

    def mismatch(key: str, detail: str) -> Reason:
        names_card = key.startswith(spec_labels)
        return Reason(Code.SPEC_MISMATCH if names_card else Code.NODE_SELECTOR_NOT_MATCH, detail=detail)

    def quota_for_task(task: Task, quota: Quota) -> Reason | None:
        if not (task.shape.selector.requirements and quota.spec.selector.requirements):
            return None
        mine, theirs = _pinned(task.shape.selector), _pinned(quota.spec.selector)
        for key, value in mine.items():
            if theirs.get(key, value) != value:
                return mismatch(key, f"{key} is {theirs[key]}, not {value}")
        return None

    def labels(parcel: Parcel, node: Node) -> Reason | None:
        requirement = node_affinity.unmet(parcel.quota.spec.selector, node.labels)
        return None if requirement is None else mismatch(requirement.key, str(requirement))

    def node_for_quota(parcel: Parcel, node: Node) -> Reason | None:
        spec = parcel.quota.spec
        if (node.unschedulable or node.taints) and (no := taints.refusal(spec.tolerations, node)) is not None:
            return no
        if not node_affinity.allows(spec.node_affinity, node):
            return Reason(Code.NODE_AFFINITY_NOT_MATCH)
        return room(parcel, node)

    def room(parcel: Parcel, node: Node) -> Reason | None:
        """A quota that the trial has put here already is asked about as if it came."""
        book, needed, row = world.books[node.name], parcel.footprint, world.quotas.get(parcel.quota.name)
        idle = book.quota_idle + (row.footprint if row is not None and row.node == node.name else NOTHING)
        if needed.fits_in(idle):
            return None
        lacking = needed.shortfall(idle).units
        waits = needed.fits_in(idle + book.releasing_outside)
        return Reason(
            Code.WAITING_FOR_RELEASE if waits else Code.INSUFFICIENT_QUOTA_IDLE,
            needed=needed.only(lacking),
            available=idle.only(lacking),
            never=never_fits(needed, book.allocatable),
        )

    return Functions(tq=TQ(predicate=quota_for_task), qn=QN(select=labels, predicate=node_for_quota, sieve=_sieve))


def _sieve(parcel: Parcel) -> Sieve:
    """Whether the quota itself suits the node."""
    spec = parcel.quota.spec
    selector, tolerations, affinity = spec.selector, spec.tolerations, spec.node_affinity

    def lets(node: Node) -> bool:
        if (node.unschedulable or node.taints) and taints.refusal(tolerations, node) is not None:
            return False
        return selector.matches(node.labels) and node_affinity.allows(affinity, node)

    return Sieve((selector, tolerations, affinity.required), lets)


def _pinned(selector: Selector) -> dict[str, str]:
    """The keys to which a selector leaves one value."""
    return {r.key: r.values[0] for r in selector.requirements if r.operator is Operator.IN and len(r.values) == 1}


PLUGIN = Plugin(name="quotapredicates", open=open_session)
