from collections import Counter
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from sky_core.cycle import default_policy, schedule
from sky_core.memory import Memory
from sky_core.model import Instant
from sky_core.plugin import registered, wrapped
from sky_core.testing import rows


def test_a_wrapped_plugin_registers_the_same_points_and_decides_the_same() -> None:
    asked: Counter[str] = Counter()

    def around(point: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any) -> Any:
            asked[point] += 1
            return function(*arguments)

        return counted

    policy = default_policy()
    measured = replace(
        policy, plugins=tuple(replace(each, plugin=wrapped(each.plugin, around)) for each in policy.plugins)
    )
    world = rows.world(rows.node("n"), rows.quota("q"), rows.task("w-0"), rows.job("w"))
    plain, _ = schedule(world, Memory(), policy, Instant(0))
    found, _ = schedule(world, Memory(), measured, Instant(0))
    assert found == plain
    assert len(found.decisions) == 2
    assert {"jobValid", "quotaReady"} <= asked.keys()
    context = rows.context(world)
    for one, other in zip(policy.plugins, measured.plugins, strict=True):
        assert registered(one.open(context)).keys() == registered(other.open(context)).keys()
