"""The same requests on the sandbox and on a real API server: the same status and reason, and the same fields change.

Where they differ, the sandbox is wrong. A play is a generator: it yields requests, and gets the answers. Objects that a
cluster's controllers would touch are not in it: the API server is alone, and so is the sandbox's.
"""

import json
import re
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Generator, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlencode

import msgspec
import pytest
import yaml

from sky_control_plane import Binaries, ControlPlane
from sky_sandbox.api.requests import Request
from sky_sandbox.api.watching import Watch
from sky_sandbox.testing import Caller, binding, named, pod
from sky_shell.transport import APPLY_PATCH, JSON, MERGE_PATCH, STRATEGIC_PATCH

JSON_PATCH = "application/json-patch+json"
NAMESPACE = "/api/v1/namespaces/play"
MAPS, PODS = f"{NAMESPACE}/configmaps", f"{NAMESPACE}/pods"
EVENTS = "/apis/events.k8s.io/v1/namespaces/play/events"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/play/leases"
BUDGETS = "/apis/policy/v1/namespaces/play/poddisruptionbudgets"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
API = "scheduling.infini-ai.com/v1alpha1"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
QUOTAS, TOPOLOGIES = f"/apis/{API}/quotas", f"/apis/{API}/nodetopologies"


FILES = sorted((Path(__file__).parents[2] / "deploy" / "crds").glob("*.yaml"))
DEFINITIONS = {
    raw["spec"]["names"]["plural"]: raw
    for raw in map(yaml.safe_load, (file.read_text() for file in FILES))
    if raw["kind"] == "CustomResourceDefinition"
}


class Ask(NamedTuple):
    """One request of a play."""

    method: str
    path: str
    body: Any = None
    media: str = JSON
    query: Mapping[str, str] = {}


class Answer(NamedTuple):
    """What a server said to it."""

    status: int
    body: Any

    @property
    def metadata(self) -> dict[str, Any]:
        found: dict[str, Any] = self.body["metadata"]
        return found


class Outcome(NamedTuple):
    """What must be the same on both stages."""

    asked: str
    status: int
    reason: str
    changed: dict[str, Any]


Play = Generator[Ask, Answer, None]


class Stage(Protocol):
    def ask(self, ask: Ask) -> Answer: ...


class SandboxStage:
    """A sandbox's server, and nobody else."""

    def __init__(self) -> None:
        self._caller = Caller()

    def ask(self, ask: Ask) -> Answer:
        if "watch" in ask.query:
            return self._watch(ask)
        reply = self._caller.ask(ask.method, ask.path, ask.body, media=ask.media, query=ask.query)
        return Answer(reply.status, reply.body)

    def _watch(self, ask: Ask) -> Answer:
        caller = self._caller
        answer = caller.server.handle(Request(method="GET", path=ask.path, query=ask.query), caller.now)
        if not isinstance(answer, Watch):
            return Answer(answer.status, _decoded(answer.body))
        lines = answer.take(caller.now)
        while answer.due is not None:
            lines += answer.take(answer.due)
        return Answer(200, _told(b"".join(lines)))


