"""A configuration, compiled: which plugins are enabled with which arguments, and how their answers combine."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property, cmp_to_key
from typing import Any, Final, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from sky_core.expressions import DEFAULTS, POINTS, Combination, compile_expression, parse
from sky_core.memory import Memory
from sky_core.model import Instant, Job, Node, Task
from sky_core.plugin import Context, Functions, Parcel, Plugin, Sieve, function, registered
from sky_core.resources import NOTHING, UNBOUNDED
from sky_core.settings import Settings
from sky_core.status import JobQueueStatus
from sky_core.world import World

UNANIMOUS: Final = frozenset({"and", "joint", "firstNotPass"})
"""The operators over verdicts that let nobody be overruled."""


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
        self.policy = policy
        self._context: Context | None = None
        self._bound: dict[str, Callable[..., Any]] = {}

    def open(self, context: Context) -> None:
        """What the plugins see of the session when the first question is asked: then all of them are opened."""
        self._context = context

    @cached_property
    def _functions(self) -> dict[str, Functions]:
        if self._context is None:
            raise LookupError("no session has been opened")
        return {enabled.plugin.name: enabled.open(self._context) for enabled in self.policy.plugins}

    def names(self, point: str) -> tuple[str, ...]:
        """The plugins that are asked at a point."""
        return self.policy.combinations[point].names

    @cached_property
    def order_spans(self) -> bool:
        """Whether some score of a node depends on what other nodes hold."""
        return any(functions.qn.order_spans for functions in self._functions.values())

    @cached_property
    def order_holds(self) -> bool:
        """Whether the node that is liked best for a parcel is, as long as it lasts, for others like it, too."""
        points = ("qn.order", "qn.batchOrder")
        rising = all(self.policy.combinations[point].rising for point in points)
        return rising and all(self._functions[name].qn.order_holds for point in points for name in self.names(point))

    @cached_property
    def _decisive(self) -> bool:
        """Whether a node that one sieve holds back refuses."""
        return self._unanimous("qn.select", "qn.predicate")

    def _unanimous(self, *stages: str) -> bool:
        """Whether each plugin is asked wherever it speaks in these stages, and none is overruled."""
        combined = {operator for stage in stages for operator in self.policy.combinations[stage].operators}
        asked = dict.fromkeys(name for stage in stages for name in self.names(stage))
        speaks = [(name, stage) for name in asked for stage in stages if function(self._functions[name], stage)]
        return combined <= UNANIMOUS and all(name in self.names(stage) for name, stage in speaks)

    def sieves(self, parcel: Parcel) -> list[tuple[str, Sieve]] | None:
        """The sieves of all plugins that are asked about a node, by their names; None where they can't tell."""
        if not self._decisive:
            return None
        found: list[tuple[str, Sieve]] = []
        for name in dict.fromkeys((*self.names("qn.select"), *self.names("qn.predicate"))):
            make = self._functions[name].qn.sieve
            sieve = make(parcel) if make is not None else None
            if sieve is None:
                return None
            if sieve is not True:
                found.append((name, sieve))
        return found

    @cached_property
    def _binders(self) -> list[Callable[[Task, Node], int]] | None:
        stages = ("tn.select", "tn.predicate")
        names = dict.fromkeys(name for stage in stages for name in self.names(stage))
        quick = [self._functions[name].tn.slots for name in names]
        known = [slots for slots in quick if slots is not None]
        return known if len(known) == len(quick) and self._unanimous(*stages) else None

    def binds(self, task: Task, node: Node) -> int:
        """How many tasks like this one, with claims there, the node surely takes; 0 where only asking tells."""
        if self._binders is None:
            return 0
        return min([slots(task, node) for slots in self._binders], default=UNBOUNDED)

    @cached_property
    def scores(self) -> Callable[[Parcel, Sequence[Node]], Any] | None:
        """NOrder and BatchNOrder of a quota together, over many nodes; None where each has to be asked."""
        order, batch = self._quick("qn.order", "orders"), self._quick("qn.batchOrder", "batch_orders")
        return None if order is None or batch is None else lambda *about: order(*about) + batch(*about)

    @cached_property
    def job_key(self) -> Callable[[Job], Any]:
        """What sorts jobs as jobOrder compares them."""
        combination = self.policy.combinations["jobOrder"]
        keys = [self._functions[name].job_key for name in combination.names]
        quick = [key for key in keys if key is not None]
        if combination.operators <= {"first"} and len(quick) == len(keys):
            return lambda job: [key(job) for key in quick]
        return cmp_to_key(self["jobOrder"])

    @cached_property
    def likens(self) -> tuple[Callable[[Job], Hashable], ...]:
        """See `Functions.likens`."""
        return tuple(functions.likens for functions in self._functions.values() if functions.likens is not None)

    def _quick(self, point: str, field: str) -> Callable[..., Any] | None:
        combination = self.policy.combinations[point]
        found = {name: getattr(self._functions[name].qn, field) for name in combination.names}
        if None in found.values() or not combination.additive:
            return None
        return combination.bind({name: _column(function) for name, function in found.items()})

    def __getitem__(self, point: str) -> Callable[..., Any]:
        """The function of a point: asks the enabled plugins as the expression says."""
        if point not in self._bound:
            combination = self.policy.combinations[point]
            self._bound[point] = combination.bind({n: function(self._functions[n], point) for n in combination.names})
        return self._bound[point]


def _column(function: Callable[..., Sequence[int]]) -> Callable[..., NDArray[np.int64]]:
    return lambda *about: np.asarray(function(*about), dtype=np.int64)
