"""What people order hollow kubelets to do: annotations of pods, and a label of nodes and pods that holds them back."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from sky_core.api.instants import duration
from sky_core.model import Duration
from sky_core.simulation.objects import part, text

PREFIX: Final = "sandbox.scheduling.infini-ai.com/"
START_AFTER: Final = PREFIX + "start-after"
"""How long a pod takes from its binding until it runs."""
FINISH_AFTER: Final = PREFIX + "finish-after"
"""How long it runs until it succeeds."""
FAIL_AFTER: Final = PREFIX + "fail-after"
"""How long it runs until it fails."""
STOP_AFTER: Final = PREFIX + "stop-after"
"""How long it takes to go once it is told to."""
HOLD: Final = PREFIX + "hold"
"""As a label: the kubelet leaves this pod, or this node and what is on it, as it is."""


class Habits(msgspec.Struct, frozen=True, kw_only=True):
    """What kubelets do where a pod does not say otherwise; it runs for ever then."""

    start_after: Duration = Duration(0)
    stop_after: Duration = Duration(0)


class Orders(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of one pod."""

    start_after: Duration
    stop_after: Duration
    ends_after: Duration | None = None
    succeeds: bool = True


def orders(pod: Mapping[str, Any], habits: Habits) -> Orders:
    """What a pod's annotations say, which counts only where it can be read."""
    finish, fail = _after(pod, FINISH_AFTER), _after(pod, FAIL_AFTER)
    start, stop = _after(pod, START_AFTER), _after(pod, STOP_AFTER)
    fails_first = fail is not None and (finish is None or fail < finish)
    return Orders(
        start_after=habits.start_after if start is None else start,
        stop_after=habits.stop_after if stop is None else stop,
        ends_after=fail if fails_first else finish,
        succeeds=not fails_first,
    )


def is_held(raw: Mapping[str, Any]) -> bool:
    """Whether the kubelet leaves it alone."""
    return HOLD in part(raw, "metadata", "labels")


def _after(pod: Mapping[str, Any], name: str) -> Duration | None:
    written = text(part(pod, "metadata", "annotations"), name)
    try:
        return duration(written) if written else None
    except ValueError:
        return None
