"""Where the jobs of a trace run: nodes behind leaves, leaves behind spines; and jobs as objects for them."""

from collections.abc import Iterator, Mapping

import msgspec

from skyctl.bench.clusters import GPU, HCA, Object, gang, node
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
    """The job: a gang of whole nodes in a ring, or a task on part of one node, and its quotas."""
    if is_ring(job):
        yield from gang(name, machines(job), {GPU: "8", HCA: "8"}, notes=notes)
    else:
        yield from gang(name, 1, {GPU: str(job.cards)})
