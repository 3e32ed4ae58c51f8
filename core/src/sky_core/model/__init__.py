"""The rows of the world. All are immutable: a change is a new row, and rows name each other by id, never by reference.

Instants are nanoseconds since 1970-01-01T00:00:00Z, durations nanoseconds. Amounts are `Resources`.
`Shape` and `QuotaSpec` are compared by identity: the intake makes one object of equal ones, so that what is asked of
one member of a class holds for all of them.
"""

from sky_core.model.jobs import Budget, Job, JobQueue, Queue, Topology
from sky_core.model.names import SECOND, Duration, Instant, JobId, NodeName, QueueName, QuotaName, TaskId
from sky_core.model.nodes import Book, Mount, Node, Zone, ZoneId
from sky_core.model.quotas import BY_NODE, Claim, Quota, QuotaSpec, Reservation
from sky_core.model.tasks import Pool, Shape, Task

__all__ = [
    "BY_NODE",
    "SECOND",
    "Book",
    "Budget",
    "Claim",
    "Duration",
    "Instant",
    "Job",
    "JobId",
    "JobQueue",
    "Mount",
    "Node",
    "NodeName",
    "Pool",
    "Queue",
    "QueueName",
    "Quota",
    "QuotaName",
    "QuotaSpec",
    "Reservation",
    "Shape",
    "Task",
    "TaskId",
    "Topology",
    "Zone",
    "ZoneId",
]
