"""Stories for tests: what a simulation of a few objects comes to, and what happens later in it.

Names of pods are short: a pod without a slash is in namespace `default`.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from sky_core import drift
from sky_core.api.configuration import API_VERSION as CONFIGURATION
from sky_core.api.configuration import KIND, read_configuration
from sky_core.api.identity import Key
from sky_core.api.instants import instant
from sky_core.cycle import REGISTRY, default_policy
from sky_core.model import SECOND, Instant, JobId, QuotaName
from sky_core.plugins import DEFAULT as DEFAULT_PLUGINS
from sky_core.policy import Policy
from sky_core.settings import PREFIX
from sky_core.simulation.cluster import Cluster
from sky_core.simulation.report import Report
from sky_core.simulation.run import run
from sky_core.simulation.scheduler import Scheduler
from sky_core.simulation.timeline import API_VERSION, events
from sky_core.testing.objects import CREATED, GPU, SPOT, Object, group, node, pod, queue, quota

DEFAULT: Final = default_policy()


class Tale:
    """What came of a story. `report` has everything, `told` is its contract as a program reads it."""

    def __init__(self, report: Report) -> None:
        """Of a simulation that broke no invariant."""
        if report.violations:
            raise AssertionError(report.violations)
        self.report = report
        self.told: dict[str, Any] = json.loads(json.dumps(report.contract))

    @property
    def cycles(self) -> int:
        """How many there were."""
        cycles: int = self.told["cycles"]
        return cycles

    @property
    def evicted(self) -> list[str]:
        """Who was evicted, in order."""
        return [_short(eviction["pod"]) for eviction in self.told["evictions"]]

    @property
    def bound(self) -> dict[str, int]:
        """In which cycle each pod was bound last."""
        return {_short(bind["pod"]): bind["cycle"] for bind in self.told["binds"] if bind["result"] == "ok"}

    def tried(self, name: str) -> list[int]:
        """In which cycles a Binding of the pod was sent."""
        return [bind["cycle"] for bind in self.told["binds"] if _short(bind["pod"]) == name]

    def place(self, name: str) -> str | None:
        """The node of a pod that is there."""
        node: str | None = self.told["pods"][_long(name)]["node"]
        return node

    def places(self, *names: str) -> list[str | None]:
        """The nodes of these pods."""
        return [self.place(name) for name in names]

    def quota(self, name: str) -> str | None:
        """The quota that a pod claims."""
        quota: str | None = self.told["pods"][_long(name)]["quota"]
        return quota

    def home(self, quota: str) -> str | None:
        """The node of a quota."""
        node: str | None = self.told["quotas"][quota]["node"]
        return node

    def kept(self, quota: str) -> list[str]:
        """Whose places a quota keeps."""
        return [_short(name) for name in self.told["quotas"][quota]["reserved"]]

    def codes(self, job: str) -> set[str]:
        """What a job is told."""
        return {reason["code"] for reason in self.told["jobs"][_long(job)]["reasons"]}

    def rung(self, job: str) -> str:
        """How far a job has come."""
        rung: str = self.told["jobs"][_long(job)]["rung"]
        return rung


class Stage:
    """A cluster in which who is told to go stays until the test says otherwise. Cycles are a second apart."""

    def __init__(self, *objects: Object, policy: Policy = DEFAULT) -> None:
        """Before the first cycle."""
        self.cluster = Cluster(policy.settings, instant(CREATED))
        for each in (queue("default"), *objects):
            self.cluster.apply(each)
        self.evicted: list[str] = []
        self._scheduler = Scheduler(policy)

    def cycle(self, count: int = 1, meanwhile: tuple[Object, ...] = ()) -> None:
        """Run so many cycles; what was decided is carried out, and bound pods run.

        `meanwhile` is applied after each decision, before it is carried out.
        """
        for _ in range(count):
            self.cluster.step += 1
            outcome = self._scheduler.decide(self.cluster)
            for each in meanwhile:
                self.cluster.apply(each)
            _, evictions, _ = self._scheduler.perform(self.cluster, outcome)
            self.evicted += [_short(eviction.pod) for eviction in evictions if eviction.result == "ok"]
            self.cluster.start_pods()
            self._scheduler.tell(self.cluster, outcome)
            self.cluster.now = Instant(self.cluster.now + SECOND)
        if self._scheduler.violations:
            raise AssertionError(self._scheduler.violations)

    def clear(self) -> None:
        """Let those go at last who were told to in an earlier cycle."""
        self.cluster.step += 1
        self.cluster.clear_away()

    def repair(self) -> None:
        """Let quota-fixer do its part."""
        for mend in drift.plan(self.cluster.world, self.cluster.now):
            self.cluster.mend_quota(mend)

    def status(self, kind: str, name: str) -> Object:
        """The status of an object of the cluster's own scope."""
        return dict(self.cluster.objects[Key(kind, "", name)]["status"])

    def claims(self, quota: str) -> list[str]:
        """Who claims a quota."""
        return [claim.name for claim in self.cluster.world.quotas[QuotaName(quota)].claims]

    def codes(self, job: str) -> tuple[str, ...]:
        """What a job is told: `namespace/name`, or `namespace/pod/name` of a pod without a group."""
        return self._scheduler.verdicts[JobId(job)].codes()

    def place(self, name: str) -> str | None:
        """The node of a pod that is there."""
        return next(task.node for task in self.cluster.world.tasks.values() if task.name == name)


