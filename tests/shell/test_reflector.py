"""What a reflector tells of a server that misbehaves. The server is played by the test; time is a mock's."""

from collections.abc import Mapping
from itertools import pairwise
from random import Random
from typing import Any

import pytest
import trio
from structlog.testing import capture_logs
from trio.testing import MockClock, wait_all_tasks_blocked

from sky_shell.objects import Identity
from sky_shell.reflector import SILENCE, Ending, Reflector, Skipped
from sky_shell.resources import PODS, QUOTAS, Resource
from sky_shell.testing.script import Asked, Script, Watched

PATH = PODS.collection()
QUOTAS_PATH = QUOTAS.collection()


class Shelf:
    """A sink that holds what is there."""

    def __init__(self) -> None:
        self.there: dict[str, str] = {}
        self.calls: list[str] = []

    def put(self, resource: Resource, identity: Identity, raw: bytes) -> None:
        self.there[identity.name] = identity.uid
        self.calls.append(f"put {identity.uid}@{identity.version}")

    def remove(self, resource: Resource, identity: Identity) -> None:
        assert self.there.pop(identity.name) == identity.uid
        self.calls.append(f"remove {identity.uid}")

    def synced(self, resource: Resource) -> None:
        self.calls.append("synced")


def thing(name: str, uid: str = "", version: int = 1, kind: str = "Pod") -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "uid": uid or name, "resourceVersion": str(version)}
    return {"kind": kind, "metadata": metadata}


def listed(version: str, *items: Mapping[str, Any], more: str = "") -> dict[str, Any]:
    return {"kind": "PodList", "metadata": {"resourceVersion": version, "continue": more}, "items": items}


def status(code: int, reason: str = "", message: str = "", **details: Any) -> dict[str, Any]:
    return {"kind": "Status", "code": code, "reason": reason, "message": message, "details": details}


EXPIRED = status(410, "Expired", "too old resource version")
TOO_LARGE = status(504, "Timeout", "Too large resource version: 9", causes=[{"reason": "ResourceVersionTooLarge"}])


class Play:
    """A reflector at work, and the server that it talks to."""

    def __init__(self, nursery: trio.Nursery, resource: Resource = PODS) -> None:
        self.server = Script()
        self.shelf = Shelf()
        self.reflector = Reflector(self.server, resource, self.shelf, Random(1))
        self.path = resource.collection()
        nursery.start_soon(self.reflector.run)

    async def asked(self) -> Asked:
        return await self.server.asked("GET", self.path)

    async def list(self, version: str, *items: Mapping[str, Any]) -> None:
        (await self.asked()).answer(200, listed(version, *items))

    async def watch(self, version: str) -> Watched:
        watched = await self.server.watched(self.path)
        assert watched.query["resourceVersion"] == version
        watched.accept()
        return watched

    async def settled(self) -> dict[str, str]:
        await wait_all_tasks_blocked()
        return self.shelf.there


