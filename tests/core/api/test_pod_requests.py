"""What a pod requests: the cases of k8s.io/component-helpers' resource helpers, and the API server's defaults."""

from typing import Any

import pytest

from sky_core.api.faults import Invalid
from sky_core.api.identity import key_of
from sky_core.api.pods import PodReading, read
from sky_core.resources import MAX, Resources, parse_resources
from sky_core.settings import Settings
from sky_core.testing.objects import GPU, SPOT, pod

Object = dict[str, Any]
HUGE = "hugepages-2Mi"


def reading(raw: Object) -> PodReading:
    return read(key_of(raw), raw, Settings())


def request(*containers: Object, **spec: Any) -> Resources:
    return reading(pod("p", containers=list(containers), **spec)).task.shape.request


def asks(cpu: object, *, always: bool = False, name: str = "c", **resources: Any) -> Object:
    made: Object = {"name": name, "resources": {"requests": {"cpu": cpu}, **resources}}
    return {**made, "restartPolicy": "Always"} if always else made


def cpu(text: str) -> Resources:
    return parse_resources({"cpu": text})


def test_containers_add_up() -> None:
    assert request(asks("1"), asks("500m")) == cpu("1500m")


def test_init_containers_run_alone() -> None:
    assert request(asks("1"), initContainers=[asks("3"), asks("2")]) == cpu("3")
    assert request(asks("5"), initContainers=[asks("3"), asks("2")]) == cpu("5")


def test_a_sidecar_stays_beside_the_containers() -> None:
    assert request(asks("1"), initContainers=[asks("2", always=True)]) == cpu("3")


def test_a_sidecar_runs_beside_later_init_containers_only() -> None:
    assert request(asks("1"), initContainers=[asks("5"), asks("2", always=True)]) == cpu("5")
    assert request(asks("1"), initContainers=[asks("2", always=True), asks("5")]) == cpu("7")
    assert request(asks("4"), initContainers=[asks("2", always=True), asks("1"), asks("3", always=True)]) == cpu("9")


def test_each_resource_has_its_own_maximum() -> None:
    init = {"resources": {"requests": {"cpu": "4", "memory": "1Gi"}}}
    main = {"resources": {"requests": {"cpu": "1", "memory": "2Gi", GPU: "8"}}}

    assert request(main, initContainers=[init]) == parse_resources({"cpu": "4", "memory": "2Gi", GPU: "8"})


def test_overhead_is_added_to_the_larger() -> None:
    assert request(asks("1"), initContainers=[asks("3")], overhead={"cpu": "250m"}) == cpu("3250m")


def test_a_limit_stands_for_an_absent_request() -> None:
    container = {"resources": {"limits": {GPU: "8", "cpu": "4"}, "requests": {"cpu": "1"}}}

    assert request(container) == parse_resources({GPU: "8", "cpu": "1"})


def test_what_is_asked_for_the_pod_takes_the_place_of_its_containers() -> None:
    pod_level = {"requests": {"cpu": "1", GPU: "4"}, "limits": {"cpu": "9", "memory": "2Gi"}}
    container = {"resources": {"requests": {"cpu": "3", GPU: "2"}}}

    assert request(container, resources=pod_level) == parse_resources({"cpu": "1", GPU: "2", "memory": "2Gi"})


def test_a_limit_of_the_pod_gives_way_to_what_its_containers_request() -> None:
    assert request(asks("3"), resources={"limits": {"cpu": "9"}}) == cpu("3")


def test_a_limit_of_the_pod_gives_way_to_a_request_of_nothing() -> None:
    assert request(asks("0"), resources={"limits": {"cpu": "9"}}) == cpu("0")


def test_hugepages_of_the_pod_take_the_place_of_those_of_its_containers() -> None:
    container = {"resources": {"requests": {"cpu": "1"}, "limits": {HUGE: "2Mi"}}}

    assert request(container, resources={"limits": {HUGE: "8Mi"}}) == parse_resources({"cpu": "1", HUGE: "8Mi"})
    assert request(container, resources={"limits": {"cpu": "9"}}) == parse_resources({"cpu": "1", HUGE: "2Mi"})


@pytest.mark.parametrize(
    ("infeasible", "counted"), [(False, {"cpu": "4", "memory": "2Gi"}), (True, {"cpu": "3", "memory": "1Gi"})]
)
def test_a_resized_pod_counts_as_the_largest_or_if_that_is_infeasible_as_what_there_is(
    infeasible: bool, counted: Object
) -> None:
    status: Object = {
        "resources": {"requests": {"cpu": "2", "memory": "1Gi"}},
        "allocatedResources": {"cpu": "3"},
        "conditions": [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}] if infeasible else [],
    }
    pod_level = {"requests": {"cpu": "4", "memory": "2Gi"}}

    found = reading(pod("p", containers=[asks("1")], resources=pod_level, status=status)).task.shape.request

    assert found == parse_resources(counted)


