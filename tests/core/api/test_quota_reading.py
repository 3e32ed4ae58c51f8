from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sky_core.api.encode import quota_status
from sky_core.api.identity import key_of
from sky_core.api.intake import Intake
from sky_core.api.names import natural
from sky_core.api.quotas import read
from sky_core.constraints import PreferredQuota, QuotaTerm
from sky_core.decisions import WriteQuota
from sky_core.ledger import quota_recount
from sky_core.model import SECOND, Claim, Duration, Instant, JobId, NodeName, Quota, QuotaName, Reservation, TaskId
from sky_core.resources import NOTHING, Resources
from sky_core.selectors import equals
from sky_core.settings import PREFIX, Settings
from sky_core.testing.objects import GPU, claim, quota

Object = dict[str, Any]


def row(raw: Object) -> Quota:
    return read(key_of(raw), raw)


def test_a_quota_is_what_it_declares() -> None:
    near = {"labelSelector": {"matchLabels": {"a": "b"}}, "topologyKey": f"{PREFIX}zone"}
    spec = row(
        quota(
            "q",
            {GPU: "8", "cpu": "0"},
            queue="gold",
            metadata={"labels": {"tier": "x"}},
            sharedQueues=["b", "a", "b"],
            nodeSelector={"card": "h100"},
            staticBindNode="n",
            affinity={
                "quotaAffinity": {"required": [near]},
                "quotaAntiAffinity": {"preferred": [{"weight": 5, "labelSelector": {}}]},
            },
        )
    ).spec

    assert (spec.queue, spec.shared_queues, spec.static_node) == ("gold", ("a", "b"), "n")
    assert (spec.request, spec.labels) == (Resources({GPU: 8000}), {"tier": "x"})
    assert spec.named == {GPU, "cpu"}
    assert spec.selector == equals({"card": "h100"})
    assert spec.quota_affinity.required == (QuotaTerm(equals({"a": "b"}), True),)
    assert spec.quota_affinity.anti_preferred == (PreferredQuota(5, QuotaTerm(equals({}))),)


def test_the_node_decides_and_the_phase_says_nothing() -> None:
    assert row(quota("q", status={"phase": "QuotaBound"})).node is None
    assert row(quota("q", status={"phase": "QuotaEmpty", "nodeName": "n"})).node == "n"


def test_claims_are_summed_and_not_believed() -> None:
    found = row(quota("q", status={"allocated": {GPU: "9"}, "tasks": [claim("a", {GPU: "1"}), claim("b", {GPU: "2"})]}))

    assert found.claimed == Resources({GPU: 3000})
    assert [(tie.task, tie.job) for tie in found.claims] == [
        ("Pod/default/a", "default/pod/a"),
        ("Pod/default/b", "default/pod/b"),
    ]


@pytest.mark.parametrize(
    ("request_", "shadow", "claimed", "over"),
    [
        ({GPU: "2"}, {}, {GPU: "2"}, False),
        ({GPU: "1"}, {}, {GPU: "2"}, True),
        ({GPU: "1"}, {GPU: "1"}, {GPU: "2"}, False),
        ({GPU: "1"}, {}, {GPU: "1", "cpu": "4"}, False),
        ({GPU: "1", "cpu": "1"}, {}, {GPU: "1", "cpu": "4"}, True),
        ({GPU: "1"}, {}, {GPU: "1", "rdma/hca": "1"}, True),
    ],
)
def test_a_quota_with_more_claims_than_capacity_is_over_allocated(
    request_: Object, shadow: Object, claimed: dict[str, str], over: bool
) -> None:
    found = row(quota("q", request_, status={"shadowResource": shadow, "tasks": [claim("p", claimed)]}))

    assert found.over_allocated is over


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        (quota("q", {GPU: "-1"}), f"spec.request[{GPU}]"),
        (quota("q", queue="Q"), "spec.queueName"),
        (quota("q", sharedQueues=["a", ""]), "spec.sharedQueues[1]"),
        (quota("q", affinity={"quotaAffinity": {"required": [{"topologyKey": "rack"}]}}),
         "spec.affinity.quotaAffinity.required[0].topologyKey"),
        (quota("q", status={"tasks": [claim("p", {GPU: "x"})]}), f"status.tasks[0].resources[{GPU}]"),
        (quota("q", status={"tasks": [claim("p", {}), claim("p", {})]}), "status.tasks"),
        (quota("q", status={"tasks": [claim("p", {}, reservedUntil="soon")]}), "status.tasks[0].reservedUntil"),
        (quota("q", status={"shadowResource": {GPU: "-1"}}), f"status.shadowResource[{GPU}]"),
        (quota("q", status={"epoch": -1}), "status.epoch"),
        (quota("q", status={"reservedTasks": [{"namespace": "a", "job": "j"}]}), "status.reservedTasks[0]"),
    ],
)  # fmt: skip
def test_a_malformed_quota_is_not_in_the_world(raw: Object, field: str) -> None:
    intake = Intake(Settings())
    intake.put(raw)

    assert intake.world().quotas == {}
    assert [fault.field for fault in intake.invalid] == [field]


