"""Where the jobs of a trace run: nodes behind leaves, leaves behind spines; and jobs as objects for them."""

from collections.abc import Iterator, Mapping

import msgspec

from sky_core.settings import PREFIX
from skyctl.bench.clusters import GPU, HCA, Object, group, node, pod, quota
from skyctl.bench.quality.trace import Job


class Site(msgspec.Struct, frozen=True):
    """Leaves of so many nodes with eight cards each, and how many leaves are behind a spine."""

    leaves: int
    per_leaf: int
    per_spine: int

    @property
    def nodes(self) -> int:
        """How many there are."""
        return self.leaves * self.per_leaf

    @property
    def cards(self) -> int:
        """How many there are."""
        return self.nodes * 8

    def objects(self) -> Iterator[Object]:
        """The nodes."""
        for at in range(self.nodes):
            yield node(at, zone=f"leaf-{at // self.per_leaf}")

    def bound(self, job: Job) -> int:
        """On how many leaves it is at least."""
        return -(-machines(job) // self.per_leaf)


def machines(job: Job) -> int:
    """How many whole nodes a job of more than eight cards takes; 1 for others."""
    return max(-(-job.cards // 8), 1)


def is_ring(job: Job) -> bool:
    """Whether it is on several nodes, which talk to each other."""
    return machines(job) > 1


def objects(name: str, job: Job, notes: Mapping[str, str]) -> Iterator[Object]:
    """The job: a gang of whole nodes in a ring, or a task on part of one node; and as many quotas of its shape.

    A job takes quotas of its shape only, whoever brought them: else one that has been refused would try another shape
    next, and leave the job that brought it without.
    """
    shape, request = ("ring", {GPU: "8", HCA: "8"}) if is_ring(job) else (f"cards-{job.cards}", {GPU: str(job.cards)})
    yield group(name, machines(job), notes=notes)
    for at in range(machines(job)):
        made = pod(f"{name}-{at}", name, request)
        made["metadata"]["annotations"] |= {f"{PREFIX}quota-affinity": f"shape={shape}"}
        yield made
        brought = quota(f"{name}-{at}", request)
        brought["metadata"]["labels"] = {"shape": shape}
        yield brought
