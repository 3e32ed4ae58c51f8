"""Reasons counted while deciding, so that the verdict is the evaluation itself."""

from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Final

from msgspec.structs import replace

from sky_core.reasons import Code, Finding, Reason
from sky_core.resources import NOTHING, Resources

EXAMPLES: Final = 3
"""How many objects a finding names."""

_SHORT: Final = frozenset({Code.INSUFFICIENT_QUOTA_IDLE, Code.INSUFFICIENT_IDLE})
_ORDER: Final = {code: i for i, code in enumerate(Code)}


class Tally:
    """Findings by code, in the making. Objects are added in a defined order; the first few are named."""

    def __init__(self) -> None:
        """Nothing counted."""
        self._findings: dict[Code, Finding] = {}
        self._short_only = 0
        self._never: Finding | None = None

    def __bool__(self) -> bool:
        """Whether anything refused."""
        return bool(self._findings)

    def add(self, name: str, reasons: Iterable[Reason]) -> None:
        """One object's refusals. Each code counts the object once."""
        reasons = tuple(reasons)
        if reasons and all(reason.code in _SHORT for reason in reasons):
            self._short_only += 1
            never = next((reason.never for reason in reasons if reason.never is not None), None)
            if never is not None:
                self._never = _counted(self._never, name, never)
        for code in dict.fromkeys(reason.code for reason in reasons):
            self._count(name, next(reason for reason in reasons if reason.code is code))

    def add_all(self, names: Sequence[str], said: Sequence[tuple[tuple[Reason, ...], Sequence[int]]]) -> None:
        """Many objects: what some of them say, each with their places among the names, ascending.

        Of those that say the same only the first few are examples; all others are counted.
        """
        heads = []
        for reasons, places in said:
            heads += [(at, reasons) for at in places[:EXAMPLES] if reasons]
        for at, reasons in sorted(heads, key=itemgetter(0)):
            self.add(names[at], reasons)
        for reasons, places in said:
            if reasons and len(places) > EXAMPLES:
                self._count_more(len(places) - EXAMPLES, reasons)

    def finding(self, finding: Finding) -> None:
        """A finding made elsewhere; it takes the place of one with its code."""
        self._findings[finding.code] = finding

    def findings(self) -> tuple[Finding, ...]:
        """What was counted, in the order of the vocabulary.

        Where no node that passes the rest could hold it even when empty, NeverFits stands for the Insufficient codes.
        """
        found = self._findings
        if self._never is not None and self._never.count == self._short_only:
            found = {code: finding for code, finding in found.items() if code not in _SHORT}
            found[Code.NEVER_FITS] = self._never
        return in_order(found.values())

    def _count(self, name: str, reason: Reason) -> None:
        self._findings[reason.code] = _counted(self._findings.get(reason.code), name, reason)

    def _count_more(self, count: int, reasons: Sequence[Reason]) -> None:
        if all(reason.code in _SHORT for reason in reasons):
            self._short_only += count
            if self._never is not None and any(reason.never is not None for reason in reasons):
                self._never = replace(self._never, count=self._never.count + count)
        for code in dict.fromkeys(reason.code for reason in reasons):
            old = self._findings[code]
            self._findings[code] = replace(old, count=old.count + count)


def _counted(old: Finding | None, name: str, reason: Reason) -> Finding:
    if old is None:
        return Finding(reason.code, 1, reason.needed, reason.available, (_example(name, reason),))
    examples = old.examples if len(old.examples) >= EXAMPLES else (*old.examples, _example(name, reason))
    available = _most(old.available, reason.available)
    return Finding(reason.code, old.count + 1, old.needed, available, examples)


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """In the order of the vocabulary."""
    return tuple(sorted(findings, key=lambda finding: _ORDER[finding.code]))


def _most(one: Resources, other: Resources) -> Resources:
    """What the best of the refusing objects has of each resource that it is refused for."""
    if one == other:
        return one
    mine = one.units
    return Resources({**mine, **{name: max(mine.get(name, held), held) for name, held in other.units.items()}})


def _example(name: str, reason: Reason) -> str:
    if reason.detail:
        return f"{name}: {reason.detail}"
    if reason.needed and reason.needed is not NOTHING:
        return f"{name}: {reason.available or 'nothing'} of {reason.needed}"
    return name
