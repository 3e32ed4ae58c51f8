"""What the operators do to the answers of plugins.

A combining function takes the functions of its arguments, in order, and returns one function that asks them. All of
that happens when an expression is bound; a call only calls.
"""

import enum
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import and_, or_
from typing import Any, Final, TypeAlias

Ask: TypeAlias = Callable[..., Any]
"""A function over what is asked about (positional arguments only): a plugin's own, or several combined."""

Combine: TypeAlias = Callable[[Sequence[Ask]], Ask]


class Kind(enum.Enum):
    """The type of a function point: what each plugin answers there, and what all of them together answer.

    * `VERDICT`: None is yes, anything else a refusal; together, a tuple of refusals, () for yes.
    * `NUMBER`: an integer.
    * `VALUE`: any value; None is no answer.
    * `COMPARISON`: an integer below, at (a tie) or above 0.
    * `BOOLEAN`: a bool.
    * `SET`: a set; None abstains, while an empty set is an answer; together, None when all abstained.
    """

    VERDICT = "verdict"
    NUMBER = "number"
    VALUE = "value"
    COMPARISON = "comparison"
    BOOLEAN = "boolean"
    SET = "set"


def _first(otherwise: Any) -> Combine:
    """The first answer that is true, as a refusal, a difference and a boolean yes are; nobody is asked after it."""

    def combine(parts: Sequence[Ask]) -> Ask:
        def ask(*about: Any) -> Any:
            for part in parts:
                if answer := part(*about):
                    return answer
            return otherwise

        return ask

    return combine


def _every_refusal(parts: Sequence[Ask]) -> Ask:
    def ask(*about: Any) -> tuple[Any, ...]:
        refusals: tuple[Any, ...] = ()
        for part in parts:
            refusals += part(*about)
        return refusals

    return ask


def _any_yes(parts: Sequence[Ask]) -> Ask:
    def ask(*about: Any) -> tuple[Any, ...]:
        refusals: tuple[Any, ...] = ()
        for part in parts:
            answer = part(*about)
            if not answer:
                return ()
            refusals += answer
        return refusals

    return ask


def _total(parts: Sequence[Ask]) -> Ask:
    # A loop, because scores are asked for each node: sum() over a list takes half as long again.
    def ask(*about: Any) -> int:
        total = 0
        for part in parts:
            total += part(*about)
        return total

    return ask


def _extreme(choose: Callable[[list[int]], int]) -> Combine:
    return lambda parts: lambda *about: choose([part(*about) for part in parts])


def _first_value(parts: Sequence[Ask]) -> Ask:
    return lambda *about: next((answer for part in parts if (answer := part(*about)) is not None), None)


def _every_yes(parts: Sequence[Ask]) -> Ask:
    return lambda *about: all(part(*about) for part in parts)


def _merged(merge: Callable[[Any, Any], Any]) -> Combine:
    """Merge the sets of those who do not abstain."""

    def combine(parts: Sequence[Ask]) -> Ask:
        def ask(*about: Any) -> Any:
            answers = [answer for part in parts if (answer := part(*about)) is not None]
            return reduce(merge, answers) if answers else None

        return ask

    return combine


def _weighted(part: Ask, thousandths: int) -> Ask:
    return lambda *about: part(*about) * thousandths // 1000


OPERATORS: Final[Mapping[Kind, Mapping[str, Callable[..., Ask]]]] = {
    Kind.VERDICT: {"and": _first(()), "or": _any_yes, "joint": _every_refusal, "firstNotPass": _first(())},
    Kind.NUMBER: {"sum": _total, "min": _extreme(min), "max": _extreme(max), "weight": _weighted},
    Kind.VALUE: {"or": _first_value},
    Kind.COMPARISON: {"first": _first(0)},
    Kind.BOOLEAN: {"and": _every_yes, "or": _first(False)},
    Kind.SET: {"intersect": _merged(and_), "union": _merged(or_)},
}
"""What may stand at a point of each type: a `Combine`, but for `weight`, which takes one function and thousandths."""

DEFAULT_OPERATOR: Final[Mapping[Kind, str]] = {
    Kind.VERDICT: "joint",
    Kind.NUMBER: "sum",
    Kind.VALUE: "or",
    Kind.COMPARISON: "first",
    Kind.BOOLEAN: "and",
    Kind.SET: "intersect",
}

NEUTRAL: Final[Mapping[Kind, Any]] = {
    Kind.VERDICT: (),
    Kind.NUMBER: 0,
    Kind.VALUE: None,
    Kind.COMPARISON: 0,
    Kind.BOOLEAN: True,
    Kind.SET: frozenset(),
}
"""The answer where there is nobody to ask: yes, 0, no value, a tie, no victims."""
