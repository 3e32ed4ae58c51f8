import msgspec
import pytest

from sky_core.plugin import Field
from sky_core.plugins.binpack import PLUGIN, Arguments, fullness
from sky_core.resources import NOTHING, Resources, parse_resources
from sky_core.testing.rows import GPU, context, gpus, node, parcel, quota, spot_task, task, world

DEFAULT = Arguments().resources
WHOLE = parse_resources({GPU: 8, "cpu": 64, "memory": "1Ti"})


def of(cards: int = 0, cpu: int = 0, **more: int) -> Resources:
    return parse_resources({GPU: cards, "cpu": cpu, **more})


CASES: dict[str, tuple[Resources, Resources, dict[str, int], int]] = {
    "an empty node": (of(2), of(), DEFAULT, 25_000),
    "a half full node": (of(2), of(4), DEFAULT, 75_000),
    "filled to the last card": (of(4), of(4), DEFAULT, 100_000),
    "what is not requested does not count": (of(2), of(0, 64), DEFAULT, 25_000),
    "cards weigh five times as much as cpu": (of(8, 32), of(), DEFAULT, (5 * 100_000 + 50_000) // 6),
    "rounded down": (of(1), of(), {GPU: 3, "cpu": 1}, 12_500),
    "thirds are rounded down once": (of(1, 1), of(), {GPU: 1, "cpu": 1}, (12_500 + 1_562) // 2),
    "what is not weighted does not count": (parse_resources({"rdma/hca": 1}), of(), DEFAULT, 0),
    "a weight of 0 is none": (of(2, 32), of(), {GPU: 1, "cpu": 0}, 25_000),
    "what would not fit": (of(5), of(4), DEFAULT, 0),
    "what the node lacks": (parse_resources({GPU: 1, "x.io/y": 1}), of(), {GPU: 1, "x.io/y": 1}, 0),
    "nothing asked": (NOTHING, of(4), DEFAULT, 0),
}


@pytest.mark.parametrize(("asked", "taken", "weights", "points"), CASES.values(), ids=CASES)
def test_the_score_is_how_full_the_node_would_be(
    asked: Resources, taken: Resources, weights: dict[str, int], points: int
) -> None:
    assert fullness(weights, asked, taken, WHOLE) == points


def test_quotas_are_packed_by_promises_and_tasks_by_use() -> None:
    n0 = node("n0")
    w = world(n0, quota("q", 2), quota("r", 4, node="n0"), spot_task("s", 1, node="n0"), task("p", request=gpus(1)))
    functions = PLUGIN.open(context(w), Arguments())
    field = Field((n0.node,))
    assert functions.qn.order
    assert functions.tn.order
    assert functions.qn.order(parcel(w, "q"), n0.node, field) == 75_000
    assert functions.tn.order(task("p"), n0.node, field) == 25_000
    assert functions.tn.order(spot_task("t", 1), n0.node, field) == 25_000


@pytest.mark.parametrize("resources", [{GPU: -1}, {GPU: 1.5}, {GPU: "5"}, {GPU: 10**9}])
def test_weights_are_small_whole_numbers(resources: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"resources": resources}, Arguments)
