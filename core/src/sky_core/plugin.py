"""What a plugin is: a name, its arguments, and plain functions over what a session has open.

`open` is called once when a session opens; it may compute what its functions close over. A predicate answers None
(yes) or a Reason (no, with numbers); a score is an integer in thousandths of a point (0…100,000 for most); a
comparison is negative, zero or positive, the lesser first; an abstention is None. The framework adds the plugin's name.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, Literal

import msgspec
from msgspec.structs import replace

from sky_core.memory import Memory
from sky_core.model import (
    Instant,
    Job,
    JobId,
    Node,
    NodeName,
    Queue,
    QueueName,
    Quota,
    QuotaName,
    Task,
    TaskId,
    Zone,
    ZoneId,
)
from sky_core.reasons import Reason
from sky_core.resources import NOTHING, Resources
from sky_core.room import may_evict
from sky_core.settings import Settings
from sky_core.status import JobQueueStatus
from sky_core.topology import Layout
from sky_core.world import World

POINT: Final = 1000
"""One point of score, in the thousandths that scores are held in."""


class Area(msgspec.Struct, frozen=True, gc=False):
    """The nodes that a job's cards may be on: those of one spec code, of one zone, or (nothing named) all."""

    spec: str | None = None
    zone: ZoneId | None = None


class Parcel:
    """A quota and the tasks that claim it, in rank order: what hop 2 places as one.

    `footprint` is what it takes of a node's quotaIdle, `load` what its tasks will take of its idle; `looks_around`,
    whether an answer about one node depends on what other nodes hold; `evicts`, whether spot pods may be made to go
    for it. `direct`: a spot task on its way to a node without a quota; `quota` then only says what it asks. `pattern`
    is the parcel that it was made after, to which nodes answer alike, or itself; `view` is where a survey notes on that
    what it knows of the class.
    """

    __slots__ = ("direct", "evicts", "footprint", "job", "load", "looks_around", "pattern", "quota", "tasks", "view")

    def __init__(self, *, job: Job, quota: Quota, tasks: tuple[Task, ...], direct: bool = False) -> None:
        """As the rows stand."""
        self.job = job
        self.quota = quota
        self.tasks = tasks
        self.direct = direct
        self.footprint: Resources = quota.footprint
        self.load: Resources = NOTHING
        for task in tasks:
            if task.node is None:
                self.load += task.shape.load
        self.evicts: bool = may_evict(job, quota)
        self.looks_around: bool = quota.spec.looks_around or any([task.shape.looks_around for task in tasks])
        self.pattern: Parcel = self
        self.view: object = None

    def twin(self, job: Job, quota: Quota, tasks: tuple[Task, ...]) -> "Parcel":
        """A parcel to which nodes answer alike (see `sky_core.parcels`)."""
        twin = Parcel.__new__(Parcel)
        twin.job, twin.quota, twin.tasks, twin.direct = job, quota, tasks, self.direct
        twin.footprint, twin.load, twin.evicts = self.footprint, self.load, self.evicts
        twin.looks_around, twin.pattern, twin.view = self.looks_around, self.pattern, None
        return twin


