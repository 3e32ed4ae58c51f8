"""Objects of custom kinds on their way in."""

from collections.abc import Iterator
from typing import Any

from sky_sandbox.api.refusals import Cause, invalid
from sky_sandbox.objects.case import Case, Object
from sky_sandbox.objects.rules import TRANSITIONS
from sky_sandbox.objects.schema_fields import filled, pruned
from sky_sandbox.objects.schemas import ABSENT, BLOCKING, ROOT, broken_rules, faults, has_rules


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
            raise invalid("", "", [Cause("patch", f"Invalid value: strict decoding error: {one}") for one in said])
        raise case.unreadable(f"strict decoding error: {', '.join(said)}")
    if case.validation != "Ignore":
        case.warnings += said
    unmarked = [one for one in raw["metadata"].get("finalizers", ()) if "/" not in one]
    case.warnings += [f'metadata.finalizers: "{one}": prefer a domain-qualified finalizer name' for one in unmarked]
    full: dict[str, Any] = filled(kept, schema)
    if causes := list(_faults(full, case)):
        raise case.invalid(*causes)
    return full


def _faults(full: dict[str, Any], case: Case) -> Iterator[Cause]:
    """What is wrong with an object; its rules are asked only where it is at least of the right form."""
    schema, before = case.kind.schema, ABSENT if case.old is None else case.old
    found = list(faults(full, schema, before=before))
    yield from found
    if all(cause.type not in BLOCKING for cause in found):
        yield from broken_rules(full, schema, before=before)
        yield from _broken_transitions(full, case)
    elif has_rules(schema):
        yield Cause(ROOT, "Invalid value: some validation rules were not checked because the object was invalid")


def _broken_transitions(full: dict[str, Any], case: Case) -> Iterator[Cause]:
    for rule in case.kind.schema.get("x-kubernetes-validations", ()):
        holds = TRANSITIONS.get(rule["rule"])
        if holds is not None and case.old is not None and not holds(full, case.old):
            yield Cause(ROOT, f"Invalid value: {rule.get('message', rule['rule'])}")
