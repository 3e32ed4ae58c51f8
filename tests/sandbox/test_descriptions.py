"""What kubectl asks of the API itself: versions, groups, kinds, OpenAPI; and JSONPath and ages in tables."""

import pytest

from sky_core.api.instants import instant
from sky_sandbox.testing import NODES, PODS, Caller, named, node, pod
from sky_sandbox.views.ages import span
from sky_sandbox.views.json_paths import find
from sky_shell.transport import JSON, MERGE_PATCH

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


def test_it_says_which_kubernetes_it_behaves_as(caller: Caller) -> None:
    assert caller.get("/version").body["gitVersion"].startswith("v1.36.")
    assert caller.get("/readyz").text == "ok"


def test_groups_and_kinds_are_listed(sky: Caller) -> None:
    assert sky.get("/api").body["versions"] == ["v1"]
    groups = [group["name"] for group in sky.get("/apis").body["groups"]]
    assert groups == [
        "coordination.k8s.io", "events.k8s.io", "scheduling.k8s.io", "policy", "apiextensions.k8s.io",
        "scheduling.infini-ai.com",
    ]  # fmt: skip
    assert sky.get("/apis/policy").body["preferredVersion"]["groupVersion"] == "policy/v1"
    listed = {one["name"]: one for one in sky.get("/apis/scheduling.infini-ai.com/v1alpha1").body["resources"]}
    assert listed["quotas"]["shortNames"] == ["qo"]
    assert listed["quotas"]["namespaced"] is False
    assert listed["quotas/status"]["verbs"] == ["get", "patch", "update"]
    core = {one["name"]: one for one in sky.get("/api/v1").body["resources"]}
    assert core["pods/eviction"]["group"] == "policy"
    assert core["resourcequotas"]["verbs"] == ["get", "list", "watch"]
    assert sky.get("/apis/absent/v1").status == 404


def test_openapi_says_that_the_server_validates_and_what_quotas_are(sky: Caller) -> None:
    index = sky.get("/openapi/v3").body["paths"]
    url = index["apis/scheduling.infini-ai.com/v1alpha1"]["serverRelativeURL"]
    document = sky.get(url.partition("?")[0]).body
    patch = document["paths"]["/apis/scheduling.infini-ai.com/v1alpha1/quotas/{name}"]["patch"]
    assert "fieldValidation" in [one["name"] for one in patch["parameters"]]
    assert patch["x-kubernetes-group-version-kind"]["kind"] == "Quota"
    schema = document["components"]["schemas"]["com.infini-ai.scheduling.v1alpha1.Quota"]
    assert "queueName" in schema["properties"]["spec"]["properties"]
    assert sky.get("/openapi/v2").status == 404  # as JSON, which no kubectl asks for


def test_a_changed_kind_has_a_changed_address(sky: Caller) -> None:
    def address() -> str:
        paths = sky.get("/openapi/v3").body["paths"]
        return str(paths["apis/scheduling.infini-ai.com/v1alpha1"]["serverRelativeURL"])

    before = address()
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    sky.delete(f"{definitions}/queues.scheduling.infini-ai.com")
    assert address() != before


def cells(caller: Caller, path: str) -> list[list[object]]:
    return [row["cells"] for row in caller.get(path, accept=TABLE).body["rows"]]


def test_pods_and_nodes_are_shown_as_kubectl_shows_them(caller: Caller) -> None:
    caller.post(NODES, node("n"))
    caller.patch(f"{NODES}/n", {"metadata": {"labels": {"node-role.kubernetes.io/gpu": ""}}}, MERGE_PATCH)
    caller.patch(f"{NODES}/n", {"spec": {"unschedulable": True}}, MERGE_PATCH)
    assert cells(caller, NODES) == [
        ["n", "Unknown,SchedulingDisabled", "gpu", "0s", "", "<none>", "<none>", *["<unknown>"] * 3]
    ]
    caller.post(PODS, pod("p"))
    assert cells(caller, PODS) == [["p", "0/1", "Pending", "0", "0s", *["<none>"] * 4]]
    gated = pod("q")
    gated["spec"]["schedulingGates"] = [{"name": "g"}]
    caller.post(PODS, gated)
    assert cells(caller, PODS)[1][2] == "SchedulingGated"
    status = {"phase": "Failed", "reason": "OutOfcpu"}
    caller.patch(f"{PODS}/p/status", {"status": status}, MERGE_PATCH)
    assert cells(caller, PODS)[0][2] == "OutOfcpu"


def test_events_and_budgets_are_shown(caller: Caller) -> None:
    about = {"kind": "Pod", "name": "p", "namespace": "default"}
    said = {"type": "Normal", "reason": "Because", "message": "m", "lastTimestamp": "2026-01-01T00:00:00Z"}
    caller.post("/api/v1/namespaces/default/events", named("v1", "Event", "e", involvedObject=about, **said))
    caller.now = instant("2026-01-01T03:00:00Z")
    assert cells(caller, "/api/v1/namespaces/default/events") == [
        ["3h", "Normal", "Because", "pod/p", "", "", "m", "<unknown>", 1, "e"]
    ]
    budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    caller.post(budgets, named("policy/v1", "PodDisruptionBudget", "b", spec={"maxUnavailable": 1}))
    assert cells(caller, budgets) == [["b", "N/A", "1", 0, "0s"]]


def test_the_first_form_that_the_server_has_is_taken(caller: Caller) -> None:
    assert caller.get(NODES, accept=f"application/vnd.kubernetes.protobuf,{TABLE}").body["kind"] == "Table"
    assert caller.get(NODES, accept=f"application/json;as=Table;v=v2;g=meta.k8s.io,{JSON}").body["kind"] == "NodeList"
    assert caller.get(NODES, accept="application/yaml").status == 501
    caller.post(NODES, node("n"))
    row = caller.get(NODES, accept=TABLE, includeObject="Object").body["rows"][0]
    assert row["object"]["kind"] == "Node"
    row = caller.get(NODES, accept=TABLE, includeObject="None").body["rows"][0]
    assert row["object"] is None


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".a.b", [1]),
        (".absent.b", []),
        ("['dotted.key/x']", [2]),
        (r"['dotted\.key/x']", [2]),
        (r".dotted\.key/x", [2]),
        (".list[0].v", [3]),
        (".list[-1].v", [4]),
        (".list[*].v", [3, 4]),
        ('.list[?(@.t=="two")].v', [4]),
        (".a.*", [1]),
    ],
)
def test_a_json_path_leads_where_kubernetes_leads(path: str, found: list[object]) -> None:
    raw = {"a": {"b": 1}, "dotted.key/x": 2, "list": [{"t": "one", "v": 3}, {"t": "two", "v": 4}]}
    assert find(path, raw) == found


def test_a_json_path_beyond_that_is_refused() -> None:
    with pytest.raises(ValueError, match="no step"):
        find("..a", {})


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"), (-1, "0s"), (0, "0s"), (119, "119s"), (120, "2m"), (150, "2m30s"), (600, "10m"),
        (10_799, "179m"), (10_800, "3h"), (11_100, "3h5m"), (28_800, "8h"), (172_799, "47h"),
        (172_800, "2d"), (180_000, "2d2h"),
        (691_200, "8d"), (63_072_000, "2y"), (70_000_000, "2y80d"), (252_288_000, "8y"),
    ],
)  # fmt: skip
def test_ages_are_written_as_kubectl_writes_them(seconds: int, text: str) -> None:
    assert span(seconds) == text
