"""The documents of a file, YAML or JSON, and the objects in their lists."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from sky_shell.reading.json_text import NotJsonError, json_documents
from sky_shell.reading.places import File, InputError, Place
from sky_shell.reading.yaml_text import YamlReader

_LIST: Final = "List"


class Written(NamedTuple):
    """A value, and where it is written."""

    place: Place
    value: Any


def written(file: File) -> Iterator[Written]:
    """What a file says, document by document; a list as its items. Empty documents are left out.

    Raises:
        InputError: It is neither YAML nor JSON, or a list has no items.
    """
    documents, lines = _documents(file)
    for document in documents:
        if document.value is not None:
            yield from _unlisted(document, lines)


def _documents(file: File) -> tuple[list[Written], Mapping[int, int]]:
    """JSON is tried first where the text could be some: it is read ten times as fast. `{a: b}` is YAML all the same."""
    refused: NotJsonError | None = None
    if file.text.lstrip()[:1] in ("{", "["):
        try:
            return [Written(*document) for document in json_documents(file.name, file.text)], {}
        except NotJsonError as error:
            refused = error
    reader = YamlReader(file.name, file.text)
    try:
        return [Written(*document) for document in reader.documents()], reader.lines
    except InputError:
        if refused is not None and file.name.endswith(".json"):
            raise refused from None
        raise


def _unlisted(document: Written, lines: Mapping[int, int]) -> Iterator[Written]:
    place, value = document
    if not isinstance(value, dict) or not str(value.get("kind")).endswith(_LIST) or "items" not in value:
        yield document
        return
    items = value["items"] or []
    if not isinstance(items, list):
        raise place.wrong("items is no list; write each object behind a dash")
    kind = value["kind"].removesuffix(_LIST)
    given = {"apiVersion": value.get("apiVersion"), "kind": kind} if kind else {}  # the API's own lists say it once
    for at, item in enumerate(items):
        line = lines.get(id(item))
        inner = place._replace(item=at) if line is None else place._replace(line=line)
        yield from _unlisted(Written(inner, given | item if isinstance(item, dict) else item), lines)
