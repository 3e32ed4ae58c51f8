"""What was decided and is not seen yet counts as done, and nothing else is decided on it."""

from collections.abc import Iterable
from typing import Any

from sky_core import invariants
from sky_core.api.intake import Intake
from sky_core.cycle import Outcome, default_policy, schedule
from sky_core.decisions import BindTask, Decision, EvictTask, WriteQuota
from sky_core.memory import Memory
from sky_core.model import SECOND, Instant, JobId, NodeName, QuotaName, TaskId
from sky_core.reasons import Code, Topic
from sky_core.settings import Settings
from sky_core.states import TaskState
from sky_core.testing.objects import CREATED, GPU, SPOT, claim, group, job_queue, node, pod, queue, quota
from sky_core.world import World

Object = dict[str, Any]
POLICY = default_policy()
NOW = Instant(1_767_225_600 * SECOND)
Q, N = QuotaName("q"), NodeName("n")


class Between:
    """What goes on between cycles."""

    def __init__(self, *objects: Object) -> None:
        self.intake = Intake(Settings())
        self.memory = Memory()
        self.now = NOW
        self.put(queue("default"), *objects)

    def put(self, *objects: Object) -> None:
        for each in objects:
            self.intake.put(each)

    def cycle(self) -> Outcome:
        self.now = Instant(self.now + SECOND)
        outcome, self.memory = schedule(self.intake.world(), self.memory, POLICY, self.now)
        return outcome

    def assume(self, decisions: Iterable[Decision]) -> World:
        for decision in decisions:
            self.intake.assume(decision)
        return self.world()

    def forget(self, decisions: Iterable[Decision]) -> World:
        for decision in decisions:
            self.intake.forget(decision)
        return self.world()

    def world(self) -> World:
        world = self.intake.world()
        assert invariants.check(world) == ()
        return world


def uid(name: str) -> TaskId:
    return TaskId(f"Pod/default/{name}")


def written(*pods: str, **fields: Any) -> Object:
    return quota(
        "q", {GPU: "8"}, status={"nodeName": "n", "tasks": [claim(name, {GPU: "1"}, **fields) for name in pods]}
    )


def test_what_is_decided_counts_as_done_until_it_is_answered() -> None:
    between = Between(node("n"), quota("q"), pod("w", {GPU: "1"}))
    outcome = between.cycle()
    assert [type(one) for one in outcome.decisions] == [WriteQuota, BindTask]
    world = between.assume(outcome.decisions)
    assert (world.quotas[Q].node, world.quotas[Q].pending) == (N, True)
    assert [one.task for one in world.quotas[Q].claims] == [uid("w")]
    assert (world.tasks[uid("w")].state, world.tasks[uid("w")].node) == (TaskState.BINDING, N)
    assert world.books[N].idle[GPU] == 7000
    assert world.unanswered == {JobId("default/pod/w")}
    again = between.cycle()
    assert (again.decisions, again.verdicts) == ((), {})
    world = between.forget(outcome.decisions)
    assert (world.quotas[Q].node, world.quotas[Q].pending, world.quotas[Q].claims) == (None, False, ())
    assert (world.tasks[uid("w")].state, world.tasks[uid("w")].node) == (TaskState.PENDING, None)
    assert (world.books[N].idle[GPU], world.unanswered) == (8000, frozenset())


def test_a_bind_is_assumed_until_the_pod_shows_it() -> None:
    between = Between(node("n"), written("w"), pod("w", {GPU: "1"}))
    (bind,) = between.cycle().decisions
    between.assume([bind])
    between.put(pod("w", {GPU: "1"}, metadata={"labels": {"a": "b"}}))
    assert between.world().tasks[uid("w")].state is TaskState.BINDING
    between.put(pod("w", {GPU: "1"}, on="n", phase="Pending"))
    assert between.world().tasks[uid("w")].state is TaskState.BOUND
    assert between.world().unanswered == frozenset()
    between.put(pod("w", {GPU: "1"}))
    assert between.world().tasks[uid("w")].state is TaskState.ALLOCATED_TO_QUOTA


def test_nothing_is_assumed_of_a_pod_that_is_gone() -> None:
    between = Between(node("n"), written("w"), pod("w", {GPU: "1"}))
    between.assume(between.cycle().decisions)
    between.intake.remove("Pod", "default", "w")
    assert between.world().unanswered == frozenset()
    between.put(pod("w", {GPU: "1"}))
    assert between.world().tasks[uid("w")].state is TaskState.ALLOCATED_TO_QUOTA


def test_a_pod_that_is_told_to_go_while_it_is_bound_still_counts_on_the_node() -> None:
    between = Between(node("n"), written("w"), pod("w", {GPU: "1"}))
    between.assume(between.cycle().decisions)
    between.put(pod("w", {GPU: "1"}, metadata={"deletionTimestamp": CREATED}))
    world = between.world()
    assert world.tasks[uid("w")].state is TaskState.RELEASING
    assert world.books[N].idle[GPU] == 7000


