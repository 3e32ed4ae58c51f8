"""What a flight recorder writes down suffices to recompute every cycle, byte for byte."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sky_core import invariants
from sky_core.api.configuration import read_configuration
from sky_core.api.encode import quota_status
from sky_core.api.identity import Key, key_of
from sky_core.course import Changes, Course, Told
from sky_core.cycle import REGISTRY, default_policy
from sky_core.decisions import BindTask, Decision, EvictTask, WriteQuota
from sky_core.logbook import Entry, Opening, decoder, encoder, entry, opened, reopened, replayed
from sky_core.model import SECOND, Instant
from sky_core.policy import Policy
from sky_core.reasons import Topic
from sky_core.settings import Settings
from sky_core.simulation.objects import written
from sky_core.testing.objects import GPU, node, pod, queue, quota
from sky_core.testing.strategies import scenes

Object = dict[str, Any]
POLICY = default_policy()
START = Instant(1_767_225_600 * SECOND)


class Flight:
    """A course whose decisions are answered as the test says, and what is recorded of it."""

    def __init__(self, objects: list[Object]) -> None:
        self.course = Course(Settings())
        self.objects = {key_of(each): each for each in [queue("default"), *objects]}
        self.unanswered: list[Decision] = []
        self.now = START
        self.told: dict[Key, Told] = {}
        self.pages: list[bytes] = []
        self.next = Changes(objects=tuple(map(_told, self.objects.values())))

    def cycle(self) -> None:
        self.now = Instant(self.now + SECOND)
        self.course.learn(self.next)
        for key in self.next.gone:
            self.told.pop(key, None)
        self.told.update({told.key: told for told in self.next.objects})
        outcome = self.course.cycle(POLICY, self.now)
        assert invariants.check_decisions(self.course.world, outcome.decisions, self.now) == ()
        if self.pages:
            self.pages.append(encoder.encode(entry(self.next, self.now, outcome)))
        self.course.assume(outcome.decisions)
        assert invariants.check(self.course.world) == ()
        self.unanswered += outcome.decisions
        self.next = Changes()

    def open(self) -> None:
        self.pages.append(encoder.encode(opened(self.course, "", self.told.values())))

    def answer(self, decision: Decision, *, done: bool) -> None:
        self.unanswered.remove(decision)
        raw = self._done(decision) if done else None
        if raw is not None:
            self.objects[key_of(raw)] = raw
            self.next = msgspec.structs.replace(self.next, objects=(*self.next.objects, _told(raw)))
        if raw is None or isinstance(decision, WriteQuota):
            self.next = msgspec.structs.replace(self.next, answered=(*self.next.answered, decision))

    def _done(self, decision: Decision) -> Object | None:
        world = self.course.world
        match decision:
            case WriteQuota():
                row = world.quotas[decision.quota]
                return written(
                    self.objects[Key("Quota", "", row.name)], ("status",), quota_status(decision, row, START)
                )
            case BindTask():
                task = world.tasks[decision.task]
                pod_ = self.objects[Key("Pod", task.namespace, task.name)]
                return written(pod_, ("spec", "nodeName"), decision.node)
            case EvictTask():
                task = world.tasks[decision.task]
                pod_ = self.objects[Key("Pod", task.namespace, task.name)]
                return written(pod_, ("metadata", "deletionTimestamp"), "2026-01-01T00:00:00Z")


def _told(raw: Object) -> Told:
    return Told(key_of(raw), msgspec.Raw(msgspec.json.encode(raw)))


def replay(pages: list[bytes], policy: Policy = POLICY) -> list[int]:
    """The cycles that come out otherwise."""
    opening, *entries = map(decoder.decode, pages)
    assert isinstance(opening, Opening)
    course = reopened(opening, policy.settings)
    differences = []
    for number, page in enumerate(entries, 1):
        assert isinstance(page, Entry)
        found = replayed(course, policy, number, page)
        differences += [found.cycle] if found is not None else []
    return differences


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_every_cycle_can_be_recomputed_from_wherever_the_book_was_opened(data: st.DataObject) -> None:
    flight = Flight(data.draw(scenes()))
    begin, end = data.draw(st.integers(0, 4)), data.draw(st.integers(5, 8))
    for number in range(end):
        if number == begin:
            flight.open()
        flight.cycle()
        for decision in list(flight.unanswered):
            answer = data.draw(st.sampled_from(["done", "refused", "unanswered"]))
            if answer != "unanswered":
                flight.answer(decision, done=answer == "done")
    assert len(flight.pages) == 1 + end - begin
    assert replay(flight.pages) == []


def test_another_configuration_shows_where_it_would_have_decided_otherwise() -> None:
    flight = Flight([node("n"), quota("q"), pod("w", {GPU: "1"})])
    flight.open()
    flight.cycle()
    flight.cycle()
    document = {"apiVersion": "config.scheduling.infini-ai.com/v1alpha1", "kind": "SchedulerConfiguration"}
    other = read_configuration({**document, "schedulerName": "another"}, REGISTRY)
    assert replay(flight.pages, other) == [1]


def test_an_object_that_is_no_json_is_as_good_as_gone() -> None:
    course = Course(Settings())
    key = Key("Node", "", "n")
    course.learn(Changes(objects=(_told(node("n")),)))
    assert list(course.world.nodes) == ["n"]
    course.learn(Changes(objects=(Told(key, msgspec.Raw(b'{"metadata": {"name": "n"}, "x": ' + b"[" * 5000)),)))
    assert list(course.world.nodes) == []


@pytest.mark.parametrize("looks", [False, True])
def test_what_counts_as_a_change_does_not_depend_on_who_looks_at_the_world(*, looks: bool) -> None:
    flight = Flight([node("n"), quota("q", {GPU: "8"}), pod("w", {GPU: "1"})])
    flight.course.learn(flight.next)
    decided = flight.course.cycle(POLICY, START).decisions
    (write,) = (each for each in decided if isinstance(each, WriteQuota))
    flight.course.assume(decided)
    if looks:
        flight.course.world  # noqa: B018  as a report does
    flight.course.learn(Changes(answered=(write,)))
    # It came; and now that it is written others may have what is left of it.
    assert flight.course.world.openings[Topic.QUOTA] == 2
