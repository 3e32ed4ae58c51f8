"""What skyctl bench cluster runs on, as far as that can be seen without a server."""

from collections.abc import Iterator
from typing import Any

import pytest

from sky_core.api.encode import quota_status
from sky_core.course import Course
from sky_core.cycle import default_policy
from sky_core.decisions import WriteQuota
from sky_core.model import SECOND, Instant
from sky_core.settings import Settings
from skyctl.bench.cluster.command import EVENTS
from skyctl.bench.cluster.objects import bound, node, queue
from skyctl.bench.cluster.race import Heat
from skyctl.command_line import status

NOW = Instant(1_767_312_000 * SECOND)
Object = dict[str, Any]


def stored(heat: Heat) -> Iterator[Object]:
    """As a server has the objects of a heat."""
    for _, one in heat.objects("sky-scheduler"):
        meta = {
            **one["metadata"],
            "uid": f"{one['kind']}-{one['metadata']['name']}",
            "creationTimestamp": "2026-01-01T00:00:00Z",
        }
        yield {**one, "metadata": meta}


@pytest.mark.parametrize("quotas", [1, 8])
def test_the_null_scheduler_writes_what_ours_writes(quotas: int) -> None:
    objects = list(stored(Heat("heat-", 2, quotas)))
    course = Course(Settings())
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
    for one in (namespace, queue(), node(0) | {"spec": {}}, node(1), *objects):
        course.intake.put(one)
    decisions = course.cycle(default_policy(), NOW).decisions
    writes = [one for one in decisions if isinstance(one, WriteQuota)]
    assert len(writes) == 2 * quotas
    for write in writes:
        ours = quota_status(write, course.world.quotas[write.quota], NOW)
        quota = next(one for one in objects if (one["kind"], one["metadata"]["name"]) == ("Quota", write.quota))
        uids = {claim.task for claim in write.claims}
        members = [one for one in objects if one["metadata"]["uid"] in uids]
        null = bound(quota, ours["nodeName"], members, epoch=1)
        ours["conditions"][0]["lastTransitionTime"] = null["conditions"][0]["lastTransitionTime"]
        assert {**ours, "epoch": 1} == null


def test_a_workload_can_be_made_smaller() -> None:
    few = EVENTS["per-pod"].scaled(0.004)
    assert (few.nodes, few.gangs, few.quotas) == (4, 2, 8)
    few = EVENTS["start"].scaled(0.004)
    assert (few.nodes, few.standing, few.gangs) == (20, 10, 1)


def test_a_wrong_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert status(["bench", "cluster", "nothing"]) == 2
    assert "per-pod, per-gang, start" in capsys.readouterr().err
