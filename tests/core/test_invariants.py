from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from sky_core.decisions import BindTask, Certificate, Decision, EvictTask, WriteQuota
from sky_core.invariants import check, check_decisions
from sky_core.model import Instant, JobId, NodeName, Quota, QuotaName, TaskId
from sky_core.resources import NOTHING
from sky_core.testing import rows
from sky_core.testing.rows import claim, gpus
from sky_core.world import World

NOW = Instant(0)
N1 = NodeName("n1")


def a_world() -> World:
    """A gang of two on a node, in two quotas; a third quota is free, a second node is empty."""
    runs = [rows.task(f"w-{i}", node="n1", quota=f"q-{i}") for i in range(2)]
    return rows.world(
        rows.node("n1", spec="a100", zone="s1", index=1),
        rows.node("n2", spec="a100", zone="s1", index=2),
        rows.job("w", 2),
        *runs,
        *(rows.quota(f"q-{i}", 2, node="n1") for i in range(2)),
        rows.quota("q-2", 2),
    )


def spoil(table: str, key: str, **fields: Any) -> Callable[[World], None]:
    """Change a row behind everybody's back."""

    def change(world: World) -> None:
        rows_of = getattr(world, table)
        rows_of[key] = replace(rows_of[key], **fields)

    return change


def assign(table: str, key: str, value: Any) -> Callable[[World], None]:
    return lambda world: getattr(world, table).__setitem__(key, value)


def sum_up(name: str, value: Any) -> Callable[[World], None]:
    return lambda world: setattr(world, name, value)


def test_a_world_that_adds_up_is_left_alone() -> None:
    assert check(a_world()) == ()


@pytest.mark.parametrize(
    ("change", "at", "fault"),
    [
        pytest.param(spoil("books", "n1", used=gpus(3)), "node n1", "used is nvidia.com/gpu=3", id="used"),
        pytest.param(spoil("books", "n1", promised=NOTHING), "node n1", "promised is nothing", id="promised"),
        pytest.param(spoil("books", "n1", pods=7), "node n1", "pods is 7, counted 2", id="pods"),
        pytest.param(assign("tasks_on", "n2", ("uid-w-0",)), "node n2", "lists tasks uid-w-0", id="tasks on a node"),
        pytest.param(assign("quotas_on", "n1", ("q-0",)), "node n1", "on it are q-0, q-1", id="quotas on a node"),
        pytest.param(assign("quotas_on", "n1", ("q-0", "q-1", "q-1")), "node n1", "lists quotas", id="listed twice"),
        pytest.param(spoil("quotas", "q-0", claimed=gpus(2)), "quota q-0", "its claims are nvidia.com/gpu=1", id="sum"),
        pytest.param(spoil("tasks", "uid-w-0", quota="q-1"), "task default/w-0", "its claim is in q-0", id="claimant"),
        pytest.param(spoil("tasks", "uid-w-0", quota=None), "task default/w-0", "names quota None", id="no quota"),
        pytest.param(spoil("jobs", "default/w", tasks=("uid-w-0",)), "job default/w", "its own are", id="members"),
        pytest.param(assign("specs", "a100", ("n2", "n1")), "specs", "are", id="order of a spec code"),
        pytest.param(lambda world: world.zones.clear(), "zones", "are []", id="zones"),
        pytest.param(sum_up("total", gpus(1)), "total", "is nvidia.com/gpu=1", id="total"),
        pytest.param(sum_up("anti_affine", 1), "anti_affine", "is 1, counted 0", id="anti-affinity"),
        pytest.param(sum_up("quotas_apart", 1), "quotas_apart", "is 1, counted 0", id="quotas apart"),
    ],
)
def test_what_is_kept_beside_the_rows_must_equal_them(change: Callable[[World], None], at: str, fault: str) -> None:
    world = a_world()
    change(world)

    found = check(world)

    assert {violation.invariant for violation in found} == {"I5"}
    assert any(violation.object == at and fault in violation.fault for violation in found), found


def test_members_are_listed_in_rank_order() -> None:
    ranked = [rows.task(f"w-{i}", rank=(i,)) for i in range(2)]
    world = rows.world(rows.job("w", 2), *ranked)
    assert check(world) == ()
    spoil("jobs", "default/w", tasks=("uid-w-1", "uid-w-0"))(world)
    assert [violation.object for violation in check(world)] == ["job default/w"]


