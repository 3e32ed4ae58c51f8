"""What a container asks for: amounts that are amounts, and a request wherever there is a limit."""

from typing import Any

from sky_core.quantity import NANO, Quantity, QuantityError
from sky_core.simulation.objects import part
from sky_sandbox.api.refusals import Cause
from sky_sandbox.objects.case import Case, Object


def completed(container: Object) -> Object:
    """A container in which limits stand for the requests that it does not make, and ports have a protocol."""
    asked = part(container, "resources")
    result: dict[str, Any] = dict(container)
    if asked.get("limits"):
        result["resources"] = {**asked, "requests": {**asked["limits"], **asked.get("requests", {})}}
    if container.get("ports"):
        result["ports"] = [{"protocol": "TCP", **port} for port in container["ports"]]
    return result


def judged(container: Object, at: str, case: Case) -> None:
    """Judge the amounts of a container.

    Raises:
        Refusal: One is none, is negative; or a device is asked for in parts, or otherwise than it is limited.
    """
    asked = part(container, "resources")
    requests, limits = part(asked, "requests"), part(asked, "limits")
    causes = []
    for of, amounts in (("requests", requests), ("limits", limits)):
        for name, amount in amounts.items():
            where = f"{at}.resources.{of}[{name}]"
            nano = _nano(amount, case)
            if nano < 0:
                causes.append(Cause(where, f'Invalid value: "{amount}": must be greater than or equal to 0'))
            if "/" in name and nano % NANO:
                causes.append(Cause(where, f'Invalid value: "{amount}": must be an integer'))
            elif "/" in name and name in requests and _nano(limits.get(name, "0"), case) != _nano(requests[name], case):
                causes.append(Cause(where, f"Invalid value: must be equal to the {name} limit"))
            elif of == "requests" and name in limits and nano > _nano(limits[name], case):
                causes.append(Cause(where, f"Invalid value: must be less than or equal to {name} limit"))
    if causes:
        raise case.invalid(*causes)


def _nano(amount: object, case: Case) -> int:
    if isinstance(amount, bool) or not isinstance(amount, str | int | float):
        raise case.unreadable("quantities must be a string or a number")
    try:
        return Quantity.parse(str(amount)).nano
    except QuantityError as error:
        raise case.unreadable(str(error)) from None
