"""skyctl bench: how long the core's decisions take, on workloads that others publish figures for."""

from skyctl.bench.command import bench

__all__ = ["bench"]
