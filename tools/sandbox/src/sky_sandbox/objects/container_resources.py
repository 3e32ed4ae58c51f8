"""What a container asks for: a request wherever there is a limit, and no devices in parts."""

from collections.abc import Iterator
from typing import Any

from sky_core.quantity import NANO, Quantity
from sky_core.simulation.objects import part
from sky_sandbox.api.refusals import Cause
from sky_sandbox.objects.case import Object


def completed(container: Object, *, host_network: bool) -> Object:
    """A container in which limits stand for the requests that it does not make, and ports say what they are."""
    asked = part(container, "resources")
    result: dict[str, Any] = dict(container)
    if asked.get("limits"):
        result["resources"] = {**asked, "requests": {**asked["limits"], **asked.get("requests", {})}}
    if container.get("ports"):
        result["ports"] = [_port(port, host_network=host_network) for port in container["ports"]]
    return result


def _port(port: Object, *, host_network: bool) -> Object:
    """A port; where the pod is in the host's network, it is the host's."""
    host = {"hostPort": port["containerPort"]} if host_network and port.get("containerPort") else {}
    return {"protocol": "TCP", **host, **port}


def faults(container: Object, at: str) -> Iterator[Cause]:
    """What is wrong with the amounts of a completed container: negative ones, devices in parts or not limited."""
    asked = part(container, "resources")
    requests, limits = ({name: Quantity.parse(amount).nano for name, amount in part(asked, of).items()}
                        for of in ("requests", "limits"))  # fmt: skip
    for of, amounts in (("requests", requests), ("limits", limits)):
        for name, nano in amounts.items():
            if nano < 0:
                yield Cause(f"{at}.{of}[{name}]", "Invalid value: must be greater than or equal to 0")
            elif "/" in name and nano % NANO:
                yield Cause(f"{at}.{of}[{name}]", "Invalid value: must be an integer")
    for name, nano in requests.items():
        if "/" in name and name not in limits:
            why = "Required value: Limit must be set for non overcommitable resources"
            yield Cause(f"{at}.limits", why, "FieldValueRequired")
        elif "/" in name and nano != limits[name]:
            yield Cause(f"{at}.requests", f"Invalid value: must be equal to {name} limit")
        elif nano > limits.get(name, nano):
            yield Cause(f"{at}.requests", f"Invalid value: must be less than or equal to {name} limit")
