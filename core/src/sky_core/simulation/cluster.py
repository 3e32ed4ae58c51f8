"""The cluster's part: objects by key, and what an API server, kubelets and controllers do with them."""

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from sky_core import status
from sky_core.api import annotations
from sky_core.api.conditions import condition, merged
from sky_core.api.encode import quota_status
from sky_core.api.identity import NAMESPACED, Key, is_name, key_of
from sky_core.api.instants import rfc3339
from sky_core.api.intake import Intake
from sky_core.api.reports import job_queue_status, pod_group_status
from sky_core.decisions import WriteQuota
from sky_core.drift import Mend
from sky_core.model import Instant, Job, NodeName, Quota, QuotaName, Task
from sky_core.reasons import Verdict
from sky_core.settings import Settings
from sky_core.simulation.objects import Object, conditions, part, text, written
from sky_core.simulation.timeline import OUTCOME_UNKNOWN
from sky_core.status import JobQueueStatus
from sky_core.world import World

OK: Final = "ok"
"""The answer to a call that was carried out."""


class Cluster:
    """Everything that a cycle sees, and everything that becomes of its decisions.

    `step` counts the cycles, from 1; what is there before the first is of step 0. `changes` counts the changes so far
    that a later cycle may decide on.
    """

    def __init__(self, settings: Settings, now: Instant) -> None:
        """An empty cluster."""
        self.now = now
        self.step = 0
        self.changes = 0
        self.objects: dict[Key, Object] = {}
        self.intake = Intake(settings)
        self._leaving: dict[Key, int] = {}
        self._starting: dict[Key, None] = {}
        self._answers: dict[Key, list[int]] = {}

    @property
    def world(self) -> World:
        """The rows that the objects stand for."""
        return self.intake.world()

    @property
    def waits_for_pods_to_go(self) -> bool:
        """Whether a pod is terminating."""
        return bool(self._leaving)

    def apply(self, raw: Object) -> None:
        """Create an object, or replace the one of its kind and name.

        A replaced object keeps what the cluster has made of it unless the new one says otherwise; one with another uid
        is another object, and the old one is gone at once.
        """
        key = key_of(raw)
        old = self.objects.get(key)
        new = self._admitted(key, raw, old)
        if old is not None and text(part(old, "metadata"), "uid") != text(part(new, "metadata"), "uid"):
            self._gone(key)
        self._put(key, new)
        if is_name(key.namespace) and Key("Namespace", "", key.namespace) not in self.objects:
            self.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": key.namespace}})

    def delete(self, key: Key) -> bool:
        """Delete an object; False where there is none. A pod on a node is told to go, and goes a step later."""
        raw = self.objects.get(key)
        if raw is None:
            return False
        if key.kind == "Pod" and text(part(raw, "spec"), "nodeName"):
            self._tell_to_go(key)
        else:
            self._gone(key)
        return True

    def finish(self, key: Key, phase: str) -> bool:
        """Let a pod end; False where there is none."""
        raw = self.objects.get(key)
        if raw is None:
            return False
        self._put(key, written(raw, ("status", "phase"), phase))
        return True

    def fail_next_bind(self, key: Key, status: int) -> None:
        """Answer the pod's next Binding with this status; several add up."""
        self._answers.setdefault(key, []).append(status)

    def write_quota(self, write: WriteQuota) -> None:
        """Write a Quota's status, if it is still there."""
        key, quota = Key("Quota", "", write.quota), self.world.quotas.get(write.quota)
        if quota is not None:
            raw = self.objects[key]
            status = quota_status(write, quota, self.now, conditions(raw))
            self._put(key, written(raw, ("status",), status))

    def mend_quota(self, mend: Mend) -> None:
        """Write a Quota's status as quota-fixer does: with its static bind, and the conditions that have changed."""
        key, quota = Key("Quota", "", mend.write.quota), self.world.quotas[mend.write.quota]
        self._put(key, mended(self.objects[key], quota, mend, self.now))

    def report_job(self, job: Job, verdict: Verdict, next_attempt: Instant | None) -> None:
        """Write what the scheduler tells of a job into its PodGroup. That alone is no change."""
        key = Key("PodGroup", job.namespace, job.name)
        if not job.grouped or key not in self.objects:
            return
        world, raw, changes = self.world, self.objects[key], self.changes
        phase, counts = status.phase(world, job, verdict), status.task_counts(world, job)
        told = pod_group_status(phase, counts, verdict, next_attempt, conditions(raw), self.now)
        self._put(key, written(raw, ("status",), told))
        self.changes = changes

    def report_job_queue(self, name: str, report: JobQueueStatus) -> None:
        """Write what a controller tells of a JobQueue. That alone is no change."""
        key, changes = Key("JobQueue", "", name), self.changes
        if key in self.objects:
            self._put(key, written(self.objects[key], ("status",), job_queue_status(report)))
            self.changes = changes

    def bind(self, task: Task, node: NodeName, quota: QuotaName | None) -> str:
        """Bind a pod, and answer as the API server does: `ok`, or why not."""
        key = Key("Pod", task.namespace, task.name)
        status = self._answers[key].pop(0) if self._answers.get(key) else None
        if status is not None and status != OUTCOME_UNKNOWN:
            return f"HTTP {status}"
        if refusal := self._no_bind(task, node):
            return refusal
        raw = written(self.objects[key], ("spec", "nodeName"), node)
        if quota is not None:
            raw = written(raw, ("metadata", "annotations", annotations.QUOTA_NAME), quota)
        scheduled = merged(conditions(raw), condition("PodScheduled", holds=True), self.now)
        self._put(key, written(raw, ("status", "conditions"), scheduled))
        return OK if status is None else f"HTTP {status}"

    def evict(self, task: Task) -> str:
        """Evict a pod through the Eviction API: `ok`, or which PodDisruptionBudget is in the way."""
        for _, budget in sorted(self.world.budgets.items()):
            if budget.namespace == task.namespace and budget.pods.matches(task.labels) and budget.allowed < 1:
                return f"HTTP 429: PodDisruptionBudget {budget.namespace}/{budget.name} allows no disruption"
        self._tell_to_go(Key("Pod", task.namespace, task.name))
        return OK

    def start_pods(self) -> None:
        """The kubelets' part: pods that have got a node run."""
        for key in list(self._starting):
            raw = self.objects[key]
            if Key("Node", "", text(part(raw, "spec"), "nodeName")) not in self.objects:
                continue
            running = {**part(raw, "status"), "phase": "Running", "startTime": rfc3339(self.now)}
            self._put(key, written(raw, ("status",), running))

    def clear_away(self) -> list[Key]:
        """Pods that were told to go in an earlier step are gone: which."""
        leaving = sorted(key for key, step in self._leaving.items() if step < self.step)
        for key in leaving:
            self._gone(key)
        return leaving

    def _admitted(self, key: Key, raw: Object, old: Object | None) -> Object:
        """The object with what an API server adds, and with what the old one has and this one does not bring."""
        meta = dict(part(raw, "metadata"))
        if key.kind in NAMESPACED:
            meta["namespace"] = key.namespace
        before = part(old, "metadata") if old is not None else {}
        meta["uid"] = meta.get("uid") or before.get("uid") or str(key)
        meta["creationTimestamp"] = (
            meta.get("creationTimestamp") or before.get("creationTimestamp") or rfc3339(self.now)
        )
        if key.kind == "Namespace" and isinstance(meta.setdefault("labels", {}), Mapping):
            meta["labels"] = {**meta["labels"], "kubernetes.io/metadata.name": key.name}
        new: Object = {**raw, "metadata": meta}
        if old is None or before.get("uid") != meta["uid"]:
            return new
        if new.get("status") is None and "status" in old:
            new = written(new, ("status",), old["status"])
        return still_bound(new, old) if key.kind == "Pod" else new

    def _no_bind(self, task: Task, node: NodeName) -> str:
        """Why the pod cannot have this node; empty if it can."""
        world = self.world
        now = world.tasks.get(task.id)
        if now is None:
            return "HTTP 404: the pod is gone"
        if now.node is not None:
            return f"HTTP 409: the pod is bound to node {now.node}"
        if node not in world.nodes:
            return f"HTTP 404: there is no node {node}"
        book = world.books[node]
        if lacking := task.shape.load.shortfall(book.idle):
            return f"node {node} lacks {lacking}"
        return "" if book.pods < world.nodes[node].pods_max else f"node {node} takes no more pods"

    def _tell_to_go(self, key: Key) -> None:
        self._put(key, written(self.objects[key], ("metadata", "deletionTimestamp"), rfc3339(self.now)))

    def _put(self, key: Key, raw: Object) -> None:
        if self.objects.get(key) == raw:
            return
        self.objects[key] = raw
        self.intake.put(raw)
        self.changes += 1
        if key.kind == "Pod":
            self._watch(key, raw)

    def _watch(self, key: Key, raw: Object) -> None:
        """Keep in mind which pods have yet to start, and which to go."""
        if part(raw, "metadata").get("deletionTimestamp"):
            self._leaving.setdefault(key, self.step)
            self._starting.pop(key, None)
        elif text(part(raw, "spec"), "nodeName") and text(part(raw, "status"), "phase") in ("", "Pending"):
            self._starting[key] = None
        else:
            self._starting.pop(key, None)

    def _gone(self, key: Key) -> None:
        del self.objects[key]
        self.intake.remove(*key)
        self._leaving.pop(key, None)
        self._starting.pop(key, None)
        self.changes += 1


def mended(raw: Object, quota: Quota, mend: Mend, now: Instant) -> Object:
    """A Quota with the status that quota-fixer gives it."""
    told = conditions(raw)
    known = {one.get("type") for one in told}
    for one in mend.conditions:
        if not one.usual or one.type in known:
            said = condition(one.type, holds=one.holds, reason=one.reason, message=one.message)
            told = merged(told, said, now)
    if mend.drifted:
        quota = replace(quota, static_bound=mend.static is not None)
        return written(raw, ("status",), quota_status(mend.write, quota, now, told))
    return written(raw, ("status", "conditions"), told) if told else raw


def still_bound(new: Object, old: Object) -> Object:
    """A pod with the node and the quota that binding gave the old one, and its order to go, where it has none."""
    for path in _BINDING if text(part(old, "spec"), "nodeName") else _ORDER:
        *where, name = path
        kept = part(old, *where).get(name)
        if kept and not part(new, *where).get(name):
            new = written(new, path, kept)
    return new


_ORDER: Final = (("metadata", "deletionTimestamp"),)
_BINDING: Final = (("spec", "nodeName"), ("metadata", "annotations", annotations.QUOTA_NAME), *_ORDER)
