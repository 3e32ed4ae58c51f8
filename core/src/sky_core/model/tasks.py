"""Tasks: pods, ours and foreign, and the shape that decides where one may go."""

from enum import StrEnum
from typing import Final

import msgspec

from sky_core.constraints import HostPort, NodeAffinity, NodeTerm, PodAffinity, Spread, Toleration
from sky_core.model.names import Duration, Instant, JobId, NodeName, QuotaName, TaskId
from sky_core.resources import Resources
from sky_core.selectors import EVERYTHING, Labels, Selector
from sky_core.states import FINISHED, MOVES, ON_NODE, PLACED, READY, Move, TaskState, after


class Pool(StrEnum):
    """The two pools into which a node splits its spot cards (behaviour.md 7.4)."""

    EXCLUSIVE = "exclusive"
    SHARED = "shared"


class Shape(msgspec.Struct, frozen=True, gc=False, kw_only=True, eq=False):
    """What decides where a task may go, its own identity and labels aside.

    `request` is what Kubernetes counts for the pod, `load` what it takes from its node's idle: an exclusive spot unit
    also takes the card behind it. `spot_units` is what it takes of its pool, in thousandths.
    """

    request: Resources
    load: Resources
    namespace: str
    selector: Selector = EVERYTHING
    node_affinity: NodeAffinity = NodeAffinity()
    tolerations: tuple[Toleration, ...] = ()
    pod_affinity: PodAffinity = PodAffinity()
    spread: tuple[Spread, ...] = ()
    ports: tuple[HostPort, ...] = ()
    volumes: tuple[tuple[NodeTerm, ...], ...] = ()
    mounts: tuple[str, ...] = ()
    spot: Pool | None = None
    spot_units: int = 0
    rdma: bool = False
    quota_affinity: Selector | None = None
    preferred_quota_affinity: Selector | None = None

    @property
    def looks_around(self) -> bool:
        """Whether its answer about one node depends on what other nodes hold."""
        return bool(self.spread) or self.pod_affinity != _NO_POD_AFFINITY


_NO_POD_AFFINITY: Final = PodAffinity()


class Task(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One pod, ours or foreign (`job` None). `rank` orders the tasks of a job; `place` is its rank in reservations.

    `quota` is the quota that it claims. `node` is the node that it is on or, while Allocated or Binding, will be on;
    a task that only claims a bound quota has none.
    """

    id: TaskId
    namespace: str
    name: str
    job: JobId | None
    shape: Shape
    labels: Labels
    created: Instant
    state: TaskState
    rank: tuple[object, ...] = ()
    place: str = ""
    role: str = ""
    priority: int = 0
    preempts: bool = True
    quota: QuotaName | None = None
    node: NodeName | None = None
    required_quota: QuotaName | None = None
    inherits: str | None = None
    gated: bool = False
    evicted: bool = False
    critical: bool = False
    reservation: Duration = Duration(0)
    started: Instant | None = None
    grace: Duration = Duration(0)

    @property
    def key(self) -> str:
        """Namespace/name, for people."""
        return f"{self.namespace}/{self.name}"

    @property
    def placed(self) -> bool:
        """Binding, Bound, Running, or Succeeded unless we evicted it (behaviour.md 1)."""
        return self.state in PLACED and (not self.evicted or self.state in ON_NODE)

    @property
    def ready(self) -> bool:
        """Placed, or Allocated in this trial."""
        return self.state in READY and (not self.evicted or self.state not in FINISHED)

    @property
    def unfinished(self) -> bool:
        """Whether it still takes what it requests."""
        return self.state not in FINISHED

    def moved(
        self, *moves: Move, quota: QuotaName | None = None, node: NodeName | None = None, evicted: bool = False
    ) -> "Task":
        """The row after these moves, or `IllegalMove`. Its quota and node are those given, none where none is given."""
        state = self.state
        for move in moves:
            state = MOVES[state].get(move) or after(self.key, state, move)
        return msgspec.structs.replace(self, state=state, quota=quota, node=node, evicted=evicted)
