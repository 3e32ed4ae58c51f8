"""What the API server makes of deploy/crds."""

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

import crds
from sky_control_plane import Answer, ControlPlane
from sky_core.api.encode import quota_status
from sky_core.api.reports import pod_group_status
from sky_core.decisions import WriteQuota
from sky_core.model import SECOND, Instant
from sky_core.reasons import Code, Finding, Rung, Verdict
from sky_core.status import Counts, Phase
from sky_core.testing import rows

ROOT = Path(__file__).parents[2]
VERSION = f"{crds.GROUP}/{crds.VERSION}"
API = f"/apis/{VERSION}"
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
NOW = Instant(SECOND)
LOCKED = str(Path(sys.executable).with_name("kubectl"))
KUBECTLS = [LOCKED, *filter(None, [shutil.which("kubectl")])]  # and whichever the machine has
KINDS = {kind.struct.__name__: kind for kind in crds.KINDS}
SHOWN = """
kind: Quota
metadata: {name: columns}
spec:
  request: {nvidia.com/gpu: 8}
  nodeSelector: {scheduling.infini-ai.com/spec: a100}
  staticBindNode: n1
status: {nodeName: n1, phase: QuotaBound, allocated: {nvidia.com/gpu: 4}, epoch: 7}
---
kind: PodGroup
metadata: {name: columns, namespace: default}
spec: {minMember: 2}
status:
  phase: Pending
  pending: 2
  running: 1
  rung: AllocateZone
  reasons: [{code: TopologyZoneInsufficient}]
  nextAttemptTime: "2026-01-01T00:00:00Z"
---
kind: Queue
metadata: {name: columns}
spec: {priority: 3, capability: {nvidia.com/gpu: 64}}
status: {pending: 1, running: 2, allocated: {nvidia.com/gpu: 16}}
---
kind: JobQueue
metadata: {name: columns}
spec: {priority: 3, suspend: true}
status: {pending: 1, running: 2, allocated: {nvidia.com/gpu: 16}}
---
kind: NodeTopology
metadata: {name: columns, labels: {zone: 0cc175b9c0f1b6a831c399e269772661}}
spec: {net: {roce: [{name: eth0, switchName: leaf-1}], ib: [{name: ib0, switchName: leaf-2}]}}
status: {lastSeen: "2026-01-01T00:00:00Z"}
"""


def path_of(kind: str, name: str = "") -> str:
    where = f"{API}/namespaces/default" if KINDS[kind].namespaced else API
    return f"{where}/{KINDS[kind].plural}{name and f'/{name}'}"


def create(plane: ControlPlane, kind: str, name: str, spec: object, query: str = "") -> Answer:
    made = {"apiVersion": VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}
    return plane.request("POST", f"{path_of(kind)}?fieldValidation=Strict{query}", made)


def write_status(plane: ControlPlane, kind: str, name: str, status: object) -> Answer:
    """As a controller writes it: whole, strictly, with the resourceVersion."""
    found = plane.request("GET", path_of(kind, name)).body
    path = f"{path_of(kind, name)}/status?fieldValidation=Strict"
    return plane.request("PUT", path, {**found, "status": status})


@pytest.fixture(scope="module")
def shown(plane: ControlPlane) -> ControlPlane:
    """With one object of each kind that has something to show in every column, and a ResourceQuota."""
    for document in yaml.safe_load_all(SHOWN):
        kind, metadata, status = document["kind"], document["metadata"], document.pop("status")
        assert plane.request("POST", path_of(kind), {"apiVersion": VERSION, **document}).status == 201
        assert write_status(plane, kind, metadata["name"], status).status == 200
    limit = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "limit"}, "spec": {"hard": {"pods": 99}}}
    assert plane.request("POST", "/api/v1/namespaces/default/resourcequotas", limit).status == 201
    return plane


@pytest.fixture
def quota(plane: ControlPlane) -> Iterator[str]:
    """The name of a Quota whose status has epoch 5."""
    assert create(plane, "Quota", "fenced", {}).status == 201
    assert write_status(plane, "Quota", "fenced", {"epoch": 5, "nodeName": "n1"}).status == 200
    yield "fenced"
    assert plane.request("DELETE", path_of("Quota", "fenced")).status == 200


@pytest.mark.parametrize("kubectl", KUBECTLS)
@pytest.mark.parametrize("name", ["quota", "quotas", "qo", "sky"])
def test_every_name_of_a_quota_shows_quotas(shown: ControlPlane, name: str, kubectl: str) -> None:
    found = shown.kubectl("get", name, "-o", "name", program=kubectl).stdout.split()
    assert f"quota.{crds.GROUP}/columns" in found
    assert "resourcequota/limit" not in found
    assert shown.kubectl("get", "resourcequota", "-o", "name", program=kubectl).stdout.split() == [
        "resourcequota/limit"
    ]


