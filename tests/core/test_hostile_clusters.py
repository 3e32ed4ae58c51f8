"""Malformed, hostile and huge objects: each spoils itself alone, and the cluster goes on (F21 to F33)."""

import json
from typing import Any

import pytest

from sky_core.api.instants import instant
from sky_core.cycle import default_policy
from sky_core.simulation.run import run
from sky_core.simulation.timeline import events
from sky_core.testing.objects import GPU, GROUP_NAME, Object, group, node, pod, queue, quota

NOW = instant("2026-01-01T00:00:00Z")
HEALTHY = (
    node("ok-0", {GPU: "8", "pods": "110"}),
    quota("ok", {GPU: "1"}, metadata={"labels": {"for": "healthy"}}),
    pod("healthy", {GPU: "1"}, notes={"quota-name": "ok"}),
)


def simulated(*objects: Object, timeline: list[dict[str, Any]] | None = None, cycles: int = 40) -> dict[str, Any]:
    """What simulate prints of these objects beside a healthy pod, which runs whatever else is there."""
    policy = default_policy()
    script = [{"apiVersion": "simulation.scheduling.infini-ai.com/v1alpha1", "kind": "Timeline", "events": timeline}]
    later = events(script) if timeline else ()
    report = run([*HEALTHY, *objects], later, policy, policy.settings, now=NOW, cycles=cycles)
    assert not report.violations
    said: dict[str, Any] = json.loads(json.dumps(report.contract, allow_nan=False))
    assert said["pods"]["default/healthy"]["state"] == "Running"
    return said


def codes(report: dict[str, Any], job: str) -> set[str]:
    return {reason["code"] for reason in report["jobs"][job]["reasons"]}


def invalid(report: dict[str, Any]) -> dict[str, str]:
    return {fault["object"]: fault["field"] for fault in report["invalid"]}


@pytest.mark.parametrize("amount", ["1e999999999", "-1", "NaN", "\u0663", "1e-999999999999", "9" * 5000, [], {}, True])
def test_f21_f22_an_amount_that_is_none_sets_its_object_aside(amount: object) -> None:
    report = simulated(
        quota("bad", {GPU: amount}), pod("bad", {GPU: amount}), node("bad", {GPU: amount, "pods": "110"})
    )

    assert {"Quota/bad", "Pod/default/bad", "Node/bad"} <= invalid(report).keys()
    assert codes(report, "default/bad") == {"InvalidObject"}


def test_f23_sums_beyond_64_bits_do_not_wrap() -> None:
    huge = str(2**62 // 1000)
    report = simulated(
        node("n0", {GPU: huge, "pods": "110"}),
        *(quota(f"q-{i}", {GPU: huge}) for i in range(4)),
        group("j", 4),
        *(pod(f"j-{i}", {GPU: huge}, group="j") for i in range(4)),
    )

    assert all(not quota_["tasks"] for name, quota_ in report["quotas"].items() if name != "ok")
    assert "InsufficientQuotaIdle" in codes(report, "default/j")


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), 10**5000, "\ud800", "a\x00b", [[[]]] * 3],
    ids=["NaN", "Inf", "long", "surrogate", "NUL", "lists"],
)
def test_f24_values_that_json_should_not_hold_spoil_their_object_only(value: object) -> None:
    simulated(quota("q", {GPU: value}), group("g", value), pod("p", {GPU: value}), queue("w", weight=value))


@pytest.mark.parametrize("text", ["007", "-1", "1e3", " 5", "\uff19", str(10**30), "7" * 262_144])
def test_f26_an_index_that_is_none_leaves_the_node_in_use(text: str) -> None:
    report = simulated(node("n0", {GPU: "8", "pods": "110"}, notes={"node-index": text}))

    fine = text == "007"
    assert ("Node/n0" in invalid(report)) is not fine
    assert report["nodes"]["n0"]["index"] == (7 if fine else 0)


def test_f27_equal_indexes_sort_by_name_and_warn_once() -> None:
    machines = [node(name, {GPU: "8", "pods": "110"}, notes={"node-index": "3"}) for name in ("b", "a", "c")]
    report = simulated(*machines)

    assert sum("index" in warning for warning in report["warnings"]) == 1


@pytest.mark.parametrize("least", [0, -1, 2**40, "three", 1.5])
def test_f28_a_group_that_cannot_be_says_so(least: object) -> None:
    report = simulated(group("g", least), pod("g-0", {GPU: "1"}, group="g"))

    assert report["pods"]["default/g-0"]["node"] is None
    assert codes(report, "default/g") in ({"InvalidObject"}, {"NotEnoughTasks"})


def test_f28_more_members_than_pods_are_waited_for_and_an_empty_group_crashes_nobody() -> None:
    report = simulated(group("few", 3), pod("few-0", {GPU: "1"}, group="few"), group("none", 1))

    assert codes(report, "default/few") == codes(report, "default/none") == {"NotEnoughTasks"}
    assert "1 of 3" in str(report["jobs"]["default/few"]["reasons"])


