"""skyctl bench: every workload runs, and what is said of it can be read by people, programs and the next run."""

import json
from pathlib import Path

import pytest

from sky_shell.reading.places import InputError
from skyctl.bench import board
from skyctl.bench.command import measured
from skyctl.bench.result import Result, encoded, read
from skyctl.bench.samples import against_naive
from skyctl.bench.scale import Scale
from skyctl.bench.telling import tell_results
from skyctl.bench.workload import at_least, at_most
from skyctl.bench.workloads import GOALS, SHAPES, WORKLOADS, chosen
from skyctl.bench.worlds import crowded, gangs, lent, mixed, unique
from skyctl.command_line import status

TINY = Scale(0.002, 0.002)
FIELDS = {"name", "unit", "median", "min", "max", "spread", "runs", "better", "goal", "met", "beside", "points"}


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_workload_runs_and_says_how_it_came_out(name: str) -> None:
    (result,) = measured([name], 1, 60.0, TINY)
    assert (result.name, result.runs, result.unit) == (name, 1, WORKLOADS[name].unit)
    assert result.min == result.median == result.max


def test_the_goals_are_those_of_the_table() -> None:
    assert all(workload.goal is not None for workload in GOALS.values())
    assert not set(GOALS) & set(SHAPES)


@pytest.mark.parametrize(
    "objects", [gangs(3, 8, on=32), mixed(64, on=32), unique(4, on=32), crowded(2, 2, on=4), lent(2, on=4)]
)
def test_what_is_measured_is_decided_as_the_naive_pipeline_decides(objects: object) -> None:
    sample = next(against_naive(objects)(Scale()))  # type: ignore[arg-type]
    assert set(sample.points) == {"core, ms", "naive, ms"}


def test_a_run_goes_from_json_to_the_comparison_of_the_next(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    few = ["bench", "empty", "kai-s*", "--scale", "0.002", "--runs", "3"]
    assert status([*few, "-o", "json"]) == 0
    first = capsys.readouterr().out
    rows = json.loads(first)["results"]
    assert [row["name"] for row in rows] == ["empty", "kai-singles"]
    assert all(set(row) == FIELDS and row["runs"] == 3 for row in rows)
    (tmp_path / "before.json").write_text(first)
    assert status([*few, "--compare", str(tmp_path / "before.json")]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == ["median", "min", "max", "spread", "runs", "goal", "before", "beside"]
    assert [line.split()[0] for line in lines[:2]] == ["empty", "kai-singles"]
    assert all(line.endswith("x") for line in lines[:2])
    assert status([*few, "--compare", str(tmp_path / "before.json"), "-o", "json"]) == 0
    again = json.loads(capsys.readouterr().out)["results"]
    assert [row["before"] for row in again] == [row["median"] for row in rows]


def test_how_a_result_is_told() -> None:
    figures = [5.0, 4.0, 6.0, 4.5, 1234.567]
    fast = Result.of("fast", figures, goal=at_most(4.0), beside={"naive": 2000.0}, points={"5 nodes, ms": 1.0})
    assert (fast.median, fast.min, fast.max, fast.spread, fast.met) == (5.0, 4.0, 1235.0, 0.3, False)
    many = Result.of("many", [3000.0], unit="writes/s", goal=at_least(2500), better="more")
    assert (many.met, many.spread) == (True, 0.0)
    before = {"many": Result.of("many", [1000.0], unit="writes/s", better="more")}
    said = board.head(compared=True) + board.row(fast, before) + board.row(many, before)
    assert said.splitlines() == [
        "                         median                min      max  spread runs     goal   before          beside",
        "fast                          5 ms               4    1,235     30%    5     ≤ 4!"
        "                   naive 2,000 (400x)",
        "    5 nodes, ms: 1",
        "many                      3,000 writes/s     3,000    3,000      0%    1  ≥ 2500     1,000   3.00x",
    ]


@pytest.mark.parametrize("output", ["table", "json"])
def test_who_stops_it_keeps_what_there_is(output: str, capsys: pytest.CaptureFixture[str]) -> None:
    def results():  # type: ignore[no-untyped-def]
        yield Result.of("first", [1.0])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tell_results(results(), output)  # type: ignore[arg-type, no-untyped-call]
    out = capsys.readouterr().out
    assert "first" in out
    assert out.endswith(board.FOOT if output == "table" else "}\n")


@pytest.mark.parametrize("content", ["", "{", '{"results": [{"name": 1}]}', "[]", "\xff"])
def test_a_file_that_holds_something_else_is_told(content: str, tmp_path: Path) -> None:
    (tmp_path / "f.json").write_text(content, encoding="latin-1")
    with pytest.raises(InputError, match=r"f.json: not what skyctl bench -o json writes"):
        read(str(tmp_path / "f.json"))
    assert status(["bench", "empty", "--compare", str(tmp_path / "absent")]) == 1


def test_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    results = [Result.of("a", [1.0, 2.0], goal=at_most(3)), Result.of("b", [1.0], better="more", points={"x": 1.0})]
    (tmp_path / "f.json").write_text(encoded(results, {}))
    assert list(read(str(tmp_path / "f.json")).values()) == results


@pytest.mark.parametrize(
    "words",
    [
        ["nope"],
        ["empty", "--runs", "0"],
        ["empty", "--scale", "0"],
        ["empty", "--scale", "nan"],
        ["profile"],
        ["profile", "perf-*"],
        ["profile", "empty", "--rows", "0"],
    ],
)
def test_a_wrong_word_is_wrong_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert status(["bench", *words]) == 2
    assert capsys.readouterr().out == ""


def test_the_list_has_a_line_for_each_workload(capsys: pytest.CaptureFixture[str]) -> None:
    assert status(["bench", "--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(WORKLOADS)
    assert chosen(("perf-3*", "empty")) == ["empty", "perf-3000x3", "perf-3x1000"]


def test_a_profile_says_what_each_action_and_function_took(capsys: pytest.CaptureFixture[str]) -> None:
    assert status(["bench", "profile", "cycle-gang-1024", "--scale", "0.01", "--rows", "3"]) == 0
    out = capsys.readouterr().out
    assert [line.split()[-1] for line in out.splitlines()[1:5]] == [
        "allocateJob",
        "allocateZone",
        "allocateQuota",
        "bind",
    ]
    assert "world(" not in out
    assert len(out.split("function\n")[1].splitlines()) == 3
