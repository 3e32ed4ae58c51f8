"""What Slurm is told, and what is read out of what it says: configuration, topology, log."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

CARDS: Final = 8
"""Of each node. To Slurm a card is a core, which it handles faster than a generic resource."""
_ALLOCATED: Final = re.compile(r"\bsched: Allocate JobId=(\d+(?:_\d+)?)\S* NodeList=(\S+)")
_RANGES: Final = re.compile(r"([^\[,]+)(?:\[([^\]]*)\])?,?")


def configuration(folder: Path, nodes: int, port: int) -> str:
    """slurm.conf: a controller alone, whose nodes are in a cloud, so that none of them need be there.

    The scheduler is the plain one in order of priority; it looks at the whole queue, as long as it takes, and never in
    the background.
    """
    return f"""\
ClusterName=bench
SlurmctldHost=localhost
SlurmUser=root
AuthType=auth/none
CredType=cred/none
SlurmctldPort={port}
SlurmdPort={port + 1}
StateSaveLocation={folder / "state"}
SlurmdSpoolDir={folder / "spool"}
SlurmctldPidFile={folder / "pid"}
SlurmctldLogFile={folder / "log"}
SlurmctldDebug=info
MpiDefault=none
ProctrackType=proctrack/pgid
SwitchType=switch/none
TaskPlugin=task/none
SchedulerType=sched/builtin
SchedulerParameters=default_queue_depth=1000000,max_sched_time=300,batch_sched_delay=0,sched_min_interval=0
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
TopologyPlugin=topology/tree
MessageTimeout=600
MaxJobCount=100000
MaxArraySize=100001
ResumeProgram=/bin/true
SuspendProgram=/bin/true
ResumeTimeout=36000
SuspendTimeout=30
SuspendTime=360000
ResumeRate=0
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/none
NodeName=n[0-{nodes - 1}] CPUs={CARDS} RealMemory=1000000 State=CLOUD
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=DOWN
"""


def topology(nodes: int, leaf: int) -> str:
    """topology.conf: leaves of so many nodes behind one spine."""
    begins = range(0, nodes, leaf)
    leaves = [f"SwitchName=leaf{at} Nodes=n[{b}-{min(b + leaf, nodes) - 1}]" for at, b in enumerate(begins)]
    return "\n".join([*leaves, f"SwitchName=spine Switches=leaf[0-{len(leaves) - 1}]", ""])


def allocations(log: str) -> dict[str, tuple[str, ...]]:
    """The nodes that each job has been given, out of slurmctld's log; a task of an array is `array_task`."""
    return {job: tuple(hosts(nodes)) for job, nodes in _ALLOCATED.findall(log)}


def hosts(nodes: str) -> Iterator[str]:
    """The names that a host list stands for: `n[0-2,7],m1` is n0, n1, n2, n7, m1."""
    for prefix, ranges in _RANGES.findall(nodes):
        if not ranges:
            yield prefix
        for each in ranges.split(",") if ranges else ():
            first, _, last = each.partition("-")
            yield from (f"{prefix}{at:0{len(first)}d}" for at in range(int(first), int(last or first) + 1))


def leaves(nodes: Iterable[str], leaf: int) -> int:
    """On how many leaves these are."""
    return len({int(node.removeprefix("n")) // leaf for node in nodes})
