import pytest

from sky_core.decisions import BindTask
from sky_core.model import JobId, NodeName, TaskId
from sky_core.testing import rows
from sky_scheduler.plans import Quorum, quorum


def gang(minimum: int, placed: list[str], coming: list[str], **roles: int) -> tuple[Quorum, list[TaskId]]:
    """Of a job with members of these roles on a node, and of these to be bound."""
    tasks = [rows.task(f"w-{i}", role=role, node="n") for i, role in enumerate(placed)]
    tasks += [rows.task(f"w-{len(placed) + i}", role=role) for i, role in enumerate(coming)]
    job = rows.job("w", minimum, min_task_member=tuple(roles.items()))
    world = rows.world(rows.node("n"), *tasks, job)
    new = [task.id for task in tasks[len(placed) :]]
    binds = [BindTask(task=id_, job=JobId("default/w"), node=NodeName("n"), quota=None) for id_ in new]
    return quorum(world, world.jobs[JobId("default/w")], binds), new


@pytest.mark.parametrize(
    ("minimum", "placed", "coming", "roles", "enough"),
    [
        (2, [], ["", ""], {}, {2}),
        (2, [], ["", "", ""], {}, {2, 3}),
        (3, ["", "", ""], ["", ""], {}, {0, 1, 2}),
        (4, ["", ""], ["", ""], {}, {2}),
        (4, [], ["", ""], {}, {2}),
    ],
    ids=[
        "all of a gang",
        "extras may be left",
        "a full gang's extras",
        "lost members together",
        "fewer than its minimum",
    ],
)
def test_so_many_must_be_bound_together(
    minimum: int, placed: list[str], coming: list[str], roles: dict[str, int], enough: set[int]
) -> None:
    found, tasks = gang(minimum, placed, coming, **roles)
    assert {n for n in range(len(tasks) + 1) if found.is_met(tasks[:n])} == enough


def test_no_role_may_be_missing() -> None:
    found, (master, first, second) = gang(2, [], ["master", "worker", "worker"], master=1, worker=1)
    assert found.is_met([master, second])
    assert not found.is_met([first, second])
