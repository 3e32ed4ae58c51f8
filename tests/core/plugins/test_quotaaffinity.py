from typing import Any

import pytest

from sky_core.constraints import PreferredQuota, QuotaAffinity, QuotaTerm
from sky_core.model import Instant, NodeName, Quota, QuotaName
from sky_core.plugin import Field, Functions
from sky_core.plugins.quotaaffinity import PLUGIN
from sky_core.reasons import Code
from sky_core.selectors import Selector, equals
from sky_core.statement import Statement
from sky_core.testing.rows import context, node, parcel, quota, task, world
from sky_core.world import World

NODES = (node("n0", zone="a"), node("n1", zone="a"), node("n2", zone="b"), node("n3"))
"""n3 is in no zone."""
ALL, NONE = "n0 n1 n2 n3", ""


def opened(w: World) -> Functions:
    return PLUGIN.open(context(w), None)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [(None, None), (equals({"tier": "gold"}), None), (equals({"tier": "tin"}), Code.POD_QUOTA_AFFINITY_NOT_MATCH)],
)
def test_a_pod_may_choose_its_quota_by_label(wanted: Selector | None, expected: Code | None) -> None:
    ask = opened(world()).tq.predicate
    assert ask is not None
    refusal = ask(task("p", quota_affinity=wanted), quota("q", labels={"tier": "gold"}))
    assert (None if refusal is None else refusal.code) == expected


@pytest.mark.parametrize(
    ("wanted", "points"), [(None, 0), (equals({"tier": "gold"}), 100_000), (equals({"tier": "tin"}), 0)]
)
def test_a_preferred_quota_gets_all_points(wanted: Selector | None, points: int) -> None:
    order = opened(world()).tq.order
    assert order is not None
    assert order(task("p", preferred_quota_affinity=wanted), quota("q", labels={"tier": "gold"})) == points


def term(group: str, *, zone: bool = False) -> QuotaTerm:
    return QuotaTerm(equals({"g": group}), zone)


def made(name: str, group: str = "", where: str | None = None, **affinity: Any) -> Quota:
    labels = {"g": group} if group else {}
    return quota(name, 1, labels=labels, node=where, quota_affinity=QuotaAffinity(**affinity))


def takers(w: World) -> str:
    functions, asked = opened(w), parcel(w, "q")
    assert functions.qn.pre_predicate
    assert functions.qn.predicate
    if functions.qn.pre_predicate(asked) is not None:
        return NONE
    return " ".join(str(n.name) for n in w.nodes.values() if functions.qn.predicate(asked, n) is None)


CASES: dict[str, tuple[Quota, list[Quota], str]] = {
    "nothing asked": (made("q"), [made("x", "x", "n0")], ALL),
    "with one on its node": (made("q", required=(term("x"),)), [made("x", "x", "n0")], "n0"),
    "with one in its zone": (made("q", required=(term("x", zone=True),)), [made("x", "x", "n0")], "n0 n1"),
    "with one that is in no zone": (made("q", required=(term("x", zone=True),)), [made("x", "x", "n3")], NONE),
    "with one that is on no node": (made("q", required=(term("x"),)), [made("x", "x")], NONE),
    "with two that are apart": (
        made("q", required=(term("x"), term("y"))),
        [made("x", "x", "n0"), made("y", "y", "n1")],
        NONE,
    ),
    "with one on its node and another in its zone": (
        made("q", required=(term("x"), term("y", zone=True))),
        [made("x", "x", "n0"), made("y", "y", "n1")],
        "n0",
    ),
    "the first of its own kind": (made("q", "x", required=(term("x"),)), [], ALL),
    "the first of its own kind needs a zone": (made("q", "x", required=(term("x", zone=True),)), [], "n0 n1 n2"),
    "the second of its own kind": (made("q", "x", required=(term("x"),)), [made("x", "x", "n2")], "n2"),
    "not with one on its node": (made("q", anti_required=(term("x"),)), [made("x", "x", "n0")], "n1 n2 n3"),
    "not with one in its zone": (made("q", anti_required=(term("x", zone=True),)), [made("x", "x", "n0")], "n2 n3"),
    "not with its own kind": (made("q", "x", anti_required=(term("x"),)), [made("x", "x", "n0")], "n1 n2 n3"),
    "not with one that is on no node": (made("q", anti_required=(term("x"),)), [made("x", "x")], ALL),
    "one there keeps it away": (made("q", "x"), [made("y", "y", "n0", anti_required=(term("x", zone=True),))], "n2 n3"),
    "one there keeps others away": (made("q", "z"), [made("y", "y", "n0", anti_required=(term("x"),))], ALL),
    "one on no node keeps nobody away": (made("q", "x"), [made("y", "y", anti_required=(term("x"),))], ALL),
}


