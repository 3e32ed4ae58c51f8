"""Hypothesis strategies for what pods may ask of nodes and of each other, and what nodes may hold against them.

All is in Kubernetes' own form, and such that an API server takes it. Names, labels and amounts are few, so that they
meet.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from hypothesis import strategies as st

from sky_core.testing.objects import GPU, Object
from sky_core.testing.themes import HOST

Drawn: TypeAlias = st.SearchStrategy[Any]

NODES: Final = ("n0", "n1", "n2", "n3")
SPACES: Final = {"default": {"team": "red"}, "other": {"team": "blue"}, "third": {}}
HUGE: Final = "hugepages-2Mi"
_HARD: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_NUMBERS: Final = ("5", "10", "007", f"{6:040}", "x", str(2**63 - 1), str(2**63))
_EFFECTS: Final = ("NoSchedule", "NoExecute", "PreferNoSchedule")


def some(needed: Mapping[str, Drawn], optional: Mapping[str, Drawn] | None = None) -> Drawn:
    """An object with these fields, some of them only at times."""
    return st.fixed_dictionaries(dict(needed), optional=dict(optional or {}))


def few(each: Drawn, most: int = 2, **options: Any) -> Drawn:
    """A list of one or more."""
    return st.lists(each, min_size=1, max_size=most, **options)


def of(*values: object) -> Drawn:
    """One of these."""
    return st.sampled_from(values)


def _expressions(values: Mapping[str, Sequence[str]], *, excluding: bool = True) -> Drawn:
    among, there = (("In", "NotIn"), ("Exists", "DoesNotExist")) if excluding else (("In",), ("Exists",))

    def on(key: str) -> Drawn:
        named = some({"key": of(key), "operator": of(*among), "values": few(of(*values[key]))})
        return named | some({"key": of(key), "operator": of(*there)})

    return of(*values).flatmap(on)


# Which pods. A key may not be both in a selector and in matchLabelKeys.
_CHOSEN: Final = {"app": ("x", "y", ""), "tier": ("x", "y")}
_SHARED: Final = {"v": ("1", "2"), "w": ("1", "2")}
POD_LABELS: Final = some({}, {key: of(*values) for key, values in {**_CHOSEN, **_SHARED}.items()})
_PODS: Final = some(
    {}, {"matchLabels": some({}, {"app": of("x", "y")}), "matchExpressions": few(_expressions(_CHOSEN))}
)
_SPACES: Final = some({}, {"matchExpressions": few(_expressions({"team": ("red", "blue")}, excluding=False))})
_OWN: Final = few(of("v", "w"), unique=True)

_AROUND: Final = {"topologyKey": of("zone", "rack", HOST)}
_WHERE: Final = {"namespaces": few(of(*SPACES), unique=True), "namespaceSelector": _SPACES}
_TERM: Final = some(_AROUND, _WHERE) | some(
    {**_AROUND, "labelSelector": _PODS}, {**_WHERE, "matchLabelKeys": _OWN, "mismatchLabelKeys": few(of("app", "tier"))}
)
_TERMS: Final = some({_HARD: few(_TERM)})

_EVENLY: Final = {**_AROUND, "maxSkew": st.integers(1, 2)}
_POLICY: Final = of("Honor", "Ignore")
_HOW: Final = {"nodeAffinityPolicy": _POLICY, "nodeTaintsPolicy": _POLICY, "minDomains": st.integers(1, 4)}
_SPREAD: Final = st.one_of(
    some({**_EVENLY, "whenUnsatisfiable": of("DoNotSchedule")}, _HOW),
    some(
        {**_EVENLY, "whenUnsatisfiable": of("DoNotSchedule"), "labelSelector": _PODS}, {**_HOW, "matchLabelKeys": _OWN}
    ),
    some({**_EVENLY, "whenUnsatisfiable": of("ScheduleAnyway"), "labelSelector": _PODS}),
)
_SPREADS: Final = few(_SPREAD, 3, unique_by=lambda one: (one["topologyKey"], one["whenUnsatisfiable"]))

# Which nodes.
NODE_LABELS: Final = some({}, {"zone": of("a", "b", ""), "rack": of("", *_NUMBERS), "disk": of("ssd")})
_LABELLED: Final = st.one_of(
    _expressions({"zone": ("a", "b", ""), "disk": ("ssd",), HOST: NODES}),
    some({"key": of("rack"), "operator": of("Gt", "Lt"), "values": few(of(*_NUMBERS), 1)}),
)
_NAMED: Final = some({"key": of("metadata.name"), "operator": of("In", "NotIn"), "values": few(of(*NODES), 1)})
_NODE_TERM: Final = some({}, {"matchExpressions": few(_LABELLED), "matchFields": few(_NAMED)})
_NODE_TERMS: Final = some({_HARD: some({"nodeSelectorTerms": few(_NODE_TERM)})})

_KEYS: Final = ("t", "u", "node.kubernetes.io/not-ready")
_TAINTS: Final = few(
    some({"key": of(*_KEYS), "effect": of(*_EFFECTS)}, {"value": of("", "x", *_NUMBERS)}),
    unique_by=lambda taint: (taint["key"], taint["effect"]),
)
_KEY: Final = {"key": of(*_KEYS, "node.kubernetes.io/unschedulable")}
_EFFECT: Final = {"effect": of(*_EFFECTS)}
_TOLERATION: Final = st.one_of(
    some(_KEY, {"operator": of("Equal"), "value": of("", "x", "5"), **_EFFECT}),
    some({"operator": of("Exists")}, {**_KEY, **_EFFECT}),
    some({**_KEY, "operator": of("Gt", "Lt"), "value": of("5", "10")}, _EFFECT),
)

# How much.
_ASKS: Final[tuple[Object, ...]] = (
    {},
    {"requests": {"cpu": "1"}},
    {"requests": {"cpu": "300m", "memory": "1Gi"}},
    {"requests": {"memory": "1G"}, "limits": {"memory": "2Gi", "cpu": "1"}},
    {"requests": {"cpu": "0"}, "limits": {"cpu": "1"}},
    {"limits": {GPU: "1"}},
    {"requests": {GPU: "2", "ephemeral-storage": "1Gi"}, "limits": {GPU: "2"}},
    {"requests": {"memory": "1Gi"}, "limits": {HUGE: "4Mi"}},
)
_POD_LEVEL: Final[tuple[Object, ...]] = (
    {"requests": {"cpu": "8"}},
    {"limits": {"cpu": "8", "memory": "16Gi"}},
    {"requests": {"memory": "16Gi"}, "limits": {"memory": "16Gi", HUGE: "32Mi"}},
)
_AMOUNTS: Final = {
    "cpu": of("0", "1500m", "2", "4", "9"),
    "memory": of("2Gi", "4G", "20Gi"),
    GPU: of("0", "1", "2", "4"),
    HUGE: of("0", "4Mi", "32Mi"),
    "ephemeral-storage": of("1Gi", "2Gi"),
}
_HAS: Final = some({}, {"cpu": of("1", "2", "9"), "memory": of("1Gi", "2Gi")})
_RESIZED: Final = {"resources": some({}, {"requests": _HAS}), "allocatedResources": _HAS}
_PENDING_RESIZE: Final = some(
    {"type": of("PodResizePending"), "status": of("True"), "reason": of("Deferred", "Infeasible")}
)

# Where they listen: containers and init containers on a port of their own, as no two of a pod may share one.
_HEARD: Final = {"protocol": of("TCP", "UDP"), "hostIP": of("", "0.0.0.0", "127.0.0.1", "10.0.0.1", "::")}  # noqa: S104


def _ports(number: int) -> Drawn:
    port = some({"containerPort": of(number)}, {"hostPort": of(number), **_HEARD})
    return few(port, unique_by=lambda one: (one.get("protocol", "TCP"), one.get("hostIP", "")))


class Theme(NamedTuple):
    """What nodes and pods may have beside the plain, where this is what a crowd is about."""

    nodes: Mapping[str, Drawn] = {}
    amounts: Mapping[str, Drawn] = {}
    affinity: Mapping[str, Drawn] = {}
    pods: Mapping[str, Drawn] = {}
    containers: Mapping[str, Drawn] = {}
    inits: Mapping[str, Drawn] = {}
    status: Mapping[str, Drawn] = {}


THEMES: Final = {
    "labels": Theme(
        affinity={"nodeAffinity": _NODE_TERMS},
        pods={"nodeSelector": some({}, {"zone": of("a", ""), "disk": of("ssd")})},
    ),
    "taints": Theme(
        nodes={"taints": _TAINTS, "unschedulable": st.booleans(), "ready": of("False", "Unknown")},
        pods={"tolerations": few(_TOLERATION)},
    ),
    "near": Theme(affinity={"podAffinity": _TERMS}),
    "apart": Theme(affinity={"podAntiAffinity": _TERMS}),
    "even": Theme(pods={"topologySpreadConstraints": _SPREADS}),
    "ports": Theme(
        amounts={"pods": of("0", "1", "2", "3")},
        pods={"hostNetwork": st.booleans()},
        containers={"ports": _ports(80)},
        inits={"ports": _ports(81), "restartPolicy": of("Always")},
    ),
    "room": Theme(
        amounts=_AMOUNTS,
        pods={"resources": of(*_POD_LEVEL), "overhead": of({"cpu": "250.5m"}, {"memory": "512Mi"})},
        containers={"resources": of(*_ASKS)},
        inits={"resources": of(*_ASKS), "restartPolicy": of("Always")},
        status={
            "containerStatuses": few(some({"name": of("c0")}, _RESIZED), 1),
            "initContainerStatuses": few(some({"name": of("i0")}, _RESIZED), 1),
            "conditions": few(_PENDING_RESIZE, 1),
            **_RESIZED,
        },
    ),
}
"""What a crowd may be about. A pod draws on the crowd's themes field by field."""
