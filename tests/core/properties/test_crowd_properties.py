"""Many jobs that are alike and wait: each is told what it would be if all the others were not there to speak for it."""

from collections.abc import Iterator
from typing import Any

from hypothesis import event, given
from hypothesis import strategies as st

from sky_core.api.instants import instant
from sky_core.cycle import default_policy, schedule
from sky_core.memory import Memory
from sky_core.model import SECOND, Instant, Job, JobId
from sky_core.session import Session
from sky_core.settings import PREFIX, Settings
from sky_core.simulation.cluster import Cluster
from sky_core.simulation.scheduler import Scheduler
from sky_core.testing.naive import schedule_naively
from sky_core.testing.objects import GPU, HCA, Object, group, job_queue, node, pod, priority_class, queue, quota
from sky_core.testing.strategies import START
from sky_core.turns import turns

NOW = instant(START)
POLICY = default_policy()
QUEUES = ("default", "other")
KINDS = ("a100", "h100")

Draw = st.DrawFn


def machine(draw: Draw, name: str) -> Object:
    cards = str(draw(st.sampled_from([2, 2, 4])))
    labels = {
        "disk": name,
        f"{PREFIX}spec": draw(st.sampled_from(KINDS)),
        f"{PREFIX}zone": draw(st.sampled_from(["s1", "s2"])),
    }
    shut = draw(st.sampled_from([False, False, False, True]))
    return node(name, {GPU: cards, HCA: cards, "cpu": "64", "pods": "9"}, labels=labels, unschedulable=shut)


def sort_of_gang(draw: Draw) -> dict[str, Any]:
    """What gangs of one sort have in common."""
    zoned = draw(st.booleans())
    notes = {
        "enable-topology-scheduling": "true" if zoned else "",
        "topology-policy": draw(st.sampled_from(["", "", "required"])) if zoned else "",
        "topology-patience": draw(st.sampled_from(["", "", "3s"])) if zoned else "",
        "reservation-ttl": draw(st.sampled_from(["", "", "", "5s"])),
    }
    return {
        "size": draw(st.integers(1, 3)),
        "requests": {GPU: str(draw(st.sampled_from([1, 2, 2, 4]))), **({HCA: "1"} if zoned else {})},
        "queue": draw(st.sampled_from(["default", "default", "default", "other", "nobody's"])),
        "notes": {key: text for key, text in notes.items() if text},
        "priority": draw(st.sampled_from(["", "", "high"])),
        "labels": draw(st.sampled_from([{}, {}, {"team": "a"}])),
        "away": draw(st.sampled_from([False] * 5 + [True])),
    }


def one_gang(draw: Draw, name: str, sort: dict[str, Any]) -> Iterator[Object]:
    age = f"2026-01-01T00:00:{draw(st.integers(0, 20)):02d}Z"
    metadata = {"creationTimestamp": age}
    about = {"queue": sort["queue"]} | ({"priorityClassName": "high"} if sort["priority"] else {})
    labelled = {**metadata, "labels": sort["labels"]}
    yield group(name, sort["size"], notes=sort["notes"], metadata=labelled, **about)
    term = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "disk"}
    far: dict[str, Any] = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    app = draw(st.sampled_from([{}, {}, {"app": "x"}]))
    for i in range(sort["size"]):
        told = {**metadata, "labels": app}
        yield pod(f"{name}-{i}", sort["requests"], group=name, metadata=told, **(far if sort["away"] else {}))


def lanes(draw: Draw) -> Iterator[Object]:
    strict = draw(st.sampled_from(["", "StrictFIFO"]))
    more = {"queuingStrategy": strict} if strict else {}
    yield job_queue("lane", queueName="default", jobSelector={"matchLabels": {"team": "a"}}, **more)
    running = draw(st.sampled_from([{}, {"maxRunningJobs": 1}]))
    yield job_queue("rest", queueName="default", jobSelector={}, priority=draw(st.integers(-1, 1)), **running)


def room(draw: Draw, at: int) -> Object:
    """A quota, of a queue that may have a cap on it elsewhere."""
    request = {GPU: str(draw(st.sampled_from([1, 2, 2, 4]))), HCA: "2"}
    return quota(f"q{at}", request, queue=draw(st.sampled_from(["default", "default", "other"])))