@pytest.mark.parametrize(("asker", "others", "expected"), CASES.values(), ids=CASES)
def test_quotas_are_together_and_apart(asker: Quota, others: list[Quota], expected: str) -> None:
    assert takers(world(*NODES, asker, *others)) == expected


def test_a_quota_that_the_trial_has_placed_is_not_its_own_neighbour() -> None:
    apart = made("q", "x", "n0", anti_required=(term("x", zone=True), term("x")))
    assert takers(world(*NODES, apart)) == ALL
    assert takers(world(*NODES, apart, made("y", "x", "n0"))) == "n2 n3"
    first = made("q", "x", "n0", required=(term("x"),))
    assert takers(world(*NODES, first)) == ALL
    assert takers(world(*NODES, first, made("y", "x", "n1"))) == "n1"


def test_two_that_need_each_other_pass_once_a_trial_has_placed_both() -> None:
    asker, other = made("q", "x", required=(term("y"),)), made("y", "y", required=(term("x"),))
    w = world(*NODES, asker, other)
    functions = opened(w)
    assert functions.qn.pre_predicate
    assert functions.qn.predicate
    with Statement(w, Instant(0)) as trial:
        for name in ("q", "y"):
            refusal = functions.qn.pre_predicate(parcel(w, name))
            assert refusal is not None
            assert "waits" in refusal.detail
        trial.bind_quota(QuotaName("q"), NodeName("n1"))
        trial.bind_quota(QuotaName("y"), NodeName("n1"))
        for name in ("q", "y"):
            assert functions.qn.pre_predicate(parcel(w, name)) is None
            assert functions.qn.predicate(parcel(w, name), w.nodes[NodeName("n1")]) is None
    assert functions.qn.pre_predicate(parcel(w, "q")) is not None


WHY: dict[str, tuple[list[Quota], str]] = {
    "nobody there": ([], "no quota with g=x is on a node"),
    "a circle": ([made("x", "x", required=(term("q"),))], "each waits for the next: q → x → q"),
    "with and not with": ([made("x", "x", anti_required=(term("q"),))], "it must be with x, and must not"),
}


@pytest.mark.parametrize(("others", "detail"), WHY.values(), ids=WHY)
def test_an_unplaced_target_is_explained_once_for_all_nodes(others: list[Quota], detail: str) -> None:
    w = world(*NODES, made("q", "q", required=(term("x"),)), *others)
    ask = opened(w).qn.pre_predicate
    assert ask is not None
    refusal = ask(parcel(w, "q"))
    assert refusal is not None
    assert (refusal.code, refusal.detail) == (Code.QUOTA_AFFINITY_NOT_MATCH, detail)


def test_preferences_weigh_every_quota_that_matches() -> None:
    likes, hates = PreferredQuota(10, term("x", zone=True)), PreferredQuota(20, term("x"))
    w = world(
        *NODES, made("q", preferred=(likes,), anti_preferred=(hates,)), made("x-0", "x", "n0"), made("x-1", "x", "n2")
    )
    score = opened(w).qn.batch_order
    assert score is not None
    field, asked = Field(tuple(w.nodes.values())), parcel(w, "q")
    assert [score(asked, n, field) for n in field.nodes] == [0, 100_000, 0, 50_000]
    assert [score(parcel(w, "x-0"), n, field) for n in field.nodes] == [0, 0, 0, 0]
