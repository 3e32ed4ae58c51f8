"""What servers answered in a play, without what each server makes up: to be compared."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Final

import msgspec
import trio

from plays import ELSEWISE, Step, filled
from sky_shell.transport import JSON, Response, Transport

PATIENCE: Final = 60.0
_AGAIN_SECONDS: Final = 0.05

_UID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_AGE: Final = re.compile(r"\d+[smhd](\d+[smhd])?")
_SUFFIX: Final = re.compile(r"(?<=-)[bcdfghjklmnpqrstvwxz2456789]{5}$")

UNCOMPARED: Final = frozenset(
    {"managedFields", "imagePullPolicy", "terminationMessagePath", "terminationMessagePolicy", "serviceAccount",
     "serviceAccountName", "daemonEndpoints", "lastPhaseTransitionTime"}
)  # fmt: skip
"""What a real server adds that nobody here reads; of managed fields patches show whether they are kept."""
PROSE: Final = frozenset({"message", "description"})
"""What is there for people, unless a play itself has said it."""


class Answer(msgspec.Struct, frozen=True):
    """The answer to one step. `body` is the JSON's value, the lines of a watch, or a text."""

    status: int
    headers: Mapping[str, str]
    body: Any

    @property
    def verdict(self) -> str:
        """The status and the reason: `409 Conflict`."""
        reason = self.body.get("reason", "") if self.status >= 400 and isinstance(self.body, Mapping) else ""
        return f"{self.status} {reason}".strip()


class Transcript(msgspec.Struct, frozen=True):
    """The steps of a play, and a server's answers."""

    steps: Sequence[Step]
    answers: Sequence[Answer]


async def played(transport: Transport, namespace: str, steps: Sequence[Step]) -> Transcript:
    """Put the steps to a server, one after the other."""
    kept: dict[str, Mapping[str, Any]] = {}
    answers = []
    for step in steps:
        answers.append(await _learned(transport, filled(step, kept, namespace)))
        if step.keep:
            kept[step.keep] = answers[-1].body
    return Transcript(steps, answers)


async def _learned(transport: Transport, step: Step) -> Answer:
    answer = await _answer(transport, step)
    with trio.move_on_after(PATIENCE):
        while step.until and not _holds(answer.body, step.until):
            await trio.sleep(_AGAIN_SECONDS)
            answer = await _answer(transport, step)
    return answer


def _holds(found: object, wanted: object) -> bool:
    if isinstance(wanted, Mapping):
        return isinstance(found, Mapping) and all(_holds(found.get(key), value) for key, value in wanted.items())
    return found == wanted


async def _answer(transport: Transport, step: Step) -> Answer:
    if step.lines is not None:
        return await _watched(transport, step, step.lines)
    body = None if step.body is None else step.body if isinstance(step.body, bytes) else msgspec.json.encode(step.body)
    answer = await transport.request(
        step.method, step.path, query=step.query, body=body, content_type=step.media, timeout=PATIENCE
    )
    return _read(answer)


def _read(answer: Response) -> Answer:
    is_json = answer.headers.get("content-type", "").startswith(JSON)
    return Answer(
        answer.status, answer.headers, msgspec.json.decode(answer.body) if is_json else answer.body.decode().strip()
    )


async def _watched(transport: Transport, step: Step, most: int) -> Answer:
    lines: list[bytes] = []
    async with transport.stream(step.path, query=step.query) as stream:
        with trio.fail_after(PATIENCE):
            while len(lines) < most and (more := await stream.next_lines()):
                lines += more
        if stream.status != 200:
            return _read(Response(stream.status, b"".join(lines), {"content-type": JSON}))
        return Answer(200, {}, [msgspec.json.decode(line) for line in lines[:most]])


def surprises(transcript: Transcript, *, of_sandbox: bool) -> list[str]:
    """The steps that got something else than they say."""
    found = []
    for number, (step, answer) in enumerate(zip(transcript.steps, transcript.answers, strict=True), 1):
        wanted = (of_sandbox and step.elsewise and ELSEWISE[step.elsewise].verdict) or step.gets
        if answer.verdict != wanted:
            found.append(f"{_named(number, step)}: not {wanted}, but {answer.verdict}: {answer.body}")
    return found


def differences(truth: Transcript, copy: Transcript) -> list[str]:
    """Where a copy answers otherwise than the truth, but for what each server makes up, and what people read."""
    said = _texts([step.body for step in truth.steps])
    of_truth, of_copy = _Names(said), _Names(said)
    found = []
    for number, (step, true, copied) in enumerate(zip(truth.steps, truth.answers, copy.answers, strict=True), 1):
        seen = of_truth.shown(true), of_copy.shown(copied)
        found += [f"{_named(number, step)}: {difference}" for difference in _unexpected(step, *seen)]
    return found


