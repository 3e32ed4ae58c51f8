"""The help pages: written by hand, and shown without importing what the commands need."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

_TOP: Final = """\
skyctl: try the decisions of Sky-Scheduler, and ask for their reasons.

  skyctl simulate PATH...   run the scheduler on Kubernetes objects in files, with no cluster
  skyctl demo               see a training job land inside one switch, and why another one waits
  skyctl sandbox            start a cluster in memory, or a real control plane, for kubectl and the scheduler
  skyctl bench [NAME...]    how long decisions take here, and where the time goes
  skyctl replay PATH...     decide once more what the flight recorder wrote down

  skyctl COMMAND --help     more about one of them
  skyctl --version          which version this is
"""

_SIMULATE: Final = """\
skyctl simulate PATH... [--config FILE] [--cycles N] [--now TIME] [-o FORMAT]

Runs the scheduler's own decisions on Kubernetes objects in files, with no cluster, until nothing more would happen.

  PATH               a YAML or JSON file; a folder, for its *.yaml, *.yml and *.json in the order of their names
                     (folders inside of it are not searched); - for standard input
  --config FILE      the scheduler's configuration (kind: SchedulerConfiguration)
  --cycles N         stop after N cycles at the latest (100)
  --now TIME         the time of the first cycle, as 2026-01-01T00:00:00Z; absent: the latest creationTimestamp given
  -o, --output FORMAT
                     table: a picture for people, the default; json: for programs; html: one page that needs no network

Exit status: 0 it ran; 1 an input could not be read; 2 wrong usage; 3 an invariant was broken, a defect of ours.
"""

_DEMO: Final = """\
skyctl demo [--manifests]

Runs the scheduler on a cluster in memory, and tells the example of eight machines behind two switches: where a training
job of four workers goes, and why another job waits. On a terminal the cluster stays up until Ctrl-C, for kubectl in
another one; elsewhere the command ends when this is told. It needs no files, and leaves none behind.

  --manifests        print the objects of the example, for skyctl simulate -
"""

_SANDBOX: Final = """\
skyctl sandbox [--scheduler] [--kubeconfig FILE] [--port N] [--state FILE]
skyctl sandbox --real [--scheduler] [--kubeconfig FILE]

Starts a cluster on this machine alone, with the scheduler's kinds, the queue default and hollow kubelets; says what to
type to use it; and stops it on Ctrl-C. What it wrote is gone then, but for the state.

  --real             a real control plane instead of an API server in memory: etcd, kube-apiserver, controllers, KWOK.
                     KUBEBUILDER_ASSETS names the folder of its programs; else Go builds them, in some minutes, once
  --scheduler        run the scheduler on it, as a process of its own
  --kubeconfig FILE  is there meanwhile (sandbox.kubeconfig)
  --port N           where the API server in memory listens; any that is free unless it is given
  --state FILE       what is in it: loaded at the start if the file is there, saved at the end

Exit status: 0 it was stopped; 1 a file, the port or the control plane can't be used, or the scheduler ended by itself;
2 wrong usage.
"""

_BENCH: Final = """\
skyctl bench [NAME...] [--runs N] [--limit SECONDS] [--scale FACTOR] [--compare FILE] [--list] [-o FORMAT]

Times the scheduler's core on made-up clusters: processor time of one core, in several runs. Results are shown as they
come; who has seen enough presses Ctrl-C and keeps them. Without names all workloads are run, which takes an hour.

  NAME               a workload; or a pattern, as 'gang*'
  --list             what there is, and run nothing
  --runs N           how often each is run (7)
  --limit SECONDS    begin no further run of a workload after so many seconds (30)
  --scale FACTOR     clusters and jobs so many times as large as their names say (1); goals are not asked then
  --compare FILE     set the results beside those of an earlier run, which -o json was written to
  -o, --output FORMAT
                     table: for people, the default; json: for programs

skyctl bench quality          where the jobs of a trace land, and how long they wait
skyctl bench profile NAME     where the time of a workload goes
skyctl bench cluster          whole schedulers on a real control plane

Exit status: 0 whatever the figures; 1 the file to compare with can't be used; 2 wrong usage.
"""

_CLUSTER: Final = """\
skyctl bench cluster [NAME...] [--rounds N] [--scale FACTOR] [--compare FILE] [-o FORMAT]

