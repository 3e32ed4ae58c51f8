"""Quota-fixer's plan: every live pod's place is the truth, and quotas that say otherwise are mended (behaviour.md 9).

It also carries out static binds (behaviour.md 8). A plan says of each quota how its status should read; who carries it
out compares that with what is there, waits for minFixInterval, and leaves alone what has a write in flight.
"""

from enum import StrEnum
from typing import Final

import msgspec
from msgspec.structs import replace

from sky_core.decisions import WriteQuota
from sky_core.model import BY_NODE, Claim, Instant, Job, JobId, NodeName, Quota, QuotaName, Task
from sky_core.reservations import settled
from sky_core.world import World


class Kind(StrEnum):
    """What of a quota has drifted."""

    NODE = "node"
    TASKS = "tasks"
    STATIC_BIND = "staticBind"


class Condition(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A condition of a Quota as it should read. `usual`: it says that all is well, and replaces only another."""

    type: str
    holds: bool
    reason: str
    message: str = ""
    usual: bool = False


class Mend(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """How a quota's status should read. `drifted`: what of it does not; `static`: the node that it is fixed to."""

    write: WriteQuota
    static: NodeName | None
    conditions: tuple[Condition, ...]
    drifted: tuple[Kind, ...]


def plan(world: World, now: Instant) -> tuple[Mend, ...]:
    """One mend per quota, by name."""
    on_nodes = _pods_by_quota(world)
    return tuple(_mend(world, world.quotas[name], on_nodes.get(name, []), now) for name in sorted(world.quotas))


def static_obstacle(world: World, quota: Quota) -> Condition | None:
    """Why quota-fixer would not bind the quota to its `staticBindNode`; None: it would. quotaIdle is not asked."""
    name = quota.spec.static_node
    node = world.nodes.get(name) if name is not None else None
    if name is None or node is None:
        return _not_static("NodeNotFound", f"there is no node {name}")
    if not quota.spec.selector.matches(node.labels):
        return _not_static("NodeSelectorNotMatch", f"node {name} does not match the quota's nodeSelector")
    lacking = quota.spec.request.shortfall(world.books[name].allocatable)
    if lacking:
        return _not_static("InsufficientAllocatable", f"node {name} is too small by {lacking}")
    if quota.node not in (None, name) and quota.claims:
        return _not_static("InUse", f"its claims hold it on node {quota.node}")
    return None


def is_over_allocated(quota: Quota) -> bool:
    """Whether its claims exceed its capacity, in what it bounds."""
    return not quota.claimed.without(BY_NODE - quota.spec.named).fits_in(quota.capacity)


def _pods_by_quota(world: World) -> dict[QuotaName, list[Task]]:
    """The live pods with a place, by the quota that they claim or, without a claim, name."""
    found: dict[QuotaName, list[Task]] = {}
    for id_ in sorted(world.tasks):
        task = world.tasks[id_]
        quota = task.quota or task.required_quota
        if quota is not None and task.node is not None and task.unfinished and task.shape.spot is None:
            found.setdefault(quota, []).append(task)
    return found


def _mend(world: World, quota: Quota, pods: list[Task], now: Instant) -> Mend:
    row = settled(world, quota, now)
    counted = [pod for pod in pods if _counts(world, row, pod)]
    nodes = sorted({pod.node for pod in counted if pod.node is not None})
    if len(nodes) > 1:
        split = Condition(type="Drifted", holds=True, reason="SplitPods", message=f"its pods run on {', '.join(nodes)}")
        return _reading(quota, quota, quota.static_bound, (split, _capacity(quota)))
    for pod in counted:
        if pod.quota is None and pod.job is not None:
            row = row.with_claim(_claim(pod, pod.job))
    if nodes:
        row = _moved(row, nodes[0])
    row, static = _bound_statically(world, row)
    whole = Condition(type="Drifted", holds=False, reason="InPlace", usual=True)
    bound = static is not None and static.holds
    return _reading(quota, row, bound, (whole, _capacity(row), *([static] if static is not None else [])))


def _reading(was: Quota, row: Quota, static: bool, conditions: tuple[Condition, ...]) -> Mend:
    differs = {
        Kind.NODE: was.node != row.node,
        Kind.TASKS: was.claims != row.claims or len(was.reservations) != len(row.reservations),
        Kind.STATIC_BIND: was.static_bound != static,
    }
    return Mend(
        write=WriteQuota.of(row),
        static=row.spec.static_node if static else None,
        conditions=conditions,
        drifted=tuple(kind for kind, yes in differs.items() if yes),
    )


def _counts(world: World, quota: Quota, pod: Task) -> bool:
    """Whether a pod speaks for the quota: by its claim, by its job's hold on it, or where nobody holds it by right."""
    if pod.quota == quota.name:
        return True
    job = world.jobs.get(pod.job) if pod.job is not None else None
    if job is None:
        return False
    holders = {claim.job for claim in quota.claims} | {kept.job for kept in quota.reservations}
    return job.id in holders if holders else _may_use(world, job, quota)


def _may_use(world: World, job: Job, quota: Quota) -> bool:
    """Whether the quota is of the job's own queue or shared with it, and that queue admits the job's namespace."""
    if job.queue != quota.spec.queue and job.queue not in quota.spec.shared_queues:
        return False
    queue = world.queues.get(job.queue)
    if queue is None:
        return False
    return queue.namespaces is None or queue.namespaces.matches(world.namespaces.get(job.namespace, {}))


def _claim(pod: Task, job: JobId) -> Claim:
    return Claim(
        task=pod.id,
        namespace=pod.namespace,
        name=pod.name,
        job=job,
        place=pod.place,
        resources=pod.shape.request,
        reservation=pod.reservation,
    )


def _moved(quota: Quota, node: NodeName) -> Quota:
    """The quota on this node; the places that it keeps go with it."""
    if quota.node == node:
        return quota
    return replace(quota, node=node, reservations=tuple(replace(kept, node=node) for kept in quota.reservations))


def _bound_statically(world: World, quota: Quota) -> tuple[Quota, Condition | None]:
    """The quota after its static bind, and what came of that; None where none is asked for."""
    node = quota.spec.static_node
    if node is None:
        return quota, None
    if quota.node != node or not quota.static_bound:
        obstacle = static_obstacle(world, quota)
        if obstacle is not None:
            return quota, obstacle
    return _moved(quota, node), _STATIC


def _not_static(reason: str, message: str) -> Condition:
    return Condition(type="StaticBound", holds=False, reason=reason, message=message)


def _capacity(quota: Quota) -> Condition:
    over = is_over_allocated(quota)
    excess = quota.claimed.without(BY_NODE - quota.spec.named).shortfall(quota.capacity)
    return Condition(
        type="OverAllocated",
        holds=over,
        reason="ClaimsExceedRequest" if over else "WithinRequest",
        message=f"its claims exceed its request by {excess}" if over else "",
        usual=not over,
    )


_STATIC: Final = Condition(type="StaticBound", holds=True, reason="Bound")
