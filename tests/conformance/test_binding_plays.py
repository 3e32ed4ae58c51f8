"""A pod gets its node, and is evicted from it."""

from typing import Any

import pytest

from plays import Play, again, delete, get, merge, post, put
from sky_sandbox.testing import binding, named, pod

PODS = "/api/v1/namespaces/$ns/pods"
BUDGETS = "/apis/policy/v1/namespaces/$ns/poddisruptionbudgets"
OTHER = "8c3ad9a4-0000-4000-8000-000000000000"


def eviction(name: str, **options: Any) -> dict[str, Any]:
    return named("policy/v1", "Eviction", name, **({"deleteOptions": options} if options else {}))


def budget(name: str, **spec: Any) -> dict[str, Any]:
    return named("policy/v1", "PodDisruptionBudget", name, spec={"selector": {"matchLabels": {"app": "a"}}, **spec})


def running(name: str) -> dict[str, Any]:
    """The status of a pod that runs and is ready."""
    return again(name, status={"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]})


def test_a_binding_says_which_pod_it_means(play: Play) -> None:
    play(
        post(PODS, pod("a"), keep="a"),
        post(f"{PODS}/a/binding", binding("a", "n1", uid=OTHER), "409 Conflict"),
        post(f"{PODS}/a/binding", binding("a", "n1", resourceVersion="1"), "409 Conflict"),
        post(f"{PODS}/a/binding", binding("b", "n1"), "400 BadRequest"),
        post(f"{PODS}/a/binding", binding("a", "n1", uid="$a.uid", resourceVersion="$a.resourceVersion")),
        get(f"{PODS}/a"),
    )


def test_a_pod_is_bound_once(play: Play) -> None:
    play(
        post(PODS, pod("a"), keep="a"),
        post(f"{PODS}/a/binding", binding("a", "n1", uid="$a.uid")),
        post(f"{PODS}/a/binding", binding("a", "n1", uid="$a.uid"), "409 Conflict"),
        post(f"{PODS}/a/binding", binding("a", "n2"), "409 Conflict"),
        get(f"{PODS}/a"),
    )


def test_a_binding_that_cannot_be_is_refused(play: Play) -> None:
    play(
        post(f"{PODS}/absent/binding", binding("absent", "n1"), "404 NotFound"),
        post(PODS, pod("a")),
        post(f"{PODS}/a/binding", named("v1", "Binding", "a", target={"kind": "Node"}), "500"),
        post(f"{PODS}/a/binding", named("v1", "Binding", "a", target={"kind": "Pod", "name": "x"}), "500"),
        post(f"{PODS}/a/binding", binding("a", ""), "500"),
        post(f"{PODS}/a/binding", named("v1", "Binding", "a", target={"name": "n1"})),
        get(f"{PODS}/a"),
    )


def test_a_binding_is_tried_without_a_trace(play: Play) -> None:
    play(
        post(PODS, pod("a")),
        post(f"{PODS}/a/binding", binding("a", "n1"), dryRun="All"),
        get(f"{PODS}/a"),
    )


def test_a_pod_that_goes_is_not_bound(play: Play) -> None:
    raw = pod("a")
    raw["metadata"]["finalizers"] = ["example.com/kept"]
    play(
        post(PODS, raw, keep="a"),
        delete(f"{PODS}/a"),
        post(f"{PODS}/a/binding", binding("a", "n1", uid="$a.uid"), "409 Conflict"),
    )


def test_a_gated_pod_is_not_bound_until_its_gates_are_gone(play: Play) -> None:
    raw = pod("a")
    raw["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
    play(
        post(PODS, raw),
        post(f"{PODS}/a/binding", binding("a", "n1"), "409 Conflict"),
        merge(f"{PODS}/a", {"spec": {"schedulingGates": None}}),
        post(f"{PODS}/a/binding", binding("a", "n1")),
        get(f"{PODS}/a"),
    )


def test_a_missing_node_and_a_finished_pod_are_nothing_to_a_binding(play: Play) -> None:
    play(
        post(PODS, pod("a"), keep="a"),
        put(f"{PODS}/a/status", again("a", status={"phase": "Succeeded"})),
        post(f"{PODS}/a/binding", binding("a", "nowhere")),
        get(f"{PODS}/a"),
    )


def test_what_a_binding_is_annotated_with_is_merged_into_the_pod(play: Play) -> None:
    raw = pod("a", annotations={"example.com/mine": "1", "example.com/both": "mine"})
    play(
        post(PODS, raw),
        post(
            f"{PODS}/a/binding",
            binding(
                "a", "n1", annotations={"example.com/theirs": "2", "example.com/both": "theirs"}, labels={"app": "b"}
            ),
        ),
        get(f"{PODS}/a"),
    )


def test_an_eviction_says_which_pod_it_means(play: Play) -> None:
    play(
        post(PODS, pod("a", node="n1"), keep="a"),
        put(f"{PODS}/a/status", running("a")),
        post(f"{PODS}/absent/eviction", eviction("absent"), "404 NotFound"),
        post(f"{PODS}/a/eviction", eviction("b"), "400 BadRequest"),
        post(f"{PODS}/a/eviction", eviction("a", preconditions={"uid": OTHER}), "409 Conflict"),
        post(f"{PODS}/a/eviction", eviction("a", preconditions={"resourceVersion": "1"}), "409 Conflict"),
        get(f"{PODS}/a"),
        post(f"{PODS}/a/eviction", eviction("a", preconditions={"uid": "$a.uid"})),
        get(f"{PODS}/a"),
        post(f"{PODS}/a/eviction", eviction("a", preconditions={"uid": "$a.uid"})),
    )


def test_a_pod_that_waits_or_has_ended_is_evicted_at_once(play: Play) -> None:
    play(
        post(BUDGETS, budget("all", maxUnavailable=0)),
        post(PODS, pod("a")),
        post(f"{PODS}/a/eviction", eviction("a"), dryRun="All"),
        post(f"{PODS}/a/eviction", eviction("a")),
        get(f"{PODS}/a", "404 NotFound"),
        post(PODS, pod("a", node="n1"), keep="a"),
        put(f"{PODS}/a/status", again("a", status={"phase": "Failed"})),
        post(f"{PODS}/a/eviction", eviction("a")),
        get(f"{PODS}/a", "404 NotFound"),
    )


def test_a_budget_that_nobody_has_looked_at_is_in_the_way(play: Play) -> None:
    play(
        post(BUDGETS, budget("fresh", maxUnavailable=1)),
        post(PODS, pod("a", node="n1"), keep="a"),
        put(f"{PODS}/a/status", running("a")),
        post(f"{PODS}/a/eviction", eviction("a"), "429 TooManyRequests"),
        get(f"{PODS}/a"),
    )


def test_a_budget_lets_go_as_many_as_it_allows(play: Play) -> None:
    status = {"observedGeneration": 1, "disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1}
    both = [{**pod(name, node="n1")} for name in ("a", "b")]
    both[1]["metadata"]["labels"] = {"app": "a"}
    play(
        post(BUDGETS, budget("one", minAvailable=1), keep="budget"),
        put(f"{BUDGETS}/one/status", again("budget", status={**status, "expectedPods": 2})),
        post(PODS, both[0], keep="a"),
        post(PODS, both[1], keep="b"),
        put(f"{PODS}/a/status", running("a")),
        put(f"{PODS}/b/status", running("b")),
        post(f"{PODS}/a/eviction", eviction("a", dryRun=["All"])),
        get(f"{BUDGETS}/one"),
        post(f"{PODS}/a/eviction", eviction("a", gracePeriodSeconds=3)),
        get(f"{BUDGETS}/one"),
        get(f"{PODS}/a"),
        post(f"{PODS}/b/eviction", eviction("b"), "429 TooManyRequests"),
        post(f"{PODS}/b/eviction", eviction("b", preconditions={"uid": OTHER}), "429 TooManyRequests"),
        get(f"{PODS}/b"),
    )


@pytest.mark.parametrize(
    "spec",
    [{"minAvailable": 1, "maxUnavailable": 1}, {"minAvailable": "200%"}, {"minAvailable": -1}, {"maxUnavailable": "x"}],
    ids=["both", "too-much", "negative", "no-number"],
)
def test_a_budget_that_is_none(play: Play, spec: dict[str, Any]) -> None:
    play(post(BUDGETS, budget("none", **spec), "422 Invalid"))


def test_a_budget_of_no_labels(play: Play) -> None:
    play(
        post(BUDGETS, budget("none", selector={"matchLabels": {"a b": "c"}}), "422 Invalid"),
        post(BUDGETS, budget("none", selector={"matchLabels": 1}), "400 BadRequest"),
        post(BUDGETS, budget("none", minAvailable=[1]), "400 BadRequest"),
    )


def test_two_budgets_for_one_pod_are_one_too_many(play: Play) -> None:
    play(
        post(BUDGETS, budget("one", maxUnavailable=1)),
        post(BUDGETS, budget("two", maxUnavailable=1)),
        post(PODS, pod("a", node="n1"), keep="a"),
        put(f"{PODS}/a/status", running("a")),
        post(f"{PODS}/a/eviction", eviction("a"), "500"),
    )
