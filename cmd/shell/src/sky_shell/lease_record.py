"""The Lease object by which processes agree on who leads."""

import datetime
from typing import Any, Final

import msgspec

from sky_core.settings import PREFIX
from sky_shell.answers import status_of
from sky_shell.resources import LEASES
from sky_shell.transport import Response, Transport, TransportError

EPOCH: Final = f"{PREFIX}epoch"
"""The annotation that says which epoch the leader writes in."""

_DIGITS_MAX: Final = 18


class Spec(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What a Lease says. Absent and null mean the same."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(msgspec.Struct, frozen=True):
    """A Lease as it was read, or as it is to be written if it still has the resourceVersion in `metadata`."""

    metadata: dict[str, Any]
    spec: Spec = Spec()
    api_version: str = msgspec.field(default="coordination.k8s.io/v1", name="apiVersion")
    kind: str = "Lease"

    @property
    def version(self) -> str:
        """The resourceVersion at which it was read; "" for one that is not there."""
        return str(self.metadata.get("resourceVersion", ""))

    @property
    def holder(self) -> str:
        """Who leads; "" for nobody."""
        return self.spec.holder_identity or ""

    @property
    def transitions(self) -> int:
        """How often the holder changed."""
        return max(self.spec.lease_transitions or 0, 0)

    @property
    def epoch(self) -> int:
        """The epoch that a leader has put down; 0 if none has, or something else is there."""
        text = (self.metadata.get("annotations") or {}).get(EPOCH, "")
        return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS_MAX else 0

    def saying(self, spec: Spec, epoch: int | None) -> "Lease":
        """The Lease with another spec, and with this epoch if one is given. What others put into it stays."""
        metadata = {name: value for name, value in self.metadata.items() if name != "managedFields"}
        if epoch is not None:
            metadata["annotations"] = {**(metadata.get("annotations") or {}), EPOCH: str(epoch)}
        return Lease(metadata, spec)


_read: Final = msgspec.json.Decoder(Lease).decode


def micro_time(at: datetime.datetime) -> str:
    """A MicroTime: a server takes exactly six decimals."""
    return at.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class LeaseError(Exception):
    """The Lease could not be read, or was not written: for all that is known."""


class LeaseStore:
    """One Lease, where the API server keeps it."""

    def __init__(self, transport: Transport, namespace: str, name: str) -> None:
        """The Lease need not exist."""
        self._transport = transport
        self._namespace = namespace
        self._name = name

    async def read(self, timeout: float) -> Lease | None:
        """The Lease as it is; None if there is none.

        Raises:
            LeaseError: It could not be read.
        """
        response = await self._ask("GET", LEASES.path(self._namespace, self._name), None, timeout)
        if response.status == 404:
            return None
        return self._said(response)

    async def write(self, lease: Lease, timeout: float) -> Lease:
        """The Lease as it is after this write, which fails if somebody else wrote it meanwhile, or was first.

        Raises:
            LeaseError: It was not written, or there was no answer.
        """
        if lease.version:
            return self._said(await self._ask("PUT", LEASES.path(self._namespace, self._name), lease, timeout))
        return self._said(await self._ask("POST", LEASES.collection(self._namespace), lease, timeout))

    def none(self) -> Lease:
        """The Lease that there is not, to be created."""
        return Lease({"namespace": self._namespace, "name": self._name})

    async def _ask(self, method: str, path: str, lease: Lease | None, timeout: float) -> Response:
        body = None if lease is None else msgspec.json.encode(lease)
        try:
            return await self._transport.request(method, path, body=body, timeout=timeout)
        except TransportError as error:
            raise LeaseError(str(error)) from error

    @staticmethod
    def _said(response: Response) -> Lease:
        if response.status not in (200, 201):
            raise LeaseError(str(status_of(response)))
        try:
            return _read(response.body)
        except msgspec.DecodeError as error:
            raise LeaseError(f"the Lease can't be read: {error}") from error
