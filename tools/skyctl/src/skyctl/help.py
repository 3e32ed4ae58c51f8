"""The help pages: written by hand, and shown without importing what the commands need."""

from collections.abc import Mapping, Sequence
from typing import Final

_TOP: Final = """\
skyctl: try the decisions of Sky-Scheduler, and ask for their reasons.

  skyctl simulate PATH...   run the scheduler on Kubernetes objects in files, with no cluster
  skyctl demo               see a training job land inside one switch, and why another one waits
  skyctl bench [NAME...]    how long decisions take here
  skyctl replay FILE...     decide once more what the flight recorder wrote down

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

Tells the example of eight machines behind two switches: where a training job of four workers goes, and why another
job waits. It needs no cluster and no files, and writes none.

  --manifests        print the objects of the example, for skyctl simulate -
"""

_BENCH: Final = """\
skyctl bench [NAME...] [--runs N] [-o FORMAT]

Times whole cycles of the scheduler's core on made-up clusters, each run on a fresh one, and shows the naive pipeline
beside it where that ends within reason. Without names all workloads are run; a wrong name lists them.

  --runs N           how often each is run (7)
  -o, --output FORMAT
                     table: for people, the default; json: for programs

Exit status: 0 whatever the figures; 2 wrong usage.
"""

_REPLAY: Final = """\
skyctl replay FILE... [--config FILE]

Recomputes every cycle that the scheduler's flight recorder (sky-scheduler --record FOLDER) wrote down, byte for byte,
and shows where one comes out otherwise than it did.

  --config FILE      decide by this configuration instead of the recorded one: what it would have changed

Exit status: 0 all came out as recorded, or --config was given; 1 a file could not be read; 2 wrong usage; 3 a cycle
came out otherwise, a defect of ours.
"""

PAGES: Final[Mapping[str, str]] = {
    "": _TOP,
    "simulate": _SIMULATE,
    "demo": _DEMO,
    "bench": _BENCH,
    "replay": _REPLAY,
}
"""The page of each command; the first is the page of all."""


def asked(words: Sequence[str]) -> str | None:
    """The page that a command line asks for, if it asks for one: of the command that it names, or of all."""
    words = words[: words.index("--")] if "--" in words else words
    if words and "--help" not in words and "-h" not in words:
        return None
    return PAGES.get(words[0] if words else "", _TOP)
