"""Whether the file systems that a pod needs are mounted on the node (behaviour.md 7.3)."""

from typing import Final, Literal

from sky_core.model import SECOND, Duration, Node, Quota, Task
from sky_core.plugin import QN, TN, TQ, Context, Functions, Parcel, Plugin, Sieve
from sky_core.reasons import Code, Reason
from sky_core.resources import UNBOUNDED

TOLERANCE: Final = Duration(90 * SECOND)
"""How much earlier than the node's last Ready transition a heartbeat may be: old daemons beat seldom."""


def open_session(context: Context, _: None) -> Functions:
    """Closes over the nodes."""
    nodes = context.world.nodes

    def quota_for_task(task: Task, quota: Quota) -> Reason | None:
        where = quota.node or quota.spec.static_node
        if not task.shape.mounts or where is None or where not in nodes:
            return None
        return _refusal(task.shape.mounts, nodes[where])

    return Functions(
        tq=TQ(predicate=quota_for_task),
        qn=QN(predicate=_node_for_parcel, sieve=_sieve),
        tn=TN(predicate=_node_for_task, slots=_slots),
    )


def _node_for_task(task: Task, node: Node) -> Reason | None:
    return _refusal(task.shape.mounts, node)


def _slots(task: Task, node: Node) -> int:
    return UNBOUNDED if _refusal(task.shape.mounts, node) is None else 0


def _sieve(parcel: Parcel) -> Sieve | Literal[True]:
    """Every node, for tasks that need no mount."""
    mounts = tuple(dict.fromkeys(mount for task in parcel.tasks for mount in task.shape.mounts))
    return Sieve(mounts, lambda node: _refusal(mounts, node) is None) if mounts else True


def _node_for_parcel(parcel: Parcel, node: Node) -> Reason | None:
    for task in parcel.tasks:
        if task.shape.mounts and (refusal := _refusal(task.shape.mounts, node)) is not None:
            return refusal
    return None


def _refusal(mounts: tuple[str, ...], node: Node) -> Reason | None:
    for name in mounts:
        mount = node.mounts.get(name)
        if mount is None:
            fault = "is not reported"
        elif not mount.ready:
            fault = "is not ready"
        elif mount.heartbeat < node.ready_since - TOLERANCE:
            fault = "was last reported before the node became Ready"
        else:
            continue
        return Reason(Code.STORAGE_NOT_READY, detail=f"{name} on {node.name} {fault}")
    return None


PLUGIN = Plugin(name="storage", open=open_session)
