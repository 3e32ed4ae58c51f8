"""What kube-scheduler's own filters and scores say of pods and nodes, each rule once, for whichever plugin asks.

A rule reads rows and answers None or a `Reason`, or a number. Rules that look at other nodes are opened once per
session, and keep their counts in step with the world.
"""
