"""Keeps quotas, who claims them, and which are bound where."""

from collections.abc import Iterable

from sky_core.api.assumptions import Assumptions
from sky_core.api.identity import Key
from sky_core.api.store import Store
from sky_core.api.upkeep.indexes import Index
from sky_core.api.upkeep.openings import quota_opens
from sky_core.api.upkeep.tables import settle
from sky_core.model import NodeName, Quota, QuotaName, TaskId
from sky_core.reasons import Topic
from sky_core.world import World


class QuotaUpkeep:
    """Quotas as the store has them."""

    def __init__(self, store: Store, world: World, assumed: Assumptions) -> None:
        """Nothing is there."""
        self._store = store
        self._world = world
        self._assumed = assumed
        self._claimants: Index[TaskId, QuotaName] = Index()
        self._bound: Index[NodeName, QuotaName] = Index()

    def claimed_by(self, task: TaskId) -> QuotaName | None:
        """The quota whose status names a pod: of several, which no writer of ours leaves, the first by name."""
        return self._claimants.first(task)

    def flush(self, dirty: Iterable[Key]) -> tuple[set[TaskId], set[NodeName]]:
        """Take up these quotas. Returns the pods that came to claim one or ceased to, and the nodes they touch."""
        world = self._world
        changes: dict[QuotaName, Quota | None] = {}
        pods: set[TaskId] = set()
        touched: set[NodeName] = set()
        for key in dirty:
            name = QuotaName(key.name)
            old, new = world.quotas.get(name), self._assumed.quota(self._store.quotas.get(key))
            changes[name] = new
            world.news.quotas.add(name)
            claims, nodes = (_claims(old), _claims(new)), (_node(old), _node(new))
            self._claimants.move(name, *claims)
            self._bound.move(name, *nodes)
            touched |= nodes[0] | nodes[1]
            pods |= claims[0] ^ claims[1]
            world.quotas_apart += _keeps_apart(new) - _keeps_apart(old)
            world.openings[Topic.QUOTA] += quota_opens(old, new)
        settle(world.quotas, changes, lambda _, quota: (quota.created, quota.order))
        on = {node: self._on(node) or None for node in touched}
        settle(world.quotas_on, on, lambda node, _: node)
        return pods, touched

    def _on(self, node: NodeName) -> tuple[QuotaName, ...]:
        quotas = self._world.quotas
        return tuple(sorted(self._bound.of(node), key=lambda name: (quotas[name].created, quotas[name].order)))


def _claims(quota: Quota | None) -> set[TaskId]:
    return {claim.task for claim in quota.claims} if quota else set()


def _node(quota: Quota | None) -> set[NodeName]:
    return {quota.node} if quota and quota.node is not None else set()


def _keeps_apart(quota: Quota | None) -> bool:
    return quota is not None and bool(quota.spec.quota_affinity.anti_required)
