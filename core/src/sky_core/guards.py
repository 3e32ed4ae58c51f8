"""Whom others keep away: pods and quotas with required anti-affinity speak about those that come after them, too."""

from sky_core.plugin import Parcel
from sky_core.world import World


class Guards:
    """The distinct terms by which anything in the world keeps others away."""

    def __init__(self, world: World) -> None:
        """As of the session's start; who comes within it looks around itself."""
        pods = (task.shape.pod_affinity.anti_required for task in world.tasks.values()) if world.anti_affine else ()
        quotas = (q.spec.quota_affinity.anti_required for q in world.quotas.values()) if world.quotas_apart else ()
        self._pods = tuple(dict.fromkeys(term.selector for terms in pods for term in terms))
        self._quotas = tuple(dict.fromkeys(term.selector for terms in quotas for term in terms))

    @property
    def labels(self) -> tuple[str, ...]:
        """The keys of pods' labels that the terms look at."""
        return tuple(sorted({each.key for selector in self._pods for each in selector.requirements}))

    def may_refuse(self, parcel: Parcel) -> bool:
        """Whether any term could be about the parcel; nodes are then asked about it anew each time."""
        if not (self._pods or self._quotas):
            return False
        if any(selector.matches(parcel.quota.spec.labels) for selector in self._quotas):
            return True
        return any(selector.matches(task.labels) for selector in self._pods for task in parcel.tasks)