def change(draw: Draw, gangs: int) -> list[Object]:
    """What may happen between two cycles."""
    what = draw(st.sampled_from(["nothing", "nothing", "nothing", "node", "node", "quota", "queue", "gang"]))
    match what:
        case "node":
            return [machine(draw, f"n{draw(st.integers(0, 4))}")]
        case "quota":
            return [room(draw, draw(st.integers(0, 20)))]
        case "queue":
            return [queue("default", state=draw(st.sampled_from(["Open", "Closed"])))]
        case "gang":
            return list(one_gang(draw, f"g{draw(st.integers(0, gangs))}", sort_of_gang(draw)))
        case _:
            return []


@st.composite
def backlogs(draw: Draw) -> tuple[list[Object], list[tuple[int, list[Object]]]]:
    """Gangs of a few sorts, more than there is room for; and seconds that go by, with what happens then."""
    cap = draw(st.sampled_from([{}, {}, {"capability": {GPU: "4"}}]))
    objects = [queue("default", **cap), queue("other"), priority_class("high", 10)]
    objects += [machine(draw, f"n{at}") for at in range(draw(st.integers(1, 4)))]
    objects += [room(draw, at) for at in range(draw(st.integers(0, 10)))]
    if draw(st.sampled_from([False, False, True])):
        objects += lanes(draw)
    sorts = [sort_of_gang(draw) for _ in range(draw(st.integers(1, 3)))]
    gangs = draw(st.integers(2, 9))
    for at in range(gangs):
        objects += one_gang(draw, f"g{at}", draw(st.sampled_from(sorts)))
    later = [(draw(st.integers(0, 3)), change(draw, gangs)) for _ in range(draw(st.integers(2, 8)))]
    return objects, later


Backlog = tuple[list[Object], list[tuple[int, list[Object]]]]


def cycles(backlog: Backlog) -> Iterator[tuple[Cluster, Memory]]:
    """The cluster before each cycle, with what the one before left."""
    objects, later = backlog
    cluster, scheduler, memory = Cluster(Settings(), NOW), Scheduler(POLICY), Memory()
    for raw in objects:
        cluster.apply(raw)
    for seconds, raws in ((0, []), *later):
        cluster.now = Instant(cluster.now + seconds * SECOND)
        for raw in raws:
            cluster.apply(raw)
        yield cluster, memory
        outcome, memory = schedule(cluster.world, memory, POLICY, cluster.now)
        cluster.step += 1
        scheduler.perform(cluster, outcome)
        cluster.start_pods()
        cluster.clear_away()


@given(backlogs())
def test_who_is_spoken_for_is_told_and_remembers_what_it_would_by_itself(backlog: Backlog) -> None:
    spoken_for = set[int]()

    def counted(session: Session) -> Iterator[Job]:
        yield from turns(session)
        spoken_for.update(len(told.ids) for told in session.told)

    for cluster, memory in cycles(backlog):
        plain = schedule_naively(cluster.world, memory, POLICY, cluster.now)
        assert schedule(cluster.world, memory, POLICY, cluster.now, turns=counted) == plain
    event(f"spoken for: {max(spoken_for, default=0)}")


def test_whom_others_keep_away_nobody_speaks_for_whom_they_do_not() -> None:
    """Of gangs that differ in a label alone, the one with it is told of a pod that keeps it away."""
    term = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "disk"}
    far: Any = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    objects = [queue("default"), node("n0", labels={"disk": "n0"}), pod("guard", {GPU: "7"}, on="n0", **far)]
    for name, labels in (("a", {}), ("b", {}), ("c", {"app": "x"})):
        told = {"creationTimestamp": f"2026-01-01T00:00:0{'abc'.index(name)}Z"}
        objects += [quota(f"q-{name}", {GPU: "2"}), group(name, 2, metadata=told)]
        objects += [pod(f"{name}-{i}", {GPU: "2"}, group=name, metadata={**told, "labels": labels}) for i in range(2)]
        objects += [quota(f"r-{name}", {GPU: "2"})]
    memory = Memory()
    for cluster, _ in cycles((objects, [(2, [])])):
        plain = schedule_naively(cluster.world, memory, POLICY, cluster.now)
        outcome, memory = schedule(cluster.world, memory, POLICY, cluster.now)
        assert (outcome, memory) == plain
        assert outcome.verdicts[JobId("default/a")].findings == outcome.verdicts[JobId("default/b")].findings
        assert outcome.verdicts[JobId("default/a")].codes() != outcome.verdicts[JobId("default/c")].codes()
