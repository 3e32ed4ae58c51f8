"""The nodes of each spec code and of each zone, kept up to date node by node."""

from collections.abc import Iterable

from sky_core.api.upkeep.tables import settle
from sky_core.model import Node, NodeName, Zone, ZoneId
from sky_core.topology import zone_of
from sky_core.world import World


class Zoning:
    """Who is in which spec code and zone."""

    def __init__(self) -> None:
        """No node."""
        self._by_spec: dict[str, set[NodeName]] = {}
        self._by_zone: dict[ZoneId, set[NodeName]] = {}
        self._stale_specs: set[str] = set()
        self._stale_zones: set[ZoneId] = set()

    def node(self, old: Node | None, new: Node | None) -> None:
        """A node has come, changed or gone."""
        if old and new and _place(old) == _place(new):
            return
        if old:
            self._by_spec[old.spec].discard(old.name)
            self._stale_specs.add(old.spec)
            if zone := zone_of(old):
                self._by_zone[zone].discard(old.name)
                self._stale_zones.add(zone)
        if new:
            self._by_spec.setdefault(new.spec, set()).add(new.name)
            self._stale_specs.add(new.spec)
            if zone := zone_of(new):
                self._by_zone.setdefault(zone, set()).add(new.name)
                self._stale_zones.add(zone)

    def flush(self, world: World) -> None:
        """Write what has changed into the world, whose nodes are up to date."""
        specs = {code: _ordered(world, self._by_spec[code]) for code in self._stale_specs}
        settle(world.specs, {code: names or None for code, names in specs.items()}, lambda code, _: code)
        zones = {id_: _zone(world, id_, self._by_zone[id_]) for id_ in self._stale_zones}
        settle(world.zones, zones, lambda id_, _: (id_.spec, id_.key))
        for code in self._stale_specs - world.specs.keys():
            del self._by_spec[code]
        for id_ in self._stale_zones - world.zones.keys():
            del self._by_zone[id_]
        self._stale_specs = set()
        self._stale_zones = set()


def _place(node: Node) -> tuple[object, ...]:
    return (node.spec, node.zone, node.fabric, node.order)


def _ordered(world: World, names: Iterable[NodeName]) -> tuple[NodeName, ...]:
    return tuple(sorted(names, key=lambda name: world.nodes[name].order))


def _zone(world: World, id_: ZoneId, names: set[NodeName]) -> Zone | None:
    nodes = _ordered(world, names)
    return Zone(id=id_, fabric=world.nodes[nodes[0]].fabric, nodes=nodes) if nodes else None
