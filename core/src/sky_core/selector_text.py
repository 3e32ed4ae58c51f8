"""Label selectors as people type them for kubectl: `app=web,tier!=db,env in (dev, test),!canary`."""

import re
from collections.abc import Iterator
from typing import Final

from sky_core.quantity import shown
from sky_core.selectors import Operator, Requirement, Selector

_TEXT_MAX: Final = 4096
_TOKEN: Final = re.compile(r"\s*(==|!=|[=!(),<>]|[^\s=!(),<>]+)")
_SYMBOLS: Final = frozenset({"==", "!=", "=", "!", "(", ")", ",", "<", ">"})
_END: Final = ""

_NAME: Final = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_PREFIX: Final = re.compile(r"[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?")
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,18}")

_COMPARISONS: Final = {
    "=": Operator.IN, "==": Operator.IN, "!=": Operator.NOT_IN, ">": Operator.GT, "<": Operator.LT,
    "in": Operator.IN, "notin": Operator.NOT_IN,
}  # fmt: skip


class SelectorError(ValueError):
    """Text that is no selector: what was found where, and what was expected. For people."""


def parse_selector(text: str) -> Selector:
    """The selector that text in kubectl's syntax stands for, its requirements sorted by key; empty text: everything.

    Raises:
        SelectorError: It is none, or has more than 4096 characters.
    """
    if len(text) > _TEXT_MAX:
        raise SelectorError(f"the selector has {len(text)} characters; allowed are {_TEXT_MAX}")
    tokens = _Tokens(text)
    requirements = []
    if tokens.peek() != _END:
        requirements.append(_requirement(tokens))
        while tokens.peek() != _END:
            tokens.expect(",")
            requirements.append(_requirement(tokens))
    return Selector(tuple(sorted(requirements, key=lambda r: (r.key, r.operator, r.values))))


def is_label_value(text: str) -> bool:
    """Whether it can be a label's value: empty, or at most 63 letters, digits, `-`, `_` and `.`."""
    return not text or _NAME.fullmatch(text) is not None


class _Tokens:
    """The words of a selector, one ahead."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._words = self._split(text)
        self._position, self._next = next(self._words)

    def peek(self) -> str:
        return self._next

    def take(self) -> str:
        taken = self._next
        if taken != _END:
            self._position, self._next = next(self._words)
        return taken

    def expect(self, symbol: str) -> None:
        if self._next != symbol:
            raise self.error(f"expected {symbol!r}")
        self.take()

    def error(self, expected: str) -> SelectorError:
        found = shown(self._next) if self._next else "the end"
        return SelectorError(f"{expected} at character {self._position + 1} of {shown(self._text)}, not {found}")

    @staticmethod
    def _split(text: str) -> Iterator[tuple[int, str]]:
        position = 0
        while match := _TOKEN.match(text, position):
            yield match.start(1), match[1]
            position = match.end()
        yield len(text), _END


def _requirement(tokens: _Tokens) -> Requirement:
    if tokens.peek() == "!":
        tokens.take()
        return Requirement(_key(tokens), Operator.DOES_NOT_EXIST)
    key = _key(tokens)
    if tokens.peek() in {",", _END}:
        return Requirement(key, Operator.EXISTS)
    if (operator := _COMPARISONS.get(tokens.peek())) is None:
        raise tokens.error("expected =, ==, !=, in, notin, < or >")
    if tokens.take() in {"in", "notin"}:
        return Requirement(key, operator, _values(tokens))
    if operator in {Operator.GT, Operator.LT} and not _INTEGER.fullmatch(tokens.peek()):
        raise tokens.error("expected an integer")
    return Requirement(key, operator, (_value(tokens),))


def _key(tokens: _Tokens) -> str:
    prefix, slash, name = tokens.peek().rpartition("/")
    if not _NAME.fullmatch(name) or (slash and not _PREFIX.fullmatch(prefix)):
        raise tokens.error("expected a label's key")
    return tokens.take()


def _values(tokens: _Tokens) -> tuple[str, ...]:
    tokens.expect("(")
    values = {_value(tokens)}
    while tokens.peek() == ",":
        tokens.take()
        values.add(_value(tokens))
    tokens.expect(")")
    return tuple(sorted(values))


def _value(tokens: _Tokens) -> str:
    """A value; none is the empty one, as in `a=` and `a in (x,)`."""
    if tokens.peek() in _SYMBOLS or tokens.peek() == _END:
        return ""
    if not is_label_value(tokens.peek()):
        raise tokens.error("expected a label's value")
    return tokens.take()
