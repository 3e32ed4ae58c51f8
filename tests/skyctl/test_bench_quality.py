"""skyctl bench quality: what is counted of a trace, and that the core's decisions are as good as they can be."""

import gzip
import json
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sky_core.topology import fewest
from skyctl.bench.quality.figures import figures
from skyctl.bench.quality.filling import Need, Room, fill, policies
from skyctl.bench.quality.play import play
from skyctl.bench.quality.policies import POLICIES
from skyctl.bench.quality.site import Site
from skyctl.bench.quality.trace import Job, kalos
from skyctl.command_line import status

FOUR = Site(leaves=4, per_leaf=2, per_spine=2)
TRACES = Path(__file__).parents[3] / "shared" / "traces"


def exact(whole: list[int], machines: int) -> int | None:
    """The fewest leaves that hold so many, by dynamic programming over sums; None if all do not."""
    reached = [{0}] + [set[int]() for _ in whole]
    for room in whole:
        for leaves in range(len(whole), 0, -1):
            reached[leaves] |= {min(total + room, machines) for total in reached[leaves - 1]}
    return next((leaves for leaves, totals in enumerate(reached) if machines in totals), None)


def test_jobs_like_kalos_have_its_statistics_and_are_the_same_for_the_same_seed() -> None:
    jobs = list(kalos(20_000, cards=8_192, load=0.9, seed=5))
    assert jobs[:100] == list(kalos(100, cards=8_192, load=0.9, seed=5))
    assert all(one.at < other.at for one, other in pairwise(jobs))
    assert median(job.cards for job in jobs) == 1
    assert 20 < fmean(job.cards for job in jobs) < 30
    assert 100 < median(job.lasts for job in jobs) < 150
    asked = sum(job.cards * job.lasts for job in jobs) / (8_192 * jobs[-1].at)
    assert 0.6 < asked < 1.2


@pytest.mark.parametrize(
    ("policy", "leaves", "across", "spines", "waits"),
    [("index-order", 2, 1.0, 0.0, 0.0), ("best-fit", 1, 0.0, 0.0, 0.0), ("required", 1, 0.0, 0.0, 0.0)],
)
def test_a_ring_is_put_behind_one_leaf_unless_topology_is_off(
    policy: str, leaves: int, across: float, spines: float, waits: float
) -> None:
    # the node that fills the cluster is not counted: of five jobs the first is
    jobs = [Job(0, 9e4, 8), Job(1, 3600, 16), *(Job(2 + at, 60, 1) for at in range(3))]
    found = figures(play(jobs, FOUR, POLICIES[policy]), FOUR)
    assert (found.jobs, found.unplaced, found.bound) == (4, 0, 1)
    assert (found.leaves, found.across_leaves, found.across_spines, found.wait) == (leaves, across, spines, waits)
    assert found.more == (leaves > 1)


