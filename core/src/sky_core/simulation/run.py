"""The loop: a cycle, then what becomes of it, until nothing more would happen (contracts.md)."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from sky_core import drift, invariants, reservations, waiting
from sky_core.api.identity import Key, key_of
from sky_core.api.instants import instant
from sky_core.api.kinds import GROUP, kind_of
from sky_core.cycle import Outcome, schedule
from sky_core.decisions import BindTask, EvictTask, WriteQuota
from sky_core.invariants import Violation
from sky_core.memory import Memory
from sky_core.model import Instant, JobId
from sky_core.policy import Policy
from sky_core.reasons import Code, Verdict
from sky_core.settings import Settings
from sky_core.simulation.cluster import Cluster
from sky_core.simulation.objects import Object, part, text
from sky_core.simulation.report import (
    Bind,
    End,
    Eviction,
    QuotaWritten,
    Report,
    Step,
    Told,
    allocatable,
    contract,
    requests,
)
from sky_core.simulation.timeline import Apply, Delete, Event, FailNextBind, Finish
from sky_core.status import waits_for_zone

LONG_AGO: Final = instant("2000-01-01T00:00:00Z")
"""When a simulation begins whose objects say nothing of time."""


class SameObjectTwiceError(ValueError):
    """The input has an object twice: which."""


def run(
    objects: Sequence[Object],
    timeline: Sequence[Event],
    policy: Policy,
    settings: Settings,
    *,
    now: Instant | None,
    cycles: int,
    on_cycle: Callable[[int], None] | None = None,
) -> Report:
    """Simulate.

    Args:
        objects: Kubernetes objects, each with a kind and a name, in whatever order.
        timeline: What happens later.
        policy: What the cycles decide by.
        settings: What the configuration says about the cluster.
        now: The time of the first cycle; None: the latest creationTimestamp of the objects.
        cycles: How many there may be.
        on_cycle: Told the number of each cycle before it runs.

    Raises:
        SameObjectTwiceError: Two of the objects have one kind, namespace and name.
    """
    simulation = Simulation(timeline, policy, settings, _latest(objects) if now is None else now)
    simulation.populate(objects)
    for number in range(1, cycles + 1):
        if on_cycle is not None:
            on_cycle(number)
        if simulation.cycle():
            break
    return simulation.report()


class Simulation:
    """A cluster, and a scheduler that has been running in it for some cycles."""

    def __init__(self, timeline: Sequence[Event], policy: Policy, settings: Settings, start: Instant) -> None:
        """Before the first cycle, which runs at `start`."""
        self._cluster = Cluster(settings, start)
        self._policy = policy
        self._settings = settings
        self._start = start
        self._later = deque(timeline)
        self._memory = Memory()
        self._verdicts: dict[JobId, Verdict] = {}
        self._told: dict[JobId, tuple[Verdict, Instant | None, int]] = {}
        self._in_order = -1
        self._steps: list[Step] = []
        self._skipped: list[str] = []
        self._warnings: list[str] = []
        self._violations: list[str] = []

    def populate(self, objects: Iterable[Object]) -> None:
        """Put what is there at the beginning, and what is assumed to be."""
        by_key: dict[Key, Object] = {}
        for raw in objects:
            key = key_of(raw)
            if self._knows(raw):
                if key in by_key:
                    raise SameObjectTwiceError(str(key))
                by_key[key] = raw
        by_key.setdefault(Key("Queue", "", "default"), _DEFAULT_QUEUE)
        for key in sorted(by_key):
            self._cluster.apply(by_key[key])

    def cycle(self) -> bool:
        """Run a cycle and the step after it; True if nothing more would happen."""
        cluster = self._cluster
        cluster.step += 1
        before = cluster.changes
        outcome, self._memory = schedule(cluster.world, self._memory, self._policy, cluster.now)
        self._violations += [f"cycle {cluster.step}: {defect}" for defect in outcome.defects]
        told = self._news(outcome)
        writes, evictions, binds = self._perform(outcome)
        cluster.start_pods()
        self._tell(outcome)
        writes += self._repair()
        events = self._happen() + [f"{key} is gone" for key in cluster.clear_away()]
        step = Step(
            cycle=cluster.step,
            at=cluster.now,
            writes=tuple(writes),
            binds=tuple(binds),
            evictions=tuple(evictions),
            events=tuple(events),
            told=told,
        )
        if writes or binds or evictions or events or told:
            self._steps.append(step)
        cluster.now = Instant(cluster.now + self._settings.period)
        return not outcome.decisions and cluster.changes == before and not self._expects_more(outcome)

    def report(self) -> Report:
        """What has come of it so far."""
        cluster = self._cluster
        world = cluster.world
        end = End(
            objects=cluster.objects,
            world=world,
            verdicts=self._verdicts,
            settings=self._settings,
            cycles=cluster.step,
            invalid=cluster.intake.invalid,
            warnings=(*cluster.intake.warnings, *self._warnings),
        )
        return Report(
            contract=contract(end, self._steps),
            world=world,
            steps=tuple(self._steps),
            allocatable=allocatable(world),
            requests=requests(world),
            skipped=tuple(self._skipped),
            violations=tuple(self._violations),
        )

    def _knows(self, raw: Object) -> bool:
        """Whether an object is of a kind that anybody here looks at; the others are told of."""
        key = key_of(raw)
        if kind_of(key, raw) is not None:
            return True
        self._skipped.append(f"{key}: skipped: a simulation has no use for {key.kind} ({text(raw, 'apiVersion')})")
        return False

    def _news(self, outcome: Outcome) -> tuple[Told, ...]:
        """The verdicts that say something else than before. That a job backs off is no news."""
        world = self._cluster.world
        told = []
        for id_, verdict in outcome.verdicts.items():
            old = self._verdicts.get(id_)
            codes = tuple(code for code in verdict.codes() if code is not Code.BACKING_OFF)
            if old is None or (old.rung, set(old.codes()) - {Code.BACKING_OFF}) != (verdict.rung, set(codes)):
                told.append(Told(job=world.jobs[id_].key, rung=verdict.rung, codes=codes))
        self._verdicts = dict(outcome.verdicts)
        return tuple(told)

    def _perform(self, outcome: Outcome) -> tuple[list[QuotaWritten], list[Eviction], list[Bind]]:
        """Carry out what was decided, in the order in which it was."""
        cluster = self._cluster
        writes: list[QuotaWritten] = []
        evictions: list[Eviction] = []
        binds: list[Bind] = []
        if not outcome.decisions:
            return writes, evictions, binds
        tasks, jobs = dict(cluster.world.tasks), cluster.world.jobs
        self._note(invariants.check_decisions(cluster.world, outcome.decisions, cluster.now))
        for decision in outcome.decisions:
            match decision:
                case WriteQuota():
                    cluster.write_quota(decision)
                    writes.append(QuotaWritten(quota=decision.quota, node=decision.node, by="scheduler"))
                case EvictTask():
                    task, claimant = tasks[decision.task], jobs[decision.certificate.claimant].key
                    evictions.append(Eviction(pod=task.key, job=claimant, result=cluster.evict(task)))
                case BindTask():
                    task = tasks[decision.task]
                    result = cluster.bind(task, decision.node, decision.quota)
                    binds.append(Bind(pod=task.key, node=decision.node, result=result))
        self._note(invariants.check(cluster.world))
        return writes, evictions, binds

    def _note(self, violations: Iterable[Violation]) -> None:
        step = self._cluster.step
        self._violations += [f"cycle {step}: {v.invariant}: {v.object}: {v.fault}" for v in violations]

    def _tell(self, outcome: Outcome) -> None:
        """Write what the scheduler tells of its jobs."""
        cluster, attempts, told = self._cluster, self._memory.attempts, self._told
        self._told = {}
        for id_, verdict in outcome.verdicts.items():
            attempt = attempts.get(id_)
            news = (verdict, attempt.next if attempt is not None else None, cluster.changes)
            if told.get(id_) != news:
                cluster.report_job(cluster.world.jobs[id_], verdict, news[1])
            self._told[id_] = news

    def _repair(self) -> list[QuotaWritten]:
        """What quota-fixer and then reservation-gc write."""
        cluster, writes = self._cluster, []
        if cluster.changes != self._in_order:
            for mend in drift.plan(cluster.world, cluster.now):
                cluster.mend_quota(mend)
                if mend.drifted:
                    writes.append(QuotaWritten(quota=mend.write.quota, node=mend.write.node, by="quota-fixer"))
            self._in_order = cluster.changes
        for write in reservations.collected(cluster.world, cluster.now):
            cluster.write_quota(write)
            writes.append(QuotaWritten(quota=write.quota, node=write.node, by="reservation-gc"))
        return writes

    def _happen(self) -> list[str]:
        """Let the events happen that the time of the cycle has reached; what they were."""
        elapsed, happened = self._cluster.now - self._start, []
        while self._later and self._later[0].at <= elapsed:
            event = self._later.popleft()
            happened.append(str(event.what))
            if not self._happens(event):
                self._warnings.append(f"timeline: {event.what}: there is no such object")
        return happened

    def _happens(self, event: Event) -> bool:
        """Whether there was something for the event to happen to."""
        match event.what:
            case Apply(raw):
                if self._knows(raw):
                    self._cluster.apply(raw)
                return True
            case Delete(key):
                return self._cluster.delete(key)
            case Finish(pod, phase):
                return self._cluster.finish(pod, phase)
            case FailNextBind(pod, answer):
                self._cluster.fail_next_bind(pod, answer)
                return True

    def _expects_more(self, outcome: Outcome) -> bool:
        """Whether time alone will bring something about, though this cycle and its step did not."""
        cluster, world = self._cluster, self._cluster.world
        return (
            outcome.cut_short
            or bool(self._later)
            or cluster.waits_for_pods_to_go
            or any(quota.reservations for quota in world.quotas.values())
            or any(waits_for_zone(verdict) for verdict in outcome.verdicts.values())
            or any(attempt.room_until is not None for attempt in self._memory.attempts.values())
            or any(
                waiting.cut_short(world, world.jobs[id_], attempt, cluster.now)
                for id_, attempt in self._memory.attempts.items()
                if id_ in world.jobs
            )
        )


_DEFAULT_QUEUE: Final[Object] = {
    "apiVersion": f"{GROUP}/v1alpha1",
    "kind": "Queue",
    "metadata": {"name": "default"},
    "spec": {},
}


def _latest(objects: Iterable[Object]) -> Instant:
    """The latest creationTimestamp that can be read."""
    found = LONG_AGO
    times = {text(part(raw, "metadata"), "creationTimestamp") for raw in objects} - {""}
    readable = []
    for time in times:
        try:
            readable.append(instant(time))
        except ValueError:
            continue
    return max(readable, default=found)
