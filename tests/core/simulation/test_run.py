import json
from typing import Any

import pytest

from sky_core.api.instants import instant, rfc3339
from sky_core.cycle import default_policy
from sky_core.settings import Settings
from sky_core.simulation.report import Report
from sky_core.simulation.run import SameObjectTwiceError, run
from sky_core.simulation.timeline import API_VERSION, events
from sky_core.testing.objects import CREATED, GPU, HCA, SPOT, group, node, pod, queue, quota, topology

Object = dict[str, Any]
ONE = {GPU: "1"}
ALL = {GPU: "8"}
POLICY = default_policy()


def simulate(*objects: Object, later: tuple[Object, ...] = (), cycles: int = 60, now: str | None = CREATED) -> Report:
    timeline = events([{"apiVersion": API_VERSION, "kind": "Timeline", "events": list(later)}])
    start = instant(now) if now is not None else None
    return run(objects, timeline, POLICY, Settings(), now=start, cycles=cycles)


def told(report: Report) -> Any:
    """The report as a program reads it."""
    assert report.violations == ()
    return json.loads(json.dumps(report.contract))


def at(seconds: int, **event: Any) -> Object:
    return {"at": f"{seconds}s", **event}


def gone(name: str, kind: str = "Pod") -> Object:
    return {"kind": kind, "name": name}


def placed() -> list[Object]:
    return [node("n0"), quota("q", ALL), pod("w", ONE)]


def bound_in(report: Report) -> dict[str, int]:
    return {bind["pod"]: bind["cycle"] for bind in told(report)["binds"] if bind["result"] == "ok"}


def test_the_answer_is_the_object_that_programs_rely_on() -> None:
    answer = told(simulate(*placed(), pod("other", {"cpu": "4"}, on="n0", scheduler="default-scheduler")))
    assert answer == {
        "cycles": 2,
        "quotas": {
            "q": {
                "phase": "QuotaBound",
                "node": "n0",
                "allocated": {GPU: "1"},
                "tasks": ["default/w"],
                "reserved": [],
            }
        },
        "pods": {
            "default/other": {"state": "Running", "quota": None, "node": "n0"},
            "default/w": {"state": "Running", "quota": "q", "node": "n0"},
        },
        "nodes": {
            "n0": {
                "zone": None,
                "index": 0,
                "idle": {"cpu": "60", "memory": "512Gi", GPU: "7", "pods": "108"},
                "quotaIdle": {"cpu": "60", "memory": "512Gi", GPU: "0", "pods": "109"},
            }
        },
        "jobs": {"default/w": {"phase": "Running", "rung": "Done", "zones": [], "reasons": []}},
        "queues": {
            "default": {
                "specAllocatable": {"": {GPU: "8"}},
                "specAllocated": {"": {GPU: "1"}},
                "specShadow": {},
            }
        },
        "evictions": [],
        "binds": [{"cycle": 1, "pod": "default/w", "node": "n0", "result": "ok"}],
        "invalid": [],
        "warnings": [],
    }


def test_the_steps_tell_the_story() -> None:
    report = simulate(*placed(), later=(at(0, delete=gone("w")),))
    first, second, third = report.steps
    assert [(w.quota, w.node, w.by) for w in first.writes] == [("q", "n0", "scheduler")]
    assert [(b.pod, b.node, b.result) for b in first.binds] == [("default/w", "n0", "ok")]
    assert [(t.job, t.rung, t.codes) for t in first.told] == [("default/w", "Done", ())]
    assert (first.events, second.events) == (("delete Pod/default/w",), ("Pod/default/w is gone",))
    assert [(w.quota, w.node, w.by) for w in third.writes] == [("q", None, "scheduler")]
    assert (third.cycle, rfc3339(third.at)) == (3, "2026-01-01T00:00:02Z")


def test_what_nodes_have_and_pods_ask_for_is_at_hand() -> None:
    report = simulate(*placed())
    assert report.requests == {"default/w": {GPU: "1"}}
    assert report.allocatable["n0"][GPU] == "8"


def test_what_a_job_waits_for_is_told_with_code_numbers_and_a_sentence() -> None:
    answer = told(simulate(node("n0"), quota("q", {GPU: "2"}), pod("w", ALL)))
    (reason, *_) = answer["jobs"]["default/w"]["reasons"]
    assert (reason["code"], reason["needed"]) == ("InsufficientQuota", ALL)
    assert reason["message"].startswith("1 pod finds no quota with room in its queue: nvidia.com/gpu=8 needed")


def test_an_event_happens_after_the_cycle_whose_time_reaches_it() -> None:
    assert bound_in(simulate(node("n0"), quota("q", ALL), later=(at(0, apply=pod("w", ONE)),))) == {"default/w": 2}
    assert bound_in(simulate(node("n0"), quota("q", ALL), later=(at(3, apply=pod("w", ONE)),))) == {"default/w": 5}


