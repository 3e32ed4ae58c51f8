"""Which spot pods would have to go for a waiting spot gang to have a zone of its own (behaviour.md 7.6).

Jobs with quotas need no such proposal: for them evictable spot pods are room, and reclaim takes it.
"""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from sky_core.model import NodeName, Task, Zone
from sky_core.resources import Resources
from sky_core.world import World

Evictable = Callable[[NodeName], Sequence[Task]]


class Rescheduling(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of the plugin. `act` False: proposals are only shown."""

    act: bool = False


class Proposal(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The fewest pods whose eviction would free a zone for a job, by node."""

    zone: str
    victims: Mapping[NodeName, tuple[Task, ...]]

    @property
    def count(self) -> int:
        """How many pods."""
        return sum(map(len, self.victims.values()))


def propose(world: World, tasks: Sequence[Task], evictable: Evictable) -> Proposal | None:
    """The smallest proposal for these waiting tasks over all zones, the first by name of equal ones.

    None where no zone would hold them even so.
    """
    load = tasks[0].shape.load
    proposals = [_for_zone(world, zone, load, len(tasks), evictable) for zone in world.zones.values()]
    return min((p for p in proposals if p is not None), key=lambda p: (p.count, p.zone), default=None)


def _for_zone(world: World, zone: Zone, load: Resources, count: int, evictable: Evictable) -> Proposal | None:
    """The fewest pods by which the zone comes to hold so many loads: least[k] is the cheapest way to k of them."""
    least: list[dict[NodeName, tuple[Task, ...]] | None] = [{}] + [None] * count
    for node in zone.nodes:
        ways = _ways(world.books[node].idle, load, count, evictable(node))
        for have in range(count, -1, -1):
            for slots, victims in ways:
                so_far = least[max(have - slots, 0)] if slots else None
                if so_far is None:
                    continue
                more = {**so_far, node: victims}
                best = least[have]
                if best is None or _size(more) < _size(best):
                    least[have] = more
    chosen = least[count]
    if chosen is None:
        return None
    return Proposal(zone=zone.id.key, victims={node: tasks for node, tasks in chosen.items() if tasks})


def _ways(room: Resources, load: Resources, most: int, tasks: Sequence[Task]) -> list[tuple[int, tuple[Task, ...]]]:
    """How many loads the room holds with so many of the largest of these gone; the fewest pods for each number."""
    ways: list[tuple[int, tuple[Task, ...]]] = [(min(load.slots_in(room), most), ())]
    gone: tuple[Task, ...] = ()
    for task in sorted(tasks, key=lambda task: (-task.shape.spot_units, task.key)):
        gone = (*gone, task)
        room += task.shape.load
        slots = min(load.slots_in(room), most)
        if slots > ways[-1][0]:
            ways.append((slots, gone))
    return ways


def _size(victims: Mapping[NodeName, Sequence[Task]]) -> int:
    return sum(map(len, victims.values()))
