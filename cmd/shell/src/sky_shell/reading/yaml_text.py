"""YAML to JSON values, strictly: no duplicate keys, no tags, and bounds that no manifest needs to exceed.

Built from libyaml's events: PyYAML's own loaders make dates and YAML 1.1 booleans, let the last of two equal keys win,
and are slower.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import yaml
from yaml import MarkedYAMLError, events
from yaml.reader import ReaderError

from sky_shell.reading.places import InputError, Place
from sky_shell.reading.scalars import plain_scalar

DEPTH_MAX: Final = 100
REPEATED_MAX: Final = 1_000_000
"""How many values the aliases of a file may repeat: ten nested ones can stand for 10¹⁰."""

_PARSER: Final = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
_TAG: Final = "tag:yaml.org,2002:"
_TAGS: Final = {
    events.ScalarEvent: ("!", f"{_TAG}str"),
    events.SequenceStartEvent: ("!", f"{_TAG}seq"),
    events.MappingStartEvent: ("!", f"{_TAG}map"),
}


class _Anchored(NamedTuple):
    """What an alias stands for: how many values that is, and how many levels below its own."""

    value: Any
    size: int
    height: int


class YamlReader:
    """Reads the documents of one text. `lines` has the first line of each mapping, by its identity."""

    def __init__(self, file: str, text: str) -> None:
        """`file` is for messages."""
        self.lines: dict[int, int] = {}
        self._file = file
        self._text = text
        self._document = 0
        self._size = 0
        self._repeated = 0
        self._deepest = 0
        self._anchors: dict[str, _Anchored] = {}

    def documents(self) -> Iterator[tuple[Place, Any]]:
        """Each document, and where it begins. `lines` is right for as long as the caller keeps the values.

        Raises:
            InputError: It is not YAML, or none that JSON can say.
        """
        try:
            self._next: Callable[[], Any] = _PARSER(self._text).get_event
            while (event := self._next()) is not None:
                if type(event) is events.DocumentStartEvent:
                    self._document += 1
                    self._anchors.clear()
                    self._deepest = 0
                    first: Any = self._next()
                    yield Place(self._file, self._document, first.start_mark.line + 1), self._node(first, 1)
        except MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            tab = "; indent with spaces, not with tabs" if mark and self._text.startswith("\t", mark.index) else ""
            raise self._fault(_sentence(error) + tab, mark) from None
        except ReaderError as error:
            line = self._text.count("\n", 0, error.position) + 1
            place = Place(self._file, self._document + 1, line)
            raise place.wrong(f"not YAML: {error.reason!s}; is it a text file?") from None

    def _node(self, event: Any, depth: int) -> Any:
        kind = type(event)
        if kind is events.AliasEvent:
            return self._aliased(event, depth)
        self._size += 1
        self._descend(depth, event)
        if event.tag is not None and event.tag not in _TAGS[kind]:
            raise self._fault(f"the tag {event.tag} has no meaning here; leave it out", event.start_mark)
        return self._value(event, depth) if event.anchor is None else self._anchored(event, depth)

    def _value(self, event: Any, depth: int) -> Any:
        kind = type(event)
        if kind is events.ScalarEvent:
            return plain_scalar(event.value) if event.implicit[0] and event.tag is None else event.value
        if kind is events.SequenceStartEvent:
            items = []
            while type(item := self._next()) is not events.SequenceEndEvent:
                items.append(self._node(item, depth + 1))
            return items
        mapping = self._mapping(depth)
        self.lines[id(mapping)] = event.start_mark.line + 1
        return mapping

    def _anchored(self, event: Any, depth: int) -> Any:
        size, deepest = self._size, self._deepest
        self._deepest = depth
        value = self._value(event, depth)
        self._anchors[event.anchor] = _Anchored(value, self._size - size + 1, self._deepest - depth)
        self._deepest = max(deepest, self._deepest)
        return value

    def _descend(self, depth: int, event: Any) -> None:
        if depth > self._deepest:
            self._deepest = depth
            if depth > DEPTH_MAX:
                what = f"it is nested more than {DEPTH_MAX} levels deep, which no manifest is"
                raise self._fault(what, event.start_mark)

    def _mapping(self, depth: int) -> dict[str, Any]:
        value: dict[str, Any] = {}
        merged: list[dict[str, Any]] = []
        while type(event := self._next()) is not events.MappingEndEvent:
            key = self._key(event)
            of = self._next()
            if key == "<<" and type(event) is events.ScalarEvent and event.implicit[0]:
                merged += self._merged(self._node(of, depth + 1), of)
                continue
            if key in value:
                raise self._fault(f"the key {key!r} is given twice; keep one of the two", event.start_mark)
            value[key] = self._node(of, depth + 1)
        for source in merged:
            value = source | value
        return value

    def _key(self, event: Any) -> str:
        """A key is text as it is written: JSON has no other."""
        if type(event) is events.ScalarEvent:
            if event.anchor is not None:
                self._anchors[event.anchor] = _Anchored(event.value, 1, 0)
            return str(event.value)
        if type(event) is events.AliasEvent and isinstance(key := self._aliased(event, 0), str):
            return key
        raise self._fault("a key must be text; if this is a template, render it first", event.start_mark)

    def _merged(self, value: Any, event: Any) -> list[dict[str, Any]]:
        sources = value if isinstance(value, list) else [value]
        if all(isinstance(source, dict) for source in sources):
            return sources
        raise self._fault("<< merges mappings, and this is none", event.start_mark)

    def _aliased(self, event: Any, depth: int) -> Any:
        found = self._anchors.get(event.anchor)
        if found is None:
            raise self._fault(f"*{event.anchor} stands for nothing that ends before it", event.start_mark)
        self._descend(depth + found.height, event)
        self._size += found.size
        self._repeated += found.size
        if self._repeated > REPEATED_MAX:
            what = f"the aliases of this file repeat more than {REPEATED_MAX:,} values; write them out, or fewer"
            raise self._fault(what, event.start_mark)
        return found.value

    def _fault(self, what: str, mark: Any) -> InputError:
        line, column = (mark.line + 1, mark.column + 1) if mark else (None, None)
        return Place(self._file, self._document or 1, line, column).wrong(what)


def _sentence(error: MarkedYAMLError) -> str:
    context = error.context or ""
    if context and error.context_mark:
        context += f" from line {error.context_mark.line + 1} on"
    return "not YAML: " + ", ".join(part for part in (context, error.problem or "") if part)
