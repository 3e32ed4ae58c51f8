from typing import Any

import pytest

from sky_core.api.identity import Key
from sky_core.model import SECOND
from sky_core.simulation.timeline import API_VERSION, Apply, Delete, FailNextBind, Finish, TimelineError, events

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n0"}}


def timeline(*entries: Any) -> dict[str, Any]:
    return {"apiVersion": API_VERSION, "kind": "Timeline", "events": list(entries)}


def test_each_kind_of_event_is_read() -> None:
    read = events(
        [
            timeline(
                {"at": "20s", "apply": NODE},
                {"at": "1m", "delete": {"kind": "Pod", "namespace": "a", "name": "w-1"}},
                {"at": "1m30s", "finish": {"name": "w-2", "phase": "Failed"}},
                {"at": "2h", "failNextBind": {"pod": "a/w-1", "status": 409}},
            )
        ]
    )
    assert [(event.at // SECOND, event.what) for event in read] == [
        (20, Apply(NODE)),
        (60, Delete(Key("Pod", "a", "w-1"))),
        (90, Finish(Key("Pod", "default", "w-2"), "Failed")),
        (7200, FailNextBind(Key("Pod", "a", "w-1"), 409)),
    ]


def test_kinds_of_the_cluster_have_no_namespace() -> None:
    (event,) = events([timeline({"at": "0", "delete": {"kind": "Quota", "namespace": "a", "name": "q"}})])
    assert event.what == Delete(Key("Quota", "", "q"))


def test_events_come_by_time_and_in_the_order_of_their_document() -> None:
    def gone(name: str, at: str) -> dict[str, Any]:
        return {"at": at, "delete": {"kind": "Node", "name": name}}

    one, two = timeline(gone("z", "2s"), gone("a", "1s"), gone("y", "2s")), timeline(gone("b", "2s"))
    orders = [[str(event.what) for event in events(documents)] for documents in ([one, two, two], [two, one, two])]
    assert orders[0] == orders[1]
    assert [name for name in orders[0] if name != "delete Node/b"] == [
        "delete Node/a",
        "delete Node/z",
        "delete Node/y",
    ]


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"at": "1s", "aply": NODE}, r"events\[0\]: unknown aply; known: apply, at, delete"),
        ({"at": "1s"}, r"events\[0\]: write one of"),
        ({"at": "1s", "apply": NODE, "delete": {"kind": "Node", "name": "n0"}}, "write one of"),
        ({"apply": NODE}, r"events\[0\].at: write a duration"),
        ({"at": 20, "apply": NODE}, r"events\[0\].at: write a duration"),
        ({"at": "20", "apply": NODE}, r"events\[0\].at: '20' is not a duration"),
        ({"at": "-1s", "apply": NODE}, "not a duration of 0 or more"),
        ({"at": "1s", "apply": {"kind": "Node"}}, r"events\[0\].apply.metadata.name"),
        ({"at": "1s", "apply": "n0"}, r"events\[0\].apply: write a mapping"),
        ({"at": "1s", "delete": {"kind": "Node", "name": "n0", "uid": "1"}}, r"events\[0\].delete: unknown uid"),
        ({"at": "1s", "delete": {"name": "n0"}}, r"events\[0\].delete.kind"),
        (
            {"at": "1s", "finish": {"name": "w", "phase": "Running"}},
            r"events\[0\].finish.phase: write Succeeded or Failed",
        ),
        (
            {"at": "1s", "failNextBind": {"pod": "w", "status": 409}},
            r"events\[0\].failNextBind.pod: write namespace/name",
        ),
        ({"at": "1s", "failNextBind": {"pod": "a/w", "status": 200}}, "from 400 to 599"),
        ({"at": "1s", "failNextBind": {"pod": "a/w", "status": "409"}}, "from 400 to 599"),
        ("later", r"events\[0\]: write a mapping"),
    ],
)
def test_what_is_wrong_is_named_with_its_path(entry: Any, said: str) -> None:
    with pytest.raises(TimelineError, match=said):
        events([timeline(entry)])


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"apiVersion": API_VERSION, "kind": "Timeline", "spec": {}}, "timeline: unknown spec"),
        ({"apiVersion": API_VERSION, "kind": "Timeline"}, "events: write a list"),
        ({"apiVersion": "v1", "kind": "Timeline", "events": []}, "apiVersion: write simulation"),
    ],
)
def test_a_document_that_is_no_timeline_is_refused(document: dict[str, Any], said: str) -> None:
    with pytest.raises(TimelineError, match=said):
        events([document])
