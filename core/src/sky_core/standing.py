"""Where a job stands within one cycle."""

from msgspec.structs import replace

from sky_core.memory import QuotaShape
from sky_core.model import Instant, TaskId
from sky_core.plugin import Area
from sky_core.reasons import Code, Finding, Reason, Rung, Verdict
from sky_core.tally import Tally
from sky_core.topology import Layout


class Standing:
    """One job's way up the ladder in this cycle.

    `going`: it takes part and has not been refused. `area`: where hop 1 has confined its cards. `layout`: the seats
    that the zone algorithm gave its quotas. `refused`: quota shapes that found no node. `waits_for_zone`: its patience
    for a single zone has not ended. `short_of_room`: nothing but room on its nodes kept it from being bound;
    `waits_for_room`: that room is being made by the eviction of `victims`, and waited for at most to `room_until`.
    `turned_away`: its members that a node refused for something else. `not_let_in`: why it does not even take part.
    `alike`: who is alike is told the same while nothing changes, but for names: its own in `not_let_in`, and those of
    its `quotaless` members, given by their places among its tasks.
    """

    __slots__ = (
        "alike",
        "area",
        "findings",
        "going",
        "layout",
        "not_let_in",
        "quotaless",
        "refused",
        "room_until",
        "rung",
        "short_of_room",
        "turned_away",
        "victims",
        "waits_for_room",
        "waits_for_zone",
    )

    def __init__(self) -> None:
        """Nothing asked yet."""
        self.rung = Rung.DONE
        self.findings: tuple[Finding, ...] = ()
        self.going = False
        self.area = Area()
        self.layout: Layout | None = None
        self.refused: set[QuotaShape] = set()
        self.waits_for_zone = False
        self.short_of_room = False
        self.waits_for_room = False
        self.room_until: Instant | None = None
        self.victims: frozenset[TaskId] = frozenset()
        self.turned_away: tuple[TaskId, ...] = ()
        self.not_let_in: tuple[Reason, ...] = ()
        self.quotaless: tuple[int, ...] = ()
        self.alike = False

    def refuse(self, rung: Rung, findings: tuple[Finding, ...]) -> None:
        """The job, or an extra of it, got no further than this rung."""
        self.rung = rung
        self.findings = findings

    def turn_back(self, name: str, reasons: tuple[Reason, ...]) -> None:
        """The job of that name does not take part."""
        tally = Tally()
        tally.add(name, reasons)
        self.refuse(Rung.ENQUEUE, tally.findings())
        self.not_let_in = reasons
        self.alike = all(reason.code is Code.BACKING_OFF for reason in reasons)

    def verdict_naming(self, names: tuple[str, ...]) -> Verdict:
        """What a job is told that is alike, and whose members that got no quota have these names."""
        found = [
            replace(finding, examples=names) if finding.code is Code.INSUFFICIENT_QUOTA else finding
            for finding in self.findings
        ]
        return Verdict(self.rung, tuple(found))

    def verdict(self) -> Verdict:
        """What to report."""
        return Verdict(self.rung, self.findings)