@pytest.mark.parametrize("kind", crds.KINDS, ids=lambda kind: kind.struct.__name__)
def test_every_column_shows_something(shown: ControlPlane, kind: crds.Kind) -> None:
    header, row = shown.kubectl("get", kind.short, "columns", "-o", "wide").stdout.splitlines()
    starts = [header.index(name) for name in header.split()]
    cells = [row[start:end].strip() for start, end in zip(starts, [*starts[1:], None], strict=True)]
    assert header.split() == ["NAME", *(column.name.upper() for column in kind.columns)]
    assert all(cell and cell != "<none>" for cell in cells), row


def test_the_columns_of_a_quota_are_those_of_the_contract(shown: ControlPlane) -> None:
    header, row = shown.kubectl("get", "quota", "columns").stdout.splitlines()
    assert header.split() == ["NAME", "QUEUE", "SPEC", "NODE", "PHASE", "GPU", "ALLOCATED", "AGE"]
    assert row.split()[:-1] == ["columns", "default", "a100", "n1", "QuotaBound", "8", "4"]


def test_a_field_is_explained_as_its_struct_describes_it(plane: ControlPlane) -> None:
    assert "The queue whose jobs may use it." in plane.kubectl("explain", "quota.spec.queueName").stdout


def test_defaults_are_written_into_the_object(plane: ControlPlane) -> None:
    made = {"apiVersion": VERSION, "kind": "PodGroup", "metadata": {"name": "bare"}}
    assert plane.request("POST", f"{path_of('PodGroup')}?dryRun=All", made).body["spec"] == {
        "minMember": 1,
        "queue": "default",
    }


@pytest.mark.parametrize(
    ("how", "status"),
    [
        ("merge patch", None),
        ("merge patch", {"epoch": None}),
        ("merge patch", {"epoch": 4}),
        ("forced apply", {"epoch": None}),
        ("forced apply", {"epoch": 4}),
        ("update", None),
        ("update", {}),
        ("update", {"epoch": None}),
        ("update", {"epoch": 4}),
    ],
)
def test_an_epoch_never_falls(plane: ControlPlane, quota: str, how: str, status: object) -> None:
    path = f"{path_of('Quota', quota)}/status"
    match how:
        case "merge patch":
            answer = plane.request("PATCH", path, {"status": status}, content_type=MERGE)
        case "forced apply":
            whole = {"apiVersion": VERSION, "kind": "Quota", "metadata": {"name": quota}, "status": status}
            path += "?fieldManager=test&force=true"
            answer = plane.request("PATCH", path, whole, content_type=APPLY)
        case _:
            answer = write_status(plane, "Quota", quota, status)
    assert answer.status == 422, answer.body
    assert plane.request("GET", path_of("Quota", quota)).body["status"] == {"epoch": 5, "nodeName": "n1"}


def test_who_would_lower_an_epoch_is_told_why_not(plane: ControlPlane, quota: str) -> None:
    answer = write_status(plane, "Quota", quota, {"epoch": 4})
    assert "status.epoch must not fall" in answer.body["message"]


def test_an_epoch_may_stay_and_rise_and_the_spec_may_change(plane: ControlPlane, quota: str) -> None:
    assert write_status(plane, "Quota", quota, {"epoch": 5, "nodeName": "n2"}).status == 200
    assert write_status(plane, "Quota", quota, {"epoch": 6}).status == 200
    spec = {"spec": {"request": {"nvidia.com/gpu": "4"}}}
    assert plane.request("PATCH", path_of("Quota", quota), spec, content_type=MERGE).status == 200


