"""Cards of several kinds and parts of cards: pods come in a published order, and nobody leaves, until nothing fits.

The trace is Alibaba's openb (clusterdata v2023, from FGD, ATC '23). Pods that share a card ask for a part of it, which
is counted by node, not by card.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import cycle as endlessly
from pathlib import Path
from random import Random
from typing import Final, TypeVar

import msgspec

from sky_core.decisions import BindTask
from sky_core.policy import Policy, compile_policy
from sky_core.settings import PREFIX
from sky_shell.reading.places import InputError
from skyctl.bench.clusters import GPU, Object, node, pod, quota
from skyctl.bench.living import Living
from skyctl.bench.quality.trace import rows, wrong
from skyctl.bench.timing import SPREAD

NODES: Final = "openb_node_list_all_node.csv"
"""The file with the nodes, beside those with the pods."""
AT_ONCE: Final = 64
"""How many pods come between two cycles."""
UNPACKED: Final = "sum(weight(sylas, 100), nodeorder)"
"""The expression under which nodes that are alike are taken in index order."""

_T = TypeVar("_T")


class Need(msgspec.Struct, frozen=True):
    """What a pod asks for: thousandths of a cpu and of a card, MiB, and of which kinds its cards may be (none: all)."""

    cpu: int
    memory: int
    cards: int
    kinds: tuple[str, ...] = ()

    def fits(self, room: "Room") -> bool:
        """Whether there is room for it."""
        kind = not self.kinds or room.kind in self.kinds
        return kind and self.cpu <= room.cpu and self.memory <= room.memory and self.cards <= room.cards

    @property
    def amounts(self) -> dict[str, str]:
        """As a pod requests them."""
        cards = {GPU: f"{self.cards}m"} if self.cards else {}
        return {"cpu": f"{self.cpu}m", "memory": f"{self.memory}Mi", **cards}


class Room(msgspec.Struct):
    """What a node has left, in the same units."""

    kind: str
    cpu: int
    memory: int
    cards: int

    def take(self, need: Need) -> None:
        """So much less."""
        self.cpu -= need.cpu
        self.memory -= need.memory
        self.cards -= need.cards


class Filled(msgspec.Struct, frozen=True, kw_only=True):
    """When as many cards have been asked for as there are.

    Attributes:
        used: The share of the cards that are taken.
        unusable: Of all cards, the share that is free where a pod out of the trace, drawn at random, does not fit.
        placed: How many pods were.
        refused: How many were not.
    """

    used: float
    unusable: float
    placed: int
    refused: int


def policies() -> dict[str, Policy]:
    """What is set side by side, where no job is on several nodes."""
    unpacked = compile_policy(SPREAD.settings, SPREAD.plugins, {"qn.order": UNPACKED, "tn.order": UNPACKED})
    return {"index-order": unpacked, "best-fit": SPREAD}


def openb(pods: Path, count: int) -> tuple[list[Room], list[Need]]:
    """So many of the nodes, from all over the list, and all pods of the trace; both lie in one folder.

    Raises:
        InputError: It is none.
    """
    rooms, needs = _read(pods.with_name(NODES), _room), _read(pods, _need)
    rooms = rooms[:: max(len(rooms) // count, 1)][:count]
    if not any(room.cards for room in rooms) or not any(need.cards for need in needs):
        raise InputError(f"{pods}, {NODES}: no card in them")
    return rooms, needs


def fill(rooms: Sequence[Room], needs: Sequence[Need], policy: Policy, seed: int, say: Callable[[int], None]) -> Filled:
    """Let pods come in a random order until they have asked for as many cards as there are."""
    total, left = sum(room.cards for room in rooms), [msgspec.structs.replace(room) for room in rooms]
    living, coming = Living(_nodes(rooms), policy), list(_coming(needs, total, seed))
    placed = 0
    for begin in range(0, len(coming), AT_ONCE):
        for at, need in enumerate(coming[begin : begin + AT_ONCE], begin):
            for each in _objects(f"pod-{at}", need):
                living.put(each)
        for bind in (one for one in living.cycle().decisions if isinstance(one, BindTask)):
            left[int(bind.node.removeprefix("node-"))].take(coming[int(bind.task.removeprefix("Pod/pod-"))])
            placed += 1
        say(begin)
    free = sum(room.cards for room in left)
    return Filled(
        used=1 - free / total, unusable=_unusable(left, needs) / total, placed=placed, refused=len(coming) - placed
    )


def _unusable(left: Sequence[Room], needs: Sequence[Need]) -> float:
    """The cards that are expected to be free in vain, as FGD counts them, but by node."""
    shares = Counter(need for need in needs if need.cards)
    several = sum(shares.values())
    return (
        sum(room.cards * sum(many for need, many in shares.items() if not need.fits(room)) for room in left) / several
    )


def _coming(needs: Sequence[Need], cards: int, seed: int) -> Iterator[Need]:
    shuffled, asked = list(needs), 0
    Random(seed).shuffle(shuffled)  # noqa: S311  a workload, no secret
    for need in endlessly(shuffled):
        asked += need.cards
        if asked > cards:
            return
        yield need


def _nodes(rooms: Sequence[Room]) -> Iterator[Object]:
    for at, room in enumerate(rooms):
        amounts = {"cpu": f"{room.cpu}m", "memory": f"{room.memory}Mi", "pods": "110", GPU: str(room.cards // 1000)}
        yield node(at, zone=None, kind=room.kind or "none", amounts=amounts)


def _objects(name: str, need: Need) -> Iterator[Object]:
    made = pod(name, "", need.amounts)
    del made["metadata"]["annotations"]
    if need.kinds:
        term = {"matchExpressions": [{"key": f"{PREFIX}spec", "operator": "In", "values": list(need.kinds)}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
        made["spec"] = {**made["spec"], "affinity": {"nodeAffinity": required}}
    yield made
    yield quota(name, need.amounts)


def _read(path: Path, row: Callable[[Mapping[str, str]], _T]) -> list[_T]:
    found = []
    for line, each in enumerate(rows(path), 2):
        try:
            found.append(row(each))
        except (KeyError, TypeError, ValueError) as error:
            raise wrong(path, line, error) from None
    return found


def _room(row: Mapping[str, str]) -> Room:
    return Room(row["model"], int(row["cpu_milli"]), int(row["memory_mib"]), int(row["gpu"]) * 1000)


def _need(row: Mapping[str, str]) -> Need:
    cards = int(row["num_gpu"]) * int(row["gpu_milli"] or 0)
    kinds = tuple(sorted(set(row["gpu_spec"].split("|")) - {""}))
    return Need(int(row["cpu_milli"]), int(row["memory_mib"]), cards, kinds)