def test_names_are_ordered_as_people_expect() -> None:
    names = ["r", "q-10", "q-a", "q-2", "q-1", "q-02"]

    assert sorted(names, key=natural) == ["q-1", "q-02", "q-2", "q-10", "q-a", "r"]


def test_equal_specs_are_one_and_quotas_stand_in_natural_order() -> None:
    intake = Intake(Settings())
    for name in ("q-10", "q-2"):
        intake.put(quota(name, {GPU: "1", "cpu": "1"}))
    quotas = intake.world().quotas

    assert list(quotas) == ["q-2", "q-10"]
    assert quotas[QuotaName("q-2")].spec is quotas[QuotaName("q-10")].spec


names = st.from_regex(r"[a-z][-a-z0-9]{0,8}[a-z0-9]", fullmatch=True)
instants = st.integers(0, 4_000_000_000 * SECOND).map(Instant)
amounts = st.dictionaries(st.sampled_from([GPU, "cpu", "memory"]), st.integers(1, 2**63 - 1)).map(Resources)
job_names = names | names.map(lambda name: f"pod/{name}")


@st.composite
def claims(draw: st.DrawFn) -> Claim:
    namespace = draw(names)
    return Claim(
        task=TaskId(draw(st.uuids().map(str))),
        namespace=namespace,
        name=draw(names),
        job=JobId(f"{namespace}/{draw(job_names)}"),
        place=draw(st.sampled_from(["3", "worker/0", "/0", "w-x"])),
        resources=draw(amounts),
        reservation=Duration(draw(st.integers(0, 3600)) * SECOND),
        reserved_until=draw(st.none() | instants),
    )


@st.composite
def reservations(draw: st.DrawFn) -> Reservation:
    namespace = draw(names)
    return Reservation(
        namespace=namespace,
        job=JobId(f"{namespace}/{draw(job_names)}"),
        task=draw(names),
        place=draw(st.sampled_from(["3", "worker/0"])),
        resources=draw(amounts),
        node=NodeName(draw(names)),
        expires=draw(instants),
    )


@given(
    st.lists(claims(), max_size=3, unique_by=lambda tie: tie.task),
    st.lists(reservations(), max_size=3),
    st.none() | names.map(NodeName),
    amounts,
    st.booleans(),
    st.integers(0, 2**53),
)
def test_a_written_status_reads_back_as_the_row(
    ties: list[Claim], kept: list[Reservation], node: NodeName | None, shadow: Resources, bound: bool, epoch: int
) -> None:
    raw = quota("q", {GPU: "1"}, staticBindNode="n")
    plain = row(raw)
    wanted = replace(plain, node=node, claims=tuple(ties), reservations=tuple(kept), shadow=shadow, static_bound=bound)
    wanted = replace(wanted, epoch=epoch, claimed=quota_recount(wanted))
    if any(units > 2**63 - 1 for units in wanted.claimed.units.values()):
        return

    raw["status"] = quota_status(WriteQuota.of(wanted), wanted, Instant(0))
    again = row(raw)

    assert replace(again, spec=plain.spec, over_allocated=False) == replace(wanted, spec=plain.spec)


def test_a_status_keeps_what_others_wrote() -> None:
    old = row(quota("q", status={"nodeName": "n", "shadowResource": {GPU: "1"}, "epoch": 7}))
    theirs = {"type": "Drifted", "status": "True", "reason": "SplitPods"}
    before = {"type": "Bound", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}

    kept = quota_status(WriteQuota.of(old), old, Instant(0), [before, theirs])
    freed = quota_status(WriteQuota.of(old.on(None)), old, Instant(0), [before, theirs])

    assert (kept["shadowResource"], kept["epoch"], kept["phase"]) == ({GPU: "1"}, 7, "QuotaBound")
    assert [(one["type"], one["status"], one.get("lastTransitionTime")) for one in kept["conditions"]] == [
        ("Bound", "True", "2026-01-01T00:00:00Z"),
        ("Drifted", "True", None),
    ]
    assert (freed["phase"], "nodeName" in freed) == ("QuotaEmpty", False)
    assert (freed["conditions"][0]["status"], freed["conditions"][0]["lastTransitionTime"]) == (
        "False",
        "1970-01-01T00:00:00Z",
    )


def test_what_a_status_states_is_canonical() -> None:
    found = row(quota("q", {"memory": "1Gi"}, status={"tasks": [claim("p", {"memory": "1048576Ki", "cpu": "1000m"})]}))

    status = quota_status(WriteQuota.of(found), found, Instant(0))

    assert status["allocated"] == {"cpu": "1", "memory": "1Gi"}
    assert status["tasks"][0]["resources"] == {"cpu": "1", "memory": "1Gi"}
    assert row(quota("q", {"cpu": "0"})).spec.request is not None
    assert row(quota("q", {"cpu": "0"})).spec.request == NOTHING