def test_a_deleted_pod_gives_its_place_to_the_next_a_cycle_later() -> None:
    full = [node("n0"), quota("q", ALL), pod("w", ALL)]
    story = (at(2, delete=gone("w")), at(2, apply=pod("next", ALL)))
    report = simulate(*full, later=story)
    assert bound_in(report) == {"default/w": 1, "default/next": 5}
    assert set(told(report)["pods"]) == {"default/next"}


def test_a_finished_pod_stays_and_gives_its_place_to_the_next() -> None:
    full = [node("n0"), quota("q", ALL), pod("w", ALL)]
    story = (at(2, finish={"name": "w", "phase": "Succeeded"}), at(2, apply=pod("next", ALL)))
    report = simulate(*full, later=story)
    assert bound_in(report) == {"default/w": 1, "default/next": 4}
    answer = told(report)
    assert answer["pods"]["default/w"] == {"state": "Succeeded", "quota": None, "node": "n0"}
    assert answer["jobs"]["default/w"]["phase"] == "Completed"


def test_refused_binds_are_tried_again_and_each_attempt_is_listed() -> None:
    fails = [at(0, failNextBind={"pod": "default/w", "status": status}) for status in (409, 500)]
    report = simulate(node("n0"), quota("q", ALL), later=(*fails, at(1, apply=pod("w", ONE))))
    binds = told(report)["binds"]
    assert [bind["result"] for bind in binds] == ["HTTP 409", "HTTP 500", "ok"]


def test_a_bind_that_timed_out_is_seen_to_have_happened() -> None:
    lost = at(0, failNextBind={"pod": "default/w", "status": 504})
    answer = told(simulate(node("n0"), quota("q", ALL), later=(lost, at(1, apply=pod("w", ONE)))))
    assert [bind["result"] for bind in answer["binds"]] == ["HTTP 504"]
    assert answer["pods"]["default/w"]["state"] == "Running"


def test_a_static_bind_is_carried_out_before_the_next_cycle() -> None:
    report = simulate(node("n0"), node("n1"), quota("q", ALL, staticBindNode="n1"), pod("w", ONE))
    assert [(w.quota, w.node, w.by) for w in report.steps[0].writes] == [("q", "n1", "quota-fixer")]
    assert bound_in(report) == {"default/w": 2}


def test_a_quota_that_says_nothing_of_its_running_pods_learns_of_them() -> None:
    lost = pod("w", ONE, on="n0", notes={"quota-name": "q"})
    answer = told(simulate(node("n0"), quota("q", ALL), lost))
    assert (answer["quotas"]["q"]["node"], answer["quotas"]["q"]["tasks"]) == ("n0", ["default/w"])
    assert answer["pods"]["default/w"]["quota"] == "q"


def test_a_place_that_is_kept_is_waited_for_until_it_expires() -> None:
    keep = {"reservation-ttl": "20s"}
    members = [pod(f"w-{i}", ALL, group="w") for i in range(2)]
    nodes, quotas = [node("n0"), node("n1")], [quota("q-0", ALL), quota("q-1", ALL)]
    report = simulate(*nodes, *quotas, group("w", 1, notes=keep), *members, later=(at(2, delete=gone("w-1")),))
    kept = [step for step in report.steps if any(write.by == "reservation-gc" for write in step.writes)]
    assert [step.cycle for step in kept] == [25]  # deleted in cycle 3, gone in 4, reserved by 5 for 20 s
    answer = told(report)
    assert answer["quotas"]["q-1"]["reserved"] == []
    assert answer["quotas"]["q-1"]["phase"] == "QuotaEmpty"


def test_it_ends_when_nothing_more_would_happen() -> None:
    assert told(simulate(node("n0"), quota("q", ONE)))["cycles"] == 1
    assert told(simulate(node("n0"), quota("q", ONE), pod("w", ALL)))["cycles"] == 1
    assert told(simulate(*placed()))["cycles"] == 2
    assert told(simulate(*placed(), later=(at(30, delete=gone("n9", "Node")),)))["cycles"] == 31
    assert told(simulate(*placed(), cycles=1))["cycles"] == 1


def test_the_order_of_the_objects_means_nothing() -> None:
    objects = [*placed(), node("n1"), quota("r", ONE), pod("v", ONE), queue("b"), group("g", 2), pod("g-0", group="g")]
    answers = {json.dumps(told(simulate(*order))) for order in (objects, objects[::-1], objects[3:] + objects[:3])}
    assert len(answers) == 1


def test_an_object_that_is_given_twice_is_refused() -> None:
    with pytest.raises(SameObjectTwiceError, match="Pod/default/w"):
        simulate(*placed(), pod("w", ALL))


