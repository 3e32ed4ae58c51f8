"""Queues, job queues and namespaces: who may use what, and how much of it."""

from collections.abc import Mapping
from typing import Any, Final

from sky_core.api import identity
from sky_core.api.amounts import held
from sky_core.api.decoding import decoded
from sky_core.api.faults import Fault
from sky_core.api.identity import Key
from sky_core.api.instants import instant_at
from sky_core.api.selection import selector
from sky_core.api.wire import core, crds
from sky_core.model import Instant, JobQueue, Queue, QueueName
from sky_core.selectors import EVERYTHING, Labels


def read_queue(raw: Mapping[str, Any]) -> Queue:
    """A Queue.

    Raises:
        Invalid: It is malformed.
    """
    written = decoded(raw, crds.Queue)
    meta, spec = written.metadata, written.spec
    namespaces = selector("spec.namespaceSelector", spec.namespace_selector) if spec.namespace_selector else EVERYTHING
    return Queue(
        name=QueueName(identity.name("metadata.name", meta.name)),
        created=instant_at("metadata.creationTimestamp", meta.creation_timestamp),
        weight=spec.weight,
        priority=spec.priority,
        capability=None if spec.capability is None else held("spec.capability", spec.capability),
        namespaces=namespaces if namespaces.requirements else None,
        open=spec.state == "Open",
    )


def spoilt_queue(key: Key, fault: Fault) -> Queue | None:
    """A malformed Queue: it is there, so that its jobs are told."""
    return Queue(name=QueueName(key.name), created=Instant(0), fault=str(fault)) if key.is_proper else None


def read_job_queue(raw: Mapping[str, Any]) -> JobQueue:
    """A JobQueue.

    Raises:
        Invalid: It is malformed.
    """
    written = decoded(raw, crds.JobQueue)
    meta, spec = written.metadata, written.spec
    return JobQueue(
        name=identity.name("metadata.name", meta.name),
        queue=QueueName(identity.name("spec.queueName", spec.queue_name)),
        created=instant_at("metadata.creationTimestamp", meta.creation_timestamp),
        priority=spec.priority,
        jobs=selector("spec.jobSelector", spec.job_selector),
        running_max=spec.max_running_jobs,
        capability=None if spec.capability is None else held("spec.capability", spec.capability),
        strict=spec.policy == "StrictFIFO",
        suspended=spec.suspend,
    )


def read_namespace(raw: Mapping[str, Any]) -> Labels:
    """A Namespace's labels, with the one of its name that every server sets.

    Raises:
        Invalid: It is malformed.
    """
    written = decoded(raw, core.Namespace)
    name = identity.name("metadata.name", written.metadata.name)
    return {**written.metadata.labels, _NAME_LABEL: name}


_NAME_LABEL: Final = "kubernetes.io/metadata.name"
