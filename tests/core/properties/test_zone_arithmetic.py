"""Slots of nodes and zones, against trying every way."""

from itertools import combinations, product

from hypothesis import given
from hypothesis import strategies as st

from sky_core.topology import fewest, pack, shortest_run, spread

slots = st.lists(st.integers(0, 4), min_size=1, max_size=6)


def ways(room: list[int], count: int) -> list[tuple[int, ...]]:
    """Every way to put so many onto the nodes."""
    return [way for way in product(*(range(slot + 1) for slot in room)) if sum(way) == count]


@given(slots, st.data())
def test_each_node_takes_what_is_nearest_to_its_even_share_of_all_that_can_still_work_out(
    room: list[int], data: st.DataObject
) -> None:
    count = data.draw(st.integers(0, sum(room)))
    possible, left, nodes = ways(room, count), count, sum(map(bool, room))
    for at, slot in enumerate(room):
        even = -(-left // nodes) if slot else 0
        _, nearest = min((abs(way[at] - even), way[at]) for way in possible)
        possible = [way for way in possible if way[at] == nearest]
        left -= nearest
        nodes -= bool(slot)

    assert [tuple(spread(room, count))] == possible


@given(slots, st.data())
def test_packed_nodes_are_filled_one_after_the_other(room: list[int], data: st.DataObject) -> None:
    count = data.draw(st.integers(0, sum(room)))
    assert tuple(pack(room, count)) == max(ways(room, count))


@given(slots, st.integers(1, 30))
def test_what_does_not_fit_is_left_over(room: list[int], beyond: int) -> None:
    count = sum(room) + beyond
    assert spread(room, count) == room
    assert pack(room, count) == room


def least_zones(room: list[int], count: int) -> int | None:
    """The size of the smallest set of zones that holds so many; None if all do not."""
    sizes = range(len(room) + 1)
    holding = (size for size in sizes for zones in combinations(room, size) if sum(zones) >= count)
    return next(holding, None)


@given(slots, st.integers(1, 20))
def test_no_fewer_zones_hold_it(room: list[int], count: int) -> None:
    chosen, least = fewest(room, count), least_zones(room, count)
    assert (None if chosen is None else len(chosen)) == least


@given(slots, st.integers(1, 20))
def test_the_fullest_zones_are_filled_and_the_last_is_the_smallest_that_holds_the_rest(
    room: list[int], count: int
) -> None:
    chosen = fewest(room, count)
    if chosen is None:
        return
    *filled, (last, rest) = chosen
    assert sum(taken for _, taken in chosen) == count
    assert len({at for at, _ in chosen}) == len(chosen)
    assert all(taken == room[at] for at, taken in filled)
    by_size = sorted(range(len(room)), key=lambda at: (-room[at], at))
    assert [at for at, _ in filled] == by_size[: len(filled)]
    open_ = [at for at in range(len(room)) if at not in {at for at, _ in filled}]
    assert last == min((at for at in open_ if room[at] >= rest), key=lambda at: (room[at], at))


@given(slots, slots, st.integers(1, 30))
def test_nodes_without_a_zone_are_touched_only_when_all_zones_are_full(
    zones: list[int], alone: list[int], count: int
) -> None:
    chosen = fewest([*zones, *alone], count, last=len(alone))
    if sum(zones) >= count:
        assert chosen == fewest(zones, count)
        return
    lone = fewest(alone, count - sum(zones))
    assert (chosen is None) == (lone is None)
    if chosen is not None and lone is not None:
        taken = dict(chosen)
        assert {at: taken[at] for at in range(len(zones)) if zones[at]} == {at: n for at, n in enumerate(zones) if n}
        assert {at - len(zones): n for at, n in chosen if at >= len(zones)} == dict(lone)


@given(slots, st.integers(1, 12))
def test_no_shorter_run_holds_it_and_none_before_it(room: list[int], count: int) -> None:
    spans = [(begin, end) for begin in range(len(room)) for end in range(begin + 1, len(room) + 1)]

    def maximal(begin: int, end: int) -> bool:
        open_ends = (begin == 0 or not room[begin - 1]) and (end == len(room) or not room[end])
        return all(room[begin:end]) and open_ends

    holding = [(begin, end) for begin, end in spans if maximal(begin, end) and sum(room[begin:end]) >= count]
    assert shortest_run(room, count) == min(holding, key=lambda span: (span[1] - span[0], span), default=None)
