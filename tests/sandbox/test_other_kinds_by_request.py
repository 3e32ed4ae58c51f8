"""Leases, events, namespaces and nodes: what a cluster holds them to."""

from typing import Any

import pytest

from sky_sandbox.testing import NODES, Caller, named, node
from sky_shell.transport import MERGE_PATCH

LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
CORE_EVENTS = "/api/v1/namespaces/default/events"


def lease(**spec: object) -> dict[str, Any]:
    return named("coordination.k8s.io/v1", "Lease", "l", spec=spec)


def event(name: str = "e", **more: object) -> dict[str, Any]:
    said = {
        "eventTime": "2026-01-01T00:00:00.000000Z", "reportingController": "example.com/c", "reportingInstance": "i",
        "action": "Act", "reason": "Because", "type": "Normal", "note": "n",
        "regarding": {"kind": "Pod", "name": "p", "namespace": "default"},
    }  # fmt: skip
    return named("events.k8s.io/v1", "Event", name, **{**said, **more})


@pytest.mark.parametrize(
    ("spec", "status"),
    [
        ({"renewTime": "2026-01-01T00:00:00.123456Z", "leaseDurationSeconds": 15}, 201),
        ({"renewTime": "2026-01-01T00:00:00Z"}, 400),
        ({"renewTime": "2026-01-01T00:00:00.123Z"}, 400),
        ({"leaseDurationSeconds": 0}, 422),
        ({"leaseTransitions": -1}, 422),
    ],
)
def test_a_lease_is_held_to_its_form(caller: Caller, spec: dict[str, object], status: int) -> None:
    assert caller.post(LEASES, lease(**spec)).status == status


def test_a_put_makes_a_lease_that_is_not_there(caller: Caller) -> None:
    made = caller.put(f"{LEASES}/l", lease(leaseTransitions=5))
    assert made.status == 201
    assert caller.put(f"{LEASES}/l", lease(leaseTransitions=4)).status == 422
    lower = lease(leaseTransitions=4)
    lower["metadata"]["resourceVersion"] = made.version
    assert caller.put(f"{LEASES}/l", lower).status == 200


def test_an_event_is_seen_by_both_groups_in_their_own_words(caller: Caller) -> None:
    made = caller.post(EVENTS, event())
    assert made.status == 201
    assert made.body["note"] == "n"
    core = caller.get(f"{CORE_EVENTS}/e").body
    assert (core["message"], core["involvedObject"]["name"], core["reportingComponent"]) == ("n", "p", "example.com/c")
    assert caller.get(CORE_EVENTS, fieldSelector="involvedObject.name=p,involvedObject.kind=Pod").names == ["e"]
    assert caller.get(EVENTS).body["items"][0]["regarding"]["name"] == "p"
    watch = caller.watch(EVENTS)
    assert caller.lines(watch)[0]["object"]["note"] == "n"


def test_an_event_without_times_has_them_empty_so_that_clients_can_sort_by_them(caller: Caller) -> None:
    caller.post(EVENTS, event())
    core = caller.get(f"{CORE_EVENTS}/e").body
    assert (core["firstTimestamp"], core["lastTimestamp"]) == (None, None)
    assert caller.get(f"{EVENTS}/e").body["deprecatedLastTimestamp"] is None


@pytest.mark.parametrize(
    "said",
    [
        {"eventTime": None},
        {"reportingController": ""},
        {"reportingInstance": ""},
        {"action": ""},
        {"reason": ""},
        {"reason": "x" * 129},
        {"type": "Odd"},
        {"note": "x" * 1025},
        {"series": {"count": 1, "lastObservedTime": "2026-01-01T00:00:00.000000Z"}},
    ],
)
def test_an_event_that_lacks_something_is_refused(caller: Caller, said: dict[str, Any]) -> None:
    assert caller.post(EVENTS, event(**said)).status == 422


def test_of_an_event_only_the_series_changes(caller: Caller) -> None:
    caller.post(EVENTS, event())
    series = {"count": 2, "lastObservedTime": "2026-01-01T00:01:00.000000Z"}
    assert caller.patch(f"{EVENTS}/e", {"series": series}, MERGE_PATCH).status == 200
    assert caller.patch(f"{EVENTS}/e", {"note": "another"}, MERGE_PATCH).status == 422


def test_events_about_the_cluster_live_in_default_and_kube_system(caller: Caller) -> None:
    about = {"kind": "Quota", "name": "q", "apiVersion": "scheduling.infini-ai.com/v1alpha1"}
    assert caller.post(EVENTS, event(regarding=about)).status == 201
    assert caller.post(EVENTS.replace("default", "kube-system"), event(regarding=about)).status == 201
    assert caller.post(EVENTS.replace("default", "kube-public"), event(regarding=about)).status == 422


def test_a_new_namespace_is_active_and_labelled(caller: Caller) -> None:
    made = caller.post("/api/v1/namespaces", named("v1", "Namespace", "team")).body
    assert made["status"] == {"phase": "Active"}
    assert made["metadata"]["labels"] == {"kubernetes.io/metadata.name": "team"}
    assert caller.post("/api/v1/namespaces", named("v1", "Namespace", "a.b")).status == 422


def test_a_new_node_keeps_its_status_and_is_not_ready(caller: Caller) -> None:
    made = caller.post(NODES, node("n", cpu="4")).body
    assert made["status"]["allocatable"] == {"pods": "110", "cpu": "4"}
    assert made["spec"]["taints"] == [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]