def _unexpected(step: Step, truth: Mapping[str, Any], copy: Mapping[str, Any]) -> list[str]:
    """The differences that nobody knows of, and the one that somebody knows of and that is not there."""
    if truth["status"] != copy["status"]:
        known = step.elsewise and ELSEWISE[step.elsewise].verdict
        return [] if known else [f"status is {truth['status']}, on the sandbox {copy['status']}: {copy['body']}"]
    found = list(_different(truth, copy))
    if not step.elsewise:
        return found
    form = ELSEWISE[step.elsewise].fields
    left = [one for one in found if not (form and re.match(form, one))]
    return left if len(left) < len(found) else [*left, f"does not differ, though {ELSEWISE[step.elsewise].why}"]


def _named(number: int, step: Step) -> str:
    return f"step {number}, {step.method} {step.path}"


class _Names:
    """Names for what a server makes up: the same for the same, in the order in which it is met."""

    def __init__(self, said: set[str]) -> None:
        """`said` are the texts that the play itself brings."""
        self._said = said
        self._names: dict[str, dict[str, str]] = {"uid": {}, "version": {}}

    def shown(self, answer: Answer) -> dict[str, Any]:
        """An answer as it is compared."""
        headers = {name: answer.headers.get(name) for name in ("content-type", "retry-after")}
        warned = "warning" in answer.headers
        return {"status": answer.status, **headers, "warned": warned, "body": self._plain(answer.body)}

    def _plain(self, value: Any) -> Any:
        match value:
            case {"items": _, "metadata": _} | {"rows": _, "metadata": _} | {"type": "BOOKMARK"}:
                return self._fields(value, "of a list")
            case Mapping():
                return self._fields(value, "")
            case list():
                return [self._plain(inner) for inner in value]
            case str() if value not in self._said:
                return self._text(value)
            case _:
                return value

    def _fields(self, value: Mapping[str, Any], of: str) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        for name, inner in sorted(value.items()):
            if name in UNCOMPARED or (name in PROSE and isinstance(inner, str) and inner not in self._said):
                continue
            if name == "causes" and isinstance(inner, list):
                fields[name] = {f"{one.get('reason')} at {one.get('field')}": True for one in inner}
            elif name == "resourceVersion":
                fields[name] = self._name("version", inner)
            elif name == "continue" and inner:
                fields[name] = "a token"
            elif of and name in {"metadata", "object"}:
                fields[name] = {**self._fields(inner, of), **({"resourceVersion": "any"} if name == "metadata" else {})}
            else:
                fields[name] = self._plain(inner)
        return fields

    def _text(self, text: str) -> str:
        if _UID.fullmatch(text):
            return self._name("uid", text)
        if _TIME.fullmatch(text):
            return "a time with fractions" if "." in text else "a time"
        return "an age" if _AGE.fullmatch(text) else _SUFFIX.sub("*", text)

    def _name(self, what: str, text: str) -> str:
        names = self._names[what]
        return text if text in self._said else names.setdefault(text, f"{what} {len(names) + 1}")


def _texts(value: object) -> set[str]:
    """Every text in a value."""
    match value:
        case str():
            return {value}
        case Mapping():
            return {text for inner in value.values() for text in _texts(inner)}
        case list() | tuple():
            return {text for inner in value for text in _texts(inner)}
        case _:
            return set()


def _different(truth: Any, copy: Any, at: str = "") -> Iterator[str]:
    match truth, copy:
        case _ if _is_empty(truth) and _is_empty(copy):
            return
        case Mapping(), Mapping():
            for name in sorted(truth.keys() | copy.keys()):
                yield from _different(truth.get(name), copy.get(name), f"{at}.{name}")
        case list(), list():
            for index, (one, other) in enumerate(zip_longest(truth, copy)):
                yield from _different(one, other, f"{at}[{index}]")
        case _ if truth != copy or type(truth) is not type(copy):
            if _is_number(truth) and _is_number(copy) and float(truth) == float(copy):
                return
            yield f"{at} is {truth!r}, on the sandbox {copy!r}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_empty(value: Any) -> bool:
    """Whether it says nothing: Go leaves out some of that, and keeps some."""
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return value in (None, "", {}, []) or (isinstance(value, Mapping | list) and all(map(_is_empty, inner)))
