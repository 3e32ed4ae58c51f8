"""What holds cycle after cycle of clusters that lend their cards, whatever befalls them."""

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from sky_core import drift, reservations
from sky_core.api.instants import instant
from sky_core.cycle import Outcome
from sky_core.decisions import BindTask, EvictTask
from sky_core.members import started
from sky_core.model import SECOND, Instant, JobId, Quota, QuotaName, Reservation
from sky_core.reasons import Code, Rung
from sky_core.reservations import is_finished, returner
from sky_core.settings import Settings
from sky_core.simulation.cluster import Cluster
from sky_core.simulation.scheduler import Scheduler
from sky_core.simulation.timeline import API_VERSION, Apply, Delete, Event, FailNextBind, Finish, events
from sky_core.testing.lending import GRACE_MAX, befallen, born_again, lending
from sky_core.testing.objects import CREATED, Object, queue
from sky_core.testing.stories import DEFAULT

CYCLES = 25


@st.composite
def stories(draw: st.DrawFn) -> tuple[list[Object], tuple[Event, ...]]:
    objects = draw(lending())
    timeline = {"apiVersion": API_VERSION, "kind": "Timeline", "events": draw(befallen(objects))}
    return objects, events([timeline])


class Running:
    """A cluster in which cycles run."""

    def __init__(self, objects: list[Object]) -> None:
        self.cluster = Cluster(Settings(), instant(CREATED))
        for each in (queue("default"), *objects):
            self.cluster.apply(each)
        self._scheduler = Scheduler(DEFAULT)

    def cycle(self) -> Outcome:
        """Decide and perform."""
        self.cluster.step += 1
        outcome = self._scheduler.decide(self.cluster)
        self._scheduler.perform(self.cluster, outcome)
        assert self._scheduler.violations == []
        self.cluster.start_pods()
        return outcome

    def step(self) -> None:
        """What quota-fixer and reservation-gc do, and who is gone; then a second has passed."""
        for mend in drift.plan(self.cluster.world, self.cluster.now):
            self.cluster.mend_quota(mend)
        for write in reservations.collected(self.cluster.world, self.cluster.now):
            self.cluster.write_quota(write)
        self.cluster.clear_away()
        self.later()

    def later(self, seconds: int = 1) -> None:
        self.cluster.now = Instant(self.cluster.now + seconds * SECOND)

    def happens(self, event: Event) -> None:
        match event.what:
            case Apply(raw):
                self.cluster.apply(raw)
            case Delete(key):
                self.cluster.delete(key)
            case Finish(pod, phase):
                self.cluster.finish(pod, phase)
            case FailNextBind(pod, status):
                self.cluster.fail_next_bind(pod, status)


def told(story: tuple[list[Object], tuple[Event, ...]]) -> Iterator[tuple[Running, Outcome, dict[QuotaName, Quota]]]:
    """After each cycle: the cluster, what was decided, and the quotas as they were before."""
    objects, later = story
    running, left = Running(objects), list(later)
    begin = running.cluster.now
    for _ in range(CYCLES):
        before = dict(running.cluster.world.quotas)
        yield running, running.cycle(), before
        while left and begin + left[0].at <= running.cluster.now:
            running.happens(left.pop(0))
        running.step()


@given(stories())
def test_who_has_not_begun_holds_claims_only_while_room_is_made_for_it(
    story: tuple[list[Object], tuple[Event, ...]],
) -> None:
    """So that no two gangs park on each other's quotas, not even for a cycle."""
    for running, outcome, _ in told(story):
        world = running.cluster.world
        sent = {one.job for one in outcome.decisions if isinstance(one, BindTask)}
        for quota in world.quotas.values():
            for claim in quota.claims:
                task, job = world.tasks.get(claim.task), world.jobs.get(claim.job)
                if task is None or task.node is not None or job is None:
                    continue
                if not started(world, job) and job.id not in sent:
                    assert Code.WAITING_FOR_RELEASE in outcome.verdicts[job.id].codes(), (quota.name, job.id)


@given(stories())
def test_a_place_that_is_kept_ends_by_return_time_the_end_of_its_job_or_because_others_sit_there(
    story: tuple[list[Object], tuple[Event, ...]],
) -> None:
    for running, _, before in told(story):
        world, now = running.cluster.world, running.cluster.now
        for name, old in before.items():
            for kept in old.reservations:
                if kept.expires > now and kept not in world.quotas[name].reservations:
                    job = world.jobs.get(kept.job)
                    others = len(old.reservations) > 1 or old.claims
                    assert returned(world.quotas[name], kept) or (job and is_finished(world, job)) or others, kept


def returned(quota: Quota, kept: Reservation) -> bool:
    """Whether its place is claimed by who may take it up."""
    return any(claim.reserved_until == kept.expires and claim.place == kept.place for claim in quota.claims)


@given(stories())
def test_a_place_that_is_kept_is_granted_to_nobody_else(story: tuple[list[Object], tuple[Event, ...]]) -> None:
    for running, _, before in told(story):
        world, now = running.cluster.world, running.cluster.now
        for name, quota in world.quotas.items():
            assert within(quota, now) or not within(before[name], now), name
            for claim in quota.claims:
                task, old = world.tasks.get(claim.task), before[name]
                if claim.reserved_until is not None and claim not in old.claims and task is not None:
                    assert returner(world, task, old, now) is not None


def within(quota: Quota, now: Instant) -> bool:
    """Whether its claims and the places that it keeps are no more than it has."""
    return (quota.claimed + quota.held(now)).only(quota.spec.named).fits_in(quota.capacity)


@given(lending())
def test_spot_pods_that_do_not_go_stop_no_claimant_for_longer_than_they_may_take(objects: list[Object]) -> None:
    running = Running(objects)
    since: dict[JobId, Instant] = {}
    evicted: set[str] = set()
    for _ in range(CYCLES):
        outcome, now = running.cycle(), running.cluster.now
        evictions = [one for one in outcome.decisions if isinstance(one, EvictTask)]
        assert not evicted & {one.task for one in evictions}
        evicted |= {one.task for one in evictions}
        for one in evictions:
            since.pop(one.certificate.claimant, None)
        for id_, verdict in outcome.verdicts.items():
            if verdict.rung is Rung.RECLAIM and Code.WAITING_FOR_RELEASE in verdict.codes():
                assert now - since.setdefault(id_, now) < (GRACE_MAX + 60) * SECOND
            else:
                since.pop(id_, None)
        running.later(seconds=10)


@given(lending())
def test_victims_that_are_made_again_are_not_chased_for_ever(objects: list[Object]) -> None:
    running, raws = Running(objects), {one["metadata"]["name"]: one for one in objects if one["kind"] == "Pod"}
    last = 0
    for number in range(2 * CYCLES):
        outcome, world = running.cycle(), running.cluster.world
        for one in outcome.decisions:
            if isinstance(one, EvictTask):
                last = number
        gone = [task.name for task in world.tasks.values() if task.evicted or task.state == "Releasing"]
        running.step()
        for name in gone:
            if not any(task.name == name for task in running.cluster.world.tasks.values()):
                running.cluster.apply(born_again(raws[name], number))
    assert last < CYCLES
