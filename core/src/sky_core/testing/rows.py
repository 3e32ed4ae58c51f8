"""Rows with defaults, so that a test sets only what it is about, and a world made of them.

Everything is in namespace and queue `default` unless it says otherwise. A task belongs to the job whose name comes
before its last dash (`w-0` to `default/w`); a task that names a quota claims it, and the other way round.
"""

from typing import Any

import msgspec

from sky_core import ledger
from sky_core.api.upkeep.zoning import Zoning
from sky_core.memory import Memory
from sky_core.model import (
    Book,
    Claim,
    Instant,
    Job,
    JobId,
    JobQueue,
    Node,
    NodeName,
    Pool,
    Queue,
    QueueName,
    Quota,
    QuotaName,
    QuotaSpec,
    Reservation,
    Shape,
    Task,
    TaskId,
)
from sky_core.plugin import Context, Parcel
from sky_core.resources import NOTHING, Resources, parse_resources
from sky_core.settings import Settings
from sky_core.states import TaskState
from sky_core.world import World

GPU = "nvidia.com/gpu"
SPOT_GPU = "scheduling.infini-ai.com/spot-gpu"
DEFAULT = QueueName("default")


class Machine(msgspec.Struct, frozen=True):
    """A node and what it reports as allocatable."""

    node: Node
    allocatable: Resources


Row = Task | Job | Quota | Machine | Queue | JobQueue


def gpus(count: int) -> Resources:
    """So many cards."""
    return parse_resources({GPU: count})


def task(name: str, *, request: Resources | None = None, **fields: Any) -> Task:
    """A pod of ours: one card; Running if it has a node, else a claim if it names a quota, else Pending.

    Fields of `Shape` may be given as well.
    """
    group = name.rpartition("-")[0] or name
    asks = gpus(1) if request is None else request
    shape = {key: fields.pop(key) for key in list(fields) if key in Shape.__struct_fields__ and key != "namespace"}
    shape = {"request": asks, "load": asks, "namespace": fields.get("namespace", "default"), **shape}
    if isinstance(node := fields.get("node"), str):
        fields["node"] = NodeName(node)
    unplaced = TaskState.ALLOCATED_TO_QUOTA if "quota" in fields else TaskState.PENDING
    defaults: dict[str, Any] = {
        "id": TaskId(f"uid-{name}"),
        "namespace": "default",
        "name": name,
        "job": JobId(f"default/{group}"),
        "shape": Shape(**shape),
        "labels": {},
        "created": Instant(0),
        "place": name.rpartition("-")[2],
        "state": TaskState.RUNNING if node is not None else unplaced,
    }
    return Task(**{**defaults, **fields})


def spot_task(name: str, cards: int, **fields: Any) -> Task:
    """A pod that takes so many exclusive spot cards."""
    asks = parse_resources({SPOT_GPU: cards})
    shape = Shape(
        request=asks, load=asks + gpus(cards), namespace="default", spot=Pool.EXCLUSIVE, spot_units=1000 * cards
    )
    return task(name, shape=shape, **fields)


def job(name: str, min_member: int = 1, **fields: Any) -> Job:
    """A PodGroup; its tasks are those of the world that name it."""
    defaults: dict[str, Any] = {
        "id": JobId(f"default/{name}"),
        "namespace": "default",
        "name": name,
        "queue": DEFAULT,
        "created": Instant(0),
        "min_member": min_member,
    }
    return Job(**{**defaults, **fields})


def claim(of: Task, **fields: Any) -> Claim:
    """The claim that a task would make."""
    defaults: dict[str, Any] = {
        "task": of.id,
        "namespace": of.namespace,
        "name": of.name,
        "job": of.job,
        "place": of.place,
        "resources": of.shape.request,
        "reservation": of.reservation,
    }
    return Claim(**{**defaults, **fields})


def kept(of: Task, node: str, expires: int) -> Reservation:
    """The reservation of a task's place until then."""
    return Reservation(
        namespace=of.namespace,
        job=JobId(str(of.job)),
        task=of.name,
        place=of.place,
        resources=of.shape.request,
        node=NodeName(node),
        expires=Instant(expires),
    )


