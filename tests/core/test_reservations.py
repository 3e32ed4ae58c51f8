from msgspec.structs import replace

from sky_core.model import Duration, Instant, JobId, QuotaName, Task
from sky_core.reservations import collected, is_finished, returner, settle, settled
from sky_core.resources import NOTHING
from sky_core.statement import Statement
from sky_core.states import TaskState
from sky_core.testing.rows import claim, gpus, job, kept, quota, task, world

NOW = Instant(1_000)
Q = QuotaName("q")
TEN = Duration(10)


def ended(name: str, state: TaskState, *, evicted: bool = False) -> Task:
    return task(name, state=state, reservation=TEN, evicted=evicted)


def test_a_job_is_finished_when_all_have_ended_and_enough_succeeded() -> None:
    w = world(job("w", 1), ended("w-0", TaskState.SUCCEEDED), ended("w-1", TaskState.FAILED))
    assert is_finished(w, w.jobs[JobId("default/w")])


def test_a_job_is_not_finished_while_a_task_runs_or_too_few_succeeded() -> None:
    running = world(job("w", 1), ended("w-0", TaskState.SUCCEEDED), task("w-1", node="n0"))
    failed = world(job("w", 2), ended("w-0", TaskState.SUCCEEDED), ended("w-1", TaskState.FAILED))
    evicted = world(job("w", 1), ended("w-0", TaskState.SUCCEEDED, evicted=True))
    deleted = world(job("w", 1))
    for w in (running, failed, evicted, deleted):
        assert not is_finished(w, w.jobs[JobId("default/w")])


def test_a_completed_job_stays_finished_while_its_pods_are_cleared_away() -> None:
    w = world(job("w", 2, phase="Completed"), ended("w-0", TaskState.SUCCEEDED))
    assert is_finished(w, w.jobs[JobId("default/w")])


def test_the_claim_of_a_failed_pod_turns_into_a_reservation_from_now_on() -> None:
    lost, other = ended("w-0", TaskState.FAILED), task("w-1", node="n0")
    w = world(job("w", 2), lost, other, quota("q", node="n0", claims=(claim(lost), claim(other))))
    after = settled(w, w.quotas[Q], NOW)
    assert [c.name for c in after.claims] == ["w-1"]
    assert after.claimed == gpus(1)
    assert after.reservations == (kept(lost, "n0", 1_010),)


def test_the_claim_of_a_pod_that_is_gone_turns_into_one_too() -> None:
    gone = claim(task("w-0"), reservation=TEN)
    w = world(job("w", 1), quota("q", node="n0", claims=(gone,)))
    after = settled(w, w.quotas[Q], NOW)
    assert after.claims == ()
    assert [r.place for r in after.reservations] == ["0"]


def test_the_claim_of_a_pod_that_succeeded_ends() -> None:
    done, other = ended("w-0", TaskState.SUCCEEDED), task("w-1", node="n0")
    w = world(job("w", 2), done, other, quota("q", node="n0", claims=(claim(done), claim(other))))
    after = settled(w, w.quotas[Q], NOW)
    assert [c.name for c in after.claims] == ["w-1"]
    assert after.reservations == ()


def test_a_pod_that_we_evicted_keeps_its_place_though_it_succeeded() -> None:
    evicted, other = ended("w-0", TaskState.SUCCEEDED, evicted=True), task("w-1", node="n0")
    w = world(job("w", 2), evicted, other, quota("q", node="n0", claims=(claim(evicted), claim(other))))
    assert len(settled(w, w.quotas[Q], NOW).reservations) == 1


def test_without_a_ttl_or_once_the_job_is_finished_no_place_is_kept() -> None:
    plain = replace(ended("w-0", TaskState.FAILED), reservation=Duration(0))
    w = world(job("w", 1), plain, quota("q", node="n0", claims=(claim(plain),)))
    assert settled(w, w.quotas[Q], NOW).reservations == ()
    done, failed = ended("w-0", TaskState.SUCCEEDED), ended("w-1", TaskState.FAILED)
    w = world(job("w", 1), done, failed, quota("q", node="n0", claims=(claim(done), claim(failed))))
    after = settled(w, w.quotas[Q], NOW)
    assert (after.claims, after.reservations, after.claimed) == ((), (), NOTHING)


def test_a_terminating_pod_still_holds_its_claim() -> None:
    leaving = task("w-0", node="n0", state=TaskState.RELEASING)
    w = world(job("w", 1), leaving, quota("q", node="n0", claims=(claim(leaving),)))
    assert settled(w, w.quotas[Q], NOW) is w.quotas[Q]


def test_settling_is_a_trial_that_decides_a_write_and_can_be_undone() -> None:
    lost = ended("w-0", TaskState.FAILED)
    w = world(job("w", 2), lost, quota("q", node="n0", claims=(claim(lost),)), quota("r", node="n0"))
    with Statement(w, NOW) as trial:
        settle(trial, w, sorted(w.quotas), NOW)
        assert w.tasks[lost.id].quota is None
        decisions = trial.decisions()
    assert [getattr(d, "quota", None) for d in decisions] == ["q"]
    assert w.tasks[lost.id].quota == "q"
    assert len(w.quotas[Q].claims) == 1


def test_a_reservation_is_for_the_same_place_of_the_same_job() -> None:
    lost = task("w-0")
    again = replace(lost, id=task("x").id)
    w = world(job("w", 2), job("v", 2), again, quota("q", node="n0", reservations=(kept(lost, "n0", 1_010),)))
    row = w.quotas[Q]
    assert returner(w, again, row, NOW) == kept(lost, "n0", 1_010)
    assert returner(w, task("w-1"), row, NOW) is None
    assert returner(w, task("v-0"), row, NOW) is None
    assert returner(w, replace(again, namespace="other"), row, NOW) is None
    assert returner(w, again, row, Instant(1_010)) is None


def test_who_names_the_predecessor_may_return_within_the_queue() -> None:
    lost = task("old-0")
    heir, stranger = task("new-0", inherits="old-0"), task("far-0", inherits="old-0")
    shared = quota("q", node="n0", reservations=(kept(lost, "n0", 1_010),))
    w = world(job("old"), job("new"), job("far", queue="elsewhere"), heir, stranger, shared)
    assert returner(w, heir, w.quotas[Q], NOW) is not None
    assert returner(w, stranger, w.quotas[Q], NOW) is None
    del w.jobs[JobId("default/old")]
    assert returner(w, heir, w.quotas[Q], NOW) is not None
    assert returner(w, stranger, w.quotas[Q], NOW) is None


def test_what_has_expired_or_whose_job_is_finished_is_collected() -> None:
    old, live, done = task("w-0"), task("w-1"), ended("d-0", TaskState.SUCCEEDED)
    held = (kept(old, "n0", 1_000), kept(live, "n0", 1_001), kept(done, "n0", 2_000))
    w = world(job("w", 2), job("d", 1), done, quota("q", node="n0", reservations=held), quota("r", node="n0"))
    writes = collected(w, NOW)
    assert [(write.quota, write.node, write.reservations) for write in writes] == [("q", "n0", held[1:2])]
