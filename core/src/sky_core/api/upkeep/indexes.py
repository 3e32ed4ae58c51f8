"""Who belongs to what, looked up from the other side."""

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

_K = TypeVar("_K", bound=Hashable)
_M = TypeVar("_M", bound=Hashable)


class Index(Generic[_K, _M]):
    """Members by key. A member may be under several keys; a key without members is not kept."""

    def __init__(self) -> None:
        """Empty."""
        self._members: dict[_K, set[_M]] = {}

    def of(self, key: _K) -> Iterable[_M]:
        """The members under a key, in no order."""
        return self._members.get(key, ())

    def move(self, member: _M, old: Iterable[_K], new: Iterable[_K]) -> None:
        """A member leaves some keys for others; keys that are in both keep it."""
        for key in old:
            members = self._members[key]
            members.discard(member)
            if not members:
                del self._members[key]
        for key in new:
            self._members.setdefault(key, set()).add(member)
