"""Jobs, and the queues that they are charged to."""

from collections.abc import Mapping

import msgspec

from sky_core.model.names import Duration, Instant, JobId, QueueName, TaskId
from sky_core.resources import NOTHING, Resources
from sky_core.selectors import EVERYTHING, Labels, Selector


class Topology(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """How a job wants its communication group placed (behaviour.md 5.2, 7.2). `on` False: it has none."""

    on: bool = False
    strict: bool = False
    required: bool = False
    patience: Duration = Duration(0)
    affinity_key: str = ""


class Job(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A gang: the tasks of a PodGroup, or one pod without a group. `tasks` are in rank order.

    `waiting_since`: since when it waits for a single zone (its WaitingForZone condition). `fault`: the job is
    malformed, with the field and the fault. `known` False: pods name a PodGroup that does not exist. `version` counts
    the changes of the job itself: of its PodGroup, and of which pods it has.
    """

    id: JobId
    namespace: str
    name: str
    queue: QueueName
    created: Instant
    tasks: tuple[TaskId, ...] = ()
    labels: Labels = {}
    min_member: int = 1
    min_task_member: tuple[tuple[str, int], ...] = ()
    min_resources: Resources = NOTHING
    priority: int = 0
    preempts: bool = True
    topology: Topology = Topology()
    grouped: bool = True
    known: bool = True
    fault: str = ""
    phase: str = ""
    waiting_since: Instant | None = None
    version: int = 0

    @property
    def key(self) -> str:
        """Namespace/name, for people."""
        return f"{self.namespace}/{self.name}"


class Queue(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Who a job is charged to. `capability` caps what it names; `namespaces` None: every namespace may use it."""

    name: QueueName
    created: Instant
    weight: int = 1
    priority: int = 0
    capability: Mapping[str, int] | None = None
    namespaces: Selector | None = None
    open: bool = True
    fault: str = ""


class JobQueue(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A prioritised sub-queue of a Queue, which picks its jobs by label."""

    name: str
    queue: QueueName
    created: Instant
    priority: int = 0
    jobs: Selector = EVERYTHING
    running_max: int | None = None
    capability: Mapping[str, int] | None = None
    strict: bool = False
    suspended: bool = False


class Budget(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A PodDisruptionBudget: how many pods it lets go now."""

    namespace: str
    name: str
    pods: Selector
    allowed: int
