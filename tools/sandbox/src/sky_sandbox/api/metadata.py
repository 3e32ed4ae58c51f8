"""An object's metadata: what a client may say in it, what the server says, and what a write may change."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from sky_core.api.identity import is_name
from sky_core.api.instants import rfc3339
from sky_core.model import SECOND, Instant
from sky_core.selector_text import is_label_value
from sky_core.simulation.objects import Object
from sky_sandbox.api.identities import Identities
from sky_sandbox.api.kinds import Kind
from sky_sandbox.api.refusals import Cause, bad_request, invalid

SAID: Final = ("name", "namespace", "labels", "annotations", "finalizers", "ownerReferences", "generateName")
"""What a client says of a new object."""

MAY_CHANGE: Final = ("labels", "annotations", "finalizers", "ownerReferences")

_FINALIZERS: Final = frozenset({"orphan", "foregroundDeletion", "kubernetes"})
_PREFIXED: Final = frozenset({
    "pods", "nodes", "namespaces", "configmaps", "persistentvolumes", "persistentvolumeclaims",
    "priorityclasses.scheduling.k8s.io",
})  # fmt: skip
"""The kinds whose finalizers must say by their prefix whose they are."""
_ANNOTATIONS_MAX: Final = 256 * 1024
_KEY: Final = re.compile(r"(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_LABEL: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")


def timestamp(now: Instant) -> str:
    """An instant as objects have it: in whole seconds."""
    return rfc3339(whole(now))


def whole(now: Instant) -> Instant:
    """The second that an instant is in."""
    return Instant(now - now % SECOND)


def is_label_name(text: str) -> bool:
    """Whether it is a DNS label, as namespaces and containers are called."""
    return _LABEL.fullmatch(text) is not None


def is_qualified_name(text: str) -> bool:
    """Whether it is a name as keys of labels are: with a prefix or without."""
    return _KEY.fullmatch(text) is not None


def born(kind: Kind, said: Object, identities: Identities, now: Instant) -> dict[str, Any]:
    """The metadata of a new object.

    Raises:
        Refusal: It has no name, or what it says cannot be.
    """
    metadata = {name: said[name] for name in SAID if said.get(name)}
    if not metadata.get("name"):
        if not isinstance(metadata.get("generateName"), str):
            cause = Cause("metadata.name", "name or generateName is required", "FieldValueRequired")
            raise invalid(kind.qualified, "", [cause])
        metadata["name"] = identities.name(metadata["generateName"])
    metadata |= {"uid": identities.uid(), "creationTimestamp": timestamp(now)}
    if kind.counted:
        metadata["generation"] = 1
    elif said.get("generation"):
        metadata["generation"] = said["generation"]
    judge(kind, metadata)
    return metadata


def carried(kind: Kind, old: Object, new: Object) -> dict[str, Any]:
    """The metadata of a changed object: the old one's, with what a client may change.

    Raises:
        Refusal: It changes what it may not, or what it says cannot be.
    """
    metadata = {name: kept for name, kept in old.items() if name not in MAY_CHANGE}
    metadata |= {name: new[name] for name in MAY_CHANGE if new.get(name)}
    judge(kind, metadata)
    if old.get("deletionTimestamp") and set(metadata.get("finalizers", ())) - set(old.get("finalizers", ())):
        why = "Forbidden: no new finalizers can be added if the object is being deleted"
        raise invalid(kind.qualified, old["name"], [Cause("metadata.finalizers", why, "FieldValueForbidden")])
    return metadata


def judge(kind: Kind, metadata: Object) -> None:
    """Judge what a client has said.

    Raises:
        Refusal: It cannot be.
    """
    for name in ("labels", "annotations"):
        texts = metadata.get(name, {})
        if not isinstance(texts, Mapping) or not all(isinstance(text, str) for text in texts.values()):
            raise bad_request(f"json: cannot unmarshal into Go struct field ObjectMeta.metadata.{name} of type string")
    if causes := list(_faults(kind, metadata)):
        raise invalid(kind.qualified, str(metadata["name"]), causes)


def _faults(kind: Kind, metadata: Object) -> Iterator[Cause]:
    name = metadata["name"]
    is_fine = is_label_name if kind.plural == "namespaces" else is_name
    if not isinstance(name, str) or not is_fine(name):
        yield Cause("metadata.name", f'Invalid value: "{name}": a lowercase RFC 1123 subdomain is wanted')
    yield from _faults_of_texts(metadata)
    for index, finalizer in enumerate(metadata.get("finalizers", ())):
        if not is_qualified_name(finalizer):
            yield Cause("metadata.finalizers", f'Invalid value: "{finalizer}": a qualified name is wanted')
        elif kind.kept_as in _PREFIXED and "/" not in finalizer and finalizer not in _FINALIZERS:
            yield Cause(f"metadata.finalizers[{index}]", f'Invalid value: "{finalizer}": name is not fully qualified')
    for reference in metadata.get("ownerReferences", ()):
        for field in ("apiVersion", "kind", "name", "uid"):
            if not reference.get(field):
                yield Cause(f"metadata.ownerReferences.{field}", "must not be empty")


def _faults_of_texts(metadata: Object) -> Iterator[Cause]:
    for key, value in metadata.get("labels", {}).items():
        if not is_qualified_name(key):
            yield Cause("metadata.labels", f'Invalid value: "{key}": name part must consist of alphanumeric characters')
        if not is_label_value(value):
            yield Cause("metadata.labels", f'Invalid value: "{value}": a valid label must be at most 63 characters')
    annotations = metadata.get("annotations", {})
    for key in annotations:
        if not is_qualified_name(key.lower()):
            yield Cause("metadata.annotations", f'Invalid value: "{key}": name part must consist of alphanumerics')
    if sum(len(key) + len(text.encode()) for key, text in annotations.items()) > _ANNOTATIONS_MAX:
        why = f"Too long: may not be more than {_ANNOTATIONS_MAX} bytes"
        yield Cause("metadata.annotations", why, "FieldValueTooLong")
