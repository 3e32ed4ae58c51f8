"""Decisions as text tables: what there is, one thing a line, and what must become of it.

    check(default_policy(), '''
        node  n1  gpu=8  zone=s1
        quota q1  gpu=8
        quota q2  gpu=8
        task  w0  gpu=8  -> q1 n1
        task  w1  gpu=8  -> waits InsufficientQuotaIdle
    ''')

A line is `KIND NAME`, words in any order (`key=value`, or a `key` by itself), and perhaps `->` and what is expected
when so many cycles of a simulation have run. ` #` begins a comment. A word that its kind does not know is an error that
names the line.

Amounts are `gpu hca rdma spot cpu memory storage=…` and `domain/name=…`; `label.KEY=` and `note.KEY=` are labels and
annotations, the latter with our prefix if they have none. Several values are joined by commas, keys and values in
values by colons. Older lines are older objects. The words of each kind:

* `node`: amounts (plenty of what is not named), `pods= spec= zone= fabric= index= taints= mounts= pools=shared:1`,
  `notready`, `cordoned`
* `quota`: amounts (else one card), `queue= shared= node= static= spec= select=k:v tolerates= near=k:v apart=k:v`,
  `keeps=` tasks whose places it keeps for an hour
* `queue`: `weight= priority= cap.gpu= namespaces=k:v`, `closed`; `jobqueue`: `queue= priority= running= jobs=k:v`,
  `strict`, `suspended`
* `job`: `min= roles=master:1 least.gpu= queue= priority= namespace= keeps=10m`,
  `topology=on|off policy= patience= kin=` (a topology-affinity-key)
* `task`: amounts (else one card), `job= role= index= queue= priority= namespace= keeps=10m inherits=`,
  `quota=` that it requires, `wants=k:v` and `prefers=k:v` of quotas, `spec= select=k:v tolerates= mounts= apart=k:v`
  of nodes, `pool=`; `on=` a node, where it runs, `claims=` the quota that holds it, `phase=`; `gated`, `leaving`,
  `foreign`, `meek` (it preempts nobody)
* `namespace`: labels

A line that begins with `@20s` is added or replaced 20 seconds after the first cycle, or tells of an end then:
`@20s gone w0` (`kind=node` for other kinds than tasks), `@20s ends w0` (or `failed`), `@20s refused w0 status=409`.

Expected of a task: `QUOTA NODE`, or `NODE`, `waits` and codes that its job is told at least, `evicted`; of a quota:
`NODE` or `empty`; of a job: `done`, or `waits` and codes, or `in` the zones that it has.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from sky_core.policy import Policy
from sky_core.reasons import Code, Rung
from sky_core.simulation.run import run
from sky_core.simulation.timeline import events
from sky_core.testing.lines import Line, TableError
from sky_core.testing.objects import queue
from sky_core.testing.sheet import NOW, Sheet
from sky_core.testing.stories import Tale

__all__ = ["TableError", "check"]


def check(policy: Policy, table: str, *, cycles: int = 1) -> Tale:
    """Simulate so many cycles of a table, or as many as it takes until nothing more would happen.

    Raises:
        AssertionError: Something else has become of it; the table is shown with what did.
        TableError: The table cannot be read.
    """
    bare = [f" {text}".partition(" #")[0].strip() for text in table.splitlines()]
    lines = [Line(number, text) for number, text in enumerate(bare, 1) if text]
    _sound(lines)
    sheet = Sheet(lines)
    present = sheet.present
    if not any(line.kind == "queue" and line.name == "default" for line in lines):
        present = [queue("default"), *present]
    tale = Tale(run(present, events([sheet.later]), policy, policy.settings, now=NOW, cycles=cycles))
    happened = [_HAPPENED[line.kind](tale.told, line) if line.kind in _HAPPENED else () for line in lines]
    if not all(map(_as_expected, lines, happened)):
        raise AssertionError(_shown(lines, happened))
    return tale


_CODES: Final = frozenset(code.value for code in Code)


def _sound(lines: list[Line]) -> None:
    """Refuse what is said twice, and expectations that could never be met."""
    names = {(line.kind, line.name) for line in lines}
    first: dict[tuple[str, str, str], Line] = {}
    for line in lines:
        if first.setdefault((line.kind, line.key, line.at), line) is not line:
            raise line.error("it is there twice")
        if line.expected and not (line.kind in _FORMS and _FORMS[line.kind](line.expected, names)):
            raise line.error("nothing of this kind can be expected")


Names = set[tuple[str, str]]
Told = dict[str, Any]
"""A simulation's report, as a program reads it (contracts.md)."""


