"""A caller at a new server, with or without our own kinds; and the sandbox around a server, in simulated time."""

import functools
from pathlib import Path
from typing import Any

import pytest
import yaml

from sky_sandbox.testing import Caller

CRDS = Path(__file__).parents[2] / "deploy" / "crds"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
Definitions = dict[str, dict[str, Any]]


@functools.cache
def read_definitions() -> Definitions:
    found = [yaml.load(file.read_text(), yaml.CSafeLoader) for file in sorted(CRDS.glob("*.yaml"))]
    return {one["spec"]["names"]["plural"]: one for one in found if one["kind"] == "CustomResourceDefinition"}


@pytest.fixture
def caller() -> Caller:
    return Caller()


@pytest.fixture
def definitions() -> Definitions:
    """Our definitions by plural."""
    return read_definitions()


@pytest.fixture
def sky(caller: Caller, definitions: Definitions) -> Caller:
    """A caller at a server that has our kinds."""
    for definition in definitions.values():
        assert caller.post(DEFINITIONS, definition).status == 201
    return caller
