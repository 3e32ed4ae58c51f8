import pytest

from sky_core.model import SECOND, Instant, Mount, NodeName, QuotaName, TaskId
from sky_core.plugins.storage import PLUGIN
from sky_core.reasons import Code, Reason
from sky_core.testing.rows import context, node, parcel, quota, task, world

READY_SINCE = 1_000

MOUNTS: dict[str, tuple[dict[str, tuple[bool, int]], str | None]] = {
    "reported and fresh": ({"mp1": (True, 1_001)}, None),
    "reported just as the node became Ready": ({"mp1": (True, 1_000)}, None),
    "90 s earlier is forgiven": ({"mp1": (True, 910)}, None),
    "91 s is not": ({"mp1": (True, 909)}, "mp1 on n0 was last reported before the node became Ready"),
    "not ready": ({"mp1": (False, 2_000)}, "mp1 on n0 is not ready"),
    "not reported": ({"mp2": (True, 2_000)}, "mp1 on n0 is not reported"),
}


@pytest.mark.parametrize(("mounts", "detail"), MOUNTS.values(), ids=MOUNTS)
def test_a_mount_must_be_ready_in_all_three_hops(mounts: dict[str, tuple[bool, int]], detail: str | None) -> None:
    conditions = {name: Mount(ready, Instant(beat * SECOND)) for name, (ready, beat) in mounts.items()}
    n0 = node("n0", mounts=conditions, ready_since=Instant(READY_SINCE * SECOND))
    w = world(n0, quota("q", node="n0"), task("w-0", quota="q"), task("p", quota="q", mounts=("mp1",)))
    functions = PLUGIN.open(context(w), None)
    assert functions.tq.predicate
    assert functions.qn.predicate
    assert functions.tn.predicate
    pod = w.tasks[TaskId("uid-p")]
    expected = None if detail is None else Reason(Code.STORAGE_NOT_READY, detail=detail)
    assert functions.tq.predicate(pod, w.quotas[QuotaName("q")]) == expected
    assert functions.qn.predicate(parcel(w, "q"), n0.node) == expected
    assert functions.tn.predicate(pod, n0.node) == expected


def test_the_second_mount_is_asked_for_as_well() -> None:
    n0 = node("n0", mounts={"mp1": Mount(True, Instant(0))})
    ask = PLUGIN.open(context(world(n0)), None).tn.predicate
    assert ask is not None
    refusal = ask(task("p", mounts=("mp1", "mp2")), n0.node)
    assert refusal is not None
    assert "mp2" in refusal.detail


def test_hop_1_asks_the_node_that_a_quota_is_fixed_to_and_none_for_a_free_one() -> None:
    w = world(node("n0"), quota("free"), quota("fixed", static_node=NodeName("n0")), quota("lost", node="n9"))
    ask = PLUGIN.open(context(w), None).tq.predicate
    assert ask is not None
    pod = task("p", mounts=("mp1",))
    refused = {name for name, row in w.quotas.items() if ask(pod, row) is not None}
    assert refused == {"fixed"}
