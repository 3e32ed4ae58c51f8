"""Leases, by which one is the leader, and events."""

from typing import Any

import pytest

from plays import Play, again, delete, get, merge, post, put, strategic
from sky_sandbox.testing import named

SKY = "scheduling.infini-ai.com/v1alpha1"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/$ns/leases"
EVENTS = "/apis/events.k8s.io/v1/namespaces/$ns/events"
OLD_EVENTS = "/api/v1/namespaces/$ns/events"
TIME = "2026-01-01T00:00:00.000000Z"
LATER = "2026-01-01T00:00:05.500000Z"


def lease(name: str, **spec: Any) -> dict[str, Any]:
    return named("coordination.k8s.io/v1", "Lease", name, spec=spec)


def test_a_lease_is_taken_renewed_and_taken_over(play: Play) -> None:
    held = {"holderIdentity": "a", "leaseDurationSeconds": 15, "acquireTime": TIME, "renewTime": TIME,
            "leaseTransitions": 0}  # fmt: skip
    play(
        get(f"{LEASES}/l", "404 NotFound"),
        post(LEASES, lease("l", **held), keep="l"),
        post(LEASES, lease("l", **held), "409 AlreadyExists"),
        put(f"{LEASES}/l", again("l", spec={"renewTime": LATER}), keep="renewed"),
        put(f"{LEASES}/l", again("l", spec={"holderIdentity": "b"}), "409 Conflict"),
        put(f"{LEASES}/l", again("renewed", spec={"holderIdentity": "b", "leaseTransitions": 1}), keep="taken"),
        put(f"{LEASES}/l", again("taken", spec={"leaseTransitions": 0})),
        get(f"{LEASES}/l"),
    )


def test_a_lease_that_is_gone_is_made_by_a_put(play: Play) -> None:
    play(
        post(LEASES, lease("l", holderIdentity="a"), keep="l"),
        delete(f"{LEASES}/l"),
        put(f"{LEASES}/l", again("l", spec={"holderIdentity": "b"}), "409 Conflict"),
        put(f"{LEASES}/l", again("l", metadata={"uid": None}, spec={"holderIdentity": "b"}), "201"),
        put(f"{LEASES}/l", lease("l", holderIdentity="c"), "422 Invalid"),
        put(f"{LEASES}/n", {**lease("n"), "metadata": {"name": "n", "resourceVersion": "1"}}, "201"),
        put(f"{LEASES}/m", lease("m", holderIdentity="b"), "201", dryRun="All"),
        get(f"{LEASES}/l"),
        get(f"{LEASES}/m", "404 NotFound"),
    )


@pytest.mark.parametrize(
    "time",
    ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00.5Z", "2026-01-01T00:00:00.5000000Z", "yesterday", ""],
    ids=["none", "one", "seven", "no-time", "empty"],
)
def test_the_time_of_a_lease_has_six_decimals_and_not(play: Play, time: str) -> None:
    play(post(LEASES, lease("l", renewTime=time), "400 BadRequest"))


def test_the_time_of_a_lease_has_six_decimals(play: Play) -> None:
    play(
        post(LEASES, lease("l", renewTime=TIME, acquireTime=LATER)),
        merge(f"{LEASES}/l", {"spec": {"renewTime": None}}),
        merge(f"{LEASES}/l", {"spec": {"renewTime": "2026-01-01T00:00:00.123456+00:00"}}),
        merge(f"{LEASES}/l", {"spec": {"renewTime": "2026-01-01T00:00:00Z"}}, "422 Invalid"),
        post(LEASES, lease("m", leaseDurationSeconds=0), "422 Invalid"),
        post(LEASES, lease("m", leaseDurationSeconds=-1, leaseTransitions=-1), "422 Invalid"),
        post(LEASES, lease("m", leaseDurationSeconds="15"), "400 BadRequest"),
        post(LEASES, named("coordination.k8s.io/v1", "Lease", "m")),
    )


def event(name: str, **more: Any) -> dict[str, Any]:
    said = {"eventTime": TIME, "reportingController": "sky-scheduler", "reportingInstance": "sky-0",
            "action": "Scheduling", "reason": "QuotaBound", "type": "Normal", "note": "bound",
            "regarding": {"kind": "PodGroup", "namespace": "$ns", "name": "job", "apiVersion": SKY}}  # fmt: skip
    return named("events.k8s.io/v1", "Event", name, **{key: value for key, value in (said | more).items() if value})


def test_an_event_is_told_in_both_groups(play: Play) -> None:
    play(post(EVENTS, event("e"), keep="e"), get(f"{EVENTS}/e"), get(f"{OLD_EVENTS}/e"), get(OLD_EVENTS), get(EVENTS))