def _no_share(_: str) -> int:
    return 0


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """What a session has open. Plugins read it, and never write. The defaults are the answers of a bare world.

    `frees`: what reclaim may free on a node for a task with a claim there; `lent`: what spot pods hold there that are
    not on their way out, evictable or not.
    `slots`: how many parcels like this one a node takes, `slots_on`: each of several, `total`: an area, `by_zone`: each
    zone, in the order of `World.zones`; `tightest`: of an area's zones that take so many the one with the least slots,
    of equal ones the first by `zone_ranks`; `refusals`: why a node does not; `depends`: whether that depends on what
    other nodes hold, so that slots say little;
    `walk`: where these parcels land when each, in order, goes to the first of the nodes, from its predecessor's on,
    that takes it (as many as do), and how many further ones like the largest fit then.
    `area`: to which nodes hop 1 has confined a job's cards; `seat`: the node that the zone algorithm gave a parcel;
    `spot`: whether spot pods are anywhere; `eviction_cost`: what it would cost to make room for a load on a node;
    `admitted`: the jobs that were let in in this cycle and have not been refused since, and those let in before for
    which something sent is unanswered; `begun`: whether a member of the job is placed, or a place is kept for one;
    `job_share`, `queue_share`: dominant shares in billionths.
    """

    world: World
    memory: Memory
    settings: Settings
    now: Instant
    frees: Callable[[NodeName], Resources]
    lent: Callable[[NodeName], Resources] = lambda _: NOTHING
    slots: Callable[[Parcel, NodeName], int] = lambda _parcel, _node: 0
    slots_on: Callable[[Parcel, Sequence[NodeName]], list[int]] = lambda _parcel, nodes: [0] * len(nodes)
    total: Callable[[Parcel, Area], int] = lambda _parcel, _area: 0
    by_zone: Callable[[Parcel], Sequence[int]] = lambda _: ()
    zone_ranks: Callable[[], Mapping[ZoneId, int]] = dict
    tightest: Callable[[Parcel, Area, int], Zone | None] = lambda _parcel, _area, _count: None
    refusals: Callable[[Parcel, NodeName], tuple[Reason, ...]] = lambda _parcel, _node: ()
    depends: Callable[[Parcel], bool] = lambda _: False
    walk: Callable[[Sequence[Parcel], Sequence[NodeName]], tuple[tuple[NodeName, ...], int]] = lambda _p, _n: ((), 0)
    area: Callable[[JobId], Area] = lambda _: Area()
    seat: Callable[[Parcel], NodeName | None] = lambda _: None
    spot: Callable[[], bool] = lambda: False
    eviction_cost: Callable[[NodeName, Resources], int] = lambda _node, _load: 0
    admitted: Callable[[], Sequence[Job]] = tuple
    begun: Callable[[Job], bool] = lambda _: False
    job_share: Callable[[JobId], int] = _no_share
    queue_share: Callable[[QueueName], int] = _no_share