Lets the scheduler bind pods on a real control plane of its own, which it builds where Go is at hand or finds in the
folder that KUBEBUILDER_ASSETS names; kube-scheduler and a null scheduler, which writes the same and decides nothing,
do the same in each round. Everything shares this machine, so what counts are the ratios. All of it takes an hour.

  NAME               per-pod: 3,000 one-card pods in gangs of 8 on 1,000 nodes, a quota for each
                     per-gang: the same, an eight-card quota for each gang
                     start: from the start of the process to its first decision, with 5,000 nodes and 20,000 pods there
  --rounds N         how often each of them is run (5), after one run that is not counted
  --scale FACTOR     clusters and jobs so many times as large (1); goals are not asked then
  --compare FILE     set the results beside those of an earlier run, which -o json was written to
  -o, --output FORMAT
                     table: for people, the default; json: for programs

skyctl bench cluster profile NAME [--scale FACTOR]     where the scheduler's time goes in one run, from event to write

Exit status: 0 whatever the figures, and where there is no control plane; 1 the file to compare with can't be used;
2 wrong usage.
"""

_QUALITY: Final = """\
skyctl bench quality [POLICY...] [--philly FILE | --openb FILE] [--jobs N] [--load F] [--seeds N] [-o FORMAT]

Plays a trace of jobs on a cluster in memory, by the scheduler's own core, under one policy after the other, and sets
side by side on how many leaves jobs land, what share of their rings crosses switches, what stays free in vain, and how
long they wait. Policies: index-order (no topology), best-fit (the default), patience (10 minutes for a single zone) and
required; those named, or all, and always index-order. Without a file the trace is made up, after Kalos' statistics.

  --jobs N           how many jobs come (3000); the first fifth fills the cluster and is not counted
  --load F           how much of the cluster the made-up jobs ask for (0.9)
  --leaves N         of 32 nodes each, of which the cluster is made (32); where there are few, fewer jobs fill it
  --seed N           of which made-up jobs, or order of pods (5)
  --seeds N          how many seeds are played, from that one on (1); all policies get the same jobs
  --philly FILE      Philly's jobs instead: CSV with timestamp, duration, num_gpus; .gz too; on 80 nodes
  --openb FILE       Alibaba's openb_pod_list_*.csv, its node list beside it: pods come until all cards are asked for
  --nodes N          of how many of openb's nodes (300)
  -o, --output FORMAT
                     table: for people, the default; json: for programs; html: one page with bars

Exit status: 0 whatever the figures; 1 a trace can't be used; 2 wrong usage.
"""

_PROFILE: Final = """\
skyctl bench profile NAME [--scale FACTOR] [--rows N]

Runs a workload once under Python's profiler and shows in which functions the time is spent. The profiler itself takes
its share, most where functions are short: compare figures of skyctl bench, and find their causes here.

  NAME               a workload, or a pattern that names one; skyctl bench --list shows them
  --scale FACTOR     clusters and jobs so many times as large as their names say (1)
  --rows N           how many functions are shown (25)
"""

_REPLAY: Final = """\
skyctl replay PATH... [--config FILE]

Recomputes every cycle that the scheduler's flight recorder (sky-scheduler --record FOLDER) wrote down, byte for byte,
and shows where one comes out otherwise than it did.

  PATH               a file that it wrote; a folder, for all of them in it, in the order in which they were written
  --config FILE      decide by this configuration instead of the recorded one: what it would have changed

Exit status: 0 all came out as recorded, or --config was given; 1 a file could not be read; 2 wrong usage; 3 a cycle
came out otherwise, a defect of ours.
"""

PAGES: Final[Mapping[str, str]] = {
    "": _TOP,
    "simulate": _SIMULATE,
    "demo": _DEMO,
    "sandbox": _SANDBOX,
    "bench": _BENCH,
    "bench cluster": _CLUSTER,
    "bench cluster profile": _CLUSTER,
    "bench quality": _QUALITY,
    "bench profile": _PROFILE,
    "replay": _REPLAY,
}
"""The page of each command; the first is the page of all."""


def asked(words: Sequence[str]) -> str | None:
    """The page that a command line asks for, if it asks for one: of the command that it names, or of all."""
    words = words[: words.index("--")] if "--" in words else words
    if words and "--help" not in words and "-h" not in words:
        return None
    return PAGES[begins_with(words, PAGES)]


def begins_with(words: Sequence[str], names: Iterable[str]) -> str:
    """The longest of these names of commands, of one word or several, that a command line begins with; "": none."""
    found = [name for name in names if list(words[: len(name.split())]) == name.split()]
    return max(found, key=len, default="")