def faults(world: World, *decisions: Decision) -> list[tuple[str, str]]:
    return [(violation.invariant, violation.object) for violation in check_decisions(world, decisions, NOW)]


def write(row: Quota, node: str | None) -> WriteQuota:
    return WriteQuota.of(row.on(NodeName(node) if node is not None else None))


def bind(name: str, node: str = "n1", job: str = "default/w") -> BindTask:
    return BindTask(task=TaskId(f"uid-{name}"), job=JobId(job), node=NodeName(node), quota=None)


def test_a_promise_must_be_there() -> None:
    world = rows.world(rows.node("n1", 8), rows.quota("q-0", 6, node="n1"), rows.quota("q-1", 2), rows.quota("q-2", 3))
    one, two = world.quotas[QuotaName("q-1")], world.quotas[QuotaName("q-2")]
    assert faults(world, write(one, "n1")) == []
    assert faults(world, write(two, "n1")) == [("I1", "node n1")]
    assert faults(world, write(one, "n1"), write(two, "n1")) == [("I1", "node n1")]


def test_a_promise_may_take_the_place_of_one_that_ends() -> None:
    world = rows.world(rows.node("n1", 8), rows.quota("q-0", 8, node="n1"), rows.quota("q-1", 8))
    old, new = world.quotas[QuotaName("q-0")], world.quotas[QuotaName("q-1")]
    assert faults(world, write(old, None), write(new, "n1")) == []


def test_others_who_use_a_node_leave_less_to_promise() -> None:
    world = rows.world(rows.node("n1", 8), rows.task("x", node="n1", request=gpus(7)), rows.quota("q-0", 2))
    assert faults(world, write(world.quotas[QuotaName("q-0")], "n1")) == [("I1", "node n1")]


def test_what_was_too_much_before_is_not_our_doing() -> None:
    """A node that lost cards, and a claim that is written on its quota."""
    task = rows.task("w-0", quota="q-0")
    world = rows.world(rows.node("n1", 2), rows.quota("q-0", 8, node="n1"), task)
    row = world.quotas[QuotaName("q-0")]
    assert faults(world, write(row.without_claims((task.id,)), "n1")) == []
    assert faults(world, write(row, None)) == []


def test_a_promise_on_a_node_that_does_not_exist_is_too_much() -> None:
    world = rows.world(rows.quota("q-0", 1))
    assert faults(world, write(world.quotas[QuotaName("q-0")], "gone")) == [("I1", "node gone")]


def test_who_is_bound_must_fit_what_is_idle() -> None:
    pods = [rows.task(f"w-{i}", request=gpus(3)) for i in range(2)]
    world = rows.world(rows.node("n1", 8), rows.task("x", node="n1", request=gpus(4)), rows.job("w", 1), *pods)
    assert faults(world, bind("w-0")) == []
    assert faults(world, bind("w-0"), bind("w-1")) == [("I2", "node n1")]


def test_a_node_takes_no_more_pods_than_it_says() -> None:
    pods = [rows.task(f"w-{i}") for i in range(2)]
    world = rows.world(rows.node("n1", 8, pods_max=1), rows.job("w", 1), *pods)
    assert faults(world, bind("w-0")) == []
    assert faults(world, bind("w-0"), bind("w-1")) == [("I2", "node n1")]


def test_spot_pods_fit_their_pool() -> None:
    spot = [rows.spot_task(f"w-{i}", 2) for i in range(2)]
    machine = rows.node("n1", 8, exclusive=2000)
    machine = replace(machine, allocatable=machine.allocatable + spot[0].shape.request.times(2))
    world = rows.world(machine, rows.job("w", 1), *spot)
    assert faults(world, bind("w-0")) == []
    assert faults(world, bind("w-0"), bind("w-1")) == [("I2", "node n1")]


def test_the_first_decision_binds_all_needed_members_or_none() -> None:
    world = rows.world(rows.node("n1"), rows.job("w", 2), *(rows.task(f"w-{i}") for i in range(3)))
    assert faults(world, bind("w-0")) == [("I3", "job default/w")]
    assert faults(world, bind("w-0"), bind("w-1")) == []


