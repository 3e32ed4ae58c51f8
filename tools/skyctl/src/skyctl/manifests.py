"""Kubernetes objects out of files."""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from skyctl.documents import Written, written
from skyctl.faults import Place
from skyctl.files import files

Object = dict[str, Any]

_SKY: Final = "scheduling.infini-ai.com/v1alpha1"
NAMESPACED: Final = {
    ("v1", "Node"): False,
    ("v1", "Pod"): True,
    ("v1", "Namespace"): False,
    ("v1", "PersistentVolume"): False,
    ("v1", "PersistentVolumeClaim"): True,
    ("scheduling.k8s.io/v1", "PriorityClass"): False,
    ("policy/v1", "PodDisruptionBudget"): True,
    (_SKY, "Quota"): False,
    (_SKY, "PodGroup"): True,
    (_SKY, "Queue"): False,
    (_SKY, "JobQueue"): False,
    (_SKY, "NodeTopology"): False,
}
"""The kinds that a simulation knows, by apiVersion and kind, and whether they live in a namespace."""

TIMELINE: Final = ("simulation.scheduling.infini-ai.com/v1alpha1", "Timeline")
_CONFIGURATION: Final = "SchedulerConfiguration"


class Manifests(NamedTuple):
    """What files hold: objects, timelines, and one line for each object of a kind that no simulation knows."""

    objects: list[Object]
    timelines: list[Object]
    skipped: list[str]


def load(paths: Iterable[str]) -> Manifests:
    """The objects in these files and folders, or in standard input, in the order in which they stand there.

    Raises:
        InputError: A file can't be read or is neither YAML nor JSON, a document is no Kubernetes object, or an object
            is given twice.
    """
    found = Manifests([], [], [])
    first: dict[str, Place] = {}
    for file in files(paths):
        for document in written(file):
            kind = _kind(document)
            if kind == TIMELINE:
                found.timelines.append(document.value)
                continue
            if kind not in NAMESPACED:
                found.skipped.append(_skipped(document))
                continue
            identity = _identity(document, namespaced=NAMESPACED[kind])
            if identity in first:
                what = f"{identity} is given twice, first in {first[identity]}; remove one of the two"
                raise document.place.wrong(what)
            first[identity] = document.place
            found.objects.append(document.value)
    return found


def _kind(document: Written) -> tuple[str, str]:
    """The apiVersion and the kind of an object; `("", kind)` where a kind of others has no apiVersion."""
    place, value = document
    if not isinstance(value, dict):
        said = "a list" if isinstance(value, list) else f"{repr(value)[:40]}"
        raise place.wrong(f"{said} is no Kubernetes object; one has apiVersion, kind and metadata.name")
    kind, version = value.get("kind") or "", value.get("apiVersion") or ""
    for field, text in (("kind", kind), ("apiVersion", version)):
        if not isinstance(text, str):
            raise place.wrong(f"{field} is {repr(text)[:40]} and must be text; quote it")
    if not kind:
        raise place.wrong("no Kubernetes object: it has no kind; one has apiVersion, kind and metadata.name")
    if not version and (versions := [known for known, name in NAMESPACED if name == kind]):
        raise place.wrong(f"this {kind} has no apiVersion; write apiVersion: {versions[0]}")
    return version, kind


def _identity(document: Written, *, namespaced: bool) -> str:
    """Kind/name or Kind/namespace/name, for people and to tell objects apart."""
    place, value = document
    kind, meta = value["kind"], value.get("metadata")
    name = meta.get("name") if isinstance(meta, dict) else None
    namespace = meta.get("namespace", "default") if isinstance(meta, dict) else "default"
    if not isinstance(name, str) or not name:
        raise place.wrong(
            f"this {kind} has no metadata.name, or one that is no text; give it a name, quoted if need be"
        )
    if not isinstance(namespace, str):
        raise place.wrong(f"metadata.namespace of {kind}/{name} is no text; quote it")
    return "/".join((kind, *([namespace] if namespaced else []), name))


def _skipped(document: Written) -> str:
    place, value = document
    kind = value["kind"]
    if kind == _CONFIGURATION:
        return f"{place}: skipped: a {kind} is given with --config"
    of = value.get("apiVersion") or "no apiVersion"
    return f"{place}: skipped: a simulation has no use for {kind} ({of})"
