"""skyctl bench cluster: whole schedulers on a control plane of its own."""

import json

import pytest

from sky_control_plane import Binaries
from skyctl.command_line import status


def test_schedulers_race_on_the_same_pods(binaries: Binaries, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["bench", "cluster", "per-pod", "--rounds", "1", "--scale", "0.004", "-o", "json"]
    assert status(words) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)["results"]}
    others = {name for name in ("null", "kube-scheduler") if name == "null" or binaries.has(name)}
    assert set(rows) == {"per-pod", *(f"per-pod/{name}" for name in others)}
    figures = rows["per-pod"]
    assert (figures["unit"], figures["better"], figures["runs"]) == ("pods/s", "more", 1)
    assert set(figures["beside"]) == others
    assert all(rate > 0 for rate in (figures["median"], *figures["beside"].values()))
    assert figures["points"]["sky-scheduler, MiB"] > 0


def test_a_profile_says_where_the_schedulers_time_goes(capsys: pytest.CaptureFixture[str], binaries: Binaries) -> None:
    assert status(["bench", "cluster", "profile", "per-gang", "--scale", "0.004"]) == 0
    said = capsys.readouterr().out
    assert "start: imports" in said
    assert "%  client: " in said
