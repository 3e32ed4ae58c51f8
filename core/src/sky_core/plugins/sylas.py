"""Spot cards: who may borrow promised but unused cards, and what it costs to take them back (behaviour.md 7.4)."""

from collections.abc import Sequence

from sky_core.eviction import Pricing
from sky_core.model import Node, Pool, Task, TaskId
from sky_core.plugin import POINT, QN, TN, Context, Field, Functions, Parcel, Plugin
from sky_core.reasons import Code, Reason
from sky_core.resources import UNBOUNDED, Resources
from sky_core.room import awaited


def open_session(context: Context, _: Pricing) -> Functions:
    """Closes over the books. The price of evictions is the session's (`Context.eviction_cost`)."""
    world = context.world

    def predicate(task: Task, node: Node) -> Reason | None:
        """A spot task needs units of its pool, and room that nobody with a claim waits for."""
        if task.shape.spot is None:
            return None
        book = world.books[node.name]
        left = node.shared - book.shared if task.shape.spot is Pool.SHARED else node.exclusive - book.exclusive
        if task.shape.spot_units > left:
            name = context.settings.spot_resource
            needed, available = Resources.of({name: task.shape.spot_units}), Resources.of({name: left})
            detail = f"{task.shape.spot} pool has {max(left, 0) // 1000} left"
            return Reason(Code.SPOT_INSUFFICIENT, needed=needed, available=available, detail=detail)
        room = book.idle - awaited(world, node.name)
        lacking = task.shape.load.shortfall(room).units
        if not lacking:
            return None
        return Reason(Code.SPOT_INSUFFICIENT, needed=task.shape.load.only(lacking), available=room.only(lacking))

    def predicted(parcel: Parcel, node: Node) -> int:
        """What it would cost to make room for the parcel on this node."""
        book = world.books[node.name]
        if not (book.exclusive or book.shared):
            return 0
        return context.eviction_cost(node.name, parcel.load)

    def score(parcel: Parcel, node: Node, field: Field) -> int:
        """-100 x predicted cost, scaled to the worst candidate."""
        most = field.most(PLUGIN.name, lambda row: predicted(parcel, row))
        return -100 * POINT * predicted(parcel, node) // most if most else 0

    def scores(parcel: Parcel, nodes: Sequence[Node]) -> list[int]:
        """The same of each node on its own."""
        return [score(parcel, node, Field((node,))) for node in nodes] if context.spot() else [0] * len(nodes)

    def evictions_avoided(_task: Task, _node: Node, _field: Field) -> int:
        """A spot task evicts nobody."""
        return 0

    return Functions(
        qn=QN(order=score, orders=scores, order_holds=True),
        tn=TN(predicate=predicate, order=evictions_avoided, slots=_slots),
        reclaimable=_reclaimable,
    )


def _slots(task: Task, _: Node) -> int:
    """Who claims a quota needs no pool."""
    return UNBOUNDED if task.shape.spot is None else 0


def _reclaimable(_claimant: Task | None, candidates: Sequence[Task]) -> frozenset[TaskId]:
    """Spot tasks, and nobody else."""
    return frozenset(task.id for task in candidates if task.shape.spot is not None)


PLUGIN = Plugin(name="sylas", open=open_session, arguments=Pricing)
