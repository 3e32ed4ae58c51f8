"""The scheduler's process before a cluster in memory, from apply to Running and back to rest."""

from collections import Counter
from typing import Any

import trio
from trio.testing import MockClock

from sky_core.settings import PREFIX
from sky_core.testing.objects import GPU, SPOT, budget, group, job_queue, node, pod, quota
from sky_scheduler.testing.stage import Stage

Object = dict[str, Any]
ALL = {GPU: "8"}
QUOTA_NAME = f"{PREFIX}quota-name"


def machines(count: int = 2) -> list[Object]:
    return [node(f"n{i}") for i in range(count)] + [quota(f"q{i}", ALL) for i in range(count)]


def gang(name: str = "w", count: int = 2, **requests: str) -> list[Object]:
    asks = requests or ALL
    return [group(name, count), *(pod(f"{name}-{i}", asks, group=name) for i in range(count))]


def condition(raw: Object, type_: str) -> Object:
    found: Object = next((one for one in raw["status"].get("conditions", ()) if one["type"] == type_), {})
    return found


async def events(stage: Stage) -> Counter[tuple[str, str]]:
    """Reasons and names of the objects, with how often each was told."""
    found: Counter[tuple[str, str]] = Counter()
    for event in await stage.all("Event"):
        found[event["reason"], event["regarding"]["name"]] += event.get("series", {}).get("count", 1)
    return found


async def test_a_gang_runs_from_apply_to_running(stage: Stage, autojump_clock: MockClock) -> None:
    scheduler = stage.scheduler()
    await stage.apply(*machines(), *gang())
    await stage.until_running("w-0", "w-1")
    await trio.sleep(5)
    for i in range(2):
        bound, claimed = await stage.get("Pod", f"w-{i}"), await stage.get("Quota", f"q{i}")
        assert bound["metadata"]["annotations"][QUOTA_NAME] == f"q{i}"
        assert bound["spec"]["nodeName"] == f"n{i}"
        status = claimed["status"]
        assert (status["phase"], status["nodeName"], status["allocated"]) == ("QuotaBound", f"n{i}", ALL)
        assert [task["uid"] for task in status["tasks"]] == [bound["metadata"]["uid"]]
        assert condition(claimed, "Bound")["status"] == "True"
    told = (await stage.get("PodGroup", "w"))["status"]
    assert (told["phase"], told["running"], told["rung"]) == ("Running", 2, "Done")
    assert (await stage.get("Queue", "default"))["status"] == {
        "allocated": {GPU: "16"},
        "specAllocatable": {"": {GPU: "16"}},
        "specAllocated": {"": {GPU: "16"}},
        "specShadow": {},
        "pending": 0,
        "running": 1,
    }
    assert await events(stage) == dict.fromkeys(
        [("Scheduled", "w-0"), ("Scheduled", "w-1"), ("QuotaBound", "q0"), ("QuotaBound", "q1")], 1
    )
    await stage.check()
    await scheduler.stop()
    assert scheduler.error is None


async def test_quotas_are_written_before_their_pods_are_bound(stage: Stage, autojump_clock: MockClock) -> None:
    stage.scheduler()
    await stage.apply(*machines(), *gang())
    await stage.until_running("w-0", "w-1")
    decided = [sent.what for sent in stage.sent if "quotas" in sent.path or "binding" in sent.path]
    assert set(decided[:2]) == {"PUT quotas/q0/status", "PUT quotas/q1/status"}
    assert set(decided[2:]) == {"POST pods/w-0/binding", "POST pods/w-1/binding"}


async def test_who_can_start_is_bound_before_others_quotas_are_written(stage: Stage, autojump_clock: MockClock) -> None:
    names = [f"w-{i}" for i in range(40)]
    await stage.apply(*machines(40), *(pod(name, ALL) for name in names))
    stage.scheduler()
    await stage.until_running(*names)
    bound = ["binding" in sent.path for sent in stage.sent if "quotas" in sent.path or "binding" in sent.path]
    before_the_last_quota = bound[: len(bound) - bound[::-1].index(False)]
    assert sum(before_the_last_quota) >= len(names) // 2


async def test_an_idle_cluster_is_written_nothing_but_leases(stage: Stage, autojump_clock: MockClock) -> None:
    stage.scheduler()
    await stage.apply(*machines(), *gang(), *gang("late", 3), job_queue("jq"), budget("b", {"a": "b"}))
    await stage.until_running("w-0", "w-1")
    await trio.sleep(10)
    before = len(stage.sent)
    await trio.sleep(900)
    assert stage.sent[before:] == []


async def test_a_new_leader_of_an_idle_cluster_writes_nothing(stage: Stage, autojump_clock: MockClock) -> None:
    first = stage.scheduler("a")
    await stage.apply(*machines(), *gang(), *gang("late", 3))
    await stage.until_running("w-0", "w-1")
    await trio.sleep(10)
    before = len(stage.sent)
    await first.stop()
    second = stage.scheduler("b")
    await trio.sleep(60)
    assert second.leads
    assert stage.sent[before:] == []


async def test_what_ends_gives_back_what_it_held(stage: Stage, autojump_clock: MockClock) -> None:
    stage.scheduler()
    await stage.apply(*machines(1), pod("w", ALL))
    await stage.until_running("w")
    await stage.delete("Pod", "w")

    async def is_empty() -> bool:
        status = (await stage.get("Quota", "q0"))["status"]
        return status["phase"] == "QuotaEmpty" and "tasks" not in status and "nodeName" not in status

    await stage.until(is_empty)
    await trio.sleep(5)
    assert (await events(stage))["QuotaReleased", "q0"] == 1
    await stage.apply(pod("next", ALL))
    await stage.until_running("next")
    await stage.check()