def test_objects_of_no_use_are_told_of_and_left_out() -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}
    theirs = {"apiVersion": "scheduling.k8s.io/v1alpha1", "kind": "PodGroup", "metadata": {"name": "g"}}
    report = simulate(service, service, theirs, later=(at(0, apply=service),))
    assert len(report.skipped) == 4
    assert "Service" in report.skipped[0]
    assert told(report)["jobs"] == {}


def test_what_happens_to_nobody_is_warned_of() -> None:
    answer = told(simulate(later=(at(1, finish={"name": "w", "phase": "Failed"}),)))
    assert answer["warnings"] == ["timeline: finish Pod/default/w as Failed: there is no such object"]


def test_time_begins_with_the_youngest_object_or_long_ago() -> None:
    young = pod("w", ONE, metadata={"creationTimestamp": "2026-03-01T12:00:00Z"})
    odd = pod("v", ONE, metadata={"creationTimestamp": "soon"})
    assert rfc3339(simulate(node("n0"), young, odd, now=None).steps[0].at) == "2026-03-01T12:00:00Z"
    timeless = node("n0")
    del timeless["metadata"]["creationTimestamp"]
    assert rfc3339(simulate(timeless, later=(at(0, delete=gone("n0", "Node")),), now=None).steps[0].at).startswith(
        "2000"
    )


def test_a_job_without_its_pod_group_is_called_by_its_name() -> None:
    answer = told(simulate(pod("w-0", ONE, group="lost")))
    (reason,) = answer["jobs"]["default/lost"]["reasons"]
    assert (reason["code"], answer["jobs"]["default/lost"]["phase"]) == ("PodGroupNotFound", "Pending")


def test_whoever_watches_is_told_of_each_cycle() -> None:
    seen: list[int] = []
    run(placed(), (), POLICY, Settings(), now=None, cycles=9, on_cycle=seen.append)
    assert seen == [1, 2]


def test_patience_is_waited_for_and_told_in_the_pod_group() -> None:
    rdma = {GPU: "8", HCA: "8"}
    machines = [node(f"n{i}", {**rdma, "cpu": "8", "pods": "110"}) for i in range(3)]
    wires = [topology("n0", "s1"), topology("n1", "s1"), topology("n2", "s2")]
    filler = pod("other", rdma, on="n1", scheduler="default-scheduler")
    patient = group("w", 2, notes={"topology-patience": "10s"})
    members = [pod(f"w-{i}", rdma, group="w") for i in range(2)]
    objects = [*machines, *wires, filler, patient, *members, quota("q-0", rdma), quota("q-1", rdma)]
    waiting = told(simulate(*objects, cycles=5))
    assert waiting["jobs"]["default/w"]["reasons"][0]["code"] == "WaitingForZone"
    answer = told(simulate(*objects))
    assert {bind["cycle"] for bind in answer["binds"]} == {11}
    assert answer["jobs"]["default/w"]["zones"] == ["roce#s1", "roce#s2"]
    since = {"type": "WaitingForZone", "status": "True", "lastTransitionTime": "2025-12-31T23:59:55Z"}
    patient["status"] = {"conditions": [since]}
    assert {bind["cycle"] for bind in told(simulate(*objects))["binds"]} == {6}


def test_an_evicted_pod_makes_room_for_its_claimant_once_it_is_gone() -> None:
    machine = node("n0", {GPU: "8", SPOT: "8", "pods": "110"}, notes={"spot-pools": '{"exclusive": 8}'})
    bound = quota("q", {GPU: "4"}, status={"phase": "QuotaBound", "nodeName": "n0"}, staticBindNode="n0")
    spot = [pod(f"s-{i}", {SPOT: "4"}, on="n0") for i in range(2)]
    report = simulate(machine, bound, *spot, pod("w", {GPU: "4"}))
    (eviction,) = told(report)["evictions"]
    assert (eviction["cycle"], eviction["for"]) == (1, "default/w")
    assert bound_in(report) == {"default/w": 3}
    assert f"Pod/{eviction['pod']} is gone" in report.steps[1].events


def test_patience_that_is_over_does_not_begin_anew() -> None:
    rdma = {GPU: "8", HCA: "8"}
    machines = [node(f"n{i}", {**rdma, "cpu": "8", "pods": "110"}) for i in range(2)]
    filler = pod("other", rdma, on="n1", scheduler="default-scheduler")
    members = [pod(f"w-{i}", rdma, group="w") for i in range(2)]
    wires = [topology("n0", "s1"), topology("n1", "s1")]
    patient = group("w", 2, notes={"topology-patience": "5s"})
    answer = told(simulate(*machines, *wires, filler, patient, *members, quota("q-0", rdma), quota("q-1", rdma)))
    assert answer["cycles"] < 10
    assert "WaitingForZone" not in {reason["code"] for reason in answer["jobs"]["default/w"]["reasons"]}
