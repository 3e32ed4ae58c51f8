"""Two stages for every play: the sandbox, and a real API server, which is right wherever they differ."""

from collections.abc import Iterator, Sequence
from functools import cache, partial
from itertools import count
from pathlib import Path
from typing import Final

import pytest
import trio
import trio.testing
import yaml

import crds
from plays import Play, Step, post
from sky_control_plane import Binaries, ControlPlane
from sky_core.api.instants import instant
from sky_sandbox.sandbox import open_sandbox
from sky_sandbox.state import restored, saved
from sky_sandbox.testing import Caller
from sky_sandbox.transport import SandboxTransport
from sky_shell.access import kubeconfig
from sky_shell.bridge import bridge
from transcripts import Transcript, differences, played, surprises

CRDS: Final = Path(__file__).parents[2] / "deploy" / "crds"
DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
START: Final = instant("2026-07-01T00:00:00Z")
KINDS: Final = [f"/apis/{crds.GROUP}/{crds.VERSION}/{kind.plural}" for kind in crds.KINDS]
COUNTED: Final = count(1)


class SandboxStage:
    """A new sandbox for each play, in simulated time, with our kinds and nobody in it."""

    def play(self, namespace: str, steps: Sequence[Step]) -> Transcript:
        return trio.run(self._play, namespace, steps, clock=trio.testing.MockClock(autojump_threshold=0))

    async def _play(self, namespace: str, steps: Sequence[Step]) -> Transcript:
        async with open_sandbox(START, server=restored(state()), habits=None) as sandbox:
            transport = SandboxTransport(sandbox)
            prepared = await played(transport, namespace, [HOME])
            assert surprises(prepared, of_sandbox=True) == []
            return await played(transport, namespace, steps)


class RealStage:
    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane

    def play(self, namespace: str, steps: Sequence[Step]) -> Transcript:
        return trio.run(self._play, namespace, steps)

    async def _play(self, namespace: str, steps: Sequence[Step]) -> Transcript:
        async with bridge(kubeconfig(str(self._plane.kubeconfig()))) as transport:
            prepared = await played(transport, namespace, [HOME, ACCOUNT])
            assert surprises(prepared, of_sandbox=False) == []
            return await played(transport, namespace, steps)


HOME: Final = post("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "$ns"}})
ACCOUNT: Final = post(
    "/api/v1/namespaces/$ns/serviceaccounts", {"metadata": {"name": "default"}, "automountServiceAccountToken": False}
)
"""Without it a real API server admits no pod. Controllers would make it, with a token that is mounted into each pod."""


@cache
def definitions() -> list[Step]:
    """Our kinds, to be made known."""
    found = [yaml.load(file.read_text(), yaml.CSafeLoader) for file in sorted(CRDS.glob("*.yaml"))]
    return [post(DEFINITIONS, one) for one in found if one["kind"] == "CustomResourceDefinition"]


@cache
def state() -> bytes:
    """The state of a sandbox with our kinds."""
    caller = Caller()
    for step in definitions():
        assert caller.post(step.path, step.body).status == 201
    return saved(caller.server)


@pytest.fixture(scope="session")
def bare_plane(binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """An API server that has our kinds, and no controllers and no kubelets."""
    with ControlPlane(binaries, tmp_path_factory.mktemp("plane"), parts=[]) as plane:
        for step in definitions():
            assert plane.request("POST", DEFINITIONS, step.body).status == 201
        for path in KINDS:
            plane.wait_until(partial(plane.serves, path))
        assert plane.request("POST", ACCOUNT.path.replace("$ns", "default"), ACCOUNT.body).status == 201
        yield plane


@pytest.fixture(params=["sandbox", "real"])
def play(request: pytest.FixtureRequest) -> Play:
    """Sees that the sandbox does what a play says; or that a real API server does, and the sandbox the same."""

    def run(*steps: Step) -> None:
        namespace = f"play-{next(COUNTED)}"
        copy = SandboxStage().play(namespace, steps)
        if request.param == "sandbox":
            wrong = surprises(copy, of_sandbox=True)
        else:
            truth = RealStage(request.getfixturevalue("bare_plane")).play(namespace, steps)
            wrong = surprises(truth, of_sandbox=False) + differences(truth, copy)
        if wrong:
            pytest.fail("\n".join(wrong), pytrace=False)

    return run


@pytest.fixture
def sky() -> Caller:
    """At a sandbox with our kinds."""
    return Caller(restored(state()))
