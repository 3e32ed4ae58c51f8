"""What the configuration says about the cluster: names and bounds, no policy."""

from collections.abc import Mapping
from typing import Final

import msgspec

from sky_core.model import SECOND, Duration

PREFIX: Final = "scheduling.infini-ai.com/"

ACTIONS: Final = ("allocateJob", "allocateZone", "allocateQuota", "bind", "reclaim", "backfill", "releaseQuota")
"""The default order of a cycle (behaviour.md 5)."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Which pods are ours, which labels name a card, which resources mean RDMA or spot, how long places are kept."""

    scheduler_name: str = "sky-scheduler"
    period: Duration = SECOND
    actions: tuple[str, ...] = ACTIONS
    spec_labels: tuple[str, ...] = (f"{PREFIX}spec", "nvidia.com/gpu.product")
    spot_resource: str = f"{PREFIX}spot-gpu"
    spot_backed_by: str = "nvidia.com/gpu"
    rdma_resources: tuple[str, ...] = ("rdma/roce", "rdma/hca")
    default_reservation: Duration = Duration(0)
    max_reservation: Duration = Duration(3600 * SECOND)

    def spec_label(self, labels: Mapping[str, str]) -> str | None:
        """Which of these labels names a card: of those that `spec_labels` begin, the longest key, then the first."""
        keys = [key for key in labels if key.startswith(self.spec_labels)]
        return min(keys, key=lambda key: (-len(key), key), default=None)
