"""Objects of custom kinds on their way in."""

from typing import Any

from sky_sandbox.api.refusals import Cause
from sky_sandbox.objects.case import Case, Object
from sky_sandbox.objects.rules import TRANSITIONS
from sky_sandbox.objects.schemas import faults, filled, pruned


def admit(raw: dict[str, Any], case: Case) -> Object:
    """An object: pruned, with defaults, and judged by schema and rules.

    Raises:
        Refusal: It is not as its definition wants it.
    """
    schema = case.kind.schema
    kept, lost = pruned(raw, schema)
    said = [f'unknown field "{path}"' for path in lost]
    if said and case.validation == "Strict":
        if case.patching:
            raise case.invalid(*(Cause("patch", f"Invalid value: strict decoding error: {one}") for one in said))
        raise case.unreadable(f"strict decoding error: {', '.join(said)}")
    if case.validation != "Ignore":
        case.warnings += said
    full: dict[str, Any] = filled(kept, schema)
    if causes := list(faults(full, schema)):
        raise case.invalid(*causes)
    if case.old is not None:
        for rule in schema.get("x-kubernetes-validations", ()):
            if rule["rule"] in TRANSITIONS and not TRANSITIONS[rule["rule"]](full, case.old):
                raise case.invalid_at("", f"Invalid value: {rule.get('message', rule['rule'])}")
    return full
