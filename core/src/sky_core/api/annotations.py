"""Annotations and labels that the scheduler reads (contracts.md), each parsed strictly."""

import re
from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec

from sky_core.api import identity
from sky_core.api.faults import Invalid
from sky_core.api.instants import duration_at
from sky_core.model import Duration
from sky_core.quantity import shown
from sky_core.selector_text import SelectorError, is_label_value, parse_selector
from sky_core.selectors import Selector
from sky_core.settings import PREFIX

GROUP_NAME: Final = "scheduling.k8s.io/group-name"
QUOTA_NAME: Final = PREFIX + "quota-name"
QUEUE_NAME: Final = PREFIX + "queue-name"
QUOTA_AFFINITY: Final = PREFIX + "quota-affinity"
PREFERRED_QUOTA_AFFINITY: Final = PREFIX + "preferred-quota-affinity"
INHERIT_RESOURCE_FROM: Final = PREFIX + "inherit-resource-from"
RESERVATION_TTL: Final = PREFIX + "reservation-ttl"
TASK_INDEX: Final = PREFIX + "task-index"
ENABLE_TOPOLOGY: Final = PREFIX + "enable-topology-scheduling"
TOPOLOGY_POLICY: Final = PREFIX + "topology-policy"
TOPOLOGY_PATIENCE: Final = PREFIX + "topology-patience"
TOPOLOGY_AFFINITY_KEY: Final = PREFIX + "topology-affinity-key"
REQUIRED_MOUNT_POINTS: Final = PREFIX + "required-mount-points"
SPOT_POOL: Final = PREFIX + "spot-pool"
SPOT_POOLS: Final = PREFIX + "spot-pools"
NODE_INDEX: Final = PREFIX + "node-index"
RDMA_TOPOLOGY_KEY: Final = PREFIX + "rdma-topology-key"
ZONE: Final = PREFIX + "zone"
FABRIC: Final = PREFIX + "fabric"

TASK_SPEC: Final = "volcano.sh/task-spec"
REPLICA_TYPE: Final = "training.kubeflow.org/replica-type"
NUMBERS: Final = (
    "batch.kubernetes.io/job-completion-index",
    "apps.kubernetes.io/pod-index",
    "training.kubeflow.org/replica-index",
    "leaderworkerset.sigs.k8s.io/worker-index",
)
"""Labels that number the pods of a job, in the order in which they are asked."""

_INDEX: Final = re.compile(r"[0-9]{1,9}")
_T = TypeVar("_T")


class Wish(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What a PodGroup or a pod asks for its whole job; None where it says nothing."""

    reservation: Duration | None = None
    topology: bool | None = None
    required: bool | None = None
    patience: Duration | None = None
    affinity_key: str | None = None

    def over(self, other: "Wish") -> "Wish":
        """This one, with what it leaves open taken from another."""
        if self is NO_WISH or other is NO_WISH:
            return other if self is NO_WISH else self
        mine, theirs = msgspec.structs.astuple(self), msgspec.structs.astuple(other)
        parts = (b if a is None else a for a, b in zip(mine, theirs, strict=True))
        return Wish(**dict(zip(self.__struct_fields__, parts, strict=True)))


NO_WISH: Final = Wish()
WISHES: Final = frozenset({RESERVATION_TTL, ENABLE_TOPOLOGY, TOPOLOGY_POLICY, TOPOLOGY_PATIENCE, TOPOLOGY_AFFINITY_KEY})
"""The annotations that a wish is read from."""


def field(key: str) -> str:
    """The path of an annotation."""
    return f"metadata.annotations[{key}]"


_GROUP_FIELD: Final = field(GROUP_NAME)


def wish(notes: Mapping[str, str]) -> Wish:
    """What these annotations ask for the job.

    Raises:
        Invalid: One is malformed.
    """
    if WISHES.isdisjoint(notes):
        return NO_WISH
    key = notes.get(TOPOLOGY_AFFINITY_KEY) or None
    if key is not None and not is_label_value(key):
        raise Invalid(field(TOPOLOGY_AFFINITY_KEY), f"{shown(key)} is not a label's value")
    return Wish(
        reservation=lasting(notes, RESERVATION_TTL),
        topology=choice(notes, ENABLE_TOPOLOGY, {"true": True, "false": False}),
        required=choice(notes, TOPOLOGY_POLICY, {"required": True, "preferred": False}),
        patience=lasting(notes, TOPOLOGY_PATIENCE),
        affinity_key=key,
    )


def index(notes: Mapping[str, str], key: str) -> int | None:
    """An integer of at most 9 ASCII digits, without a sign.

    Raises:
        Invalid: It is none.
    """
    if (text := notes.get(key)) is None:
        return None
    if not _INDEX.fullmatch(text):
        raise Invalid(field(key), f"{shown(text)} is not an index: 1 to 9 of the digits 0-9")
    return int(text)


def lasting(notes: Mapping[str, str], key: str) -> Duration | None:
    """A duration.

    Raises:
        Invalid: It is none.
    """
    return None if (text := notes.get(key)) is None else duration_at(field(key), text)


def choice(notes: Mapping[str, str], key: str, allowed: Mapping[str, _T]) -> _T | None:
    """One of a few words, as what it stands for.

    Raises:
        Invalid: It is another.
    """
    if (text := notes.get(key)) is None:
        return None
    if text not in allowed:
        raise Invalid(field(key), f"{shown(text)} is not one of {', '.join(allowed)}")
    return allowed[text]


def name(notes: Mapping[str, str], key: str) -> str | None:
    """The name of an object; empty text names none.

    Raises:
        Invalid: It is no name.
    """
    return identity.name(field(key), text) if (text := notes.get(key)) else None


def group(notes: Mapping[str, str]) -> str | None:
    """The name of a pod's PodGroup; empty text names none.

    Raises:
        Invalid: It is no name.
    """
    return identity.shared_name(_GROUP_FIELD, text) if (text := notes.get(GROUP_NAME)) else None


def selector(notes: Mapping[str, str], key: str) -> Selector | None:
    """A label selector in kubectl's syntax.

    Raises:
        Invalid: It is none.
    """
    if (text := notes.get(key)) is None:
        return None
    try:
        return parse_selector(text)
    except SelectorError as error:
        raise Invalid(field(key), str(error)) from None
