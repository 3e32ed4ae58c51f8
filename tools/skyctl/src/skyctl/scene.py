"""What a finished simulation looks like, as values: zones of machines, whose cards are whose, jobs.

Both the table and the page draw this. Cards are told apart by letters and signs, so that no colour is needed.
"""

from enum import Enum
from itertools import groupby
from typing import Final, NamedTuple

_APART_MAX: Final = 40


class Use(Enum):
    """What a card is used for: its sign, and what that means. A job's cards have the job's letter instead."""

    JOB = ("a", "of job a")
    FOREIGN = ("#", "used by others")
    SPOT = ("~", "used by spot")
    PROMISED = ("=", "promised, unused")
    IDLE = (".", "idle")

    def __init__(self, sign: str, meaning: str) -> None:
        """A row of the table above."""
        self.sign = sign
        self.meaning = meaning


class Card(NamedTuple):
    """One card: what it is used for, its sign or its job's letter, the pod that has it."""

    use: Use
    sign: str
    pod: str = ""


class Machine(NamedTuple):
    """A node. `pods` are those on it, by name; `notes` say what no card shows."""

    name: str
    spec: str
    cards: tuple[Card, ...]
    pods: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def picture(self) -> str:
        """Its cards, a sign each."""
        return "".join(card.sign for card in self.cards)


class Zone(NamedTuple):
    """The machines of a zone, in index order. `key` is None for those without one, which have no letter either."""

    letter: str
    key: str | None
    machines: tuple[Machine, ...]

    @property
    def title(self) -> str:
        """For people."""
        return "no zone" if self.key is None else f"zone {self.letter}  {self.key}"

    def count(self, use: Use | None = None) -> int:
        """How many of its cards are used so; how many it has."""
        return sum(use in (None, card.use) for machine in self.machines for card in machine.cards)


class Reason(NamedTuple):
    """Why a job waits: for programs, and for people."""

    code: str
    message: str


class Job(NamedTuple):
    """A job. `letter` stands for its cards, and is empty where it has none. `zones` are letters."""

    letter: str
    name: str
    phase: str
    rung: str
    zones: tuple[str, ...]
    placed: int
    pods: int
    reasons: tuple[Reason, ...]


class Quota(NamedTuple):
    """A quota: its node, what is claimed of it, by which pods, and for which it keeps room."""

    name: str
    node: str
    allocated: str
    tasks: tuple[str, ...]
    reserved: tuple[str, ...]


class Chapter(NamedTuple):
    """What came of a cycle: its number, its time, and a sentence for each thing."""

    cycle: int
    at: str
    sentences: tuple[str, ...]


class Scene(NamedTuple):
    """Where everything ended up after so many cycles.

    `story` is how it came about; of it `setbacks` are evictions and refused bindings. `faults` are what is wrong with
    the input.
    """

    cycles: int
    zones: tuple[Zone, ...]
    jobs: tuple[Job, ...]
    quotas: tuple[Quota, ...]
    story: tuple[Chapter, ...]
    setbacks: tuple[str, ...]
    faults: tuple[str, ...]

    @property
    def summary(self) -> str:
        """It all in one sentence."""
        placed, pods = sum(job.placed for job in self.jobs), sum(job.pods for job in self.jobs)
        waiting = sum(bool(job.reasons) for job in self.jobs)
        after = f"after {self.cycles} cycle{'s' * (self.cycles != 1)}"
        waits = f"{waiting} of {len(self.jobs)} jobs waiting" if waiting else "no job waiting"
        return f"{placed} of {pods} pods placed {after}, {waits}"

    def rows(self, zone: Zone) -> list[list[Machine]]:
        """The machines of a zone, a row each; where there are many, those share one that look alike and are empty."""
        if sum(len(zone.machines) for zone in self.zones) <= _APART_MAX:
            return [[machine] for machine in zone.machines]
        looks = groupby(zone.machines, lambda machine: machine.name if machine.pods else machine._replace(name=""))
        return [list(alike) for _, alike in looks]

    @property
    def uses(self) -> list[Use]:
        """The uses of cards that occur, in the order of `Use`."""
        found = {card.use for zone in self.zones for machine in zone.machines for card in machine.cards}
        return [use for use in Use if use in found]

    @property
    def mixed(self) -> bool:
        """Whether there is more than one kind of card."""
        return len({machine.spec for zone in self.zones for machine in zone.machines if machine.cards}) > 1
