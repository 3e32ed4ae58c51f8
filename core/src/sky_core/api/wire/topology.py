"""NodeTopology, with every field that it has; its schema is made as those of `sky_core.api.wire.crds` are."""

from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta

from sky_core.api.wire.bounds import Label, Name, Time
from sky_core.api.wire.meta import ObjectMeta


class Nic(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """An RDMA NIC, and the switch that it is plugged into.

    Attributes:
        name: The network device.
        switch_name: The switch, as it calls itself.
        switch_id: The switch's chassis id, or its GUID.
        rdma_device: The RDMA device of the NIC.
        switch_port: The port of the switch.
        stale: Not seen lately; it keeps its switch.
    """

    name: Name
    switch_name: Name = ""
    switch_id: Name = ""
    rdma_device: Name = ""
    switch_port: Name = ""
    stale: bool = False


Nics: TypeAlias = Annotated[
    tuple[Nic, ...],
    Meta(
        max_length=64,
        extra_json_schema={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
    ),
]


class Net(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The NICs of a node, by fabric.

    Attributes:
        roce: RDMA over Ethernet.
        ib: InfiniBand.
    """

    roce: Nics = ()
    ib: Nics = ()


class NodeTopologySpec(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What was discovered about a node's network.

    Attributes:
        net: Its NICs.
    """

    net: Net = Net()


class Hca(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """An InfiniBand adapter by its GUIDs.

    Attributes:
        device: The RDMA device.
        node_guid: By which the fabric knows the adapter.
        port_guids: By which it knows each port.
    """

    device: Name
    node_guid: Label = ""
    port_guids: Annotated[tuple[Label, ...], Meta(max_length=16)] = ()


class NodeTopologyStatus(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """What a node's agent saw last.

    Attributes:
        hcas: The node's InfiniBand adapters.
        last_seen: When.
    """

    hcas: Annotated[tuple[Hca, ...], Meta(max_length=64)] = ()
    last_seen: Time = ""


class NodeTopology(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Which switch each RDMA NIC of a node is plugged into."""

    metadata: ObjectMeta
    spec: NodeTopologySpec = NodeTopologySpec()
    status: NodeTopologyStatus = NodeTopologyStatus()
