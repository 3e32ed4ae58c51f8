"""Parts that objects of many kinds share."""

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from sky_core.selectors import Operator

Amounts: TypeAlias = dict[str, str | int | float]
"""A resource list as it is written: `sky_core.api.amounts` judges the amounts."""

Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Weight = Annotated[int, Meta(ge=1, le=100)]


class OwnerReference(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Who an object goes with."""

    kind: str = ""
    name: str = ""
    uid: str = ""


class ObjectMeta(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """An object's identity and notes. Times are RFC 3339."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    creation_timestamp: str = ""
    deletion_timestamp: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()


class Condition(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """A condition, with the heartbeat that only nodes have."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str = ""
    last_heartbeat_time: str = ""


class LabelRequirement(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One expression of a label selector."""

    key: str
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    values: tuple[str, ...] = ()


class LabelSelector(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """A label selector as objects hold it; all of it must be met."""

    match_labels: dict[str, str] = {}
    match_expressions: tuple[LabelRequirement, ...] = ()


class NodeRequirement(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One expression of a node selector."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()


class NodeSelectorTerm(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """Expressions on labels and on fields, met together."""

    match_expressions: tuple[NodeRequirement, ...] = ()
    match_fields: tuple[NodeRequirement, ...] = ()


class NodeSelector(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """Terms of which one suffices."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class PreferredSchedulingTerm(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A term with its weight."""

    weight: Weight
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """What a pod or a quota asks of nodes."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredSchedulingTerm, ...] = ()


class Toleration(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """A taint that is put up with."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
