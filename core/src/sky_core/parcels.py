"""What tasks claim, as hop 2 places it: each quota with its tasks."""

from collections import defaultdict
from collections.abc import Collection, Hashable, Sequence

from sky_core.members import by_rank
from sky_core.model import BY_NODE, Job, JobId, Quota, Task, Topology
from sky_core.plugin import Parcel
from sky_core.world import World


class Parcels:
    """Those of each job, made again when a row of it has changed.

    Parcels to which nodes answer alike are made after one pattern, the first of them in the session.
    """

    def __init__(self, world: World) -> None:
        """None is made."""
        self._world = world
        self._made: dict[JobId, tuple[list[Task], list[Quota], list[Parcel]]] = {}
        self._patterns: dict[tuple[Topology, bool], dict[Hashable, Parcel]] = defaultdict(dict)

    def of(self, job: Job, tasks: Sequence[Task]) -> list[Parcel]:
        """The unbound quotas that these tasks claim, by the lowest rank among their claims."""
        quotas = self._world.quotas
        claiming = [task for task in tasks if task.quota is not None]
        claimed = [quotas[name] for name in dict.fromkeys([task.quota for task in claiming]) if name is not None]
        made = self._made.get(job.id)
        if made is not None and made[:2] == (claiming, claimed):
            return made[2]
        unbound = [quota for quota in claimed if quota.node is None and not quota.spec.static_node]
        parcels = sorted([self.make(job, quota, self._claiming(quota)) for quota in unbound], key=_lowest_rank)
        if sum([len(quota.claims) for quota in claimed]) == len(claiming):  # nobody else's row is in them
            self._made[job.id] = (claiming, claimed, parcels)
        return parcels

    def make(self, job: Job, quota: Quota, tasks: tuple[Task, ...]) -> Parcel:
        """The parcel of these."""
        kind = self._kind(quota, tasks)
        if kind is None:
            return Parcel(job=job, quota=quota, tasks=tasks)
        patterns = self._patterns[job.topology, job.preempts]
        pattern = patterns.get(kind)
        if pattern is None:
            pattern = patterns[kind] = Parcel(job=job, quota=quota, tasks=tasks)
            return pattern
        return pattern.twin(job, quota, tasks)

    def _claiming(self, quota: Quota) -> tuple[Task, ...]:
        """Who claims a quota, in rank order."""
        tasks = self._world.tasks
        found = [tasks[claim.task] for claim in quota.claims if claim.task in tasks]
        if len(found) > 1:
            found.sort(key=by_rank)
        return tuple(found)

    def _kind(self, quota: Quota, tasks: Sequence[Task]) -> Hashable:
        """What nodes' answers depend on, of jobs with one topology; None where that is not easily told.

        Labels count where anybody keeps others away by them.
        """
        if quota.shadow or quota.over_allocated or any([task.node is not None for task in tasks]):
            return None
        spec, claimed = quota.spec, quota.claimed
        unnamed = None if claimed.units.keys() <= spec.named else claimed.only(BY_NODE - spec.named)
        labels = [tuple(sorted(task.labels.items())) for task in tasks] if self._world.anti_affine else ()
        return (spec, tuple([task.shape for task in tasks]), unnamed, tuple(labels))


def one_of_each(parcels: Sequence[Parcel]) -> Collection[Parcel]:
    """The first of each pattern among these; the pattern itself may have been placed long since."""
    return {parcel.pattern: parcel for parcel in reversed(parcels)}.values()


def _lowest_rank(parcel: Parcel) -> tuple[object, ...]:
    return parcel.tasks[0].rank
