import pytest

from sky_core.reasons import Code, Finding
from sky_core.resources import parse_resources
from sky_core.wording import SENTENCES, sentence


def test_every_code_has_its_sentence() -> None:
    assert set(SENTENCES) == set(Code)


@pytest.mark.parametrize("code", Code)
@pytest.mark.parametrize("count", [0, 1, 2])
def test_no_field_of_a_sentence_is_left_open(code: Code, count: int) -> None:
    said = sentence(Finding(code, count))
    assert "{" not in said
    assert said.endswith(".")


def test_a_sentence_says_what_how_many_with_which_numbers_and_where() -> None:
    finding = Finding(
        Code.INSUFFICIENT_QUOTA_IDLE,
        5,
        parse_resources({"nvidia.com/gpu": "8", "cpu": "500m"}),
        parse_resources({"nvidia.com/gpu": "4"}),
        ("n0", "n1", "n2"),
    )
    assert sentence(finding) == (
        "5 places have too little left to promise: cpu=500m, nvidia.com/gpu=8 needed, nvidia.com/gpu=4 there"
        " (n0; n1; n2; and 2 more)."
    )


def test_one_object_is_spoken_of_as_one() -> None:
    assert sentence(Finding(Code.NODE_UNSCHEDULABLE, 1, examples=("n7",))) == "1 place is on a cordoned node (n7)."


def test_what_is_needed_where_there_is_nothing_is_said_so() -> None:
    finding = Finding(Code.INSUFFICIENT_QUOTA, 1, parse_resources({"nvidia.com/gpu": "1"}))
    assert sentence(finding) == "1 pod finds no quota with room in its queue: nvidia.com/gpu=1 needed, nothing there."


def test_where_nothing_was_there_to_refuse_no_number_is_told() -> None:
    finding = Finding(Code.INSUFFICIENT_QUOTA_IDLE, 0, parse_resources({"nvidia.com/gpu": "1"}))
    assert sentence(finding) == "There is no place to ask: nvidia.com/gpu=1 needed, nothing there."
