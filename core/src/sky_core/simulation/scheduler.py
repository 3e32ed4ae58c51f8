"""The scheduler's part in a simulation: it decides, performs what it has decided, and tells of its jobs."""

from collections.abc import Iterable, Mapping
from typing import Final

from sky_core import invariants, waiting
from sky_core.api.reports import codes
from sky_core.cycle import Outcome, schedule
from sky_core.decisions import BindTask, EvictTask, WriteQuota
from sky_core.invariants import Violation
from sky_core.memory import Memory
from sky_core.model import Instant, JobId
from sky_core.policy import Policy, reconcile
from sky_core.reasons import Verdict
from sky_core.simulation.cluster import Cluster
from sky_core.simulation.report import Bind, Eviction, QuotaWritten, Told
from sky_core.status import JobQueueStatus, waits_for_zone
from sky_core.world import World

NAME: Final = "scheduler"


class Scheduler:
    """A scheduler that has been running for some cycles.

    `verdicts` are those of the last cycle. `violations` are invariants that its decisions broke, and defects that it
    met.
    """

    def __init__(self, policy: Policy) -> None:
        """Before its first cycle."""
        self.verdicts: dict[JobId, Verdict] = {}
        self.violations: list[str] = []
        self._policy = policy
        self._memory = Memory()
        self._reported: dict[str, JobQueueStatus] = {}
        self._told: dict[JobId, tuple[Verdict, Instant | None, int]] = {}

    def decide(self, cluster: Cluster) -> Outcome:
        """Run a cycle on the cluster as it is."""
        world, now = cluster.world, cluster.now
        outcome, self._memory = schedule(world, self._memory, self._policy, now)
        self.violations += [f"cycle {cluster.step}: {defect}" for defect in outcome.defects]
        if outcome.decisions:
            self._note(cluster, invariants.check_decisions(world, outcome.decisions, now))
        return outcome

    def perform(
        self, cluster: Cluster, outcome: Outcome
    ) -> tuple[list[QuotaWritten], tuple[Eviction, ...], tuple[Bind, ...]]:
        """Carry out what was decided, in the order in which it was; what came of it."""
        writes: list[QuotaWritten] = []
        evictions: list[Eviction] = []
        binds: list[Bind] = []
        tasks, jobs = dict(cluster.world.tasks) if outcome.decisions else {}, cluster.world.jobs
        for decision in outcome.decisions:
            match decision:
                case WriteQuota():
                    cluster.write_quota(decision)
                    writes.append(QuotaWritten(quota=decision.quota, node=decision.node, by=NAME))
                case EvictTask():
                    task, claimant = tasks[decision.task], jobs[decision.certificate.claimant].key
                    evictions.append(Eviction(pod=task.key, job=claimant, result=cluster.evict(task)))
                case BindTask():
                    task = tasks[decision.task]
                    result = cluster.bind(task, decision.node, decision.quota)
                    binds.append(Bind(pod=task.key, node=decision.node, result=result))
        if outcome.decisions:
            self._note(cluster, invariants.check(cluster.world))
        return writes, tuple(evictions), tuple(binds)

    def tell(self, cluster: Cluster, outcome: Outcome) -> tuple[Told, ...]:
        """Write what became of each job into its PodGroup; the verdicts that say something else than before."""
        world, attempts, before = cluster.world, self._memory.attempts, self._told
        self._told = {}
        for id_, verdict in outcome.verdicts.items():
            attempt = attempts.get(id_)
            said = (verdict, attempt.next if attempt is not None else None, cluster.changes)
            if before.get(id_) != said:
                cluster.report_job(world.jobs[id_], verdict, said[1])
            self._told[id_] = said
        for name, report in reconcile(self._policy, world).items():
            if self._reported.get(name) != report:
                cluster.report_job_queue(name, report)
                self._reported[name] = report
        told = news(world, self.verdicts, outcome.verdicts)
        self.verdicts = dict(outcome.verdicts)
        return told

    def expects_more(self, cluster: Cluster, outcome: Outcome) -> bool:
        """Whether a later cycle may decide otherwise on a cluster that stays as it is. A back-off alone does not."""
        return expects_more(cluster.world, self._memory, outcome, cluster.now)

    def _note(self, cluster: Cluster, violations: Iterable[Violation]) -> None:
        self.violations += [f"cycle {cluster.step}: {v.invariant}: {v.object}: {v.fault}" for v in violations]


def expects_more(world: World, memory: Memory, outcome: Outcome, now: Instant) -> bool:
    """Whether a later cycle may decide otherwise on a world that stays as it is. A back-off alone does not."""
    attempts = memory.attempts
    return (
        outcome.cut_short
        or any(waits_for_zone(verdict) for verdict in outcome.verdicts.values())
        or any(attempt.room_until is not None for attempt in attempts.values())
        or any(
            waiting.cut_short(world, world.jobs[id_], attempt, now)
            for id_, attempt in attempts.items()
            if id_ in world.jobs
        )
    )


def news(world: World, before: Mapping[JobId, Verdict], verdicts: Mapping[JobId, Verdict]) -> tuple[Told, ...]:
    """The verdicts that say something else than those of the cycle before."""
    return tuple(
        Told(job=world.jobs[id_].key, rung=verdict.rung, codes=codes(verdict))
        for id_, verdict in verdicts.items()
        if _differs(before.get(id_), verdict)
    )


def _differs(old: Verdict | None, new: Verdict) -> bool:
    return old is None or (old.rung, set(codes(old))) != (new.rung, set(codes(new)))