@pytest.mark.parametrize(
    ("policy", "leaves", "wait"), [("best-fit", 2, 0), ("patience", 2, 600), ("required", 1, 3_597)]
)
def test_patience_waits_for_ten_minutes_and_required_until_a_leaf_is_free(
    policy: str, leaves: int, wait: float
) -> None:
    # a node of each leaf is taken for an hour, and then two for a gang of two
    site = Site(leaves=2, per_leaf=2, per_spine=2)
    jobs = [Job(0, 1, 1), Job(1, 3_600, 8), Job(1.5, 1, 8), Job(1.6, 3_600, 8), Job(4, 9e4, 16)]
    played = play(jobs, site, POLICIES[policy])
    (ring,) = [each for each in played.placed if each.job.cards == 16]
    assert len({node // 2 for node in ring.nodes}) == leaves
    assert wait <= ring.waited < wait + 121


@given(st.lists(st.tuples(st.integers(0, 900), st.integers(1, 3_000), st.integers(1, 56)), min_size=1, max_size=12))
@settings(max_examples=10, deadline=None)
def test_no_decision_takes_more_leaves_than_the_least_that_there_are(raw: list[tuple[int, int, int]]) -> None:
    jobs = [Job(at, lasts, cards) for at, lasts, cards in sorted(raw)]
    found = figures(play(jobs, FOUR, POLICIES["best-fit"]), FOUR)
    assert found.more == 0
    assert found.unplaced == 0


@given(st.lists(st.integers(0, 32), min_size=1, max_size=32), st.data())
def test_the_fewest_leaves_are_those_with_most_room(whole: list[int], data: st.DataObject) -> None:
    machines = data.draw(st.integers(1, sum(whole) + 2))
    chosen = fewest(whole, machines)
    assert (None if chosen is None else len(chosen)) == exact(whole, machines)


def test_cards_of_the_wrong_kind_stay_free_in_vain() -> None:
    rooms = [Room("a", 8_000, 8_000, 8_000), Room("b", 8_000, 8_000, 8_000)]
    needs = [Need(1_000, 10, 500, ("a",))]
    for policy in policies().values():
        filled = fill(rooms, needs, policy, 1, lambda _: None)
        assert (filled.placed, filled.refused, filled.used, filled.unusable) == (8, 24, 0.25, 0.75)


def test_the_answer_is_a_table_or_json_or_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    few = ["bench", "quality", "best-fit", "--jobs", "5", "--seeds", "2", "--leaves", "4"]
    assert status(few) == 0
    table = capsys.readouterr().out.splitlines()
    assert table[2].split() == ["index-order", "best-fit"]
    assert table[3].startswith("leaves per job")
    assert status([*few, "-o", "json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)["results"]}
    assert rows["best-fit: leaves to the bound"]["goal"] == 1.25
    assert rows["best-fit: leaves to the bound"]["runs"] == 2
    assert set(rows["best-fit: cards in use"]["beside"]) == {"index-order"}
    assert status([*few, "-o", "html"]) == 0
    page = capsys.readouterr().out
    assert page.count("<svg") == page.count("<figure>") > 10
    assert "http" not in page.replace("http-equiv", "")


def test_philly_is_read_compressed_or_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "timestamp,duration,num_gpus\n2017-10-09 07:01:55,66.0,1\n2017-10-09 06:13:03,2951.0,16\n"
    (tmp_path / "p.csv").write_text(text)
    (tmp_path / "p.csv.gz").write_bytes(gzip.compress(text.encode()))
    said = []
    for name in ("p.csv", "p.csv.gz"):
        assert status(["bench", "quality", "best-fit", "--philly", str(tmp_path / name)]) == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]
    assert said[0].startswith("2 jobs of Philly")


def test_openb_is_read_with_its_nodes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "openb_node_list_all_node.csv").write_text("sn,cpu_milli,memory_mib,gpu,model\nn,32000,262144,2,T4\n")
    pods = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\np,1000,512,1,500,T4|P100\n"
    (tmp_path / "pods.csv").write_text(pods)
    assert status(["bench", "quality", "--openb", str(tmp_path / "pods.csv")]) == 0
    assert "cards in use                            100.0%          100.0%" in capsys.readouterr().out


@pytest.mark.parametrize(
    "content",
    [b"", b"timestamp,duration,num_gpus\nyesterday,1,1\n", b"timestamp,duration\n2017-10-09,1\n", b"\xff\n\xff"],
)
def test_a_trace_that_is_none_is_told(content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    for option in ("--philly", "--openb"):
        assert status(["bench", "quality", option, str(tmp_path / "t.csv")]) == 1
        assert status(["bench", "quality", option, str(tmp_path / "absent.csv")]) == 1
    assert "t.csv" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["nope"], ["--jobs", "0"], ["--load", "0"], ["--philly", "a", "--openb", "b"]])
def test_wrong_words_are_wrong_usage(words: list[str]) -> None:
    assert status(["bench", "quality", *words]) == 2
