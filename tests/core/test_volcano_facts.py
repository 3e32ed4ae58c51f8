"""What Volcano's own tests say, in two hops: each pod needs a quota first, so there are as many as are wanted."""

import pytest

from sky_core.cycle import default_policy
from sky_core.decisions import BindTask, Certificate
from sky_core.expressions import Kind, compile_expression, parse
from sky_core.model import Instant, JobId, NodeName, TaskId
from sky_core.resources import NOTHING
from sky_core.statement import Statement
from sky_core.states import TaskState
from sky_core.testing import rows
from sky_core.testing.likeness import likeness
from sky_core.testing.table import check
from sky_core.world import World

POLICY = default_policy()


def test_fact_1_a_gang_by_roles_goes_on_past_a_failed_member_of_a_role() -> None:
    check(
        POLICY,
        """
        node  n1  cpu=1  label.role=master
        node  n2  cpu=1  label.role=worker
        quota q1  cpu=1
        quota q2  cpu=1
        quota q3  cpu=1
        quota q4  cpu=1
        job   j   min=2  roles=master:1,worker:1
        task  m-0 cpu=1  job=j role=master select=role:master  -> n1
        task  m-1 cpu=1  job=j role=master select=role:master  -> waits
        task  w-0 cpu=1  job=j role=worker select=role:worker  -> n2
        task  w-1 cpu=1  job=j role=worker select=role:worker  -> waits
        """,
    )


def test_fact_2_a_role_below_its_minimum_starts_nothing() -> None:
    check(
        POLICY,
        """
        node  n1  cpu=1  label.role=master
        node  n2  cpu=2  label.role=worker
        quota q1  cpu=1  -> empty
        quota q2  cpu=1  -> empty
        quota q3  cpu=1  -> empty
        quota q4  cpu=1  -> empty
        job   j   min=2  roles=master:2,worker:0
        task  m-0 cpu=1  job=j role=master select=role:master  -> waits
        task  m-1 cpu=1  job=j role=master select=role:master  -> waits
        task  w-0 cpu=1  job=j role=worker select=role:worker  -> waits
        task  w-1 cpu=1  job=j role=worker select=role:worker  -> waits
        """,
    )


def test_fact_4_equal_queues_get_equal_parts() -> None:
    check(
        POLICY,
        """
        node  n1  cpu=2
        queue a
        queue b
        quota qa1 cpu=1  queue=a
        quota qa2 cpu=1  queue=a
        quota qb1 cpu=1  queue=b
        quota qb2 cpu=1  queue=b
        job   ja  min=1  queue=a
        job   jb  min=1  queue=b
        task  a-0 cpu=1  job=ja  -> n1
        task  a-1 cpu=1  job=ja  -> waits
        task  b-0 cpu=1  job=jb  -> n1
        task  b-1 cpu=1  job=jb  -> waits
        """,
    )


def test_fact_5_a_queue_whose_head_does_not_fit_blocks_no_other() -> None:
    check(
        POLICY,
        """
        node  n1  cpu=2
        queue a
        queue b
        quota qa  cpu=3  queue=a
        quota qb  cpu=1  queue=b
        task  w-a cpu=3  queue=a  -> waits NeverFits
        task  w-b cpu=1  queue=b  -> qb n1
        """,
    )


def test_fact_6_the_queue_that_holds_less_goes_first() -> None:
    check(
        POLICY,
        """
        node  n1  cpu=5
        queue a
        queue b
        quota qa  cpu=1  queue=a  node=n1
        quota qa2 cpu=2  queue=a
        quota qb  cpu=3  queue=b
        task  r-a cpu=1  queue=a  on=n1 claims=qa
        task  w-a cpu=2  queue=a  -> waits InsufficientQuotaIdle
        task  w-b cpu=3  queue=b  -> qb n1
        """,
    )


def test_fact_7_shares_are_read_again_after_each_job() -> None:
    check(
        POLICY,
        """
        node  n1  cpu=5
        queue a
        queue b
        quota qa  cpu=1  queue=a  node=n1
        quota qa2 cpu=2  queue=a
        quota qb1 cpu=2  queue=b
        quota qb2 cpu=1  queue=b
        task  r-a cpu=1  queue=a  on=n1 claims=qa
        task  w-a cpu=2  queue=a  -> qa2 n1
        task  v-b cpu=2  queue=b  -> qb1 n1
        task  w-b cpu=1  queue=b  -> waits InsufficientQuotaIdle
        """,
    )


def test_fact_23_a_job_is_let_into_a_queue_that_exists_and_has_its_least() -> None:
    tale = check(
        POLICY,
        """
        node  n1
        queue a   cap.cpu=1
        quota q1  cpu=1  queue=a
        job   j0  queue=nowhere         -> waits QueueNotFound
        job   j1  queue=a least.cpu=8   -> waits QueueCapabilityExceeded
        job   j2  queue=a               -> done
        task  w-0 cpu=1  job=j0         -> waits
        task  w-1 cpu=1  job=j1         -> waits
        task  w-2 cpu=1  job=j2         -> q1 n1
        """,
    )
    assert tale.told["jobs"]["default/j1"]["phase"] == "Pending"


