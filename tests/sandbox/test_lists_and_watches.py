"""Lists in pages, selectors, and watches with bookmarks, initial events and 410."""

from typing import Any

import pytest

from sky_core.model import SECOND, Duration
from sky_sandbox.api.requests import Request
from sky_sandbox.testing import NODES, PODS, Caller, named, node, pod
from sky_shell.transport import MERGE_PATCH, Response

NAMESPACES = "/api/v1/namespaces"
MAPS = "/api/v1/namespaces/default/configmaps"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


def labelled(name: str, **labels: str) -> dict[str, object]:
    raw = named("v1", "ConfigMap", name)
    raw["metadata"]["labels"] = labels
    return raw


@pytest.fixture
def maps(caller: Caller) -> Caller:
    for name, app in (("a", "x"), ("b", "y"), ("c", "x"), ("d", "z"), ("e", "x")):
        caller.post(MAPS, labelled(name, app=app))
    return caller


def test_pages_are_of_one_version_whatever_happens_between(maps: Caller) -> None:
    first = maps.get(MAPS, limit=2)
    assert (first.names, first.body["metadata"]["remainingItemCount"]) == (["a", "b"], 3)
    maps.delete(f"{MAPS}/c")
    maps.post(MAPS, labelled("cc"))
    second = maps.get(MAPS, limit=2, **{"continue": first.body["metadata"]["continue"]})
    third = maps.get(MAPS, limit=2, **{"continue": second.body["metadata"]["continue"]})
    assert second.names + third.names == ["c", "d", "e"]
    assert first.version == second.version == third.version
    assert "continue" not in third.body["metadata"]


def test_a_page_of_a_forgotten_version_is_gone(maps: Caller) -> None:
    token = maps.get(MAPS, limit=2).body["metadata"]["continue"]
    maps.post(MAPS, labelled("f"))
    maps.server.storage.compact()
    refused = maps.get(MAPS, **{"continue": token})
    assert (refused.status, refused.reason) == (410, "Expired")
    assert maps.get(MAPS, **{"continue": "nonsense"}).status == 400


def test_a_list_from_the_cache_knows_no_pages(maps: Caller) -> None:
    assert len(maps.get(MAPS, limit=2, resourceVersion=0).names) == 5


def test_a_list_can_be_of_an_old_version_but_of_no_future_one(maps: Caller) -> None:
    old = maps.get(MAPS).version
    maps.delete(f"{MAPS}/a")
    assert maps.get(MAPS, resourceVersion=old, resourceVersionMatch="Exact").names == ["a", "b", "c", "d", "e"]
    assert maps.get(MAPS, resourceVersion=old, resourceVersionMatch="NotOlderThan").names == ["b", "c", "d", "e"]
    refused = maps.get(MAPS, resourceVersion=10_000)
    assert (refused.status, refused.body["details"]["causes"][0]["reason"]) == (504, "ResourceVersionTooLarge")
    assert refused.headers["retry-after"] == "1"
    assert maps.get(MAPS, resourceVersionMatch="Exact").status == 422


def test_a_cache_that_lags_answers_only_what_may_be_old(maps: Caller) -> None:
    known = maps.get(MAPS).version
    maps.pass_time(Duration(10 * SECOND))
    maps.delete(f"{MAPS}/a")
    now = maps.get(MAPS).version

    def lagging(version: str) -> tuple[int, bytes]:
        request = Request(method="GET", path=MAPS, query={"resourceVersion": version})
        answer = maps.server.handle(request, maps.now, behind=Duration(5 * SECOND))
        assert isinstance(answer, Response)
        return answer.status, answer.body

    assert b'"name":"a"' in lagging("0")[1]
    assert b'"name":"a"' in lagging(known)[1]
    assert b'"name":"a"' not in lagging("")[1]
    assert lagging(now)[0] == 504


@pytest.mark.parametrize(
    ("selectors", "names"),
    [
        ({"labelSelector": "app=x"}, ["a", "c", "e"]),
        ({"labelSelector": "app in (x, y),app!=y"}, ["a", "c", "e"]),
        ({"labelSelector": "!app"}, []),
        ({"fieldSelector": "metadata.name=b"}, ["b"]),
        ({"fieldSelector": "metadata.name!=b,metadata.namespace=default"}, ["a", "c", "d", "e"]),
    ],
)
def test_selectors_choose(maps: Caller, selectors: dict[str, str], names: list[str]) -> None:
    assert maps.get(MAPS, **selectors).names == names


def test_selectors_that_cannot_be_are_refused(maps: Caller) -> None:
    assert maps.get(MAPS, labelSelector="app in (").status == 400
    assert maps.get(MAPS, fieldSelector="data.a=1").status == 400
    assert maps.get(MAPS, fieldSelector="metadata.name").status == 400


def test_kubectls_field_selectors_are_known(caller: Caller) -> None:
    caller.post(PODS, pod("p", node="n"))
    caller.post(PODS, pod("q"))
    for selector in ("spec.nodeName=n", "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"):
        assert caller.get(PODS, fieldSelector=selector).names == ["p"]
    caller.post(NODES, node("n"))
    assert caller.get(NODES, fieldSelector="spec.unschedulable=false").names == ["n"]


def test_a_watch_tells_what_happens_after_its_version(maps: Caller) -> None:
    version = maps.get(MAPS).version
    maps.patch(f"{MAPS}/a", {"data": {"k": "v"}}, MERGE_PATCH)
    watch = maps.watch(MAPS, resourceVersion=version)
    maps.delete(f"{MAPS}/b")
    maps.post(MAPS, labelled("f"))
    assert maps.told(watch) == [("MODIFIED", "a"), ("DELETED", "b"), ("ADDED", "f")]
    assert maps.told(watch) == []