def test_roles_have_needed_members_too() -> None:
    roles = (("master", 1), ("worker", 1))
    world = rows.world(
        rows.node("n1"),
        rows.job("w", 2, min_task_member=roles),
        *(rows.task(f"w-{i}", role=role) for i, role in enumerate(["master", "worker", "worker"])),
    )
    assert faults(world, bind("w-1"), bind("w-2")) == [("I3", "job default/w")]
    assert faults(world, bind("w-0"), bind("w-2")) == []


def test_a_started_gang_may_be_completed_one_by_one() -> None:
    world = rows.world(rows.node("n1"), rows.job("w", 3), rows.task("w-0", node="n1"), rows.task("w-1"))
    assert faults(world, bind("w-1")) == []


def test_a_gang_whose_place_is_kept_needs_only_the_members_that_exist() -> None:
    lost = rows.task("w-1")
    place = rows.quota("q", 2, node="n1", reservations=(rows.kept(lost, "n1", expires=1),))
    world = rows.world(rows.node("n1"), rows.job("w", 2), rows.task("w-0"), place)
    assert faults(world, bind("w-0")) == []
    world.quotas[place.name] = place.with_reservations(())
    assert faults(world, bind("w-0")) == [("I3", "job default/w")]


def test_a_claim_that_will_turn_into_a_reservation_keeps_a_place_too() -> None:
    lost = rows.task("w-1", reservation=1)
    place = rows.quota("q", 2, node="n1", claims=(claim(lost),))
    world = rows.world(rows.node("n1"), rows.job("w", 2), rows.task("w-0"), place)
    assert faults(world, bind("w-0")) == []


def spot_world() -> World:
    """Two spot pods of 4 cards fill a node on which a claimant of 6 holds a quota."""
    return rows.world(
        rows.node("n1", 8, exclusive=8000),
        rows.job("w", 1),
        rows.task("w-0", request=gpus(6), quota="q"),
        rows.quota("q", 8, node="n1"),
        *(rows.spot_task(f"s-{i}", 3, node="n1") for i in range(2)),
    )


def evict(world: World, *victims: str, needed: int = 6, idle: int = 2, **fields: Any) -> list[EvictTask]:
    ids = [TaskId(f"uid-{victim}") for victim in victims]
    frees = tuple((id_, world.tasks[id_].shape.load) for id_ in ids)
    told: dict[str, Any] = {"claimant": JobId("default/w"), "node": N1, "needed": gpus(needed), "idle": gpus(idle)}
    certificate = Certificate(**{**told, "frees": frees, "cost": 2, "alone": None, **fields})
    return [EvictTask(task=id_, node=N1, certificate=certificate) for id_ in ids]


def test_victims_go_on_a_certificate_that_adds_up() -> None:
    world = spot_world()
    assert faults(world, *evict(world, "s-0", "s-1")) == []


@pytest.mark.parametrize(
    ("victims", "fields", "fault"),
    [
        pytest.param(["s-0"], {}, "still lacks nvidia.com/gpu=1", id="not enough"),
        pytest.param(["s-0", "s-1"], {"needed": 5}, "could be spared", id="too many"),
        pytest.param(["s-0", "s-1"], {"idle": 3, "needed": 9}, "the certificate says", id="idle that is not there"),
        pytest.param(["s-0", "s-1"], {"needed": 7}, "does not need that much", id="more than is needed"),
        pytest.param(["s-0", "s-1"], {"frees": ()}, "its certificate is for nobody", id="no victims named"),
        pytest.param(["s-0"], {"frees": (("uid-s-0", gpus(9)),)}, "something else than it takes", id="frees too much"),
        pytest.param(["s-0", "s-1"], {"alone": 1}, "a single pod would do for less", id="one would do"),
        pytest.param(["s-0"], {"node": NodeName("n2")}, "the room is made on n2", id="another node"),
    ],
)
def test_no_eviction_without_a_sound_certificate(victims: list[str], fields: dict[str, Any], fault: str) -> None:
    world = spot_world()
    found = check_decisions(world, evict(world, *victims, **fields), NOW)
    assert found
    assert {violation.invariant for violation in found} == {"I4"}
    assert any(fault in violation.fault for violation in found), found


def test_all_victims_of_a_certificate_go() -> None:
    world = spot_world()
    assert faults(world, evict(world, "s-0", "s-1")[0]) == [("I4", "task uid-s-0")]