async def test_a_refused_job_is_told_why_once(stage: Stage, autojump_clock: MockClock) -> None:
    stage.scheduler()
    await stage.apply(*machines(1), *gang("big", 3), pod("alone", {GPU: "16"}))
    await trio.sleep(10)
    told = (await stage.get("PodGroup", "big"))["status"]
    assert (told["phase"], told["rung"], [reason["code"] for reason in told["reasons"]]) == (
        "Inqueue", "AllocateJob", ["InsufficientQuota"],
    )  # fmt: skip
    assert condition({"status": told}, "Unschedulable")["status"] == "True"
    for name in ("big-0", "big-2", "alone"):
        said = condition(await stage.get("Pod", name), "PodScheduled")
        assert (said["status"], said["reason"]) == ("False", "Undetermined")
        assert said["message"].startswith("InsufficientQuota: ")
    assert await events(stage) == {("FailedScheduling", "big"): 1, ("FailedScheduling", "alone"): 1}
    await trio.sleep(600)
    assert await events(stage) == {("FailedScheduling", "big"): 1, ("FailedScheduling", "alone"): 1}


async def test_a_job_is_told_again_when_the_reason_changes(stage: Stage, autojump_clock: MockClock) -> None:
    stage.scheduler()
    await stage.apply(node("n0"), pod("w", {GPU: "16"}))
    await trio.sleep(5)
    await stage.apply(quota("q", {GPU: "16"}))
    await trio.sleep(5)
    said = condition(await stage.get("Pod", "w"), "PodScheduled")
    assert (said["reason"], said["message"].partition(":")[0]) == ("Undetermined", "NeverFits")
    await stage.apply(node("n1", {GPU: "16", "pods": "110"}))
    await stage.until_running("w")
    assert condition(await stage.get("Pod", "w"), "PodScheduled")["status"] == "True"


async def test_a_job_is_told_of_a_node_that_has_less_than_nothing_left(stage: Stage, autojump_clock: MockClock) -> None:
    stage.scheduler()
    await stage.apply(*machines(1), pod("w", ALL))
    await stage.until_running("w")
    await stage.change("Node", "n0", {"status": {"allocatable": {GPU: "7"}}}, "status")
    await stage.apply(quota("q1", {GPU: "1"}), *gang("late", 1, **{GPU: "1"}))
    await trio.sleep(5)
    (said, *_) = (await stage.get("PodGroup", "late"))["status"]["reasons"]
    assert (said["code"], said["available"]) == ("InsufficientQuotaIdle", {GPU: "-1"})


async def test_a_full_node_is_a_case_for_autoscalers(stage: Stage, autojump_clock: MockClock) -> None:
    stage.scheduler()
    await stage.apply(*machines(1), quota("q1", ALL), pod("w", ALL), pod("more", ALL))
    await trio.sleep(5)
    refused = [condition(await stage.get("Pod", name), "PodScheduled") for name in ("w", "more")]
    assert sorted(said.get("reason", "") for said in refused) == ["", "Unschedulable"]


async def test_a_spot_pod_makes_room_and_is_told_for_whom(stage: Stage, autojump_clock: MockClock) -> None:
    stage.scheduler()
    spot = [pod(f"s{i}", {SPOT: "1"}, notes={"spot-pool": "exclusive"}) for i in range(8)]
    room = {"cpu": "64", "pods": "110", GPU: "8", SPOT: "8"}
    await stage.apply(node("n0", room, notes={"spot-pools": '{"exclusive": 8}'}), *spot)
    await stage.until_running(*(f"s{i}" for i in range(8)))
    await stage.apply(quota("q0", {GPU: "2"}), pod("w", {GPU: "2"}))
    await stage.until_running("w")
    await trio.sleep(5)
    left = [one["metadata"]["name"] for one in await stage.all("Pod")]
    assert len(left) == 7
    assert sum(count for (reason, _), count in (await events(stage)).items() if reason == "Evicted") == 2
    await stage.check()


async def test_job_queues_count_their_jobs(stage: Stage, autojump_clock: MockClock) -> None:
    stage.scheduler()
    await stage.apply(*machines(), job_queue("jq", maxRunningJobs=1), *gang("a", 1), *gang("b", 1))
    await trio.sleep(10)
    assert (await stage.get("JobQueue", "jq"))["status"] == {"pending": 1, "running": 1, "allocated": ALL}


async def test_of_two_replicas_one_decides_and_the_other_takes_over_when_it_stops(
    stage: Stage, autojump_clock: MockClock
) -> None:
    first, second = stage.scheduler("a"), stage.scheduler("b")
    await stage.apply(*machines(), pod("w", ALL))
    await stage.until_running("w")
    leader, other = (first, second) if first.leads else (second, first)
    assert not other.leads
    assert {sent.by for sent in stage.sent} == {leader.wire.name}
    await leader.stop()
    await stage.apply(pod("next", ALL))
    await stage.until_running("next", seconds=10)
    assert other.leads
    epochs = [(await stage.get("Quota", f"q{i}"))["status"]["epoch"] for i in range(2)]
    assert epochs[0] < epochs[1]
    await stage.check()
    await other.stop()
    assert (first.error, second.error) == (None, None)
