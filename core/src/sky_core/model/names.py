"""What rows are called, and how time is counted."""

from typing import Final, NewType

TaskId = NewType("TaskId", str)  # a pod's uid
JobId = NewType("JobId", str)  # namespace/name of the PodGroup; of a pod without one, of the pod: see `Job.key`
QuotaName = NewType("QuotaName", str)
NodeName = NewType("NodeName", str)
QueueName = NewType("QueueName", str)
Instant = NewType("Instant", int)
Duration = NewType("Duration", int)

SECOND: Final = Duration(1_000_000_000)
