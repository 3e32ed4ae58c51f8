"""What deploy/base/scheduler renders to."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from sky_core.api.configuration import read_configuration
from sky_core.cycle import REGISTRY
from sky_shell.resources import SEEN

ROOT = Path(__file__).parents[2]
KUBECTL = Path(sys.executable).with_name("kubectl")
GROUP = "scheduling.infini-ai.com"
WRITTEN = {
    ("", "pods", "get"),
    (GROUP, "quotas", "get"),
    (GROUP, "quotas/status", "update"),
    ("", "pods/status", "patch"),
    (GROUP, "podgroups/status", "patch"),
    (GROUP, "queues/status", "patch"),
    (GROUP, "jobqueues/status", "patch"),
    ("", "pods/binding", "create"),
    ("", "pods/eviction", "create"),
    ("events.k8s.io", "events", "create"),
    ("events.k8s.io", "events", "patch"),
}
LEASE = {("coordination.k8s.io", "leases", verb) for verb in ("create", "get", "update")}


def rendered(folder: str) -> list[dict[str, Any]]:
    command = [str(KUBECTL), "kustomize", str(ROOT / folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return list(yaml.safe_load_all(done.stdout))


@pytest.fixture(scope="module")
def objects() -> dict[str, dict[str, Any]]:
    """By kind, each of which is there once."""
    found = rendered("deploy/base/scheduler")
    by_kind = {one["kind"]: one for one in found}
    assert len(by_kind) == len(found)
    return by_kind


def verbs(role: dict[str, Any]) -> set[tuple[str, str, str]]:
    return {
        (group, resource, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def test_the_scheduler_has_the_verbs_that_it_uses_and_no_others(objects: dict[str, dict[str, Any]]) -> None:
    reads = {(kind.group, kind.plural, verb) for kind in SEEN for verb in ("list", "watch")}
    assert verbs(objects["ClusterRole"]) == reads | WRITTEN
    assert verbs(objects["Role"]) == LEASE
    assert len(reads | WRITTEN | LEASE) == 38


def test_of_leases_it_changes_its_own_alone(objects: dict[str, dict[str, Any]]) -> None:
    named = [rule for rule in objects["Role"]["rules"] if "resourceNames" in rule]
    assert [(rule["resourceNames"], rule["verbs"]) for rule in named] == [(["sky-scheduler"], ["get", "update"])]


def test_account_roles_policy_and_pods_name_each_other(objects: dict[str, dict[str, Any]]) -> None:
    account = objects["ServiceAccount"]["metadata"]
    for kind in ("ClusterRoleBinding", "RoleBinding"):
        (subject,) = objects[kind]["subjects"]
        assert (subject["name"], subject["namespace"]) == (account["name"], account["namespace"])
        assert objects[kind]["roleRef"]["name"] == objects[kind.removesuffix("Binding")]["metadata"]["name"]
    binding = objects["ValidatingAdmissionPolicyBinding"]["spec"]
    assert binding["policyName"] == objects["ValidatingAdmissionPolicy"]["metadata"]["name"]
    assert binding["paramRef"]["namespace"] == account["namespace"]
    assert [binding["paramRef"]["name"]] in [rule.get("resourceNames") for rule in objects["Role"]["rules"]]
    pod = objects["Deployment"]["spec"]["template"]
    assert pod["spec"]["serviceAccountName"] == account["name"]
    labels = pod["metadata"]["labels"]
    for selector in (objects["Deployment"]["spec"]["selector"], objects["PodDisruptionBudget"]["spec"]["selector"]):
        assert selector["matchLabels"].items() <= labels.items()


def test_there_are_two_of_it_and_one_always_stays(objects: dict[str, dict[str, Any]]) -> None:
    assert objects["Deployment"]["spec"]["replicas"] == 2
    assert objects["PodDisruptionBudget"]["spec"]["minAvailable"] == 1


def test_it_is_asked_how_it_is(objects: dict[str, dict[str, Any]]) -> None:
    (container,) = objects["Deployment"]["spec"]["template"]["spec"]["containers"]
    ports = {port["name"] for port in container["ports"]}
    probes = {name: container[name]["httpGet"] for name in ("livenessProbe", "readinessProbe")}
    assert {name: probe["path"] for name, probe in probes.items()} == {
        "livenessProbe": "/livez",
        "readinessProbe": "/readyz",
    }
    assert {probe["port"] for probe in probes.values()} <= ports


def test_it_runs_with_nothing_that_it_does_not_need(objects: dict[str, dict[str, Any]]) -> None:
    pod = objects["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["resources"]["limits"].keys() == {"memory"}
    enforced = objects["Namespace"]["metadata"]["labels"]["pod-security.kubernetes.io/enforce"]
    assert enforced == "restricted"


def test_its_configuration_is_one_that_it_takes(objects: dict[str, dict[str, Any]]) -> None:
    (name,) = objects["ConfigMap"]["data"]
    pod = objects["Deployment"]["spec"]["template"]["spec"]
    (mount,) = pod["containers"][0]["volumeMounts"]
    assert f"--config={mount['mountPath']}/{name}" in pod["containers"][0]["args"]
    policy = read_configuration(yaml.safe_load(objects["ConfigMap"]["data"][name]), REGISTRY)
    assert policy.settings.scheduler_name == "sky-scheduler"


def test_the_definitions_are_rendered_too() -> None:
    assert {one["kind"] for one in rendered("deploy/crds")} == {"CustomResourceDefinition"}
