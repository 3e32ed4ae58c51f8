"""Who belongs to what, looked up from the other side."""

from collections.abc import Collection, Hashable, Iterable
from typing import Any, Generic, TypeVar, cast

_K = TypeVar("_K", bound=Hashable)
_M = TypeVar("_M", bound=Hashable)


class Index(Generic[_K, _M]):
    """Members by key. A member may be under several keys; a key without members is not kept."""

    def __init__(self) -> None:
        """Empty."""
        self._members: dict[_K, _M | set[_M]] = {}  # a set is large: one member does without

    def of(self, key: _K) -> Collection[_M]:
        """The members under a key, in no order."""
        members = self._members.get(key)
        if members is None:
            return ()
        return members if isinstance(members, set) else (members,)

    def first(self, key: _K) -> _M | None:
        """The least member under a key; None where there is none."""
        members = self._members.get(key)
        return min(cast(set[Any], members)) if isinstance(members, set) else members

    def move(self, member: _M, old: Iterable[_K], new: Iterable[_K]) -> None:
        """A member leaves some keys for others; keys that are in both keep it."""
        for key in old:
            self._drop(key, member)
        for key in new:
            self._add(key, member)

    def shift(self, member: _M, old: _K | None, new: _K | None) -> None:
        """A member leaves one key for another; None stands for no key."""
        if old == new:
            return
        if old is not None:
            self._drop(old, member)
        if new is not None:
            self._add(new, member)

    def _add(self, key: _K, member: _M) -> None:
        members = self._members.setdefault(key, member)
        if members is member:
            return
        if isinstance(members, set):
            members.add(member)
        elif members != member:
            self._members[key] = {members, member}

    def _drop(self, key: _K, member: _M) -> None:
        members = self._members[key]
        if not isinstance(members, set):
            del self._members[key]
            return
        members.discard(member)
        if len(members) == 1:
            self._members[key] = members.pop()
