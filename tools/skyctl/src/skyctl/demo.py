"""`skyctl demo`: the example of eight machines, told on a terminal."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from sky_core.model import Instant
from sky_core.simulation.run import run
from sky_shell.reading.places import File
from skyctl.configuration import configured
from skyctl.manifests import loaded
from skyctl.scene import Scene
from skyctl.simulate import ended
from skyctl.staging import staged
from skyctl.table import job, printed, zones
from skyctl.terminal import answer

MANIFESTS: Final = Path(__file__).with_name("eight-nodes.yaml")
_EXAMPLES: Final = Path("examples")
_GANG, _STUCK = "default/worker", "default/big"


def demo(*, manifests: bool = False) -> int:
    """Tell the example, or print the objects that it is about; the exit status."""
    text = MANIFESTS.read_text(encoding="utf-8")
    if manifests:
        answer(text)
        return 0
    policy = configured(None)
    given = loaded([File(MANIFESTS.name, text)])
    report = run(given.objects, given.events, policy, policy.settings, now=Instant(0), cycles=100)
    answer(printed(_story(staged(report, policy.settings))) + _next(_command()))
    return ended(report)


def _story(scene: Scene) -> Iterator[RenderableType]:
    yield Text("Eight machines with eight cards each, behind two switches. Two jobs want cards:", "bold")
    yield "  worker  four workers with one card each, one after the other in a ring"
    yield "  big     six workers with six cards each, behind one switch or not at all"
    yield from zones(scene)
    yield from ("", Text("worker runs: task to quota to node, ranks in the order of the machines", "bold"))
    yield _hops(scene, _GANG)
    yield from ("", Text("big waits, holds nothing, and says why", "bold"))
    for one in scene.jobs:
        if one.name == _STUCK:
            yield from job(one)


def _hops(scene: Scene, of: str) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    for quota in scene.quotas:
        for pod in quota.tasks:
            if pod.startswith(of):
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
    if _EXAMPLES.is_dir():
        lines += ["or another example; each says at its top what it shows:"]
        lines += [
            f"  {command} simulate {path}" for path in sorted(_EXAMPLES.glob("*.yaml")) if path.name != MANIFESTS.name
        ]
    return "\n".join(lines) + "\n"


def _command() -> str:
    """How this command is called from here."""
    return "skyctl" if shutil.which("skyctl") else sys.argv[0]
