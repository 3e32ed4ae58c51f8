"""Who leads, whatever happens to the Lease, the server, the clocks and the processes."""

import datetime
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import msgspec
import pytest
import trio
from structlog.testing import capture_logs
from trio.testing import MockClock, wait_all_tasks_blocked

from sky_shell.lease import Candidate, Election, Leadership, LostError, Terms, unique_identity
from sky_shell.lease_record import EPOCH, micro_time
from sky_shell.transport import JSON, Response, TransportError, fence

PATH = "/apis/coordination.k8s.io/v1/namespaces/sky/leases/sky-scheduler"


TERMS = Terms()


def wall() -> datetime.datetime:
    return datetime.datetime(2026, 12, 1, tzinfo=datetime.UTC) + datetime.timedelta(seconds=trio.current_time())


class Cabinet:
    """An API server that has one Lease, checks what a real one checks, and can be told to fail."""

    def __init__(self) -> None:
        self.lease: dict[str, Any] | None = None
        self.version = 0
        self.writes: list[tuple[str, float]] = []
        self.failing: int | None = None
        self.latency = 0.0
        self.loses_answers = 0

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] = {},
        body: bytes | None = None,
        content_type: str = JSON,
        timeout: float = 10.0,
    ) -> Response:
        assert fence.get() is None  # a renewal is what moves the fence
        if self.latency:
            with trio.move_on_after(timeout) as scope:
                await trio.sleep(self.latency)
            if scope.cancelled_caught:
                raise TransportError("no answer in time")
        await trio.lowlevel.checkpoint()
        if self.failing == 0:
            raise TransportError("connection refused")
        if self.failing:
            return Response(self.failing, b"not now")
        response = self._answer(method, path, msgspec.json.decode(body) if body else None)
        if self.loses_answers and method != "GET":
            self.loses_answers -= 1
            raise TransportError("the answer was lost")
        return response

    def stream(self, path: str, *, query: Mapping[str, str]) -> Any:
        raise NotImplementedError

    def _answer(self, method: str, path: str, sent: Any) -> Response:
        if method == "GET":
            return Response(200, msgspec.json.encode(self.lease)) if self.lease else Response(404, b"")
        if method == "POST" and self.lease is not None:
            return Response(409, b"already exists")
        if method == "PUT" and self.lease and sent["metadata"]["resourceVersion"] != str(self.version):
            return Response(409, b"the object has been modified")
        for time in ("acquireTime", "renewTime"):
            if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", sent["spec"][time]):
                return Response(400, b"MicroTime")
        self.put(sent)
        self.writes.append((sent["spec"].get("holderIdentity", ""), trio.current_time()))
        return Response(200 if method == "PUT" else 201, msgspec.json.encode(self.lease))

    def put(self, lease: dict[str, Any]) -> None:
        self.version += 1
        self.lease = lease | {"metadata": lease["metadata"] | {"resourceVersion": str(self.version)}}

    def edit(self, **spec: Any) -> None:
        assert self.lease is not None
        self.put(self.lease | {"spec": self.lease["spec"] | spec})

    @property
    def spec(self) -> dict[str, Any]:
        assert self.lease is not None
        return dict(self.lease["spec"])

    @property
    def holder(self) -> str:
        return str(self.spec.get("holderIdentity", ""))

    @property
    def epoch(self) -> str | None:
        assert self.lease is not None
        return dict(self.lease["metadata"].get("annotations") or {}).get(EPOCH)


class Process:
    """One that leads when it can, until it is told to stop."""

    def __init__(self, server: Cabinet, name: str, terms: Terms = TERMS) -> None:
        self.election = Election(server, "sky", "sky-scheduler", Candidate(name, terms, wall), Random(name))
        self.leadership: Leadership | None = None
        self.leads = trio.Event()
        self.ended = trio.Event()
        self.stop = trio.Event()
        self.led_until: float | None = None
        self.lost = False

    async def run(self) -> None:
        try:
            await self.election.lead(self._work)
        except LostError:
            self.lost = True
        self.ended.set()

    async def _work(self, leadership: Leadership) -> None:
        self.leadership = leadership
        self.leads.set()
        try:
            await self.stop.wait()
        finally:
            self.led_until = trio.current_time()


