import itertools
from typing import Any

import pytest

from sky_core.api.ranks import rank_and_place
from sky_core.model import Instant
from sky_core.settings import PREFIX

INDEX = PREFIX + "task-index"
ROLE = "volcano.sh/task-spec"
REPLICA_TYPE = "training.kubeflow.org/replica-type"
COMPLETION = "batch.kubernetes.io/job-completion-index"
POD_INDEX = "apps.kubernetes.io/pod-index"


def rank(name: str, *, created: int = 0, notes: Any = None, labels: Any = None) -> tuple[tuple[object, ...], str, str]:
    return rank_and_place(notes or {}, labels or {}, name, Instant(created))


IN_ORDER = [
    rank("z", notes={INDEX: "0"}),
    rank("y", notes={INDEX: "2", ROLE: "master"}),
    rank("x", notes={INDEX: "10"}),
    rank("w-9", notes={ROLE: "master"}),
    rank("w-8", labels={ROLE: "chief"}),
    rank("w-7", labels={REPLICA_TYPE: "leader"}),
    rank("w-6", notes={ROLE: "launcher"}),
    rank("w-1", created=9),
    rank("a-2"),
    rank("a-10"),
    rank("b", created=1),
    rank("a", created=2),
    rank("c", created=2),
    rank("e-0", notes={ROLE: "evaluator"}),
    rank("w-0", notes={ROLE: "worker"}),
    rank("w-x7", notes={ROLE: "worker"}, labels={COMPLETION: "1"}),
    rank("w-2", notes={ROLE: "worker"}),
]


def test_tasks_stand_in_order_of_index_role_number_creation_and_name() -> None:
    ranks = [rank for rank, _, _ in IN_ORDER]

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
    assert rank(name, notes=notes, labels=labels)[1] == place


def test_the_annotation_names_the_role_before_the_labels() -> None:
    labels = {ROLE: "b", REPLICA_TYPE: "c"}

    assert rank("w", notes={ROLE: "a"}, labels=labels)[2] == "a"
    assert rank("w", labels=labels)[2] == "b"
    assert rank("w", labels={REPLICA_TYPE: "c"})[2] == "c"