def quota(
    name: str, cards: int = 8, *, node: str | None = None, claims: tuple[Claim, ...] = (), **fields: Any
) -> Quota:
    """A quota of so many cards. Fields of `QuotaSpec` may be given as well."""
    spec = {key: fields.pop(key) for key in list(fields) if key in QuotaSpec.__struct_fields__}
    declared: dict[str, Any] = {"queue": DEFAULT, "request": gpus(cards), "labels": {}, "named": frozenset({GPU})}
    row = Quota(
        name=QuotaName(name),
        uid=f"uid-{name}",
        spec=QuotaSpec(**{**declared, **spec}),
        created=Instant(0),
        order=((0, 0, name),),
        node=NodeName(node) if node is not None else None,
        **fields,
    )
    for each in claims:
        row = row.with_claim(each)
    return row


def node(name: str, cards: int = 8, **fields: Any) -> Machine:
    """A machine with so many cards, and cpu and memory to spare."""
    row = Node(name=NodeName(name), uid=f"uid-{name}", labels=fields.pop("labels", {}), created=Instant(0), **fields)
    return Machine(row, parse_resources({GPU: cards, "cpu": 64, "memory": "1Ti"}))


def queue(name: str, **fields: Any) -> Queue:
    """A queue that every namespace may use."""
    return Queue(name=QueueName(name), created=Instant(0), **fields)


def job_queue(name: str, **fields: Any) -> JobQueue:
    """A JobQueue of the queue `default` that takes every job."""
    return JobQueue(**{"name": name, "queue": DEFAULT, "created": Instant(0), **fields})


def world(*rows: Row) -> World:
    """A world of these rows and the queue `default`, its lists and books made from them."""
    made = World()
    made.namespaces["default"] = {}
    allocatable: dict[NodeName, Resources] = {}
    for row in (queue("default"), *rows):
        match row:
            case Task():
                made.tasks[row.id] = row
            case Job():
                made.jobs[row.id] = row
            case Quota():
                made.quotas[row.name] = row
            case Machine():
                made.nodes[row.node.name] = row.node
                allocatable[row.node.name] = row.allocatable
            case Queue():
                made.queues[row.name] = row
            case JobQueue():
                made.job_queues[row.name] = row
    _tie(made)
    zoning = Zoning()
    for each_node in made.nodes.values():
        zoning.node(None, each_node)
    zoning.flush(made)
    for name, amounts in allocatable.items():
        made.books[name] = Book(allocatable=amounts)
        made.books[name] = ledger.recount(made, name, amounts)
        made.total += amounts
    made.anti_affine = sum(bool(each.shape.pod_affinity.anti_required) for each in made.tasks.values())
    made.quotas_apart = sum(bool(each.spec.quota_affinity.anti_required) for each in made.quotas.values())
    return made


def context(of: World, *, now: int = 0, **fields: Any) -> Context:
    """What a bare session would have open; nothing can become free."""
    defaults: dict[str, Any] = {"memory": Memory(), "settings": Settings(), "frees": lambda _: NOTHING}
    return Context(**{"world": of, "now": Instant(now), **defaults, **fields})


def parcel(of: World, name: str) -> Parcel:
    """A quota with the tasks that claim it, as if of one job."""
    row = of.quotas[QuotaName(name)]
    return Parcel(job=job("any"), quota=row, tasks=tuple(of.tasks[each.task] for each in row.claims))


def _tie(made: World) -> None:
    """Let the rows name each other as the intake does."""
    for each_task in made.tasks.values():
        claimed = made.quotas.get(each_task.quota) if each_task.quota is not None else None
        if claimed is not None and all(each.task != each_task.id for each in claimed.claims):
            made.quotas[claimed.name] = claimed.with_claim(claim(each_task))
    for name, row in made.quotas.items():
        if row.node is not None:
            made.quotas_on[row.node] = (*made.quotas_on.get(row.node, ()), name)
        for each in row.claims:
            if each.task in made.tasks:
                made.tasks[each.task] = msgspec.structs.replace(made.tasks[each.task], quota=name)
    for id_, each_task in made.tasks.items():
        if each_task.node is not None and each_task.unfinished:
            made.tasks_on[each_task.node] = (*made.tasks_on.get(each_task.node, ()), id_)
    for job_id, each_job in made.jobs.items():
        tasks = tuple(id_ for id_, t in made.tasks.items() if t.job == job_id)
        made.jobs[job_id] = msgspec.structs.replace(each_job, tasks=tasks)
