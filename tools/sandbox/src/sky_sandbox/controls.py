"""The sandbox's own paths, for whoever is in another process: `kubectl create --raw /sandbox/faults -f FILE`."""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from sky_core.api.instants import duration
from sky_sandbox.api.refusals import Refusal, bad_request
from sky_sandbox.api.requests import Request
from sky_sandbox.faults import Fault
from sky_sandbox.sandbox import Sandbox
from sky_sandbox.state import saved
from sky_shell.transport import JSON, Response

PREFIX: Final = "/sandbox/"


class ClockOrder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the clock is to do: stand still or go on, and go forward by a duration."""

    paused: bool | None = None
    advance: str = "0s"


class WatchOrder(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """What becomes of the watches that there are, of one resource or of all."""

    resource: str = ""
    silent: bool = False


def controlled(sandbox: Sandbox, request: Request) -> Response | None:
    """The answer to a request that is about the sandbox; None to any other."""
    if not request.path.startswith(PREFIX):
        return None
    order = _ORDERS.get((request.method, request.path.removeprefix(PREFIX)))
    try:
        if order is None:
            listed = ", ".join(f"{method} {PREFIX}{name}" for method, name in _ORDERS)
            raise Refusal(404, "NotFound", f"there is {listed}")
        return Response(200, order(sandbox, request), {"content-type": JSON})
    except msgspec.ValidationError as error:
        return bad_request(str(error)).response()
    except Refusal as refusal:
        return refusal.response()


def _list_faults(sandbox: Sandbox, _: Request) -> bytes:
    return msgspec.json.encode(sandbox.faults.waiting)


def _add_fault(sandbox: Sandbox, request: Request) -> bytes:
    sandbox.faults.add(msgspec.convert(request.json(), Fault))
    return _list_faults(sandbox, request)


def _clear_faults(sandbox: Sandbox, request: Request) -> bytes:
    sandbox.faults.clear()
    return _list_faults(sandbox, request)


def _set_clock(sandbox: Sandbox, request: Request) -> bytes:
    order = msgspec.convert(request.json(), ClockOrder)
    try:
        by = duration(order.advance)
    except ValueError as error:
        raise bad_request(str(error)) from None
    if order.paused is True:
        sandbox.clock.pause()
    if order.paused is False:
        sandbox.clock.resume()
    sandbox.clock.advance(by)
    return msgspec.json.encode(order)


def _set_watches(sandbox: Sandbox, request: Request) -> bytes:
    order = msgspec.convert(request.json(), WatchOrder)
    if order.silent:
        sandbox.silence_watches(order.resource)
    else:
        sandbox.break_watches(order.resource)
    return msgspec.json.encode(order)


def _compact(sandbox: Sandbox, _: Request) -> bytes:
    sandbox.server.storage.compact()
    return b"{}"


def _state(sandbox: Sandbox, _: Request) -> bytes:
    return saved(sandbox.server)


_ORDERS: Final[Mapping[tuple[str, str], Callable[[Sandbox, Request], bytes]]] = {
    ("GET", "faults"): _list_faults,
    ("POST", "faults"): _add_fault,
    ("DELETE", "faults"): _clear_faults,
    ("POST", "clock"): _set_clock,
    ("POST", "watches"): _set_watches,
    ("POST", "compaction"): _compact,
    ("GET", "state"): _state,
}
