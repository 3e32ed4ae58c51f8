"""A scheduler whose token, and whose server's certificate, are replaced while it runs."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sky_control_plane import ControlPlane
from sky_core.testing.objects import GPU, node, pod, queue, quota
from sky_scheduler.testing.running import Running
from sky_scheduler.testing.stage import Stage

SYSTEM = "/api/v1/namespaces/sky-system"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/sky-system/leases"
BELIEVED = 60
"""Seconds for which a scheduler believes a leader that asks it to."""
Object = dict[str, Any]


def issued(plane: ControlPlane, name: str) -> str:
    """A token of the scheduler's account, good for as long as a Secret of this name is there."""
    kind = {"apiVersion": "v1", "kind": "Secret"}
    secret = plane.request("POST", f"{SYSTEM}/secrets", {**kind, "metadata": {"name": name}}).body["metadata"]
    spec = {"expirationSeconds": 600, "boundObjectRef": {**kind, "name": name, "uid": secret["uid"]}}
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    token: str = plane.request("POST", f"{SYSTEM}/serviceaccounts/sky-scheduler/token", asked).body["status"]["token"]
    return token


@pytest.fixture
def token(own_plane: ControlPlane, tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "token"
    path.write_text(issued(own_plane, "first"))
    yield path
    for name in ("first", "second"):
        own_plane.request("DELETE", f"{SYSTEM}/secrets/{name}")


def certify_anew(plane: ControlPlane) -> None:
    """Start the API server with another certificate; its own clients with it."""
    for name in ("kwok", "kube-controller-manager", "kube-apiserver"):
        plane.servers[name].kill()
    for part in plane.certificate.parent.iterdir():
        part.unlink()
    for name in ("kube-apiserver", "kube-controller-manager", "kwok"):
        plane.servers[name].start()
        plane.wait_until_ready()


async def test_f17_a_process_goes_on_with_another_token_and_another_certificate(
    own_plane: ControlPlane, stage: Stage, run: Callable[..., Running], token: Path, tmp_path: Path
) -> None:
    said = json.loads(own_plane.kubeconfig().read_text())
    said["users"][0]["user"] = {"tokenFile": str(token)}
    way = tmp_path / "by-token.kubeconfig"
    way.write_text(json.dumps(said))
    await stage.apply(queue("default"), node("n0"), quota("q0", {GPU: "8"}))
    spec = {"holderIdentity": "somebody", "leaseDurationSeconds": BELIEVED}
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "sky-scheduler"}}
    assert own_plane.request("POST", LEASES, {**lease, "spec": spec}).status == 201
    running = run(by=way)
    await stage.until_true(lambda: bool(running.address) and running.ask("/readyz")[0] == 200)

    certify_anew(own_plane)  # in this thread: a server ends with the one that started it
    assert own_plane.request("DELETE", f"{LEASES}/sky-scheduler").status == 200
    await stage.until_true(lambda: bool(running.said("Deciding")))
    await stage.apply({**pod("w", {GPU: "4"}), "status": {}})
    await stage.until_running("w")

    token.write_text(issued(own_plane, "second"))
    began = len(own_plane.audit())
    own_plane.request("DELETE", f"{SYSTEM}/secrets/first")
    await stage.until_true(lambda: any(is_unknown(event) for event in own_plane.audit()[began:]))
    await stage.apply({**pod("x", {GPU: "4"}), "status": {}})
    await stage.until_running("x")
    assert len(running.said("Leading")) == 1
    assert running.end() == 0


def is_unknown(event: Object) -> bool:
    """Whether somebody was asked who they are, of whom that was known before."""
    agent: str = event["userAgent"]
    return agent.startswith("sky-scheduler/") and event["responseStatus"]["code"] == 401