def test_a_watch_without_a_version_begins_with_what_is_there(maps: Caller) -> None:
    assert maps.told(maps.watch(MAPS, labelSelector="app=x")) == [("ADDED", "a"), ("ADDED", "c"), ("ADDED", "e")]


def test_initial_events_end_with_a_bookmark(maps: Caller) -> None:
    asked: dict[str, Any] = {
        "sendInitialEvents": True,
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": True,
    }
    *told, last = maps.lines(maps.watch(MAPS, labelSelector="app=y", **asked))
    assert [line["object"]["metadata"]["name"] for line in told] == ["b"]
    assert last["type"] == "BOOKMARK"
    assert last["object"]["metadata"] == {
        "resourceVersion": maps.get(MAPS).version,
        "annotations": {"k8s.io/initial-events-end": "true"},
    }
    assert maps.get(MAPS, watch=True, sendInitialEvents=True).status == 422


def test_what_enters_or_leaves_a_selection_is_added_or_deleted(maps: Caller) -> None:
    watch = maps.watch(MAPS, labelSelector="app=y", resourceVersion=maps.get(MAPS).version)
    maps.patch(f"{MAPS}/a", {"metadata": {"labels": {"app": "y"}}}, MERGE_PATCH)
    maps.patch(f"{MAPS}/a", {"data": {"k": "v"}}, MERGE_PATCH)
    maps.patch(f"{MAPS}/a", {"metadata": {"labels": {"app": "x"}}}, MERGE_PATCH)
    maps.delete(f"{MAPS}/a")
    lines = maps.lines(watch)
    assert [line["type"] for line in lines] == ["ADDED", "MODIFIED", "DELETED"]
    assert lines[-1]["object"]["metadata"]["labels"] == {"app": "y"}


def test_a_watch_of_a_forgotten_version_ends_with_410(maps: Caller) -> None:
    version = maps.get(MAPS).version
    maps.delete(f"{MAPS}/a")
    maps.server.storage.compact()
    watch = maps.watch(MAPS, resourceVersion=version)
    (line,) = maps.lines(watch)
    assert (line["type"], line["object"]["code"], line["object"]["reason"]) == ("ERROR", 410, "Expired")
    assert watch.ended


def test_a_watch_of_a_future_version_is_silent_until_then(maps: Caller) -> None:
    watch = maps.watch(MAPS, resourceVersion=int(maps.get(MAPS).version) + 1)
    maps.delete(f"{MAPS}/a")
    assert maps.told(watch) == []
    maps.delete(f"{MAPS}/b")
    assert maps.told(watch) == [("DELETED", "b")]


def test_bookmarks_come_every_minute_and_before_the_end_if_anything_has_happened(maps: Caller) -> None:
    version = maps.get(MAPS).version
    watch = maps.watch(MAPS, resourceVersion=version, fieldSelector="metadata.name=none", allowWatchBookmarks=True,
                       timeoutSeconds=150)  # fmt: skip
    told = []
    for seconds in (0, 60, 60, 28, 2):
        maps.pass_time(Duration(seconds * SECOND))
        told += [(seconds, line["type"], line["object"]["metadata"]) for line in maps.lines(watch)]
        if seconds == 60 and not told:
            maps.delete(f"{MAPS}/a")
            version = maps.get(MAPS).version
    assert told == [(60, "BOOKMARK", {"resourceVersion": version}), (28, "BOOKMARK", {"resourceVersion": version})]
    assert watch.ended
    assert watch.due is None


def test_a_quiet_kind_gets_bookmarks_once_etcd_was_asked_how_far_it_is(maps: Caller) -> None:
    """For a list of anything, or a minute later. So it was seen on a real server."""

    def minutes(*, listed: bool) -> list[str]:
        watch = maps.watch(MAPS, resourceVersion=maps.get(MAPS).version, allowWatchBookmarks=True)
        maps.post(NAMESPACES, named("v1", "Namespace", f"n{listed}".lower()))
        told = []
        for _ in range(2):
            if listed:
                maps.get(NAMESPACES)
            maps.pass_time(Duration(60 * SECOND))
            told += ["".join(line["type"] for line in maps.lines(watch))]
        watch.close()
        return told

    assert minutes(listed=False) == ["", "BOOKMARK"]
    assert minutes(listed=True) == ["BOOKMARK", "BOOKMARK"]


def test_a_watch_of_one_object_tells_of_no_other(maps: Caller) -> None:
    watch = maps.watch(MAPS, resourceVersion=maps.get(MAPS).version, fieldSelector="metadata.name=a")
    maps.delete(f"{MAPS}/b")
    maps.delete(f"{MAPS}/a")
    assert maps.told(watch) == [("DELETED", "a")]


def test_a_watch_rings_when_there_is_news(maps: Caller) -> None:
    rings = []
    watch = maps.watch(MAPS, resourceVersion=maps.get(MAPS).version)
    watch.wake = lambda: rings.append(1)
    maps.delete(f"{MAPS}/a")
    watch.close()
    maps.delete(f"{MAPS}/b")
    assert rings == [1]


def test_a_watch_of_tables_has_a_row_an_event(maps: Caller) -> None:
    watch = maps.watch(MAPS, accept=TABLE, resourceVersion=maps.get(MAPS).version)
    maps.delete(f"{MAPS}/a")
    (line,) = maps.lines(watch)
    assert line["object"]["kind"] == "Table"
    assert line["object"]["rows"][0]["cells"] == ["a", 0, "0s"]
