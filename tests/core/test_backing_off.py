"""When a waiting job is tried again, and what it gives back meanwhile (behaviour.md 5.6, 7.6)."""

from itertools import pairwise
from typing import Any

import pytest

from sky_core.api.instants import instant
from sky_core.cycle import schedule
from sky_core.memory import Memory
from sky_core.model import SECOND, Instant, JobId
from sky_core.reasons import Code
from sky_core.settings import Settings
from sky_core.simulation.cluster import Cluster
from sky_core.testing.objects import (
    CREATED,
    Object,
    budget,
    job_queue,
    namespace,
    node,
    pod,
    priority_class,
    queue,
    quota,
)
from sky_core.testing.stories import DEFAULT, Stage, at, cards, ended, fixed, gang, gone, spot, spot_node, tell


class Waiting:
    """A job that fails, a quarter of a second at a time; nothing is carried out."""

    def __init__(self, *objects: Object, job: str = "default/pod/w") -> None:
        self.cluster = Cluster(Settings(), instant(CREATED))
        for each in (queue("default"), *objects):
            self.cluster.apply(each)
        self.now = instant(CREATED)
        self._job = JobId(job)
        self._memory = Memory()

    def tried(self, quarters: int) -> list[float]:
        """After how many seconds the job is tried in the next so many quarters of a second."""
        times = []
        for _ in range(quarters):
            outcome, self._memory = schedule(self.cluster.world, self._memory, DEFAULT, self.now)
            if Code.BACKING_OFF not in outcome.verdicts[self._job].codes():
                times.append((self.now - instant(CREATED)) / SECOND)
            self.now = Instant(self.now + SECOND // 4)
        return times


CROWDED: list[Object] = [node("n0"), quota("q", cards(1)), pod("w", cards(2))]


def test_a_failed_job_waits_a_second_then_two_then_four() -> None:
    assert Waiting(*CROWDED).tried(4 * 16) == [0, 1, 3, 7, 15]


def test_it_waits_five_minutes_at_most() -> None:
    waiting = Waiting(*CROWDED)
    waiting.tried(4 * 511)
    times = waiting.tried(4 * 1000)
    assert [round(later - earlier) for earlier, later in pairwise(times)] == [300, 300, 300]


def test_meanwhile_the_last_verdict_stands_and_says_when() -> None:
    tale = tell(*CROWDED, later=(at(2, delete=gone("nobody")),))
    assert tale.codes("w") == {"InsufficientQuota", "BackingOff"}
    assert tale.rung("w") == "AllocateJob"


@pytest.mark.parametrize(
    "change",
    [
        quota("q", cards(1), queue="default", sharedQueues=["other"]),
        quota("r", cards(1)),
        node("n0", unschedulable=True),
        node("n1"),
        pod("w", cards(2), notes={"quota-affinity": "a=b"}),
    ],
    ids=["quota changed", "quota came", "node changed", "node came", "the pod itself"],
)
def test_a_change_of_what_it_was_refused_for_cuts_the_wait_short_and_back_to_a_second(change: Object) -> None:
    waiting = Waiting(*CROWDED)
    waiting.tried(4 * 7 + 1)
    waiting.cluster.apply(change)
    assert waiting.tried(4 * 4) == [7.25, 8.25, 10.25]


@pytest.mark.parametrize(
    "change",
    [
        namespace("elsewhere"),
        queue("other"),
        job_queue("lane", queueName="other", jobSelector={}),
        priority_class("high", 10),
        budget("b", {"app": "x"}, minAvailable=1),
        pod("stranger", cards(1), scheduler="default-scheduler"),
        quota("q", cards(1), status={"nodeName": "n0"}),
    ],
    ids=["namespace", "queue", "job queue", "priority class", "budget", "new pod", "quota taken"],
)
def test_what_cannot_help_it_does_not_cut_the_wait_short(change: Object) -> None:
    waiting = Waiting(*CROWDED)
    waiting.tried(4 * 7 + 1)
    waiting.cluster.apply(change)
    assert waiting.tried(4 * 4) == []


def test_a_pods_end_cuts_the_wait_short() -> None:
    waiting = Waiting(*CROWDED, pod("other", cards(1), on="n0", scheduler="default-scheduler"))
    waiting.tried(4 * 7 + 1)
    waiting.cluster.apply(pod("other", cards(1), on="n0", scheduler="default-scheduler", phase="Succeeded"))
    assert waiting.tried(4) == [7.25]


def test_a_mount_that_is_reported_cuts_the_wait_short_and_its_heartbeats_do_not() -> None:
    def mounted(status: str, beat: str) -> Object:
        mount = {"type": "infiniai-fs-m1", "status": status, "lastHeartbeatTime": beat}
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": CREATED}
        return node("n0", conditions=[ready, mount])

    waiting = Waiting(
        mounted("False", CREATED), quota("q", cards(1)), pod("w", cards(1), notes={"required-mount-points": "m1"})
    )
    waiting.tried(4 * 7 + 1)
    waiting.cluster.apply(mounted("False", "2026-01-01T00:00:05Z"))
    assert waiting.tried(4) == []
    waiting.cluster.apply(mounted("True", "2026-01-01T00:00:06Z"))
    assert waiting.tried(1) == [8.25]


def test_a_job_that_waits_for_its_queue_is_asked_each_time() -> None:
    waiting = Waiting(
        node("n0"),
        quota("q", cards(1)),
        queue("shut", state="Closed"),
        pod("w", cards(1), notes={"queue-name": "shut"}),
    )
    assert len(waiting.tried(8)) == 8


def test_a_running_gangs_lost_rank_does_not_back_off() -> None:
    head, *pods = gang("w", 2, cards(8), least=2)
    running = pods[0]["spec"] | {"nodeName": "n0"}
    alive = {**pods[0], "spec": running, "status": {"phase": "Running"}}
    waiting = Waiting(node("n0"), head, alive, pods[1], quota("q", cards(1)), job="default/w")
    assert len(waiting.tried(8)) == 8


def test_claims_that_one_job_gives_back_are_there_for_the_next_in_the_same_cycle_or_soon() -> None:
    """A gang that finds no node for its quotas parks on none of them."""
    large = gang("a", 2, cards(8), group={"metadata": {"creationTimestamp": "2025-12-31T00:00:00Z"}})
    tale = tell(node("n0"), quota("q-0", cards(8)), quota("q-1", cards(8)), *large, *gang("b", 1, cards(8)))
    assert tale.places("a-0", "a-1", "b-0") == [None, None, "n0"]
    assert tale.bound["b-0"] <= 3


def test_two_gangs_that_need_each_others_quotas_do_not_park_on_them() -> None:
    """Each could hold half of what there is, and neither would ever start."""
    quotas = [fixed(f"q{i}", 8, f"n{i}") for i in range(3)]
    nodes = [node(f"n{i}") for i in range(3)]
    both = [*gang("a", 2, cards(8)), *gang("b", 2, cards(8))]
    ends = tuple(at(30, finish=ended(f"a-{i}")) for i in range(2))
    tale = tell(*nodes, *quotas, *both, later=ends)
    assert tale.places("a-0", "a-1") == ["n0", "n1"]
    assert None not in tale.places("b-0", "b-1")
    first = next(step for step in tale.report.steps if step.cycle == 1)
    assert {write.quota for write in first.writes} == {"q0", "q1"}


def refused(name: str, times: int, seconds: int = 0) -> list[Object]:
    return [at(seconds, failNextBind={"pod": f"default/{name}", "status": 409}) for _ in range(times)]


def test_a_refused_binding_is_tried_again_with_the_same_claim_before_others() -> None:
    story = (*refused("w", 2), at(1, apply=pod("w", cards(8))), at(3, apply=pod("a", cards(8), priority=5)))
    tale = tell(node("n0"), quota("q", cards(8)), later=story)
    assert tale.tried("w") == [3, 4, 5]
    assert (tale.place("w"), tale.place("a")) == ("n0", None)


def test_after_three_refused_bindings_the_claim_goes_back_and_others_take_it() -> None:
    story = (*refused("w", 30), at(1, apply=pod("w", cards(8))), at(3, apply=pod("next", cards(8))))
    tale = tell(node("n0"), quota("q", cards(8)), later=story)
    assert tale.tried("w")[:3] == [3, 4, 5]
    assert tale.place("next") == "n0"


def test_a_running_gangs_member_that_can_not_be_bound_backs_off_and_the_others_keep_their_claims() -> None:
    head, *pods = gang("w", 3, cards(8), least=1)
    quotas = [quota(f"q-{i}", cards(8)) for i in range(3)]
    story = (*refused("w-1", 5), *(at(1, apply=each) for each in (head, *pods)))
    tale = tell(*(node(f"n{i}") for i in range(3)), *quotas, later=story)
    assert None not in tale.places("w-0", "w-1", "w-2")
    assert len(tale.tried("w-1")) == 6


def test_in_a_running_gang_only_the_member_that_its_node_refuses_loses_its_claim() -> None:
    """One lost rank waits for spot pods to go, the other's node is shut: the first keeps its claim."""
    head, *pods = gang("w", 3, cards(8))
    for each, where in zip(pods[:1], ["n0"], strict=True):
        each["spec"]["nodeName"], each["status"] = where, {"phase": "Running"}
    held: list[dict[str, Any]] = [{"nodeName": "n1"}, {"nodeName": "n2"}]
    for index, status in enumerate(held):
        claimed = {"namespace": "default", "name": f"w-{index + 1}", "uid": f"Pod/default/w-{index + 1}", "job": "w"}
        status["tasks"] = [{**claimed, "rank": f"/{index + 1}", "resources": cards(8)}]
    quotas = [quota(f"q{i + 1}", cards(8), status=status) for i, status in enumerate(held)]
    protected = spot("s", 8, on="n1", namespace="kube-system")
    crowd = [node("n0"), spot_node("n1"), node("n2", unschedulable=True), protected]
    tale = tell(*crowd, *quotas, head, *pods, cycles=20)
    assert tale.told["quotas"]["q1"]["tasks"] == ["default/w-1"]
    assert tale.told["quotas"]["q2"]["tasks"] == []


def test_a_quota_that_nobody_needs_leaves_its_node() -> None:
    story = (at(5, finish=ended("w")),)
    tale = tell(node("n0"), quota("q", cards(8)), pod("w", cards(8)), later=story)
    assert tale.told["quotas"]["q"] == {
        "phase": "QuotaEmpty",
        "node": None,
        "allocated": {},
        "tasks": [],
        "reserved": [],
    }


def test_jobs_that_try_for_one_turn_of_their_job_queue_settle_on_what_they_tell() -> None:
    jobs = [spot(f"w{i}") for i in range(4)]
    stage = Stage(spot_node("n", 1), job_queue("lane", maxRunningJobs=2), spot("runs"), *jobs)
    told: list[tuple[str, ...]] = []
    for _ in range(300):
        stage.cycle()
        told.append(tuple(code for i in range(4) for code in stage.codes(f"default/pod/w{i}")))
    shown = [tuple(code for code in codes if code != Code.BACKING_OFF) for codes in told[100:]]
    assert len(set(shown)) == 1
