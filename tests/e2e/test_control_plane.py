"""The stage itself: it comes up, holds what it is told to hold, breaks on purpose, and goes away."""

import os
import select
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from sky_control_plane import ADMIN, Binaries, ControlPlane

HOLD = "sandbox.scheduling.infini-ai.com/hold"
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: JOB}
spec:
  completions: 2
  backoffLimit: 0
  parallelism: 2
  completionMode: Indexed
  template:
    metadata:
      annotations: {sandbox.scheduling.infini-ai.com/ORDER: 0s}
    spec:
      restartPolicy: Never
      nodeName: hollow
      containers: [{name: main, image: none}]
"""


@pytest.fixture(scope="module")
def hollow(plane: ControlPlane) -> ControlPlane:
    """With a node on which pods run."""
    if not {"kwok", "kube-controller-manager"} <= plane.servers.keys():
        pytest.skip("there is no kwok, or no kube-controller-manager, beside kube-apiserver")
    assert plane.kubectl("create", "-f", "-", manifest=node("hollow")).returncode == 0
    done = plane.kubectl("wait", "--for=condition=Ready", "node/hollow", "--timeout=30s")
    assert done.returncode == 0, done.stderr
    return plane


def node(name: str, **labels: str) -> str:
    allocatable = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    metadata = {"name": name, "labels": labels}
    return yaml.safe_dump(
        {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": {"allocatable": allocatable}}
    )


def test_it_is_stamped_with_the_version_that_the_module_pins(plane: ControlPlane, binaries: Binaries) -> None:
    version = plane.request("GET", "/version").body
    assert version["gitVersion"] != "v0.0.0-master+$Format:%H$"
    assert f"{version['major']}.{version['minor']}" in version["gitVersion"]


@pytest.mark.parametrize(("order", "end"), [("finish-after", "Complete"), ("fail-after", "Failed")])
def test_a_job_runs_from_its_pods_to_the_end_that_is_ordered(hollow: ControlPlane, order: str, end: str) -> None:
    job = JOB.replace("JOB", order).replace("ORDER", order)
    assert hollow.kubectl("create", "-f", "-", manifest=job).returncode == 0
    done = hollow.kubectl("wait", f"--for=condition={end}", f"job/{order}", "--timeout=30s")
    assert done.returncode == 0, done.stderr


def test_what_is_held_stays_as_it_is_until_it_is_let_go(hollow: ControlPlane) -> None:
    assert hollow.kubectl("create", "-f", "-", manifest=node("held", **{HOLD: ""})).returncode == 0
    assert hollow.kubectl("create", "-f", "-", manifest=node("after")).returncode == 0
    hollow.kubectl("wait", "--for=condition=Ready", "node/after", "--timeout=30s")
    assert "conditions" not in hollow.request("GET", "/api/v1/nodes/held").body["status"]
    hollow.kubectl("label", "node", "held", f"{HOLD}-")
    done = hollow.kubectl("wait", "--for=condition=Ready", "node/held", "--timeout=30s")
    assert done.returncode == 0, done.stderr


def test_requests_are_in_the_audit_log_with_who_made_them(plane: ControlPlane) -> None:
    plane.request("GET", "/api/v1/namespaces/default/pods/nobody")
    made = [
        (event["user"]["username"], event["verb"], event["responseStatus"]["code"])
        for event in plane.audit()
        if event.get("objectRef", {}).get("name") == "nobody"
    ]
    assert made == [(ADMIN.name, "get", 404)]


def test_a_killed_api_server_comes_back_with_what_it_acknowledged(binaries: Binaries, tmp_path: Path) -> None:
    with ControlPlane(binaries, tmp_path, parts=()) as plane:
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kept"}}
        assert plane.request("POST", "/api/v1/namespaces", namespace).status == 201
        for name in ("kube-apiserver", "etcd"):
            plane.servers[name].kill()
        assert not any(server.running for server in plane.servers.values())
        plane.servers["etcd"].start()
        plane.servers["kube-apiserver"].start("--watch-cache=false")
        plane.wait_until_ready()
        assert plane.request("GET", "/api/v1/namespaces/kept").status == 200
    assert not any(server.running for server in plane.servers.values())


@pytest.mark.skipif(not shutil.which("setpriv"), reason="there is no setpriv, which ties a process to its parent")
def test_it_dies_with_whoever_started_it(binaries: Binaries, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sky_control_plane", "up"]
    environment = {**os.environ, "KUBEBUILDER_ASSETS": str(binaries.folder), "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as starter:
        assert starter.stdout is not None
        assert starter.stdout.readline().startswith(b"export KUBECONFIG=")
        children = Path(f"/proc/{starter.pid}/task/{starter.pid}/children").read_text().split()
        assert len(children) >= 2
        ends = [os.pidfd_open(int(child)) for child in children]
        starter.kill()
    for end in ends:
        assert select.select([end], [], [], 10) == ([end], [], [])  # readable once the process has ended
        os.close(end)
