from prometheus_client import CollectorRegistry, generate_latest

from sky_core.model import Instant, JobId
from sky_core.reasons import Code, Finding, Rung, Verdict
from sky_core.settings import Settings
from sky_core.testing import rows
from sky_scheduler.metrics import OTHER, VALUES_MAX, Bounded, SchedulerMetrics
from sky_scheduler.reports import merge


def test_the_texts_that_people_choose_are_so_many_labels_and_no_more() -> None:
    bounded = Bounded()
    assert [bounded(str(i)) for i in range(VALUES_MAX + 2)][-3:] == [str(VALUES_MAX - 1), OTHER, OTHER]
    assert bounded("0") == "0"


def test_only_who_has_taken_stock_shows_any() -> None:
    registry = CollectorRegistry()
    metrics = SchedulerMetrics(registry)
    assert b"sky_quotas" not in generate_latest(registry)
    nodes = [rows.node("n0", zone="s"), rows.node("n1", zone="s"), rows.node("n2", zone="s", ready=False)]
    task = rows.task("w-0")
    kept = (rows.kept(task, "n0", 5), rows.kept(task, "n0", 50))
    quotas = [rows.quota("q0", node="n0", reservations=kept), rows.quota("q1")]
    world = rows.world(*nodes, *quotas, task, rows.job("w"))
    verdict = Verdict(Rung.ALLOCATE_JOB, (Finding(Code.INSUFFICIENT_QUOTA),))
    metrics.count(world, Settings(), {JobId("default/w"): verdict}, Instant(10))

    def value(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(name, labels)

    assert value("sky_pending_jobs", queue="default", rung="AllocateJob", code="InsufficientQuota") == 1
    assert value("sky_quotas", queue="default", spec="", phase="QuotaBound") == 1
    assert value("sky_quotas", queue="default", spec="", phase="QuotaEmpty") == 1
    assert [value("sky_zone_nodes", spec="", state=state) for state in ("free", "full", "unusable")] == [1, 1, 1]
    assert [value("sky_reservations", state=state) for state in ("live", "expired")] == [1, 1]


def test_a_patch_makes_one_status_the_other() -> None:
    old = {"a": 1, "gone": 2, "map": {"x": "1", "y": "2"}, "same": [1]}
    new = {"a": 2, "map": {"x": "1", "z": "3"}, "same": [1], "more": {"k": 1}}
    assert merge(old, new) == {"a": 2, "gone": None, "map": {"y": None, "z": "3"}, "more": {"k": 1}}
    assert merge(new, new) == {}
