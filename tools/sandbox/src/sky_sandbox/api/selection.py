"""Which objects a list or a watch is about: label and field selectors, as kubectl sends them."""

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from sky_core.selector_text import SelectorError, parse_selector
from sky_core.selectors import EVERYTHING, Selector
from sky_core.simulation.objects import part
from sky_sandbox.api.kinds import Kind
from sky_sandbox.api.refusals import bad_request
from sky_sandbox.api.requests import Request
from sky_sandbox.objects.events import kept_path

_TERM: Final = re.compile(r"([^=!,\\]+)(!=|==|=)((?:[^,\\=]|\\[\\,=])*)(?:,|$)")
_ALWAYS: Final = ("metadata.name", "metadata.namespace")


class FieldTerm(msgspec.Struct, frozen=True):
    """One field, and what it must be, or must not be."""

    path: tuple[str, ...]
    value: str
    equal: bool = True

    def met_by(self, raw: Mapping[str, Any]) -> bool:
        """Whether an object meets it; an absent field is empty, and false for those that are true or false."""
        *where, name = self.path
        value = part(raw, *where).get(name, "")
        text = str(value).lower() if isinstance(value, bool) else str(value)
        return (text == self.value or (text == "" and self.value == "false")) is self.equal


class Selection(msgspec.Struct, frozen=True):
    """What a client wants to see of a collection."""

    labels: Selector = EVERYTHING
    fields: tuple[FieldTerm, ...] = ()

    def takes(self, raw: Mapping[str, Any]) -> bool:
        """Whether an object is among it."""
        if self.fields and not all(term.met_by(raw) for term in self.fields):
            return False
        return self.labels is EVERYTHING or self.labels.matches(part(raw, "metadata", "labels"))


def selection(kind: Kind, request: Request) -> Selection:
    """What the query selects.

    Raises:
        Refusal: A selector cannot be read, or the kind has no such field to select by.
    """
    try:
        labels = parse_selector(request.query.get("labelSelector", ""))
    except SelectorError as error:
        raise bad_request(f"unable to parse requirement: {error}") from None
    fields = _fields(kind, request.query.get("fieldSelector", ""))
    return Selection(labels if labels.requirements else EVERYTHING, fields)


def _fields(kind: Kind, text: str) -> tuple[FieldTerm, ...]:
    terms, position = [], 0
    while position < len(text):
        if (match := _TERM.match(text, position)) is None:
            raise bad_request(f"invalid field selector: {text!r}")
        position = match.end()
        path = match[1].strip()
        if path not in _ALWAYS and path not in kind.fields:
            raise bad_request(f"field label not supported: {path}")
        value = re.sub(r"\\(.)", r"\1", match[3])
        terms.append(FieldTerm(kept_path(kind, path), value, match[2] != "!="))
    return tuple(terms)
