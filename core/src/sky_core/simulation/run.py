"""The loop: a cycle, then what becomes of it, until nothing more would happen (contracts.md)."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from sky_core import drift, reservations
from sky_core.api.identity import Key, key_of
from sky_core.api.instants import instant
from sky_core.api.kinds import GROUP, kind_of
from sky_core.model import Instant
from sky_core.policy import Policy
from sky_core.settings import Settings
from sky_core.simulation.cluster import Cluster
from sky_core.simulation.objects import Object, part, text
from sky_core.simulation.report import End, QuotaWritten, Report, Step, allocatable, contract, requests
from sky_core.simulation.scheduler import Scheduler
from sky_core.simulation.timeline import Apply, Delete, Event, FailNextBind, Finish

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
    simulation = Simulation(timeline, policy, settings, latest(objects) if now is None else now)
    simulation.populate(objects)
    for number in range(1, cycles + 1):
        if on_cycle is not None:
            on_cycle(number)
        if simulation.cycle():
            break
    return simulation.report()


class Simulation:
    """A cluster, and the processes that have been running in it for some cycles."""

    def __init__(self, timeline: Sequence[Event], policy: Policy, settings: Settings, start: Instant) -> None:
        """Before the first cycle, which runs at `start`."""
        self._cluster = Cluster(settings, start)
        self._scheduler = Scheduler(policy)
        self._settings = settings
        self._start = start
        self._later = deque(timeline)
        self._in_order = -1
        self._steps: list[Step] = []
        self._skipped: list[str] = []
        self._warnings: list[str] = []

    def populate(self, objects: Iterable[Object]) -> None:
        """Put what is there at the beginning, and what is assumed to be."""
        by_key: dict[Key, Object] = {}
        for raw in objects:
            key = key_of(raw)
            if self._knows(raw):
                if key in by_key:
                    raise SameObjectTwiceError(str(key))
                by_key[key] = raw
        by_key.setdefault(key_of(DEFAULT_QUEUE), DEFAULT_QUEUE)
        for key in sorted(by_key):
            self._cluster.apply(by_key[key])

    def cycle(self) -> bool:
        """Run a cycle and the step after it; True if nothing more would happen."""
        cluster, scheduler = self._cluster, self._scheduler
        cluster.step += 1
        before = cluster.changes
        outcome = scheduler.decide(cluster)
        writes, evictions, binds = scheduler.perform(cluster, outcome)
        cluster.start_pods()
        told = scheduler.tell(cluster, outcome)
        writes += self._repair()
        events = self._happen() + [f"{key} is gone" for key in cluster.clear_away()]
        if writes or evictions or binds or events or told:
            step = Step(
                cycle=cluster.step,
                at=cluster.now,
                writes=tuple(writes),
                binds=binds,
                evictions=evictions,
                events=tuple(events),
                told=told,
            )
            self._steps.append(step)
        cluster.now = Instant(cluster.now + self._settings.period)
        at_rest = not outcome.decisions and cluster.changes == before
        return at_rest and not self._expects_more() and not scheduler.expects_more(cluster, outcome)

    def report(self) -> Report:
        """What has come of it so far."""
        cluster = self._cluster
        world = cluster.world
        end = End(
            objects=cluster.objects,
            world=world,
            verdicts=self._scheduler.verdicts,
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
            violations=tuple(self._scheduler.violations),
        )

    def _knows(self, raw: Object) -> bool:
        """Whether an object is of a kind that anybody here looks at; the others are told of."""
        key = key_of(raw)
        if kind_of(key, raw) is not None:
            return True
        self._skipped.append(f"{key}: skipped: a simulation has no use for {key.kind} ({text(raw, 'apiVersion')})")
        return False

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

    def _expects_more(self) -> bool:
        """Whether time alone will change something in the cluster."""
        kept = any(quota.reservations for quota in self._cluster.world.quotas.values())
        return bool(self._later) or self._cluster.waits_for_pods_to_go or kept


DEFAULT_QUEUE: Final[Object] = {
    "apiVersion": f"{GROUP}/v1alpha1",
    "kind": "Queue",
    "metadata": {"name": "default"},
    "spec": {},
}
"""The queue that is assumed where none of its name is given."""


def latest(objects: Iterable[Object]) -> Instant:
    """The latest creationTimestamp that can be read; when nothing is said of time, that of `LONG_AGO`."""
    readable = []
    for time in {text(part(raw, "metadata"), "creationTimestamp") for raw in objects}:
        try:
            readable.append(instant(time))
        except ValueError:
            continue  # the intake tells of it
    return max(readable, default=LONG_AGO)
