"""Required affinity among quotas that no order of placing can meet, for people to see why nothing moves."""

from collections.abc import Iterable, Iterator, Sequence

from sky_core.constraints import QuotaTerm
from sky_core.model import Quota, QuotaName


def cycle(quota: Quota, quotas: Iterable[Quota]) -> tuple[QuotaName, ...]:
    """The quotas that wait for each other, in order, the first again at the end; empty if this one waits for no circle.

    A waits for B if a required term of A matches no placed quota, nor A itself, but B. Where a term matches several,
    one that can be placed will do. The circle need not contain the quota: it may only lead there.
    """
    rows = sorted(quotas, key=lambda row: row.order)
    waits: dict[QuotaName, tuple[tuple[QuotaName, ...], ...]] = {}
    reached = [quota]
    for row in reached:  # grows while it is read
        if row.name not in waits:
            needs = tuple(_targets(term, row, rows) for term in _unmet(row, rows))
            waits[row.name] = tuple(tuple(target.name for target in targets) for targets in needs)
            reached.extend(target for targets in needs for target in targets)
    stuck = set(waits)
    while free := {name for name in stuck if all(any(t not in stuck for t in targets) for targets in waits[name])}:
        stuck -= free
    path: dict[QuotaName, None] = {}
    at = quota.name if quota.name in stuck else None
    while at is not None and at not in path:
        path[at] = None
        needs_of = next(targets for targets in waits[at] if all(t in stuck for t in targets))
        at = next(iter(needs_of), None)
    names = list(path)
    return () if at is None else (*names[names.index(at) :], at)


def conflict(quota: Quota, quotas: Iterable[Quota]) -> QuotaName | None:
    """A quota that this one must be with and that must not be with it, where a required term has none but such."""
    rows = sorted(quotas, key=lambda row: row.order)
    for term in quota.spec.quota_affinity.required:
        targets = [row for row in rows if row.name != quota.name and term.selector.matches(row.spec.labels)]
        if targets and all(_apart(term, quota, target) for target in targets):
            return targets[0].name
    return None


def _unmet(quota: Quota, quotas: Sequence[Quota]) -> Iterator[QuotaTerm]:
    """The required terms that nobody placed meets, nor the quota itself."""
    for term in quota.spec.quota_affinity.required:
        placed = any(row.node is not None and term.selector.matches(row.spec.labels) for row in quotas)
        if not placed and not term.selector.matches(quota.spec.labels):
            yield term


def _targets(term: QuotaTerm, quota: Quota, quotas: Sequence[Quota]) -> list[Quota]:
    return [row for row in quotas if row.name != quota.name and term.selector.matches(row.spec.labels)]


def _apart(term: QuotaTerm, quota: Quota, target: Quota) -> bool:
    """Whether one of the two keeps the other out of the place that the term wants both in.

    One node is also one zone; one zone is not one node.
    """
    return any(
        (anti.zone or not term.zone) and anti.selector.matches(other.spec.labels)
        for one, other in ((quota, target), (target, quota))
        for anti in one.spec.quota_affinity.anti_required
    )
