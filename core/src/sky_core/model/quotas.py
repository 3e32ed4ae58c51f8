"""Quotas: containers of resources, with who holds and who is promised what of them."""

from collections.abc import Container, Sequence
from typing import Final

import msgspec

from sky_core.constraints import NodeAffinity, QuotaAffinity, Toleration
from sky_core.model.names import Duration, Instant, JobId, NodeName, QueueName, QuotaName, TaskId
from sky_core.resources import NOTHING, Resources
from sky_core.selectors import EVERYTHING, Labels, Selector


class Claim(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One pod's tie to one quota: an entry of the quota's `status.tasks`.

    `reservation` is how long its place is kept when the pod is lost; `reserved_until` the old expiry of a reservation
    that this claim took up, to which it returns when given back before the bind.
    """

    task: TaskId
    namespace: str
    name: str
    job: JobId
    place: str
    resources: Resources
    reservation: Duration = Duration(0)
    reserved_until: Instant | None = None


class Reservation(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A place kept for a lost task until `expires`: an entry of the quota's `status.reservedTasks`."""

    namespace: str
    job: JobId
    task: str
    place: str
    resources: Resources
    node: NodeName
    expires: Instant


class QuotaSpec(msgspec.Struct, frozen=True, gc=False, kw_only=True, eq=False):
    """What a quota declares. `named`: the resources that its request names, zeros too."""

    queue: QueueName
    request: Resources
    named: frozenset[str]
    labels: Labels
    shared_queues: tuple[QueueName, ...] = ()
    selector: Selector = EVERYTHING
    tolerations: tuple[Toleration, ...] = ()
    node_affinity: NodeAffinity = NodeAffinity()
    quota_affinity: QuotaAffinity = QuotaAffinity()
    static_node: NodeName | None = None

    @property
    def placement(self) -> tuple[object, ...]:
        """What decides which nodes take it."""
        return (self.request, self.selector, self.tolerations, self.node_affinity, self.quota_affinity)

    @property
    def looks_around(self) -> bool:
        """Whether its answer about one node depends on what other quotas hold."""
        return self.quota_affinity != _NO_QUOTA_AFFINITY


_NO_QUOTA_AFFINITY: Final = QuotaAffinity()
BY_NODE: Final = frozenset({"cpu", "memory", "ephemeral-storage"})
"""Resources that a quota need not name: then its node bounds them (behaviour.md 2)."""


class Quota(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A container of resources, and who holds what of it. `order` is its natural name (q-2 before q-10).

    `claimed` is the sum of `claims`: a column, so that idle is read off and never stored. `pending`: a write of ours to
    its status is on its way and laid over it here; until it is answered, nothing is decided on it.
    """

    name: QuotaName
    uid: str
    spec: QuotaSpec
    created: Instant
    order: tuple[tuple[int, int, str], ...]
    node: NodeName | None = None
    static_bound: bool = False
    shadow: Resources = NOTHING
    claims: tuple[Claim, ...] = ()
    claimed: Resources = NOTHING
    reservations: tuple[Reservation, ...] = ()
    epoch: int = 0
    over_allocated: bool = False
    pending: bool = False

    @property
    def capacity(self) -> Resources:
        """What tasks may claim: request + shadowResource."""
        return self.spec.request + self.shadow if self.shadow else self.spec.request

    @property
    def footprint(self) -> Resources:
        """What it takes of its node's quotaIdle: its request, and the claims on what it does not name."""
        claimed, named = self.claimed.units, self.spec.named
        if claimed.keys() <= named:
            return self.spec.request
        more = {name: claimed[name] for name in BY_NODE if name in claimed and name not in named}
        return self.spec.request + Resources(more) if more else self.spec.request

    def keeps_place(self, now: Instant) -> bool:
        """Whether any reservation is live."""
        return any(reservation.expires > now for reservation in self.reservations)

    def held(self, now: Instant) -> Resources:
        """What live reservations keep."""
        total = NOTHING
        for reservation in self.reservations:
            if reservation.expires > now:
                total += reservation.resources
        return total

    def idle(self, now: Instant) -> Resources:
        """Capacity less claims and live reservations. Unnamed cpu, memory and ephemeral-storage come out negative."""
        return self.capacity - self.claimed - self.held(now) if self.reservations else self.capacity - self.claimed

    def with_claim(self, claim: Claim) -> "Quota":
        """With one claim more."""
        return self.with_claims((claim,))

    def with_claims(self, claims: Sequence[Claim]) -> "Quota":
        """With so many claims more."""
        claimed = self.claimed
        for claim in claims:
            claimed += claim.resources
        return msgspec.structs.replace(self, claims=(*self.claims, *claims), claimed=claimed)

    def without_claims(self, tasks: Container[TaskId]) -> "Quota":
        """Without the claims of these tasks."""
        rest, claimed = tuple([claim for claim in self.claims if claim.task not in tasks]), self.claimed
        for claim in self.claims:
            if claim.task in tasks:
                claimed -= claim.resources
        return msgspec.structs.replace(self, claims=rest, claimed=claimed)

    def with_reservations(self, reservations: tuple[Reservation, ...]) -> "Quota":
        """With these reservations in the place of its own."""
        return msgspec.structs.replace(self, reservations=reservations)

    def on_its_way(self) -> "Quota":
        """As it is being written."""
        return msgspec.structs.replace(self, pending=True)

    def on(self, node: NodeName | None) -> "Quota":
        """Bound to this node, or to none."""
        return msgspec.structs.replace(self, node=node)
