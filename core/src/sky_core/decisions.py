"""What a cycle decides, as values. Only the process around the core turns them into API calls."""

from typing import Self

import msgspec
from msgspec.structs import replace

from sky_core.model import Claim, JobId, NodeName, Quota, QuotaName, Reservation, TaskId
from sky_core.resources import NOTHING, Resources


class WriteQuota(msgspec.Struct, frozen=True, gc=False, kw_only=True, tag=True):
    """Write this quota's status whole: its node (None: QuotaEmpty), its claims and its reservations.

    `jobs`: whose claims it changes; their Bindings wait for its acknowledgement (behaviour.md 5).
    """

    quota: QuotaName
    uid: str
    node: NodeName | None
    claims: tuple[Claim, ...]
    reservations: tuple[Reservation, ...]
    jobs: tuple[JobId, ...] = ()

    @classmethod
    def of(cls, quota: Quota, jobs: tuple[JobId, ...] = ()) -> Self:
        """The write that makes the status say what this row says."""
        return cls(
            quota=quota.name,
            uid=quota.uid,
            node=quota.node,
            claims=quota.claims,
            reservations=quota.reservations,
            jobs=jobs,
        )

    def over(self, quota: Quota) -> Quota:
        """The row once this is written."""
        claimed = sum((claim.resources for claim in self.claims), NOTHING)
        return replace(quota, node=self.node, claims=self.claims, claimed=claimed, reservations=self.reservations)


class BindTask(msgspec.Struct, frozen=True, gc=False, kw_only=True, tag=True):
    """Bind this pod to this node; `quota` is the copy for its annotation (None: spot)."""

    task: TaskId
    job: JobId
    node: NodeName
    quota: QuotaName | None


class Certificate(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Why evictions on one node are justified.

    With all victims gone, `needed` by the claimant fits `idle` and what each of them `frees`; without any one of them
    it would not. `cost` is theirs together, `alone` that of the cheapest pod that would do by itself (None: none
    would).
    """

    claimant: JobId
    node: NodeName
    needed: Resources
    idle: Resources
    frees: tuple[tuple[TaskId, Resources], ...]
    cost: int
    alone: int | None


class EvictTask(msgspec.Struct, frozen=True, gc=False, kw_only=True, tag=True):
    """Evict this pod, for this job."""

    task: TaskId
    node: NodeName
    certificate: Certificate


Decision = WriteQuota | BindTask | EvictTask
