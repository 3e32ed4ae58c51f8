"""Transcripts of plays are compared: what differs is seen, and what each server makes up is not."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from plays import ELSEWISE, Step, delete, elsewise, get, post
from transcripts import Answer, Transcript, differences, surprises

PLAYS = Path(__file__).parents[1] / "conformance"
STEP = get("/api/v1/nodes/n")
ONE, OTHER = "8c3ad9a4-0000-4000-8000-000000000000", "9c3ad9a4-0000-4000-8000-000000000000"


def compared(truth: Any, copy: Any, step: Step = STEP, statuses: tuple[int, int] = (200, 200)) -> list[str]:
    """What differs between two bodies."""
    answers = (Answer(status, {}, body) for status, body in zip(statuses, (truth, copy), strict=True))
    return differences(*(Transcript([step], [answer]) for answer in answers))


@pytest.mark.parametrize(
    ("truth", "copy"),
    [
        ({"a": 1}, {"a": 2}),
        ({"a": 1}, {}),
        ({}, {"a": 1}),
        ({"a": True}, {"a": 1}),
        ({"a": "1"}, {"a": 1}),
        ({"a": [1, 2]}, {"a": [1]}),
        ({"a": "2026-01-01T00:00:00Z"}, {"a": "2026-01-01T00:00:00.5Z"}),
        ({"uid": ONE, "again": ONE}, {"uid": ONE, "again": OTHER}),
        ({"causes": [{"field": "a", "reason": "R"}]}, {"causes": [{"field": "b", "reason": "R"}]}),
    ],
    ids=str,
)
def test_a_difference_is_seen(truth: Mapping[str, Any], copy: Mapping[str, Any]) -> None:
    assert len(compared(truth, copy)) in {1, 2}


@pytest.mark.parametrize(
    ("truth", "copy"),
    [
        ({"uid": ONE, "again": ONE}, {"uid": OTHER, "again": OTHER}),
        ({"metadata": {"resourceVersion": "7"}}, {"metadata": {"resourceVersion": "8"}}),
        ({"a": "2026-01-01T00:00:00Z"}, {"a": "2026-02-03T04:05:06Z"}),
        ({"a": 2**63 - 1}, {"a": float(2**63 - 1)}),
        ({"a": {}, "b": None}, {"c": []}),
        ({"message": "no"}, {"message": "never"}),
        ({"name": "a-bcdfg"}, {"name": "a-hjklm"}),
    ],
    ids=str,
)
def test_what_a_server_makes_up_is_none(truth: Mapping[str, Any], copy: Mapping[str, Any]) -> None:
    assert compared(truth, copy) == []


def test_what_a_play_has_said_is_compared_to_the_letter() -> None:
    step = post("/", {"message": "said", "at": "2026-01-01T00:00:00Z"})
    assert compared({"message": "said"}, {"message": "other"}, step) != []
    assert compared({"at": "2026-01-01T00:00:00Z"}, {"at": "2026-02-03T04:05:06Z"}, step) != []


def test_another_status_is_the_one_difference() -> None:
    (found,) = compared({"a": 1}, {"b": 2}, statuses=(200, 409))
    assert "status is 200, on the sandbox 409" in found


def test_a_known_difference_is_none_where_it_shows_and_one_where_it_does_not() -> None:
    refused = elsewise("garbage", delete("/"))
    assert compared({}, {}, refused, (200, 501)) == []
    assert "does not differ, though it collects no garbage" in compared({}, {}, refused)[0]
    bare, finalized = {"metadata": {"name": "n"}}, {"metadata": {"name": "n", "finalizers": ["a"]}}
    protected = elsewise("protection", STEP)
    assert compared(finalized, bare, protected) == []
    assert len(compared({**finalized, "b": 1}, bare, protected)) == 1
    assert len(compared(bare, bare, protected)) == 1


def test_a_surprise_is_what_a_step_does_not_say() -> None:
    step = elsewise("garbage", delete("/"))
    answers = [Answer(200, {}, {}), Answer(501, {}, {"reason": "NotImplemented"})]
    found = [surprises(Transcript([step], [one]), of_sandbox=of) for one in answers for of in (False, True)]
    assert [bool(one) for one in found] == [False, True, True, False]


def test_every_known_difference_is_named_by_a_play() -> None:
    plays = "".join(file.read_text() for file in PLAYS.glob("test_*.py"))
    assert [what for what in ELSEWISE if f'elsewise("{what}",' not in plays] == []
