from collections.abc import Mapping

import pytest

from sky_core.affinity_cycles import conflict, cycle
from sky_core.constraints import QuotaAffinity, QuotaTerm
from sky_core.model import Quota
from sky_core.selectors import Operator, Requirement, Selector, equals
from sky_core.testing.rows import quota

ANY = "*"


def term(who: str, *, zone: bool = False) -> QuotaTerm:
    """`a`: quota a; `a|b`: either; `*`: any."""
    selector = Selector() if who == ANY else Selector((Requirement("name", Operator.IN, tuple(who.split("|"))),))
    return QuotaTerm(selector, zone)


def quotas(needs: Mapping[str, str], placed: str = "") -> dict[str, Quota]:
    """`{"a": "b c"}`: a must be with b and with c."""
    return {
        name: quota(
            name,
            labels={"name": name},
            node="n0" if name in placed.split() else None,
            quota_affinity=QuotaAffinity(required=tuple(term(who) for who in whom.split())),
        )
        for name, whom in needs.items()
    }


CASES: dict[str, tuple[dict[str, str], str, str]] = {
    "nobody needed": ({"a": ""}, "", ""),
    "a free target": ({"a": "b", "b": ""}, "", ""),
    "no target at all": ({"a": "z"}, "", ""),
    "a placed target": ({"a": "b", "b": "a"}, "b", ""),
    "two that wait for each other": ({"a": "b", "b": "a"}, "", "a b a"),
    "three in a circle": ({"a": "b", "b": "c", "c": "a"}, "", "a b c a"),
    "one that leads to a circle": ({"a": "b", "b": "c", "c": "b"}, "", "b c b"),
    "one of two terms is in a circle": ({"a": "c b", "b": "a", "c": ""}, "", "a b a"),
    "one of two targets is not in the circle": ({"a": "b|c", "b": "a", "c": ""}, "", ""),
    "both targets are": ({"a": "b|c", "b": "a", "c": "a"}, "", "a b a"),
    "one that needs its own kind": ({"a": "a|b", "b": "a"}, "", ""),
    "a circle elsewhere": ({"a": "b", "b": "", "c": "d", "d": "c"}, "", ""),
    "a circle that waits for nobody's return": ({"a": "b", "b": "z"}, "", ""),
}


@pytest.mark.parametrize(("needs", "placed", "expected"), CASES.values(), ids=CASES)
def test_a_circle_of_waiting_quotas_is_named(needs: dict[str, str], placed: str, expected: str) -> None:
    rows = quotas(needs, placed)
    assert " ".join(cycle(rows["a"], rows.values())) == expected
    assert " ".join(cycle(rows["a"], reversed(rows.values()))) == expected


def pair(want: QuotaTerm, anti: QuotaTerm, *, own: bool) -> tuple[Quota, Quota]:
    apart = QuotaAffinity(required=(want,), anti_required=(anti,) if own else ())
    other = QuotaAffinity(anti_required=() if own else (anti,))
    a = quota("a", labels={"name": "a"}, quota_affinity=apart)
    return a, quota("b", labels={"name": "b"}, quota_affinity=other)


@pytest.mark.parametrize(
    ("near", "apart", "expected"),
    [("node", "node", "b"), ("node", "zone", "b"), ("zone", "zone", "b"), ("zone", "node", None)],
)
@pytest.mark.parametrize("own", [True, False])
def test_with_and_not_with_the_same_quota_is_a_conflict(near: str, apart: str, expected: str | None, own: bool) -> None:
    a, b = pair(term("b", zone=near == "zone"), term("b" if own else "a", zone=apart == "zone"), own=own)
    assert conflict(a, [a, b]) == expected


def test_a_conflict_with_one_of_two_targets_is_none() -> None:
    a, b = pair(term("b|c"), term("a"), own=False)
    assert conflict(a, [a, b]) == "b"
    assert conflict(a, [a, b, quota("c", labels={"name": "c"})]) is None


def test_without_required_affinity_there_is_no_conflict() -> None:
    keep = QuotaAffinity(anti_required=(QuotaTerm(equals({"name": "b"})),))
    a = quota("a", labels={"name": "a"}, quota_affinity=keep)
    assert conflict(a, [a, quota("b", labels={"name": "b"})]) is None