def _task_form(expected: tuple[str, ...], names: Names) -> bool:
    match expected:
        case ("evicted",):
            return True
        case ("waits", *codes):
            return _CODES.issuperset(codes)
        case (quota, node):
            return ("quota", quota) in names and ("node", node) in names
        case (node,):
            return ("node", node) in names
    return False


def _quota_form(expected: tuple[str, ...], names: Names) -> bool:
    return len(expected) == 1 and (expected == ("empty",) or ("node", *expected) in names)


def _job_form(expected: tuple[str, ...], _: Names) -> bool:
    head, *rest = expected
    return (head == "done" and not rest) or (head == "waits" and _CODES.issuperset(rest)) or head == "in"


_FORMS: Final[Mapping[str, Callable[[tuple[str, ...], Names], bool]]] = {
    "task": _task_form,
    "quota": _quota_form,
    "job": _job_form,
}


def _task_happened(told: Told, line: Line) -> tuple[str, ...]:
    if any(eviction["pod"] == line.key for eviction in told["evictions"]):
        return ("evicted",)
    if (pod := told["pods"].get(line.key)) is None:
        return ("gone",)
    if pod["node"] is None:
        return ("waits", *_codes(told, line.job))
    return (pod["quota"], pod["node"]) if pod["quota"] is not None else (pod["node"],)


def _quota_happened(told: Told, line: Line) -> tuple[str, ...]:
    quota = told["quotas"].get(line.name)
    return ("gone",) if quota is None else (quota["node"] or "empty",)


def _job_happened(told: Told, line: Line) -> tuple[str, ...]:
    job = told["jobs"].get(line.key)
    if job is None:
        return ("gone",)
    if job["rung"] != Rung.DONE:
        return ("waits", *_codes(told, line.key))
    return ("in", *job["zones"]) if line.expected[:1] == ("in",) else ("done",)


def _codes(told: Told, job: str) -> list[str]:
    return [reason["code"] for reason in told["jobs"][job]["reasons"]]


_HAPPENED: Final[Mapping[str, Callable[[Told, Line], tuple[str, ...]]]] = {
    "task": _task_happened,
    "quota": _quota_happened,
    "job": _job_happened,
}


def _as_expected(line: Line, happened: tuple[str, ...]) -> bool:
    """Codes may be more than those expected; of a task that is in a quota, its node may be all that is expected."""
    if line.expected[:1] == ("waits",):
        return happened[:1] == ("waits",) and set(line.expected) <= set(happened)
    one_node = line.kind == "task" and len(line.expected) == 1 and happened[:1] != ("waits",)
    return not line.expected or happened == line.expected or (one_node and happened[-1:] == line.expected)


def _shown(lines: list[Line], happened: list[tuple[str, ...]]) -> str:
    """The table, what has become of each line, and a mark where that is not what was expected."""
    width = max(len(line.text) for line in lines)
    shown = []
    for line, what in zip(lines, happened, strict=True):
        mark = " " if _as_expected(line, what) else "!"
        shown.append(f"{mark} {line.text:{width}}  | {' '.join(what)}".rstrip(" |"))
    return "\n".join(["not as expected:", *shown])
