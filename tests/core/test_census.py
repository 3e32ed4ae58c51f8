"""Counts that are kept in step must equal counts made anew, whatever a trial did and undid."""

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from sky_core.census import Census
from sky_core.model import Instant, Node, NodeName, QuotaName
from sky_core.statement import Statement
from sky_core.states import TaskState
from sky_core.testing.rows import claim, node, quota, task, world
from sky_core.world import World

NODES, QUOTAS, TASKS = 3, 4, 6


def small() -> World:
    """Quotas 0 and 1 lie on nodes already."""
    return world(
        *(node(f"n{i}", zone="ab"[i % 2]) for i in range(NODES)),
        *(quota(f"q{i}", node=f"n{i}" if i < 2 else None) for i in range(QUOTAS)),
        *(task(f"w-{i}") for i in range(TASKS)),
    )


def counted(w: World) -> Census[str]:
    def entries(at: Node) -> Iterator[tuple[str, str]]:
        for each in w.present(at.name):
            yield each.name, str(at.zone)
        for name in w.quotas_on.get(at.name, ()):
            yield name, at.name

    return Census(w, entries)


def step(w: World, trial: Statement, of: int, where: int) -> None:
    """Whatever the task or quota may do next."""
    row, box, place = list(w.tasks.values())[of], w.quotas[QuotaName(f"q{where}")], NodeName(f"n{where % NODES}")
    if row.state is TaskState.PENDING:
        trial.claim(row, box.name, claim(row))
    elif box.node is None:
        trial.bind_quota(box.name, place)
    elif row.state is TaskState.ALLOCATED_TO_QUOTA and where % 2:
        trial.give_back(row)
    elif row.state is TaskState.ALLOCATED_TO_QUOTA and row.quota is not None:
        home = w.quotas[row.quota].node
        if home is not None:
            trial.allocate(row, home)
    elif not box.claims:
        trial.release_quota(box.name)


def content(census: Census[str]) -> list[tuple[str, list[tuple[str, int]]]]:
    """By name and domain, without the zeros of those who left."""
    found = {subject: sorted((d, n) for d, n in counts.items() if n) for subject, counts in census.subjects()}
    return sorted((subject, counts) for subject, counts in found.items() if counts)


steps = st.lists(st.tuples(st.integers(0, TASKS - 1), st.integers(0, QUOTAS - 1)), max_size=12)


@given(kept=steps, undone=steps, more=steps)
def test_a_census_follows_trials_and_their_undoing(
    kept: list[tuple[int, int]], undone: list[tuple[int, int]], more: list[tuple[int, int]]
) -> None:
    w = small()
    census = counted(w)
    with Statement(w, Instant(0)) as trial:
        for path in (kept, undone, more):
            point = trial.savepoint()
            for of, where in path:
                step(w, trial, of, where)
            assert content(census) == content(counted(w))
            if path is undone:
                trial.rollback(point)
                assert content(census) == content(counted(w))
    assert content(census) == content(counted(w))
    assert census.size == counted(w).size


def test_domains_exist_with_nobody_in_them() -> None:
    w = world(node("n0"), task("p", node="n0"))
    census = Census(w, lambda at: [("x", at.name)] * len(w.present(at.name)), {"x": ["n0", "n1", "n2"]})
    assert census.counts("x") == {"n0": 1, "n1": 0, "n2": 0}
    assert (census.least("x"), census.least("x", but={"n1", "n2"}), census.least("y")) == (0, 1, None)


def test_a_node_that_is_gone_counts_for_nothing() -> None:
    w = world(task("p", node="n9"))
    assert counted(w).size == 0
