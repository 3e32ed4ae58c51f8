"""A trial leaves no trace unless it is kept, and whatever is in it, the books stay right."""

from hypothesis import given
from hypothesis import strategies as st

from sky_core import invariants
from sky_core.api.instants import instant
from sky_core.decisions import BindTask, Certificate, EvictTask, WriteQuota
from sky_core.model import Claim, JobId, NodeName, Quota, QuotaName, Task
from sky_core.resources import NOTHING
from sky_core.statement import Statement
from sky_core.states import MOVES, Move, TaskState
from sky_core.testing.likeness import likeness
from sky_core.testing.objects import Object, world_of
from sky_core.testing.strategies import START, scenes
from sky_core.world import World

NOW = instant(START)
DEPTH = 3


class Moves:
    """Moves at random, of those that the rows allow."""

    def __init__(self, world: World, draw: st.DataObject) -> None:
        self.world = world
        self.draw = draw

    def tasks(self, move: Move) -> list[Task]:
        return [task for task in self.world.tasks.values() if task.job is not None and move in MOVES[task.state]]

    def task(self, tasks: list[Task]) -> Task | None:
        return self.draw.draw(st.sampled_from(tasks)) if tasks else None

    def quota(self, quotas: list[Quota]) -> Quota | None:
        return self.draw.draw(st.sampled_from(quotas)) if quotas else None

    def node(self) -> NodeName:
        return self.draw.draw(st.sampled_from(list(self.world.nodes)))

    def claim(self, trial: Statement) -> None:
        task, quota = self.task(self.tasks(Move.CLAIM)), self.quota(list(self.world.quotas.values()))
        if task is not None and quota is not None:
            claim = Claim(
                task=task.id,
                namespace=task.namespace,
                name=task.name,
                job=JobId(str(task.job)),
                place=task.place,
                resources=task.shape.request,
                reserved_until=self.draw.draw(st.sampled_from([None, NOW])),
            )
            trial.claim(task, quota.name, claim)

    def give_back(self, trial: Statement) -> None:
        if (task := self.task(self.tasks(Move.GIVE_BACK))) is not None:
            trial.give_back(task)

    def bind_quota(self, trial: Statement) -> None:
        if (quota := self.quota([q for q in self.world.quotas.values() if q.node is None])) is not None:
            trial.bind_quota(quota.name, self.node())

    def release_quota(self, trial: Statement) -> None:
        bound = [q for q in self.world.quotas.values() if q.node is not None and not q.claims]
        if (quota := self.quota(bound)) is not None:
            trial.release_quota(quota.name)

    def forget_places(self, trial: Statement) -> None:
        if (quota := self.quota([q for q in self.world.quotas.values() if q.reservations])) is not None:
            trial.set_reservations(quota.name, ())

    def pipeline(self, trial: Statement) -> None:
        waiting = [t for t in self.tasks(Move.PIPELINE) if self.home(t) is not None]
        if (task := self.task(waiting)) is not None and (home := self.home(task)) is not None:
            trial.pipeline(task, home)

    def allocate(self, trial: Statement) -> None:
        claiming = [t for t in self.tasks(Move.ALLOCATE) if self.home(t) is not None]
        if (task := self.task(claiming)) is not None and (home := self.home(task)) is not None:
            trial.allocate(task, home)
            if self.draw.draw(st.booleans()):
                trial.bind(self.world.tasks[task.id])

    def evict(self, trial: Statement) -> None:
        there = [t for t in self.tasks(Move.EVICT) if t.node in self.world.nodes]
        if (task := self.task(there)) is not None and task.node is not None:
            certificate = Certificate(
                claimant=JobId("g"), node=task.node, needed=NOTHING, idle=NOTHING, frees=(), cost=0, alone=None
            )
            trial.evict(task, certificate)

    def home(self, task: Task) -> NodeName | None:
        quota = self.world.quotas.get(task.quota or QuotaName(""))
        return quota.node if quota is not None and quota.node in self.world.nodes else None

    def tried(self, trial: Statement, depth: int) -> None:
        """Some moves, and trials within the trial."""
        names = st.sampled_from(["claim", "claim", "bind_quota", "allocate", "give_back", "nest", *_MOVES])
        for name in self.draw.draw(st.lists(names, max_size=6)):
            if name != "nest":
                getattr(self, name)(trial)
            elif depth:
                self.nested(trial, depth - 1)
            assert invariants.check(self.world) == ()

    def nested(self, outer: Statement, depth: int) -> None:
        before = likeness(self.world)
        kept = self.draw.draw(st.booleans())
        with Statement(self.world, NOW, outer.certificates) as trial:
            self.tried(trial, depth)
            if kept:
                trial.commit()
        assert kept or likeness(self.world) == before


_MOVES = ("pipeline", "release_quota", "forget_places", "evict")


@given(scenes(), st.data())
def test_leaving_a_trial_restores_the_world(objects: list[Object], draw: st.DataObject) -> None:
    world = world_of(objects)
    before, moves = likeness(world), Moves(world, draw)
    with Statement(world, NOW) as trial:
        moves.tried(trial, DEPTH)

    assert likeness(world) == before
    assert world.mark() == 0
    assert trial.certificates == {}


@given(scenes(), st.data())
def test_decisions_are_what_differs(objects: list[Object], draw: st.DataObject) -> None:
    world = world_of(objects)
    moves = Moves(world, draw)
    tasks, quotas = dict(world.tasks), dict(world.quotas)
    with Statement(world, NOW) as trial:
        moves.tried(trial, DEPTH)
        decisions = trial.decisions()
        written = {one.quota: one for one in decisions if isinstance(one, WriteQuota)}
        for name, row in world.quotas.items():
            same = (row.node, row.claims, row.reservations) == (
                quotas[name].node,
                quotas[name].claims,
                quotas[name].reservations,
            )
            assert (name in written) != same
            if not same:
                write = written[name]
                assert (write.node, write.claims, write.reservations) == (row.node, row.claims, row.reservations)
        moved = {task.id: task.state for task in world.tasks.values() if task.state is not tasks[task.id].state}
        bound = {one.task for one in decisions if isinstance(one, BindTask)}
        evicted = {one.task for one in decisions if isinstance(one, EvictTask)}
        assert bound == {id_ for id_, state in moved.items() if state is TaskState.BINDING}
        assert evicted == {id_ for id_, state in moved.items() if state is TaskState.RELEASING}
