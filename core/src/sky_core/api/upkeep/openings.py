"""Which changes may let a waiting job in, so that its back-off is cut short (behaviour.md 7.6)."""

from msgspec.structs import replace

from sky_core.api.nodes import same_mounts
from sky_core.model import Node, Quota, Task
from sky_core.states import ON_NODE


def quota_opens(old: Quota | None, new: Quota | None) -> bool:
    """A quota came, went, was declared anew, left its node, or gave something back. Being taken opens nothing.

    While it was being written nobody was let near what is left of it.
    """
    if old is None or new is None:
        return True
    answered = old.pending and not new.pending and any(left > 0 for left in (new.capacity - new.claimed).units.values())
    declared = (old.spec, old.shadow, old.static_bound) != (new.spec, new.shadow, new.static_bound)
    left = old.node is not None and new.node != old.node
    kept = {reservation.place for reservation in new.reservations}
    given_back = {claim.task for claim in old.claims} - {claim.task for claim in new.claims}
    ended = any(reservation.place not in kept for reservation in old.reservations)
    return declared or left or bool(given_back) or ended or answered


def node_opens(old: Node | None, new: Node | None) -> bool:
    """A node came, went or changed; not where only heartbeats moved on."""
    if old is None or new is None:
        return old is not new
    return replace(old, mounts=new.mounts) != new or not same_mounts(old, new)


def pod_opens(old: Task | None, new: Task | None) -> bool:
    """A pod ended, left its node, or takes something else of it."""
    if old is None or not old.unfinished:
        return False
    if new is None or not new.unfinished or (old.node is not None and new.node != old.node):
        return True
    return old.state in ON_NODE and new.shape.load != old.shape.load


def asks_the_same(old: Task, new: Task) -> bool:
    """Whether a pod asks for the same as before: what has become of it since aside."""
    became = replace(
        old,
        state=new.state,
        quota=new.quota,
        node=new.node,
        evicted=new.evicted,
        started=new.started,
        # Binding writes these.
        required_quota=new.required_quota if new.node is not None else old.required_quota,
    )
    return became == new
