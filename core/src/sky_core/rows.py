"""Jobs of one task that come one after the other: as many as go the way of the first are dealt with at once."""

from collections.abc import Sequence
from itertools import takewhile
from typing import Final

from sky_core.model import Job, NodeName, Task
from sky_core.placing import GATES, confines
from sky_core.plugin import Parcel
from sky_core.session import Session
from sky_core.states import TaskState

_READY: Final = frozenset({"gang"})
"""Who lets pass at jobReady a job whose only task is bound."""


def place_row(session: Session, jobs: Sequence[Job], at: int) -> int:
    """Hop 2: place the jobs from there on, as long as the node that is best for the first is for the next; how many."""
    if not session.shelves.runs or not set(session.points.names("quotaAllocate")) <= GATES:
        return 0
    first = _parcel(session, jobs[at])
    if first is None or session.points["qn.prePredicate"](first):
        return 0
    area = confines(session, jobs[at], first)
    node = session.survey.best(first, area)
    if node is None:
        return 0
    row = [first]
    for job in jobs[at + 1 : at + session.survey.lasts(first, node)]:
        parcel = _parcel(session, job)
        if parcel is None or parcel.pattern is not first.pattern or confines(session, job, parcel) != area:
            break
        row.append(parcel)
    with session.trial() as trial:
        trial.bind_quotas({node: [parcel.quota.name for parcel in row]}, first.footprint)
        session.survey.placed(first, {node: len(row)})
        trial.commit()
    return len(row)


def bind_row(session: Session, jobs: Sequence[Job], at: int) -> int:
    """Hop 3: bind the jobs from there on, as far as their tasks are alike and go to one node; how many."""
    if not set(session.points.names("jobReady")) <= _READY:
        return 0
    first = _task(session, jobs[at])
    node = _node(session, first) if first is not None else None
    if first is None or node is None:
        return 0

    def alike(job: Job) -> bool:
        task = _task(session, job)
        return task is not None and task.shape is first.shape and _node(session, task) == node

    most = session.survey.binds(first, session.world.nodes[node])
    row = list(takewhile(alike, jobs[at : at + most]))
    if not row:
        return 0
    with session.trial() as trial:
        trial.bind_run([session.world.tasks[job.tasks[0]] for job in row], node)
        trial.commit()
    return len(row)


def _task(session: Session, job: Job) -> Task | None:
    """The only task of a job, that claims a quota."""
    if not len(job.tasks) == 1 == job.min_member or job.min_task_member:
        return None
    task = session.world.tasks[job.tasks[0]]
    return task if task.state is TaskState.ALLOCATED_TO_QUOTA else None


def _parcel(session: Session, job: Job) -> Parcel | None:
    """Its quota, which is on no node, and nobody else's."""
    task = _task(session, job)
    if task is None or job.topology.on:
        return None
    parcels = session.parcels.of(job, (task,))
    return parcels[0] if parcels and len(parcels[0].tasks) == 1 else None


def _node(session: Session, task: Task) -> NodeName | None:
    """The node of the quota that a task claims, where there is such a node."""
    node = session.world.quotas[task.quota].node if task.quota is not None else None
    return node if node in session.world.nodes else None
