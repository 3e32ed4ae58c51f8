"""What columns say of nodes, against what each node says when it is asked."""

from msgspec.structs import replace

from sky_core.columns import EVERYWHERE, Columns
from sky_core.cycle import default_policy
from sky_core.expressions.combination import compile_expression
from sky_core.expressions.operators import Kind
from sky_core.expressions.syntax import parse
from sky_core.model import NodeName
from sky_core.pairs import Pairs
from sky_core.policy import Points
from sky_core.resources import MAX, NOTHING, Resources
from sky_core.testing import rows
from sky_core.world import World


def agree(world: World, name: str) -> list[int]:
    """The slots of each node, by columns of many, by columns of one, and by asking it."""
    parcel = rows.parcel(world, name)
    columns = Columns(world, lambda _: NOTHING)
    pairs = Pairs(world, Points(default_policy()), lambda _: NOTHING)
    slots: list[int] = columns.slots(parcel, EVERYWHERE).tolist()
    assert slots == [columns.slots_at(parcel, at) for at in range(len(columns.names))]
    assert slots == [pairs.room(parcel, node) for node in columns.names]
    return slots


def test_a_node_that_lacks_what_it_has_promised_takes_nobody() -> None:
    big, small = rows.quota("big", cards=8, node="n0"), rows.quota("q", cards=1)
    assert agree(rows.world(rows.node("n0", cards=1), rows.node("n1"), big, small), "q") == [0, 8]


def test_amounts_beyond_64_bits_fit_nowhere() -> None:
    world = rows.world(rows.node("n0"), rows.quota("q"))
    spec = world.quotas[next(iter(world.quotas))].spec
    for amount, slots in ((MAX, 0), (MAX + 1, 0), (1 << 80, 0)):
        huge = replace(spec, request=Resources({"nvidia.com/gpu": amount}))
        world.quotas = {name: replace(row, spec=huge) for name, row in world.quotas.items()}
        assert agree(world, "q") == [slots]


def test_a_request_for_nothing_is_bounded_by_the_number_of_pods() -> None:
    world = rows.world(rows.node("n0", pods_max=3), rows.quota("q", cards=0))
    assert agree(world, "q") == [3]


def test_a_node_that_moves_to_another_zone_is_not_taken_for_the_old_one() -> None:
    world = rows.world(rows.node("n0", zone="a"), rows.node("n1", zone="a"))
    columns = Columns(world, lambda _: NOTHING)
    assert columns.open(lambda _: NOTHING)
    name = NodeName("n0")
    world.nodes[name] = replace(world.nodes[name], zone="b")
    world.touch(name)
    assert not columns.open(lambda _: NOTHING)


def test_only_sums_of_modest_weights_are_asked_for_in_columns() -> None:
    names = ("a", "b")
    for text, additive in (
        ("sum(weight(a, 100), b)", True),
        ("a", True),
        ("max(a, b)", False),
        ("sum(a, min(b))", False),
        ("weight(a, 9999999999)", False),
    ):
        made = compile_expression(parse(text), Kind.NUMBER, "qn.order", names, strict=True)
        assert made.additive is additive, text
