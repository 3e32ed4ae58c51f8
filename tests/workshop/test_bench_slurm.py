"""What is read out of Slurm's words, and what it is told."""

from pathlib import Path

import pytest

import bench_slurm
import slurm_texts as texts

LOG = """\
[2026-12-01T10:32:07.147] update_part: setting state_up to 3 for partition all
[2026-12-01T10:32:18.532] sched: Allocate JobId=1 NodeList=n[4992-4999] #CPUs=1024 Partition=all
[2026-12-01T10:32:26.961] sched: Allocate JobId=2_0(3) NodeList=n[8,112-113,120] #CPUs=1024 Partition=all
[2026-12-01T10:32:27.475] sched: Allocate JobId=2_1(2) NodeList=n7 #CPUs=1 Partition=all
"""


def test_the_log_tells_which_nodes_each_job_has_got() -> None:
    found = texts.allocations(LOG)
    assert list(found) == ["1", "2_0", "2_1"]
    assert found["1"] == tuple(f"n{at}" for at in range(4992, 5000))
    assert found["2_0"] == ("n8", "n112", "n113", "n120")
    assert found["2_1"] == ("n7",)
    assert [texts.leaves(nodes, 32) for nodes in found.values()] == [1, 2, 1]


@pytest.mark.parametrize(
    ("said", "names"),
    [("", []), ("a", ["a"]), ("n[0-2,7],m1", ["n0", "n1", "n2", "n7", "m1"]), ("n[08-10]", ["n08", "n09", "n10"])],
)
def test_a_host_list_stands_for_names(said: str, names: list[str]) -> None:
    assert list(texts.hosts(said)) == names


def test_every_node_is_behind_one_leaf_of_the_spine() -> None:
    *leaves, spine = texts.topology(70, 32).splitlines()
    assert [line.split("Nodes=")[1] for line in leaves] == ["n[0-31]", "n[32-63]", "n[64-69]"]
    assert spine == "SwitchName=spine Switches=leaf[0-2]"


def test_the_daemon_is_told_to_keep_to_its_folder(tmp_path: Path) -> None:
    lines = texts.configuration(tmp_path, 70, 1234).splitlines()
    paths = [line.split("=")[1] for line in lines if "/" in line and not line.endswith("/true") and "Type=" not in line]
    assert all(path.startswith(str(tmp_path)) for path in paths if path.startswith("/"))
    assert len([path for path in paths if path.startswith("/")]) == 4
    assert "NodeName=n[0-69] CPUs=8 RealMemory=1000000 State=CLOUD" in lines


def test_without_slurm_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert bench_slurm.main([]) == 2
    assert "apt-get install slurmctld slurm-client" in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        bench_slurm.main(["nope"])
    assert ended.value.code == 2
