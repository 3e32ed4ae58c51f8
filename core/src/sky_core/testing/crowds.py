"""A Hypothesis strategy for nodes with plain pods on them and before them, as manifests that an API server takes.

Of quotas, gangs and volumes there is nothing; of what kube-scheduler's filters look at, all. Each crowd is about a few
themes, so that a pod that is refused for one thing does not always hide what is said of another.
"""

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from hypothesis import strategies as st

from sky_core.testing.objects import CREATED, Object, namespace, node, pod
from sky_core.testing.themes import HOST
from sky_core.testing.wishes import NODE_LABELS, NODES, POD_LABELS, SPACES, THEMES, Drawn, Theme, few, of, some

Crowd: TypeAlias = dict[str, list[Object]]
"""Manifests by `nodes`, `bound` (pods on nodes), `pending` and `namespaces`."""

_ROOMY: Final = {"cpu": "64", "memory": "512Gi", "pods": "110"}
_GONE: Final = "gone"


@st.composite
def crowds(draw: st.DrawFn) -> Crowd:
    """Up to four nodes, half a dozen pods on them or on one that is gone, and one or two that wait."""
    theme = _all(draw(few(of(*THEMES.values()), 3, unique_by=id)))
    names = NODES[: draw(st.integers(1, len(NODES)))]
    return {
        "nodes": [_machine(draw, theme, name) for name in names],
        "bound": [_resident(draw, theme, f"b{i}", (*names, _GONE)) for i in range(draw(st.integers(0, 6)))],
        "pending": [pod(f"p{i}", **_asked(draw, theme)) for i in range(draw(st.integers(1, 2)))],
        "namespaces": [namespace(name, **{_NAME: name, **labels}) for name, labels in SPACES.items()],
    }


_NAME: Final = "kubernetes.io/metadata.name"


def _all(themes: Sequence[Theme]) -> Theme:
    """One theme that is all of them."""
    return Theme(
        *({field: one for theme in themes for field, one in theme[i].items()} for i in range(len(Theme._fields)))
    )


def _drawn(draw: st.DrawFn, fields: Mapping[str, Drawn]) -> Object:
    found: Object = draw(some({}, fields))
    return found


def _machine(draw: st.DrawFn, theme: Theme, name: str) -> Object:
    fields = _drawn(draw, theme.nodes)
    ready = {"type": "Ready", "status": fields.pop("ready", "True"), "lastTransitionTime": CREATED}
    labels = {**draw(NODE_LABELS), **draw(of({HOST: name}, {}))}
    return node(name, {**_ROOMY, **_drawn(draw, theme.amounts)}, labels=labels, conditions=[ready], **fields)


def _resident(draw: st.DrawFn, theme: Theme, name: str, places: Sequence[str]) -> Object:
    """A pod on a node: of whichever scheduler, running, ended or on its way out."""
    asked = _asked(draw, theme)
    phase = draw(of("Running", "Running", "Pending", "Succeeded", "Failed"))
    if draw(of(False, False, True)):
        asked["metadata"]["deletionTimestamp"] = CREATED
    whose, where = draw(of("sky-scheduler", "default-scheduler")), draw(of(*places))
    return pod(name, on=where, scheduler=whose, phase=phase, status=_drawn(draw, theme.status), **asked)


def _asked(draw: st.DrawFn, theme: Theme) -> Object:
    """What a pod is, in the arguments of `objects.pod`."""
    fields = _drawn(draw, theme.pods)
    if theme.affinity:
        fields["affinity"] = _drawn(draw, theme.affinity)
    containers = [_container(draw, theme.containers, "c", i) for i in range(draw(st.integers(1, 2)))]
    inits = [_container(draw, theme.inits, "i", i) for i in range(draw(st.integers(0, 2)) if theme.inits else 0)]
    space, labels = draw(of(*SPACES)), draw(POD_LABELS)
    return {
        "namespace": space,
        "metadata": {"labels": labels},
        "containers": containers,
        "initContainers": inits,
        **fields,
    }


def _container(draw: st.DrawFn, optional: Mapping[str, Drawn], kind: str, number: int) -> Object:
    """Of each kind the first alone listens: no two of a pod may share a port."""
    fields = {field: one for field, one in optional.items() if number == 0 or field != "ports"}
    return {"name": f"{kind}{number}", "image": "i", **_drawn(draw, fields)}
