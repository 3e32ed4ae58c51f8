"""A trace, played on a cluster in memory by the real core: a cycle whenever a job has come or gone."""

import heapq
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import msgspec

from sky_core.cycle import Outcome
from sky_core.decisions import BindTask
from sky_core.model import SECOND, Instant
from skyctl.bench.living import Living
from skyctl.bench.quality.policies import Notes
from skyctl.bench.quality.site import Site, is_ring, machines, objects
from skyctl.bench.quality.trace import Job
from skyctl.bench.timing import NOW

_TICK: Final = 60.0
"""Seconds after which a cycle is run although nothing has happened, while jobs wait: their patience may have ended."""


class Placed(msgspec.Struct, frozen=True):
    """A job where it landed: on these nodes, by position, in the order of its ranks, after so many seconds.

    `fewest`: on how many leaves it could have been by what was free when it was placed.
    """

    job: Job
    waited: float
    nodes: tuple[int, ...]
    fewest: int


class Moment(msgspec.Struct, frozen=True):
    """What was free after a cycle: cards, whole nodes, and whole nodes of the leaf that had most."""

    cards: float
    whole: int
    largest: int


class Played(msgspec.Struct, frozen=True):
    """What came of a trace, but for the first fifth of its jobs, which find the cluster empty and fill it.

    `moments` are of the cycles while jobs came.
    """

    placed: Sequence[Placed]
    moments: Sequence[Moment]
    unplaced: int


def play(jobs: Sequence[Job], site: Site, notes: Notes, say: Callable[[int], None] = lambda _done: None) -> Played:
    """Let these jobs, in order of time, come, run and go. `say` is told how many have come."""
    player, filling = _Player(site, notes), len(jobs) // 5
    full = 0
    for at, job in enumerate(jobs):
        player.run_until(job.at)
        player.enter(f"job-{at}", job)
        say(at + 1)
        full = len(player.moments) if at < filling else full
    coming = len(player.moments)
    player.run_out()
    counted = [each for each in player.placed if each.job.at >= jobs[filling].at]
    return Played(counted, player.moments[full:coming], len(player.waiting))


class _Seat(NamedTuple):
    """Where a task landed."""

    rank: int
    node: int
    quota: str


class _Player:
    def __init__(self, site: Site, notes: Notes) -> None:
        self.placed: list[Placed] = []
        self.moments: list[Moment] = []
        self.waiting: dict[str, Job] = {}
        self._site = site
        self._notes = notes
        self._living = Living(site.objects())
        self._free = [8.0] * site.nodes
        self._now = 0.0
        self._ends: list[tuple[float, str]] = []
        self._running: dict[str, tuple[Job, list[_Seat]]] = {}

    def run_until(self, time: float) -> None:
        """Everything that happens before that time."""
        while (next_ := self._next()) is not None and next_ <= time:
            self._step(next_)
        self._now = time

    def run_out(self) -> None:
        """Until everybody has gone, or waits for ever."""
        while (next_ := self._next()) is not None and self._ends:
            self._step(next_)

    def enter(self, name: str, job: Job) -> None:
        """A job comes."""
        for each in objects(name, job, self._notes(job, self._site)):
            self._living.put(each)
        self.waiting[name] = job
        self._cycle()

    def _next(self) -> float | None:
        tick = [self._now + _TICK] if self.waiting else []
        return min([*tick, *(end for end, _ in self._ends[:1])], default=None)

    def _step(self, time: float) -> None:
        self._now = time
        while self._ends and self._ends[0][0] <= time:
            self._leave(heapq.heappop(self._ends)[1])
        if self.waiting:
            self._cycle()

    def _leave(self, name: str) -> None:
        job, seats = self._running.pop(name)
        for seat in seats:
            self._living.remove("Pod", f"{name}-{seat.rank}")
            self._living.remove("Quota", seat.quota)
            self._free[seat.node] += min(job.cards, 8)
        self._living.remove("PodGroup", name)

    def _cycle(self) -> None:
        self._living.now = Instant(NOW + int(self._now * SECOND))
        for name, seats in _landed(self._living.cycle()):
            job, nodes = self.waiting.pop(name), tuple(seat.node for seat in seats)
            self.placed.append(Placed(job, self._now - job.at, nodes, self._fewest(job)))
            for node in nodes:
                self._free[node] -= min(job.cards, 8)
            self._running[name] = (job, seats)
            heapq.heappush(self._ends, (self._now + job.lasts, name))
        whole = self._whole()
        self.moments.append(Moment(sum(self._free), sum(whole), max(whole)))

    def _whole(self) -> list[int]:
        """How many nodes of each leaf are empty."""
        size = self._site.per_leaf
        return [self._free[at : at + size].count(8.0) for at in range(0, self._site.nodes, size)]

    def _fewest(self, job: Job) -> int:
        """Of the leaves with most empty nodes, how many hold it: no other set of leaves can be smaller."""
        left, leaves = machines(job) if is_ring(job) else 0, 0
        for whole in sorted(self._whole(), reverse=True):
            if left <= 0:
                break
            left -= whole
            leaves += 1
        return leaves


def _landed(outcome: Outcome) -> list[tuple[str, list[_Seat]]]:
    """The jobs that got their nodes, rings first as the core places them, each with its seats in the order of ranks."""
    found: defaultdict[str, list[_Seat]] = defaultdict(list)
    for each in outcome.decisions:
        if isinstance(each, BindTask):
            name, _, rank = each.task.removeprefix("Pod/").rpartition("-")
            found[name].append(_Seat(int(rank), int(each.node.removeprefix("node-")), str(each.quota)))
    return [(name, sorted(seats)) for name, seats in sorted(found.items(), key=lambda pair: len(pair[1]) == 1)]