class Field:
    """The nodes that are compared with each other in one choice; scores that are relative are relative to these."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        """The candidates, in index order."""
        self.nodes = nodes
        self._most: dict[str, int] = {}

    def most(self, what: str, value: Callable[[Node], int]) -> int:
        """The largest value over the candidates, computed once per name; 0 without candidates."""
        if what not in self._most:
            self._most[what] = max(map(value, self.nodes), default=0)
        return self._most[what]


TaskQuota = Callable[[Task, Quota], Reason | None]
ParcelNode = Callable[[Parcel, Node], Reason | None]
TaskNode = Callable[[Task, Node], Reason | None]


Orders = Callable[[Parcel, Sequence[Node]], Sequence[int]]


class TQ(msgspec.Struct, frozen=True, kw_only=True):
    """Task → quota. `best` picks among candidates, all of equal tier."""

    select: TaskQuota | None = None
    pre_predicate: Callable[[Task], Reason | None] | None = None
    predicate: TaskQuota | None = None
    order: Callable[[Task, Quota], int] | None = None
    batch_order: Callable[[Task, Quota], int] | None = None
    best: Callable[[Task, Sequence[Quota]], QuotaName | None] | None = None


class Sieve(msgspec.Struct, frozen=True):
    """The quick form of a plugin's select and predicate together: whether a node passes but for room.

    Answers are kept until the node's row changes, for all parcels whose sieves are `about` the same.
    """

    about: Hashable
    lets: Callable[[Node], bool]


class QN(msgspec.Struct, frozen=True, kw_only=True):
    """Quota → node, asked for the quota and for every task that claims it.

    `sieve` gives the quick form for parcels that are simple enough: True where every node passes but for room, None
    where only asking tells. A plugin without one is asked about every node. `orders` and `batch_orders` are the quick
    forms of the scores: over many nodes, each compared with none but itself. A plugin without them is asked about each.
    What quick forms say of a node holds until it changes.
    `order_spans`: its score of a node depends on what other nodes hold. `order_holds`: without spot pods anywhere, that
    of a parcel that prefers no node never falls because parcels like it have come there.
    """

    select: ParcelNode | None = None
    pre_predicate: Callable[[Parcel], Reason | None] | None = None
    predicate: ParcelNode | None = None
    order: Callable[[Parcel, Node, Field], int] | None = None
    batch_order: Callable[[Parcel, Node, Field], int] | None = None
    best: Callable[[Parcel, Sequence[Node]], NodeName | None] | None = None
    sieve: Callable[[Parcel], Sieve | Literal[True] | None] | None = None
    orders: Orders | None = None
    batch_orders: Orders | None = None
    order_spans: bool = False
    order_holds: bool = False


class TN(msgspec.Struct, frozen=True, kw_only=True):
    """Task → node: the re-check before a bind, and the way of spot tasks.

    `slots` is the quick form of select and predicate together, for a task that claims a quota bound to the node: how
    many like it the node takes one after the other, `UNBOUNDED` where that is no matter, 0 where it takes none or only
    asking tells. A plugin without one is asked about each task.
    """

    select: TaskNode | None = None
    pre_predicate: Callable[[Task], Reason | None] | None = None
    predicate: TaskNode | None = None
    order: Callable[[Task, Node, Field], int] | None = None
    batch_order: Callable[[Task, Node, Field], int] | None = None
    best: Callable[[Task, Sequence[Node]], NodeName | None] | None = None
    slots: Callable[[Task, Node], int] | None = None


class Functions(msgspec.Struct, frozen=True, kw_only=True):
    """What a plugin registers; what it leaves out it has no say in.

    `job_key` is the quick form of `job_order`: the job with the lesser key goes first. `likens`: on what else of a
    waiting job the answers about it hang than on what jobs that are alike have in common (`sky_core.peers`).
    """

    tq: TQ = TQ()
    qn: QN = QN()
    tn: TN = TN()
    job_order: Callable[[Job, Job], int] | None = None
    job_key: Callable[[Job], int] | None = None
    likens: Callable[[Job], Hashable] | None = None
    queue_order: Callable[[Queue, Queue], int] | None = None
    task_order: Callable[[Task, Task], int] | None = None
    job_valid: Callable[[Job], Reason | None] | None = None
    job_enqueueable: Callable[[Job], Reason | None] | None = None
    job_ready: Callable[[Job], bool] | None = None
    job_pipelined: Callable[[Job], bool] | None = None
    job_starving: Callable[[Job], bool] | None = None
    quota_ready: Callable[[Job], bool] | None = None
    quota_allocate: Callable[[Job], Reason | None] | None = None
    predicate_zone: Callable[[Job, Sequence[Parcel], Sequence[Parcel]], Layout | None] | None = None
    reclaimable: Callable[[Task | None, Sequence[Task]], frozenset[TaskId] | None] | None = None


Controller = Callable[[World], Mapping[str, JobQueueStatus]]
"""What lives across sessions: a pure function from the world to the statuses that should be written, by JobQueue."""


class Plugin(msgspec.Struct, frozen=True, kw_only=True):
    """A plugin: its name, the type of its arguments, and what it registers when a session opens.

    One with a long life of its own (the article's ReconcilablePlugin) also brings a controller, which the scheduler
    process runs between cycles.
    """

    name: str
    open: Callable[[Context, Any], Functions]
    arguments: type[msgspec.Struct] | None = None
    reconcile: Controller | None = None


def registered(functions: Functions) -> dict[str, Callable[..., Any]]:
    """Point name → function, for the points that a plugin registers (`tq.predicate`, `jobOrder`, …)."""
    return {point: function for _, _, point, function in _each(functions)}


def function(functions: Functions, point: str) -> Any:
    """The function that a plugin registers at a point; None where it has no say."""
    *bundle, name = point.split(".")
    return getattr(getattr(functions, bundle[0]) if bundle else functions, _snake(name))


def wrapped(plugin: Plugin, around: Callable[[str, Callable[..., Any]], Callable[..., Any]]) -> Plugin:
    """The same plugin, its functions made into others by `around`, which is also given the names of their points."""

    def open_(context: Context, arguments: Any) -> Functions:
        functions = plugin.open(context, arguments)
        made: dict[str, dict[str, Callable[..., Any]]] = {bundle: {} for bundle in (*_BUNDLES, "")}
        for bundle, field, point, function in _each(functions):
            made[bundle][field] = around(point, function)
        bundles = {bundle: replace(getattr(functions, bundle), **made[bundle]) for bundle in _BUNDLES}
        return replace(functions, **bundles, **made[""])

    return replace(plugin, open=open_)


_BUNDLES: Final = ("tq", "qn", "tn")
_QUICK: Final = frozenset(
    {"sieve", "slots", "orders", "batch_orders", "order_spans", "order_holds", "job_key", "likens"}
)


def _each(functions: Functions) -> Iterator[tuple[str, str, str, Callable[..., Any]]]:
    """Bundle (or ""), field, point and function of all that a plugin registers."""
    for bundle in _BUNDLES:
        part = getattr(functions, bundle)
        for field in part.__struct_fields__:
            if field not in _QUICK and (function := getattr(part, field)) is not None:
                yield bundle, field, f"{bundle}.{_camel(field)}", function
    for field in functions.__struct_fields__[len(_BUNDLES) :]:
        if field not in _QUICK and (function := getattr(functions, field)) is not None:
            yield "", field, _camel(field), function


@cache
def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.title() for word in rest)
