"""PodDisruptionBudgets: how many pods each lets go, by its spec and the pods that there are."""

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from sky_core.api import identity
from sky_core.api.decoding import decoded
from sky_core.api.faults import Invalid
from sky_core.api.selection import selector_or_nobody
from sky_core.api.wire import core
from sky_core.quantity import shown
from sky_core.selectors import Selector

_PERCENT: Final = re.compile(r"([0-9]{1,3})%")
_COUNT_MAX: Final = 2**31 - 1


class Share(msgspec.Struct, frozen=True, gc=False):
    """So many pods, or so many in a hundred."""

    count: int
    percent: bool = False

    def of(self, pods: int) -> int:
        """How many of these pods; parts of a pod count as one, for both bounds (disruption controller)."""
        return -(-self.count * pods // 100) if self.percent else self.count


class Rule(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What a budget demands. With neither bound it allows nothing."""

    pods: Selector
    available_min: Share | None = None
    unavailable_max: Share | None = None

    def allowed(self, pods: int, healthy: int) -> int:
        """How many of these pods may go, so many of them healthy."""
        if self.unavailable_max is not None:
            return max(healthy - max(pods - self.unavailable_max.of(pods), 0), 0)
        return max(healthy - self.available_min.of(pods), 0) if self.available_min is not None else 0


def read(raw: Mapping[str, Any]) -> Rule:
    """A PodDisruptionBudget. As in policy/v1 an empty selector takes every pod of the namespace, an absent one none.

    Raises:
        Invalid: It is malformed.
    """
    written = decoded(raw, core.PodDisruptionBudget)
    identity.name("metadata.name", written.metadata.name)
    spec = written.spec
    if spec.min_available is not None and spec.max_unavailable is not None:
        raise Invalid("spec", "has both minAvailable and maxUnavailable")
    return Rule(
        pods=selector_or_nobody("spec.selector", spec.selector),
        available_min=_share("spec.minAvailable", spec.min_available),
        unavailable_max=_share("spec.maxUnavailable", spec.max_unavailable),
    )


def _share(field: str, written: int | str | None) -> Share | None:
    if written is None:
        return None
    if isinstance(written, str):
        if (match := _PERCENT.fullmatch(written)) is None:
            raise Invalid(field, f"{shown(written)} is neither a number nor a percentage")
        return Share(int(match[1]), percent=True)
    if not 0 <= written <= _COUNT_MAX:
        raise Invalid(field, "is negative, or more pods than there can be")
    return Share(written)
