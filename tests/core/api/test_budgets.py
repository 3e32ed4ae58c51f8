from typing import Any

import pytest

from sky_core.api.intake import Intake
from sky_core.settings import Settings
from sky_core.testing.objects import CREATED, budget, pod

Object = dict[str, Any]
APP = {"app": "x"}


def running(name: str, **fields: Any) -> Object:
    return pod(name, on="n", metadata={"labels": APP, **fields})


def allowed(spec: Object, *pods: Object) -> int:
    intake = Intake(Settings())
    for object_ in (budget("b", APP, **spec), *pods):
        intake.put(object_)
    (row,) = intake.world().budgets.values()
    return row.allowed


SEVEN = [running(f"p{i}") for i in range(7)]


@pytest.mark.parametrize(
    ("spec", "count"),
    [
        ({"minAvailable": 5}, 2),
        ({"minAvailable": 9}, 0),
        ({"minAvailable": "50%"}, 3),
        ({"minAvailable": "0%"}, 7),
        ({"minAvailable": "100%"}, 0),
        ({"maxUnavailable": 3}, 3),
        ({"maxUnavailable": 0}, 0),
        ({"maxUnavailable": "30%"}, 3),
        ({"maxUnavailable": "200%"}, 7),
        ({}, 0),
    ],
)
def test_percentages_round_up_as_in_the_disruption_controller(spec: Object, count: int) -> None:
    assert allowed(spec, *SEVEN) == count


def test_only_running_pods_are_healthy_and_only_unfinished_ones_are_expected() -> None:
    others = [
        pod("pending", metadata={"labels": APP}),
        pod("done", on="n", phase="Succeeded", metadata={"labels": APP}),
        running("going", deletionTimestamp=CREATED),
        pod("other", on="n", metadata={"labels": {"app": "y"}}),
    ]

    assert allowed({"minAvailable": 5}, *SEVEN, *others) == 2
    assert allowed({"maxUnavailable": 3}, *SEVEN, *others) == 1


def test_a_budget_covers_its_own_namespace() -> None:
    assert allowed({"minAvailable": 0}, running("a"), pod("b", namespace="b", on="n", metadata={"labels": APP})) == 1


def test_an_empty_selector_covers_every_pod_and_an_absent_one_none() -> None:
    every, none = budget("every", {}, minAvailable=0), budget("none", {}, minAvailable=0)
    del none["spec"]["selector"]
    intake = Intake(Settings())
    for object_ in (every, none, *SEVEN):
        intake.put(object_)

    assert [row.allowed for row in intake.world().budgets.values()] == [7, 0]


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"minAvailable": "half"}, "spec.minAvailable"),
        ({"minAvailable": -1}, "spec.minAvailable"),
        ({"maxUnavailable": "5"}, "spec.maxUnavailable"),
        ({"minAvailable": 1, "maxUnavailable": 1}, "spec"),
        ({"maxUnavailable": 1.5}, "spec.maxUnavailable"),
    ],
)
def test_a_malformed_budget_is_set_aside(spec: Object, field: str) -> None:
    intake = Intake(Settings())
    intake.put(budget("b", APP, **spec))

    assert intake.world().budgets == {}
    assert [fault.field for fault in intake.invalid] == [field]
