"""The real control plane, one for all tests that ask for it."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

import crds
from rehearsal.acceptance import FOLDER
from sky_control_plane import Binaries, ControlPlane, service_account

ROOT = Path(__file__).parents[2]
SCHEDULER = service_account("sky-system", "sky-scheduler")
OUTSIDER = service_account("default", "outsider")

collect_ignore = [] if FOLDER.exists() else ["test_cases_on_a_control_plane.py"]


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
def plane(binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with furnished(binaries, tmp_path_factory.mktemp("plane")) as started:
        yield started


@pytest.fixture(scope="module")
def module_plane(binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """For tests that empty the cluster again and again."""
    with furnished(binaries, tmp_path_factory.mktemp("plane")) as started:
        yield started


@pytest.fixture
def own_plane(binaries: Binaries, tmp_path: Path) -> Iterator[ControlPlane]:
    """For a test that counts what is on the server, or leaves a leader's lease behind."""
    with furnished(binaries, tmp_path / "plane") as started:
        yield started