def test_f28_a_group_of_ten_thousand_is_decided_on() -> None:
    tasks = [pod(f"g-{i}", {GPU: "1"}, group="g") for i in range(10_000)]
    report = simulated(group("g", 10_000), quota("q", {GPU: "1"}), *tasks, cycles=1)

    assert codes(report, "default/g") == {"InsufficientQuota"}


def test_f29_quotas_that_each_need_the_other_go_together_and_a_contradiction_is_named() -> None:
    def near(own: str, other: str) -> Object:
        term = {"labelSelector": {"matchLabels": {"is": other}}}
        labels = {"labels": {"is": own}}
        return quota(own, {GPU: "1"}, metadata=labels, affinity={"quotaAffinity": {"required": [term]}})

    both = [pod(f"both-{name}", {GPU: "1"}, group="both", notes={"quota-name": name}) for name in ("a", "b")]
    alone = pod("alone", {GPU: "1"}, notes={"quota-name": "c"})
    report = simulated(near("a", "b"), near("b", "a"), near("c", "nobody"), group("both", 2), *both, alone)

    pods = report["pods"]
    assert pods["default/both-a"]["node"] == pods["default/both-b"]["node"] == "ok-0"
    assert "QuotaAffinityNotMatch" in codes(report, "default/alone")


def test_f30_what_a_later_version_adds_is_ignored() -> None:
    plain = quota("q", {GPU: "1"}, elasticity={"max": 9})
    report = simulated({**plain, "future": True}, pod("p", {GPU: "1"}, notes={"quota-name": "q"}))

    assert report["pods"]["default/p"]["quota"] == "q"


def test_f31_a_queue_that_goes_leaves_its_running_pods_alone() -> None:
    gone = {"at": "10s", "delete": {"kind": "Queue", "name": "team"}}
    late = {"at": "20s", "apply": pod("late", {GPU: "1"}, notes={"queue-name": "team"})}
    report = simulated(
        queue("team"),
        *(quota(f"q-{i}", {GPU: "1"}, queue="team") for i in range(2)),
        pod("early", {GPU: "1"}, notes={"queue-name": "team"}),
        timeline=[gone, late],
    )

    assert report["pods"]["default/early"]["state"] == "Running"
    assert "QueueNotFound" in codes(report, "default/late")


def test_f32_a_deleted_quota_frees_nothing_while_its_pods_run() -> None:
    gone = {"at": "10s", "delete": {"kind": "Quota", "name": "q"}}
    late = {"at": "20s", "apply": pod("late", {GPU: "8"}, notes={"quota-name": "q-late"})}
    report = simulated(
        node("n1", {GPU: "8", "pods": "110"}),
        quota("q", {GPU: "8"}),
        pod("p", {GPU: "8"}, notes={"quota-name": "q"}),
        quota("q-late", {GPU: "8"}),
        timeline=[gone, late],
    )

    assert report["pods"]["default/p"]["state"] == "Running"
    assert report["pods"]["default/late"]["node"] is None
    assert report["nodes"]["n1"]["quotaIdle"][GPU] == "0"


def test_f33_a_quota_that_shrinks_below_its_claims_evicts_nobody_and_takes_no_more() -> None:
    shrunk = {"at": "10s", "apply": quota("q", {GPU: "1"})}
    late = {"at": "20s", "apply": pod("late", {GPU: "1"}, notes={"quota-name": "q"})}
    report = simulated(
        quota("q", {GPU: "4"}),
        group("j", 2),
        *(pod(f"j-{i}", {GPU: "2"}, group="j", notes={"quota-name": "q"}) for i in range(2)),
        timeline=[shrunk, late],
    )

    assert not report["evictions"]
    assert report["pods"]["default/j-1"]["state"] == "Running"
    assert report["pods"]["default/late"]["node"] is None
    assert "QuotaUnavailable" in codes(report, "default/late")


def test_f33_a_queue_that_may_no_longer_share_keeps_what_it_has() -> None:
    closed = {"at": "10s", "apply": quota("q", {GPU: "2"}, queue="theirs", sharedQueues=[])}
    late = {"at": "20s", "apply": pod("late", {GPU: "1"}, notes={"quota-name": "q"})}
    report = simulated(
        queue("theirs"),
        quota("q", {GPU: "2"}, queue="theirs", sharedQueues=["default"]),
        pod("early", {GPU: "1"}, notes={"quota-name": "q"}),
        timeline=[closed, late],
    )

    assert report["pods"]["default/early"]["state"] == "Running"
    assert "QuotaForbidden" in codes(report, "default/late")


def test_a_pod_that_names_no_group_of_its_own_namespace_waits_for_it() -> None:
    report = simulated(group("elsewhere", 1, namespace="other"), pod("p", {GPU: "1"}, notes={GROUP_NAME: "elsewhere"}))

    assert codes(report, "default/elsewhere") == {"PodGroupNotFound"}
