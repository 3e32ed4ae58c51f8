"""Why hop 2 does not place a job, and how to find out (behaviour.md 5.2, 6)."""

from collections import defaultdict

import msgspec

from sky_core.memory import QuotaShape
from sky_core.plugin import Area, Parcel
from sky_core.reasons import Code, Finding, Reason
from sky_core.session import Session
from sky_core.survey import ANYWHERE
from sky_core.tally import Tally, in_order

Findings = tuple[Finding, ...]


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """Why a job is not placed: what is known already, or the quota that found no node in its area.

    To be explained, at the price of asking every node, before its trial is undone. `placed` tasks had been. `zones`:
    what is known is what zones say to a group of which nobody has a place.
    """

    findings: Findings = ()
    zones: bool = False
    parcel: Parcel | None = None
    area: Area = ANYWHERE
    placed: int = 0


def explain(session: Session, refusal: Refusal) -> Findings:
    """Put a refusal into findings; a quota shape that found no node is remembered as refused."""
    if refusal.parcel is None:
        return refusal.findings
    found = refusals(session, refusal.parcel, refusal.area, placed=refusal.placed)
    codes = {finding.code for finding in refusal.findings}
    return (*(finding for finding in found if finding.code not in codes), *refusal.findings)


def speaks_to_all(session: Session, refusal: Refusal) -> bool:
    """Whether zones or nodes refuse, and say nothing but what they would to all jobs that are alike."""
    if refusal.parcel is None or refusal.findings:
        return refusal.zones
    return not session.points["qn.prePredicate"](refusal.parcel)


def refusals(session: Session, parcel: Parcel, area: Area, *, placed: int = 0) -> Findings:
    """What all nodes say to a parcel that has none."""
    session.standing(parcel.job.id).refused.add(QuotaShape(parcel.quota.spec.request, parcel.quota.spec.selector))
    if refused := session.points["qn.prePredicate"](parcel):
        tally = Tally()
        tally.add(parcel.quota.name, refused)
        return tally.findings()
    found = session.survey.told(parcel, area, lambda: _told(session, parcel, area))
    if not found:
        return (Finding(Code.INSUFFICIENT_QUOTA_IDLE, 0, needed=parcel.footprint),)
    return in_order((*found, Finding(Code.GANG_NOT_READY, placed))) if placed else found


def _told(session: Session, parcel: Parcel, area: Area) -> Findings:
    survey, nodes = session.survey, session.world.nodes
    names, said = survey.nodes(ANYWHERE), survey.answers(parcel)
    takers = [at for reasons, places in said if not reasons for at in places]
    if takers and area != ANYWHERE:
        inside, elsewhere = set(survey.nodes(area)), defaultdict[str, list[int]](list)
        for at in takers:
            if names[at] not in inside:
                elsewhere[nodes[names[at]].spec].append(at)
        for spec, places in elsewhere.items():
            detail = f"card {spec or 'unknown'}, the gang has {area.spec}"
            said.append(((Reason(Code.SPEC_MISMATCH, detail=detail),), places))
    tally = Tally()
    tally.add_all(names, said)
    return tally.findings()
