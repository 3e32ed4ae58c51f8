"""What holds however cards are lent and claimed back."""

from collections.abc import Iterable

from hypothesis import assume, given, target
from hypothesis import strategies as st

from sky_core import invariants
from sky_core.api.identity import Key
from sky_core.api.instants import instant
from sky_core.cycle import schedule
from sky_core.decisions import BindTask, EvictTask
from sky_core.memory import Memory
from sky_core.model import SECOND, Instant
from sky_core.settings import Settings
from sky_core.simulation.cluster import Cluster
from sky_core.testing.lending import lending
from sky_core.testing.naive import schedule_naively
from sky_core.testing.objects import CREATED, Object, queue, world_of
from sky_core.testing.stories import DEFAULT

NOW = instant(CREATED)


@given(lending())
def test_owners_and_borrowers_are_decided_on_as_by_asking_everybody(objects: list[Object]) -> None:
    world = world_of([queue("default"), *objects])
    plain = schedule_naively(world, Memory(), DEFAULT, NOW)
    told = schedule(world, Memory(), DEFAULT, NOW)
    target(len(told[0].decisions))
    assert told == plain
    assert invariants.check_decisions(world, told[0].decisions, NOW) == ()


class Reclaimed:
    """A cluster after its first cycle, in which pods were evicted."""

    def __init__(self, objects: Iterable[Object]) -> None:
        self.cluster = Cluster(Settings(), NOW)
        for each in (queue("default"), *objects):
            self.cluster.apply(each)
        tasks = self.cluster.world.tasks
        outcome, self.memory = schedule(self.cluster.world, Memory(), DEFAULT, NOW)
        self.evicted = [one for one in outcome.decisions if isinstance(one, EvictTask)]
        self.claimants = {one.certificate.claimant for one in self.evicted}
        self.names = {one.task: tasks[one.task].name for one in self.evicted}
        for one in outcome.decisions:
            match one:
                case EvictTask():
                    self.cluster.evict(tasks[one.task])
                case BindTask():
                    self.cluster.bind(tasks[one.task], one.node, one.quota)
                case _:
                    self.cluster.write_quota(one)

    def when_gone(self, gone: Iterable[EvictTask]) -> set[str]:
        """The jobs of which a member is bound in the cycle after these have gone."""
        for one in gone:
            key = Key("Pod", "default", self.names[one.task])
            self.cluster.objects.pop(key)
            self.cluster.intake.remove(*key)
        outcome, _ = schedule(self.cluster.world, self.memory, DEFAULT, Instant(NOW + SECOND))
        return {str(one.job) for one in outcome.decisions if isinstance(one, BindTask)}


@given(lending())
def test_when_all_victims_have_gone_every_claimant_is_bound(objects: list[Object]) -> None:
    reclaimed = Reclaimed(objects)
    assume(reclaimed.evicted)
    assert reclaimed.claimants <= reclaimed.when_gone(reclaimed.evicted)


@given(lending(), st.data())
def test_while_one_of_its_victims_is_still_there_a_claimant_is_not_bound(
    objects: list[Object], draw: st.DataObject
) -> None:
    reclaimed = Reclaimed(objects)
    assume(reclaimed.evicted)
    stays = draw.draw(st.sampled_from(reclaimed.evicted))
    assume(len(reclaimed.claimants) == 1)  # else what another one's victims leave over might do
    bound = reclaimed.when_gone(one for one in reclaimed.evicted if one is not stays)
    assert stays.certificate.claimant not in bound
