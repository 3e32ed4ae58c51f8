"""What nodes answer from caches and by arithmetic, against asking and trying each time."""

from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from sky_core.api.instants import instant
from sky_core.cycle import default_policy
from sky_core.memory import Memory
from sky_core.model import Instant, Job, Quota, QuotaName, QuotaSpec, Task
from sky_core.plugin import Area, Parcel
from sky_core.policy import compile_policy
from sky_core.renewal import FEW
from sky_core.session import Session
from sky_core.settings import Settings
from sky_core.shelves import Shelves
from sky_core.statement import Statement
from sky_core.states import TaskState
from sky_core.survey import ANYWHERE, Classes, Survey
from sky_core.testing.naive import Naive
from sky_core.testing.objects import Object, world_of
from sky_core.testing.strategies import START, scenes
from sky_core.turns import turns
from sky_core.world import World

NOW = instant(START)
POLICY = default_policy()
ASKING = compile_policy(Settings(), POLICY.plugins, {"qn.select": "or(quotapredicates)"})
"""The same, but one in which a plugin might overrule another, so that every pair is asked."""
STEPS = st.lists(st.sampled_from(["claim", "claim", "ask", "place", "place", "undo"]), min_size=1, max_size=10)


def answers(survey: Survey, world: World, asked: list[Parcel]) -> list[object]:
    areas = [ANYWHERE, *(Area(spec) for spec in world.specs), *(Area(id_.spec, id_) for id_ in world.zones)]
    told: list[object] = []
    for parcel in asked:
        for node in survey.nodes(ANYWHERE):
            told.append((parcel.quota.name, node, survey.refusals(parcel, node), survey.slots(parcel, node)))
        for area in areas:
            told.append((parcel.quota.name, area, survey.total(parcel, area), survey.best(parcel, area)))
    return told


def spot_parcel(job: Job, task: Task) -> Parcel:
    request = task.shape.request
    spec = QuotaSpec(queue=job.queue, request=request, named=frozenset(request.units), labels={})
    quota = Quota(name=QuotaName(task.id), uid="", spec=spec, created=Instant(0), order=())
    return Parcel(job=job, quota=quota, tasks=(task,), direct=True)


class Trial:
    """A session in which quotas are claimed and placed at random."""

    def __init__(self, world: World, draw: st.DataObject, statement: Statement) -> None:
        survey = partial(Classes, few=draw.draw(st.sampled_from([0, FEW, 1_000])))
        policy = draw.draw(st.sampled_from([POLICY, POLICY, ASKING]))
        self.session = Session(world, Memory(), policy, NOW, survey, Shelves, turns, statement.certificates)
        self.world = world
        self.draw = draw
        self.statement = statement
        self.spot = [spot_parcel(job, task) for job, task in self.waiting() if task.shape.spot is not None]
        self.begins = [statement.savepoint()]

    def waiting(self) -> list[tuple[Job, Task]]:
        tasks = [task for task in self.world.tasks.values() if task.state is TaskState.PENDING]
        return [(self.world.jobs[task.job], task) for task in tasks if task.job is not None]

    def parcels(self) -> list[Parcel]:
        """What is claimed and on no node, by the job of its first claim; and spot tasks that are on none."""
        quotas = [quota for quota in self.world.quotas.values() if quota.claims and quota.node is None]
        owned = [quota for quota in quotas if quota.claims[0].job in self.world.jobs]
        claimed = [self.parcel(quota) for quota in owned]
        spot = [parcel for parcel in self.spot if self.world.tasks[parcel.tasks[0].id].node is None]
        return [*(parcel for parcel in claimed if parcel.tasks), *spot]

    def parcel(self, quota: Quota) -> Parcel:
        tasks = [self.world.tasks[claim.task] for claim in quota.claims if claim.task in self.world.tasks]
        ranked = tuple(sorted(tasks, key=lambda task: task.rank))
        return Parcel(job=self.world.jobs[quota.claims[0].job], quota=quota, tasks=ranked)

    def claim(self) -> None:
        """A task claims a quota, whether it may or not."""
        tasks = [(job, task) for job, task in self.waiting() if task.shape.spot is None]
        if tasks and self.world.quotas:
            job, task = self.draw.draw(st.sampled_from(tasks))
            name = self.draw.draw(st.sampled_from(sorted(self.world.quotas)))
            self.session.claims.make(self.statement, job, task, self.world.quotas[name])

    def place(self) -> None:
        """A parcel goes where it is liked best."""
        parcels = self.parcels()
        if not parcels:
            return
        parcel = self.draw.draw(st.sampled_from(parcels))
        node = self.session.survey.best(parcel, ANYWHERE)
        if node is None:
            return
        if parcel.direct:
            self.statement.allocate(parcel.tasks[0], node)
        else:
            self.statement.bind_quota(parcel.quota.name, node)
        self.session.survey.placed(parcel, {node: 1})

    def undo(self) -> None:
        """Back to where an earlier step began."""
        back = self.draw.draw(st.sampled_from(self.begins))
        self.begins = self.begins[: self.begins.index(back) + 1]
        self.statement.rollback(back)

    def ask(self) -> None:
        """Both ways answer alike."""
        plain = Naive(self.world, self.session.points, self.session.context.frees)
        parcels = self.parcels()
        assert answers(self.session.survey, self.world, parcels) == answers(plain, self.world, parcels)


@given(scenes(), st.data())
def test_answers_are_those_of_asking_everybody_and_trying(objects: list[Object], draw: st.DataObject) -> None:
    world = world_of(objects)
    for _ in range(2):  # what is kept of one session must be right in the next
        with Statement(world, NOW) as statement:
            trial = Trial(world, draw, statement)
            for step in [*draw.draw(STEPS), "ask"]:
                getattr(trial, step)()
                trial.begins.append(statement.savepoint())
