"""What became of a write, whatever the server says or fails to say. The server is played by the test."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
import trio
from trio.testing import MockClock

from sky_shell.resources import POD_GROUPS, PODS, QUOTAS
from sky_shell.testing.script import Asked, Script
from sky_shell.transport import MERGE_PATCH, STRATEGIC_PATCH
from sky_shell.writer import IN_FLIGHT, PATIENCE, Acknowledged, Refused, Result, Unknown, Withheld, Writer
from sky_shell.writes import Refusal, Write, bind, create_event, evict, merge_status, pod_condition, put_status

QUOTA = QUOTAS.path("", "q")
POD = PODS.path("default", "w")
STATUS = {"phase": "QuotaBound", "nodeName": "n0", "epoch": 3}
PUT = put_status(QUOTAS, "", "q", uid="q-uid", version="7", status=STATUS)
BIND = bind("default", "w", uid="w-uid", node="n0", annotations={"a": "b"})
EVICT = evict("default", "w", uid="w-uid")


def quota(version: str = "7", uid: str = "q-uid", status: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"metadata": {"name": "q", "uid": uid, "resourceVersion": version}, "status": status or {}}


def pod(uid: str = "w-uid", *, deleting: bool = False, **spec: Any) -> dict[str, Any]:
    metadata = {"name": "w", "namespace": "default", "uid": uid, "resourceVersion": "9"}
    return {"metadata": metadata | ({"deletionTimestamp": "now"} if deleting else {}), "spec": spec}


def refusal(code: int, message: str = "no", **details: Any) -> dict[str, Any]:
    return {"kind": "Status", "code": code, "message": message, "details": details}


class Play:
    """A write under way, and the server that it goes to."""

    def __init__(self, nursery: trio.Nursery, permit: Callable[[], bool] = lambda: True) -> None:
        self.server = Script()
        self.writer = Writer(self.server, permit)
        self._nursery = nursery
        self._send, self._receive = trio.open_memory_channel[Result](100)

    def perform(self, write: Write) -> None:
        async def run() -> None:
            self._send.send_nowait(await self.writer.perform(write))

        self._nursery.start_soon(run)

    async def sent(self, write: Write) -> Asked:
        asked = await self.server.asked(write.method, write.path)
        assert asked.body == write.body
        return asked

    async def read(self, path: str) -> Asked:
        return await self.server.asked("GET", path)

    async def result(self) -> Result:
        return await self._receive.receive()


def test_a_status_is_written_whole_with_the_version_that_it_was_decided_on() -> None:
    assert (PUT.method, PUT.path) == ("PUT", f"{QUOTA}/status")
    assert msgspec.json.decode(PUT.body) == {
        "apiVersion": "scheduling.infini-ai.com/v1alpha1",
        "kind": "Quota",
        "metadata": {"name": "q", "uid": "q-uid", "resourceVersion": "7"},
        "status": STATUS,
    }


def test_a_binding_names_the_very_pod_and_brings_its_annotations() -> None:
    assert (BIND.method, BIND.path) == ("POST", f"{POD}/binding")
    assert msgspec.json.decode(BIND.body) == {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"namespace": "default", "name": "w", "uid": "w-uid", "annotations": {"a": "b"}},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "n0"},
    }


def test_an_eviction_names_the_very_pod() -> None:
    assert (EVICT.method, EVICT.path) == ("POST", f"{POD}/eviction")
    assert msgspec.json.decode(EVICT.body) == {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"namespace": "default", "name": "w"},
        "deleteOptions": {"preconditions": {"uid": "w-uid"}},
    }


def test_one_condition_of_a_pod_is_merged_among_the_others() -> None:
    write = pod_condition("default", "w", uid="w-uid", condition={"type": "PodScheduled", "status": "False"})
    assert (write.method, write.path, write.content_type) == ("PATCH", f"{POD}/status", STRATEGIC_PATCH)
    assert msgspec.json.decode(write.body) == {
        "metadata": {"uid": "w-uid"},
        "status": {"conditions": [{"type": "PodScheduled", "status": "False"}]},
    }


def test_a_part_of_a_status_is_merged_at_its_version() -> None:
    write = merge_status(POD_GROUPS, "default", "g", version="4", status={"phase": "Running", "nextAttemptTime": None})
    assert (write.method, write.content_type) == ("PATCH", MERGE_PATCH)
    assert write.path == "/apis/scheduling.infini-ai.com/v1alpha1/namespaces/default/podgroups/g/status"
    assert msgspec.json.decode(write.body) == {
        "metadata": {"resourceVersion": "4"},
        "status": {"phase": "Running", "nextAttemptTime": None},
    }


def test_an_event_is_created_under_a_name_of_its_own() -> None:
    write = create_event("default", "w.1", {"reason": "Scheduled"})
    assert (write.method, write.path) == ("POST", "/apis/events.k8s.io/v1/namespaces/default/events")
    assert msgspec.json.decode(write.body) == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"namespace": "default", "name": "w.1"},
        "reason": "Scheduled",
    }


async def test_what_the_server_acknowledges_is_done(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    play = Play(nursery)
    play.perform(PUT)
    asked = await play.sent(PUT)
    assert asked.query == {"timeout": "3s"}
    asked.answer(200, quota("8", status=STATUS))
    result = await play.result()
    assert isinstance(result, Acknowledged)
    assert result.version == "8"


@pytest.mark.parametrize(
    ("live", "why"),
    [
        (quota("8", status={"phase": "QuotaEmpty"}), Refusal.CONFLICT),
        (quota("8", uid="another"), Refusal.REPLACED),
        (None, Refusal.GONE),
    ],
)
async def test_f9_a_conflict_is_compared_and_never_forced(
    nursery: trio.Nursery, autojump_clock: MockClock, live: dict[str, Any] | None, why: Refusal
) -> None:
    play = Play(nursery)
    play.perform(PUT)
    (await play.sent(PUT)).answer(409, refusal(409, "the object has been modified"))
    (await play.read(QUOTA)).answer(200 if live else 404, live or refusal(404))
    assert await play.result() == Refused(why, "409 the object has been modified")
    assert play.server.nothing_asked()


async def test_f9_a_conflict_with_our_own_write_is_its_echo(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    play = Play(nursery)
    play.perform(PUT)
    (await play.sent(PUT)).answer(409, refusal(409))
    (await play.read(QUOTA)).answer(200, quota("8", status=STATUS))
    result = await play.result()
    assert isinstance(result, Acknowledged)
    assert result.version == "8"


async def test_f10_a_server_that_asks_to_wait_is_given_the_time(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    play = Play(nursery)
    play.perform(BIND)
    (await play.sent(BIND)).answer(429, refusal(429), {"retry-after": "3"})
    began = trio.current_time()
    (await play.sent(BIND)).answer(201, {"kind": "Status", "status": "Success"})
    assert trio.current_time() - began == 3
    assert isinstance(await play.result(), Acknowledged)


async def test_f10_a_server_that_asks_for_long_is_left_alone(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    play = Play(nursery)
    play.perform(BIND)
    (await play.sent(BIND)).answer(429, refusal(429), {"retry-after": str(int(PATIENCE) + 1)})
    assert await play.result() == Refused(Refusal.THROTTLED, "429 no", PATIENCE + 1)


async def test_f10_a_server_that_goes_on_to_ask_is_left_alone(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    play = Play(nursery)
    play.perform(BIND)
    for _ in range(5):
        (await play.sent(BIND)).answer(429, refusal(429))
    assert await play.result() == Refused(Refusal.THROTTLED, "429 no")


@pytest.mark.parametrize("status", [500, 503, 504, None])
async def test_f11_without_an_answer_the_object_is_read_before_anything_is_sent_again(
    nursery: trio.Nursery, autojump_clock: MockClock, status: int | None
) -> None:
    play = Play(nursery)
    play.perform(PUT)
    asked = await play.sent(PUT)
    asked.drop() if status is None else asked.answer(status, refusal(status))
    (await play.read(QUOTA)).answer(200, quota("7"))  # not done, and may still be: sent again at the same version
    (await play.sent(PUT)).answer(409, refusal(409))  # it was done meanwhile
    (await play.read(QUOTA)).answer(200, quota("8", status=STATUS))
    assert isinstance(await play.result(), Acknowledged)


async def test_f11_a_time_out_is_no_answer(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    play = Play(nursery)
    play.perform(PUT)
    await play.sent(PUT)  # and never answered
    (await play.read(QUOTA)).answer(200, quota("8", status=STATUS))
    assert isinstance(await play.result(), Acknowledged)


async def test_f11_what_another_write_has_overtaken_is_refused(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    play = Play(nursery)
    play.perform(PUT)
    (await play.sent(PUT)).drop()
    (await play.read(QUOTA)).answer(200, quota("8"))
    result = await play.result()
    assert isinstance(result, Refused)
    assert result.why is Refusal.CONFLICT


async def test_f11_while_the_object_cannot_be_read_nothing_is_sent(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    play = Play(nursery)
    play.perform(PUT)
    (await play.sent(PUT)).drop()
    for _ in range(5):
        (await play.read(QUOTA)).answer(503)
    result = await play.result()
    assert isinstance(result, Unknown)
    assert "could not be read: 503" in result.message


async def test_f11_a_refused_repetition_says_nothing_of_the_first_try(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    play = Play(nursery)
    play.perform(PUT)
    (await play.sent(PUT)).answer(504, refusal(504, "request timed out"))
    (await play.read(QUOTA)).answer(200, quota("7"))
    (await play.sent(PUT)).answer(403, refusal(403, "the epoch is lower than the leader's"))
    assert await play.result() == Unknown("504 request timed out")


@pytest.mark.parametrize(
    ("live", "result"),
    [
        (pod(nodeName="n0"), Acknowledged),
        (pod(nodeName="n1"), Refused(Refusal.ASSIGNED, "no answer to POST")),
        (None, Refused(Refusal.GONE, "no answer to POST")),
        (pod(uid="another"), Refused(Refusal.REPLACED, "no answer to POST")),
    ],
)
async def test_f12_a_binding_without_an_answer_is_known_by_the_pod(
    nursery: trio.Nursery, autojump_clock: MockClock, live: dict[str, Any] | None, result: object
) -> None:
    play = Play(nursery)
    play.perform(BIND)
    (await play.sent(BIND)).drop()
    (await play.read(POD)).answer(200 if live else 404, live or refusal(404))
    found = await play.result()
    if isinstance(result, Refused):
        assert isinstance(found, Refused)
        assert (found.why, found.message.partition(" /")[0]) == (result.why, result.message)
    else:
        assert isinstance(found, Acknowledged)


async def test_f12_a_binding_that_was_not_done_is_sent_again(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    play = Play(nursery)
    play.perform(BIND)
    (await play.sent(BIND)).drop()
    (await play.read(POD)).answer(200, pod())
    (await play.sent(BIND)).answer(201)
    assert await play.result() == Acknowledged(b"")


async def test_f13_a_pod_that_is_gone_is_not_bound(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    play = Play(nursery)
    play.perform(BIND)
    (await play.sent(BIND)).answer(404, refusal(404, 'pods "w" not found'))
    assert await play.result() == Refused(Refusal.GONE, '404 pods "w" not found')


@pytest.mark.parametrize(
    ("live", "why"),
    [
        (pod(nodeName="n1"), Refusal.ASSIGNED),
        (pod(deleting=True), Refusal.TERMINATING),
        (pod(schedulingGates=[{"name": "wait"}]), Refusal.GATED),
        (pod(uid="another"), Refusal.REPLACED),
        (pod(), Refusal.CONFLICT),
    ],
)
async def test_f14_each_way_to_refuse_a_binding_has_its_name(
    nursery: trio.Nursery, autojump_clock: MockClock, live: dict[str, Any], why: Refusal
) -> None:
    play = Play(nursery)
    play.perform(BIND)
    (await play.sent(BIND)).answer(409, refusal(409, "conflict"))
    (await play.read(POD)).answer(200, live)
    assert await play.result() == Refused(why, "409 conflict")


@pytest.mark.parametrize("live", [None, pod(uid="another"), pod(deleting=True)])
async def test_an_eviction_is_done_when_the_pod_is_going(
    nursery: trio.Nursery, autojump_clock: MockClock, live: dict[str, Any] | None
) -> None:
    play = Play(nursery)
    play.perform(EVICT)
    (await play.sent(EVICT)).drop()
    (await play.read(POD)).answer(200 if live else 404, live or refusal(404))
    assert isinstance(await play.result(), Acknowledged)


@pytest.mark.parametrize("after", [None, 10.0])
async def test_an_eviction_that_a_budget_forbids_is_not_waited_for(
    nursery: trio.Nursery, autojump_clock: MockClock, after: float | None
) -> None:
    play = Play(nursery)
    play.perform(EVICT)
    headers = {"retry-after": "10"} if after else {}
    (await play.sent(EVICT)).answer(429, refusal(429, causes=[{"reason": "DisruptionBudget"}]), headers)
    assert await play.result() == Refused(Refusal.BUDGET, "429 no", after)


@pytest.mark.parametrize(("status", "why"), [(403, Refusal.FORBIDDEN), (422, Refusal.INVALID), (415, Refusal.OTHER)])
async def test_what_the_server_will_never_take_is_refused_at_once(
    nursery: trio.Nursery, autojump_clock: MockClock, status: int, why: Refusal
) -> None:
    play = Play(nursery)
    play.perform(PUT)
    (await play.sent(PUT)).answer(status, refusal(status))
    assert await play.result() == Refused(why, f"{status} no")


async def test_what_is_only_told_is_told_again_without_being_read(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    play = Play(nursery)
    event = create_event("default", "w.1", {"reason": "Scheduled"})
    play.perform(event)
    (await play.sent(event)).drop()
    (await play.sent(event)).answer(201)
    assert isinstance(await play.result(), Acknowledged)


async def test_f16_only_so_many_writes_are_in_flight(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    play = Play(nursery)
    for _ in range(IN_FLIGHT + 1):
        play.perform(BIND)
    asked = [await play.sent(BIND) for _ in range(IN_FLIGHT)]
    await trio.testing.wait_all_tasks_blocked()
    assert play.server.nothing_asked()
    asked[0].answer(201)
    await play.sent(BIND)


async def test_f46_a_write_that_waited_for_its_slot_is_not_sent_after_the_deadline(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    deadline = trio.current_time() + 4
    play = Play(nursery, permit=lambda: trio.current_time() < deadline)
    for _ in range(IN_FLIGHT + 1):
        play.perform(BIND)
    asked = [await play.sent(BIND) for _ in range(IN_FLIGHT)]
    await trio.sleep(4)
    asked[0].answer(201)
    assert isinstance(await play.result(), Acknowledged)
    assert await play.result() == Withheld()
    assert play.server.nothing_asked()


async def test_f46_a_write_is_not_repeated_after_the_deadline(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    deadline = trio.current_time() + 4
    play = Play(nursery, permit=lambda: trio.current_time() < deadline)
    play.perform(BIND)
    await play.sent(BIND)  # and never answered
    (await play.read(POD)).answer(200, pod())
    result = await play.result()
    assert isinstance(result, Unknown)  # it was sent once, and may be done


async def test_f46_the_permit_goes_along_to_where_it_is_sent(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    permitted = True
    play = Play(nursery, permit=lambda: permitted)
    play.perform(BIND)
    asked = await play.sent(BIND)
    permitted = False
    assert asked.permit is not None
    assert not asked.permit()
