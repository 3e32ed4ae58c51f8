"""skyctl bench: how long the core's decisions take, on workloads that others publish figures for."""
