"""The sandbox on a real port: tokens, watches, broken connections, its own paths, and the command that starts it."""

import signal
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import h11
import msgspec
import pytest
import trio

from sky_sandbox.kubeconfig import kubeconfig, lent
from sky_sandbox.sandbox import Sandbox, open_sandbox
from sky_sandbox.sockets import Door, listen, serve
from sky_sandbox.testing import START, named

MAPS = "/api/v1/namespaces/default/configmaps"


class Peer:
    """A client with a connection of its own for each request."""

    def __init__(self, sandbox: Sandbox, door: Door, port: int) -> None:
        self.sandbox = sandbox
        self.door = door
        self.port = port

    async def ask(
        self, method: str, path: str, body: object = None, *, bearer: str | None = None
    ) -> tuple[int, list[bytes]]:
        """The status, and the pieces of the body; raises if the answer breaks off."""
        stream = await trio.open_tcp_stream("127.0.0.1", self.port)
        http = h11.Connection(h11.CLIENT)
        sent = b"" if body is None else msgspec.json.encode(body)
        headers = [("host", "sandbox"), ("content-length", str(len(sent)))]
        headers.append(("authorization", f"Bearer {self.door.token if bearer is None else bearer}"))
        request = http.send(h11.Request(method=method, target=path, headers=headers))
        await stream.send_all((request or b"") + (http.send(h11.Data(data=sent)) or b""))
        await stream.send_all(http.send(h11.EndOfMessage()) or b"")
        status, pieces = 0, []
        async with stream:
            while True:
                event = http.next_event()
                if event is h11.NEED_DATA:
                    http.receive_data(await stream.receive_some())
                elif isinstance(event, h11.Response):
                    status = event.status_code
                elif isinstance(event, h11.Data):
                    pieces.append(bytes(event.data))
                else:
                    return status, pieces


@pytest.fixture
async def peer(nursery: trio.Nursery) -> AsyncIterator[Peer]:
    listeners, url = await listen()
    door = Door("secret")
    async with open_sandbox(START) as sandbox:
        await nursery.start(serve, sandbox, listeners, door)
        yield Peer(sandbox, door, int(url.rpartition(":")[2]))
        nursery.cancel_scope.cancel()


async def test_only_who_knows_the_token_comes_in(peer: Peer) -> None:
    assert (await peer.ask("GET", "/version"))[0] == 200
    assert (await peer.ask("GET", "/secret/version", bearer="none"))[0] == 200
    assert (await peer.ask("GET", "/version", bearer="wrong"))[0] == 401
    assert (await peer.ask("GET", "/wrong/version", bearer="none"))[0] == 401
    peer.door.token = "rotated"  # noqa: S105
    assert (await peer.ask("GET", "/version", bearer="secret"))[0] == 401
    assert (await peer.ask("GET", "/version"))[0] == 200


async def test_objects_go_in_and_out(peer: Peer) -> None:
    assert (await peer.ask("POST", MAPS, named("v1", "ConfigMap", "a")))[0] == 201
    status, pieces = await peer.ask("GET", f"{MAPS}/a")
    assert (status, msgspec.json.decode(b"".join(pieces))["metadata"]["name"]) == (200, "a")
    huge = named("v1", "ConfigMap", "b", data={"x": "y" * 4_000_000})
    assert (await peer.ask("POST", MAPS, huge))[0] == 413


async def test_a_watch_is_a_line_an_event_and_ends_cleanly(peer: Peer) -> None:
    await peer.ask("POST", MAPS, named("v1", "ConfigMap", "a"))
    status, pieces = await peer.ask("GET", f"{MAPS}?watch=true&timeoutSeconds=1")
    (line,) = b"".join(pieces).splitlines()
    assert (status, msgspec.json.decode(line)["type"]) == (200, "ADDED")


async def test_a_broken_watch_breaks_off_within_a_line(peer: Peer) -> None:
    await peer.ask("POST", "/sandbox/faults", {"verbs": ["watch"], "broken": True})
    with pytest.raises(h11.RemoteProtocolError, match="incomplete chunked read"):
        await peer.ask("GET", f"{MAPS}?watch=true")


async def test_a_lost_answer_is_a_closed_connection(peer: Peer) -> None:
    await peer.ask("POST", "/sandbox/faults", {"lost": True, "done": True})
    with pytest.raises(h11.RemoteProtocolError):
        await peer.ask("POST", MAPS, named("v1", "ConfigMap", "a"))
    assert (await peer.ask("GET", f"{MAPS}/a"))[0] == 200


async def test_the_sandbox_has_paths_of_its_own(peer: Peer) -> None:
    async def control(method: str, path: str, body: object = None) -> Any:
        status, pieces = await peer.ask(method, f"/sandbox/{path}", body)
        return msgspec.json.decode(b"".join(pieces)) if status == 200 else status

    assert await control("GET", "faults") == []
    (fault,) = await control("POST", "faults", {"resource": "pods", "status": 429, "retryAfter": 3})
    assert (fault["resource"], fault["retryAfter"]) == ("pods", 3)
    assert await control("DELETE", "faults") == []
    assert await control("POST", "faults", {"resource": "pods", "stauts": 429}) == 400
    before = peer.sandbox.clock.now()
    await control("POST", "clock", {"paused": True, "advance": "1h"})
    assert peer.sandbox.clock.paused
    assert peer.sandbox.clock.now() - before >= 3600 * 10**9
    await control("POST", "clock", {"paused": False})
    assert not peer.sandbox.clock.paused
    assert await control("POST", "clock", {"advance": "soon"}) == 400
    assert await control("POST", "watches", {"resource": "pods", "silent": True})
    assert await control("POST", "compaction") == {}
    assert (await control("GET", "state"))["seed"] == "sandbox"
    assert await control("GET", "nothing") == 404


def test_a_kubeconfig_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    config, ours, others = tmp_path / "config", kubeconfig("http://127.0.0.1:1", "a"), kubeconfig("http://x", "b")
    for content in (b"", b"current-context: sandbox\n", b'{"current-context": "production"}'):
        config.write_bytes(content)
        with pytest.raises(FileExistsError, match="left alone"), lent(config, ours):
            pass
        assert config.read_bytes() == content
    config.write_bytes(others)  # what a sandbox left that was killed
    with lent(config, ours):
        assert config.read_bytes() == ours
    assert not config.exists()
    with lent(config, ours):
        config.write_bytes(others)
    assert config.read_bytes() == others


def test_the_command_writes_a_kubeconfig_and_saves_its_state(tmp_path: Path) -> None:
    config, state = tmp_path / "deep" / "kubeconfig", tmp_path / "state.json"
    binary = Path(sys.executable).with_name("sky-sandbox")
    command: list[Path | str] = [binary, "--kubeconfig", config, "--state", state]
    for _ in range(2):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            assert process.stdout.readline().strip() == f"export KUBECONFIG={config}"
            assert stat.S_IMODE(config.stat().st_mode) == 0o600
            server = msgspec.json.decode(config.read_bytes())["clusters"][0]["cluster"]["server"]
            assert server.startswith(f"{url}/")
            process.send_signal(signal.SIGTERM)
            assert process.wait(10) == 0
            assert not config.exists()
    names = [one["metadata"]["name"] for one in msgspec.json.decode(state.read_bytes())["objects"]]
    assert names.count("default") == 1
    state.write_text("{}")
    failed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (failed.returncode, failed.stderr.startswith("sky-sandbox: ")) == (1, True)
