"""Fill nodes that are filled already, so that whole ones stay free (behaviour.md 7.3)."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec

from sky_core.model import Node, Task
from sky_core.plugin import POINT, QN, TN, Context, Field, Functions, Parcel, Plugin
from sky_core.resources import Resources

Weight = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]


class Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`resources`: how much each resource weighs; those not named don't count."""

    resources: dict[str, Weight] = msgspec.field(default_factory=lambda: {"nvidia.com/gpu": 5, "cpu": 1, "memory": 1})


def open_session(context: Context, arguments: Arguments) -> Functions:
    """Closes over the books."""
    books, weights = context.world.books, {name: w for name, w in sorted(arguments.resources.items()) if w}

    known: dict[Resources, dict[tuple[int, ...], int]] = defaultdict(dict)

    def quotas(parcel: Parcel, node: Node, _: Field) -> int:
        return quotas_on_many(parcel, (node,))[0]

    def quotas_on_many(parcel: Parcel, nodes: Sequence[Node]) -> list[int]:
        """Nodes that are equally full score alike."""
        asked = parcel.footprint
        names, scores, found = [name for name in weights if asked[name]], [], known[asked]
        for node in nodes:
            book = books[node.name]
            taken, whole = book.promised.units, book.allocatable.units
            fill = tuple([amounts.get(name, 0) for name in names for amounts in (taken, whole)])
            if (score := found.get(fill)) is None:
                score = found[fill] = fullness(weights, asked, book.promised, book.allocatable)
            scores.append(score)
        return scores

    def pods(task: Task, node: Node, _: Field) -> int:
        book = books[node.name]
        return fullness(weights, task.shape.load, book.used, book.allocatable)

    return Functions(qn=QN(order=quotas, orders=quotas_on_many, order_holds=True), tn=TN(order=pods))


def fullness(weights: Mapping[str, int], asked: Resources, taken: Resources, whole: Resources) -> int:
    """The weighted mean of how full each requested resource would be, 0 to 100 points, exact before rounding down.

    0 where one of them would not fit, or where none is weighted.
    """
    top, bottom, total = 0, 1, 0
    for name, weight in weights.items():
        if not (need := asked[name]):
            continue
        full, have = need + taken[name], whole[name]
        if full > have:
            return 0
        top, bottom, total = top * have + weight * full * bottom, bottom * have, total + weight
    return 100 * POINT * top // (bottom * total) if total else 0


PLUGIN = Plugin(name="binpack", open=open_session, arguments=Arguments)
