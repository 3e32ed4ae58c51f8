"""An expression that fits its function point, ready to be bound to the functions of plugins."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from sky_core.expressions.operators import DEFAULT_OPERATOR, NEUTRAL, OPERATORS, Ask, Kind
from sky_core.expressions.syntax import Call, Expression, ExpressionError, Name, Node, Star, Weight

_MODEST: Final = 10**9
"""How many scores of a plugin, times a weight in thousandths, fit into 64 bits without a doubt."""


class Combination(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """How the plugins of one function point answer together.

    `names` are the plugins that are asked, in the order in which they first are. Who is absent counts for nothing: a
    call that is left without arguments is left out of the call around it, and the whole without any is neutral.
    """

    kind: Kind
    root: Node
    names: tuple[str, ...]
    rest: tuple[str, ...]

    @property
    def operators(self) -> frozenset[str]:
        """What its parts are combined with."""
        return frozenset(node.operator for node in _nodes(self.root) if isinstance(node, Call | Weight))

    @property
    def additive(self) -> bool:
        """Whether it only weighs and adds, by weights that keep scores within 64 bits: then it takes columns too."""
        return self.operators <= {"sum", "weight"} and self._reach(self.root) <= _MODEST

    @property
    def rising(self) -> bool:
        """Whether it does not fall where none of its parts does."""
        weights = [node.thousandths for node in _nodes(self.root) if isinstance(node, Weight)]
        return min(weights, default=0) >= 0

    def _reach(self, node: Node) -> float:
        """How many times the largest score of a plugin the whole may come to."""
        match node:
            case Weight(argument=argument, thousandths=thousandths):
                return self._reach(argument) * abs(thousandths) / 1000
            case Call(arguments=arguments):
                return sum(map(self._reach, arguments))
            case Star():
                return len(self.rest)
            case Name():
                return 1

    def bind(self, functions: Mapping[str, Ask], mark: Callable[[str, Any], Any] | None = None) -> Ask:
        """One function that asks the plugins and combines their answers as `Kind` says.

        Args:
            functions: The function of each plugin in `names`; it is passed the positional arguments of the whole.
            mark: Makes of a plugin's name and its refusal what stands for them in a verdict; without it, the refusal.
        """
        operators = OPERATORS[self.kind]

        def leaf(name: str) -> Ask:
            function = functions[name]
            return _verdict(name, function, mark) if self.kind is Kind.VERDICT else function

        def parts(node: Node) -> list[Ask]:
            match node:
                case Name(name=name):
                    return [leaf(name)] if name in self.names else []
                case Star():
                    return [leaf(name) for name in self.rest]
                case Weight(operator=operator, thousandths=thousandths):
                    return [operators[operator](part, thousandths) for part in parts(node.argument)]
                case Call(operator=operator):
                    asked = [part for argument in node.arguments for part in parts(argument)]
                    return [operators[operator](asked)] if len(asked) > 1 else asked

        neutral = NEUTRAL[self.kind]
        return next(iter(parts(self.root)), lambda *_: neutral)


def _verdict(name: str, function: Ask, mark: Callable[[str, Any], Any] | None) -> Ask:
    def ask(*about: Any) -> tuple[Any, ...]:
        refusal = function(*about)
        if refusal is None:
            return ()
        return (refusal if mark is None else mark(name, refusal),)

    return ask


def _nodes(node: Node) -> Iterator[Node]:
    """A node and all below it, in the order of the text."""
    yield node
    match node:
        case Weight(argument=argument):
            yield from _nodes(argument)
        case Call(arguments=arguments):
            for argument in arguments:
                yield from _nodes(argument)


def compile_expression(
    expression: Expression, kind: Kind, point: str, names: Sequence[str], *, strict: bool
) -> Combination:
    """Fit an expression to a function point.

    `*` stands for its plugins wherever it stands: `weight(*, 2)` weighs each. Where nothing encloses it, the default
    operator of the type does.

    Args:
        expression: What `parse` read.
        kind: The type of the point.
        point: Its name, for the messages.
        names: The plugins that answer there, in plugin order.
        strict: Refuse a name that is not in `names`, as for what a configuration writes; else leave it out, as for
            the expressions in `DEFAULTS`.

    Raises:
        ExpressionError: An operator that the type does not have, or an unknown name if `strict`; the first in the text.
    """
    nodes = tuple(_nodes(expression.root))
    for node in nodes:
        match node:
            case Name(name=name) if strict and name not in names:
                expected = f"a plugin that answers at {point}: {', '.join(names) or 'none is enabled'}"
                raise ExpressionError(expression.text, node.offset, repr(name), expected)
            case Call(operator=operator) | Weight(operator=operator) if operator not in OPERATORS[kind]:
                expected = f"an operator over {kind.value}s, as {point} has them: {', '.join(OPERATORS[kind])}"
                raise ExpressionError(expression.text, node.offset, repr(operator), expected)
    named = {node.name for node in nodes if isinstance(node, Name)}
    rest = tuple(name for name in names if name not in named)
    asked: list[str] = []
    for node in nodes:
        match node:
            case Name(name=name) if name in names:
                asked.append(name)
            case Star():
                asked.extend(rest)
    root = Call(operator=DEFAULT_OPERATOR[kind], arguments=(expression.root,), offset=0)
    return Combination(kind=kind, root=root, names=tuple(dict.fromkeys(asked)), rest=rest)
