"""What the README shows is what happens."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

README = (Path(__file__).parent.parent / "README.md").read_text()
(EXAMPLE,) = re.findall(r"^```yaml\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


(PICTURE,) = re.findall(r"^```\n(zone A.*?)^```$", README, re.MULTILINE | re.DOTALL)
(QUESTIONS,) = re.findall(r"^```\n(  kubectl.*?)^```$", README, re.MULTILINE | re.DOTALL)
SKYCTL = str(Path(sys.executable).with_name("skyctl"))


def simulated(manifest: str) -> Any:
    command = [SKYCTL, "simulate", "-", "-o", "json"]
    return json.loads(subprocess.run(command, input=manifest, capture_output=True, text=True, check=True).stdout)


def test_the_demo_prints_what_is_shown_of_it() -> None:
    shown = subprocess.run([SKYCTL, "demo"], capture_output=True, text=True, check=True).stdout
    shown = re.sub(r"^  \S*/kubectl ", "  kubectl ", shown, flags=re.MULTILINE)
    for part in (PICTURE, QUESTIONS):
        for piece in re.split(r"^ *…\n", part, flags=re.MULTILINE):
            assert piece in shown


def test_the_first_job_lands_in_the_rack_that_holds_it_in_rank_order() -> None:
    pods = simulated(EXAMPLE)["pods"]
    assert [pods[f"default/train-{rank}"]["node"] for rank in range(2)] == ["node1", "node2"]


def test_with_its_rack_too_small_a_strict_first_job_waits_and_says_for_what() -> None:
    objects = yaml.safe_load(EXAMPLE)
    node2 = next(item for item in objects["items"] if item["metadata"]["name"] == "node2")
    group = next(item for item in objects["items"] if item["kind"] == "PodGroup")
    node2["spec"] = {"unschedulable": True}
    group["metadata"]["annotations"]["scheduling.infini-ai.com/topology-policy"] = "required"
    answer = simulated(yaml.safe_dump(objects))
    assert {pod["node"] for pod in answer["pods"].values()} == {None}
    assert [reason["code"] for reason in answer["jobs"]["default/train"]["reasons"]] == ["TopologyZoneInsufficient"]
