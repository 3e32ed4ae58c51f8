import pytest

from sky_core.cycle import default_policy
from sky_core.testing.table import TableError, check

POLICY = default_policy()

STARTED = """
    node  n1  gpu=8  zone=roce#s1   # one node
    quota q1  gpu=1  -> n1
    quota q2  gpu=8  -> empty
    job   j   min=1  -> done
    task  w0  gpu=1  job=j  -> q1 n1
    task  w1  gpu=8  -> waits InsufficientQuotaIdle
"""


def test_what_becomes_of_a_table_may_be_as_expected() -> None:
    tale = check(POLICY, STARTED)
    assert tale.place("w0") == "n1"


@pytest.mark.parametrize(
    ("right", "wrong", "happened"),
    [
        pytest.param("gpu=1  job=j  -> q1 n1", "gpu=1  job=j  -> q2 n1", "q1 n1", id="the quota of a task"),
        pytest.param("gpu=1  job=j  -> q1 n1", "gpu=1  job=j  -> waits", "q1 n1", id="that a task waits"),
        pytest.param("gpu=1  job=j  -> q1 n1", "gpu=1  job=j  -> evicted", "q1 n1", id="that a task is evicted"),
        pytest.param(
            "-> waits InsufficientQuotaIdle", "-> waits PortConflict", "waits InsufficientQuotaIdle", id="why"
        ),
        pytest.param("-> waits InsufficientQuotaIdle", "-> n1", "waits InsufficientQuotaIdle", id="the node of a task"),
        pytest.param("gpu=1  -> n1", "gpu=1  -> empty", "n1", id="that a quota is on no node"),
        pytest.param("-> empty", "-> n1", "empty", id="the node of a quota"),
        pytest.param("min=1  -> done", "min=1  -> waits", "done", id="that a job waits"),
        pytest.param("min=1  -> done", "min=2  -> done", "waits NotEnoughTasks", id="that a job is done"),
        pytest.param("min=1  -> done", "min=1  -> in s2", "in roce#s1", id="the zones of a job"),
    ],
)
def test_every_expectation_can_fail(right: str, wrong: str, happened: str) -> None:
    assert right in STARTED
    with pytest.raises(AssertionError) as failure:
        check(POLICY, STARTED.replace(right, wrong))
    marked = [line for line in str(failure.value).splitlines() if line.startswith("!")]
    assert any(wrong in line and f"| {happened}" in line for line in marked), str(failure.value)


def test_a_failure_shows_the_whole_table_with_what_has_become_of_each_line() -> None:
    with pytest.raises(AssertionError) as failure:
        check(POLICY, "node n1\nquota q1\ntask w0  -> waits SpecMismatch\nquota q2 -> empty\n")
    assert str(failure.value).splitlines() == [
        "not as expected:",
        "  node n1",
        "  quota q1                        | n1",
        "! task w0  -> waits SpecMismatch  | q1 n1",
        "  quota q2 -> empty               | empty",
    ]


def test_a_task_may_be_expected_on_a_node_whatever_its_quota() -> None:
    check(POLICY, "node n1\nquota q1\ntask w0 -> n1\n")
    with pytest.raises(AssertionError):
        check(POLICY, "node n1\nnode n2\nquota q1\ntask w0 -> n2\n")


def test_an_evicted_task_is_expected_so() -> None:
    check(
        POLICY,
        """
        node  n1  gpu=4 spot=4
        quota q1  gpu=4
        task  s0  spot=2  on=n1  -> evicted
        task  w0  gpu=4          -> waits WaitingForRelease
        """,
    )


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("node n2 zon=s1", "a node knows no zon"),
        ("node n2 cordoned=yes", "cordoned takes no value"),
        ("node n2 zone", "write zone=VALUE"),
        ("node n2 zone=", "says nothing"),
        ("node n2 gpu=1 gpu=2", "gpu is said twice"),
        ("node", "write KIND NAME"),
        ("task w9 ->", "write KIND NAME"),
        ("node n1", "it is there twice"),
        ("pod w9", "there are node, quota"),
        ("gone w0", "there are node, quota"),
        ("node n2 -> n1", "nothing of this kind can be expected"),
        ("task w9 -> q9 n1", "nothing of this kind can be expected"),
        ("task w9 -> waits Boredom", "nothing of this kind can be expected"),
        ("quota q9 -> q1", "nothing of this kind can be expected"),
        ("job k -> waits Boredom", "nothing of this kind can be expected"),
        ("job k roles=master", "write roles=KEY:VALUE"),
        ("job k roles=master:x", "write roles=ROLE:NUMBER"),
        ("job k min=two", "min is a whole number"),
        ("job k topology=yes", "topology is one of on, off"),
        ("quota q9 keeps=w9", "there is no task w9"),
    ],
)
def test_a_table_that_cannot_be_read_is_refused_with_its_line(line: str, fault: str) -> None:
    with pytest.raises(TableError) as error:
        check(POLICY, f"node n1\nquota q1\n\n{line}\n")
    assert fault in str(error.value)
    assert str(error.value).startswith("line 4: ")


def test_a_claim_must_be_on_a_quota_that_is_there() -> None:
    with pytest.raises(TableError, match="claims of q9"):
        check(POLICY, "node n1\ntask w0 claims=q9\n")


def test_what_happens_later_is_told_with_its_time() -> None:
    check(
        POLICY,
        """
        node  n1  gpu=1
        quota q1
        quota q2
        task  w0           -> n1
        task  w1           -> q1 n1
        @3s ends w0
        """,
        cycles=20,
    )
    check(
        POLICY,
        """
        node  n1  gpu=1
        quota q1          -> empty
        task  w0
        @3s gone n1 kind=node
        @3s gone w0
        """,
        cycles=20,
    )


def test_a_place_is_kept_for_a_lost_task() -> None:
    check(
        POLICY,
        """
        node  n1
        node  n2
        quota q1 gpu=2 node=n2 keeps=w-0
        task  w-0  -> q1 n2
        task  x    -> q1 n2
        """,
    )
