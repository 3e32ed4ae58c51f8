"""One object for equal ones, of kinds that are compared by identity."""

from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

from msgspec.structs import astuple

from sky_core.model import QuotaSpec, Shape

_T = TypeVar("_T")
_FEW = 1024


class Interner(Generic[_T]):
    """Gives the same object for equal values; forgets those that are out of use."""

    def __init__(self, value: Callable[[_T], Hashable]) -> None:
        """`value` says what makes two objects equal."""
        self._value = value
        self._known: dict[Hashable, _T] = {}
        self._enough = _FEW

    def one(self, found: _T) -> _T:
        """The object that stands for this one and its equals."""
        return self._known.setdefault(self._value(found), found)

    @property
    def crowded(self) -> bool:
        """Whether it has grown so much that `keep` is worth its while."""
        return len(self._known) > self._enough

    def keep(self, used: Iterable[_T]) -> None:
        """Forget all but these."""
        self._known = {self._value(one): one for one in used}
        self._enough = max(2 * len(self._known), _FEW)


def shape_value(shape: Shape) -> Hashable:
    """What makes two shapes equal: all of it."""
    return astuple(shape)


def spec_value(spec: QuotaSpec) -> Hashable:
    """What makes two quota specs equal: all of it."""
    return tuple(
        tuple(sorted(spec.labels.items())) if name == "labels" else part
        for name, part in zip(spec.__struct_fields__, astuple(spec), strict=True)
    )
