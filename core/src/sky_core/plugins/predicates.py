"""Whether a node takes a pod, by kube-scheduler's own rules, and whether there is room for it (behaviour.md 7.3)."""

from collections.abc import Callable
from functools import lru_cache

from msgspec.structs import replace

from sky_core.kubernetes import node_affinity, pod_affinity, spread
from sky_core.kubernetes.comers import Comers, comers, crowded, unfit
from sky_core.model import Node, NodeName, Quota, Task
from sky_core.plugin import QN, TN, TQ, Context, Functions, Parcel, Plugin, Sieve
from sky_core.reasons import Code, Reason, never_fits
from sky_core.resources import NOTHING, Resources
from sky_core.room import awaited, may_evict


def open_session(context: Context, _: None) -> Functions:
    """Opens the rules that look at other nodes."""
    world = context.world
    near, even = pod_affinity.required(world), spread.required(world)

    @lru_cache(maxsize=64)
    def of(parcel: Parcel) -> Comers:
        return comers(parcel.tasks)

    def fits(who: Comers, node: Node) -> Reason | None:
        """All but room."""
        for shape in who.shapes:
            if (no := unfit(shape, node)) is not None:
                return no
        if (no := crowded(world, who, node)) is not None:
            return no
        if not (who.looks_around or world.anti_affine):
            return None
        return near(who, node) or even(who, node)

    def room_to_come(who: Comers, node: Node, frees: Callable[[NodeName], Resources]) -> Reason | None:
        """Room in idle, in what terminates, and in what evictions may free, beside all others who are to come."""
        book = world.books[node.name]
        room = book.idle
        if others := awaited(world, node.name, but=who.ids):
            room -= others
        if who.load.fits_in(room):
            return None
        room += book.releasing
        short = _short(who.load, room + frees(node.name), book.allocatable)
        if short is not None and (lent := context.lent(node.name)) and who.load.fits_in(room + lent):
            return replace(short, code=Code.EVICTION_BLOCKED)
        return short

    def quota_for_task(task: Task, quota: Quota) -> Reason | None:
        where = quota.node or quota.spec.static_node
        if where is None:
            return None
        node = world.nodes.get(where)
        if node is None:
            return Reason(Code.QUOTA_UNAVAILABLE, detail=f"node {where} does not exist")
        who = comers((task,))
        if quota.node is None:
            return _unbindable(quota, node, world.books[where].allocatable) or fits(who, node)
        job = world.jobs.get(task.job) if task.job is not None else None
        evicts = job is None or may_evict(job, quota, task.shape.request)
        return fits(who, node) or room_to_come(who, node, context.frees if evicts else _nothing)

    def node_for_parcel(parcel: Parcel, node: Node) -> Reason | None:
        who = of(parcel)
        return fits(who, node) or room_to_come(who, node, context.frees if parcel.evicts else _nothing)

    def node_for_task(task: Task, node: Node) -> Reason | None:
        book = world.books[node.name]
        return fits(comers((task,)), node) or _short(task.shape.load, book.idle, book.allocatable)

    def slots(task: Task, node: Node) -> int:
        """By room, for a task whom only the node itself can refuse."""
        shape, name = task.shape, node.name
        if shape.ports or shape.looks_around or world.anti_affine or unfit(shape, node) is not None:
            return 0
        there = {claim.task for quota in world.quotas_on.get(name, ()) for claim in world.quotas[quota].claims}
        there.update(world.tasks_on.get(name, ()))  # whoever binds is among them, so that it is no more afterwards
        return min(shape.load.slots_in(world.books[name].idle), node.pods_max) if len(there) <= node.pods_max else 0

    return Functions(
        tq=TQ(predicate=quota_for_task),
        qn=QN(predicate=node_for_parcel, sieve=_sieve),
        tn=TN(predicate=node_for_task, slots=slots),
    )


def _sieve(parcel: Parcel) -> Sieve | None:
    """Of tasks whom only the node itself can refuse, room aside: whether it does."""
    shapes = tuple(dict.fromkeys(task.shape for task in parcel.tasks))
    if any(shape.ports or shape.looks_around for shape in shapes):
        return None
    asked = tuple((s.selector, s.tolerations, s.node_affinity.required, s.volumes) for s in shapes)
    return Sieve(asked, lambda node: all([unfit(shape, node) is None for shape in shapes]))


def _nothing(_: NodeName) -> Resources:
    return NOTHING


def _short(load: Resources, room: Resources, allocatable: Resources) -> Reason | None:
    """What of the load does not fit in."""
    if load.fits_in(room):
        return None
    lacking = load.shortfall(room).units
    return Reason(
        Code.INSUFFICIENT_IDLE,
        needed=load.only(lacking),
        available=room.only(lacking),
        never=never_fits(load, allocatable),
    )


def _unbindable(quota: Quota, node: Node, allocatable: Resources) -> Reason | None:
    """Why quota-fixer would not carry out the quota's static bind (behaviour.md 8); it does not ask for room."""
    if (requirement := node_affinity.unmet(quota.spec.selector, node.labels)) is not None:
        return Reason(Code.QUOTA_UNAVAILABLE, detail=f"node {node.name} lacks {requirement}")
    if not quota.spec.request.fits_in(allocatable):
        return Reason(Code.QUOTA_UNAVAILABLE, detail=f"it asks for more than node {node.name} has")
    return None


PLUGIN = Plugin(name="predicates", open=open_session)
