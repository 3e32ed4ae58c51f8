import pytest

from sky_core.normal_scores import between, evening, falling, rising


@pytest.mark.parametrize(
    ("raw", "scores"),
    [([], []), ([0, 0], [0, 0]), ([1, 3], [33_333, 100_000]), ([7], [100_000])],
)
def test_rising_scores_are_shares_of_the_largest(raw: list[int], scores: list[int]) -> None:
    assert rising(raw) == scores
    assert falling(raw) == [100_000 - score for score in scores]


@pytest.mark.parametrize(
    ("raw", "scores"),
    [([], []), ([5, 5], [0, 0]), ([-10, 0, 20], [0, 33_333, 100_000]), ([-3, -1], [0, 100_000])],
)
def test_scores_between_stretch_from_the_smallest_to_the_largest(raw: list[int], scores: list[int]) -> None:
    assert between(raw) == scores


@pytest.mark.parametrize(
    ("raw", "scores"),
    [
        ([], []),
        ([0, 0], [100_000, 100_000]),
        ([0, 5, 10], [100_000, 50_000, 0]),
        ([5, 10], [100_000, 50_000]),
        ([5, None], [100_000, 0]),
        ([None, None], [0, 0]),
    ],
)
def test_evening_scores_fall_from_the_emptiest_and_leave_out_who_has_no_domain(
    raw: list[int | None], scores: list[int]
) -> None:
    assert evening(raw) == scores
