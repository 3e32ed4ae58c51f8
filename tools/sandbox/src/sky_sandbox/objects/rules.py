"""The CEL rules that the sandbox knows, each by its text: it does not evaluate CEL, and refuses any other rule."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from sky_core.simulation.objects import Object, part

Rule: TypeAlias = Callable[[Any], bool]
"""Whether a value is as a rule wants it."""

Transition: TypeAlias = Callable[[Object, Object], bool]
"""Whether an object may become this from that."""

_KEY: Final = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_./]{0,315}[A-Za-z0-9])?", re.ASCII)
_WITHOUT_VALUES: Final = ("Exists", "DoesNotExist")


def _keys_are_names(value: Any) -> bool:
    return all(_KEY.fullmatch(key) for key in value)


def _values_fit_operator(value: Any) -> bool:
    return (value.get("operator") in _WITHOUT_VALUES) != bool(value.get("values"))


def _tolerates_something(value: Any) -> bool:
    return not value.get("value") if value.get("operator") == "Exists" else bool(value.get("key"))


def _epoch_stays(new: Object, old: Object) -> bool:
    before, after = part(old, "status").get("epoch"), part(new, "status").get("epoch")
    return before is None or (after is not None and after >= before)


RULES: Final[Mapping[str, Rule]] = {
    "self.all(key, key.matches('^[A-Za-z0-9]([-A-Za-z0-9_./]{0,315}[A-Za-z0-9])?$'))": _keys_are_names,
    "(self.operator in ['Exists', 'DoesNotExist']) != (has(self.values) && size(self.values) > 0)": (
        _values_fit_operator
    ),
    "has(self.operator) && self.operator == 'Exists' ? !has(self.value) || self.value == '' : "
    "has(self.key) && self.key != ''": _tolerates_something,
}
"""What holds for a value by itself."""

TRANSITIONS: Final[Mapping[str, Transition]] = {
    "!has(oldSelf.status) || !has(oldSelf.status.epoch) || "
    "(has(self.status) && has(self.status.epoch) && self.status.epoch >= oldSelf.status.epoch)": _epoch_stays,
}
"""What holds for a change, at a schema's root: at `.status` a null status would evade it."""
