"""Whatever happens in a small cluster, no decision breaks an invariant, and the order of objects means nothing."""

import json
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sky_core.api.instants import instant
from sky_core.cycle import default_policy
from sky_core.settings import PREFIX, Settings
from sky_core.simulation.report import Report
from sky_core.simulation.run import run
from sky_core.simulation.timeline import API_VERSION, events
from sky_core.testing.objects import CREATED, GPU, HCA, SPOT, group, node, pod, quota, topology

Object = dict[str, Any]
POLICY = default_policy()
CYCLES_MAX = 120


def machines(random: Random) -> list[Object]:
    made = []
    for i in range(random.randint(1, 6)):
        amounts = {GPU: "8", HCA: "8", "cpu": "64", "memory": "512Gi", "pods": "110"}
        spot = random.random() < 0.5
        if spot:
            amounts[SPOT] = "8"
        labels = random.choice([{}, {f"{PREFIX}spec": "a100"}, {f"{PREFIX}spec": "h100"}])
        notes = {"spot-pools": '{"exclusive": 8}'} if spot else {}
        made.append(node(f"n{i}", amounts, labels=labels, notes=notes, unschedulable=random.random() < 0.1))
        if random.random() < 0.8:
            made.append(topology(f"n{i}", *random.sample(["s1", "s2", "s3"], random.choice([1, 1, 2]))))
    return made


def quotas(random: Random) -> list[Object]:
    made = []
    for i in range(random.randint(1, 8)):
        spec: dict[str, Any] = {"staticBindNode": f"n{random.randint(0, 6)}"} if random.random() < 0.2 else {}
        status = {"nodeName": f"n{random.randint(0, 6)}"} if random.random() < 0.2 else None
        made.append(quota(f"q-{i}", {GPU: random.choice("1248"), HCA: random.choice("08")}, status=status, **spec))
    return made


def gang(random: Random, name: str) -> list[Object]:
    size, wishes = random.randint(1, 4), {}
    for wish, value in (("reservation-ttl", "9s"), ("topology-policy", "required"), ("topology-patience", "6s")):
        if random.random() < 0.3:
            wishes[wish] = value
    if random.random() < 0.25:
        request, on = {SPOT: random.choice("124")}, random.choice([None, "n0"])
    else:
        request, on = {GPU: random.choice("1248"), HCA: random.choice("0018")}, None
    pods = [pod(f"{name}-{i}", request, group=name, on=on) for i in range(size)]
    return [group(name, random.randint(1, size), notes=wishes), *pods]


def incident(random: Random, pods: list[Object]) -> Object:
    """Something that befalls a pod, or what it runs on."""
    which = random.choice(pods)
    name = which["metadata"]["name"]
    born_again = {**which, "metadata": {**which["metadata"], "uid": f"again-{random.randint(1, 9)}"}}
    foreign = pod("foreign", {GPU: random.choice("148")}, scheduler="default-scheduler", on="n0")
    what: Object = random.choice(
        [
            {"delete": {"kind": "Pod", "name": name}},
            {"delete": {"kind": "Node", "name": "n0"}},
            {"delete": {"kind": "Quota", "name": "q-0"}},
            {"finish": {"name": name, "phase": random.choice(["Succeeded", "Failed"])}},
            {"failNextBind": {"pod": f"default/{name}", "status": random.choice([409, 504])}},
            {"apply": born_again},
            {"apply": foreign},
            {"apply": node("n0", {GPU: "4", "cpu": "8", "pods": "9"})},
        ]
    )
    return {"at": f"{random.randint(0, 15)}s", **what}


def story(random: Random) -> tuple[list[Object], list[Object]]:
    """A cluster, and what befalls it."""
    gangs = [gang(random, f"j{i}") for i in range(random.randint(1, 5))]
    pods = [each for members in gangs for each in members if each["kind"] == "Pod"]
    present = [each for members in gangs for each in members]
    return [*machines(random), *quotas(random), *present], [incident(random, pods) for _ in range(random.randint(0, 6))]


def told(objects: list[Object], later: list[Object]) -> Report:
    timeline = events([{"apiVersion": API_VERSION, "kind": "Timeline", "events": later}])
    return run(objects, timeline, POLICY, Settings(), now=instant(CREATED), cycles=CYCLES_MAX)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.randoms(use_true_random=False))
def test_no_story_breaks_an_invariant_or_depends_on_the_order_of_its_objects(random: Random) -> None:
    objects, later = story(random)
    report = told(objects, later)
    assert report.violations == ()
    random.shuffle(objects)
    assert json.dumps(told(objects, later).contract) == json.dumps(report.contract)
