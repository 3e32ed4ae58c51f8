"""What is wrong with an object: which one, where in it, and what. For people."""

from typing import Final

import msgspec

_LONGEST: Final = 400


class Fault(msgspec.Struct, frozen=True, gc=False, order=True):
    """One fault of one object. `object` is `Kind/name` or `Kind/namespace/name`, `field` a path such as `spec.request`.

    Every part is printable, whatever the object held.
    """

    object: str
    field: str
    fault: str

    def __str__(self) -> str:
        """One line."""
        return f"{self.object}: {self.field}: {self.fault}" if self.field else f"{self.object}: {self.fault}"


class Invalid(ValueError):  # noqa: N818  it says what the object is, not what we did wrong
    """An object, or a part of it, cannot be used. It does not say whose: the reader of the whole object does."""

    def __init__(self, field: str, fault: str) -> None:
        """`field` is the path within the object; empty for the object as a whole."""
        super().__init__(f"{field}: {fault}")
        self.field = field
        self.fault = fault

    def under(self, place: str) -> "Invalid":
        """The same, of a field that was named as seen from this place in the object."""
        return Invalid(f"{place}.{self.field}", self.fault)

    def within(self, object_: str) -> Fault:
        """The fault, with the object that it is of."""
        return Fault(object_, presentable(self.field), presentable(self.fault))


def presentable(text: str) -> str:
    """Text that people can be shown: escaped where it can't be printed, cut where it is too long."""
    if not text.isprintable():
        text = ascii(text[:_LONGEST])[1:-1]
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
