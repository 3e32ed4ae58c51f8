"""Whatever is in a file, the answer is a simulation or a sentence; never a traceback, never a defect."""

import contextlib
import copy
import io
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sky_shell.reading.documents import written
from skyctl.command_line import status
from skyctl.files import read

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.yaml"))
OBJECTS = [[document.value for document in written(read(str(path)))] for path in EXAMPLES]
HOSTILE: list[Any] = [
    None, True, 0, -1, 2**63, -(2**70), 1.5, float("nan"), float("-inf"), "", " ", "x" * 300, "1e999999999",
    "-1", "NaN", "9P", "\x00", "\x1b[31m", "\u202e", "\ud800", "٣", "../..", "a/b", "</script><script>", "{{",
    "default", "n0", "100y",
    [], {}, [[]], [{}], [None], {"": ""}, {"a": {"a": {}}}, {"matchLabels": 7}, [{"name": "a"}, {"name": "a"}],
]  # fmt: skip
FORMATS = st.sampled_from(["table", "json", "html"])
QUICK = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def check(content: bytes, output: str, name: str = "f.yaml") -> None:
    """Simulate a file of this content: three cycles are enough to fail."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(content)
        out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            ended = status(["simulate", str(path), "--cycles", "3", "-o", output])
        said = err.getvalue()
        assert ended in {0, 1}, said
        assert "Traceback" not in said
        assert ended == 0 or (name in said and len(said.splitlines()) == 1), said
        assert ended == 1 or out.buffer.tell() > 0


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in inside:
        yield from paths(inner, (*path, key))


hostile = st.sampled_from(HOSTILE).map(copy.deepcopy)  # what is put in may be changed by what follows


@st.composite
def mutated(draw: st.DrawFn) -> list[Any]:
    """An example in which something, or several things, are replaced, left out, or named otherwise."""
    objects: list[Any] = copy.deepcopy(draw(st.sampled_from(OBJECTS)))
    for _ in range(draw(st.integers(1, 4))):
        *way, last = draw(st.sampled_from(list(paths(objects))[1:]))
        holder: Any = objects
        for part in way:
            holder = holder[part]
        what = draw(st.sampled_from(["replace", "drop", "rename", "grow"]))
        if what == "replace":
            holder[last] = draw(hostile)
        elif what == "grow" and isinstance(holder, dict):
            holder[draw(st.sampled_from(["status", "spec", "name", "pods", "phase"]))] = draw(hostile)
        elif what == "rename" and isinstance(holder, dict):
            holder[draw(st.sampled_from(["", "x", "name", "\x1b[0m"]))] = holder.pop(last)
        else:
            del holder[last]
    return objects


@QUICK
@given(mutated(), FORMATS)
def test_objects_that_are_almost_right(objects: list[Any], output: str) -> None:
    text = "\n".join(json.dumps(value) for value in objects)
    check(text.encode(), output)


@QUICK
@given(st.sampled_from(EXAMPLES), st.data(), FORMATS)
def test_files_that_are_cut_or_garbled(example: Path, data: st.DataObject, output: str) -> None:
    content = bytearray(example.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content)))
        upto = data.draw(st.integers(at, min(len(content), at + 50)))
        content[at:upto] = data.draw(
            st.binary(max_size=10) | st.sampled_from([b"&a ", b"*a", b"- ", b"{", b"\t", b"---\n"])
        )
    check(bytes(content), output)


@QUICK
@given(st.binary(max_size=400) | st.text(st.characters(exclude_categories=["Cs"])).map(str.encode), FORMATS)
def test_anything_at_all(content: bytes, output: str) -> None:
    check(content, output)
    check(content, output, "f.json")


@QUICK
@given(st.binary(max_size=200) | st.sampled_from(HOSTILE[10:]).map(lambda value: json.dumps(value).encode()))
def test_any_configuration(content: bytes) -> None:
    head = b"apiVersion: config.scheduling.infini-ai.com/v1alpha1\nkind: SchedulerConfiguration\n"
    with tempfile.TemporaryDirectory() as folder:
        for text in (content, head + content, head + b"expressions: " + content, head + b"plugins: " + content):
            path = Path(folder, "c.yaml")
            path.write_bytes(text)
            err = io.StringIO()
            with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())), contextlib.redirect_stderr(err):
                ended = status(["simulate", str(EXAMPLES[0]), "--cycles", "1", "--config", str(path)])
            assert ended in {0, 1}, err.getvalue()


@QUICK
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6), max_size=4))
def test_any_command_line(words: list[str]) -> None:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as err:
        assert status(["simulate", *words]) in {0, 1, 2}, err.getvalue()
        assert status(words) in {0, 1, 2}, err.getvalue()
