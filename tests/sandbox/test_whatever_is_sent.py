"""Whatever is sent, there is an answer, and what is kept can be read, listed, shown and saved."""

from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from sky_sandbox.api.requests import Request
from sky_sandbox.api.server import Server
from sky_sandbox.api.watching import Watch
from sky_sandbox.state import new_server, restored, saved
from sky_sandbox.testing import NODES, PODS, START, binding, named, node, pod
from sky_shell.transport import APPLY_PATCH, JSON, MERGE_PATCH, STRATEGIC_PATCH

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
DEFINITION = named(
    "apiextensions.k8s.io/v1", "CustomResourceDefinition", "things.example.com",
    spec={
        "group": "example.com", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
        "versions": [{
            "name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
            "additionalPrinterColumns": [{"name": "A", "type": "string", "jsonPath": ".spec.a"}],
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "spec": {"type": "object", "properties": {"a": {"type": "string", "default": "b", "maxLength": 3}}},
                "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            }}},
        }],
    },
)  # fmt: skip
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
POD = pod("p", node="n", gpu="1")
POD["spec"] |= {
    "tolerations": [{"key": "a", "operator": "Exists"}], "nodeSelector": {"a": "b"}, "priorityClassName": "",
    "terminationGracePeriodSeconds": 5,
    "initContainers": [
        {"name": "i", "image": "i", "resources": {"limits": {"cpu": "1"}}, "ports": [{"containerPort": 1}]},
    ],
}  # fmt: skip
POD["status"] = {
    "phase": "Running", "startTime": "x", "conditions": [{"type": "Ready", "status": "True"}],
    "containerStatuses": [{"name": "main", "ready": True, "restartCount": 1, "state": {"running": {"reason": "x"}}}],
}  # fmt: skip
POD["metadata"] |= {
    "finalizers": ["example.com/a"], "ownerReferences": [{"apiVersion": "v1", "kind": "a", "name": "b", "uid": "c"}],
}  # fmt: skip
NODE = node("n", cpu="4")
NODE["spec"] = {"taints": [{"key": "a", "effect": "NoSchedule"}], "unschedulable": True}
NODE["status"] |= {"addresses": [{"type": "InternalIP", "address": "a"}], "nodeInfo": {"kubeletVersion": "v"}}
SEEDS: dict[str, dict[str, Any]] = {
    PODS: POD,
    NODES: NODE,
    f"{PODS}/p/binding": binding("p", "n"),
    f"{PODS}/p/eviction": named("policy/v1", "Eviction", "p", deleteOptions={"preconditions": {"uid": "x"}}),
    "/api/v1/namespaces": named("v1", "Namespace", "team"),
    "/api/v1/namespaces/default/configmaps": named("v1", "ConfigMap", "m", data={"a": "b"}),
    "/api/v1/namespaces/default/events": named("v1", "Event", "e", involvedObject={"namespace": "default"}),
    "/apis/events.k8s.io/v1/namespaces/default/events": named("events.k8s.io/v1", "Event", "e", regarding={}, note="n"),
    LEASES: named("coordination.k8s.io/v1", "Lease", "l", spec={"leaseDurationSeconds": 1, "renewTime": "x"}),
    "/apis/scheduling.k8s.io/v1/priorityclasses": named("scheduling.k8s.io/v1", "PriorityClass", "c", value=1),
    "/apis/policy/v1/namespaces/default/poddisruptionbudgets": named(
        "policy/v1", "PodDisruptionBudget", "b", spec={"minAvailable": 1, "selector": {"matchLabels": {"app": "p"}}}
    ),
    CRDS: DEFINITION,
    "/apis/example.com/v1/namespaces/default/things": {
        **named("example.com/v1", "Thing", "t", spec={"a": "x"}),
        "metadata": POD["metadata"] | {"name": "t"},
    },
}
ODD = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 2**70), st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "x", "-1", "1", "$patch", "default", "2026-01-01T00:00:00.000000Z"]), st.just([]), st.just({}),
    st.just([None]), st.just([{}]), st.just({"x": {}}), st.just([[]]), st.just({"": ""}),
)  # fmt: skip
JSON_PATCH = "application/json-patch+json"
MEDIA = [JSON, MERGE_PATCH, STRATEGIC_PATCH, JSON_PATCH, APPLY_PATCH]
QUERY = st.dictionaries(
    st.sampled_from(["dryRun", "fieldValidation", "force", "gracePeriodSeconds", "propagationPolicy"]),
    st.sampled_from(["", "All", "Strict", "true", "5", "-5", "x", "Background"]),
    max_size=2,
)


def paths(value: Any, at: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    found = [at]
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        found += paths(inner, (*at, key))
    return found


def altered(value: Any, at: tuple[str | int, ...], odd: Any) -> Any:
    if not at:
        return odd
    key, *rest = at
    if isinstance(value, dict):
        return {**value, key: altered(value[str(key)], tuple(rest), odd)}
    return [altered(inner, tuple(rest), odd) if index == key else inner for index, inner in enumerate(value)]


@st.composite
def requests(draw: st.DrawFn) -> Request:
    collection = draw(st.sampled_from(sorted(SEEDS)))
    body: Any = SEEDS[collection]
    for _ in range(draw(st.integers(0, 2))):
        body = altered(body, draw(st.sampled_from(paths(body))), draw(ODD))
    method = draw(st.sampled_from(["POST", "POST", "PUT", "PATCH", "DELETE", "GET"]))
    name = SEEDS[collection]["metadata"]["name"]
    path = collection if method == "POST" else f"{collection}/{name}{draw(st.sampled_from(['', '/status']))}"
    media = draw(st.sampled_from(MEDIA)) if method == "PATCH" else JSON
    if media == JSON_PATCH:
        pointer = "/" + "/".join(map(str, draw(st.sampled_from(paths(SEEDS[collection])))))
        operation = draw(st.sampled_from(["add", "replace", "remove", "test", "copy"]))
        body = [{"op": operation, "path": pointer, "from": "/spec", "value": draw(ODD)}]
    query = {"fieldManager": "m", **draw(QUERY)} if method != "GET" else {}
    return Request(method=method, path=path, query=query, content_type=media, body=msgspec.json.encode(body))


def seeded() -> Server:
    server = new_server(START)
    for path in (CRDS, NODES, PODS):
        body = msgspec.json.encode(SEEDS[path])
        assert server.handle(Request(method="POST", path=path, body=body), START)
    return server


@settings(max_examples=100, deadline=None)
@given(st.lists(requests(), min_size=1, max_size=12))
def test_there_is_an_answer(sent: list[Request]) -> None:
    server = seeded()
    for request in sent:
        answer = server.handle(request, START)
        assert not isinstance(answer, Watch)
        assert 200 <= answer.status < 600
        assert answer.status != 201 or msgspec.json.decode(answer.body)["kind"]
    for kind in server.registry:
        base = f"/apis/{kind.api_version}/{kind.plural}" if kind.group else f"/api/v1/{kind.plural}"
        for accept in (JSON, TABLE):
            listed = server.handle(Request(method="GET", path=base, accept=accept), START)
            assert not isinstance(listed, Watch)
            assert listed.status == 200, listed.body
    assert saved(restored(saved(server))) == saved(server)
