"""Runs last: what all end-to-end tests together let the scheduler ask for, and what it is granted."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from sky_control_plane import ControlPlane, Right, covers, granted, service_account, used

ROOT = Path(__file__).parents[2]
SCHEDULER = service_account("sky-system", "sky-scheduler").name
PROGRAM = "sky-scheduler/"
"""As the process calls itself; tests that ask under its account call themselves otherwise."""


@pytest.fixture(scope="module")
def asked(plane: ControlPlane, planes: list[ControlPlane]) -> set[Right]:
    return {right for each in planes for right in used(each.audit(), SCHEDULER, PROGRAM)}


@pytest.fixture(scope="module")
def role(plane: ControlPlane) -> set[Right]:
    done = plane.kubectl("kustomize", str(ROOT / "deploy/base/scheduler"))
    objects: list[dict[str, Any]] = list(yaml.safe_load_all(done.stdout))
    return granted(objects)


def test_the_scheduler_asks_for_nothing_that_its_role_does_not_grant(asked: set[Right], role: set[Right]) -> None:
    assert {use for use in asked if not any(covers(right, use) for right in role)} == set()


def test_each_right_of_its_role_is_used(asked: set[Right], role: set[Right], *, is_whole: bool) -> None:
    """Judged only when every other test has run."""
    unused = {right for right in role if not any(covers(right, use) for use in asked)}
    assert unused == set() or not is_whole
