"""Amounts of resources as integer vectors, and their text at the edge."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from functools import lru_cache
from typing import Final, Self

import msgspec

from sky_core.quantity import NANO, Format, Quantity, QuantityError, shown

MAX: Final = 2**63 - 1
"""The largest amount of one resource that an object may name, in the unit it is held in."""

UNBOUNDED: Final = 1 << 30
"""The answer of `Resources.slots_in` for a request that nothing limits."""

_LONGEST_NAME = 317  # a DNS subdomain (253), a slash, a label (63)
_BYTE = NANO
_THOUSANDTH = NANO // 1000


class Resources(msgspec.Struct, frozen=True, gc=False):
    """How much of each resource: bytes of memory, ephemeral-storage and hugepages-*, thousandths of all others.

    A resource that is not named counts as 0, and zeros are never stored: make one from foreign numbers with `of`.
    Amounts may be negative, as the room on a node whose device died. The order of `units` means nothing. There is no
    `<`, because two vectors may each exceed the other: ask `fits_in`.
    """

    units: dict[str, int]

    # Else `in` and `for` would ask [0], [1], [2], ... for ever.
    __iter__ = None

    @classmethod
    def of(cls, units: Mapping[str, int]) -> Self:
        """The vector of these amounts, each in its unit."""
        return cls({name: held for name, held in units.items() if held})

    @classmethod
    def total(cls, parts: Iterable[Self]) -> Self:
        """All of these together."""
        units: dict[str, int] = {}
        for part in parts:
            for name, more in part.units.items():
                units[name] = units.get(name, 0) + more
        return cls.of(units)

    def __getitem__(self, name: str) -> int:
        """The amount of one resource, 0 if it is not named."""
        return self.units.get(name, 0)

    def __bool__(self) -> bool:
        """Whether anything is named, be it negative."""
        return bool(self.units)

    def __hash__(self) -> int:
        """By value, as equality: whatever the order of `units`."""
        return hash(frozenset(self.units.items()))

    def __str__(self) -> str:
        """For people, sorted by name: `cpu=500m, nvidia.com/gpu=8`, or `nothing`."""
        return ", ".join(f"{name}={text}" for name, text in render_all(self).items()) or "nothing"

    def __add__(self, other: Resources) -> Resources:
        """Both together."""
        if not (self.units and other.units):
            return self if self.units else other
        units = self.units.copy()
        for name, more in other.units.items():
            if held := units.get(name, 0) + more:
                units[name] = held
            else:
                del units[name]
        return Resources(units)

    def __sub__(self, other: Resources) -> Resources:
        """What is left, negative where `other` has more."""
        if not other.units:
            return self
        units = self.units.copy()
        for name, less in other.units.items():
            if held := units.get(name, 0) - less:
                units[name] = held
            else:
                del units[name]
        return Resources(units)

    def times(self, n: int) -> Resources:
        """This much, `n` times."""
        return Resources({name: held * n for name, held in self.units.items()} if n else {})

    def fits_in(self, room: Resources) -> bool:
        """Whether `room` has every amount named here. What is not named here may be negative there."""
        free = room.units
        for name, needed in self.units.items():  # noqa: SIM110 - all() over a generator takes twice as long
            if needed > free.get(name, 0):
                return False
        return True

    def shortfall(self, room: Resources) -> Resources:
        """What must be added to `room` so that this fits; nothing if it does."""
        free = room.units
        return Resources(
            {name: needed - held for name, needed in self.units.items() if needed > (held := free.get(name, 0))}
        )

    def slots_in(self, room: Resources) -> int:
        """How many times this request, of no negative amounts, fits: 0 to `UNBOUNDED`, which stands for more too."""
        slots = UNBOUNDED
        free = room.units
        for name, needed in self.units.items():
            times = free.get(name, 0) // needed
            if times < slots:
                if times <= 0:
                    return 0
                slots = times
        return slots

    def least(self, other: Resources) -> Resources:
        """The smaller amount of each resource."""
        mine, theirs = self.units, other.units
        return Resources.of({name: min(mine.get(name, 0), theirs.get(name, 0)) for name in mine | theirs})

    def most(self, other: Resources) -> Resources:
        """The larger amount of each resource."""
        mine, theirs = self.units, other.units
        return Resources.of({name: max(mine.get(name, 0), theirs.get(name, 0)) for name in mine | theirs})

    def only(self, names: Container[str]) -> Resources:
        """The amounts of these resources."""
        return Resources({name: held for name, held in self.units.items() if name in names})

    def without(self, names: Container[str]) -> Resources:
        """The amounts of all resources but these."""
        return Resources({name: held for name, held in self.units.items() if name not in names})

    def extended(self) -> Resources:
        """The amounts of all resources but cpu, memory, ephemeral-storage and hugepages-*."""
        return Resources({name: held for name, held in self.units.items() if name != "cpu" and not _in_bytes(name)})

    def share_of(self, total: Resources) -> int:
        """The dominant share in billionths, rounded down; a resource that `total` lacks adds none."""
        share = 0
        whole = total.units
        for name, held in self.units.items():
            if (have := whole.get(name, 0)) > 0 and (part := held * NANO // have) > share:
                share = part
        return share


NOTHING: Final = Resources({})


def amount(name: str, text: object) -> int:
    """One quantity of the resource `name` in its unit: a string, or a JSON number as Kubernetes takes it.

    Finer fractions round up.

    Raises:
        QuantityError: It is neither, not a quantity, negative, or more than `MAX` in its unit.
    """
    match text:
        case str():
            return _held(name, text)
        case float():
            return _held(name, repr(text))
        case bool():
            pass
        case int() if abs(text) <= MAX:
            return _held(name, str(text))
        case int():
            raise QuantityError(f"an integer of {text.bit_length()} bits is out of bounds; allowed are 0 to {MAX}")
    raise QuantityError(f"a value of type {type(text).__name__} is not a quantity; write a string or a number")


def parse_resources(amounts: Mapping[str, object]) -> Resources:
    """The vector that a Kubernetes resource list states.

    Raises:
        QuantityError: One of its names or amounts is unusable; the message names it.
    """
    units = {}
    for name, text in amounts.items():
        if not 0 < len(name) <= _LONGEST_NAME:
            raise QuantityError(
                f"the resource name {shown(name)} has {len(name)} characters; allowed are 1 to {_LONGEST_NAME}"
            )
        try:
            units[name] = amount(name, text)
        except QuantityError as error:
            raise QuantityError(f"{shown(name)}: {error}") from None
    return Resources.of(units)


def render(name: str, units: int) -> str:
    """The canonical Kubernetes text of an amount in its unit, binary for whole KiB up to `MAX`, else decimal.

    Above `MAX` a binary suffix would be read back as `MAX`.
    """
    binary = _in_bytes(name) and units % 1024 == 0 and abs(units) <= MAX
    return Quantity(units * _unit(name), Format.BINARY_SI if binary else Format.DECIMAL_SI).canonical()


def render_all(resources: Resources) -> dict[str, str]:
    """The Kubernetes resource list of a vector, sorted by name."""
    return {name: render(name, held) for name, held in sorted(resources.units.items())}


def _in_bytes(name: str) -> bool:
    return name in {"memory", "ephemeral-storage"} or name.startswith("hugepages-")


def _unit(name: str) -> int:
    """The unit that the resource is held in, in billionths of what Kubernetes counts it in."""
    return _BYTE if _in_bytes(name) else _THOUSANDTH


@lru_cache(maxsize=1 << 12)  # a cluster writes few different amounts, and each many thousand times
def _held(name: str, text: str) -> int:
    unit = _unit(name)
    nano = Quantity.parse(text).nano
    if nano < 0:
        raise QuantityError(f"{shown(text)} is negative; allowed is 0 or more")
    held = -(-nano // unit)
    if held > MAX:
        raise QuantityError(f"{shown(text)} is too much; allowed is at most {render(name, MAX)}")
    return held
