"""A cluster in memory around the pure core: what would happen, cycle by cycle, with no cluster (contracts.md).

`run` takes Kubernetes objects, and events for later, and answers with a `Report`.
"""
