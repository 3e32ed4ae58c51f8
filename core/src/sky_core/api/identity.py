"""What an object is called: its key among all objects, and the job that a pod belongs to."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from sky_core.api.faults import Invalid, presentable
from sky_core.model import JobId
from sky_core.quantity import shown

NAMESPACED: Final = frozenset({"Pod", "PodGroup", "PersistentVolumeClaim", "PodDisruptionBudget"})
_DEFAULT_NAMESPACE = "default"
_NAME = re.compile(r"[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?")
_NAME_MAX = 253
_TEXT_MAX = 253
_UID_MAX = 600  # room for a kind, a namespace and a name
_LONE = "pod/"


class Key(NamedTuple):
    """An object among all objects. `namespace` is empty for kinds of the cluster; `name` for an object without one."""

    kind: str
    namespace: str
    name: str

    @property
    def is_proper(self) -> bool:
        """Whether a server could have an object of this key."""
        return is_name(self.name) and (self.kind not in NAMESPACED or is_name(self.namespace))

    def __str__(self) -> str:
        """`Kind/name` or `Kind/namespace/name`, printable whatever the parts are."""
        parts = (self.kind, self.namespace, self.name) if self.namespace else (self.kind, self.name)
        return "/".join(map(presentable, parts))


def key_of(raw: Mapping[str, Any]) -> Key:
    """The key of an object as far as it can be read; an absent namespace is `default`, as for kubectl."""
    kind = _text(raw.get("kind"))
    metadata = raw.get("metadata")
    if not isinstance(metadata, Mapping):
        metadata = {}
    namespace = (_text(metadata.get("namespace")) or _DEFAULT_NAMESPACE) if kind in NAMESPACED else ""
    return Key(kind, namespace, _text(metadata.get("name")))


def is_name(text: str) -> bool:
    """Whether an object can have this name."""
    return len(text) <= _NAME_MAX and _NAME.fullmatch(text) is not None


def name(field: str, text: str) -> str:
    """A name of an object, as Kubernetes writes them: a DNS subdomain.

    Raises:
        Invalid: It is none.
    """
    if not is_name(text):
        raise Invalid(field, f"{shown(text)} is not a name: at most {_NAME_MAX} of a-z, 0-9, '-' and '.'")
    return text


@lru_cache(maxsize=1 << 14)
def shared_name(field: str, text: str) -> str:
    """As `name`, of one that many objects name: it is the same text for all of them."""
    return name(field, text)


def plain(field: str, text: str, longest: int = _TEXT_MAX) -> str:
    """Text that people are shown: not too long, all of it printable.

    Raises:
        Invalid: It is longer, or has control characters.
    """
    if len(text) > longest:
        raise Invalid(field, f"{shown(text)} has {len(text)} characters; allowed are {longest}")
    if not text.isprintable():
        raise Invalid(field, f"{shown(text)} has characters that cannot be printed")
    return text


def is_uid(text: str) -> bool:
    """Whether it can tell objects apart."""
    return 0 < len(text) <= _UID_MAX and text.isprintable()


def uid(key: Key, text: str) -> str:
    """The uid of an object; of one that has none, its kind, namespace and name.

    Raises:
        Invalid: It is too long, or has control characters.
    """
    if not text:
        return str(key)
    if not is_uid(text):
        raise Invalid("metadata.uid", f"{shown(text)} is not a uid")
    return text


def job_id(namespace: str, job: str) -> JobId:
    """The id of a job by its namespace and its name there: a PodGroup's name, or `lone` of a pod's."""
    return JobId(f"{namespace}/{job}")


@lru_cache(maxsize=1 << 14)
def shared_job_id(namespace: str, job: str) -> JobId:
    """As `job_id`, of one that many objects name: it is the same text for all of them."""
    return job_id(namespace, job)


def lone(pod: str) -> str:
    """What the job of a pod without a group is called in its namespace: `pod/name`.

    No name has a slash, so it is no PodGroup's name.
    """
    return _LONE + pod


def job_name(job: JobId) -> str:
    """What the job is called in its namespace: the inverse of `job_id`, for `status.tasks[].job`."""
    return job.partition("/")[2]


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