def test_an_eviction_is_assumed_until_the_pod_shows_it() -> None:
    spot = [pod(f"s{i}", {SPOT: "1"}, on="n", notes={"spot-pool": "exclusive"}) for i in range(8)]
    between = Between(node("n", notes={"spot-pools": '{"exclusive": 8}'}), quota("q"), pod("w", {GPU: "1"}), *spot)
    first = between.cycle().decisions
    (eviction,) = (one for one in first if isinstance(one, EvictTask))
    between.assume(first)
    assert between.world().tasks[eviction.task].state is TaskState.RELEASING
    (write,) = (one for one in first if isinstance(one, WriteQuota))
    between.forget([write])
    between.put(written("w"))
    waits = between.cycle()
    assert waits.decisions == ()
    assert waits.verdicts[JobId("default/pod/w")].codes() == (Code.WAITING_FOR_RELEASE,)
    between.forget([eviction])
    assert between.world().tasks[eviction.task].state is TaskState.RUNNING
    assert [type(one) for one in between.cycle().decisions] == [EvictTask]


def test_another_quota_of_the_name_is_not_meant() -> None:
    between = Between(node("n"), quota("q", metadata={"uid": "1"}), pod("w", {GPU: "1"}))
    between.assume(one for one in between.cycle().decisions if isinstance(one, WriteQuota))
    assert between.world().quotas[Q].pending
    between.put(quota("q", metadata={"uid": "2"}))
    world = between.world()
    assert (world.quotas[Q].pending, world.quotas[Q].node) == (False, None)


def test_nobody_claims_what_is_being_written_and_it_is_open_again_once_it_is_not() -> None:
    between = Between(node("n"), quota("q", {GPU: "8"}), pod("w", {GPU: "1"}))
    decisions = between.cycle().decisions
    between.assume(decisions)
    between.put(pod("late", {GPU: "1"}), pod("named", {GPU: "1"}, notes={"quota-name": "q"}))
    outcome = between.cycle()
    assert outcome.decisions == ()
    assert outcome.verdicts[JobId("default/pod/late")].codes() == (Code.INSUFFICIENT_QUOTA,)
    assert Code.QUOTA_UNAVAILABLE in outcome.verdicts[JobId("default/pod/named")].codes()
    before = between.world().openings[Topic.QUOTA]
    between.put(written("w"))
    between.forget(decisions[:1])
    assert between.world().openings[Topic.QUOTA] > before
    assert {type(one) for one in between.cycle().decisions} == {WriteQuota, BindTask}


def test_a_full_quota_that_was_written_opens_nothing() -> None:
    between = Between(node("n"), quota("q"), pod("w", {GPU: "1"}))
    decisions = between.cycle().decisions
    between.assume(decisions)
    before = between.world().openings[Topic.QUOTA]
    between.put(quota("q", status={"nodeName": "n", "tasks": [claim("w", {GPU: "1"})]}))
    between.forget(decisions[:1])
    assert between.world().openings[Topic.QUOTA] == before


def test_claims_of_gone_pods_and_empty_quotas_wait_while_they_are_written() -> None:
    between = Between(node("n"), written("gone"))
    (release,) = between.cycle().decisions
    assert isinstance(release, WriteQuota)
    between.assume([WriteQuota.of(between.world().quotas[Q])])
    assert between.cycle().decisions == ()
    empty = Between(node("n"), quota("q", status={"nodeName": "n"}))
    empty.assume([WriteQuota.of(empty.world().quotas[Q])])
    assert empty.cycle().decisions == ()


def test_a_job_whose_claims_are_given_back_is_left_alone_until_that_is_written() -> None:
    between = Between(node("n", unschedulable=True), written("w"), pod("w", {GPU: "1"}))
    (release,) = between.cycle().decisions
    assert isinstance(release, WriteQuota)
    assert release.claims == ()
    between.assume([release])
    between.put(node("m"), quota("other"))
    attempts = between.memory.attempts
    assert between.cycle().decisions == ()
    assert between.memory.attempts == attempts


def test_refused_bindings_are_counted_although_they_were_unanswered_in_between() -> None:
    between = Between(node("n"), written("w"), pod("w", {GPU: "1"}))
    for count in (1, 2, 3):
        decisions = between.cycle().decisions
        assert [type(one) for one in decisions] == [BindTask]
        between.assume(decisions)
        assert between.cycle().decisions == ()
        assert between.memory.binds == {uid("w"): count}
        between.forget(decisions)
    refused = between.cycle()
    assert refused.verdicts[JobId("default/pod/w")].codes() == (Code.BIND_REFUSED,)
    assert [type(one) for one in refused.decisions] == [WriteQuota]


def test_a_job_on_its_way_takes_its_place_among_those_that_a_job_queue_lets_run() -> None:
    between = Between(
        node("n"),
        quota("q"),
        quota("r"),
        job_queue("jq", maxRunningJobs=1),
        group("a"),
        pod("a-0", {GPU: "1"}, group="a"),
    )
    between.assume(one for one in between.cycle().decisions if isinstance(one, WriteQuota))
    between.put(group("b"), pod("b-0", {GPU: "1"}, group="b"))
    outcome = between.cycle()
    assert outcome.decisions == ()
    assert outcome.verdicts[JobId("default/b")].codes() == (Code.BLOCKED_BY_JOB_QUEUE,)
