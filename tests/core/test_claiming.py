"""Which quota a task claims, and why not another (behaviour.md 5.1)."""

from collections.abc import Mapping, Sequence
from typing import Any

from sky_core.api.instants import instant
from sky_core.cycle import default_policy
from sky_core.model import Instant
from sky_core.simulation.run import run
from sky_core.simulation.timeline import events
from sky_core.testing.objects import GPU, Object, group, node, pod, queue, quota
from sky_core.testing.stories import Stage
from sky_core.waiting import LONGEST

NOW = instant("2026-01-01T00:00:00Z")
TIMELINE = {"apiVersion": "simulation.scheduling.infini-ai.com/v1alpha1", "kind": "Timeline"}
SPEC = "scheduling.infini-ai.com/spec"


def cards(count: int, **more: str) -> dict[str, str]:
    return {GPU: str(count), **more}


def machine(name: str, count: int = 8, *, kind: str = "", **spec: Any) -> Object:
    return node(
        name,
        cards(count, cpu="64", memory="256Gi", pods="110"),
        labels={"kubernetes.io/hostname": name, **({SPEC: kind} if kind else {})},
        **spec,
    )


def bound(name: str, count: int, to: str, **fields: Any) -> Object:
    return quota(name, cards(count), status={"phase": "QuotaBound", "nodeName": to}, **fields)


def simulated(objects: Sequence[Object], *later: Mapping[str, Any]) -> dict[str, Any]:
    policy = default_policy()
    script = events([{**TIMELINE, "events": list(later)}]) if later else ()
    report = run(objects, script, policy, policy.settings, now=NOW, cycles=100)
    assert not report.violations
    return report.contract


def quota_of(said: dict[str, Any], name: str) -> str | None:
    found: str | None = said["pods"][f"default/{name}"]["quota"]
    return found


def codes(said: dict[str, Any], job: str) -> set[str]:
    return {reason["code"] for reason in said["jobs"][f"default/{job}"]["reasons"]}


def test_free_quotas_go_in_natural_order() -> None:
    said = simulated([machine("n0"), *(quota(f"q-{i}", cards(1)) for i in (10, 2, 1)), pod("p", cards(1))])

    assert quota_of(said, "p") == "q-1"


def test_the_quota_with_least_left_over_is_claimed() -> None:
    said = simulated([machine("n0"), quota("a", cards(8)), quota("b", cards(2)), pod("p", cards(2))])

    assert quota_of(said, "p") == "b"


def test_preferred_quotas_win_over_what_is_left() -> None:
    gold = quota("gold", cards(8), metadata={"labels": {"tier": "gold"}})
    wish = {"preferred-quota-affinity": "tier in (gold, silver)"}
    said = simulated([machine("n0"), gold, quota("tin", cards(1)), pod("p", cards(1), notes=wish)])

    assert quota_of(said, "p") == "gold"


def test_static_bound_before_bound_before_free() -> None:
    static = bound("z-static", 1, "n0", staticBindNode="n0")
    said = simulated([machine("n0"), static, bound("y-bound", 1, "n0"), quota("a", cards(1)), pod("p", cards(1))])
    assert quota_of(said, "p") == "z-static"

    said = simulated([machine("n0"), bound("y-bound", 1, "n0"), quota("a", cards(1)), pod("p", cards(1))])
    assert quota_of(said, "p") == "y-bound"


def test_a_quota_of_another_queue_is_used_only_where_it_is_shared() -> None:
    others = [queue("theirs"), quota("q", cards(1), queue="theirs")]
    said = simulated([machine("n0"), *others, pod("p", cards(1))])
    assert quota_of(said, "p") is None
    assert codes(said, "p") == {"InsufficientQuota"}

    shared = [queue("theirs"), quota("q", cards(1), queue="theirs", sharedQueues=["default"])]
    assert quota_of(simulated([machine("n0"), *shared, pod("p", cards(1))]), "p") == "q"


def test_an_unbound_quota_serves_one_job_and_a_bound_one_any() -> None:
    late = {"at": "5s", "apply": pod("second", cards(1))}
    said = simulated([machine("n0"), quota("q", cards(2)), pod("first", cards(1))], late)

    assert quota_of(said, "first") == quota_of(said, "second") == "q"


def test_what_a_quota_does_not_name_is_bounded_by_its_node() -> None:
    hungry = pod("p", cards(1, cpu="65"))
    said = simulated([machine("n0"), quota("q", cards(1)), hungry])
    assert quota_of(said, "p") is None
    assert codes(said, "p") & {"InsufficientQuotaIdle", "NeverFits"}

    said = simulated([machine("n0"), quota("q", cards(1)), pod("p", cards(1, cpu="64"))])
    assert quota_of(said, "p") == "q"
    assert said["nodes"]["n0"]["quotaIdle"]["cpu"] == "0"


def test_what_a_quota_names_is_bounded_by_it() -> None:
    said = simulated([machine("n0"), quota("q", cards(1, cpu="2")), pod("p", cards(1, cpu="4"))])

    assert quota_of(said, "p") is None
    assert codes(said, "p") == {"InsufficientQuota"}


def test_an_extended_resource_that_is_not_named_counts_as_none() -> None:
    said = simulated([machine("n0"), quota("q", {"cpu": "8"}), pod("p", cards(1))])

    assert codes(said, "p") == {"InsufficientQuota"}


def test_selectors_that_contradict_are_told_apart_by_their_key() -> None:
    picky = pod("p", cards(1), nodeSelector={SPEC: "h100", "rack": "r1"})
    said = simulated([machine("n0"), quota("a", cards(1), nodeSelector={SPEC: "a100"}), picky])
    assert "SpecMismatch" in codes(said, "p")

    said = simulated([machine("n0"), quota("a", cards(1), nodeSelector={"rack": "r2"}), picky])
    assert "NodeSelectorNotMatch" in codes(said, "p")


