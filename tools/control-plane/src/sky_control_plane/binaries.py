"""Where the programs of a control plane come from.

`KUBEBUILDER_ASSETS` names a folder of them, by controller-runtime's convention. Without it the Go module beside this
package is built, once for each state of it, into the user's cache.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

MODULE: Final = Path(__file__).parents[2]
ASSETS: Final = "KUBEBUILDER_ASSETS"
NEEDED: Final = ("etcd", "kube-apiserver")
GO_FOLDER: Final = "/usr/local/go/bin"
"""Where Go's own archive installs it, which is often in nobody's PATH."""

_KUBERNETES: Final = re.compile(r"k8s\.io/kubernetes v((\d+)\.(\d+)\.\d+)")
_ETCD: Final = "server"  # as its main package is called


class NotAtHandError(Exception):
    """There are no binaries, and none can be built; says why."""


class Binaries(NamedTuple):
    """A folder of programs. Of `etcd` and `kube-apiserver` it is sure; others may be missing."""

    folder: Path

    def path(self, name: str) -> Path:
        """A program of it.

        Raises:
            NotAtHandError: It is not there.
        """
        if not self.has(name):
            raise NotAtHandError(f"there is no {name} in {self.folder}")
        return self.folder / name

    def has(self, name: str) -> bool:
        """Whether a program is there."""
        return os.access(self.folder / name, os.X_OK)


def find(environment: Mapping[str, str] = os.environ, notice: Callable[[str], object] = lambda _: None) -> Binaries:
    """The binaries that the environment names, else those that were built from the module, else built now.

    To build them takes some minutes, the first time; `notice` is told so before.

    Raises:
        NotAtHandError: There are none, and no Go to build them; or the build failed.
    """
    if named := environment.get(ASSETS):
        return _whole(Binaries(Path(named)), f"{ASSETS} is {named}, where")
    built = Binaries(_cache(environment) / fingerprint(_sources()))
    if not built.folder.exists():
        build(built.folder, environment, notice)
    return _whole(built, f"{built.folder} is broken; delete it:")


def fingerprint(sources: Iterable[Path]) -> str:
    """A name for a state of the module."""
    state = hashlib.sha256()
    for source in sources:
        state.update(f"{source.name}\0{source.stat().st_size}\0".encode() + source.read_bytes())
    return state.hexdigest()[:16]


def build(folder: Path, environment: Mapping[str, str], notice: Callable[[str], object]) -> None:
    """Build the module's programs, stamped with the version of Kubernetes, into a folder that then exists, whole.

    Whoever comes while another builds waits for it.

    Raises:
        NotAtHandError: There is no Go, or the build failed.
    """
    go = shutil.which("go", path=f"{environment.get('PATH', '')}{os.pathsep}{GO_FOLDER}")
    if go is None:
        raise NotAtHandError(f"there is no Go to build a control plane with, and {ASSETS} is not set")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / "lock").open("w") as lock, tempfile.TemporaryDirectory(dir=folder.parent) as fresh:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if folder.exists():
            return
        notice("building a control plane; this takes some minutes, once ...")
        command = [go, "build", "-trimpath", "-buildvcs=false", "-ldflags", _stamp(), "-o", f"{fresh}/bin/", "tool"]
        done = subprocess.run(command, cwd=MODULE, env=dict(environment), capture_output=True, text=True, check=False)
        if done.returncode:
            raise NotAtHandError(f"the control plane could not be built: {done.stderr[-2000:]}")
        programs = Path(fresh, "bin")
        (programs / _ETCD).rename(programs / "etcd")
        programs.rename(folder)


def _sources() -> list[Path]:
    return sorted([MODULE / "go.mod", MODULE / "go.sum", *MODULE.rglob("*.go")])


def _stamp() -> str:
    """Without it the server calls itself v0.0.0."""
    found = _KUBERNETES.search((MODULE / "go.mod").read_text())
    if found is None:
        raise NotAtHandError(f"{MODULE / 'go.mod'} names no version of Kubernetes")
    version, major, minor = found.groups()
    values = {"gitVersion": f"v{version}", "gitMajor": major, "gitMinor": minor}
    return "-s -w " + " ".join(f"-X k8s.io/component-base/version.{name}={text}" for name, text in values.items())


def _cache(environment: Mapping[str, str]) -> Path:
    home = environment.get("XDG_CACHE_HOME") or Path(environment.get("HOME") or Path.home()) / ".cache"
    return Path(home) / "sky-scheduler" / "control-plane"


def _whole(binaries: Binaries, where: str) -> Binaries:
    if missing := [name for name in NEEDED if not binaries.has(name)]:
        raise NotAtHandError(f"{where} there is no {' and no '.join(missing)}")
    return binaries
