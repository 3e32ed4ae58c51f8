"""Hypothesis strategies for clusters that lend: spot pods on promised cards, and owners who come for them.

What `strategies` makes by chance once in a while is here in every example: nodes full of spot pods of all kinds,
quotas that stay on their nodes, claimants, places that are kept. As there, all is small and crowded.
"""

import json
from collections.abc import Sequence
from typing import Any, Final

from hypothesis import strategies as st

from sky_core.settings import PREFIX
from sky_core.testing.objects import (
    GPU,
    HCA,
    SPOT,
    Object,
    budget,
    group,
    job_queue,
    node,
    pod,
    priority_class,
    quota,
)

CARDS: Final = 6
"""How many a node has."""

GRACE_MAX: Final = 20
"""The longest that a pod may take to go, in seconds."""

CLASSES: Final = (priority_class("high", 1000), priority_class("never", 0, preemptionPolicy="Never"))
_NODES: Final = ("n0", "n1", "n2")
_LABELS: Final[tuple[Object, ...]] = ({}, {"app": "guarded"}, {"app": "loose"})


def _lender(name: str, pools: tuple[int, int], zone: str, *, shut: bool) -> Object:
    exclusive, shared = pools
    amounts = {GPU: str(CARDS), HCA: str(CARDS), "cpu": "8", "pods": "110", SPOT: str(exclusive + shared)}
    notes = {"spot-pools": json.dumps({"exclusive": exclusive, "shared": shared})}
    return node(name, amounts, notes=notes, labels={f"{PREFIX}zone": f"roce#{zone}"}, unschedulable=shut)


@st.composite
def _crowds(draw: st.DrawFn, where: str, exclusive: int) -> list[Object]:
    """Spot pods on a node, some of them members of one gang, others protected in one way or another."""
    made: list[Object] = []
    left = exclusive
    while left > 0 and draw(st.integers(0, 5)):
        units = draw(st.integers(1, min(left, 3)))
        left -= units
        made.append(_borrower(draw, f"s-{where}-{len(made)}", {SPOT: str(units)}, on=where))
    if draw(st.integers(0, 3)) == 0:
        made.append(_borrower(draw, f"l-{where}", {SPOT: "1", "cpu": "3"}, {"spot-pool": "shared"}, on=where))
    return made


def _borrower(draw: st.DrawFn, name: str, requests: Object, notes: Object | None = None, **fields: Any) -> Object:
    return pod(
        name,
        requests,
        notes=notes,
        group=draw(st.sampled_from([None, None, "lent"])),
        priority=draw(st.sampled_from([0, 0, 5, 1000])),
        metadata={"labels": draw(st.sampled_from(_LABELS))},
        terminationGracePeriodSeconds=draw(st.sampled_from([0, GRACE_MAX])),
        **fields,
    )


@st.composite
def _gangs(draw: st.DrawFn, name: str, quotas: Sequence[str]) -> list[Object]:
    """A claimant: a gang of one to three."""
    size = draw(st.integers(1, 3))
    requests = draw(st.sampled_from([{GPU: "1"}, {GPU: "2"}, {GPU: "3"}, {GPU: "2", HCA: "2"}, {GPU: "1", "cpu": "4"}]))
    notes = {"reservation-ttl": draw(st.sampled_from(["0s", "8s", "8s"]))}
    class_name = draw(st.sampled_from(["", "", "high", "never"]))
    spec: Object = {"priorityClassName": class_name} if class_name else {}
    labels: Object = {"labels": {"lane": draw(st.sampled_from(["fast", "slow"]))}}
    head = group(name, draw(st.integers(1, size)), notes=notes, metadata=labels, **spec)
    named = draw(st.sampled_from([None, None, None, *quotas]))
    wish = {"quota-name": named} if named else {}
    return [head, *(pod(f"{name}-{i}", requests, group=name, notes=wish) for i in range(size))]