def tell(*objects: Object, later: tuple[Object, ...] = (), cycles: int = 60, policy: Policy = DEFAULT) -> Tale:
    """Simulate these objects, and what happens later; the first cycle is when they were made."""
    timeline = events([{"apiVersion": API_VERSION, "kind": "Timeline", "events": list(later)}])
    return Tale(run(objects, timeline, policy, policy.settings, now=instant(CREATED), cycles=cycles))


def configured(**arguments: Mapping[str, object]) -> Policy:
    """The policy with these arguments for these plugins; one that is off by default is on if it is named."""
    names = (*DEFAULT_PLUGINS, *(name for name in arguments if name not in DEFAULT_PLUGINS))
    plugins = [{"name": name, **({"args": arguments[name]} if arguments.get(name) else {})} for name in names]
    return read_configuration({"apiVersion": CONFIGURATION, "kind": KIND, "plugins": plugins}, REGISTRY)


def at(seconds: int, **event: Any) -> Object:
    """An event."""
    return {"at": f"{seconds}s", **event}


def gone(name: str, kind: str = "Pod") -> Object:
    """What `delete` deletes."""
    return {"kind": kind, "name": name}


def ended(name: str, phase: str = "Succeeded") -> Object:
    """What `finish` says of a pod."""
    return {"name": name, "phase": phase}


def reborn(raw: Object, life: int = 2) -> Object:
    """The same pod made again."""
    return {**raw, "metadata": {**raw["metadata"], "uid": f"{raw['metadata']['name']}'s life {life}"}}


def cards(count: int) -> Object:
    """A request of so many cards."""
    return {GPU: str(count)}


def spot_node(name: str, exclusive: int = 8, shared: int = 0, **fields: Any) -> Object:
    """A node of 8 cards that lends so many of them."""
    amounts = {GPU: "8", "cpu": "64", "memory": "512Gi", "pods": "110", SPOT: str(exclusive + shared)}
    pools = {"spot-pools": json.dumps({"shared": shared, "exclusive": exclusive})}
    return node(name, {**amounts, **fields.pop("more", {})}, notes={**pools, **fields.pop("notes", {})}, **fields)


def spot(name: str, units: int = 1, on: str | None = None, **fields: Any) -> Object:
    """A pod on borrowed cards. `age`: for how many seconds it has been running."""
    requests = {SPOT: str(units), **fields.pop("more", {})}
    if (age := fields.pop("age", None)) is not None:
        fields["status"] = {"startTime": f"2025-12-31T23:{59 - age // 60:02}:{59 - age % 60:02}Z"}
    return pod(name, requests, on=on, **fields)


def fixed(name: str, count: int, on: str, **fields: Any) -> Object:
    """A quota of so many cards that stays on its node whether or not somebody claims it."""
    status = {"phase": "QuotaBound", "nodeName": on, "staticBindStatus": {"nodeName": on, "bound": True}}
    status |= fields.pop("status", {})
    return quota(name, cards(count), status=status, staticBindNode=on, **fields)


def gang(
    name: str, size: int, requests: Mapping[str, object], *, least: int | None = None, **fields: Any
) -> list[Object]:
    """A PodGroup and its pods `name-0` and so on. Fields of the pods; `group` holds those of the PodGroup."""
    head = group(name, size if least is None else least, **fields.pop("group", {}))
    return [head, *(pod(f"{name}-{i}", requests, group=name, **fields) for i in range(size))]


def note(key: str) -> str:
    """The full name of one of our annotations."""
    return PREFIX + key


def _short(name: str) -> str:
    return name.removeprefix("default/")


def _long(name: str) -> str:
    return name if "/" in name else f"default/{name}"
