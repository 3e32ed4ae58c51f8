"""The answer as one HTML page: no script, no network, nothing that a name in it could turn into markup."""

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Final

from skyctl.drawing import colour, drawing
from skyctl.frame import framed
from skyctl.scene import Job, Scene, Zone
from skyctl.terminal import plain

_STYLE: Final = """\
svg { display: block; max-width: 100%; height: auto; font: 14px ui-monospace, monospace; }
figure { margin: 1rem 0; overflow-x: auto; }
table { border-collapse: collapse; margin: 1rem 0; }
caption { text-align: left; font-weight: 600; }
th, td { text-align: left; vertical-align: top; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid #c4c7cb; }
td ul { margin: 0; padding-left: 1.1rem; }
code, .sign { font-family: ui-monospace, monospace; }
.sign { border: 1px solid #5f6368; border-radius: 3px; padding: 0 .35rem; }
@media print { body { margin: 0; } }
"""


def page(scene: Scene) -> str:
    """The whole page."""
    head = f"<h1>Sky-Scheduler: a simulation</h1>\n<p>{_text(scene.summary)}.</p>\n"
    return framed("a simulation", _STYLE, "".join((head, *_parts(scene))))


def _parts(scene: Scene) -> Iterator[str]:
    yield "<h2>Where everything went</h2>\n"
    for at, zone in enumerate(scene.zones):
        yield _figure(zone, scene, f"zone-{at}")
    if scene.uses:
        signs = (f'<span class="sign">{_text(use.sign)}</span> {_text(use.meaning)}' for use in scene.uses)
        yield f"<p>A square is a card: {', '.join(signs)}.</p>\n"
    yield "<h2>Jobs</h2>\n"
    yield _table(("sign", "job", "phase", "rung", "pods placed", "zones", "why it waits"), map(_job, scene.jobs))
    yield "<h2>Quotas</h2>\n"
    quotas = (
        [_text(q.name), _text(q.node or "none"), _text(q.allocated), _items(q.tasks), _items(q.reserved)]
        for q in scene.quotas
    )
    yield _table(("quota", "node", "allocated", "claimed by", "kept for"), quotas)
    yield "<h2>Cycle by cycle</h2>\n"
    story = ([str(c.cycle), _text(c.at), _items(c.sentences)] for c in scene.story)
    yield _table(("cycle", "time", "what came of it"), story)
    if scene.faults:
        yield f"<h2>What is wrong with the input</h2>\n{_items(scene.faults)}\n"


def _figure(zone: Zone, scene: Scene, name: str) -> str:
    machines = (
        [_text(m.name), _text(m.spec), f"<code>{_text(m.picture)}</code>", _items(m.pods), _text("; ".join(m.notes))]
        for m in zone.machines
    )
    words = _table(("machine", "kind of card", "cards", "pods", "notes"), machines)
    return (
        f"<figure><figcaption>{_text(zone.title)}</figcaption>\n{drawing(zone, scene, name)}\n"
        f"<details><summary>The same in words</summary>\n{words}</details></figure>\n"
    )


def _job(job: Job) -> list[str]:
    sign = f'<span class="sign" style="background: {colour(job.letter)}">{job.letter}</span>' if job.letter else ""
    reasons = _list(f"<code>{_text(reason.code)}</code> {_text(reason.message)}" for reason in job.reasons)
    placed = f"{job.placed} of {job.pods}"
    return [sign, _text(job.name), _text(job.phase), _text(job.rung), placed, _text(", ".join(job.zones)), reasons]


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are markup already."""
    head = "".join(f'<th scope="col">{column}</th>' for column in columns)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>\n" for row in rows)
    if not body:
        return "<p>None.</p>\n"
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n"


def _items(texts: Iterable[str]) -> str:
    return _list(map(_text, texts))


def _list(items: Iterable[str]) -> str:
    """A list of items that are markup already; nothing where there is none."""
    body = "".join(f"<li>{item}</li>" for item in items)
    return f"<ul>{body}</ul>" if body else ""


def _text(text: str) -> str:
    return escape(plain(text))
