"""Collections are listed in pages and by selectors, and watched."""

from collections.abc import Mapping
from typing import Any

import pytest

from plays import Play, delete, get, merge, post, watch
from sky_control_plane import ControlPlane
from sky_sandbox.testing import Caller, named, node, pod

SKY = "scheduling.infini-ai.com/v1alpha1"
MAPS = "/api/v1/namespaces/$ns/configmaps"
PODS = "/api/v1/namespaces/$ns/pods"
QUOTAS = f"/apis/{SKY}/quotas"
NODES = "/api/v1/nodes"
FUTURE = 2**40


@pytest.fixture(scope="module")
def forgetful_plane(bare_plane: ControlPlane) -> ControlPlane:
    """An API server that has just been started again, and knows no version from before."""
    server = bare_plane.servers["kube-apiserver"]
    server.kill()
    server.start()
    bare_plane.wait_until_ready()
    bare_plane.wait_until(lambda: bare_plane.serves(QUOTAS))
    return bare_plane


def numbered(name: str, **labels: str) -> dict[str, object]:
    return {**named("v1", "ConfigMap", name), "metadata": {"name": name, "labels": labels}}


FIVE = [post(MAPS, numbered(f"m{i}", tier="abc"[i % 3], number=str(i)), keep=f"m{i}") for i in range(5)]


def test_a_list_is_cut_into_pages_of_one_version(play: Play) -> None:
    play(
        *FIVE,
        get(MAPS, limit=2, keep="first"),
        post(MAPS, numbered("m00")),
        post(MAPS, numbered("m9")),
        delete(f"{MAPS}/m3"),
        get(MAPS, limit=2, continue_="$first.continue", keep="second"),
        get(MAPS, limit=2, continue_="$second.continue"),
        get(MAPS, limit=10),
    )


def test_version_0_ignores_the_limit(play: Play) -> None:
    play(*FIVE, get(MAPS, limit=2, resourceVersion=0))


def test_a_list_may_be_of_a_version(play: Play) -> None:
    play(
        *FIVE,
        delete(f"{MAPS}/m4"),
        get(MAPS, resourceVersion="$m2.resourceVersion"),
        get(MAPS, resourceVersion="$m2.resourceVersion", resourceVersionMatch="NotOlderThan"),
        get(MAPS, resourceVersion="$m2.resourceVersion", resourceVersionMatch="Exact"),
        get(MAPS, "422 Invalid", resourceVersion=0, resourceVersionMatch="Exact"),
        get(MAPS, "422 Invalid", resourceVersionMatch="Exact"),
        get(MAPS, "422 Invalid", resourceVersion=1, resourceVersionMatch="Odd"),
        get(MAPS, "504 Timeout", resourceVersion=FUTURE),
        get(MAPS, "400 BadRequest", resourceVersion="x"),
        get(MAPS, "400 BadRequest", continue_="x"),
        get(MAPS, "400 BadRequest", limit="x"),
        get(f"{MAPS}/m1", resourceVersion=0),
    )


@pytest.mark.parametrize(
    "selector",
    ["tier=a", "tier==a", "tier!=a", "tier in (a,b)", "tier notin (a)", "tier", "!tier", "number>2", "tier=a,number=3",
     "tier in (a, b), number notin (0)", ""],
)  # fmt: skip
def test_a_list_by_labels(play: Play, selector: str) -> None:
    play(*FIVE, post(MAPS, numbered("bare")), get(MAPS, labelSelector=selector))


@pytest.mark.parametrize("selector", ["tier=", "tier=a b", "=a", "tier in a", "tier in ()", "tier in (a", "a=-"])
def test_a_list_by_labels_that_are_none(play: Play, selector: str) -> None:
    expected = "200" if selector in {"tier=", "tier in ()"} else "400 BadRequest"
    play(*FIVE, get(MAPS, expected, labelSelector=selector))


@pytest.mark.parametrize(
    "selector",
    ["spec.nodeName=n1", "spec.nodeName=", "spec.nodeName!=n1", "status.phase=Pending", "metadata.name=a",
     "metadata.name!=a,status.phase!=Failed", "metadata.namespace=$ns", "spec.schedulerName=default-scheduler",
     "spec.hostNetwork=false", "spec.restartPolicy=Always"],
)  # fmt: skip
def test_pods_by_fields(play: Play, selector: str) -> None:
    play(post(PODS, pod("a")), post(PODS, pod("b", node="n1")), get(PODS, fieldSelector=selector))


@pytest.mark.parametrize("collection", [PODS, QUOTAS, MAPS, "/api/v1/nodes"], ids=["pods", "quotas", "maps", "nodes"])
def test_a_field_that_cannot_be_selected_by(play: Play, collection: str) -> None:
    play(
        get(collection, "400 BadRequest", fieldSelector="spec.odd=1"),
        get(collection, "400 BadRequest", fieldSelector="x"),
    )


def test_nodes_by_whether_they_are_cordoned(play: Play) -> None:
    play(
        post("/api/v1/nodes", node("by-field-open")),
        post("/api/v1/nodes", {**node("by-field-cordoned"), "spec": {"unschedulable": True}}),
        get("/api/v1/nodes", fieldSelector="spec.unschedulable=true,metadata.name=by-field-cordoned"),
        get("/api/v1/nodes", fieldSelector="spec.unschedulable=false,metadata.name=by-field-cordoned"),
        get("/api/v1/nodes", fieldSelector="spec.unschedulable=false,metadata.name=by-field-open"),
        get("/api/v1/nodes", fieldSelector="spec.unschedulable!=true,metadata.name=by-field-open"),
    )


def test_all_namespaces_are_listed_at_once(play: Play) -> None:
    play(*FIVE, get("/api/v1/configmaps", labelSelector="tier=b", fieldSelector="metadata.namespace=$ns"))


