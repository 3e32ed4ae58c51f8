"""A configuration, compiled: which plugins are enabled with which arguments, and how their answers combine."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Self

import msgspec

from sky_core.expressions import DEFAULTS, POINTS, Combination, compile_expression, parse
from sky_core.memory import Memory
from sky_core.model import Instant
from sky_core.plugin import Context, Functions, Parcel, Plugin, Sieve, registered
from sky_core.resources import NOTHING
from sky_core.settings import Settings
from sky_core.status import JobQueueStatus
from sky_core.world import World


class Enabled(msgspec.Struct, frozen=True):
    """A plugin with its arguments."""

    plugin: Plugin
    arguments: msgspec.Struct | None

    @classmethod
    def by_default(cls, plugin: Plugin) -> Self:
        """The plugin with the arguments that it has where the configuration gives none."""
        return cls(plugin, plugin.arguments() if plugin.arguments is not None else None)

    def open(self, context: Context) -> Functions:
        """What it registers in a session."""
        return self.plugin.open(context, self.arguments)


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """What a cycle decides by. `lenient`: a defect of ours fails its job's attempt, else it is raised."""

    settings: Settings
    plugins: tuple[Enabled, ...]
    combinations: Mapping[str, Combination]
    lenient: bool = False


def compile_policy(
    settings: Settings, plugins: Sequence[Enabled], expressions: Mapping[str, str], *, lenient: bool = False
) -> Policy:
    """Fit the expressions to what the plugins register.

    Args:
        settings: What the configuration says about the cluster.
        plugins: In tier order.
        expressions: Point → text, for the points where the default does not hold.
        lenient: See `Policy`.

    Raises:
        ExpressionError: An expression does not parse, or does not fit its point.
    """
    bare = Context(world=World(), memory=Memory(), settings=settings, now=Instant(0), frees=lambda _: NOTHING)
    answers = {enabled.plugin.name: registered(enabled.open(bare)) for enabled in plugins}
    combinations = {}
    for point, kind in POINTS.items():
        names = [name for name, functions in answers.items() if point in functions]
        text = expressions.get(point)
        combinations[point] = compile_expression(
            parse(DEFAULTS[point] if text is None else text), kind, point, names, strict=text is not None
        )
    return Policy(settings=settings, plugins=tuple(plugins), combinations=combinations, lenient=lenient)


def reconcile(policy: Policy, world: World) -> dict[str, JobQueueStatus]:
    """What the enabled plugins' controllers want written, by JobQueue."""
    controllers = (enabled.plugin.reconcile for enabled in policy.plugins)
    return {name: status for each in controllers if each is not None for name, status in each(world).items()}


class Points:
    """The function points of one session: each combined when it is first asked for."""

    def __init__(self, policy: Policy) -> None:
        """Nothing is open yet."""
        self._policy = policy
        self._functions: dict[str, dict[str, Callable[..., Any]]] = {}
        self.order_spans = False
        self._sieves: dict[str, Callable[[Parcel], Sieve | Literal[True] | None] | None] = {}
        self._bound: dict[str, Callable[..., Any]] = {}

    def open(self, context: Context) -> None:
        """Open every plugin; it precomputes what it wants for the session."""
        for enabled in self._policy.plugins:
            functions = enabled.open(context)
            self._functions[enabled.plugin.name] = registered(functions)
            self._sieves[enabled.plugin.name] = functions.qn.sieve
            self.order_spans |= functions.qn.order_spans

    def names(self, point: str) -> tuple[str, ...]:
        """The plugins that are asked at a point."""
        return self._policy.combinations[point].names

    def sieves(self, parcel: Parcel) -> tuple[Sieve, ...] | None:
        """The quick yes of all plugins that are asked about a node; None where one of them can't tell."""
        found: list[Sieve] = []
        for name in dict.fromkeys((*self.names("qn.select"), *self.names("qn.predicate"))):
            make = self._sieves[name]
            sieve = make(parcel) if make is not None else None
            if sieve is None:
                return None
            if sieve is not True:
                found.append(sieve)
        return tuple(found)

    def __getitem__(self, point: str) -> Callable[..., Any]:
        """The function of a point: asks the enabled plugins as the expression says."""
        if point not in self._bound:
            combination = self._policy.combinations[point]
            self._bound[point] = combination.bind({n: self._functions[n][point] for n in combination.names})
        return self._bound[point]
