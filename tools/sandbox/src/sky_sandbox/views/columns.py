"""The cells of a table: by JSONPath for kinds that are defined, computed for those whose columns no path can say."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from sky_core.model import Instant
from sky_sandbox.api.kinds import Column, Kind
from sky_sandbox.views.ages import age
from sky_sandbox.views.core_columns import CORE_COLUMNS, Computed, Object
from sky_sandbox.views.json_paths import find

NAME: Final = Column(name="Name", path=".metadata.name")
AGE: Final = Column(name="Age", path=".metadata.creationTimestamp", type="date")


def columns(kind: Kind) -> tuple[Computed, ...]:
    """The columns of a kind, the name first unless the kind has it elsewhere."""
    found = CORE_COLUMNS.get(kind.kept_as) or tuple(map(_by_path, kind.columns or (AGE,)))
    return found if any(one.name == NAME.name for one in found) else (_by_path(NAME), *found)


def _by_path(column: Column) -> Computed:
    def cell(raw: Object, now: Instant) -> Any:
        found = find(column.path, raw)
        return _shown(column.type, found[0], now) if found else None

    return Computed(column.name, cell, column.type, column.wide)


def _shown(kind: str, value: Any, now: Instant) -> Any:
    """A value as the API server puts it into a cell of this type; None where it does not fit."""
    if kind == "date":
        return age(value, now)
    if kind == "string":
        return value if isinstance(value, str) else msgspec.json.encode(value).decode()
    fits = isinstance(value, _CELLS[kind]) and isinstance(value, bool) is (kind == "boolean")
    return (int(value) if kind == "integer" else value) if fits else None


_CELLS: Final[Mapping[str, type | tuple[type, ...]]] = {
    "boolean": bool,
    "integer": (int, float),
    "number": (int, float),
}
