"""F46 to F58 of the fault catalogue: leaders that stall, restart, are stopped, fail, and are told something else."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio
from msgspec.structs import replace
from trio.testing import MockClock

from sky_core.plugin import Context, Functions, Plugin
from sky_core.policy import Enabled
from sky_core.testing.objects import GPU, claim, group, node, pod, quota
from sky_sandbox.faults import Fault
from sky_sandbox.sandbox import Sandbox
from sky_scheduler.configuration import Configured
from sky_scheduler.station import SLOW_SECONDS
from sky_scheduler.testing.stage import Player, Stage
from sky_shell.configuration import ConfigurationFile
from sky_shell.health import Pulse
from sky_shell.lease import LostError
from sky_shell.reading.places import File, InputError

Object = dict[str, Any]
ALL = {GPU: "8"}
STATUS = "quotas.scheduling.infini-ai.com/status"
HEAD = "apiVersion: config.scheduling.infini-ai.com/v1alpha1\nkind: SchedulerConfiguration\n"


def machines(count: int = 2) -> list[Object]:
    return [node(f"n{i}") for i in range(count)] + [quota(f"q{i}", ALL) for i in range(count)]


def gang(count: int = 2, name: str = "w") -> list[Object]:
    return [group(name, count), *(pod(f"{name}-{i}", ALL, group=name) for i in range(count))]


def lost(player: Player) -> bool:
    return isinstance(player.error, ExceptionGroup) and player.error.subgroup(LostError) is not None


class Freezing:
    """Freezes a wire when its so-manieth write is about to be sent."""

    def __init__(self, number: int) -> None:
        self.left = number
        self.player: Player | None = None
        self.frozen = trio.Event()

    def __call__(self, method: str, path: str, _: object) -> None:
        if method == "GET" or "/leases" in path or self.player is None:
            return
        self.left -= 1
        if self.left == 0:
            self.player.wire.thawed = trio.Event()
            self.frozen.set()


@pytest.mark.parametrize("number", range(1, 7))
async def test_f46_a_leader_that_stalls_at_a_write_does_no_harm_when_it_goes_on(
    number: int, stage: Stage, autojump_clock: MockClock
) -> None:
    await stage.apply(*machines(3), *gang(3))
    freezing = Freezing(number)
    first = freezing.player = stage.scheduler("a", interfere=freezing, in_line=True)
    with trio.fail_after(10):
        await freezing.frozen.wait()
    stage.scheduler("b")
    await trio.sleep(30)
    await stage.until_running("w-0", "w-1", "w-2")
    places = await stage.nodes_of("w-0", "w-1", "w-2")
    before = len(stage.sent)
    first.wire.thawed.set()
    with trio.fail_after(10):
        await first.ended.wait()
    assert lost(first)
    await trio.sleep(30)
    assert {sent.by for sent in stage.sent[before:]} <= {"b"}
    assert await stage.nodes_of("w-0", "w-1", "w-2") == places
    await stage.check()


async def test_f47_who_finds_the_lease_in_other_hands_stops(stage: Stage, autojump_clock: MockClock) -> None:
    player = stage.scheduler()
    await stage.apply(*machines(1), pod("w", ALL))
    await stage.until_running("w")
    path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/sky-scheduler"
    await stage.ask("PATCH", path, {"spec": {"holderIdentity": "somebody", "leaseDurationSeconds": 1_000_000_000}})
    with trio.fail_after(5):
        await player.ended.wait()
    assert lost(player)
    stage.scheduler("b")
    await stage.apply(quota("q1", ALL), node("n1"), pod("next", ALL))
    await stage.until_running("next", seconds=90)


async def test_f47_a_lease_that_was_deleted_is_made_again(stage: Stage, autojump_clock: MockClock) -> None:
    player = stage.scheduler()
    await trio.sleep(5)
    path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/sky-scheduler"
    await stage.ask("DELETE", path, {})
    await trio.sleep(30)
    await stage.apply(*machines(1), pod("w", ALL))
    await stage.until_running("w")
    assert player.leads
    lease = await stage.ask("GET", path, None)
    assert lease["spec"]["holderIdentity"] == "a"


async def test_f49_a_gang_that_was_half_started_is_completed_where_it_is(
    stage: Stage, autojump_clock: MockClock
) -> None:
    await stage.apply(*machines(6), *gang(4))
    pods = {name: await stage.get("Pod", name) for name in ("w-0", "w-1")}
    for name, quota_name, node_name in (("w-0", "q4", "n4"), ("w-1", "q5", "n5")):
        claimed = claim(name, ALL, uid=pods[name]["metadata"]["uid"], job="w", rank=f"/{name[-1]}")
        status = {"phase": "QuotaBound", "nodeName": node_name, "tasks": [claimed], "allocated": ALL, "epoch": 7}
        await stage.change("Quota", quota_name, {"status": status}, "status")
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "w-0"},
        "target": {"kind": "Node", "name": "n4"},
    }
    await stage.ask("POST", "/api/v1/namespaces/default/pods/w-0/binding", binding)
    stage.scheduler()
    await stage.until_running("w-0", "w-1", "w-2", "w-3", seconds=5)
    assert (await stage.nodes_of("w-0", "w-1")) == ["n4", "n5"]
    assert (await stage.get("Quota", "q0"))["status"]["epoch"] == 8
    await stage.check()


async def test_f49_a_gang_that_can_not_be_completed_is_given_back(stage: Stage, autojump_clock: MockClock) -> None:
    await stage.apply(*machines(2), *gang(4))
    first = await stage.get("Pod", "w-0")
    claimed = claim("w-0", ALL, uid=first["metadata"]["uid"], job="w", rank="/0")
    status = {"phase": "QuotaBound", "nodeName": "n1", "tasks": [claimed], "allocated": ALL}
    await stage.change("Quota", "q1", {"status": status}, "status")
    stage.scheduler()
    await stage.apply(pod("other", ALL), pod("another", ALL))
    await stage.until_running("other", "another", seconds=10)
    await stage.check()


async def test_f55_a_scheduler_that_is_told_to_stop_finishes_what_it_began(
    stage: Stage, sandbox: Sandbox, autojump_clock: MockClock
) -> None:
    player, other = stage.scheduler("a"), stage.scheduler("b")
    await trio.sleep(5)
    if not player.leads:
        player, other = other, player
    sandbox.faults.add(Fault(resource="pods/binding", linger=1.5, times=4))
    await stage.apply(*machines(4), *gang(4))
    await trio.sleep(1.5)
    assert await stage.nodes_of("w-0") != [""]
    with trio.fail_after(10):
        await player.stop()
    assert player.error is None
    assert all(await stage.nodes_of("w-0", "w-1", "w-2", "w-3"))
    await stage.apply(node("n4"), quota("q4", ALL), pod("next", ALL))
    await stage.until_running("next", seconds=8)
    assert {sent.status for sent in stage.sent if sent.path.endswith("/binding")} == {201}
    await other.stop()
    await stage.check()


async def test_f55_who_only_waits_to_lead_stops_at_once(stage: Stage, autojump_clock: MockClock) -> None:
    player, other = stage.scheduler("a"), stage.scheduler("b")
    await trio.sleep(5)
    if not other.leads:
        player, other = other, player
    with trio.fail_after(0.5):
        await player.stop()
    assert player.error is None


def raising(_: Context, __: Any) -> Functions:
    raise ZeroDivisionError("a plugin's own mistake")


async def test_f56_a_cycle_that_fails_ends_the_process_and_says_by_what(
    stage: Stage, autojump_clock: MockClock
) -> None:
    default = Configured.by_default()
    broken = Enabled(Plugin(name="broken", open=raising), None)
    policy = replace(default.policy, plugins=(*default.policy.plugins, broken))
    await stage.apply(*machines(1), pod("w", ALL))
    player = stage.scheduler(configured=Configured("", policy))
    with trio.fail_after(10):
        await player.ended.wait()
    assert isinstance(player.error, ExceptionGroup)
    assert player.error.subgroup(ZeroDivisionError) is not None
    second = stage.scheduler("b")
    await stage.until_running("w")
    assert second.leads


async def test_f57_a_cycle_that_never_ends_stops_the_pulse(
    stage: Stage, autojump_clock: MockClock, capfd: pytest.CaptureFixture[str]
) -> None:
    async def endless(function: Callable[[], Any]) -> Any:
        await trio.sleep(5 if trio.current_time() < 100 else 1000)
        return function()

    player = Stage(stage.transport, stage.nursery, stage.now, endless).scheduler()
    pulse = Pulse(5)
    with trio.move_on_after(100 + SLOW_SECONDS):
        await player.process.station.beat(pulse)
    assert pulse.check() is None
    with trio.move_on_after(20):
        await player.process.station.beat(pulse)
    assert pulse.check() is not None
    assert "Current thread" in capfd.readouterr().err
    await player.kill()


BAD = {
    "a plugin that there is not": "plugins: [{name: prioritty}]",
    "an expression that does not parse": "expressions: {qn.order: 'sum(weight(sylas, 100)'}",
    "an expression on itself": "expressions: {qn.order: qn.order}",
    "a key that there is not": "perriod: 1s",
    "no YAML": "plugins: [",
}


@pytest.mark.parametrize("text", BAD.values(), ids=BAD.keys())
async def test_f58_a_configuration_that_can_not_be_used_changes_nothing(
    text: str, tmp_path: Path, stage: Stage, autojump_clock: MockClock
) -> None:
    path = tmp_path / "scheduler.yaml"
    path.write_text(HEAD)
    file = ConfigurationFile(path, Configured.by)
    player = stage.scheduler(configured=await file.load())
    used = player.process.station.wanted
    path.write_text(HEAD + text)
    await file.look(player.process.station.want)
    assert ", line " in str(file.fault)
    assert player.process.station.wanted is used
    await stage.apply(*machines(1), pod("w", ALL))
    await stage.until_running("w")


def test_f58_a_configuration_that_can_not_be_used_at_the_start_says_where() -> None:
    with pytest.raises(InputError, match=r"scheduler\.yaml, line 3"):
        Configured.by(File("scheduler.yaml", HEAD + "perriod: 1s"))


def configured(text: str) -> Configured:
    return Configured.by(File("scheduler.yaml", HEAD + text))


async def test_f58_another_order_of_nodes_is_taken_up_between_two_cycles(
    stage: Stage, autojump_clock: MockClock
) -> None:
    player = stage.scheduler(configured=configured(""))
    await stage.apply(node("n0"), node("n1", {"cpu": "1", "pods": "110", GPU: "1"}), quota("q0", {GPU: "1"}))
    await trio.sleep(5)
    before = player.process.station.watching.mirror.complete
    player.process.station.want(configured("plugins: [{name: gang}, {name: predicates}, {name: quotapredicates}]"))
    await trio.sleep(2)
    assert player.process.station.desk.configured.text.endswith("{name: quotapredicates}]")
    assert player.process.station.watching.mirror.complete is before
    await stage.apply(pod("w", {GPU: "1"}))
    await stage.until_running("w")


async def test_f58_what_changes_how_objects_are_read_lets_all_be_read_anew(
    stage: Stage, autojump_clock: MockClock
) -> None:
    player = stage.scheduler(configured=configured(""))
    await stage.apply(*machines(2), pod("w", ALL), pod("theirs", ALL, scheduler="another"))
    await stage.until_running("w")
    player.process.station.want(configured("schedulerName: another"))
    await stage.until_running("theirs")
    await stage.apply(pod("ours", ALL))
    await trio.sleep(10)
    assert await stage.nodes_of("ours") == [""]
    assert player.leads
    await stage.check()


async def test_f58_a_standby_takes_up_another_configuration_too(stage: Stage, autojump_clock: MockClock) -> None:
    first, second = stage.scheduler("a"), stage.scheduler("b")
    await stage.apply(*machines(1), pod("theirs", ALL, scheduler="another"))
    await trio.sleep(5)
    for player in (first, second):
        player.process.station.want(configured("schedulerName: another\nperiod: 2s"))
    leader, other = (first, second) if first.leads else (second, first)
    await leader.stop()
    await stage.until_running("theirs", seconds=10)
    assert other.process.station.period == 2


async def test_who_waits_to_lead_keeps_nothing_of_what_has_gone(stage: Stage, autojump_clock: MockClock) -> None:
    leader = stage.scheduler("a")
    await stage.until_true(lambda: leader.leads)
    standby = stage.scheduler("b")
    await stage.apply(node("n"))
    for number in range(3):
        await stage.apply(quota(f"q{number}", ALL), pod(f"w{number}", ALL))
        await stage.until_running(f"w{number}")
        await stage.delete("Pod", f"w{number}")
        await stage.delete("Quota", f"q{number}")
        await trio.sleep(60)
    world = standby.process.station.desk.view.course.world
    assert (world.changed, world.news.jobs, world.news.quotas, world.news.tasks) == ([], set(), set(), set())
    await leader.stop()
    await stage.apply(quota("q", ALL), pod("w", ALL))
    await stage.until_running("w")
    assert standby.leads
    await stage.check()
