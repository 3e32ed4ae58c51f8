"""What an admission rule is given to judge an object by."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import msgspec

from sky_core.model import Instant
from sky_sandbox.api.kinds import Kind
from sky_sandbox.api.refusals import Cause, Refusal, bad_request, invalid
from sky_sandbox.api.storage import Storage

Object: TypeAlias = Mapping[str, Any]


class Case(msgspec.Struct, kw_only=True):
    """One object on its way in. `old` is what it replaces; None for a new one. `warnings` go to the client."""

    kind: Kind
    name: str
    now: Instant
    storage: Storage
    old: Object | None = None
    validation: str = "Warn"
    patching: bool = False
    warnings: list[str] = msgspec.field(default_factory=list)

    def invalid(self, *causes: Cause) -> Refusal:
        """The object is none that its kind allows."""
        return invalid(self.kind.qualified, self.name, causes)

    def invalid_at(self, field: str, why: str, kind: str = "FieldValueInvalid") -> Refusal:
        """One field of the object is wrong."""
        return self.invalid(Cause(field, why, kind))

    def unreadable(self, why: str) -> Refusal:
        """The object is none of its kind at all."""
        kind = self.kind
        return bad_request(f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {why}')


Admit: TypeAlias = Callable[[dict[str, Any], Case], Object]
"""What becomes of an object that comes in: with defaults, or refused."""
