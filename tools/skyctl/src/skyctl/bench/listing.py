"""The first list of pods, from the bytes of the API server's answers."""

import multiprocessing
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Final

import msgspec
import trio

from sky_core.api.decoding import pod_in
from sky_core.api.identity import Key
from sky_core.api.wire.core import Pod
from sky_core.course import Changes, Course, Told
from sky_core.settings import Settings
from sky_shell.listing import PAGE, list_all
from sky_shell.objects import Identity
from sky_shell.resources import PODS
from sky_shell.transport import JSON, Lines, Response
from skyctl.bench.clusters import CARD, pod, running
from skyctl.bench.scale import Scale
from skyctl.bench.timing import Stopwatch, uncollected
from skyctl.bench.workload import Sample

COUNT: Final = 50_000
_MIB: Final = 1024


def decode(scale: Scale) -> Iterator[Sample]:
    """The time until each pod is the struct that the process reads it from."""
    yield from _timed(scale, _decoded)


def take_in(scale: Scale) -> Iterator[Sample]:
    """The time until a world has their rows."""
    yield from _timed(scale, _taken_in)


def memory(scale: Scale) -> Iterator[Sample]:
    """The most memory that a process of its own has taken until it has the rows, in MiB; its interpreter is in that."""
    while True:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            yield Sample(pool.apply(_peak, (scale.amount(COUNT),)))


def _timed(scale: Scale, read: Callable[[Iterator[bytes]], object]) -> Iterator[Sample]:
    while True:
        pages, watch = list(_pages(scale.amount(COUNT))), Stopwatch()
        with uncollected(), watch.running():
            made = read(iter(pages))
        del made  # untimed
        yield Sample(watch.total)


def _peak(count: int) -> float:
    with uncollected():
        course = _taken_in(_pages(count))
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    del course
    return int(status["VmHWM"].split()[0]) / _MIB


def _decoded(pages: Iterator[bytes]) -> list[Pod]:
    return [pod_in(raw) for _, raw in _listed(pages).values()]


def _taken_in(pages: Iterator[bytes]) -> Course:
    course = Course(Settings())
    objects = [Told(Key("Pod", *key), msgspec.Raw(raw)) for key, (_, raw) in _listed(pages).items()]
    course.learn(Changes(objects=tuple(objects)))
    course.world  # noqa: B018  brings it up to date
    return course


def _listed(pages: Iterator[bytes]) -> Mapping[tuple[str, str], tuple[Identity, bytes]]:
    return trio.run(list_all, _Server(pages), PODS).objects


def _pages(count: int) -> Iterator[bytes]:
    """The answers of a server, with as much in each pod as a server puts there."""
    for begin in range(0, count, PAGE):
        items = [_item(at) for at in range(begin, min(begin + PAGE, count))]
        more = {"continue": str(begin + PAGE)} if begin + PAGE < count else {}
        yield msgspec.json.encode({"metadata": {"resourceVersion": "1", **more}, "items": items})


def _item(at: int) -> Mapping[str, object]:
    made = running(pod(f"job-{at // 8}-{at % 8}", f"job-{at // 8}", CARD), f"node-{at // 8}")
    made["metadata"] |= {"resourceVersion": str(at + 1), "labels": {"app": f"job-{at // 8}"}, "generation": 1}
    made["status"]["conditions"] = [
        {"type": type_, "status": "True", "lastProbeTime": None, "lastTransitionTime": "2026-01-01T00:00:00Z"}
        for type_ in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    ]
    return made


class _Server:
    """A transport that answers with these pages, one after the other."""

    def __init__(self, pages: Iterator[bytes]) -> None:
        self._pages = pages

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] = {},
        body: bytes | None = None,
        content_type: str = JSON,
        timeout: float = 10.0,
    ) -> Response:
        """The next page, whatever is asked for."""
        del method, path, query, body, content_type, timeout
        await trio.lowlevel.checkpoint()
        return Response(200, next(self._pages))

    def stream(self, path: str, *, query: Mapping[str, str]) -> AbstractAsyncContextManager[Lines]:
        """Nobody watches here."""
        raise NotImplementedError(path, query)
