"""What no pod may say: the rules of core/v1 for the fields that schedulers and kubelets read."""

from collections.abc import Iterator
from typing import Final

from sky_core.selector_text import is_label_value
from sky_core.simulation.objects import part, text
from sky_sandbox.api.metadata import is_label_name, is_qualified_name
from sky_sandbox.api.refusals import Cause
from sky_sandbox.objects import container_resources
from sky_sandbox.objects.case import Object
from sky_sandbox.objects.parts import items

CONTAINERS: Final = ("containers", "initContainers")

_RESTARTS: Final = ("Always", "OnFailure", "Never")
_OPERATORS: Final = ("", "Equal", "Exists")
_EFFECTS: Final = ("", "NoSchedule", "PreferNoSchedule", "NoExecute")


def faults(spec: Object) -> Iterator[Cause]:
    """What is wrong with the spec of a pod that has its defaults."""
    yield from _containers(spec)
    yield from _gates(spec)
    for index, one in enumerate(items(spec, "tolerations")):
        yield from _toleration(one, f"spec.tolerations[{index}]")
    for key, value in part(spec, "nodeSelector").items():
        if not (is_qualified_name(key) and is_label_value(value)):
            yield Cause("spec.nodeSelector", f'Invalid value: "{key}={value}": a label is wanted')
    if spec["restartPolicy"] not in _RESTARTS:
        yield _unsupported("spec.restartPolicy", spec["restartPolicy"])


def _containers(spec: Object) -> Iterator[Cause]:
    if not spec.get("containers"):
        yield Cause("spec.containers", "Required value", "FieldValueRequired")
    seen = set()
    for of in CONTAINERS:
        for index, container in enumerate(spec.get(of, ())):
            at, name = f"spec.{of}[{index}]", text(container, "name")
            if not name:
                yield Cause(f"{at}.name", "Required value", "FieldValueRequired")
            elif not is_label_name(name):
                yield Cause(f"{at}.name", f'Invalid value: "{name}": a lowercase RFC 1123 label is wanted')
            elif name in seen:
                yield Cause(f"{at}.name", f'Duplicate value: "{name}"', "FieldValueDuplicate")
            if not text(container, "image"):
                yield Cause(f"{at}.image", "Required value", "FieldValueRequired")
            seen.add(name)
            yield from container_resources.faults(container, f"{at}.resources")


def _gates(spec: Object) -> Iterator[Cause]:
    names = [text(gate, "name") for gate in items(spec, "schedulingGates")]
    for index, name in enumerate(names):
        if not is_qualified_name(name):
            yield Cause(f"spec.schedulingGates[{index}]", f'Invalid value: "{name}": a qualified name is wanted')
        elif name in names[:index]:
            yield Cause(f"spec.schedulingGates[{index}]", f'Duplicate value: "{name}"', "FieldValueDuplicate")
    if spec.get("nodeName") and names:
        why = "Forbidden: cannot be set until all schedulingGates have been cleared"
        yield Cause("spec.nodeName", why, "FieldValueForbidden")


def _toleration(one: Object, at: str) -> Iterator[Cause]:
    key, operator, effect = (text(one, name) for name in ("key", "operator", "effect"))
    if key and not is_qualified_name(key):
        yield Cause(f"{at}.key", f'Invalid value: "{key}": a qualified name is wanted')
    if operator not in _OPERATORS:
        yield _unsupported(f"{at}.operator", operator)
    elif not key and operator != "Exists":
        yield Cause(f"{at}.operator", f'Invalid value: "{operator}": must be Exists when `key` is empty')
    elif operator == "Exists" and text(one, "value"):
        yield Cause(f"{at}.operator", "Invalid value: value must be empty when `operator` is 'Exists'")
    if effect not in _EFFECTS:
        yield _unsupported(f"{at}.effect", effect)
    elif one.get("tolerationSeconds") is not None and effect != "NoExecute":
        yield Cause(f"{at}.effect", "Invalid value: must be 'NoExecute' when `tolerationSeconds` is set")


def _unsupported(at: str, value: str) -> Cause:
    return Cause(at, f'Unsupported value: "{value}"', "FieldValueNotSupported")
