"""How long the parts of a cycle take: the core knows no clock, so what it calls is wrapped."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from time import perf_counter, time_ns
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from sky_core.actions import ACTIONS, Action
from sky_core.plugin import wrapped
from sky_core.policy import Enabled, Policy
from sky_core.session import Session

EVERY: Final = 10
"""Of so many cycles one has its plugins measured: that costs more than some of them take."""


class Lap(msgspec.Struct, frozen=True):
    """An action of one cycle. Times are nanoseconds since 1970, for traces."""

    action: str
    began: int
    ended: int

    @property
    def seconds(self) -> float:
        """How long it took."""
        return (self.ended - self.began) / 1e9


class Stopwatch:
    """Measures one cycle.

    Attributes:
        laps: The actions, in order.
        plugins: Seconds by plugin and function point, where they were measured.
        seconds: Of the cycle as a whole.
    """

    def __init__(self) -> None:
        """Nothing is measured yet."""
        self.laps: list[Lap] = []
        self.plugins: dict[tuple[str, str], float] = defaultdict(float)
        self.seconds = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """The cycle as a whole."""
        began = perf_counter()
        yield
        self.seconds = perf_counter() - began

    def actions(self) -> Mapping[str, Action]:
        """The actions, measured."""
        return {name: self._action(name, action) for name, action in ACTIONS.items()}

    def policy(self, policy: Policy) -> Policy:
        """The same policy, its plugins measured."""
        return replace(policy, plugins=tuple(map(self._plugin, policy.plugins)))

    def _action(self, name: str, action: Action) -> Action:
        def measured(session: Session) -> None:
            began, tick = time_ns(), perf_counter()
            action(session)
            self.laps.append(Lap(name, began, began + round((perf_counter() - tick) * 1e9)))

        return measured

    def _plugin(self, enabled: Enabled) -> Enabled:
        name, spent = enabled.plugin.name, self.plugins

        def around(point: str, function: Callable[..., Any]) -> Callable[..., Any]:
            def measured(*arguments: Any) -> Any:
                began = perf_counter()
                try:
                    return function(*arguments)
                finally:
                    spent[name, point] += perf_counter() - began

            return measured

        return replace(enabled, plugin=wrapped(enabled.plugin, around))
