"""Which spot pods would have to go for a waiting spot gang to have a zone of its own (behaviour.md 7.6).

Jobs with quotas need no such proposal: for them evictable spot pods are room, and reclaim takes it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from sky_core.model import Node, NodeName, Pool, Task, Zone
from sky_core.resources import Resources
from sky_core.room import awaited
from sky_core.states import TaskState
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


def propose(world: World, zones: Iterable[Zone], tasks: Sequence[Task], evictable: Evictable) -> Proposal | None:
    """The smallest proposal for these waiting tasks, all alike, over these zones; the first by name of equal ones.

    None where no zone would hold them even so, or one will without it, when those are gone who are on their way out.
    """
    proposals = [_for_zone(world, zone, tasks[0], len(tasks), evictable) for zone in zones]
    best = min((p for p in proposals if p is not None), key=lambda p: (p.count, p.zone), default=None)
    return best if best is not None and best.count else None


def _for_zone(world: World, zone: Zone, task: Task, count: int, evictable: Evictable) -> Proposal | None:
    """The fewest pods by which the zone comes to hold so many such tasks.

    least[k] is the cheapest way to k of them.
    """
    least: list[dict[NodeName, tuple[Task, ...]] | None] = [{}] + [None] * count
    for node in zone.nodes:
        ways = _ways(world, world.nodes[node], task, count, evictable(node))
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


def _ways(
    world: World, node: Node, task: Task, most: int, evictable: Sequence[Task]
) -> list[tuple[int, tuple[Task, ...]]]:
    """How many such tasks the node holds with so many of the largest of these gone; the fewest for each number."""
    book, shape, room = world.books[node.name], task.shape, room_to_come(world, node.name)
    leaving = (world.tasks[id_] for id_ in world.tasks_on.get(node.name, ()))
    units = (node.shared - book.shared) if shape.spot is Pool.SHARED else (node.exclusive - book.exclusive)
    units += sum(_units(other, shape.spot) for other in leaving if other.state is TaskState.RELEASING)

    def slots(room: Resources, units: int) -> int:
        return max(min(shape.load.slots_in(room), units // shape.spot_units if shape.spot_units else most, most), 0)

    ways: list[tuple[int, tuple[Task, ...]]] = [(slots(room, units), ())]
    gone: tuple[Task, ...] = ()
    for victim in sorted(evictable, key=lambda task: (-task.shape.spot_units, task.key)):
        gone = (*gone, victim)
        room += victim.shape.load
        units += _units(victim, shape.spot)
        held = slots(room, units)
        if held > ways[-1][0]:
            ways.append((held, gone))
    return ways


def room_to_come(world: World, node: NodeName) -> Resources:
    """What a node has left when those are gone who are on their way out, and those have come who have a claim."""
    book = world.books[node]
    return book.idle + book.releasing - awaited(world, node)


def _units(task: Task, pool: Pool | None) -> int:
    """What a task holds of a pool."""
    return task.shape.spot_units if task.shape.spot is pool else 0


def _size(victims: Mapping[NodeName, Sequence[Task]]) -> int:
    return sum(map(len, victims.values()))
