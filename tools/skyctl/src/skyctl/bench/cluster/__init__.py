"""skyctl bench cluster: our scheduler, one that decides nothing, and kube-scheduler on the same pods."""
