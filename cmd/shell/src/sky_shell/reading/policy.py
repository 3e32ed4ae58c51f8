"""The scheduler's configuration out of a file, with the line of whatever is refused."""

from typing import Any, Final

import yaml

from sky_core.api.configuration import ConfigurationError, Path, read_configuration
from sky_core.cycle import REGISTRY
from sky_core.policy import Policy
from sky_shell.reading.documents import written
from sky_shell.reading.places import File, InputError, Place

_LOADER: Final = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader


def policy_in(file: File) -> Policy:
    """The policy that this file asks for.

    Raises:
        InputError: Something in it is unknown, missing or wrong; nothing of it is used then.
    """
    documents = list(written(file))
    if len(documents) != 1:
        raise InputError(f"{file.name} has {len(documents)} documents; a configuration is one")
    try:
        return read_configuration(documents[0].value, REGISTRY)
    except ConfigurationError as error:
        raise _place(file, error).wrong(str(error)) from None


def _place(file: File, error: ConfigurationError) -> Place:
    """Where it is written; of an expression, where in it as far as the file's lines are the expression's."""
    node, mark = _found(file.text, error.path)
    place = Place(file.name, line=mark.line + 1, column=mark.column + 1)
    if not error.line or not isinstance(node, yaml.ScalarNode):
        return place
    line, column = node.start_mark.line, node.start_mark.column
    if node.style in ("|", ">"):
        return Place(file.name, line=line + 1 + error.line)
    if error.line > 1 or line != node.end_mark.line:
        return place
    return Place(file.name, line=line + 1, column=column + error.column + bool(node.style))


def _found(text: str, path: Path) -> tuple[Any, Any]:
    """The node at a path, or the last on the way there, and where it or its key begins."""
    node: Any = yaml.compose(text, Loader=_LOADER)
    mark = node.start_mark
    for part in path:
        inner = None
        if isinstance(node, yaml.MappingNode):
            inner = next(((key.start_mark, value) for key, value in node.value if key.value == part), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int):
            inner = (node.value[part].start_mark, node.value[part])
        if inner is None:
            break
        mark, node = inner
    return node, mark
