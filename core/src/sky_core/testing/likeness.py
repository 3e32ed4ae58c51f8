"""A world as plain values, so that two of them can be compared."""

from typing import Any, Final

import msgspec

from sky_core.model import QuotaSpec, Shape
from sky_core.world import World

_TABLES: Final = (
    "tasks", "jobs", "quotas", "nodes", "books", "tasks_on", "quotas_on", "queues", "job_queues", "namespaces",
    "budgets", "zones", "specs",
)  # fmt: skip
_HISTORY: Final = frozenset({"version"})
"""What a row says of how it came about, rather than of what is."""


def likeness(world: World) -> dict[str, Any]:
    """Everything that a world says of the present: each table as a list, since its order counts, and the sums.

    Equal for worlds that say the same. Shapes and quota specs, which are compared by identity, go in by value, and
    beside them which rows share one.
    """
    made: dict[str, Any] = {name: [(key, _plain(row)) for key, row in getattr(world, name).items()] for name in _TABLES}
    made["sums"] = (_plain(world.total), world.anti_affine, world.quotas_apart)
    made["classes"] = _classes([task.shape for task in world.tasks.values()])
    made["quota classes"] = _classes([quota.spec for quota in world.quotas.values()])
    return made


def _classes(ones: list[Shape] | list[QuotaSpec]) -> list[int]:
    """For each object the place of the first that is the same."""
    first: dict[int, int] = {}
    return [first.setdefault(id(one), i) for i, one in enumerate(ones)]


def _plain(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        fields = msgspec.structs.asdict(value)
        return {name: _plain(part) for name, part in fields.items() if name not in _HISTORY}
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, tuple) else value
