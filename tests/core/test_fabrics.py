"""Zones of two fabrics cannot reach each other, so no gang is on both (behaviour.md 1)."""

from sky_core.cycle import default_policy
from sky_core.testing.table import check

POLICY = default_policy()


def test_bound_quotas_on_two_fabrics_do_not_make_one_gang() -> None:
    check(
        POLICY,
        """
        node  n1  zone=roce#s1
        node  n2  zone=ib#t1
        quota q1  gpu=1 rdma=1  node=n1
        quota q2  gpu=1 rdma=1  node=n2
        job   j   min=2  -> waits InsufficientQuota
        task  w-0 gpu=1 rdma=1  job=j  -> waits
        task  w-1 gpu=1 rdma=1  job=j  -> waits
        """,
    )


def test_the_bound_quotas_of_one_fabric_are_taken_where_those_of_another_do_not_suffice() -> None:
    check(
        POLICY,
        """
        node  n1  zone=ib#t1
        node  n2  zone=roce#s1
        node  n3  zone=roce#s2
        quota q1  gpu=1 rdma=1  node=n1
        quota q2  gpu=1 rdma=1  node=n2
        quota q3  gpu=1 rdma=1  node=n3
        job   j   min=2                -> in roce#s1 roce#s2
        task  w-0 gpu=1 rdma=1  job=j  -> q2 n2
        task  w-1 gpu=1 rdma=1  job=j  -> q3 n3
        """,
    )


def test_a_lost_member_goes_back_to_the_fabric_of_its_gang() -> None:
    check(
        POLICY,
        """
        node  n1  zone=ib#t1
        node  n2  zone=roce#s1
        quota q0  gpu=1 rdma=1  node=n2
        quota q1  gpu=1 rdma=1  node=n1
        quota q2  gpu=1 rdma=1
        job   j   min=2                -> in roce#s1
        task  w-0 gpu=1 rdma=1  job=j  on=n2 claims=q0
        task  w-1 gpu=1 rdma=1  job=j  -> q2 n2
        """,
    )


def test_an_extra_does_not_leave_the_fabric_of_its_gang() -> None:
    check(
        POLICY,
        """
        node  n1  zone=ib#t1
        node  n2  zone=roce#s1  gpu=1
        quota q0  gpu=1 rdma=1  node=n2
        quota q1  gpu=1 rdma=1  node=n1
        job   j   min=1
        task  w-0 gpu=1 rdma=1  job=j  on=n2 claims=q0
        task  w-1 gpu=1 rdma=1  job=j  -> waits TopologyZoneInsufficient
        """,
    )
