import msgspec

from sky_core.model import SECOND, Instant
from sky_scheduler.events import QUEUE_MAX, SERIES, Announcements, Event, micro_time
from sky_shell.objects import Identity
from sky_shell.resources import PODS, QUOTAS, Resource

NOW = Instant(1_767_225_600 * SECOND + 123_456_789)


def event(note: str = "why", resource: Resource = PODS, namespace: str = "a", uid: str = "1") -> Event:
    return Event(resource, Identity(namespace, "w", uid, "1"), "FailedScheduling", "Scheduling", note, is_warning=True)


def test_an_event_that_happens_again_is_counted() -> None:
    told = Announcements("me", 7)
    for seconds in (0, 10, 20):
        told.add(event(), Instant(NOW + seconds * SECOND))
    first, second, third = told.next(), told.next(), told.next()
    assert (first.method, second.method, third.method) == ("POST", "PATCH", "PATCH")
    assert second.path == third.path == "/apis/events.k8s.io/v1/namespaces/a/events/w.7.1"
    assert [msgspec.json.decode(write.body)["series"]["count"] for write in (second, third)] == [2, 3]
    assert not told


def test_another_note_another_object_and_a_later_time_are_told_anew() -> None:
    told = Announcements("me", 7)
    for one, at in ((event(), NOW), (event("else"), NOW), (event(uid="2"), NOW), (event(), Instant(NOW + SERIES))):
        told.add(one, at)
    assert [told.next().method for _ in range(4)] == ["POST"] * 4


def test_events_of_the_clusters_objects_are_in_default() -> None:
    told = Announcements("me", 7)
    told.add(event(resource=QUOTAS, namespace=""), NOW)
    write = told.next()
    body = msgspec.json.decode(write.body)
    assert write.path == "/apis/events.k8s.io/v1/namespaces/default/events"
    assert body["regarding"] == {"apiVersion": QUOTAS.api_version, "kind": "Quota", "name": "w", "uid": "1"}
    assert (body["type"], body["reportingInstance"]) == ("Warning", "me")


def test_what_there_is_no_room_for_is_dropped_and_counted() -> None:
    told = Announcements("me", 7)
    for i in range(QUEUE_MAX + 3):
        told.add(event(str(i)), NOW)
    assert told.dropped == 3


def test_times_have_six_decimals() -> None:
    assert micro_time(NOW) == "2026-01-01T00:00:00.123456Z"
    assert micro_time(Instant(0)) == "1970-01-01T00:00:00.000000Z"
