"""Our kinds are defined, and objects are held to their definitions."""

from typing import Any

import pytest

from plays import Play, elsewise, get, merge, post, put
from sky_sandbox.testing import named

SKY = "scheduling.infini-ai.com/v1alpha1"
PATHS = {
    "Quota": f"/apis/{SKY}/quotas",
    "Queue": f"/apis/{SKY}/queues",
    "JobQueue": f"/apis/{SKY}/jobqueues",
    "NodeTopology": f"/apis/{SKY}/nodetopologies",
    "PodGroup": f"/apis/{SKY}/namespaces/$ns/podgroups",
}
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GPU = "nvidia.com/gpu"


def terms(*expressions: dict[str, Any]) -> dict[str, Any]:
    required = {"nodeSelectorTerms": [{"matchExpressions": list(expressions)}]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


@pytest.mark.parametrize("kind", PATHS)
def test_the_definition_of_a(play: Play, kind: str) -> None:
    play(get(f"{DEFINITIONS}/{PATHS[kind].rsplit('/', 1)[1]}.scheduling.infini-ai.com"))


@pytest.mark.parametrize("kind", PATHS)
def test_defaults_of_a(play: Play, kind: str) -> None:
    play(post(PATHS[kind], named(SKY, kind, "defaults")), get(f"{PATHS[kind]}/defaults"))


VALID: dict[str, tuple[str, dict[str, Any]]] = {
    "amounts as numbers and texts": ("Quota", {"request": {GPU: 8, "cpu": "1500m", "memory": "1.5Gi", "x": "1e3"}}),
    "no amounts": ("Quota", {"request": {}}),
    "a selector": ("Quota", {"nodeSelector": {"a.b/c": "d", "e": ""}}),
    "tolerations": (
        "Quota",
        {"tolerations": [{"operator": "Exists"}, {"key": "a"}, {"key": "a", "operator": "Equal", "value": "b"}]},
    ),
    "expressions": (
        "Quota",
        terms({"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Gt", "values": ["1"]}),
    ),
    "a queue": ("Queue", {"weight": 3, "priority": -1, "capability": {GPU: "64"}, "state": "Open"}),
    "a label selector": ("Queue", {"namespaceSelector": {"matchLabels": {"a": "b"}}}),
    "members": ("PodGroup", {"minMember": 4, "minTaskMember": {"master": 1, "worker": 3}}),
    "nets": ("NodeTopology", {"net": {"roce": [{"name": "eth0", "switchName": "leaf"}]}}),
    "a big integer": ("Queue", {"priority": 2**31 - 1}),
    "a whole number with a point": ("Queue", {"weight": 3.0}),
}


@pytest.mark.parametrize("what", VALID, ids=lambda what: what.replace(" ", "-"))
def test_it_is_fine_to_have(play: Play, what: str) -> None:
    kind, spec = VALID[what]
    name = f"fine-{what.replace(' ', '-')}"
    play(
        post(PATHS[kind], named(SKY, kind, name, spec=spec), fieldValidation="Strict"),
        get(f"{PATHS[kind]}/{name}"),
    )


WRONG: dict[str, tuple[str, dict[str, Any]]] = {
    "a negative amount": ("Quota", {"request": {GPU: -1}}),
    "a negative text": ("Quota", {"request": {GPU: "-1"}}),
    "a huge exponent": ("Quota", {"request": {GPU: "1e99999999"}}),
    "a broken amount": ("Quota", {"request": {GPU: 1.5}}),
    "a true amount": ("Quota", {"request": {GPU: True}}),
    "a long amount": ("Quota", {"request": {GPU: "1" * 33}}),
    "too many amounts": ("Quota", {"request": {f"r{i}": 1 for i in range(17)}}),
    "a key that is no name": ("Quota", {"request": {"one too many ": 1}}),
    "a long key": ("Quota", {"request": {"k" * 318: 1}}),
    "a selector key that is no name": ("Quota", {"nodeSelector": {"-": "a"}}),
    "a long value": ("Quota", {"nodeSelector": {"key": "x" * 64}}),
    "a value that is no text": ("Quota", {"nodeSelector": {"key": 1}}),
    "a value with exists": ("Quota", {"tolerations": [{"operator": "Exists", "value": "x"}]}),
    "a toleration of nothing": ("Quota", {"tolerations": [{"effect": "NoSchedule"}]}),
    "an unknown effect": ("Quota", {"tolerations": [{"key": "a", "effect": "Sometimes"}]}),
    "no values with in": ("Quota", terms({"key": "a", "operator": "In"})),
    "empty values with in": ("Quota", terms({"key": "a", "operator": "In", "values": []})),
    "values with exists": ("Quota", terms({"key": "a", "operator": "Exists", "values": ["b"]})),
    "no operator": ("Quota", terms({"key": "a"})),
    "no terms": ("Quota", {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}}}),
    "another topology key": ("Quota", {"affinity": {"quotaAffinity": {"required": [{"topologyKey": "rack"}]}}}),
    "a preference of nothing": ("Quota", {"affinity": {"quotaAffinity": {"preferred": [{"weight": 0}]}}}),
    "no queue among those that share it": ("Quota", {"sharedQueues": ["a", None]}),
    "a number as queue": ("Quota", {"queueName": 1}),
    "a long queue": ("Quota", {"queueName": "q" * 254}),
    "a list as spec": ("Quota", []),  # type: ignore[dict-item]
    "no members": ("PodGroup", {"minMember": 0}),
    "a text as members": ("PodGroup", {"minMember": "2"}),
    "negative members": ("PodGroup", {"minTaskMember": {"worker": -1}}),
    "an unknown state": ("Queue", {"state": "Ajar"}),
    "a weight of nothing": ("Queue", {"weight": 0}),
    "a priority beyond 32 bits": ("Queue", {"priority": 2**31}),
    "a label selector without values": (
        "Queue", {"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}
    ),
    "an unknown policy": ("JobQueue", {"policy": "LIFO"}),
    "the same net twice": ("NodeTopology", {"net": {"roce": [{"name": "eth0"}, {"name": "eth0"}]}}),
    "a net without a name": ("NodeTopology", {"net": {"roce": [{"switchName": "leaf"}]}}),
    "two things at once": ("Queue", {"state": "Ajar", "weight": 0}),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG, ids=lambda what: what.replace(" ", "-"))
