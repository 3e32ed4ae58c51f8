"""`skyctl sandbox --real`: the control plane of these tests, for people."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from sky_control_plane import Binaries

ROOT = Path(__file__).parents[2]
SKYCTL = str(Path(sys.executable).with_name("skyctl"))
PATIENCE = 120


def test_the_example_runs_on_it_and_nothing_is_left_of_it(binaries: Binaries, tmp_path: Path) -> None:
    config, left = tmp_path / "k", tmp_path / "tmp"
    left.mkdir()
    settings = {**os.environ, "TMPDIR": str(left), "KUBEBUILDER_ASSETS": str(binaries.folder), "HOME": str(tmp_path)}
    command = [SKYCTL, "sandbox", "--real", "--scheduler", "--kubeconfig", str(config)]
    with subprocess.Popen(command, env=settings, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            said = [process.stdout.readline() for _ in range(5)]
            assert f"  export KUBECONFIG={config}\n" in said
            for words in (
                ["apply", "-f", str(ROOT / "examples" / "eight-nodes.yaml")],
                ["wait", "--for=jsonpath={.status.phase}=Running", "podgroups.scheduling.infini-ai.com/worker"],
            ):
                kubectl = [str(binaries.path("kubectl")), "--kubeconfig", str(config), *words]
                patience = [f"--timeout={PATIENCE}s"]
                done = subprocess.run(
                    [*kubectl, *patience], env=settings, capture_output=True, text=True, timeout=PATIENCE, check=False
                )
                assert done.returncode == 0, done.stderr
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()
    assert len(children) == 5  # etcd, kube-apiserver, kube-controller-manager, KWOK; the scheduler
    assert [child for child in children if Path("/proc", child).exists()] == []
    assert list(left.iterdir()) == []
    assert not config.exists()
