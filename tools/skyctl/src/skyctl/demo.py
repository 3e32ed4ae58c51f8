"""`skyctl demo`: the example of eight machines, played by the scheduler's process and told on a terminal."""

import secrets
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import trio
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from sky_core.api.annotations import TOPOLOGY_POLICY
from sky_core.settings import Settings
from sky_core.simulation.objects import Object, part, text
from sky_sandbox.kubeconfig import kubeconfig
from sky_sandbox.sandbox import Sandbox
from sky_sandbox.sockets import Door, listen, serve
from sky_shell.reading.places import File
from sky_shell.resources import EVENTS, POD_GROUPS
from skyctl.manifests import loaded
from skyctl.play import objects, played
from skyctl.scene import Scene
from skyctl.staging import seen
from skyctl.staying import at_hand, called, stay
from skyctl.table import job, printed, zones
from skyctl.terminal import answer, tell

MANIFESTS: Final = Path(__file__).with_name("eight-nodes.yaml")
PATIENCE: Final = 60.0
"""Seconds within which the story is told on the slowest machine."""

_ANOTHER: Final = Path("examples/spot-pool.yaml")
_GANG, _STUCK = "worker", "big"
_LOOK_SECONDS: Final = 0.01
_UNTOLD: Final = 1
_INTERRUPTED: Final = 128 + signal.SIGINT


def demo(*, manifests: bool = False) -> int:
    """Tell the example, or print the objects that it is about; the exit status."""
    example = MANIFESTS.read_text(encoding="utf-8")
    if manifests:
        answer(example)
        return 0
    given = loaded([File(MANIFESTS.name, example)])
    return stay(partial(_play, given.objects))


async def _play(given: Sequence[Object], stop: trio.Event) -> int:
    async with played(given) as sandbox:
        told = False
        with trio.move_on_after(PATIENCE):
            while not (stop.is_set() or told):
                await trio.sleep(_LOOK_SECONDS)
                found = await objects(sandbox)
                told = _is_told(found, await objects(sandbox, [EVENTS]))
        if stop.is_set():
            return _INTERRUPTED
        answer(printed(_story(seen(found, Settings()))))
        if not told:
            tell(f"the scheduler has not come as far within {PATIENCE:.0f} s; the picture is how far it came")
            return _UNTOLD
        answer(_next(called("skyctl")))
        if _is_watched():
            await _hold(sandbox, stop)
        else:
            answer(f"\non a terminal the cluster stays up, and in another one these work:\n{_commands()}")
    return 0


def _is_told(found: list[Object], events: list[Object]) -> bool:
    """Whether the gang runs, and the scheduler has said in two places why the other job waits: status and event."""
    groups = {text(part(raw, "metadata"), "name"): part(raw, "status") for raw in found if raw["kind"] == "PodGroup"}
    phases = {part(raw, "metadata")["name"]: part(raw, "status").get("phase") for raw in found if raw["kind"] == "Pod"}
    runs = all(phase == "Running" for name, phase in phases.items() if name.startswith(_GANG))
    announced = any(part(event, "regarding").get("name") == _STUCK for event in events)
    return runs and groups[_GANG].get("phase") == "Running" and bool(groups[_STUCK].get("reasons")) and announced


def _is_watched() -> bool:
    """Whether somebody sits at a terminal, who can press Ctrl-C."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))


async def _hold(sandbox: Sandbox, stop: trio.Event) -> None:
    """Let people use the cluster until they have seen enough."""
    token = secrets.token_urlsafe(16)
    listeners, url = await listen()
    with tempfile.TemporaryDirectory(prefix="skyctl-") as folder:
        file = Path(folder, "kubeconfig")
        async with trio.open_nursery() as nursery:
            with at_hand(file, kubeconfig(url, token)):
                await nursery.start(serve, sandbox, listeners, Door(token))
                answer("\nthe cluster stays up until Ctrl-C; in another terminal:\n")
                answer(f"  export KUBECONFIG={file}\n{_commands()}")
                await stop.wait()
                nursery.cancel_scope.cancel()


def _story(scene: Scene) -> Iterator[RenderableType]:
    yield Text("Eight machines with eight cards each, behind two switches. Two jobs want cards:", "bold")
    yield "  worker  four workers with one card each, one after the other in a ring"
    yield "  big     six workers with six cards each, behind one switch or not at all"
    yield from zones(scene)
    yield from ("", Text("worker runs: task to quota to node, ranks in the order of the machines", "bold"))
    yield _hops(scene)
    yield from ("", Text("big waits, holds nothing, and its PodGroup says why", "bold"))
    for one in scene.jobs:
        if one.name == f"default/{_STUCK}":
            yield from job(one)


def _hops(scene: Scene) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    for quota in scene.quotas:
        for pod in quota.tasks:
            grid.add_row("", pod, "->", quota.name, "->", quota.node)
    return grid


def _next(command: str) -> str:
    """What to try, as lines to copy: they don't wrap."""
    example = f"{command} demo --manifests"
    lines = [
        "\ntry next, to let big take two switches, or to look at it in a browser:",
        f"  {example} | sed 's/: required/: preferred/' | {command} simulate -",
        f"  {example} | {command} simulate - -o html > demo.html",
    ]
    if _ANOTHER.exists():
        lines += [
            f"or another of {_ANOTHER.parent}/, each of which says at its top what it shows:",
            f"  {command} simulate {_ANOTHER}",
        ]
    return "\n".join(lines) + "\n"


def _commands() -> str:
    """What to ask the cluster, and how to let big take two switches."""
    kubectl, group = called("kubectl"), f"{POD_GROUPS} {_STUCK}"
    return (
        f"  {kubectl} get quota\n"
        f"  {kubectl} get pods -o wide\n"
        f"  {kubectl} describe {group}\n"
        f"  {kubectl} annotate --overwrite {group} {TOPOLOGY_POLICY}=preferred\n"
        f"  {kubectl} get pods -o wide --watch\n"
    )
