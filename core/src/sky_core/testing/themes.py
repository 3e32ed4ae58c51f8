"""What may be odd about a small cluster, by theme: each example draws on a few, so that what is odd meets itself."""

from typing import Any, Final, TypeVar

from hypothesis import strategies as st

from sky_core.settings import PREFIX
from sky_core.testing.objects import GPU, HCA, Object

T = TypeVar("T")

NAMES: Final = ("n0", "n1", "n2", "n3", "n4", "edge")
SPEC: Final = f"{PREFIX}spec"
ZONE: Final = f"{PREFIX}zone"
ASKS: Final[tuple[Object, ...]] = (
    {GPU: "1"},
    {GPU: "1", HCA: "1"},
    {GPU: "2"},
    {GPU: "2", HCA: "2"},
    {GPU: "1", "cpu": "2"},
    {"cpu": "1"},
    {},
)
OFFERS: Final[tuple[Object, ...]] = (
    {GPU: "1", HCA: "1"},
    {GPU: "2", HCA: "2"},
    {GPU: "2"},
    {GPU: "4", HCA: "4"},
    {GPU: "2", HCA: "2", "cpu": "4"},
    {"cpu": "2"},
)
HOST: Final = "kubernetes.io/hostname"
_PREFERS_DISK: Final = {
    "preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 3, "preference": {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}},
        {"weight": 4, "preference": {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}},
    ]
}
_NEEDS_DISK: Final = {
    "requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "disk", "operator": "Exists"}]}]
    }
}
_TOLERATES: Final = [{"key": "dedicated", "operator": "Exists"}]
_PORT: Final = [{"containerPort": 80, "hostPort": 80}]


def _taint(effect: str, key: str = "dedicated") -> Object:
    return {"key": key, "effect": effect}


_WORN: Final = _taint("PreferNoSchedule", "worn")


def _term(key: str = HOST, app: str = "x") -> Object:
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}


def _requires(key: str) -> Object:
    return {"requiredDuringSchedulingIgnoredDuringExecution": [_term(key)]}


def _prefers(key: str, weight: int) -> Object:
    return {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": weight, "podAffinityTerm": _term(key)}]}


THEMES: Final[dict[str, dict[str, tuple[Any, ...]]]] = {
    "crowded nodes": {"node.cards": (1, 2, 8), "node.cpu": ("3",), "node.pods": ("2", "3"), "pod.ports": (_PORT,)},
    "unfit nodes": {"node.ready": ("False",), "node.unschedulable": (True,)},
    "taints": {
        "node.taints": ([_taint("NoSchedule")], [_taint("PreferNoSchedule")], [_taint("PreferNoSchedule"), _WORN]),
        "quota.tolerations": (_TOLERATES,),
        "pod.tolerations": (_TOLERATES,),
    },
    "kinds of cards": {
        "node.spec": ("h100", ""),
        "quota.selector": ({SPEC: "a100"}, {SPEC: "h100"}),
        "pod.selector": ({SPEC: "a100"},),
    },
    "zones": {
        "node.zone": ("roce#s2", "roce#s2", "ib#t1", ""),
        "node.index": ("1", "7"),
        "gang.topology": ("true", "false"),
        "gang.policy": ("required", "preferred"),
        "gang.patience": ("3s",),
        "gang.kin": ("k",),
    },
    "disks": {
        "node.disk": ("ssd", "hdd"),
        "node.mount": (True,),
        "quota.affinity": ({"nodeAffinity": _PREFERS_DISK}, {"nodeAffinity": _NEEDS_DISK}),
        "pod.affinity": ({"nodeAffinity": _PREFERS_DISK}, {"nodeAffinity": _NEEDS_DISK}),
        "pod.selector": ({"disk": "ssd"},),
        "pod.mounts": ("m1",),
    },
    "pods near and apart": {
        "app": ({"app": "x"},),
        "pod.affinity": (
            {"podAntiAffinity": _requires(HOST)},
            {"podAntiAffinity": _requires(ZONE)},
            {"podAffinity": _requires(ZONE)},
            {"podAffinity": _prefers(ZONE, 3), "podAntiAffinity": _prefers(HOST, 2)},
        ),
        "pod.spread": (
            [{**_term(), "maxSkew": 1}],
            [{**_term(ZONE), "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}],
        ),
    },
    "quotas near and apart": {
        "app": ({"app": "x"},),
        "quota.affinity": (
            {"quotaAntiAffinity": {"required": [_term()]}},
            {"quotaAntiAffinity": {"required": [_term(ZONE)]}},
            {"quotaAffinity": {"required": [_term()]}},
            {"quotaAffinity": {"required": [_term(app="y")]}},
            {"quotaAffinity": {"preferred": [{"weight": 3, **_term(ZONE)}]}},
        ),
        "pod.wants": ("app=x",),
        "pod.prefers": ("app=x",),
    },
    "queues": {
        "queue": ({"state": "Closed"}, {"capability": {GPU: "2"}}, {"priority": 1}),
        "lane": ({"maxRunningJobs": 1}, {"policy": "StrictFIFO"}),
        "quota.queue": ("a",),
        "quota.shared": (["a"], ["default"]),
        "gang.queue": ("a", "a", "nowhere"),
    },
    "priorities": {"pod.priority": ("high",), "gang.priority": ("high",)},
    "parts of gangs": {
        "gang.least": (1, 2, 5),
        "gang.roles": ({"worker": 1}, {"master": 1, "worker": 1}),
        "pod.role": ("worker", "master"),
        "pod.index": ("0", "3"),
        "pod.gates": ([{"name": "wait"}],),
        "pod.requests": ASKS,
    },
    "named quotas": {"pod.quota": ("q-0", "q-9"), "quota.static": NAMES[:3]},
    "what is there": {
        "pod.fate": ("claims", "claims", "runs", "runs", "strays", "leaves"),
        "quota.shadow": ({GPU: "2"},),
    },
    "lost places": {
        "pod.fate": ("runs", "leaves", "ended", "lost", "lost"),
        "pod.inherits": ("g-0",),
        "gang.kept": ("20s",),
    },
    "spot": {
        "node.spot": ('{"shared": 1, "exclusive": 3}', '{"shared": 0, "exclusive": 4}'),
        "gang.spot": ("1", "2"),
        "pod.fate": ("strays", "strays"),
        "budget": ({"maxUnavailable": 0}, {"maxUnavailable": 1}),
    },
}
"""What may be otherwise than usual, and how; each example draws on a few themes."""


class Whims:
    """One example's choice of themes, and whether each object follows them."""

    def __init__(self, draw: st.DrawFn) -> None:
        """Draws the themes."""
        self.draw = draw
        self._odd: dict[str, tuple[Any, ...]] = {}
        for theme in draw(st.lists(st.sampled_from(list(THEMES)), max_size=5, unique=True)):
            for what, values in THEMES[theme].items():
                self._odd[what] = (*self._odd.get(what, ()), *values)

    def __call__(self, what: str, usual: T) -> T:
        """The usual value, or as often an odd one."""
        odd = self._odd.get(what, ())
        chosen: T = self.draw(st.sampled_from([usual] * len(odd) + [*odd])) if odd else usual
        return chosen

    def of(self, *values: T) -> T:
        """One of these."""
        return self.draw(st.sampled_from(values))

    def upto(self, most: int, least: int = 0) -> int:
        """A number."""
        return self.draw(st.integers(least, most))