@pytest.mark.parametrize(
    ("kind", "spec", "field"),
    [
        ("Quota", {"request": {"nvidia.com/gpu": -1}}, "spec.request.nvidia.com/gpu"),
        ("Quota", {"request": {"nvidia.com/gpu": "-1"}}, "spec.request.nvidia.com/gpu"),
        ("Quota", {"request": {"nvidia.com/gpu": "1e99999999"}}, "spec.request.nvidia.com/gpu"),
        ("Quota", {"request": {"nvidia.com/gpu": 1.5}}, "spec.request.nvidia.com/gpu"),
        ("Quota", {"request": {"one too many ": 1}}, "spec.request"),
        ("Quota", {"request": {f"r{i}": 1 for i in range(17)}}, "spec.request"),
        ("Quota", {"nodeSelector": {"key": "x" * 64}}, "spec.nodeSelector.key"),
        ("Quota", {"tolerations": [{"operator": "Exists", "value": "x"}]}, "spec.tolerations[0]"),
        ("Quota", {"tolerations": [{"effect": "NoSchedule"}]}, "spec.tolerations[0]"),
        (
            "Quota",
            {"affinity": {"quotaAffinity": {"required": [{"topologyKey": "rack"}]}}},
            "spec.affinity.quotaAffinity.required[0].topologyKey",
        ),
        ("PodGroup", {"minMember": 0}, "spec.minMember"),
        ("PodGroup", {"minTaskMember": {"worker": -1}}, "spec.minTaskMember.worker"),
        ("Queue", {"state": "Ajar"}, "spec.state"),
        ("Queue", {"weight": 0}, "spec.weight"),
        (
            "Queue",
            {"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}},
            "spec.namespaceSelector.matchExpressions[0]",
        ),
        (
            "JobQueue",
            {"jobSelector": {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}},
            "spec.jobSelector.matchExpressions[0]",
        ),
        ("JobQueue", {"policy": "LIFO"}, "spec.policy"),
        ("NodeTopology", {"net": {"roce": [{"name": "eth0"}, {"name": "eth0"}]}}, "spec.net.roce[1]"),
    ],
)
def test_what_nobody_could_mean_is_refused_with_its_field(
    plane: ControlPlane, kind: str, spec: object, field: str
) -> None:
    answer = create(plane, kind, "wrong", spec, "&dryRun=All")
    assert answer.status == 422, answer.body
    assert any(cause.get("field") == field for cause in answer.body["details"]["causes"]), answer.body["message"]


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.yaml")), ids=lambda path: path.stem)
def test_an_example_is_accepted_strictly(plane: ControlPlane, example: Path) -> None:
    (whole,) = yaml.safe_load_all(example.read_text())
    ours = [one for one in whole["items"] if one["apiVersion"] == VERSION]
    manifest = yaml.safe_dump_all({k: v for k, v in one.items() if k != "status"} for one in ours)
    done = plane.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", "-", manifest=manifest)
    assert done.returncode == 0, done.stderr


def test_what_the_core_writes_of_a_quota_is_accepted_strictly(plane: ControlPlane) -> None:
    assert create(plane, "Quota", "written", {"request": {"nvidia.com/gpu": 8}}).status == 201
    worker = rows.task("w-0", reservation=60 * SECOND)
    row = rows.quota("written", node="n1", claims=(rows.claim(worker),), epoch=3)
    kept = rows.kept(rows.task("w-1"), "n1", 60 * SECOND)
    write = WriteQuota(quota=row.name, uid=row.uid, node=row.node, claims=row.claims, reservations=(kept,))
    answer = write_status(plane, "Quota", "written", quota_status(write, row, NOW))
    assert answer.status == 200, answer.body
    done = plane.kubectl("wait", "--for=condition=Bound", "quota/written", "--timeout=5s")
    assert done.returncode == 0, done.stderr


def test_what_the_core_writes_of_a_job_is_accepted_strictly(plane: ControlPlane) -> None:
    assert create(plane, "PodGroup", "written", {"minMember": 2}).status == 201
    short = Finding(Code.INSUFFICIENT_QUOTA, 2, rows.gpus(2), rows.gpus(1), examples=("w-0",))
    verdict = Verdict(Rung.ALLOCATE_JOB, (short,))
    status = pod_group_status(Phase.INQUEUE, Counts(pending=2), verdict, NOW, [], NOW)
    answer = write_status(plane, "PodGroup", "written", status)
    assert answer.status == 200, answer.body


def test_a_quota_that_is_as_full_as_it_may_be_is_accepted(plane: ControlPlane) -> None:
    resources = {f"vendor.example/device-{i:02}": "8" for i in range(16)}
    names = {"namespace": "n" * 63, "job": "j" * 63, "resources": resources}
    tasks = [{**names, "name": f"w-{i}", "uid": f"{i:036}", "rank": f"worker/{i}"} for i in range(256)]
    kept = [{**names, "task": f"w-{i}", "rank": f"worker/{i}", "expiresAt": "2026-01-01T00:00:00Z"} for i in range(256)]
    assert create(plane, "Quota", "full", {}).status == 201
    answer = write_status(plane, "Quota", "full", {"tasks": tasks, "reservedTasks": kept})
    assert answer.status == 200, json.dumps(answer.body)[:1000]
    more = [*tasks, {**tasks[0], "uid": "more"}]
    assert write_status(plane, "Quota", "full", {"tasks": more}).status == 422