WRONG: dict[str, dict[str, Any]] = {
    **{f"no {field}": event("e", **{field: ""}) for field in (
        "eventTime", "reportingController", "reportingInstance", "action", "reason", "type", "regarding"
    )},
    "another type": event("e", type="Odd"),
    "a long note": event("e", note="n" * 1025),
    "a long reason": event("e", reason="r" * 129),
    "a long action": event("e", action="a" * 129),
    "a long instance": event("e", reportingInstance="i" * 129),
    "a controller that is no name": event("e", reportingController="not a name"),
    "a time that is none": event("e", eventTime="2026-01-01T00:00:00Z"),
    "a number as action": event("e", action=1),
    "a list as type": event("e", type=["Normal"]),
    "what only the older group has": event("e", deprecatedCount=3),
    "a series of one": event("e", series={"count": 1, "lastObservedTime": TIME}),
    "a series without a time": event("e", series={"count": 2}),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG, ids=lambda what: what.replace(" ", "-"))
def test_an_event_cannot_have(play: Play, what: str) -> None:
    unreadable = what in {"a time that is none", "a number as action", "a list as type"}
    play(post(EVENTS, WRONG[what], "400 BadRequest" if unreadable else "422 Invalid"))


def test_an_event_may_have_much_to_say(play: Play) -> None:
    play(post(EVENTS, event("e", note="n" * 1024, reason="r" * 128)))


def test_only_the_older_group_minds_the_namespace_of_what_an_event_is_about(play: Play) -> None:
    elsewhere = {"kind": "Pod", "namespace": "default", "name": "p"}
    play(
        post(EVENTS, event("e", regarding=elsewhere)),
        post(OLD_EVENTS, named("v1", "Event", "f", involvedObject=elsewhere), "422 Invalid"),
        post(OLD_EVENTS, named("v1", "Event", "f", involvedObject={**elsewhere, "namespace": "$ns"}, reason="R")),
    )


def test_the_older_group_asks_little(play: Play) -> None:
    about = {"kind": "Pod", "name": "p", "namespace": "$ns"}
    play(
        post(OLD_EVENTS, named("v1", "Event", "c", involvedObject=about, reason="R", message="m", type="Normal")),
        merge(f"{OLD_EVENTS}/c", {"count": 2}),
        merge(f"{OLD_EVENTS}/c", {"message": "n"}),
        get(f"{EVENTS}/c"),
    )


def test_an_event_becomes_a_series_by_a_patch(play: Play) -> None:
    play(
        post(EVENTS, event("e"), keep="e"),
        merge(f"{EVENTS}/e", {"series": {"count": 2, "lastObservedTime": LATER}}),
        strategic(f"{EVENTS}/e", {"series": {"count": 3, "lastObservedTime": LATER}}),
        merge(f"{EVENTS}/e", {"series": {"count": 1}}, "422 Invalid"),
        merge(f"{EVENTS}/e", {"note": "other"}, "422 Invalid"),
        merge(f"{EVENTS}/e", {"reason": "Other"}, "422 Invalid"),
        merge(f"{EVENTS}/e", {"metadata": {"labels": {"a": "b"}}}),
        merge(f"{EVENTS}/absent", {"series": {"count": 2, "lastObservedTime": LATER}}, "404 NotFound"),
        get(f"{OLD_EVENTS}/e"),
    )


def test_events_of_cluster_objects_are_in_two_namespaces_only(play: Play) -> None:
    about = {"kind": "Quota", "name": "q", "apiVersion": SKY}
    play(
        post(EVENTS, event("of-quota", regarding=about), "422 Invalid"),
        post("/apis/events.k8s.io/v1/namespaces/default/events", event("of-quota", regarding=about)),
        post("/apis/events.k8s.io/v1/namespaces/kube-system/events", event("of-quota", regarding=about)),
        post("/apis/events.k8s.io/v1/namespaces/kube-public/events", event("of-quota", regarding=about), "422 Invalid"),
    )


def test_events_are_chosen_as_kubectl_describe_does(play: Play) -> None:
    other = event("f", regarding={"kind": "Pod", "namespace": "$ns", "name": "p", "uid": "u"})
    play(
        post(EVENTS, event("e")),
        post(EVENTS, other),
        get(OLD_EVENTS, fieldSelector="involvedObject.kind=Pod,involvedObject.name=p,involvedObject.uid=u"),
        get(
            OLD_EVENTS,
            fieldSelector="involvedObject.name=job,involvedObject.namespace=$ns,involvedObject.kind=PodGroup",
        ),
        get(OLD_EVENTS, fieldSelector="reason!=QuotaBound"),
        get(EVENTS, fieldSelector="regarding.name=p"),
        get(EVENTS, "400 BadRequest", fieldSelector="odd=p"),
    )