def test_nobody_may_have(play: Play, what: str) -> None:
    kind, spec = WRONG[what]
    play(post(PATHS[kind], named(SKY, kind, "wrong", spec=spec), "422 Invalid"))


def test_unknown_fields_are_pruned_and_warned_of(play: Play) -> None:
    quotas = PATHS["Quota"]
    spec = {"queueName": "q", "unknown": {"a": 1}, "tolerations": [{"key": "a", "odd": 1}], "nodeSelector": {"b": "c"}}
    play(
        post(quotas, {**named(SKY, "Quota", "pruned", spec=spec), "top": 1}, keep="q"),
        put(f"{quotas}/pruned", {"$": "q", "spec": {"more": 1, "queueName": "r"}}),
        merge(f"{quotas}/pruned", {"spec": {"most": 1}, "metadata": {"odd": 1}}),
        post(quotas, named(SKY, "Quota", "silent", spec=spec), fieldValidation="Ignore"),
        post(quotas, named(SKY, "Quota", "strict", spec=spec), "400 BadRequest", fieldValidation="Strict"),
        get(f"{quotas}/pruned"),
    )


def test_a_null_gives_way_to_the_default(play: Play) -> None:
    quotas = PATHS["Quota"]
    play(
        post(
            quotas,
            named(SKY, "Quota", "nulls", spec={"queueName": None, "staticBindNode": None, "request": {"cpu": None}}),
        ),
        post(quotas, named(SKY, "Quota", "null-spec", spec=None)),
        merge(f"{quotas}/nulls", {"spec": {"queueName": None}}),
    )


def definition(name: str, schema: dict[str, Any], **version: Any) -> dict[str, Any]:
    served = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **version}
    names = {"plural": name, "kind": name.capitalize()}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [served]}
    return named("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"{name}.example.com", spec=spec)


def test_what_the_sandbox_would_have_to_pretend_it_refuses(play: Play) -> None:
    rule = {"rule": "self.a > self.b", "message": "no"}
    integers = {"a": {"type": "integer"}, "b": {"type": "integer"}}
    ruled = {"type": "object", "properties": {"spec": {"type": "object", "properties": integers,
             "x-kubernetes-validations": [rule]}}}  # fmt: skip
    plain = {"type": "object"}
    one_of = {**plain, "properties": {"a": {"type": "string", "oneOf": [{"pattern": "a"}]}}}
    scale = {"scale": {"specReplicasPath": ".spec.a", "statusReplicasPath": ".status.a"}}
    play(
        elsewise("rule", post(DEFINITIONS, definition("ruleds", ruled))),
        elsewise("scale", post(DEFINITIONS, definition("scaleds", plain, subresources=scale))),
        elsewise("word", post(DEFINITIONS, definition("oneofs", one_of))),
    )


def test_a_definition_that_is_none_is_refused(play: Play) -> None:
    wrong_name = definition("things", {"type": "object"})
    wrong_name["metadata"]["name"] = "others.example.com"
    no_kind = definition("things", {"type": "object"})
    del no_kind["spec"]["names"]["kind"]
    play(
        post(DEFINITIONS, wrong_name, "422 Invalid"),
        elsewise("first fault", post(DEFINITIONS, no_kind, "422 Invalid")),
        post(DEFINITIONS, definition("things", {"type": "string"}), "422 Invalid"),
        post(DEFINITIONS, definition("things", {}), "422 Invalid"),
    )


def test_a_definition_is_made_known(play: Play) -> None:
    things = "/apis/example.com/v1/namespaces/$ns/things"
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    }
    play(
        get(things, "404"),
        post(DEFINITIONS, definition("things", schema)),
    )
