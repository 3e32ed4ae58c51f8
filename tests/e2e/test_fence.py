"""The admission policy of deploy/base/scheduler, which fences off a former leader."""

from collections.abc import Iterator

import pytest

import crds
from sky_control_plane import ADMIN, Answer, ControlPlane, service_account

SCHEDULER = service_account("sky-system", "sky-scheduler").name
VERSION = f"{crds.GROUP}/{crds.VERSION}"
QUOTAS = f"/apis/{VERSION}/quotas"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/sky-system/leases"
EPOCH = f"{crds.GROUP}/epoch"
MERGE = "application/merge-patch+json"


def write(plane: ControlPlane, status: object, user: str = SCHEDULER) -> Answer:
    """As the scheduler writes a status; it changes nothing, so that it may be tried until the policy is in force."""
    found = plane.request("GET", f"{QUOTAS}/untouched").body
    return plane.request("PUT", f"{QUOTAS}/untouched/status?dryRun=All", {**found, "status": status}, user=user)


def lead(plane: ControlPlane, annotations: dict[str, str], verdict: str) -> None:
    """Put the Lease there, with these annotations, and wait until a write of epoch 0 is refused by this one."""
    plane.request("DELETE", f"{LEASES}/sky-scheduler")
    metadata = {"name": "sky-scheduler", "annotations": annotations}
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata}
    assert plane.request("POST", LEASES, lease).status == 201
    plane.wait_until(lambda: verdict in write(plane, {"epoch": 0}).body.get("message", ""))


def take_office(plane: ControlPlane, epoch: str) -> None:
    lead(plane, {EPOCH: epoch}, f"the leader has {epoch}")


@pytest.fixture(scope="module")
def fenced(plane: ControlPlane) -> Iterator[ControlPlane]:
    """With a Quota that no leader has written."""
    quota = {"apiVersion": VERSION, "kind": "Quota", "metadata": {"name": "untouched"}}
    assert plane.request("POST", QUOTAS, quota).status == 201
    yield plane
    plane.request("DELETE", f"{LEASES}/sky-scheduler")
    plane.request("DELETE", f"{QUOTAS}/untouched")


@pytest.mark.parametrize("status", [{"epoch": 4}, {"epoch": None}, {}, None])
def test_a_former_leader_is_refused_on_a_quota_that_the_new_one_has_not_written(
    fenced: ControlPlane, status: object
) -> None:
    take_office(fenced, "5")
    answer = write(fenced, status)
    assert answer.status == 403
    assert "is over: the leader has 5" in answer.body["message"]


def test_the_leader_and_its_successor_write(fenced: ControlPlane) -> None:
    take_office(fenced, "5")
    assert write(fenced, {"epoch": 5}).status == 200
    assert write(fenced, {"epoch": 6}).status == 200


def test_a_takeover_refuses_whoever_led(fenced: ControlPlane) -> None:
    take_office(fenced, "5")
    assert write(fenced, {"epoch": 5}).status == 200
    take_office(fenced, "6")
    assert write(fenced, {"epoch": 5}).status == 403
    assert write(fenced, {"epoch": 6}).status == 200


def test_epochs_are_numbers_not_texts(fenced: ControlPlane) -> None:
    take_office(fenced, "10")
    assert write(fenced, {"epoch": 9}).status == 403
    assert write(fenced, {"epoch": 11}).status == 200


def test_a_patch_is_refused_too(fenced: ControlPlane) -> None:
    """Beyond what the scheduler's role allows, so as someone who may do more under its name would."""
    take_office(fenced, "5")
    path = f"{QUOTAS}/untouched/status?dryRun=All"
    patched = fenced.kubectl(
        "patch", "quota", "untouched", "--subresource=status", "--type=merge", "-p", '{"status": {"epoch": 4}}',
        "--dry-run=server", f"--as={SCHEDULER}", "--as-group=system:masters",
    )  # fmt: skip
    assert "is over: the leader has 5" in patched.stderr
    assert fenced.request("PATCH", path, {"status": {"epoch": 4}}, content_type=MERGE).status == 200


@pytest.mark.parametrize("annotations", [{}, {EPOCH: ""}, {EPOCH: "five"}])
def test_a_lease_that_names_no_epoch_lets_no_scheduler_write(fenced: ControlPlane, annotations: dict[str, str]) -> None:
    lead(fenced, annotations, "names no epoch")
    assert write(fenced, {"epoch": 2**53}).status == 403


def test_others_are_not_asked(fenced: ControlPlane) -> None:
    take_office(fenced, "5")
    assert write(fenced, {"epoch": 4}, user=ADMIN.name).status == 200


def test_without_a_lease_there_is_nobody_to_protect(fenced: ControlPlane) -> None:
    assert fenced.request("DELETE", f"{LEASES}/sky-scheduler").status == 200
    fenced.wait_until(lambda: write(fenced, {"epoch": 1}).status == 200)
