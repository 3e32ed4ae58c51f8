import operator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sky_core.quantity import QuantityError
from sky_core.resources import MAX, NOTHING, UNBOUNDED, Resources, amount, parse_resources, render, render_all

GI = 2**30
NAMES = ["cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "nvidia.com/gpu", "rdma/hca"]

small = st.integers(-4, 40) | st.sampled_from([-MAX, MAX, GI])
resources = st.dictionaries(st.sampled_from(NAMES), small).map(Resources.of)
requests = st.dictionaries(st.sampled_from(NAMES), st.integers(0, 9) | st.just(GI)).map(Resources.of)


@given(resources, resources)
def test_subtracting_undoes_adding(one: Resources, other: Resources) -> None:
    assert one + other - other == one
    assert one - other + other == one


@given(resources, resources)
def test_addition_has_no_order(one: Resources, other: Resources) -> None:
    assert one + other == other + one
    assert hash(one + other) == hash(other + one)


@given(resources, resources, st.integers(-3, 3))
def test_zeros_are_never_stored(one: Resources, other: Resources, n: int) -> None:
    results = [
        one, one + other, one - other, one.times(n), one.shortfall(other), one.least(other), one.most(other),
        one.only(NAMES[:3]), one.without(NAMES[:3]), one.extended(),
    ]  # fmt: skip

    assert all(0 not in result.units.values() for result in results)


@given(resources, resources)
def test_arithmetic_is_per_resource_and_the_absent_counts_as_zero(one: Resources, other: Resources) -> None:
    for name in NAMES:
        assert (one + other)[name] == one[name] + other[name]
        assert (one - other)[name] == one[name] - other[name]
        assert one.times(3)[name] == 3 * one[name]
        assert one.least(other)[name] == min(one[name], other[name])
        assert one.most(other)[name] == max(one[name], other[name])


def test_arithmetic_leaves_its_operands_alone() -> None:
    one, other = Resources({"cpu": 1}), Resources({"cpu": -1, "memory": 2})

    assert one + other == Resources({"memory": 2})
    assert (one, other) == (Resources({"cpu": 1}), Resources({"cpu": -1, "memory": 2}))


@given(resources, resources)
def test_a_request_fits_exactly_if_nothing_is_short(request_: Resources, room: Resources) -> None:
    assert request_.fits_in(room) == (not request_.shortfall(room))


@given(resources, resources)
def test_the_shortfall_is_what_must_be_added_and_no_more(request_: Resources, room: Resources) -> None:
    missing = request_.shortfall(room)

    assert request_.fits_in(room + missing)
    assert not any(request_.fits_in(room + missing - Resources({name: 1})) for name in missing.units)


@given(requests, resources)
def test_slots_are_the_most_copies_that_fit(request_: Resources, room: Resources) -> None:
    slots = request_.slots_in(room)

    if slots:
        assert request_.times(slots).fits_in(room)
    if slots < UNBOUNDED:
        assert not request_.times(slots + 1).fits_in(room)


@pytest.mark.parametrize(
    ("request_", "room", "slots"),
    [
        ({}, {"cpu": -1}, UNBOUNDED),
        ({"memory": 1}, {"memory": MAX}, UNBOUNDED),
        ({"cpu": 2}, {"cpu": 5}, 2),
        ({"cpu": 2}, {"cpu": -5}, 0),
        ({"cpu": 2}, {}, 0),
        ({"cpu": 2, "nvidia.com/gpu": 1000}, {"cpu": 100, "nvidia.com/gpu": 8000}, 8),
    ],
)
def test_slots(request_: dict[str, int], room: dict[str, int], slots: int) -> None:
    assert Resources(request_).slots_in(Resources(room)) == slots


def test_room_that_is_negative_where_nothing_is_asked_does_no_harm() -> None:
    assert Resources({"cpu": 1}).fits_in(Resources({"cpu": 1, "nvidia.com/gpu": -1000}))


@given(st.permutations([("cpu", 1), ("memory", 2), ("nvidia.com/gpu", 3)]))
def test_equality_and_hash_ignore_the_order_of_names(units: list[tuple[str, int]]) -> None:
    expected = Resources({"cpu": 1, "memory": 2, "nvidia.com/gpu": 3})

    assert Resources(dict(units)) == expected
    assert hash(Resources(dict(units))) == hash(expected)


def test_there_is_no_less_than() -> None:
    smaller: Any = NOTHING
    larger: Any = Resources({"cpu": 1})

    with pytest.raises(TypeError):
        operator.lt(smaller, larger)


def test_a_vector_is_no_sequence() -> None:
    vector: Any = Resources({"cpu": 1})

    with pytest.raises(TypeError):
        iter(vector)
    with pytest.raises(TypeError):
        operator.contains(vector, "cpu")


def test_nothing_is_false_and_a_debt_is_true() -> None:
    assert not NOTHING
    assert Resources({"cpu": -1})


def test_vectors_are_cut_by_name() -> None:
    everything = Resources(dict.fromkeys(NAMES, 1))

    assert everything.only({"cpu", "absent"}) == Resources({"cpu": 1})
    assert everything.without(["cpu", "memory"]) == everything - Resources({"cpu": 1, "memory": 1})
    assert everything.extended() == Resources({"nvidia.com/gpu": 1, "rdma/hca": 1})


@pytest.mark.parametrize(
    ("held", "total", "share"),
    [
        ({"cpu": 1, "nvidia.com/gpu": 2}, {"cpu": 4, "nvidia.com/gpu": 3}, 666_666_666),
        ({"nvidia.com/gpu": 2, "cpu": 1}, {"cpu": 4, "nvidia.com/gpu": 3}, 666_666_666),
        ({"cpu": 8}, {"cpu": 4}, 2_000_000_000),
        ({"cpu": 1}, {}, 0),
        ({"cpu": 1}, {"cpu": -1}, 0),
        ({"cpu": 3, "memory": 1}, {"cpu": 0, "memory": 2}, 500_000_000),
        ({"cpu": -3}, {"cpu": 4}, 0),
    ],
)
def test_the_dominant_share_is_the_largest_part_of_a_total(
    held: dict[str, int], total: dict[str, int], share: int
) -> None:
    assert Resources(held).share_of(Resources(total)) == share


@pytest.mark.parametrize(
    ("name", "written", "held"),
    [
        ("cpu", "1500m", 1500),
        ("cpu", "0.1m", 1),
        ("cpu", 2, 2000),
        ("cpu", 0.5, 500),
        ("cpu", 1e-7, 1),
        ("cpu", "-0", 0),
        ("cpu", "Ki", 0),
        ("nvidia.com/gpu", "0.01", 10),
        ("nvidia.com/gpu", "8", 8000),
        ("pods", 110, 110_000),
        ("memory", "1536Mi", 1536 * 2**20),
        ("memory", "1n", 1),
        ("memory", "1500m", 2),
        ("memory", 1e18, 10**18),
        ("memory", MAX, MAX),
        ("memory", "100Ei", MAX),
        ("ephemeral-storage", "1G", 10**9),
        ("hugepages-1Gi", "1Gi", GI),
        ("nvidia.com/memory", "1", 1000),
    ],
)
def test_an_amount_is_held_in_the_unit_of_its_resource(name: str, written: str | float, held: int) -> None:
    assert amount(name, written) == held


UNUSABLE: dict[str, list[object]] = {
    "cpu": [
        *["-1", "-0.1n", "-1Ki", -1, -0.5],
        *["9223372036854775.808", "9223372036854775807", MAX],
        *[float("nan"), float("inf"), float("-inf"), "NaN", "Inf"],
        *["1e999999999", "9" * 10**5, 10**100_000, -(10**100_000)],
        *["", " 1", "1_000", "\N{FULLWIDTH DIGIT ONE}"],
        *[True, False, None, {}, [["1"]], b"1"],
    ],
    "memory": ["-1Ki", MAX + 1, str(MAX + 1), f"{MAX}.1", 1e19, 1e308, "1e128"],
    "nvidia.com/gpu": ["-1", "12E"],
}


@pytest.mark.parametrize(
    ("name", "written"),
    [(name, written) for name, amounts in UNUSABLE.items() for written in amounts],
    ids=lambda written: f"{written.bit_length()} bits" if isinstance(written, int) else repr(written)[:20],
)
def test_an_unusable_amount_is_refused_by_its_name(name: str, written: object) -> None:
    with pytest.raises(QuantityError, match=f"^'{name}': ") as error:
        parse_resources({"memory": "1Gi", name: written})

    assert len(str(error.value)) < 300


def test_a_true_is_not_taken_for_the_one_that_was_read_before() -> None:
    assert amount("cpu", 1) == 1000
    with pytest.raises(QuantityError):
        amount("cpu", True)


def test_deep_nesting_is_refused() -> None:
    nested: list[object] = []
    for _ in range(100_000):
        nested = [nested]

    with pytest.raises(QuantityError, match="type list"):
        parse_resources({"cpu": nested})
    while nested:  # else the interpreter frees it by recursion
        nested = nested.pop()  # type: ignore[assignment]


@pytest.mark.parametrize("name", ["", "x" * 318])
def test_a_resource_name_has_1_to_317_characters(name: str) -> None:
    with pytest.raises(QuantityError, match=f"'{name[:10]}.* has {len(name)} characters; allowed are 1 to 317"):
        parse_resources({name: "1"})


def test_the_longest_resource_name_is_kept() -> None:
    assert parse_resources({"x" * 317: "1"}) == Resources({"x" * 317: 1000})


def test_a_resource_list_is_read_without_its_zeros() -> None:
    assert parse_resources({"cpu": "0", "memory": "1Ki", "nvidia.com/gpu": 2}) == Resources(
        {"memory": 1024, "nvidia.com/gpu": 2000}
    )


@pytest.mark.parametrize(
    ("name", "units", "text"),
    [
        ("nvidia.com/gpu", 7000, "7"),
        ("cpu", 1500, "1500m"),
        ("cpu", -1500, "-1500m"),
        ("cpu", 0, "0"),
        ("memory", 1536 * 2**20, "1536Mi"),
        ("memory", -2 * GI, "-2Gi"),
        ("memory", 512, "512"),
        ("memory", 1024, "1Ki"),
        ("memory", 5_000_000, "5M"),
        ("memory", 1_024_000, "1000Ki"),
        ("memory", 2**64, "18446744073709551616"),
        ("hugepages-2Mi", 2**22, "4Mi"),
    ],
)
def test_amounts_print_as_kubernetes_prints_them(name: str, units: int, text: str) -> None:
    assert render(name, units) == text


@given(st.sampled_from(NAMES), st.integers(0, MAX) | st.integers(0, 2**20).map(lambda n: n << 20))
def test_what_is_printed_is_read_back(name: str, units: int) -> None:
    assert amount(name, render(name, units)) == units


@given(requests)
def test_a_printed_resource_list_is_read_back(vector: Resources) -> None:
    assert parse_resources(render_all(vector)) == vector


def test_people_read_amounts_sorted_by_name() -> None:
    assert str(Resources({"nvidia.com/gpu": 8000, "memory": 2 * GI, "cpu": 500})) == (
        "cpu=500m, memory=2Gi, nvidia.com/gpu=8"
    )
    assert str(NOTHING) == "nothing"
    assert list(render_all(Resources({"memory": GI, "cpu": -1}))) == ["cpu", "memory"]
