"""The edge of the process: exit statuses, standard error, and never a traceback."""

import json
import os
import subprocess
import sys
from importlib import import_module
from inspect import signature
from pathlib import Path

import pytest

from skyctl.command_line import COMMANDS, status
from skyctl.help import PAGES

ROOT = Path(__file__).parents[2]
EXAMPLE = str(ROOT / "examples" / "eight-nodes.yaml")
SPELLED = {"listed": "list"}
NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: a}\n"


def skyctl(*words: str, **kw: object) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-c", "import skyctl; skyctl.main()", *words]
    return subprocess.run(command, capture_output=True, timeout=60, check=False, **kw)  # type: ignore[call-overload, no-any-return]


@pytest.mark.parametrize(
    "words",
    [
        ["nope"],
        ["--nope"],
        ["-"],
        ["simulate"],
        ["simulate", "--no-such-option"],
        ["simulate", EXAMPLE, "-o", "xml"],
        ["simulate", EXAMPLE, "--cycles", "0"],
        ["simulate", EXAMPLE, "--cycles", "many"],
        ["simulate", EXAMPLE, "--cycles", "9" * 5000],
        ["simulate", EXAMPLE, "--cycles"],
        ["simulate", EXAMPLE, "--now", "yesterday"],
        ["simulate", EXAMPLE, "--now", ""],
        ["simulate", EXAMPLE, "--now", "2026-01-01T00:00:00Z", "--now", "2026-01-01T00:00:00Z"],
        ["demo", "extra"],
    ],
)
def test_wrong_usage_is_status_2_and_says_where_help_is(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert status(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("skyctl: ")
    assert "skyctl --help" in err


def test_what_is_no_command_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert status(["nope"]) == 2
    assert capsys.readouterr().err == "skyctl: nope is no command. skyctl --help shows what there is\n"


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"], *([*name.split(), "--help"] for name in COMMANDS)])
def test_help_is_shown_without_importing_what_commands_need(words: list[str]) -> None:
    code = "import sys; from skyctl.command_line import status; status(sys.argv[1:]); sys.exit(SLOW & set(sys.modules))"
    code = (
        code.replace("SLOW", "{'rich', 'cyclopts', 'yaml', 'msgspec', 'sky_core'}").replace("exit(", "exit(len(") + ")"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, PAGES[" ".join(words[:-1])], "")


def test_every_option_has_its_line_in_the_help_page() -> None:
    for name, where in COMMANDS.items():
        module, function = where.split(":")
        options = signature(getattr(import_module(module), function)).parameters.values()
        named = [option.name for option in options if option.kind is option.KEYWORD_ONLY]
        assert not [option for option in named if f"--{SPELLED.get(option, option)}" not in PAGES[name]]
    assert set(PAGES) == {"", *COMMANDS}


def test_help_fits_into_a_terminal() -> None:
    assert max(len(line) for page in PAGES.values() for line in page.splitlines()) <= 120


def test_input_is_status_1_with_file_document_and_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "f.yaml").write_text(f"{NODE}---\nkind: [\n")
    assert status(["simulate", str(tmp_path / "f.yaml")]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "f.yaml, document 2, line 6" in err
    assert len(err.splitlines()) == 1


def test_a_configuration_is_input_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.yaml").write_text("kind: x")
    assert status(["simulate", EXAMPLE, "--config", str(tmp_path / "c.yaml")]) == 1
    assert "c.yaml, line 1" in capsys.readouterr().err


@pytest.mark.parametrize("output", ["table", "json", "html"])
def test_every_answer_has_the_same_bytes_under_any_hash_seed(output: str) -> None:
    answers = {
        skyctl("simulate", EXAMPLE, "-o", output, env={**os.environ, "PYTHONHASHSEED": seed}).stdout for seed in "012"
    }
    assert len(answers) == 1
    assert len(answers.pop()) > 500


def test_standard_input_and_a_bare_dash() -> None:
    done = skyctl("simulate", "-", "-o", "json", input=NODE.encode())
    assert done.returncode == 0, done.stderr
    assert list(json.loads(done.stdout)["nodes"]) == ["a"]


def test_a_defect_is_a_message_for_people_and_a_traceback_on_request(tmp_path: Path) -> None:
    code = "import skyctl.simulate as s; s.run = lambda *a, **k: 1 / 0; import skyctl; skyctl.main()"
    (tmp_path / "f.yaml").write_text(NODE)
    for debug, tracebacks in (("0", 0), ("1", 1)):
        done = subprocess.run(
            [sys.executable, "-c", code, "simulate", str(tmp_path / "f.yaml")],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={**os.environ, "SKYCTL_DEBUG": debug},
        )
        assert done.returncode == 3
        assert done.stderr.count("Traceback") == tracebacks
        assert "a defect of ours: ZeroDivisionError" in done.stderr


def test_a_package_that_is_missing_is_named_with_what_to_type(tmp_path: Path) -> None:
    code = "import sys; sys.modules['numpy'] = None; import skyctl; skyctl.main()"
    (tmp_path / "f.yaml").write_text(NODE)
    done = subprocess.run(
        [sys.executable, "-c", code, "simulate", str(tmp_path / "f.yaml")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "numpy" in done.stderr
    assert "make .venv/ready" in done.stderr


def test_a_reader_who_leaves_early_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "f.yaml").write_text("---\n".join(NODE.replace("name: a", f"name: a{n}") for n in range(2000)))
    command = f"{sys.executable} -c 'import skyctl; skyctl.main()' simulate {tmp_path / 'f.yaml'} -o json | head -c 10"
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, timeout=60, check=False)
    assert (len(done.stdout), done.stderr) == (10, b"")


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    (tmp_path / "f.yaml").write_text(NODE)
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", "import skyctl; skyctl.main()", "simulate", str(tmp_path / "f.yaml")],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "skyctl: the answer can't be written: no space left on device\n"


def test_closed_streams_are_no_defect(tmp_path: Path) -> None:
    (tmp_path / "f.yaml").write_text(NODE)
    command = f"{sys.executable} -c 'import skyctl; skyctl.main()' simulate {tmp_path / 'f.yaml'}"
    for closed in (">&-", "<&-", "2>&-", ">&- 2>&- <&-"):
        assert subprocess.run(["/bin/sh", "-c", f"{command} {closed}"], timeout=60, check=False).returncode == 0
    from_nowhere = subprocess.run(
        ["/bin/sh", "-c", f"{command} - <&-"], capture_output=True, text=True, timeout=60, check=False
    )
    assert from_nowhere.returncode == 1
    assert "standard input is closed" in from_nowhere.stderr