@asynccontextmanager
async def leading(server: Cabinet, nursery: trio.Nursery, name: str = "a") -> AsyncIterator[Process]:
    process = Process(server, name)
    nursery.start_soon(process.run)
    await process.leads.wait()
    yield process


async def test_who_finds_no_lease_leads(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    server = Cabinet()
    async with leading(server, nursery) as process:
        taken = server.spec
        assert (taken["holderIdentity"], taken["leaseDurationSeconds"], taken["leaseTransitions"]) == ("a", 15, 0)
        await trio.sleep(7)
        assert server.spec["acquireTime"] == taken["acquireTime"]
        assert server.spec["renewTime"] > taken["renewTime"]
        assert process.election.leads
        assert process.leadership is not None
        assert process.leadership.permit()


async def test_a_leader_renews_every_two_seconds(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    server = Cabinet()
    async with leading(server, nursery):
        began = trio.current_time()
        await trio.sleep(100)
        assert [(holder, time - began) for holder, time in server.writes[1:6]] == [("a", 2.0 * n) for n in range(1, 6)]


async def test_while_one_leads_the_other_waits(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    server = Cabinet()
    async with leading(server, nursery):
        other = Process(server, "b")
        nursery.start_soon(other.run)
        with capture_logs() as logs:
            await trio.sleep(600)
        assert [(log["event"], log["holder"]) for log in logs] == [("Waiting to lead", "a")]
        assert not other.leads.is_set()
        assert {holder for holder, _ in server.writes} == {"a"}


async def test_a_leader_that_stops_in_peace_is_followed_at_once(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    server = Cabinet()
    async with leading(server, nursery) as process:
        other = Process(server, "b")
        nursery.start_soon(other.run)
        await trio.sleep(30)
        process.stop.set()
        began = trio.current_time()
        await process.ended.wait()
        assert ("", began) in server.writes
        assert not process.lost
        assert process.leadership is not None
        assert not process.leadership.permit()
        await other.leads.wait()
        assert trio.current_time() - began <= 2.4
        assert server.spec["leaseTransitions"] == 1


async def test_f46_a_leader_that_is_gone_is_followed_when_its_time_is_over(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    server = Cabinet()
    async with leading(server, nursery), trio.open_nursery() as dying:
        dead = Process(server, "dead")
        server.lease = None
        dying.start_soon(dead.run)
        await dead.leads.wait()
        server.failing = 0  # nothing of it reaches the server any more, not even its last wish
        dying.cancel_scope.cancel()
    last = server.writes[-1][1]
    server.failing = None
    other = Process(server, "b")
    nursery.start_soon(other.run)
    await other.leads.wait()
    assert 15 <= trio.current_time() - last <= 17.4


@pytest.mark.parametrize("failing", [0, 500, 403, 429])
async def test_f15_a_leader_that_cannot_renew_ends_its_work_ten_seconds_after_it_last_asked(
    nursery: trio.Nursery, autojump_clock: MockClock, failing: int
) -> None:
    server = Cabinet()
    async with leading(server, nursery) as process:
        await trio.sleep(21)
        last = server.writes[-1][1]
        server.failing = failing
        await process.ended.wait()
        assert process.lost
        assert process.led_until == last + 10
        assert not process.election.leads


async def test_the_deadline_counts_from_when_a_renewal_was_sent(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    server = Cabinet()
    async with leading(server, nursery) as process:
        assert process.leadership is not None
        server.latency = 4
        sent = trio.current_time() + 2
        await trio.sleep(2 + 4 + 1)
        assert process.leadership.deadline == sent + 10


async def test_one_lost_answer_does_not_end_it(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    server = Cabinet()
    async with leading(server, nursery) as process:
        server.loses_answers = 2
        await trio.sleep(60)
        assert not process.ended.is_set()
        assert server.spec["leaseTransitions"] == 0


async def test_a_lost_answer_to_taking_it_is_found_out(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    server = Cabinet()
    server.loses_answers = 1
    async with leading(server, nursery):
        assert server.holder == "a"
        assert server.spec["leaseTransitions"] == 0
        assert trio.current_time() < 3 + server.writes[0][1]


async def test_f47_a_lease_that_somebody_else_was_written_into_is_lost_at_once(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    server = Cabinet()
    async with leading(server, nursery) as process:
        server.edit(holderIdentity="foreign")
        began = trio.current_time()
        await process.ended.wait()
        assert process.lost
        assert trio.current_time() - began <= 4
        assert server.holder == "foreign"


async def test_f47_a_deleted_lease_is_made_again(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    server = Cabinet()
    async with leading(server, nursery) as process:
        server.lease = None
        await trio.sleep(60)
        assert server.holder == "a"
        assert not process.ended.is_set()


@pytest.mark.parametrize(("said", "believed"), [(0, 15), (1, 15), (40, 40), (10**9, 60)])
async def test_f47_a_record_is_believed_for_as_long_as_it_says_within_reason(
    nursery: trio.Nursery, autojump_clock: MockClock, said: int, believed: float
) -> None:
    server = Cabinet()
    now = "2020-01-01T00:00:00.000000Z"
    spec = {"holderIdentity": "z", "leaseDurationSeconds": said, "acquireTime": now, "renewTime": now}
    server.put({"metadata": {"name": "sky-scheduler", "namespace": "sky"}, "spec": spec})
    began = trio.current_time()
    async with leading(server, nursery):
        assert believed <= trio.current_time() - began <= believed + 2.4


async def test_f48_times_of_day_in_the_record_mean_nothing(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    server = Cabinet()
    async with leading(server, nursery):
        other = Process(server, "b")
        nursery.start_soon(other.run)
        for hour in range(20):
            await trio.sleep(5)
            server.edit(renewTime=f"20{hour:02}-01-01T00:00:00.000000Z")
        assert not other.leads.is_set()


@pytest.mark.parametrize(("rate", "overlaps"), [(1.4, False), (2.0, True)])
async def test_f61_clocks_may_differ_by_the_ratio_of_duration_and_deadline(
    nursery: trio.Nursery, autojump_clock: MockClock, rate: float, overlaps: bool
) -> None:
    """The other's clock is fast: what it takes for 15 s is less. 15 to 10 bears a factor of 1.5, and no more."""
    server = Cabinet()
    async with leading(server, nursery) as process:
        fast = Process(server, "fast", Terms(15 / rate, 10 / rate, 2 / rate))
        server.edit(leaseDurationSeconds=0)  # so that it goes by its own
        nursery.start_soon(fast.run)
        await wait_all_tasks_blocked()
        assert process.leadership is not None
        failed = trio.current_time()
        process_only = server.request

        async def cut(method: str, path: str, **rest: Any) -> Response:
            holder = msgspec.json.decode(rest["body"])["spec"].get("holderIdentity") if rest.get("body") else ""
            if holder == "a":
                raise TransportError("the leader is cut off")
            return await process_only(method, path, **rest)

        server.request = cut  # type: ignore[method-assign]
        await fast.leads.wait()
        assert trio.current_time() - failed >= 15 / rate
        assert process.leadership.permit() is overlaps


async def test_the_epoch_is_in_the_lease_before_anything_is_decided(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    server = Cabinet()
    async with leading(server, nursery) as process:
        assert process.leadership is not None
        server.failing = 500
        nursery.start_soon(_mend, server, 5)
        assert await process.leadership.open_epoch(6) == 7
        assert server.epoch == "7"
        assert server.failing is None
        await trio.sleep(30)
        assert server.epoch == "7"


async def _mend(server: Cabinet, after: float) -> None:
    await trio.sleep(after)
    server.failing = None


@pytest.mark.parametrize(
    ("transitions", "highest", "former", "epoch"),
    [(0, 0, None, 1), (9, 3, None, 10), (2, 8, None, 9), (2, 8, "12", 13), (2, 8, "no number", 9), (2, 8, "-3", 9)],
)
async def test_the_epoch_is_greater_than_every_former_leader_s(
    nursery: trio.Nursery,
    autojump_clock: MockClock,
    transitions: int,
    highest: int,
    former: str | None,
    epoch: int,
) -> None:
    server = Cabinet()
    now = "2020-01-01T00:00:00.000000Z"
    annotations = {EPOCH: former, "other": "stays"} if former else {"other": "stays"}
    metadata = {"name": "sky-scheduler", "namespace": "sky", "annotations": annotations, "labels": {"app": "sky"}}
    server.put({"metadata": metadata, "spec": {"acquireTime": now, "renewTime": now, "leaseTransitions": transitions}})
    async with leading(server, nursery) as process:
        assert process.leadership is not None
        assert server.epoch == former
        assert await process.leadership.open_epoch(highest) == epoch
        assert server.lease is not None
        assert server.lease["metadata"]["labels"] == {"app": "sky"}
        assert server.lease["metadata"]["annotations"]["other"] == "stays"


async def test_f55_when_the_process_is_cancelled_its_lease_is_released(autojump_clock: MockClock) -> None:
    server = Cabinet()
    async with trio.open_nursery() as nursery:
        process = Process(server, "a")
        nursery.start_soon(process.run)
        await process.leads.wait()
        nursery.cancel_scope.cancel()
    assert server.holder == ""


async def test_f55_a_release_that_hangs_does_not_keep_the_process(autojump_clock: MockClock) -> None:
    server = Cabinet()
    async with trio.open_nursery() as nursery:
        process = Process(server, "a")
        nursery.start_soon(process.run)
        await process.leads.wait()
        server.latency = 1000
        began = trio.current_time()
        nursery.cancel_scope.cancel()
    assert trio.current_time() - began <= 2


async def test_f56_when_the_work_fails_the_lease_is_released_and_the_error_told(autojump_clock: MockClock) -> None:
    server = Cabinet()

    async def work(_: Leadership) -> None:
        raise ValueError("a defect")

    election = Election(server, "sky", "sky-scheduler", Candidate("a"), Random(1))
    with pytest.RaisesGroup(ValueError):
        await election.lead(work)
    assert server.holder == ""


async def test_a_lease_that_can_be_read_but_not_written_is_complained_about_once(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    server = Cabinet()
    server.loses_answers = 5
    server.put = lambda lease: None  # type: ignore[method-assign]
    with capture_logs() as logs:
        nursery.start_soon(Process(server, "a").run)
        await trio.sleep(8)
    assert [log["event"] for log in logs] == ["Lease can't be had"]


async def test_why_the_lease_cannot_be_had_is_told(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    server = Cabinet()
    server.failing = 403
    process = Process(server, "a")
    with capture_logs() as logs:
        nursery.start_soon(process.run)
        await trio.sleep(10)
    assert process.election.fault == "403 not now"
    assert [log["event"] for log in logs] == ["Lease can't be had"]
    server.failing = None
    await process.leads.wait()
    assert process.election.fault is None


def test_a_micro_time_has_six_decimals_whatever_the_time_is() -> None:
    at = datetime.datetime(2026, 12, 1, 9, 30, tzinfo=datetime.timezone(datetime.timedelta(hours=9)))
    assert micro_time(at) == "2026-12-01T00:30:00.000000Z"
    assert micro_time(at.replace(microsecond=5)) == "2026-12-01T00:30:00.000005Z"


def test_no_two_processes_have_one_identity() -> None:
    assert len({unique_identity() for _ in range(100)}) == 100
