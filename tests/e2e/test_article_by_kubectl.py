"""The article's section 2.7, "where to look with kubectl", on both stages: its eight machines, its job of four workers.

The scheduler is a process of its own; a person sits before it and types.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
import yaml

from sky_control_plane import ControlPlane
from sky_core.testing.objects import queue
from sky_scheduler.testing.running import Running

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "eight-nodes.yaml"
NEW = str(Path(sys.executable).with_name("kubectl"))
OLD = shutil.which("kubectl", path="/usr/local/bin:/usr/bin")
KUBECTLS = {"1.36": NEW, **({"system": OLD} if OLD else {})}
PATIENCE = 60.0
WORKERS = range(4)
CARDS = {"nvidia.com/gpu": "1", "rdma/hca": "1"}
QUOTA_NAME = "scheduling.infini-ai.com/quota-name"
Object = dict[str, Any]


class Person:
    """Who types commands, in a terminal or in several."""

    def __init__(self, kubectl: str, kubeconfig: Path, folder: Path) -> None:
        self._command = [kubectl, f"--kubeconfig={kubeconfig}", f"--cache-dir={folder / 'cache'}"]
        self._environment = {**os.environ, "HOME": str(folder)}
        self._folder = folder

    def types(self, *words: str, manifest: list[Object] | None = None) -> str:
        """What a command prints that must succeed."""
        done = subprocess.run(
            [*self._command, *words], input=yaml.safe_dump_all(manifest or []), env=self._environment,
            capture_output=True, text=True, check=False, timeout=PATIENCE,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def asks(self, *words: str) -> Any:
        """What a command prints as JSON."""
        return json.loads(self.types(*words, "-o", "json"))

    @contextmanager
    def follows(self, *words: str) -> Iterator[Callable[[], str]]:
        """A command that goes on, and what it has printed so far."""
        path = self._folder / f"{len(list(self._folder.iterdir()))}.followed"
        with path.open("wb") as printed:
            process = subprocess.Popen([*self._command, *words], stdout=printed, env=self._environment)
        try:
            yield path.read_text
        finally:
            process.kill()
            process.wait()


async def until(question: Callable[[], bool]) -> None:
    with trio.fail_after(PATIENCE):
        while not question():  # noqa: ASYNC110  kubectl sets no event
            await trio.sleep(0.2)


@contextmanager
def sandbox(folder: Path) -> Iterator[Path]:
    """The light stage, as a process; its kubeconfig."""
    way = folder / "sandbox.kubeconfig"
    command = [str(Path(sys.executable).with_name("sky-sandbox")), "--kubeconfig", str(way)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith(b"http://127.0.0.1:")
            process.stdout.readline()  # how to use it, which is said once it is there
            yield way
        finally:
            process.kill()


@pytest.fixture(params=["sandbox", "control plane"])
def ways(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """A cluster that is ready for the scheduler: the kubeconfigs of an administrator, and of the scheduler."""
    with ExitStack() as stack:
        if request.param == "sandbox":
            way = stack.enter_context(sandbox(tmp_path))
            person = Person(NEW, way, tmp_path)
            person.types("apply", "-k", str(ROOT / "deploy/crds"))
            person.types("wait", "--for=condition=established", "crd", "--all", "--timeout=30s")
            person.types("create", "namespace", "sky-system")
            yield way, way
        else:
            plane: ControlPlane = request.getfixturevalue("own_plane")
            yield plane.kubeconfig(), plane.kubeconfig("system:serviceaccount:sky-system:sky-scheduler")


@pytest.mark.parametrize("kubectl", KUBECTLS.values(), ids=KUBECTLS.keys())
async def test_who_follows_the_quotas_sees_them_land(kubectl: str, ways: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    types = (person := Person(kubectl, ways[0], tmp_path / "home")).types
    objects = yaml.safe_load(EXAMPLE.read_text())["items"]
    jobs = [one for one in objects if one["kind"] in ("Pod", "PodGroup")]
    types("apply", "-f", "-", manifest=[queue("default"), *(one for one in objects if one not in jobs)])
    types("wait", "--for=condition=Ready", "node", "--all", f"--timeout={PATIENCE:.0f}s")
    await until(lambda: not any("taints" in one["spec"] for one in person.asks("get", "nodes")["items"]))
    before = nodes(person)
    assert [one.get("status", {}) for one in person.asks("get", "quotas")["items"]] == [{}] * 10

    of_quotas = '{.metadata.name} {.metadata.resourceVersion} {.status.nodeName}{"\\n"}'
    of_pods = '{.metadata.name} {.metadata.resourceVersion} {.spec.nodeName}{"\\n"}'
    with ExitStack() as stack:
        table = stack.enter_context(person.follows("get", "quota", "-w"))
        quotas = stack.enter_context(person.follows("get", "quota", "-w", f"-ojsonpath={of_quotas}"))
        await until(lambda: "q-train-3" in table() and "q-train-3" in quotas())
        types("apply", "-f", "-", manifest=jobs)
        assert {one["status"]["phase"] for one in person.asks("get", "pods")["items"]} == {"Pending"}
        pods = stack.enter_context(person.follows("get", "pod", "-w", f"-ojsonpath={of_pods}"))
        await until(lambda: "worker-3" in pods())
        stack.enter_context(Running(ways[1], tmp_path / "scheduler.log"))
        running = [f"pod/worker-{i}" for i in WORKERS]
        types("wait", "--for=condition=Ready", *running, f"--timeout={PATIENCE:.0f}s")
        types("wait", "--for=jsonpath={.status.phase}=Running", "podgroup/worker", f"--timeout={PATIENCE:.0f}s")
        types("wait", "--for=jsonpath={.status.nodeName}=n0", "quota/q-train-0", f"--timeout={PATIENCE:.0f}s")
        await until(lambda: all(landed(quotas(), f"q-train-{i}") and landed(pods(), f"worker-{i}") for i in WORKERS))
        await until(lambda: all(f"n{i}" in last(table(), f"q-train-{i}") for i in WORKERS))

    found = {one["metadata"]["name"]: one for one in person.asks("get", "quotas,pods")["items"]}
    wide = types("get", "pods", "-owide", "--no-headers")
    for i in WORKERS:
        first, *_ = (line.split() for line in table().splitlines() if line.startswith(f"q-train-{i} "))
        assert f"n{i}" not in first
        assert {f"n{i}", "QuotaBound"} <= set(last(table(), f"q-train-{i}"))
        status = found[f"q-train-{i}"]["status"]
        assert (status["phase"], status["nodeName"], status["allocated"]) == ("QuotaBound", f"n{i}", CARDS)
        assert found[f"worker-{i}"]["metadata"]["annotations"][QUOTA_NAME] == f"q-train-{i}"
        assert {f"n{i}", "Running"} <= set(last(wide, f"worker-{i}"))
    assert max(landed(quotas(), f"q-train-{i}") for i in WORKERS) < min(landed(pods(), f"worker-{i}") for i in WORKERS)
    assert nodes(person) == before
    assert told(person)


def nodes(person: Person) -> list[Object]:
    """All of the nodes that a scheduler might touch; whoever else writes them writes conditions."""
    return [
        {
            "metadata": {key: one["metadata"].get(key) for key in ("name", "uid", "labels", "annotations")},
            "spec": one["spec"],
            "room": [one["status"].get(key) for key in ("allocatable", "capacity")],
            "conditions": [each["type"] for each in one["status"]["conditions"]],
        }
        for one in person.asks("get", "nodes")["items"]
    ]


def last(printed: str, name: str) -> list[str]:
    """The last row of an object."""
    return [line.split() for line in printed.splitlines() if line.startswith(f"{name} ")][-1]


def landed(printed: str, name: str) -> int:
    """The first version of an object in which it has a node; 0 if there is none yet."""
    rows = (line.split() for line in printed.splitlines() if line.startswith(f"{name} "))
    return next((int(row[1]) for row in rows if len(row) == 3), 0)


def told(person: Person) -> bool:
    """What people are told where they would look for it; of the job that waits, too."""
    types = person.types
    described = types("describe", "quota", "q-train-0")
    assert "Bound to node n0" in described
    assert "Successfully assigned default/worker-0 to n0" in types("describe", "pod", "worker-0")
    assert "Successfully assigned default/worker-0 to n0" in types("events", "--for", "pod/worker-0")
    assert "TopologyZoneInsufficient" in types("describe", "podgroup", "big")
    assert {"FailedScheduling", "QuotaBound", "Scheduled"} <= set(types("get", "events").split())
    assert "TopologyZoneInsufficient" in last(types("get", "podgroups"), "big")
    assert "Running" in last(types("get", "podgroups"), "worker")
    return True