def test_a_watch_tells_what_happened_after_a_version(play: Play) -> None:
    play(
        *FIVE[:3],
        merge(f"{MAPS}/m1", {"data": {"a": "b"}}),
        delete(f"{MAPS}/m0"),
        post(MAPS, numbered("m0")),
        watch(MAPS, lines=4, resourceVersion="$m1.resourceVersion"),
        watch(MAPS, lines=2, resourceVersion="$m1.resourceVersion", fieldSelector="metadata.name=m0"),
    )


def test_a_watch_without_a_version_begins_with_what_is_there(play: Play) -> None:
    play(*FIVE[:2], watch(MAPS, lines=2), watch(MAPS, lines=2, resourceVersion=0))


def test_an_object_comes_into_a_selection_and_leaves_it(play: Play) -> None:
    play(
        *FIVE[:2],
        merge(f"{MAPS}/m0", {"metadata": {"labels": {"tier": "b"}}}),
        merge(f"{MAPS}/m0", {"data": {"a": "b"}}),
        merge(f"{MAPS}/m0", {"metadata": {"labels": {"tier": "a"}}}),
        delete(f"{MAPS}/m0"),
        watch(MAPS, lines=3, resourceVersion="$m1.resourceVersion", labelSelector="tier=a"),
        watch(MAPS, lines=3, resourceVersion="$m1.resourceVersion", labelSelector="tier=b"),
    )


def test_a_watch_on_which_nothing_happens_gets_no_bookmark(play: Play) -> None:
    play(
        *FIVE[:2],
        watch(MAPS, resourceVersion="$m1.resourceVersion", allowWatchBookmarks=True, timeoutSeconds=2),
    )


@pytest.mark.parametrize("path", [NODES, QUOTAS], ids=["nodes", "quotas"])
def test_a_watch_of_a_forgotten_version_ends_at_once(forgetful_plane: ControlPlane, sky: Caller, path: str) -> None:
    version = int(sky.get(path).version)
    sky.post(path, named("v1", "Node", "n") if path == NODES else named(SKY, "Quota", "q"))
    sky.server.storage.compact()
    (copy,) = sky.lines(sky.watch(path, resourceVersion=version))
    truth = forgetful_plane.request("GET", f"{path}?watch=true&resourceVersion=2&timeoutSeconds=5").body
    assert without(copy, "message") == without(truth, "message")


def without(event: Mapping[str, Any], name: str) -> dict[str, Any]:
    """An event of a watch whose object lacks a field."""
    return {**event, "object": {key: value for key, value in event["object"].items() if key != name}}


@pytest.mark.parametrize("collection", [MAPS, QUOTAS], ids=["maps", "quotas"])
def test_a_watch_of_a_version_that_is_to_come_is_silent(play: Play, collection: str) -> None:
    play(watch(collection, resourceVersion=FUTURE))


def test_initial_events_end_with_a_bookmark(play: Play) -> None:
    streaming: dict[str, Any] = {
        "sendInitialEvents": True,
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": True,
    }
    play(
        *FIVE[:2],
        watch(MAPS, lines=3, **streaming),
        watch(MAPS, lines=3, resourceVersion=0, **streaming),
        watch(MAPS, lines=3, resourceVersion="$m1.resourceVersion", **streaming),
        watch(MAPS, lines=2, labelSelector="number=1", **streaming),
        watch(MAPS, "422 Invalid", sendInitialEvents=True),
        watch(MAPS, "422 Invalid", sendInitialEvents=True, resourceVersionMatch="Exact"),
        watch(MAPS, "422 Invalid", resourceVersion=1, resourceVersionMatch="NotOlderThan"),
        watch(MAPS, "422 Invalid", sendInitialEvents=False),
        get(MAPS, "422 Invalid", sendInitialEvents=True, resourceVersionMatch="NotOlderThan"),
        watch(MAPS, "500", resourceVersion="x"),
    )


def test_initial_events_need_bookmarks_to_end(play: Play) -> None:
    play(*FIVE[:2], watch(MAPS, sendInitialEvents=True, resourceVersionMatch="NotOlderThan"))


def test_a_pod_that_goes_is_seen_to_go(play: Play) -> None:
    play(
        post(PODS, pod("a"), keep="a"),
        post(PODS, pod("b", node="n1")),
        delete(f"{PODS}/a"),
        delete(f"{PODS}/b"),
        delete(f"{PODS}/b", {"gracePeriodSeconds": 0}),
        watch(PODS, lines=5, resourceVersion="$a.resourceVersion"),
    )


def test_a_held_object_is_seen_to_go(play: Play) -> None:
    held = {
        **named(SKY, "Quota", "watched-held"),
        "metadata": {"name": "watched-held", "finalizers": ["example.com/a"]},
    }
    play(
        post(QUOTAS, held, keep="q"),
        delete(f"{QUOTAS}/watched-held"),
        merge(f"{QUOTAS}/watched-held", {"metadata": {"finalizers": None}}),
        watch(QUOTAS, lines=2, resourceVersion="$q.resourceVersion", fieldSelector="metadata.name=watched-held"),
    )


def test_a_status_that_stays_is_not_told(play: Play) -> None:
    play(
        post(QUOTAS, named(SKY, "Quota", "watched-status"), keep="q"),
        merge(f"{QUOTAS}/watched-status/status", {"status": {"epoch": 1}}),
        merge(f"{QUOTAS}/watched-status/status", {"status": {"epoch": 1}}),
        merge(f"{QUOTAS}/watched-status", {}),
        watch(QUOTAS, resourceVersion="$q.resourceVersion", fieldSelector="metadata.name=watched-status"),
    )
