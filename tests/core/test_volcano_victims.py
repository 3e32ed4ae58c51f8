"""What Volcano's own tests say of victims, in two hops: those who hold quotas claim back what spot pods borrowed."""

import pytest

from sky_core.cycle import default_policy
from sky_core.testing.table import check

POLICY = default_policy()
CYCLES = 6
"""One to evict, one to go, one to bind, and some in which nothing more may happen."""


def test_fact_13_exactly_enough_go() -> None:
    check(
        POLICY,
        """
        node  n1   gpu=6  spot=6
        quota q    gpu=6  node=n1 static=n1
        task  low1 spot=1 on=n1  -> evicted
        task  low2 spot=1 on=n1  -> evicted
        task  kept spot=1 on=n1 namespace=kube-system  -> n1  # not preemptible
        task  high gpu=5  -> q n1
        """,
        cycles=CYCLES,
    )


def test_fact_15_nobody_goes_where_that_does_not_help() -> None:
    check(
        POLICY,
        """
        node  n1    gpu=5  spot=5
        quota q     gpu=5  node=n1 static=n1
        task  low1  spot=1 on=n1  -> n1
        task  low2  spot=1 on=n1  -> n1
        task  other gpu=2  on=n1 foreign
        task  high  gpu=4  -> waits InsufficientIdle
        """,
        cycles=50,
    )


def test_fact_16_only_victims_on_the_node_that_is_taken_go() -> None:
    check(
        POLICY,
        """
        node  n1     gpu=2  spot=2
        node  n2     gpu=4  spot=4
        quota q      gpu=3
        task  victim1 spot=1 on=n1  -> n1
        task  victim2 spot=4 on=n2  -> evicted
        task  high   gpu=3  -> q n2
        """,
        cycles=CYCLES,
    )


@pytest.mark.parametrize(("one", "two"), [("1", "2"), ("2", "1")])
def test_fact_17_the_pass_of_a_queue_with_nothing_to_evict_for_eats_nobodys_claimants(one: str, two: str) -> None:
    check(
        POLICY,
        f"""
        queue a priority={one}
        queue b priority={two}
        node  n1  gpu=8 spot=8
        quota q   gpu=8 queue=b node=n1 static=n1
        task  low spot=8 on=n1  -> evicted
        task  w-a gpu=8 queue=a  -> waits InsufficientQuota
        task  w-b gpu=8 queue=b  -> q n1
        """,
        cycles=CYCLES,
    )


def test_fact_18_who_preempts_nobody_waits() -> None:
    check(
        POLICY,
        """
        node  n1  gpu=8 spot=8
        quota q   gpu=8 node=n1 static=n1
        task  low spot=8 on=n1  -> n1
        task  w   gpu=8 meek  -> waits EvictionBlocked
        """,
        cycles=CYCLES,
    )


def test_fact_20_nobody_goes_for_a_claimant_of_a_closed_queue() -> None:
    check(
        POLICY,
        """
        queue a closed
        node  n1  gpu=8 spot=8
        quota q   gpu=8 queue=a node=n1 static=n1
        task  low spot=8 on=n1  -> n1
        task  w   gpu=8 queue=a  -> waits QueueClosed
        """,
        cycles=CYCLES,
    )


def test_fact_21_free_room_counts() -> None:
    check(
        POLICY,
        """
        node  n1   gpu=3 spot=3
        quota q    gpu=2 node=n1 static=n1
        task  low1 spot=1 on=n1  -> n1
        task  low2 spot=1 on=n1  -> evicted
        task  w    gpu=2  -> q n1
        """,
        cycles=CYCLES,
    )


def test_fact_21_with_enough_of_it_nobody_goes() -> None:
    check(
        POLICY,
        """
        node  n1   gpu=4 spot=4
        quota q    gpu=2 node=n1 static=n1
        task  low1 spot=1 on=n1  -> n1
        task  low2 spot=1 on=n1  -> n1
        task  w    gpu=2  -> q n1
        """,
    )


def test_fact_22_nobody_goes_for_a_claimant_beyond_its_queues_capability() -> None:
    check(
        POLICY,
        """
        queue a cap.gpu=4
        node  n1  gpu=8 spot=8
        quota q   gpu=8 queue=a node=n1 static=n1
        task  low spot=8 on=n1  -> n1
        task  w   gpu=8 queue=a  -> waits QueueCapabilityExceeded
        """,
        cycles=CYCLES,
    )
