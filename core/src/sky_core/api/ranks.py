"""A task's rank in its job, its role, and its place in reservations (behaviour.md 1 and 8)."""

from collections.abc import Mapping
from typing import Final

import msgspec

from sky_core.api.annotations import NUMBERS, REPLICA_TYPE, TASK_INDEX, TASK_SPEC, field, index
from sky_core.api.faults import Invalid
from sky_core.model import Instant
from sky_core.quantity import shown
from sky_core.selector_text import is_label_value

_FIRST: Final = ("master", "chief", "leader", "launcher")
_ROLES: Final = {role: place for place, role in enumerate(_FIRST)}
_NUMBERED: Final = frozenset(NUMBERS)
_DIGITS_MAX: Final = 63


class Position(msgspec.Struct, frozen=True, gc=False):
    """Where a task stands in its job. `rank` sorts the tasks of a namespace, `place` tells those of a job apart."""

    rank: tuple[object, ...] = ()
    place: str = ""
    role: str = ""


def position(notes: Mapping[str, str], labels: Mapping[str, str], name: str, created: Instant) -> Position:
    """The position of a pod, by its annotations, labels, name and creation. No two ranks of a namespace are equal.

    A task-index comes before all else; two tasks of one index, and whatever else is equal, go by creation and name.

    Raises:
        Invalid: The task-index or the role is malformed.
    """
    role = notes.get(TASK_SPEC) or labels.get(TASK_SPEC) or labels.get(REPLICA_TYPE) or ""
    if role and not is_label_value(role):
        raise Invalid(field(TASK_SPEC), f"{shown(role)} is not a role: at most 63 letters, digits, '-', '_' and '.'")
    number = _number(labels, name)
    if (given := index(notes, TASK_INDEX)) is not None:
        return Position((0, given, "", False, 0, created, name), str(given), role)
    place = name if number is None else f"{role}/{number}"
    by_role = _ROLES.get(role.lower(), len(_FIRST))
    return Position((1, by_role, role, number is None, number or 0, created, name), place, role)


def _number(labels: Mapping[str, str], name: str) -> int | None:
    for key in NUMBERS if not _NUMBERED.isdisjoint(labels) else ():
        if _is_number(text := labels.get(key, "")):
            return int(text)
    text = name.rpartition("-")[2]
    return int(text) if _is_number(text) else None


def _is_number(text: str) -> bool:
    return text.isdecimal() and text.isascii() and len(text) <= _DIGITS_MAX
