"""What a workload is: how it is sampled, in what unit, and what is to be reached."""

from collections.abc import Callable, Iterator, Mapping

import msgspec

from skyctl.bench.scale import Scale


class Sample(msgspec.Struct, frozen=True):
    """One measurement.

    `beside`: the same of others, measured in the same breath, by who they are. `points`: what the figure was made of.
    """

    figure: float
    beside: Mapping[str, float] = {}
    points: Mapping[str, float] = {}


Samples = Callable[[Scale], Iterator[Sample]]
"""One measurement after the other, for as long as they are asked for."""


class Goal(msgspec.Struct, frozen=True):
    """What the median is to be: at most `value`, or at least."""

    value: float
    at_least: bool = False

    def met(self, median: float) -> bool:
        """Whether it is."""
        return median >= self.value if self.at_least else median <= self.value


class Workload(msgspec.Struct, frozen=True):
    """One row of the table. What is not in milliseconds says in what it is."""

    about: str
    samples: Samples
    goal: Goal | None = None
    unit: str = "ms"

    @property
    def better(self) -> str:
        """Which figure is better: the one that is `less`, or the one that is `more`."""
        return "more" if self.goal is not None and self.goal.at_least else "less"


def at_most(value: float) -> Goal:
    """No more than that."""
    return Goal(value)


def at_least(value: float) -> Goal:
    """No less than that."""
    return Goal(value, at_least=True)
