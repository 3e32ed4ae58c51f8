"""What the API server lets the scheduler do with the roles of deploy/base/scheduler, and run as."""

import pytest
import yaml

import crds
from sky_control_plane import ControlPlane, service_account

SCHEDULER = service_account("sky-system", "sky-scheduler").name
API = f"/apis/{crds.GROUP}/{crds.VERSION}"
LEASES = "/apis/coordination.k8s.io/v1/namespaces"


@pytest.mark.parametrize("path", ["/api/v1/nodes", "/api/v1/pods", f"{API}/quotas", f"{API}/podgroups"])
def test_it_reads_what_it_decides_on(plane: ControlPlane, path: str) -> None:
    assert plane.request("GET", path, user=SCHEDULER).status == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/v1/secrets"),
        ("GET", "/api/v1/namespaces/kube-system/configmaps"),
        ("PATCH", "/api/v1/namespaces/default/pods/any"),
        ("DELETE", "/api/v1/namespaces/default/pods/any"),
        ("PATCH", "/api/v1/nodes/any"),
        ("POST", f"{API}/quotas"),
        ("PATCH", f"{API}/quotas/any"),
        ("DELETE", f"{API}/quotas/any"),
        ("POST", f"{LEASES}/kube-system/leases"),
        ("PUT", f"{LEASES}/sky-system/leases/another"),
    ],
)
def test_it_may_do_nothing_else(plane: ControlPlane, method: str, path: str) -> None:
    patch = "application/merge-patch+json"
    answer = plane.request(
        method, path, {}, user=SCHEDULER, content_type=patch if method == "PATCH" else "application/json"
    )
    assert answer.status == 403
    assert answer.body["reason"] == "Forbidden"


def test_its_pods_are_admitted_where_nothing_but_the_restricted_is(plane: ControlPlane) -> None:
    done = plane.kubectl("create", "--dry-run=server", "-f", "-", manifest=pod(plane))
    assert done.returncode == 0, done.stderr
    assert "would violate" not in done.stderr


def pod(plane: ControlPlane) -> str:
    """The Deployment's pod, by itself."""
    deployment = plane.request("GET", "/apis/apps/v1/namespaces/sky-system/deployments/sky-scheduler").body
    template = deployment["spec"]["template"]
    metadata = {**template["metadata"], "name": "alone", "namespace": "sky-system"}
    return yaml.safe_dump({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]})
