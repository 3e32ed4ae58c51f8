"""JobQueues: which jobs of a Queue are let in, and in what order (behaviour.md 7.5)."""

from typing import Any

import pytest

from sky_core.testing.objects import SPOT, Object, job_queue, node, pod, priority_class, queue, quota
from sky_core.testing.stories import Stage, at, cards, ended, fixed, gang, gone, spot, spot_node, tell


def lane(name: str, priority: int = 0, **spec: Any) -> Object:
    """A JobQueue of the queue `default` for jobs labelled with its name."""
    chosen = {"queueName": "default", "priority": priority, "jobSelector": {"matchLabels": {"lane": name}}}
    return job_queue(name, **{**chosen, **spec})


def job(name: str, lane: str, count: int = 4, size: int = 1, **group: Any) -> list[Object]:
    """A gang whose PodGroup carries the label; `age` in seconds."""
    metadata: Object = {"labels": {"lane": lane}}
    if (age := group.pop("age", None)) is not None:
        metadata["creationTimestamp"] = f"2025-12-31T23:59:{59 - age:02}Z"
    return gang(name, size, cards(count), group={"metadata": metadata, **group})


def room(total: int = 8, each: int = 4) -> list[Object]:
    """A node, and quotas for all of it."""
    return [node("n0"), *(quota(f"q-{i}", cards(each)) for i in range(total // each))]


def test_without_job_queues_every_job_is_let_in() -> None:
    elsewhere = lane("fast", queueName="other")
    tale = tell(queue("other"), elsewhere, *room(), *job("a", "nobody's"))
    assert tale.place("a-0") == "n0"


def test_where_a_queue_has_job_queues_a_job_needs_one() -> None:
    tale = tell(lane("fast"), *room(), *job("a", "fast"), *job("b", "none"))
    assert tale.places("a-0", "b-0") == ["n0", None]
    assert tale.codes("b") == {"BlockedByJobQueue"}


def test_a_pod_without_a_group_is_chosen_by_its_own_labels() -> None:
    tale = tell(lane("fast"), *room(), pod("a", cards(4), metadata={"labels": {"lane": "fast"}}), pod("b", cards(4)))
    assert tale.places("a", "b") == ["n0", None]


def test_a_suspended_job_queue_lets_nobody_in_until_it_is_resumed() -> None:
    resumed = at(10, apply=lane("fast"))
    tale = tell(lane("fast", suspend=True), *room(), *job("a", "fast"), later=(resumed,))
    assert tale.bound == {"a-0": 12}


def test_suspending_a_job_queue_stops_nothing_that_runs() -> None:
    tale = tell(lane("fast"), *room(), *job("a", "fast"), later=(at(5, apply=lane("fast", suspend=True)),))
    assert tale.place("a-0") == "n0"


def test_a_running_gangs_lost_rank_is_not_locked_out() -> None:
    members = job("a", "fast", size=2)
    later = (at(5, apply=lane("fast", suspend=True)), at(8, delete=gone("a-1")), at(12, apply=members[2]))
    assert tell(lane("fast"), *room(), *members, later=later).place("a-1") == "n0"


def test_at_most_so_many_jobs_run_and_the_next_follows_when_one_ends() -> None:
    jobs = [each for name in ("a", "b", "c") for each in job(name, "slow", 1)]
    tale = tell(lane("slow", maxRunningJobs=2), *room(8, 1), *jobs, later=(at(20, finish=ended("a-0")),))
    assert tale.bound == {"a-0": 1, "b-0": 1, "c-0": 22}


def test_a_job_that_runs_without_all_its_members_is_one_job() -> None:
    tale = tell(
        lane("slow", maxRunningJobs=1), *room(8, 1), *job("a", "slow", 1, size=3, minMember=1), *job("b", "slow")
    )
    assert None not in tale.places("a-0", "a-1", "a-2")
    assert tale.place("b-0") is None


def test_its_capability_bounds_what_its_jobs_hold_together() -> None:
    jobs = [each for name in ("a", "b", "c") for each in job(name, "slow", 2)]
    tale = tell(lane("slow", capability=cards(4)), *room(8, 2), *jobs)
    assert tale.places("a-0", "b-0", "c-0") == ["n0", "n0", None]
    assert tale.codes("c") == {"BlockedByJobQueue"}


def test_spot_jobs_stand_in_line_as_well() -> None:
    pods = [spot(name, 1, metadata={"labels": {"lane": "slow"}}) for name in ("a", "b")]
    tale = tell(spot_node("n0"), lane("slow", maxRunningJobs=1), *pods)
    assert tale.places("a", "b") == ["n0", None]


def test_job_queues_priority_comes_before_that_of_jobs() -> None:
    classes = [priority_class("high", 1000)]
    jobs = [*job("a", "slow", priorityClassName="high"), *job("z", "fast")]
    tale = tell(*classes, lane("fast", 10), lane("slow", 1), node("n0"), quota("q", cards(4)), *jobs)
    assert tale.places("a-0", "z-0") == [None, "n0"]


def test_a_job_that_matches_several_goes_to_the_highest_then_to_the_first_by_name() -> None:
    everyone: Object = {"jobSelector": {}}
    shut = {"suspend": True, **everyone}
    higher = tell(lane("a", 1, **shut), lane("z", 2, **everyone), *room(), *job("j", "x"))
    assert higher.place("j-0") == "n0"
    first = tell(lane("a", 1, **shut), lane("z", 1, **everyone), *room(), *job("j", "x"))
    assert first.place("j-0") is None


@pytest.mark.parametrize(("policy", "bound"), [("BestEffortFIFO", "n0"), ("StrictFIFO", None)])
def test_only_a_strict_job_queue_waits_for_its_older_job(policy: str, bound: str | None) -> None:
    jobs = [*job("old", "slow", 16, age=30), *job("new", "slow", 1, age=10)]
    tale = tell(lane("slow", policy=policy), node("n0"), quota("q", cards(1)), *jobs)
    assert tale.place("new-0") == bound


@pytest.mark.parametrize(("policy", "bound"), [("BestEffortFIFO", "n0"), ("StrictFIFO", None)])
def test_only_a_strict_job_queue_waits_for_the_jobs_of_a_higher_one(policy: str, bound: str | None) -> None:
    jobs = [*job("big", "fast", 16), *job("small", "slow", 1)]
    tale = tell(lane("fast", 10), lane("slow", 1, policy=policy), node("n0"), quota("q", cards(1)), *jobs)
    assert tale.place("small-0") == bound


def test_a_strict_job_queue_waits_for_no_job_that_could_not_start_anyway() -> None:
    gated = job("gated", "fast")
    gated[1]["spec"]["schedulingGates"] = [{"name": "wait"}]
    lacking = job("lacking", "fast", size=1, age=30)
    lacking[0]["spec"]["minMember"] = 2
    lanes = [lane("fast", 10), lane("shut", 9, suspend=True), lane("slow", 1, policy="StrictFIFO")]
    tale = tell(*lanes, *room(), *gated, *lacking, *job("held", "shut"), *job("small", "slow"))
    assert tale.place("small-0") == "n0"


def test_job_queues_of_another_queue_do_not_matter_to_a_strict_one() -> None:
    others = gang("big", 1, cards(16), group={"metadata": {"labels": {"lane": "far"}}, "queue": "other"})
    far = lane("far", 10, queueName="other")
    tale = tell(queue("other"), far, lane("slow", 1, policy="StrictFIFO"), *room(), *others, *job("small", "slow"))
    assert tale.place("small-0") == "n0"


def test_a_hopeless_job_does_not_keep_its_job_queue_shut() -> None:
    """It is let in, and fails on all nodes; the next one must not wait for it for ever."""
    jobs = [*job("hopeless", "slow", 16, age=30), *job("small", "slow", 1)]
    time_passes = at(60, delete=gone("nobody"))
    quotas = [quota("q-0", cards(16)), quota("q-1", cards(1))]
    tale = tell(lane("slow", maxRunningJobs=1), node("n0"), *quotas, *jobs, later=(time_passes,))
    assert tale.bound == {"small-0": 1}


def test_who_waits_for_room_that_is_made_for_it_keeps_its_turn() -> None:
    """Else its victims would have gone for nothing."""
    crowd = [spot_node("n0"), fixed("q-0", 4, "n0"), fixed("q-1", 4, "n0"), spot("s", 8, on="n0")]
    lanes = [lane("slow", maxRunningJobs=1), lane("none")]
    stage = Stage(*crowd, *lanes, *job("w", "slow"))
    stage.cycle(2)
    for each in job("a", "slow", age=30):
        stage.cluster.apply(each)
    stage.cycle(3)
    assert stage.claims("q-0") == ["w-0"]
    stage.clear()
    stage.cycle()
    assert (stage.place("w-0"), stage.place("a-0")) == ("n0", None)


def test_what_a_job_queue_has_is_told_in_its_status() -> None:
    jobs = [each for name in ("a", "b") for each in job(name, "slow", 2)]
    stage = Stage(lane("slow", maxRunningJobs=1), *room(8, 2), *jobs)
    stage.cycle(2)
    assert stage.status("JobQueue", "slow") == {"pending": 1, "running": 1, "allocated": cards(2)}


def test_what_a_queue_has_of_each_kind_of_card_is_told_in_its_status() -> None:
    kinds = {name: {"scheduling.infini-ai.com/spec": name} for name in ("a100", "h100")}
    quotas = [
        quota("q-0", cards(4), nodeSelector=kinds["a100"]),
        quota("q-1", cards(2), nodeSelector=kinds["h100"], status={"shadowResource": cards(1)}),
        quota("q-2", cards(8)),
    ]
    tale = tell(node("n0", labels=kinds["a100"]), *quotas, pod("w", cards(3), notes={"quota-name": "q-0"}))
    assert tale.told["queues"]["default"] == {
        "specAllocatable": {"": cards(8), "a100": cards(4), "h100": cards(2)},
        "specAllocated": {"a100": cards(3)},
        "specShadow": {"h100": cards(1)},
    }


def test_a_strict_job_queue_waits_for_an_older_spot_job_that_finds_no_room() -> None:
    """Spot jobs go to nodes after hop 1: that one was let in does not mean that it will start."""
    other = pod("other", cards(6), on="n0", scheduler="default-scheduler")
    pair = gang("early", 2, {SPOT: "4"}, group={"metadata": {"labels": {"lane": "slow"}}})
    tale = tell(
        lane("slow", policy="StrictFIFO"), spot_node("n0"), quota("q", cards(1)), other, *pair, *job("late", "slow", 1)
    )

    assert tale.places("early-0", "early-1", "late-0") == [None, None, None]
    assert tale.codes("late") == {"BlockedByJobQueue"}
