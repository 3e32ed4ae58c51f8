"""The null scheduler: the requests of ours by the same client, with its own watches decoded, and nothing decided.

What it takes is what the server and the client take; whatever a scheduler takes beyond that is its own.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, Final

import msgspec
import trio

from sky_core.api.wire import core, crds
from sky_shell.access import kubeconfig
from sky_shell.bridge import bridge
from sky_shell.objects import Identity
from sky_shell.reflector import Reflector
from sky_shell.resources import NODES, PODS, QUOTAS, SEEN, Resource
from sky_shell.transport import Transport
from sky_shell.writer import IN_FLIGHT, Acknowledged, Writer
from sky_shell.writes import Write, bind, put_status
from skyctl.bench.cluster.objects import CARD, CARDS, GROUP, Object, bound

EPOCH: Final = 1 << 40
"""Above that of any scheduler that has led: the fence lets nobody write in an epoch that is over."""
QUOTA_NAME: Final = "scheduling.infini-ai.com/quota-name"

Seen = tuple[Identity, Any]


class Known:
    """A `sky_shell.objects.Sink` that keeps everything, decoded.

    Attributes:
        complete: Set once every kind has been listed.
        objects: By kind and name.
    """

    def __init__(self) -> None:
        """Nothing has been told."""
        self.complete = trio.Event()
        self.objects: dict[Resource, dict[str, Seen]] = {resource: {} for resource in SEEN}
        self._unlisted = set(SEEN)
        self._decode = {
            resource: msgspec.json.Decoder(getattr(core, resource.kind, None) or getattr(crds, resource.kind, dict))
            for resource in SEEN
        }

    def put(self, resource: Resource, identity: Identity, raw: bytes) -> None:
        """See `Sink.put`."""
        self.objects[resource][identity.name] = identity, self._decode[resource].decode(raw)

    def remove(self, resource: Resource, identity: Identity) -> None:
        """See `Sink.remove`."""
        self.objects[resource].pop(identity.name, None)

    def synced(self, resource: Resource) -> None:
        """See `Sink.synced`."""
        self._unlisted.discard(resource)
        if not self._unlisted:
            self.complete.set()


class Gang(msgspec.Struct, frozen=True):
    """What is written for a gang: its quotas, then its pods."""

    quotas: list[Write]
    pods: list[Write]


def gangs(known: Known) -> Iterator[Gang]:
    """Gang after gang, onto quota after quota, on machine after machine."""
    members: dict[str, list[Seen]] = defaultdict(list)
    for _, seen in sorted(known.objects[PODS].items()):
        if not seen[1].spec.node_name:
            members[seen[1].metadata.annotations[GROUP]].append(seen)
    quotas = iter(sorted((name, seen) for name, seen in known.objects[QUOTAS].items() if not seen[1].status.node_name))
    taken = {seen[1].status.node_name for seen in known.objects[QUOTAS].values()}
    nodes = sorted(known.objects[NODES].keys() - taken)
    card = 0
    for pods in members.values():
        waiting, gang = list(pods), Gang([], [])
        while waiting:
            name, (identity, quota) = next(quotas)
            size, node = int(quota.spec.request[CARD]), nodes[card // CARDS]
            placed, waiting, card = waiting[:size], waiting[size:], card + size
            status = _status(quota, node, placed)
            gang.quotas.append(put_status(QUOTAS, "", name, uid=identity.uid, version=identity.version, status=status))
            gang.pods.extend(_bound(pod, node, name) for pod, _ in placed)
        yield gang


def _bound(pod: Identity, node: str, quota: str) -> Write:
    notes = {QUOTA_NAME: quota}
    return bind(*pod.key, uid=pod.uid, node=node, annotations=notes, version=pod.version)


def _status(quota: crds.Quota, node: str, placed: Sequence[Seen]) -> dict[str, Any]:
    members = [_plain(*seen) for seen in placed]
    return bound({"spec": {"request": quota.spec.request}}, node, members, EPOCH)


def _plain(identity: Identity, pod: core.Pod) -> Object:
    """As much of a pod as its claim says."""
    meta = {"namespace": identity.namespace, "name": identity.name, "uid": identity.uid}
    requests = pod.spec.containers[0].resources.requests
    return {
        "metadata": {**meta, "annotations": pod.metadata.annotations},
        "spec": {"containers": [{"resources": {"requests": requests}}]},
    }


async def perform(transport: Transport, waiting: Iterator[Gang]) -> None:
    """Write gang by gang, as many requests at once as the scheduler has."""
    writer = Writer(transport, lambda: True)

    async def work() -> None:
        for gang in waiting:
            for write in (*gang.quotas, *gang.pods):
                result = await writer.perform(write)
                if not isinstance(result, Acknowledged):
                    raise RuntimeError(f"{write.path}: {result}")

    async with trio.open_nursery() as nursery:
        for _ in range(IN_FLIGHT):
            nursery.start_soon(work)


async def run(access: str) -> None:
    """List, write for all pods that wait, and go on watching."""
    known = Known()
    async with bridge(kubeconfig(access)) as transport, trio.open_nursery() as nursery:
        for resource in SEEN:
            luck = Random(resource.kind)  # noqa: S311  when a watch is renewed
            nursery.start_soon(Reflector(transport, resource, known, luck).run)
        await known.complete.wait()
        await perform(transport, gangs(known))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kubeconfig", required=True)
    trio.run(run, parser.parse_args().kubeconfig)
