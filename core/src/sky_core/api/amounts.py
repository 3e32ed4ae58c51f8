"""Resource lists of objects, each refusal with the path of the amount."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from sky_core.api.faults import Invalid
from sky_core.quantity import QuantityError, shown
from sky_core.resources import MAX, NOTHING, Resources, amount, parse_resources

_NAME_MAX: Final = 317  # a DNS subdomain (253), a slash, a label (63)
_TEXT: Final = {str}
_NAME: Final = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_./]*[A-Za-z0-9])?")


def resources(field: str, amounts: Mapping[str, object]) -> Resources:
    """The vector that a resource list states.

    Raises:
        Invalid: A name or an amount is unusable; its field is `field[name]`.
    """
    if not amounts:
        return NOTHING
    if set(map(type, amounts.values())) != _TEXT:
        return _read(field, amounts)
    try:
        return _known(tuple(amounts.items()))
    except Invalid:
        return _read(field, amounts)  # which says where


@lru_cache(maxsize=1 << 12)
def _known(amounts: tuple[tuple[str, object], ...]) -> Resources:
    """The vector that these texts state: a cluster writes the same few thousands of times."""
    return _read("", dict(amounts))


def _read(field: str, amounts: Mapping[str, object]) -> Resources:
    try:
        found = parse_resources(amounts)
    except QuantityError:
        held(field, amounts)
        raise
    for name in amounts:
        if not _is_name(name):
            raise Invalid(field, f"{shown(name)} is not the name of a resource")
    return found


def held(field: str, amounts: Mapping[str, object]) -> dict[str, int]:
    """Each amount in its unit, zeros kept, sorted by name: of a cap, 0 says something.

    Raises:
        Invalid: As `resources`.
    """
    units = {}
    for name in sorted(amounts):
        if not _is_name(name):
            raise Invalid(field, f"{shown(name)} is not the name of a resource")
        try:
            units[name] = amount(name, amounts[name])
        except QuantityError as error:
            raise Invalid(f"{field}[{name}]", str(error)) from None
    return units


def bounded(field: str, total: Resources) -> Resources:
    """A sum that is within the bounds of one amount, so that it can be written and read back.

    Raises:
        Invalid: It is beyond them.
    """
    for name, units in total.units.items():
        if units > MAX:
            raise Invalid(field, f"the amounts of {name} add up to more than can be held")
    return total


def readable(amounts: object) -> Resources:
    """What can be read of a resource list that may be anything: unusable names and amounts count as absent."""
    units = {}
    for name, text in amounts.items() if isinstance(amounts, Mapping) else ():
        if isinstance(name, str) and _is_name(name):
            try:
                units[name] = amount(name, text)
            except QuantityError:
                continue
    return Resources.of(units)


def _is_name(name: str) -> bool:
    return len(name) <= _NAME_MAX and _is_written_as_one(name)


@lru_cache(maxsize=1 << 10)
def _is_written_as_one(name: str) -> bool:
    return _NAME.fullmatch(name) is not None