class PlaneStage:
    """A real API server, as its administrator."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._trusted = ssl.create_default_context(cafile=str(plane.certificate))

    def ask(self, ask: Ask) -> Answer:
        body = None if ask.body is None else ask.body if isinstance(ask.body, bytes) else json.dumps(ask.body).encode()
        request = urllib.request.Request(  # noqa: S310 - the address is ours
            f"{self._plane.url}{ask.path}?{urlencode(ask.query)}", data=body, method=ask.method,
            headers={"Authorization": f"Bearer {self._plane.token('admin')}", "Content-Type": ask.media},
        )  # fmt: skip
        try:
            with urllib.request.urlopen(request, context=self._trusted, timeout=30) as answer:  # noqa: S310
                return Answer(answer.status, (_told if "watch" in ask.query else _decoded)(answer.read()))
        except urllib.error.HTTPError as refusal:
            with refusal:
                return Answer(refusal.code, _decoded(refusal.read()))


def _decoded(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError:
        return {}


def _told(body: bytes) -> Any:
    """The events of a watch: types, names and codes; without the bookmarks that come when the server likes."""
    events = [msgspec.json.decode(line) for line in body.splitlines()]
    metadata = [event["object"]["metadata"] for event in events]
    told = [
        (event["type"], about.get("name"), event["object"].get("code"), about.get("annotations"))
        for event, about in zip(events, metadata, strict=True)
        if event["type"] != "BOOKMARK" or about.get("annotations")
    ]
    return {"kind": "Told", "told": told}


def outcome(stage: Stage, ask: Ask) -> tuple[Answer, Outcome]:
    """Play one request, and see what it changed of the object that it is about."""
    about = re.sub(r"/(status|binding|eviction)$", "", ask.path)
    makes = ask.method == "POST" and about == ask.path
    before = {} if makes else _seen(stage, about)
    answer = stage.ask(ask)
    changed: dict[str, Any] = {}
    if makes and answer.status == 201:
        said = _flat(ask.body)
        changed = {path: value for path, value in _flat(answer.body).items() if path in said or path in _WATCHED}
    elif not makes:
        after = _seen(stage, about)
        paths = sorted(before.keys() | after.keys()) if after else ()
        changed = {path: after.get(path, "<gone>") for path in paths if before.get(path) != after.get(path)}
    if answer.body.get("kind") == "Told":
        changed = answer.body
    reason = answer.body.get("reason", "") if answer.body.get("kind") == "Status" else ""
    return answer, Outcome(f"{ask.method} {ask.path}", answer.status, reason, changed)


_WATCHED = {"metadata.generation", "metadata.labels", "status.phase", "status.qosClass", "spec.priority"}
_IGNORED = re.compile(r"metadata\.(resourceVersion|uid|managedFields|selfLink|creationTimestamp)(\.|$)")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


def _seen(stage: Stage, path: str) -> dict[str, Any]:
    answer = stage.ask(Ask("GET", path))
    return _flat(answer.body) if answer.status == 200 and "items" not in answer.body else {}


def _flat(value: Any, at: str = "") -> dict[str, Any]:
    if isinstance(value, dict | list) and value:
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        found: dict[str, Any] = {}
        for name, inner in pairs:
            found |= _flat(inner, f"{at}.{name}" if at else str(name))
        return found
    if _IGNORED.match(at):
        return {}
    return {at: "<time>" if isinstance(value, str) and _TIME.fullmatch(value) else value}


def played(stage: Stage, play: Callable[[], Play]) -> list[Outcome]:
    """The outcomes of a play."""
    outcomes = []
    acts = play()
    ask = next(acts)
    while True:
        answer, found = outcome(stage, ask)
        outcomes.append(found)
        try:
            ask = acts.send(answer)
        except StopIteration:
            return outcomes


def a_map(name: str = "m", **more: Any) -> dict[str, Any]:
    return named("v1", "ConfigMap", name, data={"a": "1", "b": "2"}) | more


def with_metadata(raw: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return {**raw, "metadata": {**raw["metadata"], **metadata}}


def creating() -> Play:
    yield Ask("POST", MAPS, a_map())
    yield Ask("POST", MAPS, a_map())
    yield Ask("POST", MAPS, with_metadata(a_map("n"), resourceVersion="1"))
    yield Ask("POST", MAPS, with_metadata(a_map("n"), uid="another", generation=7))
    yield Ask("POST", MAPS, with_metadata(a_map("o"), namespace="other"))
    yield Ask("POST", MAPS, a_map("Upper"))
    yield Ask("POST", MAPS, a_map("a/b"))
    yield Ask("POST", MAPS, {**a_map(), "metadata": {}})
    yield Ask("POST", MAPS, {**a_map(), "kind": "Pod"})
    yield Ask("POST", MAPS, {**a_map(), "apiVersion": "v2"})
    yield Ask("POST", MAPS, {"metadata": {"name": "bare"}})
    yield Ask("POST", MAPS, with_metadata(a_map("l"), labels={"-a": "b"}))
    yield Ask("POST", MAPS, with_metadata(a_map("l"), labels={"a": "b c"}))
    yield Ask("POST", MAPS, with_metadata(a_map("l"), labels={"a": 1}))
    yield Ask("POST", MAPS, with_metadata(a_map("l"), labels={"a": None}))
    yield Ask("POST", MAPS, with_metadata(a_map("l"), annotations={"a": "x" * 270_000}))
    yield Ask("POST", MAPS, with_metadata(a_map("l"), finalizers=["noslash"]))
    yield Ask("POST", MAPS, with_metadata(a_map("l"), ownerReferences=[{"kind": "Pod", "name": "p"}]))
    yield Ask("POST", MAPS, b"{")
    yield Ask("POST", MAPS, b"[]")
    yield Ask("POST", MAPS, b"")
    yield Ask("POST", "/api/v1/namespaces/nowhere/configmaps", a_map())
    yield Ask("POST", MAPS, a_map("dry"), query={"dryRun": "All"})
    yield Ask("POST", MAPS, a_map("dry"), query={"dryRun": "Some"})
    yield Ask("POST", MAPS, a_map("dry"), query={"fieldValidation": "Odd"})
    yield Ask("GET", f"{MAPS}/dry")
    yield Ask("GET", f"{MAPS}/absent")
    yield Ask("GET", "/apis/example.com/v1/things")
    yield Ask("GET", f"{MAPS}/m", query={"timeout": "3"})
    yield Ask("PUT", MAPS, a_map())
    yield Ask("POST", f"{MAPS}/m", a_map())


def updating() -> Play:
    made = (yield Ask("POST", MAPS, a_map())).body
    yield Ask("PUT", f"{MAPS}/m", {**made, "data": {"a": "2"}})
    yield Ask("PUT", f"{MAPS}/m", {**made, "data": {"a": "3"}})
    yield Ask("PUT", f"{MAPS}/m", with_metadata(a_map(data={"a": "4"}), labels={"x": "y"}))
    yield Ask("PUT", f"{MAPS}/m", with_metadata(a_map(data={"a": "4"}), labels={"x": "y"}))
    yield Ask("PUT", f"{MAPS}/m", with_metadata(a_map(), uid="another"))
    yield Ask("PUT", f"{MAPS}/m", with_metadata(a_map(), resourceVersion="nonsense"))
    yield Ask("PUT", f"{MAPS}/m", a_map("other"))
    yield Ask("PUT", f"{MAPS}/absent", a_map("absent"))
    yield Ask("PUT", f"{MAPS}/m", a_map(), query={"dryRun": "All"})
    yield Ask("GET", f"{MAPS}/m")
    yield Ask("PUT", f"{MAPS}/m", {**a_map(), "data": None})


def patching() -> Play:
    made = (yield Ask("POST", MAPS, a_map())).body

    def patch(media: str, change: Any, **query: str) -> Ask:
        return Ask("PATCH", f"{MAPS}/m", change, media, query)

    yield patch(MERGE_PATCH, {"data": {"a": None, "c": "3"}})
    yield patch(MERGE_PATCH, {"data": {"c": "3"}})
    yield patch(MERGE_PATCH, {"metadata": {"resourceVersion": made["metadata"]["resourceVersion"]}, "data": {"d": "4"}})
    yield patch(MERGE_PATCH, {"metadata": {"uid": "another"}})
    yield patch(MERGE_PATCH, {"metadata": {"name": "other"}})
    yield patch(MERGE_PATCH, {"metadata": {"namespace": "other"}})
    yield patch(MERGE_PATCH, {"metadata": {"labels": {"x": "y"}}})
    yield patch(MERGE_PATCH, {"kind": "Pod"})
    yield patch(MERGE_PATCH, [1])
    yield patch(MERGE_PATCH, b"{")
    yield patch(STRATEGIC_PATCH, {"data": {"b": None, "e": "5"}})
    yield patch(STRATEGIC_PATCH, {"data": {"$patch": "replace", "f": "6"}})
    yield patch(STRATEGIC_PATCH, {"data": {"$patch": "odd"}})
    yield patch(STRATEGIC_PATCH, {"metadata": {"finalizers": ["example.com/a"]}})
    yield patch(STRATEGIC_PATCH, {"metadata": {"finalizers": ["example.com/b"]}})
    yield patch(STRATEGIC_PATCH, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}})
    yield patch(STRATEGIC_PATCH, {"metadata": {"finalizers": None}})
    yield patch(JSON_PATCH, [{"op": "add", "path": "/data/g", "value": "7"}])
    yield patch(JSON_PATCH, [{"op": "test", "path": "/data/g", "value": "8"}])
    yield patch(JSON_PATCH, [{"op": "replace", "path": "/data/absent", "value": "8"}])
    yield patch(JSON_PATCH, [{"op": "remove", "path": "/data/absent"}])
    yield patch(JSON_PATCH, [{"op": "remove", "path": "/data/absent"}])
    yield patch(JSON_PATCH, [{"op": "replace", "path": "/absent/absent", "value": "8"}])
    yield patch(JSON_PATCH, [{"op": "move", "from": "/data/g", "path": "/data/h"}])
    yield patch(JSON_PATCH, [{"op": "copy", "from": "/data/h", "path": "/data/i"}])
    yield patch(JSON_PATCH, [{"op": "odd", "path": "/data/h"}])
    yield patch(JSON_PATCH, {"op": "add"})
    yield patch(JSON_PATCH, [{"op": "add", "path": "/metadata/labels/slash~1key", "value": "v"}])
    yield patch("application/odd", {})
    yield patch(MERGE_PATCH, {"data": {"z": "9"}}, dryRun="All")
    yield Ask("PATCH", f"{MAPS}/absent", {}, MERGE_PATCH)
    yield patch(MERGE_PATCH, {"data": {"z": 9}})


def deleting() -> Play:
    made = (yield Ask("POST", MAPS, a_map())).body
    options = {"kind": "DeleteOptions", "apiVersion": "v1"}
    yield Ask("DELETE", f"{MAPS}/m", {**options, "preconditions": {"uid": "another"}})
    yield Ask("DELETE", f"{MAPS}/m", {**options, "preconditions": {"resourceVersion": "1"}})
    yield Ask("DELETE", f"{MAPS}/m", query={"dryRun": "All"})
    yield Ask("DELETE", f"{MAPS}/m", {**options, "preconditions": {"uid": made["metadata"]["uid"]}})
    yield Ask("DELETE", f"{MAPS}/m")
    yield Ask("POST", MAPS, with_metadata(a_map("k"), finalizers=["example.com/keep"]))
    yield Ask("DELETE", f"{MAPS}/k")
    yield Ask("DELETE", f"{MAPS}/k")
    yield Ask("PATCH", f"{MAPS}/k", {"metadata": {"finalizers": ["example.com/more"]}}, MERGE_PATCH)
    yield Ask("PATCH", f"{MAPS}/k", {"data": {"c": "1"}}, MERGE_PATCH)
    yield Ask("POST", MAPS, a_map("k"))
    yield Ask("PATCH", f"{MAPS}/k", {"metadata": {"finalizers": None}}, MERGE_PATCH)
    yield Ask("GET", f"{MAPS}/k")
    for name in ("x", "y"):
        yield Ask("POST", MAPS, with_metadata(a_map(name), labels={"app": name}))
    yield Ask("DELETE", MAPS, query={"labelSelector": "app=x"})
    yield Ask("GET", f"{MAPS}/x")
    yield Ask("GET", f"{MAPS}/y")


def applying() -> Play:
    def apply(manager: str, data: dict[str, str], **query: str) -> Ask:
        return Ask("PATCH", f"{MAPS}/m", a_map(data=data), APPLY_PATCH, {"fieldManager": manager, **query})

    yield apply("one", {"a": "1", "b": "2"})
    yield apply("one", {"a": "1", "b": "2"})
    yield apply("two", {"b": "2"})
    yield apply("two", {"a": "3"})
    yield apply("one", {"c": "3"})
    yield apply("two", {"c": "4"}, force="true")
    yield Ask("PATCH", f"{MAPS}/m", {"data": {"c": "5"}}, MERGE_PATCH, {"fieldManager": "hand"})
    yield apply("two", {"c": "6"})
    yield apply("two", {})
    yield Ask("PATCH", f"{MAPS}/m", a_map(), APPLY_PATCH)
    yield Ask(
        "PATCH",
        f"{MAPS}/m",
        with_metadata(a_map(), managedFields=[{"manager": "x"}]),
        APPLY_PATCH,
        {"fieldManager": "x"},
    )
    yield Ask("PATCH", f"{MAPS}/m", a_map("other"), APPLY_PATCH, {"fieldManager": "x"})
    yield apply("three", {"d": "1"}, dryRun="All")
    yield apply("three", {"d": "1"}, fieldValidation="Strict")


def a_pod(name: str = "p", **spec: Any) -> dict[str, Any]:
    raw = pod(name, gpu="1")
    return {**raw, "spec": {**raw["spec"], **spec}}


def pods() -> Play:
    made = (yield Ask("POST", PODS, a_pod())).body
    yield Ask("POST", PODS, named("v1", "Pod", "q", spec={}))
    yield Ask("POST", PODS, a_pod("q", containers=[{"name": "A", "image": "i"}]))
    yield Ask("POST", PODS, a_pod("q", containers=[{"name": "a", "image": "i"}] * 2))
    for resources in (
        {"requests": {"cpu": "many"}},
        {"requests": {"cpu": "-1"}},
        {"limits": {"nvidia.com/gpu": "500m"}},
        {"requests": {"nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "2"}},
        {"requests": {"nvidia.com/gpu": "1"}},
        {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}},
    ):
        yield Ask("POST", PODS, a_pod("q", containers=[{"name": "a", "image": "i", "resources": resources}]))
    yield Ask("POST", PODS, a_pod("q", priorityClassName="absent"))
    yield Ask("POST", PODS, a_pod("q", priority=7))
    yield Ask("POST", PODS, a_pod("q", nodeName="n", schedulingGates=[{"name": "example.com/g"}]))
    yield Ask("PATCH", f"{PODS}/p", {"spec": {"nodeName": "n"}}, MERGE_PATCH)
    yield Ask("PATCH", f"{PODS}/p", {"spec": {"nodeSelector": {"a": "b"}}}, MERGE_PATCH)
    yield Ask("PATCH", f"{PODS}/p", {"spec": {"tolerations": []}}, MERGE_PATCH)
    more = [*made["spec"]["tolerations"], {"key": "k", "operator": "Exists"}]
    yield Ask("PATCH", f"{PODS}/p", {"spec": {"tolerations": more}}, MERGE_PATCH)
    image = {"spec": {"containers": [{"name": "main", "image": "other"}]}}
    yield Ask("PATCH", f"{PODS}/p", image, STRATEGIC_PATCH)
    yield Ask("PATCH", f"{PODS}/p", {"metadata": {"labels": {"a": "b"}}}, STRATEGIC_PATCH)
    yield Ask("PATCH", f"{PODS}/p", {"metadata": {"uid": "another"}}, MERGE_PATCH)
    yield Ask("PATCH", f"{PODS}/p", {"status": {"phase": "Running"}}, MERGE_PATCH)
    yield Ask("PUT", f"{PODS}/p", {**made, "metadata": {**made["metadata"], "resourceVersion": ""}})


def pod_status() -> Play:
    made = (yield Ask("POST", PODS, a_pod())).body
    status = f"{PODS}/p/status"
    told = {"conditions": [{"type": "A", "status": "True"}]}
    yield Ask("PATCH", status, {"status": told}, STRATEGIC_PATCH)
    told = {"conditions": [{"type": "B", "status": "False", "reason": "R"}, {"type": "A", "status": "False"}]}
    yield Ask("PATCH", status, {"status": told}, STRATEGIC_PATCH)
    yield Ask("PATCH", status, {"status": {"conditions": [{"$patch": "delete", "type": "A"}]}}, STRATEGIC_PATCH)
    yield Ask("PATCH", status, {"status": {"phase": "Running"}, "spec": {"nodeName": "n"}}, MERGE_PATCH)
    yield Ask("PATCH", status, {"metadata": {"labels": {"x": "y"}}}, MERGE_PATCH)
    yield Ask("PATCH", status, {"metadata": {"annotations": {"x": "y"}}, "status": {"message": "m"}}, MERGE_PATCH)
    yield Ask("PATCH", status, {"metadata": {"resourceVersion": made["metadata"]["resourceVersion"]}}, MERGE_PATCH)
    yield Ask("PATCH", status, {"metadata": {"uid": "another"}, "status": {"message": "n"}}, MERGE_PATCH)
    yield Ask("GET", status)
    yield Ask("PATCH", f"{PODS}/absent/status", {}, MERGE_PATCH)


def bindings() -> Play:
    made = (yield Ask("POST", PODS, with_metadata(a_pod(), annotations={"mine": "old", "kept": "yes"}))).metadata
    at = f"{PODS}/p/binding"
    yield Ask("POST", at, binding("p", "n", uid="another"))
    yield Ask("POST", at, binding("p", "n", resourceVersion="1"))
    yield Ask("POST", at, binding("p", ""))
    yield Ask("POST", at, binding("q", "n"))
    yield Ask("POST", at, {**binding("p", "n"), "target": {"kind": "Pod", "name": "n"}})
    yield Ask("POST", at, binding("p", "n"), query={"dryRun": "All"})
    yield Ask("POST", at, binding("p", "n", uid=made["uid"], annotations={"mine": "new"}, labels={"l": "v"}))
    yield Ask("POST", at, binding("p", "n"))
    yield Ask("POST", at, binding("p", "other"))
    yield Ask("POST", f"{PODS}/absent/binding", binding("absent", "n"))
    yield Ask("POST", PODS, a_pod("gated", schedulingGates=[{"name": "example.com/g"}]))
    yield Ask("POST", f"{PODS}/gated/binding", binding("gated", "n"))
    yield Ask("PATCH", f"{PODS}/gated", {"spec": {"nodeSelector": {"a": "b"}}}, MERGE_PATCH)
    yield Ask("PATCH", f"{PODS}/gated", {"spec": {"schedulingGates": []}}, MERGE_PATCH)
    yield Ask("POST", f"{PODS}/gated/binding", binding("gated", "n"))
    yield Ask("POST", PODS, with_metadata(a_pod("going"), finalizers=["example.com/keep"]))
    yield Ask("DELETE", f"{PODS}/going")
    yield Ask("POST", f"{PODS}/going/binding", binding("going", "n"))
    yield Ask("PATCH", f"{PODS}/going", {"metadata": {"finalizers": None}}, MERGE_PATCH)
    yield Ask("POST", PODS, a_pod("ended"))
    yield Ask("PATCH", f"{PODS}/ended/status", {"status": {"phase": "Failed"}}, MERGE_PATCH)
    yield Ask("POST", f"{PODS}/ended/binding", binding("ended", "n"))


def pod_deletions() -> Play:
    yield Ask("POST", PODS, a_pod("free"))
    yield Ask("DELETE", f"{PODS}/free")
    yield Ask("GET", f"{PODS}/free")
    yield Ask("POST", PODS, a_pod("p", nodeName="n"))
    yield Ask("DELETE", f"{PODS}/p")
    yield Ask("DELETE", f"{PODS}/p", query={"gracePeriodSeconds": "60"})
    yield Ask("DELETE", f"{PODS}/p", query={"gracePeriodSeconds": "5"})
    yield Ask("PATCH", f"{PODS}/p", {"metadata": {"labels": {"a": "b"}}}, MERGE_PATCH)
    yield Ask("DELETE", f"{PODS}/p", query={"gracePeriodSeconds": "0"})
    yield Ask("GET", f"{PODS}/p")
    yield Ask("POST", PODS, a_pod("ended", nodeName="n"))
    yield Ask("PATCH", f"{PODS}/ended/status", {"status": {"phase": "Succeeded"}}, MERGE_PATCH)
    yield Ask("DELETE", f"{PODS}/ended")
    yield Ask("GET", f"{PODS}/ended")


def eviction(name: str, **options: Any) -> dict[str, Any]:
    return named("policy/v1", "Eviction", name, **({"deleteOptions": options} if options else {}))


def evictions() -> Play:
    made = (yield Ask("POST", PODS, a_pod("p", nodeName="n"))).metadata
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    yield Ask("PATCH", f"{PODS}/p/status", {"status": ready}, MERGE_PATCH)
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "p"}}}
    yield Ask("POST", BUDGETS, named("policy/v1", "PodDisruptionBudget", "b", spec=spec))
    yield Ask("POST", f"{PODS}/p/eviction", eviction("p"))
    status = {
        "observedGeneration": 1, "disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1,
    }  # fmt: skip
    yield Ask("PATCH", f"{BUDGETS}/b/status", {"status": status}, MERGE_PATCH)
    yield Ask("POST", f"{PODS}/p/eviction", eviction("p"))
    yield Ask("POST", f"{PODS}/p/eviction", eviction("p", preconditions={"uid": "another"}))
    yield Ask("PATCH", f"{BUDGETS}/b/status", {"status": {"disruptionsAllowed": 1}}, MERGE_PATCH)
    yield Ask("POST", f"{PODS}/p/eviction", eviction("p", dryRun=["All"]))
    yield Ask("GET", f"{BUDGETS}/b")
    yield Ask("POST", f"{PODS}/p/eviction", eviction("q"))
    yield Ask("POST", f"{PODS}/p/eviction", eviction("p", preconditions={"uid": made["uid"]}))
    yield Ask("POST", f"{PODS}/p/eviction", eviction("p"))
    yield Ask("POST", f"{PODS}/absent/eviction", eviction("absent"))
    yield Ask("POST", PODS, a_pod("free"))
    yield Ask("POST", f"{PODS}/free/eviction", eviction("free", preconditions={"uid": "another"}))
    yield Ask("POST", f"{PODS}/free/eviction", eviction("free"))
    yield Ask("GET", f"{PODS}/free")
    both = {"minAvailable": 1, "maxUnavailable": 1}
    yield Ask("POST", BUDGETS, named("policy/v1", "PodDisruptionBudget", "c", spec=both))
    yield Ask("POST", BUDGETS, named("policy/v1", "PodDisruptionBudget", "c", spec={"minAvailable": "200%"}))
    yield Ask("POST", BUDGETS, named("policy/v1", "PodDisruptionBudget", "c", spec={"minAvailable": -1}))
    yield Ask("DELETE", f"{PODS}/p", query={"gracePeriodSeconds": "0"})


def quota(name: str = "play-q", **spec: Any) -> dict[str, Any]:
    return named(API, "Quota", name, spec={"request": {"nvidia.com/gpu": "8"}, **spec})


def quotas() -> Play:
    made = (yield Ask("POST", QUOTAS, {**quota(), "status": {"phase": "QuotaBound"}})).body
    at = f"{QUOTAS}/play-q"
    specs: tuple[dict[str, Any], ...] = (
        {"queueName": 1},
        {"queueName": None},
        {"queueName": "x" * 300},
        {"request": {"cpu": -1}},
        {"request": {"cpu": "-1"}},
        {"request": {"cpu": 1.5}},
        {"request": {"not a name": "1"}},
        {"request": {f"a{i}": "1" for i in range(17)}},
        {"tolerations": [{"operator": "Exists", "value": "x"}]},
        {"sharedQueues": ["a", None]},
        {"affinity": {"quotaAffinity": {"preferred": [{"weight": 0}]}}},
        {"reqeust": {}},
    )
    for spec in specs:
        yield Ask("POST", QUOTAS, quota("play-r", **spec))
        yield Ask("DELETE", f"{QUOTAS}/play-r")
    yield Ask("POST", QUOTAS, quota("play-r", reqeust={}), query={"fieldValidation": "Strict"})
    yield Ask("PATCH", at, {"spec": {"reqeust": {}}}, MERGE_PATCH, {"fieldValidation": "Strict"})
    yield Ask("PATCH", at, {"spec": {"reqeust": {}}}, MERGE_PATCH)
    yield Ask("PATCH", at, {"spec": {"queueName": "other"}}, MERGE_PATCH)
    yield Ask("PATCH", at, {"spec": {"queueName": None}}, MERGE_PATCH)
    yield Ask("PATCH", at, {"status": {"phase": "QuotaBound"}}, MERGE_PATCH)
    yield Ask("PATCH", at, {"metadata": {"uid": "another"}}, MERGE_PATCH)
    yield Ask("PATCH", at, {}, STRATEGIC_PATCH)
    yield Ask("PATCH", at, [{"op": "test", "path": "/spec/queueName", "value": "odd"}], JSON_PATCH)
    bare = named(API, "Quota", "play-q", status={"phase": "QuotaEmpty", "epoch": 1})
    yield Ask("PUT", f"{at}/status", bare)
    now = (yield Ask("GET", at)).metadata["resourceVersion"]
    yield Ask("PUT", f"{at}/status", with_metadata(bare, resourceVersion=made["metadata"]["resourceVersion"]))
    yield Ask("PUT", f"{at}/status", with_metadata(bare, resourceVersion=now, uid="another"))
    yield Ask("PUT", f"{at}/status", with_metadata(bare, resourceVersion=now, labels={"a": "b"}))
    now = (yield Ask("GET", at)).metadata["resourceVersion"]
    yield Ask("PUT", f"{at}/status", with_metadata(bare, resourceVersion=now))
    yield Ask("PUT", f"{at}/status", {"metadata": {"name": "play-q", "resourceVersion": now}, "status": {"epoch": 2}})
    yield Ask("PUT", at, {**quota(), "metadata": {"name": "play-q"}})
    yield Ask("PATCH", f"{at}/status", {"metadata": {"uid": "another"}, "status": {"epoch": 2}}, MERGE_PATCH)
    yield Ask("PATCH", f"{at}/status", {"metadata": {"labels": {"a": "b"}}}, MERGE_PATCH)
    for status in ({"epoch": 3, "nodeName": "n"}, {"epoch": 2}, {"epoch": None}, None, {"phase": "Odd"}, {"epoch": 3}):
        yield Ask("PATCH", f"{at}/status", {"status": status}, MERGE_PATCH)
    claims = [{"namespace": "d", "name": f"p{i}", "uid": str(i)} for i in range(257)]
    yield Ask("PATCH", f"{at}/status", {"status": {"tasks": claims}}, MERGE_PATCH)
    yield Ask("PATCH", f"{at}/status", {"status": {"tasks": claims[:3]}}, MERGE_PATCH)
    told = [
        {"type": "Bound", "status": "True", "reason": "R", "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    ]
    yield Ask("PATCH", f"{at}/status", {"status": {"conditions": told * 2}}, MERGE_PATCH)
    said = named(API, "Quota", "play-q", status={"conditions": told})
    yield Ask("PATCH", f"{at}/status", said, APPLY_PATCH, {"fieldManager": "one"})
    said = named(API, "Quota", "play-q", status={"conditions": [{**told[0], "type": "Drifted"}]})
    yield Ask("PATCH", f"{at}/status", said, APPLY_PATCH, {"fieldManager": "two"})
    said = named(API, "Quota", "play-q", status={"epoch": 1})
    yield Ask("PATCH", f"{at}/status", said, APPLY_PATCH, {"fieldManager": "two", "force": "true"})
    yield Ask("DELETE", at)
    yield Ask("PATCH", f"{at}/status", {"status": {}}, MERGE_PATCH)
    yield Ask("PATCH", at, quota(), APPLY_PATCH, {"fieldManager": "one"})
    yield Ask("DELETE", at)


def topologies() -> Play:
    def report(manager: str, **net: Any) -> Ask:
        raw = named(API, "NodeTopology", "play-n", spec={"net": net})
        return Ask("PATCH", f"{TOPOLOGIES}/play-n", raw, APPLY_PATCH, {"fieldManager": manager})

    yield report("agent", roce=[{"name": "eth0", "switchName": "s1"}])
    yield report("collector", ib=[{"name": "ib0", "switchName": "s2"}], roce=[{"name": "eth1", "switchName": "s1"}])
    yield report("collector", ib=[{"name": "ib0", "switchName": "s3"}])
    yield report("other", roce=[{"name": "eth0", "switchName": "s9"}])
    yield report("other", roce=[{"name": "eth0"}])
    yield report("agent")
    yield report("agent", roce=[{"switchName": "s1"}])
    yield Ask("DELETE", f"{TOPOLOGIES}/play-n")


def leases() -> Play:
    def lease(**spec: Any) -> dict[str, Any]:
        return named("coordination.k8s.io/v1", "Lease", "l", spec=spec)

    specs: tuple[dict[str, Any], ...] = (
        {"renewTime": "2026-01-01T00:00:00Z"},
        {"renewTime": "2026-01-01T00:00:00.123Z"},
        {"leaseDurationSeconds": 0},
        {"leaseTransitions": -1},
        {"holderIdentity": 1},
        {"renewTime": "2026-01-01T00:00:00.123456Z", "leaseDurationSeconds": 15, "leaseTransitions": 5},
    )
    for spec in specs:
        yield Ask("POST", LEASES, lease(**spec))
    yield Ask("PUT", f"{LEASES}/l", lease(leaseTransitions=4))
    yield Ask("DELETE", f"{LEASES}/l")
    yield Ask("PUT", f"{LEASES}/l", lease(leaseTransitions=4))
    yield Ask("PUT", f"{LEASES}/l", with_metadata(lease(), resourceVersion="1"))
    yield Ask("DELETE", f"{LEASES}/l")
    yield Ask("PUT", f"{LEASES}/l", with_metadata(lease(), resourceVersion="1"))
    yield Ask("PUT", f"{LEASES}/l", with_metadata(lease(), uid="another"))


def events() -> Play:
    def event(name: str = "e", **more: Any) -> dict[str, Any]:
        said = {
            "eventTime": "2026-01-01T00:00:00.000000Z", "reportingController": "example.com/c",
            "reportingInstance": "i", "action": "Act", "reason": "Because", "type": "Normal", "note": "n",
            "regarding": {"kind": "Pod", "name": "p", "namespace": "play"},
        }  # fmt: skip
        return named("events.k8s.io/v1", "Event", name, **{**said, **more})

    yield Ask("POST", EVENTS, event())
    for said in (
        {"eventTime": None},
        {"reportingController": ""},
        {"reportingInstance": ""},
        {"reportingInstance": "x" * 129},
        {"action": ""},
        {"reason": ""},
        {"reason": "x" * 129},
        {"type": "Odd"},
        {"type": ""},
        {"note": "x" * 1025},
        {"regarding": {"kind": "Pod", "name": "p", "namespace": "other"}},
        {"regarding": {"kind": "Quota", "name": "q", "apiVersion": API}},
        {"series": {"count": 1, "lastObservedTime": "2026-01-01T00:00:00.000000Z"}},
    ):
        yield Ask("POST", EVENTS, event("f", **said))
    series = {"count": 2, "lastObservedTime": "2026-01-01T00:01:00.000000Z"}
    yield Ask("PATCH", f"{EVENTS}/e", {"series": series}, MERGE_PATCH)
    yield Ask("PATCH", f"{EVENTS}/e", {"note": "other"}, MERGE_PATCH)
    yield Ask("PATCH", f"{EVENTS}/e", {"metadata": {"labels": {"a": "b"}}}, MERGE_PATCH)
    core = f"{NAMESPACE}/events"
    yield Ask("GET", f"{core}/e")
    about = {"kind": "Pod", "name": "p", "namespace": "play"}
    yield Ask("POST", core, named("v1", "Event", "c", involvedObject=about, reason="R", message="m", type="Normal"))
    yield Ask("POST", core, named("v1", "Event", "d", involvedObject={**about, "namespace": "other"}))
    yield Ask("PATCH", f"{core}/c", {"count": 2}, MERGE_PATCH)


def nodes_and_classes() -> Play:
    yield Ask("POST", "/api/v1/nodes", named("v1", "Node", "play-n", status={"allocatable": {"cpu": "4"}}))
    yield Ask("GET", "/api/v1/nodes/play-n")
    yield Ask("PATCH", "/api/v1/nodes/play-n", {"spec": {"unschedulable": True}}, STRATEGIC_PATCH)
    yield Ask("PATCH", "/api/v1/nodes/play-n", {"status": {"allocatable": {"cpu": "5"}}}, STRATEGIC_PATCH)
    ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}], "allocatable": {"cpu": "6"}}}
    yield Ask("PATCH", "/api/v1/nodes/play-n/status", ready, STRATEGIC_PATCH)
    yield Ask("PATCH", "/api/v1/nodes/play-n/status", {"metadata": {"labels": {"a": "b"}}}, STRATEGIC_PATCH)
    taints = [{"key": "a", "effect": "NoSchedule"}]
    yield Ask("PATCH", "/api/v1/nodes/play-n", {"spec": {"taints": taints}}, STRATEGIC_PATCH)
    yield Ask("DELETE", "/api/v1/nodes/play-n")

    def priority_class(name: str, **more: Any) -> dict[str, Any]:
        return named("scheduling.k8s.io/v1", "PriorityClass", name, **more)

    yield Ask("POST", CLASSES, priority_class("play-c", value=10))
    yield Ask("POST", CLASSES, priority_class("play-d", value=2_000_000_000))
    yield Ask("POST", CLASSES, priority_class("play-d", value="x"))
    yield Ask("POST", CLASSES, priority_class("system-play", value=1))
    yield Ask("PATCH", f"{CLASSES}/play-c", {"value": 11}, MERGE_PATCH)
    yield Ask("PATCH", f"{CLASSES}/play-c", {"description": "d"}, MERGE_PATCH)
    yield Ask("POST", PODS, a_pod("p", priorityClassName="play-c"))
    yield Ask("DELETE", f"{CLASSES}/play-c")


def namespaces() -> Play:
    yield Ask("POST", "/api/v1/namespaces", named("v1", "Namespace", "a.b"))
    yield Ask("POST", "/api/v1/namespaces", named("v1", "Namespace", "play"))
    yield Ask("DELETE", "/api/v1/namespaces/default")
    yield Ask("DELETE", "/api/v1/namespaces/absent")
    yield Ask("PATCH", NAMESPACE, {"metadata": {"labels": {"a": "b"}}}, MERGE_PATCH)


def lists() -> Play:
    for name in ("a", "b", "c"):
        yield Ask("POST", MAPS, with_metadata(a_map(name), labels={"app": name}))
    for query in (
        {"labelSelector": "app in ("},
        {"labelSelector": "app=a"},
        {"fieldSelector": "data.a=1"},
        {"fieldSelector": "metadata.name"},
        {"fieldSelector": "metadata.name=a"},
        {"limit": "x"},
        {"continue": "nonsense"},
        {"resourceVersion": "x"},
        {"resourceVersion": "99999999"},
        {"resourceVersionMatch": "Exact"},
        {"resourceVersion": "0", "resourceVersionMatch": "Exact"},
        {"resourceVersion": "1", "resourceVersionMatch": "Odd"},
        {"sendInitialEvents": "true"},
        {"watch": "true", "timeoutSeconds": "1", "sendInitialEvents": "true"},
        {"watch": "true", "timeoutSeconds": "1", "resourceVersionMatch": "NotOlderThan"},
        {"watch": "true", "resourceVersion": "x"},
        {"timeout": "3"},
    ):
        yield Ask("GET", MAPS, query=query)
    page = yield Ask("GET", MAPS, query={"limit": "2"})
    yield Ask("GET", MAPS, query={"limit": "2", "continue": page.metadata["continue"]})
    yield Ask("GET", PODS, query={"fieldSelector": "spec.nodeName=,status.phase!=Running"})
    yield Ask("GET", PODS, query={"fieldSelector": "spec.containers=x"})


def watches() -> Play:
    def watch(**query: str) -> Ask:
        return Ask("GET", MAPS, query={"watch": "true", "timeoutSeconds": "1", **query})

    for name in ("a", "b"):
        yield Ask("POST", MAPS, with_metadata(a_map(name), labels={"app": name}))
    version = (yield Ask("GET", MAPS)).metadata["resourceVersion"]
    yield Ask("PATCH", f"{MAPS}/a", {"metadata": {"labels": {"app": "b"}}}, MERGE_PATCH)
    yield Ask("DELETE", f"{MAPS}/b")
    yield watch()
    yield watch(resourceVersion="0")
    yield watch(resourceVersion=version)
    yield watch(resourceVersion=version, labelSelector="app=a")
    yield watch(resourceVersion=version, labelSelector="app=b")
    yield watch(resourceVersion=version, fieldSelector="metadata.name=b")
    yield watch(resourceVersion=str(int(version) + 1_000_000))
    initial = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    yield watch(**initial)
    yield watch(**initial, resourceVersion=version)
    yield watch(sendInitialEvents="true")
    yield watch(resourceVersionMatch="NotOlderThan")
    yield watch(resourceVersion="x")
    yield watch(fieldSelector="data.a=1")


PLAYS = (
    creating, updating, patching, deleting, applying, pods, pod_status, bindings, pod_deletions, evictions, quotas,
    topologies, leases, events, nodes_and_classes, namespaces, lists, watches,
)  # fmt: skip


@pytest.fixture(scope="module")
def real(binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlaneStage]:
    """An API server with nobody in the cluster, and our kinds."""
    with ControlPlane(binaries, tmp_path_factory.mktemp("alone"), parts=()) as started:
        stage = PlaneStage(started)
        for definition in DEFINITIONS.values():
            assert stage.ask(Ask("POST", CRDS, definition)).status == 201
        for plural in DEFINITIONS:
            started.wait_until(partial(started.serves, f"/apis/{API}/{plural}"))
        yield stage


@pytest.fixture
def sandbox() -> SandboxStage:
    stage = SandboxStage()
    for definition in DEFINITIONS.values():
        assert stage.ask(Ask("POST", CRDS, definition)).status == 201
    return stage


@pytest.fixture
def furnished(real: PlaneStage) -> Iterator[PlaneStage]:
    """With a namespace for one play, which needs what a controller would put there and take away."""
    real.ask(Ask("POST", "/api/v1/namespaces", named("v1", "Namespace", "play")))
    real.ask(Ask("POST", f"{NAMESPACE}/serviceaccounts", named("v1", "ServiceAccount", "default")))
    yield real
    real.ask(Ask("DELETE", NAMESPACE))
    for path in (MAPS, PODS, LEASES, EVENTS, BUDGETS):
        real.ask(Ask("DELETE", path, query={"gracePeriodSeconds": "0"}))
    left = real.ask(Ask("GET", NAMESPACE)).body
    real.ask(Ask("PUT", f"{NAMESPACE}/finalize", {**left, "spec": {}}))


@pytest.mark.parametrize("play", PLAYS, ids=lambda play: play.__name__)
def test_both_stages_answer_alike(play: Callable[[], Play], furnished: PlaneStage, sandbox: SandboxStage) -> None:
    sandbox.ask(Ask("POST", "/api/v1/namespaces", named("v1", "Namespace", "play")))
    assert played(sandbox, play) == played(furnished, play)


def test_a_difference_is_seen(furnished: PlaneStage, sandbox: SandboxStage) -> None:
    assert played(sandbox, updating) != played(furnished, updating)  # the sandbox lacks the namespace