async def test_what_is_there_is_listed_and_then_watched(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    play = Play(nursery)
    asked = await play.asked()
    assert asked.query == {"limit": "500"}  # without a resourceVersion: no answer older than the question
    assert not play.reflector.synced.is_set()
    asked.answer(200, listed("5", thing("a"), thing("b")))
    watched = await play.watch("5")
    assert watched.query["watch"] == "true"
    assert watched.query["allowWatchBookmarks"] == "true"
    assert 300 <= int(watched.query["timeoutSeconds"]) <= 600
    watched.event("ADDED", thing("c", version=6))
    watched.event("MODIFIED", thing("a", version=7))
    watched.event("DELETED", thing("b", version=8))
    assert await play.settled() == {"a": "a", "c": "c"}
    assert play.shelf.calls == ["put a@1", "put b@1", "synced", "put c@6", "put a@7", "remove b"]
    assert play.reflector.fault is None


async def test_pages_are_of_one_list(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    play = Play(nursery)
    (await play.asked()).answer(200, listed("5", thing("a"), more="next"))
    asked = await play.asked()
    assert asked.query == {"limit": "500", "continue": "next"}
    assert await play.settled() == {}
    asked.answer(200, listed("5", thing("b")))
    await play.watch("5")
    assert await play.settled() == {"a": "a", "b": "b"}


@pytest.mark.parametrize("second", [(410, EXPIRED), (200, listed("6", thing("b")))])
async def test_f8_pages_that_do_not_fit_together_are_asked_for_in_one_piece(
    nursery: trio.Nursery, autojump_clock: MockClock, second: tuple[int, dict[str, Any]]
) -> None:
    play = Play(nursery)
    (await play.asked()).answer(200, listed("5", thing("old"), more="next"))
    (await play.asked()).answer(*second)
    asked = await play.asked()
    assert asked.query == {}
    asked.answer(200, listed("6", thing("b")))
    await play.watch("6")
    assert await play.settled() == {"b": "b"}


@pytest.mark.parametrize("as_event", [True, False])
async def test_f1_after_410_the_store_is_replaced_at_once(
    nursery: trio.Nursery, autojump_clock: MockClock, as_event: bool
) -> None:
    play = Play(nursery)
    await play.list("5", thing("stays"), thing("changes"), thing("goes"), thing("returns", "first"))
    watched = await play.server.watched()
    if as_event:
        watched.accept()
        watched.event("ERROR", EXPIRED)
    else:
        watched.accept(410)
        watched.say(EXPIRED)
        watched.end()
    asked = await play.asked()
    play.shelf.calls.clear()
    assert asked.query == {"limit": "500"}
    assert len(play.shelf.there) == 4
    asked.answer(200, listed("9", thing("stays"), thing("changes", version=8), thing("returns", "second", 9)))
    await play.watch("9")
    assert play.shelf.calls == ["remove goes", "put changes@8", "remove first", "put second@9", "synced"]
    assert play.reflector.restarts == {Ending.GONE: 1}


async def test_f1_a_410_for_the_list_too_is_asked_again(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    play = Play(nursery)
    for _ in range(3):
        (await play.asked()).answer(410, EXPIRED)
        (await play.asked()).answer(410, EXPIRED)
    await play.list("5", thing("a"))
    await play.watch("5")


@pytest.mark.parametrize("as_event", [True, False])
async def test_f2_a_version_that_the_server_has_not_reached_is_given_up(
    nursery: trio.Nursery, autojump_clock: MockClock, as_event: bool
) -> None:
    play = Play(nursery)
    await play.list("9", thing("a", version=9))
    watched = await play.server.watched()
    watched.accept(200 if as_event else 504)
    watched.say({"type": "ERROR", "object": TOO_LARGE} if as_event else TOO_LARGE)
    watched.end()
    await play.list("3", thing("a", version=2))
    await play.watch("3")
    assert play.shelf.calls[-2:] == ["put a@2", "synced"]
    assert play.reflector.restarts == {Ending.AHEAD: 1}


async def test_f3_the_first_list_asks_for_the_newest_state(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    play = Play(nursery)
    assert "resourceVersion" not in (await play.asked()).query


async def test_f4_a_watch_that_is_silent_is_broken_off(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    play = Play(nursery)
    await play.list("5", thing("a"))
    watched = await play.watch("5")
    began = trio.current_time()
    await trio.sleep(60)
    watched.event("BOOKMARK", thing("", version=6))
    await watched.closed.wait()
    assert trio.current_time() - began == 60 + SILENCE
    await play.list("7", thing("a"))  # a version that no server ever had is silent too, so it isn't asked for again
    assert play.reflector.fault == "neither event nor bookmark for 90 s"
    await play.watch("7")
    await wait_all_tasks_blocked()
    assert play.reflector.fault is None
    assert play.reflector.restarts == {Ending.SILENT: 1}


async def test_f4_a_watch_that_never_begins_is_broken_off(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    play = Play(nursery)
    await play.list("5")
    began = trio.current_time()
    watched = await play.server.watched()
    await watched.closed.wait()
    assert trio.current_time() - began == SILENCE
    await play.list("5")


async def test_age_counts_from_the_last_sign_of_life(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    play = Play(nursery)
    await play.list("5")
    watched = await play.watch("5")
    await trio.sleep(50)
    assert play.reflector.age == 50
    watched.event("BOOKMARK", thing("", version=6))
    await trio.sleep(10)
    assert play.reflector.age == 10


async def test_f5_a_watch_that_always_ends_at_once_is_asked_for_ever_more_rarely(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    play = Play(nursery)
    await play.list("5")
    times = []
    with capture_logs() as logs:
        for _ in range(9):
            watched = await play.watch("5")
            times.append(trio.current_time())
            watched.end()
        await wait_all_tasks_blocked()
    waits = [later - sooner for sooner, later in pairwise(times)]
    assert 0.8 <= waits[0] <= 1.6
    assert all(later >= sooner for sooner, later in pairwise(waits[:6]))
    assert 30 <= waits[-1] <= 60
    assert play.reflector.restarts == {Ending.SHORT: 9}
    assert [log["event"] for log in logs] == ["Watch interrupted"]


async def test_a_watch_that_ends_in_due_time_goes_on_where_it_was(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    play = Play(nursery)
    await play.list("5")
    watched = await play.watch("5")
    watched.event("ADDED", thing("a", version=6))
    watched.event("BOOKMARK", thing("", version=8))
    await trio.sleep(60)
    watched.end()
    now = trio.current_time()
    await play.watch("8")
    assert trio.current_time() == now


async def test_f6_another_object_of_the_same_name_is_not_deleted_with_the_first(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    play = Play(nursery)
    await play.list("5", thing("a", "first"))
    watched = await play.watch("5")
    watched.event("ADDED", thing("a", "second", 7))  # its predecessor's deletion was missed
    watched.event("DELETED", thing("a", "first", 8))
    assert await play.settled() == {"a": "second"}
    assert play.shelf.calls[-2:] == ["remove first", "put second@7"]


async def test_f6_what_is_told_twice_or_late_changes_nothing(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    play = Play(nursery)
    await play.list("9", thing("a", version=9))
    watched = await play.watch("9")
    watched.event("MODIFIED", thing("a", version=9))
    watched.event("MODIFIED", thing("a", version=8))
    watched.event("DELETED", thing("never", version=10))
    await wait_all_tasks_blocked()
    assert play.shelf.calls == ["put a@9", "synced"]
    assert play.reflector.skipped == {Skipped.OLD: 2}


async def test_f7_what_is_no_event_of_the_kind_is_passed_over(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    play = Play(nursery)
    await play.list("5")
    watched = await play.watch("5")
    watched.event("SYNC", {"anything": True})
    watched.event("ADDED", thing("n", kind="Node", version=99))
    watched.event("ADDED", {"kind": "Table", "metadata": {}})
    watched.event("ADDED", thing("a", version=6))
    assert await play.settled() == {"a": "a"}
    watched.end()
    await play.watch("6")
    assert play.reflector.skipped == {Skipped.TYPE: 1, Skipped.KIND: 2}


@pytest.mark.parametrize("where", ["list", "watch"])
async def test_f10_a_server_that_asks_to_wait_is_given_the_time(
    nursery: trio.Nursery, autojump_clock: MockClock, where: str
) -> None:
    play = Play(nursery)
    throttled = status(429, "TooManyRequests", retryAfterSeconds=20)
    if where == "list":
        (await play.asked()).answer(429, throttled, {"retry-after": "20"})
        asked_at = trio.current_time()
        await play.list("5")
    else:
        await play.list("5")
        watched = await play.server.watched()
        watched.accept(429)
        watched.say(throttled)
        watched.end()
        asked_at = trio.current_time()
    await play.watch("5")
    waited = trio.current_time() - asked_at
    assert waited >= 20
    assert play.reflector.restarts == {Ending.THROTTLED: 1}


async def test_f15_a_server_that_is_down_for_ten_minutes_is_waited_for(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    play = Play(nursery)
    await play.list("5", thing("a"))
    (await play.watch("5")).drop()
    began, tries = trio.current_time(), 0
    while trio.current_time() < began + 600:
        watched = await play.server.watched()
        tries += 1
        watched.accept(503)
        watched.end()
    assert 10 <= tries <= 40
    assert play.shelf.there == {"a": "a"}
    assert play.reflector.fault == "503"
    await play.watch("5")
    await trio.sleep(2)
    assert play.reflector.fault is None


async def test_f18_a_broken_line_is_not_accepted_and_the_watch_goes_on_before_it(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    play = Play(nursery)
    await play.list("5")
    watched = await play.watch("5")
    watched.event("ADDED", thing("a", version=6))
    watched.say(b'{"type":"DELETED","object":{"kind":"Pod","metadata":{"name":"a"')
    await play.watch("6")
    assert play.shelf.there == {"a": "a"}
    assert play.reflector.restarts == {Ending.GARBLED: 1}


async def test_f18_a_list_that_cannot_be_read_is_asked_for_again(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    play = Play(nursery)
    for garbage in (b"<html>", b'{"metadata":{},"items":[]}', b'{"metadata":{"resourceVersion":"1"},"items":[{}]}'):
        (await play.asked()).answer(200, garbage)
    await play.list("5", thing("a"))
    await play.watch("5")
    assert play.reflector.restarts == {Ending.GARBLED: 3}


async def test_f20_a_kind_that_is_missing_at_the_start_is_waited_for_with_its_reason(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    play = Play(nursery, QUOTAS)
    (await play.asked()).answer(404, b"404 page not found\n")
    await wait_all_tasks_blocked()
    assert play.reflector.fault == "the server has no such kind: 404 page not found"
    assert not play.reflector.synced.is_set()
    await play.list("5")
    await play.watch("5")
    assert play.reflector.synced.is_set()


async def test_f20_when_a_kind_goes_its_objects_stay_as_they_were(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    play = Play(nursery, QUOTAS)
    objects = [thing("a", kind="Quota"), thing("b", kind="Quota")]
    await play.list("5", *objects)
    watched = await play.watch("5")
    for at, one in enumerate(objects):
        watched.event("DELETED", one | {"metadata": one["metadata"] | {"resourceVersion": str(6 + at)}})
    await trio.sleep(1.5)  # as seen on a real server
    watched.end()
    (await play.asked()).answer(404, b"404 page not found\n")
    await wait_all_tasks_blocked()
    assert play.shelf.there == {"a": "a", "b": "b"}
    assert play.reflector.fault is not None
    await play.list("9")  # the kind is back, and has no objects: now they are gone
    await play.watch("9")
    assert play.shelf.there == {}


async def test_f20_a_deletion_that_its_watch_outlives_counts(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    play = Play(nursery, QUOTAS)
    await play.list("5", thing("a", kind="Quota"), thing("b", "first", kind="Quota"))
    watched = await play.watch("5")
    watched.event("DELETED", thing("a", version=6, kind="Quota"))
    watched.event("DELETED", thing("b", "first", 7, kind="Quota"))
    watched.event("ADDED", thing("b", "second", 8, kind="Quota"))
    await trio.sleep(1)
    assert play.shelf.there == {"a": "a", "b": "second"}
    await trio.sleep(1.5)
    assert play.shelf.there == {"b": "second"}


async def test_a_right_that_is_missing_is_a_fault_until_it_is_granted(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    play = Play(nursery)
    (await play.asked()).answer(403, status(403, "Forbidden", "pods is forbidden"))
    await wait_all_tasks_blocked()
    assert play.reflector.fault == "403 pods is forbidden"
    await play.list("5")
    await play.watch("5")
    await wait_all_tasks_blocked()
    assert play.reflector.fault is None


async def test_f19_no_half_of_a_large_list_is_ever_seen(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    play = Play(nursery)
    sizes = []

    async def look() -> None:
        while True:
            sizes.append(len(play.shelf.there))
            await trio.lowlevel.checkpoint()

    nursery.start_soon(look)
    for page in range(10):
        items = [thing(f"p-{page}-{at}") for at in range(500)]
        (await play.asked()).answer(200, listed("5", *items, more="more" if page < 9 else ""))
    await play.server.watched()
    for _ in range(3):
        await trio.lowlevel.checkpoint()
    assert set(sizes) == {0, 5000}
    nursery.cancel_scope.cancel()
