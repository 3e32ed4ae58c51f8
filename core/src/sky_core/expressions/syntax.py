"""The text of an expression, and the tree that it is read into."""

import re
from collections.abc import Iterator
from typing import ClassVar, Final, NamedTuple, TypeAlias

import msgspec

MAX_LENGTH: Final = 4096
MAX_NESTING: Final = 32


class ExpressionError(ValueError):
    """An expression that is refused.

    `line` and `column` count from 1 in `text`, the expression's own. `message` says what was found there and what was
    expected; `str()` puts the position before it.
    """

    def __init__(self, text: str, offset: int, found: str, expected: str) -> None:
        """Point at `text[offset]`."""
        self.text = text
        self.line = text.count("\n", 0, offset) + 1
        self.column = offset - text.rfind("\n", 0, offset)
        self.message = f"found {found}, expected {expected}"
        super().__init__(f"line {self.line}, column {self.column}: {self.message}")


class Name(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One plugin."""

    name: str
    offset: int


class Star(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """All plugins of the point that the expression does not name, in plugin order."""

    offset: int


class Call(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """An operator over one argument or more."""

    operator: str
    arguments: tuple["Node", ...]
    offset: int


class Weight(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A number times a constant, which is held in thousandths."""

    operator: ClassVar[str] = "weight"

    argument: "Node"
    thousandths: int
    offset: int


Node: TypeAlias = Name | Star | Call | Weight


class Expression(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What `parse` read. The offset of a node is its index in `text`."""

    text: str
    root: Node


class _Token(NamedTuple):
    kind: str  # name, number, end, or the character itself
    text: str
    offset: int


# A number takes along what clings to it, so that "2x" is refused as "2x" and not as a stray "x".
_TOKEN = re.compile(r"(?P<name>[A-Za-z][\w.-]*)|(?P<number>[+-]?[0-9][\w.-]*)|\S", re.ASCII)
_NUMBER = re.compile(r"([+-]?[0-9]+)(?:\.([0-9]{1,3}))?")
_A_NUMBER = "a number with at most three decimals"


def _tokens(text: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(text):
        yield _Token(match.lastgroup or match.group(), match.group(), match.start())
    yield _Token("end", "the end", len(text))


class _Reader:
    """Recursive descent, one token ahead."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _tokens(text)
        self.ahead = next(self.tokens)

    def refuse(self, token: _Token, expected: str) -> ExpressionError:
        found = token.text if token.kind == "end" else repr(token.text)
        return ExpressionError(self.text, token.offset, found, expected)

    def take(self, *kinds: str, expected: str) -> _Token:
        token = self.ahead
        if token.kind not in kinds:
            raise self.refuse(token, expected)
        self.ahead = next(self.tokens, token)
        return token

    def node(self, depth: int = 0) -> Node:
        token = self.take("name", "*", expected="a plugin, an operator or '*'")
        if token.kind == "*":
            return Star(offset=token.offset)
        if self.ahead.kind != "(":
            return Name(name=token.text, offset=token.offset)
        if depth == MAX_NESTING:
            raise self.refuse(token, f"at most {MAX_NESTING} operators inside each other")
        self.take("(", expected="'('")
        rest = self.weight if token.text == Weight.operator else self.call
        return rest(token, depth + 1)

    def call(self, name: _Token, depth: int) -> Call:
        arguments = [self.node(depth)]
        while self.take(",", ")", expected="',' or ')'").kind == ",":
            arguments.append(self.node(depth))
        return Call(operator=name.text, arguments=tuple(arguments), offset=name.offset)

    def weight(self, name: _Token, depth: int) -> Weight:
        argument = self.node(depth)
        self.take(",", expected="',' and a number, as in weight(binpack, 10)")
        number = self.take("number", expected=_A_NUMBER)
        digits = _NUMBER.fullmatch(number.text)
        if digits is None:
            raise self.refuse(number, _A_NUMBER)
        self.take(")", expected="')'")
        whole, decimals = digits.groups(default="")
        return Weight(argument=argument, thousandths=int(whole + decimals.ljust(3, "0")), offset=name.offset)


def parse(text: str) -> Expression:
    """Read an expression; what its names mean is not asked yet.

    Raises:
        ExpressionError: bad syntax, more than `MAX_LENGTH` characters, more than `MAX_NESTING` operators inside
            each other.
    """
    if len(text) > MAX_LENGTH:
        raise ExpressionError(text, MAX_LENGTH, f"{len(text)} characters", f"at most {MAX_LENGTH}")
    reader = _Reader(text)
    root = reader.node()
    reader.take("end", expected="the end")
    return Expression(text=text, root=root)
