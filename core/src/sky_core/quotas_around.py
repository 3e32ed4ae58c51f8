"""Which bound quotas are in a node's domain, as a quota sees it that would come there: itself left out."""

from collections.abc import Iterator
from functools import cache

from sky_core.census import Census
from sky_core.constraints import QuotaTerm
from sky_core.model import Node, Quota, QuotaSpec
from sky_core.world import World


class QuotasAround:
    """Counts of bound quotas by node and zone, for the terms of inter-quota affinity. Good for one session.

    The trial may have put the quota that is asked about somewhere already; it never counts for or against itself.
    """

    def __init__(self, world: World) -> None:
        """Counts when first asked."""
        self._world = world
        self._matching = cache(self._count_matching)
        self._guards = cache(lambda: Census(world, self._guarding))

    def near(self, quota: Quota, term: QuotaTerm, node: Node) -> int:
        """How many other quotas match the quota's term in the node's domain; 0 where the node is in none."""
        where = domain(term, node)
        if where is None:
            return 0
        at = self._place(quota)
        itself = at is not None and domain(term, at) == where and term.selector.matches(quota.spec.labels)
        return self._matching(quota.spec).counts(term).get(where, 0) - itself

    def anywhere(self, quota: Quota, term: QuotaTerm) -> bool:
        """Whether any other bound quota matches the quota's term."""
        at = self._place(quota)
        itself = at is not None and domain(term, at) is not None and term.selector.matches(quota.spec.labels)
        return sum(self._matching(quota.spec).counts(term).values()) > itself

    def keep_away(self, quota: Quota, node: Node) -> bool:
        """Whether a quota in the node's domain requires to be apart from this one."""
        at = self._place(quota)
        for term, counts in self._guards().subjects():
            where = domain(term, node)
            if where is None or not counts.get(where) or not term.selector.matches(quota.spec.labels):
                continue
            here = at is not None and domain(term, at) == where
            if counts[where] > (quota.spec.quota_affinity.anti_required.count(term) if here else 0):
                return True
        return False

    def _count_matching(self, spec: QuotaSpec) -> Census[QuotaTerm]:
        own = spec.quota_affinity
        weighed = (preferred.term for preferred in (*own.preferred, *own.anti_preferred))
        terms = tuple(dict.fromkeys((*own.required, *own.anti_required, *weighed)))
        quotas, quotas_on = self._world.quotas, self._world.quotas_on

        def entries(node: Node) -> Iterator[tuple[QuotaTerm, str]]:
            for name in quotas_on.get(node.name, ()):
                for term in terms:
                    where = domain(term, node)
                    if where is not None and term.selector.matches(quotas[name].spec.labels):
                        yield term, where

        return Census(self._world, entries)

    def _guarding(self, node: Node) -> Iterator[tuple[QuotaTerm, str]]:
        for name in self._world.quotas_on.get(node.name, ()):
            for term in self._world.quotas[name].spec.quota_affinity.anti_required:
                where = domain(term, node)
                if where is not None:
                    yield term, where

    def _place(self, quota: Quota) -> Node | None:
        row = self._world.quotas.get(quota.name)
        return self._world.nodes.get(row.node) if row is not None and row.node is not None else None


def domain(term: QuotaTerm, node: Node) -> str | None:
    """Where the term counts a node: in its RDMA zone, which it may lack, or as itself."""
    return node.zone if term.zone else node.name
