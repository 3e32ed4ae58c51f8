"""What happened in a simulation, in sentences."""

from collections.abc import Iterable, Iterator
from typing import Final

from sky_core.api.instants import rfc3339
from sky_core.reasons import Rung
from sky_core.simulation.report import Bind, Eviction, QuotaWritten, Step, Told
from skyctl.scene import Chapter

_ALIKE_MAX: Final = 16
_OK: Final = "ok"


def chapters(steps: Iterable[Step]) -> tuple[Chapter, ...]:
    """Everything, cycle by cycle; of very many things of one kind in a cycle the first, and how many more."""
    return tuple(Chapter(step.cycle, rfc3339(step.at), tuple(_sentences(step))) for step in steps)


def setbacks(steps: Iterable[Step]) -> tuple[str, ...]:
    """Evictions, and what was refused."""
    return tuple(
        f"cycle {step.cycle}: {said}"
        for step in steps
        for said in (*map(_evicted, step.evictions), *(_bound(bind) for bind in step.binds if bind.result != _OK))
    )


def _sentences(step: Step) -> Iterator[str]:
    for said in (
        list(map(_told, step.told)),
        list(map(_wrote, step.writes)),
        list(map(_evicted, step.evictions)),
        list(map(_bound, step.binds)),
        list(step.events),
    ):
        yield from said[:_ALIKE_MAX]
        if len(said) > _ALIKE_MAX:
            yield f"and {len(said) - _ALIKE_MAX:,} more like this"


def _told(told: Told) -> str:
    if not told.codes and told.rung is Rung.DONE:
        return f"job {told.job} has all that it asks for"
    return f"job {told.job} gets as far as {told.rung}: {', '.join(told.codes)}"


def _wrote(write: QuotaWritten) -> str:
    by = "" if write.by == "scheduler" else f", by {write.by}"
    return f"quota {write.quota} {f'is on {write.node}' if write.node else 'is on no node'}{by}"


def _evicted(eviction: Eviction) -> str:
    if eviction.result == _OK:
        return f"pod {eviction.pod} is evicted for job {eviction.job}"
    return f"pod {eviction.pod} is not evicted for job {eviction.job}: {eviction.result}"


def _bound(bind: Bind) -> str:
    if bind.result == _OK:
        return f"pod {bind.pod} is bound to {bind.node}"
    return f"pod {bind.pod} is not bound to {bind.node}: {bind.result}"
