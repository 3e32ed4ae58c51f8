import itertools
from typing import Any

import pytest

from sky_core.api.ranks import Position, position
from sky_core.model import Instant
from sky_core.settings import PREFIX

INDEX = PREFIX + "task-index"
ROLE = "volcano.sh/task-spec"
REPLICA_TYPE = "training.kubeflow.org/replica-type"
COMPLETION = "batch.kubernetes.io/job-completion-index"
POD_INDEX = "apps.kubernetes.io/pod-index"


def stands(name: str, *, created: int = 0, notes: Any = None, labels: Any = None) -> Position:
    return position(notes or {}, labels or {}, name, Instant(created))


IN_ORDER = [
    stands("z", notes={INDEX: "0"}),
    stands("y", notes={INDEX: "2", ROLE: "master"}),
    stands("x", notes={INDEX: "10"}),
    stands("w-9", notes={ROLE: "master"}),
    stands("w-8", labels={ROLE: "chief"}),
    stands("w-7", labels={REPLICA_TYPE: "leader"}),
    stands("w-6", notes={ROLE: "launcher"}),
    stands("w-1", created=9),
    stands("a-2"),
    stands("a-10"),
    stands("b", created=1),
    stands("a", created=2),
    stands("c", created=2),
    stands("e-0", notes={ROLE: "evaluator"}),
    stands("w-0", notes={ROLE: "worker"}),
    stands("w-x7", notes={ROLE: "worker"}, labels={COMPLETION: "1"}),
    stands("w-2", notes={ROLE: "worker"}),
]


def test_tasks_stand_in_order_of_index_role_number_creation_and_name() -> None:
    ranks = [stands.rank for stands in IN_ORDER]

    assert sorted(ranks) == ranks
    assert all(one < other for one, other in itertools.pairwise(ranks))


@pytest.mark.parametrize(
    ("name", "notes", "labels", "place"),
    [
        ("w-3", {INDEX: "007"}, {}, "7"),
        ("w-3", {}, {}, "/3"),
        ("w-3", {ROLE: "worker"}, {}, "worker/3"),
        ("w-3", {}, {COMPLETION: "5"}, "/5"),
        ("w-3", {}, {COMPLETION: "x", POD_INDEX: "6"}, "/6"),
        ("w-x3f", {ROLE: "worker"}, {}, "w-x3f"),
        ("12", {}, {}, "/12"),
    ],
)
def test_a_place_tells_the_tasks_of_a_job_apart(name: str, notes: Any, labels: Any, place: str) -> None:
    assert stands(name, notes=notes, labels=labels).place == place


def test_the_annotation_names_the_role_before_the_labels() -> None:
    labels = {ROLE: "b", REPLICA_TYPE: "c"}

    assert stands("w", notes={ROLE: "a"}, labels=labels).role == "a"
    assert stands("w", labels=labels).role == "b"
    assert stands("w", labels={REPLICA_TYPE: "c"}).role == "c"