@pytest.mark.parametrize(
    ("more", "outcome"),
    [
        pytest.param("", "done", id="nothing waits"),
        pytest.param("task w-2 gpu=1 job=j -> waits", "waits InsufficientQuota", id="a replacement waits"),
    ],
)
def test_fact_24_a_gang_with_a_terminating_member_is_told_only_if_somebody_waits(more: str, outcome: str) -> None:
    check(
        POLICY,
        f"""
        node  n1
        quota q1  node=n1 gpu=2
        job   j   min=2  -> {outcome}
        task  w-0 gpu=1  job=j on=n1 claims=q1
        task  w-1 gpu=1  job=j on=n1 claims=q1 leaving
        {more}
        """,
    )


def test_fact_24_a_terminating_pod_that_never_had_a_node_is_no_member() -> None:
    check(
        POLICY,
        """
        node  n1
        quota q1  gpu=1  -> empty
        quota q2  gpu=1  -> empty
        job   j   min=2  -> waits NotEnoughTasks
        task  w-0 gpu=1  job=j
        task  w-1 gpu=1  job=j leaving
        """,
    )


def a_claim_on_a_node() -> World:
    return rows.world(rows.node("n1"), rows.job("w"), rows.quota("q", node="n1"), rows.task("w-0", quota="q"))


TASK = TaskId("uid-w-0")


def test_fact_26_what_fails_within_a_trial_leaves_no_trace() -> None:
    world = a_claim_on_a_node()
    before = likeness(world)
    for move in (Statement.allocate, Statement.pipeline):
        with pytest.raises(KeyError), Statement(world, Instant(0)) as trial:
            move(trial, world.tasks[TASK], NodeName("nowhere"))

        assert likeness(world) == before


def test_fact_26_a_trial_that_is_not_kept_restores_the_world() -> None:
    world = a_claim_on_a_node()
    before = likeness(world)
    with Statement(world, Instant(0)) as trial:
        trial.allocate(world.tasks[TASK], NodeName("n1"))
        trial.bind(world.tasks[TASK])
        assert likeness(world) != before

    assert likeness(world) == before


def test_fact_26_what_an_inner_trial_keeps_belongs_to_the_outer_one() -> None:
    world = a_claim_on_a_node()
    before = likeness(world)
    with Statement(world, Instant(0)) as outer:
        with Statement(world, Instant(0)) as inner:
            inner.allocate(world.tasks[TASK], NodeName("n1"))
            inner.bind(world.tasks[TASK])
            inner.commit()
        assert [type(decision) for decision in outer.decisions()] == [BindTask]

    assert likeness(world) == before


def test_fact_26_who_was_evicted_is_known_by_it() -> None:
    world = rows.world(rows.node("n1", exclusive=8000), rows.job("s"), rows.spot_task("s-0", 1, node="n1"))
    victim = TaskId("uid-s-0")
    certificate = Certificate(
        claimant=JobId("default/w"), node=NodeName("n1"), needed=NOTHING, idle=NOTHING, frees=(), cost=0, alone=None
    )
    with Statement(world, Instant(0)) as trial:
        trial.evict(world.tasks[victim], certificate)
        assert (world.tasks[victim].state, world.tasks[victim].evicted) == (TaskState.RELEASING, True)

    assert not world.tasks[victim].evicted
    assert trial.certificates == {}


SOME, OTHERS, NOBODY = frozenset({"a", "b"}), frozenset({"b", "c"}), frozenset[str]()


@pytest.mark.parametrize(
    ("answers", "victims"),
    [
        pytest.param([SOME, OTHERS], {"b"}, id="who is a victim for all"),
        pytest.param([None, OTHERS], {"b", "c"}, id="who abstains is skipped"),
        pytest.param([NOBODY, OTHERS], set(), id="an empty answer vetoes"),
        pytest.param([SOME, frozenset({"c"})], set(), id="what becomes empty stays empty"),
        pytest.param([], set(), id="nobody answers"),
    ],
)
def test_fact_27_victims_are_those_of_all_plugins_and_an_empty_answer_vetoes(
    answers: list[frozenset[str] | None], victims: set[str]
) -> None:
    """Upstream hands an empty answer to the next tier; here it is an answer (behaviour.md 6)."""
    functions = {f"p{i}": lambda *_, answer=answer: answer for i, answer in enumerate(answers)}
    combined = compile_expression(parse("intersect(*)"), Kind.SET, "reclaimable", list(functions), strict=True)
    assert combined.bind(functions)("claimant", ["a", "b", "c"]) == victims