def test_what_the_status_says_of_a_pod_that_asks_for_nothing_as_such_does_not_count() -> None:
    status = {"resources": {"requests": {"cpu": "9"}}, "allocatedResources": {"cpu": "9"}}

    assert reading(pod("p", containers=[asks("1")], status=status)).task.shape.request == cpu("1")


def test_what_containers_ask_for_is_fixed_for_the_pod_when_it_has_limits() -> None:
    status = {"containerStatuses": [{"name": "c", "resources": {"requests": {"cpu": "4"}}}]}
    made = pod("p", containers=[asks("1")], resources={"limits": {"cpu": "9"}}, status=status)

    assert reading(made).task.shape.request == cpu("1")


def resized(spec: str, in_use: str, allocated: str, *, infeasible: bool = False) -> Resources:
    status: Object = {
        "containerStatuses": [
            {"name": "c", "resources": {"requests": {"cpu": in_use}}, "allocatedResources": {"cpu": allocated}}
        ]
    }
    if infeasible:
        status["conditions"] = [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]
    return reading(pod("p", containers=[asks(spec)], status=status)).task.shape.request


@pytest.mark.parametrize(
    ("spec", "in_use", "allocated", "counted"),
    [("1", "2", "3", "3"), ("1", "3", "2", "3"), ("5", "3", "2", "5"), ("2", "2", "2", "2")],
)  # fmt: skip
def test_a_resized_container_counts_as_the_largest(spec: str, in_use: str, allocated: str, counted: str) -> None:
    assert resized(spec, in_use, allocated) == cpu(counted)


def test_an_infeasible_resize_counts_as_what_there_is() -> None:
    assert resized("9", "2", "3", infeasible=True) == cpu("3")


def test_the_status_of_a_container_that_is_not_resized_in_place_changes_nothing() -> None:
    status = {"containerStatuses": [{"name": "c", "allocatedResources": {"cpu": "9"}}, {"name": "other"}]}

    assert reading(pod("p", containers=[asks("1")], status=status)).task.shape.request == cpu("1")


def test_a_resized_sidecar_counts_and_another_init_container_does_not() -> None:
    status = {
        "initContainerStatuses": [
            {"name": "side", "resources": {"requests": {"cpu": "4"}}},
            {"name": "init", "resources": {"requests": {"cpu": "9"}}},
        ]
    }
    inits = [asks("1", always=True, name="side"), asks("1", name="init")]

    assert reading(pod("p", containers=[asks("1")], initContainers=inits, status=status)).task.shape.request == cpu("5")


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"containers": [asks("1"), asks("-1")]}, "spec.containers[1].resources.requests[cpu]"),
        ({"containers": [{"resources": {"limits": {GPU: "x"}}}]}, f"spec.containers[0].resources.limits[{GPU}]"),
        ({"initContainers": [asks("1e999999999")]}, "spec.initContainers[0].resources.requests[cpu]"),
        ({"overhead": {"cpu": "NaN"}}, "spec.overhead[cpu]"),
        ({"resources": {"requests": {"cpu": ""}}}, "spec.resources.requests[cpu]"),
        ({"containers": [{"resources": {"requests": {"a b": "1"}}}]}, "spec.containers[0].resources.requests"),
        ({"containers": [asks(True)]}, "spec.containers[0].resources.requests[...]"),
        ({"containers": [{"resources": {"requests": {"memory": MAX}}}] * 2}, "spec.containers"),
    ],
)
def test_a_refused_amount_has_its_path(spec: Object, field: str) -> None:
    with pytest.raises(Invalid) as caught:
        reading(pod("p", **spec))

    assert caught.value.field == field


def test_an_exclusive_spot_unit_takes_the_card_behind_it() -> None:
    shape = reading(pod("p", {SPOT: "2", "cpu": "1"})).task.shape

    assert (shape.spot, shape.spot_units) == ("exclusive", 2000)
    assert shape.load == parse_resources({SPOT: "2", "cpu": "1", GPU: "2"})


def test_a_shared_spot_unit_takes_no_card() -> None:
    shape = reading(pod("p", {SPOT: "2"}, notes={"spot-pool": "shared"})).task.shape

    assert (shape.spot, shape.spot_units, shape.load) == ("shared", 2000, shape.request)


@pytest.mark.parametrize(("notes", "more"), [({"spot-pool": "mine"}, {}), ({}, {GPU: "1"})])
def test_a_contradictory_spot_pod_is_refused(notes: dict[str, str], more: dict[str, str]) -> None:
    with pytest.raises(Invalid):
        reading(pod("p", {SPOT: "1", **more}, notes=notes))
