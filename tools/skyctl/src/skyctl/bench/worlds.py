"""What there is to decide: clusters with jobs that wait, each of any scale."""

from collections.abc import Callable, Iterator
from itertools import chain
from random import Random
from typing import Final

from sky_core.world import World
from skyctl.bench.clusters import CARD, GPU, MACHINE, SPOT, Amounts, Object, gang, group, nodes, placed, pod, running
from skyctl.bench.clusters import world as world_of
from skyctl.bench.scale import Scale

Objects = Callable[[Scale], Iterator[Object]]
"""The objects of a workload, of that scale."""

SIZES: Final = (8, 16, 32, 64, 128, 256, 512, 1024)
"""Of gangs, in cards."""


def world(objects: Objects) -> Callable[[Scale], World]:
    """A fresh world of these objects, each time."""
    return lambda scale: world_of(objects(scale))


def idle(on: int = 5_000) -> Objects:
    """Nodes, and nothing to do."""
    return lambda scale: nodes(scale.hosts(on))


def busy(on: int = 5_000) -> Objects:
    """Nodes that are full of one machine-sized task each, and nothing to do."""
    return lambda scale: chain(nodes(scale.hosts(on)), _full(scale.hosts(on)))


def gangs(
    count: int,
    size: int,
    requests: Amounts = CARD,
    *,
    on: int = 5_000,
    leaf: int = 32,
    kinds: int = 3,
    notes: dict[str, str] | None = None,
) -> Objects:
    """So many gangs of one size; what is scaled is the larger of both."""

    def objects(scale: Scale) -> Iterator[Object]:
        many, each = (scale.amount(count), size) if count >= size else (count, scale.amount(size))
        jobs = (gang(f"job-{at}", each, requests, created=at % 86_400, notes=notes) for at in range(many))
        return chain(nodes(scale.hosts(on), leaf=leaf, kinds=kinds), chain.from_iterable(jobs))

    return objects


def mixed(cards: int, *, on: int, sizes: tuple[int, ...] = SIZES, of: int = 1) -> Objects:
    """Gangs of random sizes (seeded) that ask for so many cards together, `of` of them in each task.

    None asks for more than an eighth of them all, but for the smallest size.
    """

    def jobs(total: int) -> Iterator[Object]:
        dice, at, left = Random(11), 0, total  # noqa: S311  a workload, no secret
        fitting = [size for size in sizes if size * 8 <= total] or sizes[:1]
        while left > 0:
            size = min(dice.choice(fitting), left)
            yield from gang(f"job-{at}", max(size // of, 1), {GPU: str(of), "rdma/hca": str(of)}, created=at % 86_400)
            left, at = left - size, at + 1

    return lambda scale: chain(nodes(scale.hosts(on)), jobs(scale.amount(cards)))


def unique(count: int, *, on: int = 5_000) -> Objects:
    """Gangs of four, no two of one shape: each asks for another amount of cpu."""

    def jobs(many: int) -> Iterator[Object]:
        for at in range(many):
            yield group(f"job-{at}", 4, created=at)
            for each in gang(f"job-{at}", 4, created=at):
                if each["kind"] == "Quota":
                    yield each
            requests = {**CARD, "cpu": f"{at + 1}m"}
            yield from (pod(f"job-{at}-{i}", f"job-{at}", requests, created=at) for i in range(4))

    return lambda scale: chain(nodes(scale.hosts(on)), jobs(scale.amount(count)))


def crowded(count: int, size: int, *, on: int, kinds: int = 3) -> Objects:
    """So many gangs of whole machines that find all of them taken."""

    def objects(scale: Scale) -> Iterator[Object]:
        jobs = (gang(f"job-{at}", size, MACHINE, created=at % 86_400) for at in range(scale.amount(count)))
        hosts = scale.hosts(on)
        return chain(nodes(hosts, kinds=kinds), _full(hosts), chain.from_iterable(jobs))

    return objects


def lent(size: int, *, on: int) -> Objects:
    """Nodes whose cards are all lent to spot pods of one card, and a gang that takes so many whole nodes back."""

    def objects(scale: Scale) -> Iterator[Object]:
        yield from nodes(scale.hosts(on), kinds=1)
        for at in range(scale.hosts(on) * 8):
            yield group(f"spot-{at}", 1)
            yield running(pod(f"spot-{at}-0", f"spot-{at}", {SPOT: "1"}), f"node-{at // 8}")
        yield from gang("claimant", scale.amount(size), {GPU: "8"}, created=1)

    return objects


def _full(hosts: int) -> Iterator[Object]:
    return chain.from_iterable(placed(f"there-{at}", [f"node-{at}"]) for at in range(hosts))
