"""Run workloads, time them, and say how they came out."""

import gc
import json
import statistics
import time
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from sky_core.testing.naive import Naive
from skyctl.bench.workloads import WORKLOADS, Workload, decide
from skyctl.faults import UsageError
from skyctl.terminal import answer, progress


def bench(
    *names: str,
    runs: int = 7,
    output: Annotated[Literal["table", "json"], Parameter(name=["--output", "-o"])] = "table",
) -> int:
    """Time the core's workloads, all or those named."""
    if unknown := [name for name in names if name not in WORKLOADS]:
        raise UsageError(f"no workload {unknown[0]!r}: there are {', '.join(WORKLOADS)}")
    if runs < 1:
        raise UsageError(f"--runs {runs}: expected 1 or more")
    results = []
    with progress() as say:
        for name in names or WORKLOADS:
            say(f"{name}: {WORKLOADS[name].about}")
            results.append(_measured(name, WORKLOADS[name], runs))
    answer(json.dumps({"results": results}, indent=2, sort_keys=True) + "\n" if output == "json" else _table(results))
    return 0


def _measured(name: str, workload: Workload, runs: int) -> dict[str, Any]:
    """Processor time of whole cycles, each on a world of its own, with the garbage collector off as in the process."""
    times = [_timed(workload, None) for _ in range(runs)]
    beside = {"naive": _timed(workload, Naive)} if workload.naive else {}
    median = statistics.median(times)
    return {
        "name": name,
        "unit": "ms",
        "median": round(median, 3),
        "min": round(min(times), 3),
        "max": round(max(times), 3),
        "runs": runs,
        "goal": workload.goal,
        "met": None if workload.goal is None else median <= workload.goal,
        "beside": {who: round(took, 3) for who, took in beside.items()},
    }


def _timed(workload: Workload, survey: Any) -> float:
    made = workload.prepare()
    gc.collect()
    gc.disable()
    try:
        begun = time.process_time()
        decide(made) if survey is None else decide(made, survey)
        return (time.process_time() - begun) * 1000
    finally:
        gc.enable()


def _table(results: list[dict[str, Any]]) -> str:
    lines = [f"{'workload':<20}{'median':>10}{'min':>10}{'max':>10}{'goal':>9}  beside"]
    for row in results:
        goal = "" if row["goal"] is None else f"{row['goal']:g}{'' if row['met'] else ' !'}"
        beside = ", ".join(f"{who} {took:g}" for who, took in row["beside"].items())
        lines.append(f"{row['name']:<20}{row['median']:>10g}{row['min']:>10g}{row['max']:>10g}{goal:>9}  {beside}")
    return "\n".join([*lines, "milliseconds of one core for a whole cycle; ! beside a goal that is not met", ""])
