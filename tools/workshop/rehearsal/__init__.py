"""What `skyctl simulate` plays, played by the scheduler's process: in memory, or on a real control plane.

The words of the command line are simulate's, and what is printed is made by the same code, but of what the cluster says
in the end: objects, the statuses of PodGroups, the conditions of pods. What simulate prints and no cluster says
(which cycle an attempt was in, how much a pod without a group lacks) is what the process has noted. Nothing is decided
here. Nobody plays quota-fixer and reservation-gc, which are no processes yet.
"""
