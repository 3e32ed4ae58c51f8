"""Who is in the cluster: nodes that are ready, kubelets that run pods without running anything, and controllers."""
