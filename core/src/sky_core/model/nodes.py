"""Nodes, their books, and the zones that they form."""

from collections.abc import Mapping

import msgspec

from sky_core.constraints import Taint
from sky_core.model.names import Instant, NodeName
from sky_core.resources import NOTHING, Resources
from sky_core.selectors import Labels


class Mount(msgspec.Struct, frozen=True, gc=False):
    """What a node's `infiniai-fs-<id>` condition says."""

    ready: bool
    heartbeat: Instant


class Node(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What a node is. What it has left stands in its `Book`.

    `index` is its physical order (None: last); `spec` what card it has (empty: unknown); `zone` its RDMA topology key.
    """

    name: NodeName
    uid: str
    labels: Labels
    created: Instant
    index: int | None = None
    spec: str = ""
    zone: str | None = None
    fabric: str = ""
    taints: tuple[Taint, ...] = ()
    ready: bool = True
    ready_since: Instant = Instant(0)
    unschedulable: bool = False
    mounts: Mapping[str, Mount] = {}
    pods_max: int = 110
    shared: int = 0
    exclusive: int = 0

    @property
    def order(self) -> tuple[bool, int, str]:
        """Index order; nodes without an index last; equal indexes by name."""
        return (self.index is None, self.index or 0, self.name)


class Book(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A node's two ledgers, as columns (behaviour.md 4). Idle amounts are read off them and may be negative.

    `used`: every unfinished pod on the node; `outside`: of these, what is neither spot nor holds a claim on a quota
    bound here; `releasing`: of `used`, what terminating pods will give back; `releasing_outside`: of `outside`,
    likewise; `promised`: the footprints of the quotas bound here; `pipelined`: what waits for room here;
    `pods` counts; `shared` and `exclusive` are spot units in use, in thousandths.
    """

    allocatable: Resources
    used: Resources = NOTHING
    outside: Resources = NOTHING
    releasing: Resources = NOTHING
    releasing_outside: Resources = NOTHING
    promised: Resources = NOTHING
    pipelined: Resources = NOTHING
    pods: int = 0
    shared: int = 0
    exclusive: int = 0

    @property
    def idle(self) -> Resources:
        """Free for a pod now."""
        return self.allocatable - self.used

    @property
    def quota_idle(self) -> Resources:
        """Free for a promise now."""
        return self.allocatable - self.promised - self.outside

    @property
    def future_idle(self) -> Resources:
        """Free when what terminates is gone and who waits for it has come."""
        return self.allocatable - self.used + self.releasing - self.pipelined


class ZoneId(msgspec.Struct, frozen=True, gc=False):
    """A zone is a topology key within one spec code, so that cards never mix."""

    spec: str
    key: str


class Zone(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The nodes of one RDMA switch domain with one kind of card, in index order."""

    id: ZoneId
    fabric: str
    nodes: tuple[NodeName, ...]
