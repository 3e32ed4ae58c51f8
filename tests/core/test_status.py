from typing import Any

import pytest

from sky_core.model import JobId, QueueName
from sky_core.reasons import Rung, Verdict
from sky_core.resources import NOTHING
from sky_core.selectors import equals
from sky_core.settings import Settings
from sky_core.states import TaskState
from sky_core.status import (
    Counts,
    Phase,
    SpecPool,
    job_queue_statuses,
    phase,
    queue_statuses,
    quota_spec,
    task_counts,
    zones,
)
from sky_core.testing.rows import DEFAULT, Row, claim, gpus, job, job_queue, node, quota, spot_task, task, world

SPEC = "scheduling.infini-ai.com/spec"
W = JobId("default/w")


def of(verdict: Verdict | None, *rows: Row) -> Phase:
    w = world(*rows)
    return phase(w, w.jobs[W], verdict)


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ("Pending Pending", Phase.INQUEUE),
        ("Running Pending", Phase.UNKNOWN),
        ("Running Bound", Phase.RUNNING),
        ("Running Succeeded", Phase.RUNNING),
        ("Running Failed", Phase.UNKNOWN),
        ("Succeeded Succeeded", Phase.COMPLETED),
        ("Succeeded Failed", Phase.UNKNOWN),
        ("Failed Failed", Phase.INQUEUE),
        ("Running Releasing", Phase.UNKNOWN),
    ],
)
def test_the_phase_of_a_gang_of_two_follows_its_tasks(states: str, expected: Phase) -> None:
    tasks = [task(f"w-{i}", state=TaskState(state)) for i, state in enumerate(states.split())]
    assert of(Verdict(Rung.ALLOCATE_JOB), job("w", 2), *tasks) is expected


def test_a_job_that_was_not_let_in_is_pending() -> None:
    assert of(None, job("w"), task("w-0")) is Phase.PENDING
    assert of(Verdict(Rung.ENQUEUE), job("w"), task("w-0")) is Phase.PENDING


def test_a_job_runs_only_with_the_minimum_of_each_role() -> None:
    gang = job("w", 2, min_task_member=(("master", 1), ("worker", 1)))
    workers = [task(f"w-{i}", node="n0", role="worker") for i in range(2)]
    assert of(None, gang, *workers) is Phase.UNKNOWN
    assert of(None, gang, *workers, task("w-2", node="n0", role="master")) is Phase.RUNNING


def test_tasks_are_counted_by_where_they_stand() -> None:
    states = (TaskState.PENDING, TaskState.ALLOCATED_TO_QUOTA, TaskState.BOUND, TaskState.RUNNING, TaskState.FAILED)
    w = world(job("w"), *(task(f"w-{i}", state=state) for i, state in enumerate(states)))
    assert task_counts(w, w.jobs[W]) == Counts(pending=2, running=2, failed=1)


def test_a_jobs_zones_are_named_once_in_rank_order() -> None:
    nodes = [node("n0", zone="b"), node("n1", zone="a"), node("n2")]
    tasks = [task(f"w-{i}", node=f"n{on}") for i, on in enumerate((0, 0, 2, 1))]
    w = world(*nodes, job("w"), *tasks, task("w-9"))
    assert zones(w, w.jobs[W]) == ("b", "a")


@pytest.mark.parametrize(
    ("labels", "code"),
    [
        ({}, ""),
        ({"nvidia.com/gpu.product": "A"}, "A"),
        ({"nvidia.com/gpu.product": "A", SPEC: "B"}, "B"),
        ({"nvidia.com/gpu.product-of-somewhere": "C", SPEC: "B"}, "C"),
        ({f"{SPEC}-b": "B", f"{SPEC}-a": "A"}, "A"),
        ({"other": "A"}, ""),
    ],
)
def test_the_longest_key_with_a_known_prefix_names_the_card(labels: dict[str, str], code: str) -> None:
    selector = equals(labels)
    assert quota_spec(world(), quota("q", selector=selector), Settings()) == code


def pools(*rows: Row) -> dict[str, SpecPool]:
    return dict(queue_statuses(world(*rows), Settings())[DEFAULT].pools)


def test_a_bound_quota_counts_to_its_nodes_card_and_a_free_one_to_what_it_asks() -> None:
    pod = task("w-0", node="n0")
    bound = quota("q", node="n0", selector=equals({SPEC: "h100"}), claims=(claim(pod),), shadow=gpus(2))
    free = quota("r", 4, selector=equals({SPEC: "h100"}))
    assert pools(node("n0", spec="a100"), job("w"), pod, bound, free, quota("s", 1)) == {
        "": SpecPool(allocatable=gpus(1)),
        "a100": SpecPool(allocatable=gpus(8), allocated=gpus(1), shadow=gpus(2)),
        "h100": SpecPool(allocatable=gpus(4)),
    }


def test_a_queue_is_charged_with_claims_and_spot_of_its_jobs_whoever_owns_the_quota() -> None:
    pod, spot, waiting = task("w-0", node="n0"), spot_task("s-0", 2, node="n0"), spot_task("s-1", 2)
    lent = quota("q", node="n0", queue=QueueName("lender"), claims=(claim(pod),))
    rows: tuple[Any, ...] = (node("n0"), job("w"), job("s"), pod, spot, waiting, lent)
    status = queue_statuses(world(*rows), Settings())[DEFAULT]
    assert status.allocated == gpus(1) + spot.shape.request
    assert (status.pools, status.jobs) == ({}, Counts(running=2))


def test_a_job_counts_to_the_matching_job_queue_of_highest_priority() -> None:
    lanes = [
        job_queue("b", priority=2),
        job_queue("a", priority=2),
        job_queue("c", jobs=equals({"lane": "x"}), priority=9),
    ]
    w = world(job("w"), task("w-0"), *lanes)
    assert job_queue_statuses(w)["a"].jobs == Counts(pending=1)
    assert job_queue_statuses(w)["c"].allocated == NOTHING
