"""F1 to F20 of the fault catalogue: an API server that is slow, forgetful, lying or away."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
import trio
from trio.testing import MockClock

from sky_core.testing.objects import GPU, SPOT, group, node, pod, quota
from sky_sandbox.faults import Fault
from sky_sandbox.sandbox import Sandbox
from sky_scheduler.testing.stage import Player, Stage
from sky_shell.lease import LostError
from sky_shell.reflector import Ending
from sky_shell.resources import PODS, QUOTAS
from sky_shell.transport import Response

Object = dict[str, Any]
ALL = {GPU: "8"}
STATUS = "quotas.scheduling.infini-ai.com/status"
BINDING = "pods/binding"


def machines(count: int = 2) -> list[Object]:
    return [node(f"n{i}") for i in range(count)] + [quota(f"q{i}", ALL) for i in range(count)]


def gang(count: int = 2, name: str = "w") -> list[Object]:
    return [group(name, count), *(pod(f"{name}-{i}", ALL, group=name) for i in range(count))]


def ending(player: Player, kind: str, why: Ending) -> int:
    (reflector,) = (one for one in player.process.station.watching.reflectors if one.resource.kind == kind)
    return reflector.restarts[why]


def writes(stage: Stage, what: str) -> list[int | None]:
    """The answers to these writes."""
    return [sent.status for sent in stage.sent if sent.what == what]


def status_of(code: int, reason: str, *causes: str) -> Response:
    details = {"causes": [{"reason": cause} for cause in causes]}
    said = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "code": code, "reason": reason, "details": details}
    return Response(code, msgspec.json.encode(said))


async def test_f1_an_expired_watch_is_listed_anew(stage: Stage, sandbox: Sandbox, autojump_clock: MockClock) -> None:
    player = stage.scheduler()
    await stage.apply(*machines())
    await trio.sleep(5)
    sandbox.break_watches("pods")
    await stage.apply(pod("w", ALL), pod("brief", ALL))
    await stage.delete("Pod", "brief")
    sandbox.server.storage.compact()
    await stage.until_running("w")
    assert ending(player, "Pod", Ending.GONE) == 1
    await stage.check()


async def test_f2_a_server_that_lags_behind_is_listed_anew_and_never_asked_in_a_loop(
    stage: Stage, sandbox: Sandbox, autojump_clock: MockClock
) -> None:
    asked = []

    def lag(_: str, path: str, query: Mapping[str, str]) -> Response | None:
        if path != PODS.collection():
            return None
        asked.append(trio.current_time())
        return status_of(504, "Timeout", "ResourceVersionTooLarge") if 5 < trio.current_time() < 60 else None

    player = stage.scheduler(interfere=lag)
    await stage.apply(*machines())
    await trio.sleep(5)
    sandbox.server.storage.compact()
    sandbox.break_watches("pods")
    sandbox.faults.add(Fault(verbs=("watch",), resource="pods", status=410))
    await stage.apply(pod("w", ALL))
    await stage.until_running("w", seconds=120)
    assert ending(player, "Pod", Ending.AHEAD) >= 1
    assert len(asked) < 15
    await stage.check()


async def test_f3_a_new_leader_is_not_fooled_by_a_server_with_an_old_cache(
    stage: Stage, sandbox: Sandbox, autojump_clock: MockClock
) -> None:
    first = stage.scheduler("a")
    await trio.sleep(5)
    await stage.apply(*machines(), *gang())
    await stage.until_running("w-0", "w-1")
    await first.kill()
    places = await stage.nodes_of("w-0", "w-1")
    sandbox.faults.add(Fault(verbs=("list",), behind=60, times=None))
    stage.scheduler("b")
    await trio.sleep(60)
    assert await stage.nodes_of("w-0", "w-1") == places
    assert len(writes(stage, "POST pods/w-0/binding")) == 1
    await stage.check()


async def test_f4_silent_watches_stop_decisions_and_nothing_else(
    stage: Stage, sandbox: Sandbox, autojump_clock: MockClock
) -> None:
    player = stage.scheduler()
    await stage.apply(*machines())
    await trio.sleep(5)
    sandbox.silence_watches("nodes")
    sandbox.faults.add(Fault(verbs=("list",), resource="nodes", status=500, times=None))
    await trio.sleep(110)
    assert player.process.station.watching.fault().startswith("nodes not heard of for ")  # type: ignore[union-attr]
    await stage.apply(pod("w", ALL))
    await trio.sleep(60)
    assert await stage.nodes_of("w") == [""]
    assert player.leads
    sandbox.faults.clear()
    await stage.until_running("w")
    assert player.process.station.watching.fault() is None


async def test_f4_a_silent_watch_is_broken_off_and_what_it_missed_is_seen(
    stage: Stage, sandbox: Sandbox, autojump_clock: MockClock
) -> None:
    player = stage.scheduler()
    await stage.apply(*machines())
    await trio.sleep(5)
    sandbox.silence_watches("pods")
    await stage.apply(pod("w", ALL))
    await stage.until_running("w", seconds=120)
    assert ending(player, "Pod", Ending.SILENT) == 1


async def test_f4_where_nothing_happens_watches_are_silent_and_decisions_go_on(
    stage: Stage, sandbox: Sandbox, autojump_clock: MockClock
) -> None:
    for quiet in ("persistentvolumes", "priorityclasses.scheduling.k8s.io"):
        sandbox.faults.add(Fault(verbs=("watch",), resource=quiet, silent=True, times=None))
    player = stage.scheduler()
    await stage.apply(*machines())
    await trio.sleep(600)
    for name in ("w", "x"):
        await trio.sleep(85)
        await stage.apply(pod(name, ALL))
        await stage.until_running(name, seconds=10)
    assert ending(player, "PersistentVolume", Ending.SILENT) == 8


async def test_f5_watches_that_end_at_once_are_begun_ever_more_rarely(
    stage: Stage, sandbox: Sandbox, autojump_clock: MockClock
) -> None:
    sandbox.faults.add(Fault(verbs=("watch",), resource="pods", broken=True, times=None))
    player = stage.scheduler()
    await stage.apply(*machines())
    await trio.sleep(300)
    assert ending(player, "Pod", Ending.BROKEN) < 20
    sandbox.faults.clear()
    await stage.apply(pod("w", ALL))
    await stage.until_running("w")


async def test_f6_a_pod_that_is_made_anew_under_its_name_is_another_one(
    stage: Stage, autojump_clock: MockClock
) -> None:
    stage.scheduler()
    await stage.apply(*machines(1), pod("w", ALL))
    await stage.until_running("w")
    first = (await stage.get("Pod", "w"))["metadata"]["uid"]
    await stage.delete("Pod", "w")

    async def is_gone() -> bool:
        return await stage.find("Pod", "w") is None

    await stage.until(is_gone)
    await stage.apply(pod("w", ALL))
    await stage.until_running("w")
    await trio.sleep(3)
    (task,) = (await stage.get("Quota", "q0"))["status"]["tasks"]
    assert task["uid"] == (await stage.get("Pod", "w"))["metadata"]["uid"] != first
    await stage.check()


async def test_f7_what_a_watch_says_beside_its_objects_is_passed_over(stage: Stage, autojump_clock: MockClock) -> None:
    metadata = {"name": "x", "namespace": "default", "uid": "1", "resourceVersion": "1"}
    said: list[Object] = [
        {"type": "BOOKMARK", "object": {"kind": "Pod", "metadata": {"resourceVersion": "1"}}},
        {"type": "UNHEARD", "object": {"kind": "Pod", "metadata": metadata}},
        {"type": "ADDED", "object": {"kind": "Table", "metadata": metadata}},
    ]
    player = stage.scheduler(whisper={PODS.collection(): [msgspec.json.encode(one) for one in said]})
    await stage.apply(*machines(), pod("w", ALL))
    await stage.until_running("w")
    (reflector,) = (one for one in player.process.station.watching.reflectors if one.resource is PODS)
    assert sum(reflector.skipped.values()) == 2


async def test_f8_pages_of_two_versions_are_never_mixed(stage: Stage, autojump_clock: MockClock) -> None:
    pages = []

    def expire(_: str, path: str, query: Mapping[str, str]) -> Response | None:
        if path != PODS.collection() or "watch" in query:
            return None
        pages.append("continue" in query)
        return status_of(410, "Expired") if "continue" in query else None

    await stage.apply(
        *machines(), *(pod(f"idle-{i}", {"cpu": "1"}, scheduler="other") for i in range(501)), pod("w", ALL)
    )
    stage.scheduler(interfere=expire)
    await stage.until_running("w")
    assert pages == [False, True, False]


async def test_f9_a_quota_that_somebody_else_wrote_is_decided_on_anew(
    stage: Stage, sandbox: Sandbox, autojump_clock: MockClock
) -> None:
    await stage.apply(*machines(1), pod("w", ALL))
    sandbox.faults.add(Fault(resource=STATUS, wait=0.5))
    player = stage.scheduler()
    await trio.sleep(0.3)
    await stage.change("Quota", "q0", {"status": {"shadowResource": {GPU: "1"}}}, "status")
    await stage.until_running("w")
    assert writes(stage, "PUT quotas/q0/status") == [409, 200]
    status = (await stage.get("Quota", "q0"))["status"]
    assert (status["shadowResource"], status["nodeName"]) == ({GPU: "1"}, "n0")
    assert player.metric("sky_decisions_total", kind="WriteQuota", result="conflict") == 1
    assert player.metric("sky_decisions_total", kind="BindTask", result="notCovered") == 1


async def test_f9_half_a_gangs_quotas_bind_nobody(stage: Stage, sandbox: Sandbox, autojump_clock: MockClock) -> None:
    await stage.apply(*machines(), *gang())
    sandbox.faults.add(Fault(resource=STATUS, name="q1", wait=0.5))
    stage.scheduler()
    await trio.sleep(0.3)
    await stage.change("Quota", "q1", {"spec": {"nodeSelector": {"nobody": "has-it"}}})
    await trio.sleep(5)
    assert await stage.nodes_of("w-0", "w-1") == ["", ""]
    statuses = [(await stage.get("Quota", name)).get("status", {}) for name in ("q0", "q1")]
    assert not any(status.get("tasks") for status in statuses)
    await stage.check()
    await stage.change("Quota", "q1", {"spec": {"nodeSelector": None}})
    await stage.until_running("w-0", "w-1")


@pytest.mark.parametrize("retry_after", [0, 2])
@pytest.mark.parametrize(
    ("verbs", "resource"),
    [
        (("list",), "pods"),
        (("watch",), "pods"),
        ((), STATUS),
        ((), BINDING),
        (("update",), "leases.coordination.k8s.io"),
    ],
)
async def test_f10_a_throttling_server_is_obeyed(
    verbs: tuple[str, ...],
    resource: str,
    retry_after: int,
    stage: Stage,
    sandbox: Sandbox,
    autojump_clock: MockClock,
) -> None:
    await stage.apply(*machines(), *gang())
    sandbox.faults.add(Fault(verbs=verbs, resource=resource, status=429, retry_after=retry_after, times=3))
    player = stage.scheduler()
    await stage.until_running("w-0", "w-1")
    await trio.sleep(20)
    assert player.leads
    assert sandbox.faults.waiting == ()
    assert player.metric("sky_decisions_total", kind="BindTask", result="ok") == 2
    await stage.check()


@pytest.mark.parametrize("done", [False, True], ids=["undone", "done"])
@pytest.mark.parametrize("answer", [{"status": 500}, {"status": 503}, {"status": 504}, {"lost": True}], ids=str)
@pytest.mark.parametrize("resource", [STATUS, BINDING])
async def test_f11_a_write_of_unknown_outcome_is_looked_up_before_anything_is_done(
    resource: str, answer: Any, done: bool, stage: Stage, sandbox: Sandbox, autojump_clock: MockClock
) -> None:
    await stage.apply(*machines(), *gang())
    sandbox.faults.add(Fault(resource=resource, done=done, times=2, **answer))
    player = stage.scheduler()
    await stage.until_running("w-0", "w-1")
    assert player.metric("sky_decisions_total", kind="BindTask", result="ok") == 2
    assert player.metric("sky_decisions_total", kind="WriteQuota", result="ok") == 2
    await stage.check()


@pytest.mark.parametrize("done", [False, True], ids=["undone", "done"])
async def test_f11_an_eviction_of_unknown_outcome_evicts_no_second_pod(
    done: bool, stage: Stage, sandbox: Sandbox, autojump_clock: MockClock
) -> None:
    room = {"cpu": "64", "pods": "110", GPU: "8", SPOT: "8"}
    spot = [pod(f"s{i}", {SPOT: "1"}, notes={"spot-pool": "exclusive"}) for i in range(8)]
    stage.scheduler()
    await stage.apply(node("n0", room, notes={"spot-pools": '{"exclusive": 8}'}), *spot)
    await stage.until_running(*(f"s{i}" for i in range(8)))
    sandbox.faults.add(Fault(resource="pods/eviction", done=done, status=504))
    await stage.apply(quota("q0", {GPU: "1"}), pod("w", {GPU: "1"}))
    await stage.until_running("w")
    assert len(await stage.all("Pod")) == 8
    await stage.check()


async def test_f11_a_write_that_lands_after_its_answer_is_taken_for_what_it_is(
    stage: Stage, sandbox: Sandbox, autojump_clock: MockClock
) -> None:
    """The server gives up after its time-out, and etcd commits two seconds later."""
    await stage.apply(*machines(1), pod("w", ALL))
    sandbox.faults.add(Fault(resource=STATUS, done=True, wait=5))
    stage.scheduler()
    await stage.until_running("w")
    await trio.sleep(10)
    await stage.check()


async def test_f12_a_binding_whose_answer_is_lost_is_told_once(
    stage: Stage, sandbox: Sandbox, autojump_clock: MockClock
) -> None:
    await stage.apply(*machines(1), pod("w", ALL))
    sandbox.faults.add(Fault(resource=BINDING, done=True, lost=True))
    player = stage.scheduler()
    await stage.until_running("w")
    await trio.sleep(5)
    assert writes(stage, "POST pods/w/binding") == [None]
    assert player.metric("sky_decisions_total", kind="BindTask", result="ok") == 1
    told = [event["reason"] for event in await stage.all("Event") if event["regarding"]["name"] == "w"]
    assert told == ["Scheduled"]


async def test_f13_a_pod_that_goes_before_it_is_bound_leaves_nothing_behind(
    stage: Stage, sandbox: Sandbox, autojump_clock: MockClock
) -> None:
    await stage.apply(*machines(1), pod("w", ALL))
    sandbox.faults.add(Fault(resource=BINDING, wait=0.5))
    player = stage.scheduler()
    await trio.sleep(0.3)
    await stage.delete("Pod", "w")
    await stage.apply(pod("next", ALL))
    await stage.until_running("next")
    assert writes(stage, "POST pods/w/binding") == [404]
    assert player.metric("sky_decisions_total", kind="BindTask", result="gone") == 1
    assert not [event for event in await stage.all("Event") if event["reason"] == "FailedScheduling"]
    await stage.check()


async def test_f14_a_pod_that_somebody_else_bound_is_left_there(
    stage: Stage, sandbox: Sandbox, autojump_clock: MockClock
) -> None:
    await stage.apply(*machines(), pod("w", ALL))
    sandbox.faults.add(Fault(resource=BINDING, wait=0.5))
    player = stage.scheduler()
    await trio.sleep(0.3)
    target = {"apiVersion": "v1", "kind": "Node", "name": "n1"}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "w"}, "target": target}
    await stage.ask("POST", PODS.path("default", "w", "binding"), binding)
    await trio.sleep(10)
    assert await stage.nodes_of("w") == ["n1"]
    assert player.metric("sky_decisions_total", kind="BindTask", result="assigned") == 1
    assert player.metric("sky_decisions_total", kind="BindTask", result="ok") == 0


async def test_f14_a_pod_that_is_on_its_way_out_is_not_bound(
    stage: Stage, sandbox: Sandbox, autojump_clock: MockClock
) -> None:
    await stage.apply(*machines(1), pod("w", ALL, metadata={"finalizers": ["example.com/wait"]}))
    sandbox.faults.add(Fault(resource=BINDING, wait=0.5))
    player = stage.scheduler()
    await trio.sleep(0.3)
    await stage.delete("Pod", "w")
    await trio.sleep(5)
    assert player.metric("sky_decisions_total", kind="BindTask", result="terminating") == 1
    await stage.change("Pod", "w", {"metadata": {"finalizers": None}})
    await stage.apply(pod("next", ALL))
    await stage.until_running("next")
    await stage.check()


async def test_f14_another_pod_of_the_name_is_not_bound_by_mistake(
    stage: Stage, sandbox: Sandbox, autojump_clock: MockClock
) -> None:
    await stage.apply(*machines(1), pod("w", ALL))
    sandbox.faults.add(Fault(resource=BINDING, wait=0.5))
    player = stage.scheduler()
    await trio.sleep(0.3)
    await stage.delete("Pod", "w")
    await stage.apply(pod("w", ALL))
    await stage.until_running("w")
    assert player.metric("sky_decisions_total", kind="BindTask", result="replaced") == 1
    await stage.check()


async def test_f15_a_server_that_is_away_for_long_costs_the_lead_and_no_more(
    stage: Stage, sandbox: Sandbox, autojump_clock: MockClock
) -> None:
    leader, other = stage.scheduler("a"), stage.scheduler("b")
    await stage.apply(*machines(), pod("w", ALL))
    await stage.until_running("w")
    if not leader.leads:
        leader, other = other, leader
    sandbox.faults.add(Fault(status=503, times=None))
    sandbox.break_watches()
    with trio.fail_after(15):
        await leader.ended.wait()
    assert isinstance(leader.error, ExceptionGroup)
    assert leader.error.subgroup(LostError) is not None
    await trio.sleep(600)
    assert not other.ended.is_set()
    sandbox.faults.clear()
    await stage.apply(pod("next", ALL))
    await stage.until_running("next", seconds=90)
    assert other.leads
    await stage.check()


async def test_f16_a_slow_write_holds_up_its_own_object_and_nobody_else(
    stage: Stage, sandbox: Sandbox, autojump_clock: MockClock
) -> None:
    player = stage.scheduler()
    await stage.apply(*machines(3), pod("w", ALL))
    await stage.until_running("w")
    sandbox.faults.add(Fault(resource=STATUS, name="q1", linger=5, times=4))
    await stage.apply(pod("slow", ALL, notes={"quota-name": "q1"}))
    await trio.sleep(1.5)
    began = trio.current_time()
    await stage.apply(pod("quick", ALL))
    await stage.until_running("quick")
    assert trio.current_time() - began < 3
    assert await stage.nodes_of("slow") == [""]
    await stage.until_running("slow", seconds=120)
    assert player.leads
    await stage.check()


async def test_f18_a_watch_that_breaks_within_a_line_tells_no_half_object(
    stage: Stage, sandbox: Sandbox, autojump_clock: MockClock
) -> None:
    sandbox.faults.add(Fault(verbs=("watch",), broken=True, times=24))
    stage.scheduler()
    await stage.apply(*machines(), *gang())
    await stage.until_running("w-0", "w-1", seconds=120)
    await stage.check()


async def test_f19_huge_objects_are_read_as_others_are(stage: Stage, autojump_clock: MockClock) -> None:
    large = {"example.com/large": "x" * (250 << 10)}
    stage.scheduler()
    grouped = group("w", 2, notes=large)
    await stage.apply(*machines(), grouped, *(pod(f"w-{i}", ALL, group="w", notes=large) for i in range(2)))
    await stage.until_running("w-0", "w-1")
    await trio.sleep(5)
    assert (await stage.get("PodGroup", "w"))["status"]["phase"] == "Running"


async def test_f20_a_missing_kind_is_waited_for(stage: Stage, sandbox: Sandbox, autojump_clock: MockClock) -> None:
    definition = await stage.get("CustomResourceDefinition", "jobqueues.scheduling.infini-ai.com")
    await stage.delete("CustomResourceDefinition", "jobqueues.scheduling.infini-ai.com")
    player = stage.scheduler()
    await stage.apply(*machines(), pod("w", ALL))
    await trio.sleep(60)
    assert "jobqueues.scheduling.infini-ai.com not listed yet" in str(player.process.station.watching.fault())
    assert await stage.nodes_of("w") == [""]
    del definition["metadata"]["resourceVersion"], definition["metadata"]["uid"]
    await stage.apply({**definition, "status": {}})
    await stage.until_running("w", seconds=120)


async def test_f20_a_kind_that_goes_takes_nobodys_place_away(
    stage: Stage, sandbox: Sandbox, autojump_clock: MockClock
) -> None:
    player = stage.scheduler()
    await stage.apply(*machines(), *gang())
    await stage.until_running("w-0", "w-1")
    await trio.sleep(5)
    before = len(stage.sent)
    await stage.delete("CustomResourceDefinition", QUOTAS.plural + "." + QUOTAS.group)
    await trio.sleep(300)
    assert stage.sent[before:] == []
    assert player.leads
    assert "quotas.scheduling.infini-ai.com" in str(player.process.station.watching.fault())
    assert await stage.nodes_of("w-0", "w-1") == ["n0", "n1"]
