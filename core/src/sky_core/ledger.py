"""The books of a node: what each task and each quota is written down as, and the recount that must agree."""

from collections.abc import Iterable

from msgspec.structs import replace

from sky_core.model import Book, NodeName, Pool, Quota, Task
from sky_core.resources import NOTHING, Resources
from sky_core.states import TaskState
from sky_core.world import World


def is_outside(world: World, task: Task, node: NodeName) -> bool:
    """Whether a pod on this node uses it outside quotas: neither spot nor on a claim on a quota bound here."""
    if task.shape.spot is not None:
        return False
    quota = world.quotas.get(task.quota) if task.quota is not None else None
    return quota is None or quota.node != node


def charge(book: Book, task: Task, *, outside: bool, count: int = 1) -> Book:
    """The book with so many unfinished pods like this one on it; with fewer, where that is negative."""
    shape = task.shape
    load = shape.load if count == 1 else shape.load.times(count)
    releasing = load if task.state is TaskState.RELEASING else NOTHING
    units = count * shape.spot_units
    return replace(
        book,
        used=book.used + load,
        outside=book.outside + load if outside else book.outside,
        releasing=book.releasing + releasing if releasing else book.releasing,
        releasing_outside=book.releasing_outside + releasing if outside and releasing else book.releasing_outside,
        pods=book.pods + count,
        shared=book.shared + units if shape.spot is Pool.SHARED else book.shared,
        exclusive=book.exclusive + units if shape.spot is Pool.EXCLUSIVE else book.exclusive,
    )


def promise(book: Book, footprint: Resources) -> Book:
    """The book with so much more promised to quotas."""
    return replace(book, promised=book.promised + footprint) if footprint else book


def wait(book: Book, load: Resources) -> Book:
    """The book with so much more waiting for room."""
    return replace(book, pipelined=book.pipelined + load)


def recount(world: World, node: NodeName, allocatable: Resources) -> Book:
    """The book of a node, counted anew from the tasks and quotas on it (invariant I5)."""
    tasks = [world.tasks[id_] for id_ in world.tasks_on.get(node, ())]
    outside = [task for task in tasks if is_outside(world, task, node)]
    quotas = [world.quotas[name] for name in world.quotas_on.get(node, ())]
    if not (tasks or quotas):
        return Book(allocatable=allocatable)
    claimants = [world.tasks.get(claim.task) for quota in quotas for claim in quota.claims]
    return Book(
        allocatable=allocatable,
        used=_load(tasks),
        outside=_load(outside),
        releasing=_load(task for task in tasks if task.state is TaskState.RELEASING),
        releasing_outside=_load(task for task in outside if task.state is TaskState.RELEASING),
        promised=Resources.total(quota.footprint for quota in quotas),
        pipelined=_load(task for task in claimants if task is not None and task.state is TaskState.PIPELINED),
        pods=len(tasks),
        shared=sum(task.shape.spot_units for task in tasks if task.shape.spot is Pool.SHARED),
        exclusive=sum(task.shape.spot_units for task in tasks if task.shape.spot is Pool.EXCLUSIVE),
    )


def _load(tasks: Iterable[Task]) -> Resources:
    return Resources.total(task.shape.load for task in tasks)


def quota_recount(quota: Quota) -> Resources:
    """What its claims add up to."""
    return Resources.total(claim.resources for claim in quota.claims)
