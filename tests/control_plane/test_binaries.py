import os
from pathlib import Path

import pytest

from sky_control_plane import NotAtHandError, binaries, find

GO = """#!/bin/sh
echo "$@" >>"$HOME/asked"
while [ "$1" != -o ]; do shift; done
mkdir -p "$2" && for name in server kube-apiserver; do echo >"$2/$name" && chmod +x "$2/$name"; done
"""
FAILS = """#!/bin/sh
echo "no space left" >&2
exit 1
"""


def program(path: Path, text: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, str]:
    """The environment of a machine without Go, with an empty home."""
    monkeypatch.setattr(binaries, "GO_FOLDER", str(tmp_path / "nowhere"))
    return {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}


def with_go(alone: dict[str, str], script: str) -> dict[str, str]:
    folder = Path(alone["HOME"], "go")
    program(folder / "go", script)
    return {**alone, "PATH": f"{folder}{os.pathsep}{alone['PATH']}"}


def test_the_folder_that_is_named_goes_before_all(alone: dict[str, str], tmp_path: Path) -> None:
    for name in ("etcd", "kube-apiserver"):
        program(tmp_path / "assets" / name)
    found = find({**with_go(alone, FAILS), "KUBEBUILDER_ASSETS": str(tmp_path / "assets")})
    assert found.folder == tmp_path / "assets"
    assert found.has("etcd")
    assert not found.has("kwok")
    with pytest.raises(NotAtHandError, match="there is no kwok in"):
        found.path("kwok")


def test_a_named_folder_that_lacks_a_program_is_refused_with_its_name(alone: dict[str, str], tmp_path: Path) -> None:
    program(tmp_path / "assets" / "etcd")
    with pytest.raises(NotAtHandError, match=r"KUBEBUILDER_ASSETS is .*assets, where there is no kube-apiserver"):
        find({**alone, "KUBEBUILDER_ASSETS": str(tmp_path / "assets")})


def test_without_go_the_reason_says_what_would_help(alone: dict[str, str]) -> None:
    with pytest.raises(NotAtHandError, match=r"there is no Go .* KUBEBUILDER_ASSETS is not set"):
        find(alone)


def test_with_go_it_is_built_once_and_said_so(alone: dict[str, str], tmp_path: Path) -> None:
    said: list[str] = []
    first = find(with_go(alone, GO), said.append)
    assert find(alone, said.append) == first
    assert len(said) == len((tmp_path / "asked").read_text().splitlines()) == 1
    assert first.folder.is_relative_to(tmp_path / ".cache" / "sky-scheduler")
    assert first.has("etcd")


def test_the_build_is_stamped_with_a_version(alone: dict[str, str], tmp_path: Path) -> None:
    find(with_go(alone, GO))
    assert "k8s.io/component-base/version.gitVersion=v1." in (tmp_path / "asked").read_text()


def test_a_build_that_fails_leaves_nothing_behind_and_says_why(alone: dict[str, str]) -> None:
    with pytest.raises(NotAtHandError, match="no space left"):
        find(with_go(alone, FAILS))
    assert find(with_go(alone, GO)).has("kube-apiserver")


def test_another_state_of_the_module_has_another_name(tmp_path: Path) -> None:
    (tmp_path / "go.sum").write_text("a")
    before = binaries.fingerprint([tmp_path / "go.sum"])
    (tmp_path / "go.sum").write_text("b")
    assert binaries.fingerprint([tmp_path / "go.sum"]) != before
