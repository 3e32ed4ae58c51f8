"""A configuration file becomes a policy, or is refused with its path."""

import pytest

from sky_core.api.configuration import API_VERSION, KIND, ConfigurationError, read_configuration
from sky_core.cycle import REGISTRY, default_policy
from sky_core.eviction import Pricing
from sky_core.plugins.topology import Arguments

HEAD = {"apiVersion": API_VERSION, "kind": KIND}


def test_an_empty_configuration_is_the_default_policy() -> None:
    policy = read_configuration(HEAD, REGISTRY)

    assert policy.settings == default_policy().settings
    assert policy.combinations == default_policy().combinations


def test_what_is_written_is_taken() -> None:
    policy = read_configuration(
        {
            **HEAD,
            "schedulerName": "night-shift",
            "period": "500ms",
            "actions": ["allocateJob", "allocateQuota", "bind"],
            "specLabels": ["example.com/card"],
            "spot": {"resource": "example.com/spot", "backedBy": "amd.com/gpu"},
            "rdmaResources": ["rdma/x"],
            "defaultReservation": "10m",
            "maxReservation": "2h",
        },
        REGISTRY,
    )

    settings = policy.settings
    assert (settings.scheduler_name, settings.period, settings.actions[-1]) == ("night-shift", 500_000_000, "bind")
    assert (settings.spec_labels, settings.rdma_resources) == (("example.com/card",), ("rdma/x",))
    assert (settings.spot_resource, settings.spot_backed_by) == ("example.com/spot", "amd.com/gpu")
    assert (settings.default_reservation, settings.max_reservation) == (600 * 10**9, 7200 * 10**9)


def test_named_plugins_alone_are_enabled_in_the_order_given() -> None:
    named = [{"name": "topology", "args": {"ranks": "pack"}}, {"name": "sylas", "args": {"tasks": 7}}, {"name": "gang"}]
    policy = read_configuration({**HEAD, "plugins": named}, REGISTRY)

    assert [enabled.plugin.name for enabled in policy.plugins] == ["topology", "sylas", "gang"]
    assert [enabled.arguments for enabled in policy.plugins] == [Arguments(ranks="pack"), Pricing(tasks=7), None]
    assert policy.combinations["qn.order"].names == ("sylas", "topology")  # the default leaves out who is absent


def test_an_expression_changes_how_answers_combine() -> None:
    policy = read_configuration({**HEAD, "expressions": {"qn.order": "max(binpack, *)"}}, REGISTRY)

    assert policy.combinations["qn.order"].names == ("binpack", "topology", "sylas", "nodeorder")


def test_preemptable_is_another_word_for_reclaimable() -> None:
    policy = read_configuration({**HEAD, "expressions": {"preemptable": "conformance"}}, REGISTRY)

    assert policy.combinations["reclaimable"].names == ("conformance",)


REFUSED = {
    "another version": ({**HEAD, "apiVersion": "v1"}, ("apiVersion",), "expected 'config.scheduling"),
    "another kind": ({"apiVersion": API_VERSION}, ("kind",), "found None"),
    "no mapping": ([HEAD], (), "expected a mapping"),
    "an unknown key": ({**HEAD, "plugin": []}, ("plugin",), "unknown key, expected one of"),
    "a period of nothing": ({**HEAD, "period": "0s"}, ("period",), "more than 0s"),
    "a period that is none": ({**HEAD, "period": "soon"}, ("period",), "not a duration"),
    "a number for a text": ({**HEAD, "schedulerName": 7}, ("schedulerName",), "found int '7', expected a text"),
    "an unknown action": ({**HEAD, "actions": ["preempt"]}, ("actions",), "unknown action 'preempt'"),
    "an unknown plugin": ({**HEAD, "plugins": [{"name": "wat"}]}, ("plugins", 0, "name"), "expected one of jobqueue"),
    "a plugin twice": ({**HEAD, "plugins": [{"name": "gang"}] * 2}, ("plugins", 1, "name"), "named twice"),
    "arguments for none": (
        {**HEAD, "plugins": [{"name": "gang", "args": {}}]},
        ("plugins", 0, "args"),
        "takes no arguments",
    ),
    "an unknown argument": (
        {**HEAD, "plugins": [{"name": "topology", "args": {"rank": "pack"}}]},
        ("plugins", 0, "args"),
        "unknown field",
    ),
    "an argument out of its set": (
        {**HEAD, "plugins": [{"name": "topology", "args": {"ranks": "heap"}}]},
        ("plugins", 0, "args"),
        "Invalid enum value",
    ),
    "an unknown point": (
        {**HEAD, "expressions": {"qn.wat": "*"}},
        ("expressions", "qn.wat"),
        "unknown function point",
    ),
    "two names of one point": (
        {**HEAD, "expressions": {"preemptable": "*", "reclaimable": "*"}},
        ("expressions", "reclaimable"),
        "are one function point",
    ),
    "a key of spot": ({**HEAD, "spot": {"pool": "x"}}, ("spot", "pool"), "expected one of resource, backedBy"),
}


@pytest.mark.parametrize(("document", "path", "fault"), REFUSED.values(), ids=list(REFUSED))
def test_what_is_wrong_is_refused_with_its_path(document: object, path: tuple[str | int, ...], fault: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        read_configuration(document, REGISTRY)

    assert refused.value.path == path
    assert fault in refused.value.fault


def test_a_bad_expression_is_refused_with_line_and_column() -> None:
    text = "sum(binpack,\n    wat)"
    with pytest.raises(ConfigurationError) as refused:
        read_configuration({**HEAD, "expressions": {"qn.order": text}}, REGISTRY)

    assert (refused.value.path, refused.value.line, refused.value.column) == (("expressions", "qn.order"), 2, 5)
    assert "topology, sylas, binpack, nodeorder" in refused.value.fault
