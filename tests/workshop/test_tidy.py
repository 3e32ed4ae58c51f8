import shutil

import pytest

import tidy
from tidy import File

MEMBERS = File("pyproject.toml", '[tool.uv.workspace]\nmembers = ["core"]\n')
README = File("core/README.md", "".join(f"## {heading}\n" for heading in tidy.README_HEADINGS))
WELL_KEPT = (MEMBERS, README)

INDEX = "https://py" + "pi.org/simple"
SPOILT = {
    "module_name": File("core/src/sky_core/utils.py", ""),
    "function_length": File("tests/test_long.py", "def f():\n" + "    1\n" * tidy.FUNCTION_LINES_MAX),
    "file_length": File("tools/x.py", "1\n" * (tidy.SHIPPED_FILE_LINES_MAX + 1)),
    "catch_all": File("core/src/sky_core/a.py", "try:\n    f()\nexcept Exception:\n    pass\n"),
    "history": File("tests/a.py", "x = 1  # previously 2\n"),
    "registry_address": File("requirements.lock", f"--index {INDEX}\n"),
    "lock_file": File("uv.lock", ""),
    "cmd_package": File("cmd/__init__.py", ""),
    "member_readme": File("core/README.md", "## What it does\n"),
}


def faults_of(*files: File) -> list[str]:
    return [fault.path for fault in tidy.faults([*WELL_KEPT, *files])]


@pytest.mark.parametrize("rule", [*tidy.PYTHON_RULES, *tidy.TEXT_RULES, *tidy.TREE_RULES], ids=lambda r: r.__name__)
def test_each_rule_can_fail(rule: tidy.FileRule | tidy.TreeRule) -> None:
    spoilt = SPOILT[rule.__name__]
    assert faults_of(spoilt) == [spoilt.path]


@pytest.mark.parametrize(
    "file",
    [
        pytest.param(File("core/src/sky_core/ledger.py", "1\n" * tidy.SHIPPED_FILE_LINES_MAX), id="longest file"),
        pytest.param(File("tests/test_all.py", "1\n" * (tidy.SHIPPED_FILE_LINES_MAX + 1)), id="a long table of tests"),
        pytest.param(
            File("core/a.py", "def f():\n" + "    1\n" * (tidy.FUNCTION_LINES_MAX - 1)), id="longest function"
        ),
        pytest.param(File("core/a.py", "try:\n    f()\nexcept (KeyError, OSError):\n    pass\n"), id="caught by name"),
        pytest.param(File("cmd/shell/a.py", "try:\n    f()\nexcept Exception:\n    pass\n"), id="a process's edge"),
        pytest.param(File("core/a.py", '"""A claim that is no longer written ends."""\n'), id="behaviour over time"),
        pytest.param(File("core/a.py", 'x = "# improved"\n'), id="a string is no comment"),
        pytest.param(File("README.md", "See https://kubernetes.io/docs/concepts/ for more.\n"), id="a plain address"),
        pytest.param(File("cmd/shell/src/sky_shell/__init__.py", ""), id="a member below cmd"),
    ],
)
def test_what_the_rules_leave_alone(file: File) -> None:
    assert faults_of(file) == []


@pytest.mark.parametrize("clause", ["except:", "except BaseException:", "except (KeyError, Exception) as e:"])
def test_every_way_to_catch_all_is_seen(clause: str) -> None:
    file = File("core/a.py", f"try:\n    f()\n{clause}\n    pass\n")
    assert tidy.faults([*WELL_KEPT, file]) == [tidy.Fault("core/a.py", 3, "the core catches what it expects, by name")]


@pytest.mark.parametrize("path", ["Makefile", ".ci/run", "pyproject.toml", "deploy/base/queue.yaml", "tools/setup.sh"])
def test_history_is_found_wherever_a_hash_starts_a_comment(path: str) -> None:
    assert [line for line, _ in tidy.history(File(path, "a = 1\n# Improved in many ways\n"))] == [2]


@pytest.mark.parametrize(
    "line",
    [
        f'index = "{INDEX}"',
        "[[tool.uv" + ".index]]",
        "pip install --extra-index" + "-url=here x",
        "https://mirror.example/py/" + "simple/",
        "GOPROXY=https://proxy.golang" + ".org",
    ],
)
def test_a_registry_is_recognised_however_it_is_named(line: str) -> None:
    assert list(tidy.registry_address(File("notes.md", line)))


def test_a_member_without_readme_lacks_every_heading() -> None:
    (fault,) = tidy.faults([MEMBERS])
    assert fault.path == "core/README.md"
    assert all(heading in fault.what for heading in tidy.README_HEADINGS)


@pytest.mark.skipif(not (shutil.which("git") and (tidy.ROOT / ".git").exists()), reason="git lists the files")
def test_this_repository_is_tidy() -> None:
    assert tidy.faults(tidy.repository(tidy.ROOT)) == []