def test_a_named_quota_without_room_has_no_fallback() -> None:
    named = pod("p", cards(2), notes={"quota-name": "small"})
    said = simulated([machine("n0"), quota("small", cards(1)), quota("big", cards(8)), named])

    assert quota_of(said, "p") is None
    assert codes(said, "p") == {"QuotaUnavailable", "InsufficientQuota"}


def test_a_named_quota_that_does_not_exist_is_said_to_be_missing() -> None:
    said = simulated([machine("n0"), pod("p", cards(1), notes={"quota-name": "nope"})])

    assert codes(said, "p") == {"QuotaNotFound"}


def test_a_gang_goes_to_the_kind_of_card_where_its_members_are() -> None:
    nodes = [machine("a0", kind="a100"), machine("h0", kind="h100"), machine("h1", kind="h100")]
    running = pod("j-0", cards(8), group="j", on="h0")
    said = simulated(
        [
            *nodes,
            *(quota(f"q-{i}", cards(8)) for i in range(2)),
            group("j", 2),
            running,
            pod("j-1", cards(8), group="j"),
        ]
    )

    assert said["pods"]["default/j-1"]["node"] == "h1"


def test_a_gang_goes_where_its_bound_quotas_are() -> None:
    nodes = [
        machine("a0", kind="a100"),
        machine("a1", kind="a100"),
        machine("h0", kind="h100"),
        machine("h1", kind="h100"),
    ]
    said = simulated(
        [
            *nodes,
            bound("q-h", 8, "h1"),
            quota("q-0", cards(8)),
            group("j", 2),
            *(pod(f"j-{i}", cards(8), group="j") for i in range(2)),
        ]
    )

    assert {said["pods"][f"default/j-{i}"]["node"] for i in range(2)} == {"h0", "h1"}


def test_members_that_name_a_card_follow_that_instead() -> None:
    nodes = [machine("a0", kind="a100"), machine("h0", kind="h100"), machine("h1", kind="h100")]
    master = pod("j-0", cards(1), group="j", nodeSelector={SPEC: "a100"})
    workers = [pod(f"j-{i}", cards(8), group="j") for i in (1, 2)]
    quotas = [quota("q-m", cards(1)), *(quota(f"q-{i}", cards(8)) for i in range(2))]
    said = simulated([*nodes, *quotas, group("j", 3), master, *workers])

    assert [said["pods"][f"default/j-{i}"]["node"] for i in range(3)] == ["a0", "h0", "h1"]


def test_a_shape_that_found_no_node_is_claimed_last_the_next_time() -> None:
    apart = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "kubernetes.io/hostname"}
            ]
        }
    }
    blocker = pod("blocker", {"cpu": "1"}, on="a0", scheduler="other", metadata={"labels": {"app": "x"}})
    nodes = [machine("a0", kind="a100"), machine("b0", kind="b100")]
    quotas = [quota("q-0", cards(8), nodeSelector={SPEC: "a100"}), quota("q-1", cards(8), nodeSelector={SPEC: "b100"})]
    said = simulated([*nodes, blocker, *quotas, pod("p", cards(8), affinity=apart)])

    assert said["pods"]["default/p"] == {"state": "Running", "quota": "q-1", "node": "b0"}


def test_shapes_that_found_no_node_are_all_remembered_so_that_the_job_settles_on_what_it_tells() -> None:
    stage = Stage(
        node("n", {GPU: "7", "cpu": "64", "pods": "110"}),
        pod("other", {GPU: "4"}, scheduler="another", on="n"),
        *(quota(f"q{size}", {GPU: str(size)}) for size in (6, 8, 9)),
        pod("w", {GPU: "5"}),
    )
    told = []
    for _ in range(6):
        stage.cycle()
        told.append(stage.codes("default/pod/w"))
        stage.cluster.now = Instant(stage.cluster.now + LONGEST)
    full, never = told[:2]
    assert full != never
    assert told == [full, never, never, full, full, full]


def test_a_task_with_an_empty_request_claims_its_jobs_own_quota_first() -> None:
    said = simulated(
        [
            machine("n0"),
            quota("a-free", cards(1)),
            quota("z-mine", cards(1)),
            group("j", 2),
            pod("j-0", cards(1), group="j", notes={"quota-name": "z-mine"}),
            pod("j-1", {}, group="j"),
        ]
    )

    assert quota_of(said, "j-1") == "z-mine"


def test_extras_grow_one_by_one_and_the_gang_does_not_wait_for_them() -> None:
    said = simulated(
        [
            machine("n0", 3),
            *(quota(f"q-{i}", cards(1)) for i in range(5)),
            group("j", 2),
            *(pod(f"j-{i}", cards(1), group="j") for i in range(5)),
        ]
    )

    running = [name for name, found in said["pods"].items() if found["state"] == "Running"]
    assert running == ["default/j-0", "default/j-1", "default/j-2"]
    assert "InsufficientQuotaIdle" in codes(said, "j")
    assert said["jobs"]["default/j"]["phase"] == "Running"


def test_a_shadow_lets_tasks_claim_more_than_the_node_promises() -> None:
    lent = quota("q", cards(1), status={"shadowResource": cards(1)})
    said = simulated([machine("n0", 2), lent, *(pod(f"p-{i}", cards(1)) for i in range(2))])

    assert quota_of(said, "p-0") == quota_of(said, "p-1") == "q"
    assert said["nodes"]["n0"]["quotaIdle"][GPU] == "1"
