"""What a cycle has open: the world within one Statement, the function points, and where each job stands."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from types import TracebackType

from sky_core.claims import Claims
from sky_core.decisions import Certificate
from sky_core.eviction import Pricing
from sky_core.holdings import Holdings
from sky_core.members import Members, in_task_order, members, started
from sky_core.memory import Memory
from sky_core.model import (
    Instant,
    Job,
    JobId,
    NodeName,
    Quota,
    QuotaSpec,
    Shape,
    Task,
    TaskId,
)
from sky_core.pairs import Pairs
from sky_core.parcels import Parcels
from sky_core.peers import Told
from sky_core.plugin import Context, Parcel
from sky_core.policy import Points, Policy
from sky_core.reasons import Code, Finding, Rung
from sky_core.register import Register
from sky_core.rescheduling import Proposal, Rescheduling
from sky_core.resources import Resources
from sky_core.shelves import Shelving
from sky_core.standing import Standing
from sky_core.statement import Statement
from sky_core.states import IllegalMove
from sky_core.survey import Survey
from sky_core.victims import Victims
from sky_core.waiting import cut_short
from sky_core.world import World

MakeSurvey = Callable[[World, Points, Callable[[NodeName], Resources]], Survey]
"""Of the world, the function points, and what reclaim may free on a node."""


class Session:
    """One cycle's view. Actions change the world through its trials; plugins see its `context`."""

    def __init__(
        self,
        world: World,
        memory: Memory,
        policy: Policy,
        now: Instant,
        make_survey: MakeSurvey,
        make_shelves: Callable[[World, Instant], Shelving],
        make_turns: Callable[["Session"], Iterator[Job]],
        certificates: dict[TaskId, Certificate],
    ) -> None:
        """Open every plugin on the world as it stands. `certificates` belong to the cycle's own statement."""
        self.world = world
        self.memory = memory
        self.policy = policy
        self.now = now
        self.certificates = certificates
        self.vacated = False
        self.rescheduling = next((e.arguments for e in policy.plugins if isinstance(e.arguments, Rescheduling)), None)
        self.proposals: dict[JobId, Proposal] = {}
        self.tried: list[Job] = []
        self.passed: list[Job] = []
        self._aside = [world.jobs[id_] for id_ in sorted(world.unanswered) if id_ in world.jobs]
        self.told: list[Told] = []
        self.hastened: set[JobId] = set()
        self.defects: list[str] = []
        self.standings: dict[JobId, Standing] = {}
        self._lines: dict[JobId, tuple[TaskId, ...]] = {}
        self._members: dict[JobId, tuple[list[Task], Members]] = {}
        self.parcels = Parcels(world)
        self.spot_specs: dict[Shape, QuotaSpec] = {}
        self._make_shelves = make_shelves
        self._make_turns = make_turns
        self._shelves: Shelving | None = None
        self._register = Register.of(world, now)
        self._kept = tuple(sorted(self._register.reserved))
        self.holdings = Holdings(world)
        self.claims = Claims(world, now, self.holdings, lambda: self.shelves, self.trial)
        self.points = Points(policy)
        pricing = next((e.arguments for e in policy.plugins if isinstance(e.arguments, Pricing)), Pricing())
        self.victims = Victims(world, self.points, policy.settings.spot_backed_by, pricing, now)
        self.survey = make_survey(world, self.points, self.victims.frees)
        self.pairs = Pairs(world, self.points, self.victims.frees)
        self.context = Context(
            world=world,
            memory=memory,
            settings=policy.settings,
            now=now,
            frees=self.victims.frees,
            lent=self.victims.lent,
            slots=self.survey.slots,
            slots_on=self.survey.slots_on,
            total=self.survey.total,
            by_zone=lambda parcel: self.survey.by_zone(parcel).tolist(),
            tightest=self.survey.tightest,
            zone_ranks=lambda: self.survey.zone_ranks,
            refusals=self.survey.refusals,
            depends=self.survey.depends,
            walk=self.walk,
            area=lambda job: self.standing(job).area,
            seat=self._seat,
            spot=lambda: self.survey.lent,
            eviction_cost=self.victims.cost,
            admitted=lambda: [*self._aside, *self.going()],
            begun=self.has_begun,
            job_share=self.holdings.job_share,
            queue_share=self.holdings.queue_share,
        )
        self.points.open(self.context)

    @property
    def shelves(self) -> Shelving:
        """The quotas, sorted when hop 1 first asks."""
        if self._shelves is None:
            self._shelves = self._make_shelves(self.world, self.now)
        return self._shelves

    @property
    def kept(self) -> list[Quota]:
        """The quotas that hold reservations, by name."""
        return [self.world.quotas[name] for name in self._kept]

    @cached_property
    def kept_jobs(self) -> frozenset[JobId]:
        """The jobs for which places are kept, as the world stood when first asked."""
        kept = (reservation for quota in self.kept for reservation in quota.reservations)
        return frozenset(reservation.job for reservation in kept if reservation.expires > self.now)

    def has_begun(self, job: Job) -> bool:
        """Whether a member is placed, or a place is kept for one: such a job is never locked out of its queue."""
        return job.id in self.kept_jobs or started(self.world, job)

    def trial(self) -> Statement:
        """A trial within the cycle's own."""
        return Statement(self.world, self.now, self.certificates)

    def attempt(self, job: Job, rung: Rung) -> "Attempt":
        """One action's work for one job. A defect of ours in it is undone, and fails this job alone.

        It is raised all the same, unless the policy is lenient.
        """
        return Attempt(self, job, rung)

    def fail(self, job: Job, rung: Rung, defect: IllegalMove) -> None:
        """Set a job aside for a defect of ours."""
        self.defects.append(str(defect))
        standing = self.standing(job.id)
        standing.refuse(rung, (Finding(Code.INTERNAL_ERROR, examples=(str(defect),)),))
        standing.going = False

    def notice_haste(self, job: Job) -> None:
        """Keep in mind that a job is tried before its back-off has ended."""
        last = self.memory.attempts.get(job.id)
        if last is not None and self.now < last.next and cut_short(self.world, job, last, self.now):
            self.hastened.add(job.id)

    def admit(self, job: Job) -> None:
        """Let a job take part in this cycle."""
        self.passed.append(job)
        self.standing(job.id).going = True

    def standing(self, job: JobId) -> Standing:
        """Where a job stands."""
        standing = self.standings.get(job)
        if standing is None:
            standing = self.standings[job] = Standing()
        return standing

    def members(self, job: Job) -> Members:
        """The job's needed members and its extras, as its tasks stand now."""
        if job.id not in self._lines:
            self._lines[job.id] = in_task_order(self.world, job, self.points["taskOrder"])
        tasks = [self.world.tasks[id_] for id_ in self._lines[job.id]]
        found = self._members.get(job.id)
        if found is None or found[0] != tasks:
            found = self._members[job.id] = (tasks, members(self.world, job, tasks))
        return found[1]

    def going(self) -> Iterator[Job]:
        """The jobs that passed admission and have not been refused since, in the order in which they passed."""
        return (job for job in self.passed if self.standing(job.id).going)

    def going_with_extras(self) -> list[Job]:
        """Of these, now, those that may have tasks beyond what must start together."""
        return [job for job in self.going() if len(job.tasks) > job.min_member]

    def turns(self) -> Iterator[Job]:
        """Every job with something to do, in queue and job order; those in `told` are passed over."""
        return self._make_turns(self)

    def idle_quotas(self) -> list[Quota]:
        """The quotas with a node that nobody claims, by name; of some that somebody claims now, too."""
        world = self.world
        names = self._register.idle | world.written(world.quotas)
        return [quota for name in sorted(names) if (quota := world.quotas[name]).node is not None]

    def walk(self, parcels: Sequence[Parcel], nodes: Sequence[NodeName]) -> tuple[tuple[NodeName, ...], int]:
        """Where parcels land, each on the first node from its predecessor's on that takes it, and what is left over.

        Left over: how many further parcels like the largest fit then. As many are placed as can be.
        """
        seats: list[NodeName] = []
        with self.trial() as trial:
            at = 0
            for parcel in parcels:
                while at < len(nodes) and self.survey.refusals(parcel, nodes[at]):
                    at += 1
                if at == len(nodes):
                    break
                if parcel.direct:
                    trial.allocate(parcel.tasks[0], nodes[at])
                else:
                    trial.bind_quota(parcel.quota.name, nodes[at])
                self.survey.placed(parcel, {nodes[at]: 1})
                seats.append(nodes[at])
            largest = max(parcels, key=lambda parcel: self.share(parcel.footprint))
            left = sum(self.survey.slots(largest, node) for node in nodes) if len(seats) == len(parcels) else 0
        return tuple(seats), left

    def share(self, amount: Resources) -> int:
        """The dominant share of an amount in the whole cluster, in billionths."""
        return amount.share_of(self.world.total)

    def _seat(self, parcel: Parcel) -> NodeName | None:
        layout = self.standing(parcel.job.id).layout
        return layout.seats.get(parcel.quota.name) if layout is not None else None


class Attempt:
    """See `Session.attempt`. A class, because a generator takes three times as long to enter, for every job."""

    __slots__ = ("_job", "_mark", "_rung", "_session")

    def __init__(self, session: Session, job: Job, rung: Rung) -> None:
        """From here on the job's work is undone together."""
        self._session = session
        self._job = job
        self._rung = rung
        self._mark = session.world.mark()

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        """Catch a defect, where that is allowed."""
        if not isinstance(error, IllegalMove) or not self._session.policy.lenient:
            return False
        self._session.world.rollback(self._mark)
        self._session.fail(self._job, self._rung, error)
        return True
