"""`skyctl sandbox` as people use it: with real kubectl, until Ctrl-C."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from skyctl.command_line import status
from skyctl.sandbox import sandbox

ROOT = Path(__file__).parents[2]
SKYCTL, KUBECTL = (str(Path(sys.executable).with_name(name)) for name in ("skyctl", "kubectl"))
(FIRST_JOB,) = re.findall(r"^```yaml\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
PATIENCE = 60
GROUPS = "podgroups.scheduling.infini-ai.com"


class Started:
    """A sandbox that has said how to use it, in a folder of its own."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self.process = process
        self.folder = folder
        self.kubeconfig = folder / "sandbox.kubeconfig"
        assert process.stdout is not None
        self.said = ""
        while "get quota" not in self.said:
            line = process.stdout.readline()
            assert line, f"{self.said}{process.stderr.read() if process.stderr else ''}"
            self.said += line

    def kubectl(self, *words: str) -> str:
        environment = {**os.environ, "KUBECONFIG": str(self.kubeconfig), "HOME": str(self.folder)}
        done = subprocess.run(
            [KUBECTL, *words], env=environment, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        assert done.returncode == 0, f"kubectl {words}: {done.stdout}{done.stderr}"
        return done.stdout

    def waits_for(self, what: str, of: str) -> None:
        self.kubectl("wait", f"--for=jsonpath={what}", of, f"--timeout={PATIENCE - 10}s")

    def end(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)


@contextmanager
def started(folder: Path, *words: str) -> Iterator[Started]:
    """`skyctl sandbox` in a folder of its own; nothing is left of it in `tmp`."""
    temporary = folder / "tmp"
    temporary.mkdir(exist_ok=True)
    with subprocess.Popen(
        [SKYCTL, "sandbox", *words],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield Started(process, folder)
        finally:
            process.kill()
    assert list(temporary.iterdir()) == []


def test_the_scheduler_runs_on_it_and_both_end_on_ctrl_c(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    with started(tmp_path, "--scheduler", "--state", str(state)) as there:
        assert f"export KUBECONFIG={there.kubeconfig}\n" in there.said
        there.kubectl("apply", "-f", "examples/eight-nodes.yaml")
        for rank in range(4):
            there.waits_for("{.status.phase}=Running", f"pod/worker-{rank}")
        there.waits_for("{.status.reasons[0].code}=TopologyZoneInsufficient", f"{GROUPS}/big")
        bound = there.kubectl("get", "quota", "-o", "jsonpath={.items[*].status.nodeName}").split()
        assert sorted(bound) == ["n0", "n1", "n2", "n3"]
        (there.folder / "train.yaml").write_text(FIRST_JOB)
        there.kubectl("apply", "-f", str(there.folder / "train.yaml"))
        for rank in range(2):
            there.waits_for("{.status.phase}=Running", f"pod/train-{rank}")
            there.waits_for(f"{{.spec.nodeName}}=node{rank + 1}", f"pod/train-{rank}")
        (scheduler,) = Path(f"/proc/{there.process.pid}/task/{there.process.pid}/children").read_text().split()
        assert there.end(signal.SIGINT) == 0
        assert not Path("/proc", scheduler).exists()
        assert not there.kubeconfig.exists()
    (lease,) = [one for one in json.loads(state.read_text())["objects"] if one["kind"] == "Lease"]
    assert "holderIdentity" not in lease["spec"]  # the scheduler has ended in good order
    with started(tmp_path, "--state", str(state)) as there:
        pods = there.kubectl("get", "pods", "-o", "jsonpath={.items[*].status.phase}").split()
        assert sorted(pods) == ["Pending"] * 6 + ["Running"] * 6
        assert there.end(signal.SIGTERM) == 0


def test_it_says_so_when_the_scheduler_ends_by_itself(tmp_path: Path) -> None:
    with started(tmp_path, "--scheduler") as there:
        there.kubectl("wait", "--for=create", "lease/sky-scheduler", "-n", "sky-system", f"--timeout={PATIENCE}s")
        children = Path(f"/proc/{there.process.pid}/task/{there.process.pid}/children")
        os.kill(int(children.read_text()), signal.SIGTERM)
        assert there.process.wait(PATIENCE) == 1
        assert there.process.stderr is not None
        said = there.process.stderr.read()
    assert "the scheduler has ended" in said
    assert '"msg": "Stopping"' in said


def complaint(*words: str) -> str:
    """What `skyctl sandbox` says when it does not start."""
    done = subprocess.run([SKYCTL, "sandbox", *words], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    return done.stderr


def test_a_taken_port_is_told(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        said = complaint("--port", port, "--kubeconfig", str(tmp_path / "k"))
    assert said.startswith(f"skyctl: port {port} can't be had: Address already in use. Name another")
    assert list(tmp_path.iterdir()) == []


def test_files_that_cannot_be_used_are_told(tmp_path: Path) -> None:
    file, absent = tmp_path / "f", tmp_path / "absent" / "f"
    file.write_text("precious")
    for words, said in (
        (["--kubeconfig", str(file)], "no kubeconfig of a sandbox: it is left alone; name another file"),
        (["--kubeconfig", str(file / "k")], "no kubeconfig can be written: "),
        (["--state", str(file)], f"the state {file} can't be used: "),
        (["--state", str(absent)], f"there is no folder {absent.parent}"),
    ):
        assert said in complaint(*words)
    assert [path.name for path in tmp_path.iterdir()] == ["f"]
    assert file.read_text() == "precious"


def test_without_a_control_plane_it_says_what_helps(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    assert status(["sandbox", "--real"]) == 1
    said = capsys.readouterr().err
    assert f"KUBEBUILDER_ASSETS is {tmp_path}, where there is no etcd" in said
    assert "install Go" in said


@pytest.mark.parametrize("words", [["--real", "--port", "8001"], ["--real", "--state", "s"], ["--port", "65536"]])
def test_what_makes_no_sense_together_is_wrong_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert status(["sandbox", *words]) == 2
    assert "--help" in capsys.readouterr().err


def test_its_options_are_on_its_help_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert status(["sandbox", "--help"]) == 0
    page = capsys.readouterr().out
    assert [name for name in sandbox.__kwdefaults__ or {} if f"--{name}" not in page] == []