@st.composite
def lending(draw: st.DrawFn) -> list[Object]:
    """All objects of a cluster that lends."""
    objects: list[Object] = [*CLASSES, group("lent", draw(st.integers(1, 4)))]
    names = _NODES[: draw(st.integers(1, 3))]
    quotas = []
    for name in names:
        pools = draw(st.sampled_from([(CARDS, 0), (4, 2)]))
        zone = draw(st.sampled_from(["s0", "s1"]))
        objects.append(_lender(name, pools, zone, shut=draw(st.integers(0, 9)) == 0))
        objects += draw(_crowds(name, pools[0]))
        for i in range(draw(st.integers(0, 2))):
            quotas.append(f"f-{i}-{name}")
            objects.append(_promise(draw, quotas[-1], name))
    for i in range(draw(st.integers(0, 3))):
        quotas.append(f"q-{i}")
        objects.append(_promise(draw, quotas[-1], None))
    for job in "vw"[: draw(st.integers(1, 2))]:
        objects += draw(_gangs(job, quotas))
    if draw(st.booleans()):
        objects.append(budget("guarded", {"app": "guarded"}, maxUnavailable=draw(st.integers(0, 2))))
    if draw(st.integers(0, 4)) == 0:
        objects += _lanes(draw)
    if draw(st.integers(0, 4)) == 0:
        objects.append(pod("other", {GPU: "1"}, scheduler="default-scheduler", on=draw(st.sampled_from(names))))
    return objects


def _promise(draw: st.DrawFn, name: str, where: str | None) -> Object:
    """A quota, on its node for good or on none; of some the tasks may claim more than they request."""
    request = draw(st.sampled_from([{GPU: "2", HCA: "2"}, {GPU: "3", HCA: "2"}, {GPU: str(CARDS), HCA: "6"}]))
    status: Object = {"shadowResource": {GPU: "2"}} if draw(st.integers(0, 5)) == 0 else {}
    if where is None:
        return quota(name, request, status=status)
    bound = {"phase": "QuotaBound", "nodeName": where, "staticBindStatus": {"nodeName": where, "bound": True}}
    if draw(st.booleans()):
        return quota(name, request, status={**status, **bound}, staticBindNode=where)
    return quota(name, request, status={**status, "phase": "QuotaBound", "nodeName": where})


def _lanes(draw: st.DrawFn) -> list[Object]:
    """Two JobQueues."""
    made = []
    for priority, name in enumerate(("slow", "fast")):
        chosen: Object = {"queueName": "default", "jobSelector": {"matchLabels": {"lane": name}}, "priority": priority}
        odd: Object = draw(
            st.sampled_from([{}, {"maxRunningJobs": 1}, {"policy": "StrictFIFO"}, {"capability": {GPU: "4"}}])
        )
        made.append(job_queue(name, **chosen, **odd))
    return made


@st.composite
def befallen(draw: st.DrawFn, objects: Sequence[Object]) -> list[Object]:
    """What befalls such a cluster, as events of a Timeline: pods go, end and are made again, nodes shut and open."""
    pods = [one for one in objects if one["kind"] == "Pod"]
    owners = [one for one in pods if one["metadata"]["name"][:2] in ("v-", "w-")]
    nodes = [one for one in objects if one["kind"] == "Node"]
    happened: list[Object] = []
    for life in range(draw(st.integers(0, 8))):
        which = draw(st.sampled_from(draw(st.sampled_from([owners, owners, pods]))))
        name = which["metadata"]["name"]
        what = draw(st.sampled_from(["delete", "delete", "again", "again", "finish", "refuse", "shut", "open"]))
        match what:
            case "delete":
                event: Object = {"delete": {"kind": "Pod", "name": name}}
            case "again":
                event = {"apply": born_again(which, life)}
            case "finish":
                event = {"finish": {"name": name, "phase": draw(st.sampled_from(["Succeeded", "Failed"]))}}
            case "refuse":
                event = {"failNextBind": {"pod": f"default/{name}", "status": draw(st.sampled_from([409, 504]))}}
            case _:
                where = draw(st.sampled_from(nodes))
                event = {"apply": {**where, "spec": {**where["spec"], "unschedulable": what == "shut"}}}
        happened.append({"at": f"{draw(st.integers(0, 15))}s", **event})
    return happened


def born_again(one: Object, life: int) -> Object:
    """Another pod of this name, waiting for a node."""
    spec = {key: value for key, value in one["spec"].items() if key != "nodeName"}
    uid = f"{one['metadata']['name']}'s life {life}"
    return {**one, "metadata": {**one["metadata"], "uid": uid}, "spec": spec, "status": {"phase": "Pending"}}
