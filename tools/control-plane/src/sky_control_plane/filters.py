"""kube-scheduler's own filter plugins, as a program that is asked about one small world after the other."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Final, NamedTuple, Self, TypeAlias

from sky_control_plane.binaries import Binaries

PROGRAM: Final = "filters"

Objects: TypeAlias = Mapping[str, Sequence[Mapping[str, Any]]]
"""Manifests by `nodes`, `bound` (pods on nodes), `pending` and `namespaces`."""


class FiltersError(Exception):
    """The world is none that an API server would take, or the program has ended."""


class Judgement(NamedTuple):
    """What becomes of a world.

    `stored` is what an API server makes of its manifests. `verdicts` says of each pending pod (namespace/name) and each
    node by which plugin it is refused there, and why; empty where it fits.
    """

    stored: Objects
    verdicts: Mapping[str, Mapping[str, str]]


class Filters:
    """The program, from now until it is left; `filters/main.go` says which plugins it has."""

    def __init__(self, binaries: Binaries) -> None:
        """Start it.

        Raises:
            NotAtHandError: It is not among the binaries.
        """
        self._process = subprocess.Popen([binaries.path(PROGRAM)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self) -> Self:
        """Nothing more."""
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        """End it."""
        self._process.communicate()

    def judge(self, world: Objects) -> Judgement:
        """Every pending pod before every node, each as if no other waited.

        Raises:
            FiltersError: The world is malformed, or the program has ended.
        """
        answer = json.loads(self._answer(json.dumps(world).encode() + b"\n") or b'{"refused": "the program has ended"}')
        if "refused" in answer:
            raise FiltersError(answer["refused"])
        return Judgement(stored=answer["stored"], verdicts=answer["verdicts"])

    def _answer(self, line: bytes) -> bytes:
        """Its line to a line; nothing if it has ended, after whatever it says on standard error."""
        asked, answered = self._process.stdin, self._process.stdout
        if asked is None or answered is None:
            return b""
        try:
            asked.write(line)
            asked.flush()
        except BrokenPipeError:
            return b""
        return answered.readline()
