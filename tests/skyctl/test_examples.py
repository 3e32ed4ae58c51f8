"""Every example runs, and shows what its first lines say."""

import json
from pathlib import Path
from typing import Any

import pytest

from skyctl.command_line import status
from skyctl.demo import MANIFESTS

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def simulated(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> Any:
    """What the example of this test's name comes to."""
    name = request.node.name.removeprefix("test_").partition("__")[0].replace("_", "-")
    assert status(["simulate", str(EXAMPLES / f"{name}.yaml"), "-o", "json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return json.loads(out)


def places(simulated: Any, job: str) -> list[str | None]:
    return [pod["node"] for name, pod in simulated["pods"].items() if name.startswith(f"{job}-") or name == job]


def codes(simulated: Any, job: str) -> set[str]:
    return {reason["code"] for reason in simulated["jobs"][job]["reasons"]}


def test_eight_nodes__the_gang_runs_in_rank_order_and_the_large_job_waits_for_a_switch(simulated: Any) -> None:
    assert places(simulated, "default/worker") == ["n0", "n1", "n2", "n3"]
    assert simulated["jobs"]["default/worker"]["zones"] == ["roce#S1"]
    assert places(simulated, "default/big") == [None] * 6
    assert codes(simulated, "default/big") == {"TopologyZoneInsufficient"}
    assert not [quota for name, quota in simulated["quotas"].items() if name.startswith("q-big") and quota["node"]]


def test_eight_nodes_would_hold_the_large_job_behind_two_switches(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "f.yaml").write_text((EXAMPLES / "eight-nodes.yaml").read_text().replace(": required", ": preferred"))
    assert status(["simulate", str(tmp_path / "f.yaml"), "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["jobs"]["default/big"]["zones"] == ["roce#S1", "roce#S2"]


def test_one_switch__the_row_that_fits_best_is_taken(simulated: Any) -> None:
    assert places(simulated, "default/train") == ["c6", "c7", "c8"]


def test_two_kinds_of_cards__no_job_mixes_them(simulated: Any) -> None:
    assert places(simulated, "default/anything") == ["n2", "n3", "n4"]
    assert simulated["pods"]["default/frugal"]["node"] in ("n0", "n1")


def test_shared_quota__lent_to_one_queue_and_not_to_another(simulated: Any) -> None:
    assert simulated["pods"]["production/serve"]["quota"] == "production-0"
    assert simulated["pods"]["research/try"]["quota"] == "production-1"
    assert simulated["pods"]["guests/visit"]["node"] is None
    assert "QuotaForbidden" in codes(simulated, "guests/visit")


def test_mount_points__the_job_waits_for_the_mount(simulated: Any) -> None:
    (bind,) = simulated["binds"]
    assert bind["node"] == "n1"
    assert bind["cycle"] > 20


def test_elastic_job__starts_with_two_and_grows_when_there_is_room(simulated: Any) -> None:
    cycles = {bind["pod"]: bind["cycle"] for bind in simulated["binds"]}
    assert cycles["default/grow-0"] == cycles["default/grow-1"] == 1
    assert cycles["default/grow-2"] == cycles["default/grow-3"] > 30
    assert "BlockedByJobQueue" in codes(simulated, "default/later")


def test_spot_pool__two_of_four_borrowers_go_when_the_owner_comes(simulated: Any) -> None:
    assert [eviction["pod"] for eviction in simulated["evictions"]] == ["default/borrow-2", "default/borrow-3"]
    assert simulated["pods"]["default/owner"] == {"state": "Running", "quota": "team", "node": "n0"}
    assert places(simulated, "default/borrow") == ["n0", "n0", None]


def test_restarted_worker__it_returns_and_a_lost_ones_place_is_kept_for_a_while(simulated: Any) -> None:
    binds = [(bind["pod"], bind["node"], bind["cycle"]) for bind in simulated["binds"][3:]]
    assert binds == [("default/train-1", "n1", 32), ("default/other", "n2", 74)]
    assert simulated["pods"]["default/train-1"]["quota"] == "team-1"


def test_two_job_queues__one_goes_first_and_the_other_runs_one_at_a_time(simulated: Any) -> None:
    binds = [(bind["pod"], bind["cycle"]) for bind in simulated["binds"]]
    names = ["default/now-0", "default/night-0-0", "default/night-1-0", "default/night-2-0"]
    assert binds == list(zip(names, [1, 1, 32, 92], strict=True))
    assert codes(simulated, "default/stray") == {"BlockedByJobQueue"}


def test_static_binding__quotas_go_where_people_say_if_they_can(simulated: Any) -> None:
    assert [(bind["pod"], bind["node"], bind["cycle"]) for bind in simulated["binds"]] == [
        ("default/second", "n0", 1),
        ("default/first", "n1", 2),
    ]
    assert {name: quota["node"] for name, quota in simulated["quotas"].items()} == {
        "free": "n0",
        "here": "n0",
        "large": None,
    }


def test_every_example_has_a_test_and_says_how_to_run_it() -> None:
    tests = [name.removeprefix("test_").partition("__")[0].replace("_", "-") for name in globals() if "__" in name]
    for example in EXAMPLES.glob("*.yaml"):
        assert example.stem in tests
        assert f"#   skyctl simulate examples/{example.name}\n" in example.read_text()


def test_the_demo_tells_the_example_of_eight_nodes() -> None:
    assert MANIFESTS.read_text() == (EXAMPLES / "eight-nodes.yaml").read_text()
