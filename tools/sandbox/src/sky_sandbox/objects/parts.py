"""Parts of objects that may hold anything."""

from collections.abc import Mapping

from sky_core.simulation.objects import Object


def items(raw: Object, name: str) -> list[Object]:
    """The objects in the list under this name; none where there is no such list."""
    found = raw.get(name)
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []
