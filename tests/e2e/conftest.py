"""The real control plane: one for all tests that ask for it, and one for the scheduler's processes."""

import json
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path

import pytest
import trio

import crds
from rehearsal.acceptance import FOLDER
from sky_control_plane import Binaries, ControlPlane, service_account
from sky_core.model import Instant
from sky_scheduler.testing.running import Running
from sky_scheduler.testing.stage import Stage
from sky_shell.access import kubeconfig
from sky_shell.bridge import bridge
from sky_shell.testing.between import Between, between

ROOT = Path(__file__).parents[2]
SCHEDULER = service_account("sky-system", "sky-scheduler")
OUTSIDER = service_account("default", "outsider")
LAST = "test_rights_in_use.py"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/sky-system/leases/sky-scheduler"
LEFT_BEHIND = (
    "/apis/batch/v1/namespaces/default/jobs",
    "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
    *(f"/apis/{crds.GROUP}/{crds.VERSION}/{part}" for part in ("namespaces/default/podgroups", "quotas", "queues")),
    f"/apis/{crds.GROUP}/{crds.VERSION}/jobqueues",
    "/api/v1/namespaces/default/pods",
    "/apis/events.k8s.io/v1/namespaces/default/events",
    "/api/v1/nodes",
)
collect_ignore = [] if FOLDER.exists() else ["test_cases_on_a_control_plane.py"]
Files = set[Path]
RUN: pytest.StashKey[tuple[Files, Files]] = pytest.StashKey()


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """Who leaves out some tests of a file leaves out that file."""
    for item in items:
        _, left_out = item.config.stash.setdefault(RUN, (set(), set()))
        left_out.add(item.path)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What judges the other tests comes after them."""
    run, _ = config.stash.setdefault(RUN, (set(), set()))
    run.update(item.path for item in items)
    items.sort(key=lambda item: item.path.name == LAST)


@pytest.fixture(scope="session")
def is_whole(pytestconfig: pytest.Config) -> bool:
    """Whether every test here is run; as far as one can see: those that are named one by one count for their file."""
    run, left_out = pytestconfig.stash[RUN]
    named = any("::" in argument for argument in pytestconfig.args)
    every = {path for path in Path(__file__).parent.glob("test_*.py") if path.name not in collect_ignore}
    return not named and every <= run - left_out


@contextmanager
def furnished(binaries: Binaries, folder: Path) -> Iterator[ControlPlane]:
    """With our kinds and the scheduler's account, roles and fence; the scheduler itself is not started."""
    with ControlPlane(binaries, folder, users=[SCHEDULER, OUTSIDER]) as started:
        for part in ("deploy/crds", "deploy/base/scheduler"):
            done = started.kubectl("apply", "-k", str(ROOT / part))
            assert done.returncode == 0, done.stderr
        done = started.kubectl("wait", "--for=condition=established", "crd", "--all", "--timeout=30s")
        assert done.returncode == 0, done.stderr
        for kind in crds.KINDS:
            started.wait_until(
                partial(started.serves, f"/apis/{crds.GROUP}/{crds.VERSION}/{kind.plural}")
            )  # 429 at first
        started.kubectl("get", "quotas")  # a kind that kubectl misses; `quota` it would find in the list that it keeps
        yield started


@pytest.fixture(scope="session")
def planes() -> list[ControlPlane]:
    """Those that there have been so far."""
    return []


Started = Callable[[], AbstractContextManager[ControlPlane]]


@pytest.fixture(scope="session")
def another(binaries: Binaries, tmp_path_factory: pytest.TempPathFactory, planes: list[ControlPlane]) -> Started:
    """Starts a control plane with all that the scheduler needs."""

    @contextmanager
    def start() -> Iterator[ControlPlane]:
        with furnished(binaries, tmp_path_factory.mktemp("plane")) as started:
            planes.append(started)
            yield started

    return start


@pytest.fixture(scope="session")
def plane(another: Started) -> Iterator[ControlPlane]:
    with another() as started:
        yield started


@pytest.fixture(scope="session")
def work_plane(another: Started) -> Iterator[ControlPlane]:
    with another() as started:
        yield started


@pytest.fixture(scope="module")
def module_plane(another: Started) -> Iterator[ControlPlane]:
    """For tests that empty the cluster again and again."""
    with another() as started:
        yield started


@pytest.fixture
def own_plane(work_plane: ControlPlane) -> Iterator[ControlPlane]:
    """For a test that runs schedulers; nothing is there but what it makes, and nobody has led."""
    yield work_plane
    for path in LEFT_BEHIND:
        work_plane.request("DELETE", path, {"gracePeriodSeconds": 0, "propagationPolicy": "Background"})
    work_plane.request("DELETE", LEASE)
    for path in LEFT_BEHIND:
        work_plane.wait_until(lambda path=path: not work_plane.request("GET", path).body["items"])  # type: ignore[misc]


@pytest.fixture
def run(own_plane: ControlPlane, tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """Starts a scheduler under the account that it is deployed with; `by` is another way to the server."""
    with ExitStack() as stack:

        def start(name: str = "scheduler", *words: str, by: Path | None = None) -> Running:
            way = by or own_plane.kubeconfig(SCHEDULER.name)
            return stack.enter_context(Running(way, tmp_path / f"{name}.log", *words))

        yield start


@pytest.fixture
async def stage(own_plane: ControlPlane, nursery: trio.Nursery) -> AsyncIterator[Stage]:
    """The cluster as an administrator sees it."""
    async with bridge(kubeconfig(str(own_plane.kubeconfig()))) as transport:
        yield Stage(transport, nursery, lambda: Instant(time.time_ns()), trio.to_thread.run_sync)


@pytest.fixture
async def proxy(own_plane: ControlPlane, tmp_path: Path) -> AsyncIterator[tuple[Between, Path]]:
    """A proxy to the server, and the way through it for a scheduler's account."""
    said = json.loads(own_plane.kubeconfig(SCHEDULER.name).read_text())
    async with between(own_plane.url, own_plane.certificate) as (proxy, address):
        said["clusters"][0]["cluster"] = {"server": address}
        way = tmp_path / "proxied.kubeconfig"
        way.write_text(json.dumps(said))
        yield proxy, way
