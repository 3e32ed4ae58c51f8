"""The process's edge: words in, one exit status out, and never a traceback for people."""

import os
import signal
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from sky_shell.reading.places import InputError
from skyctl.faults import BROKEN, UsageError
from skyctl.help import asked, begins_with
from skyctl.terminal import discard, tell

if TYPE_CHECKING:
    from cyclopts import App

COMMANDS: Final[Mapping[str, str]] = {
    "simulate": "skyctl.simulate:simulate",
    "demo": "skyctl.demo:demo",
    "sandbox": "skyctl.sandbox:sandbox",
    "bench": "skyctl.bench.command:bench",
    "bench cluster": "skyctl.bench.cluster.command:cluster",
    "bench quality": "skyctl.bench.quality.command:quality",
    "bench cluster profile": "skyctl.bench.cluster.command:profile",
    "bench profile": "skyctl.bench.profile:profile",
    "replay": "skyctl.replay:replay",
}
"""Where the function of each is; of those that a command line begins with the longest is meant."""

_STALE: Final = "what is installed is older than the code; make .venv/ready brings it up to date"


def main() -> None:
    """Run the command line of this process, and end it."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `skyctl … | head` ends as other commands do
    sys.exit(status(sys.argv[1:]))


def status(words: Sequence[str]) -> int:
    """The exit status of a command line, after what it had to say: 0 done, 1 input, 2 usage, 3 a defect of ours."""
    return guarded(run, words)


def guarded(work: Callable[[Sequence[str]], int], words: Sequence[str]) -> int:
    """The exit status of work on a command line, whatever becomes of it."""
    try:
        return work(words)
    except UsageError as error:
        tell(f"{error}. skyctl --help shows what there is")
        return 2
    except (InputError, ImportError) as error:
        tell(str(error) if isinstance(error, InputError) else f"{error.__cause__ or error}: {_STALE}")
        return 1
    except OSError as error:  # files that can't be read are InputErrors: this is where the answer goes
        tell(f"the answer can't be written: {(error.strerror or str(error)).lower()}")
        discard()
        return 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except Exception as error:  # noqa: BLE001  people get a message, whoever mends it the traceback
        if os.environ.get("SKYCTL_DEBUG") == "1":
            traceback.print_exc()
        tell(f"a defect of ours: {type(error).__name__}: {error}")
        tell("please report it with the files that you gave, and what the same command says with SKYCTL_DEBUG=1")
        return BROKEN


def run(words: Sequence[str]) -> int:
    """Carry out a command line.

    Raises:
        UsageError: It makes no sense.
        InputError: What it names can't be used.
    """
    if (page := asked(words)) is not None:
        print(page, end="")
        return 0
    if words[0] == "--version":
        from importlib.metadata import version  # noqa: PLC0415  which no other command needs

        print(f"skyctl {version('skyctl')}")
        return 0
    return _command(words)


def _command(words: Sequence[str]) -> int:
    from cyclopts import App  # noqa: PLC0415  a help page needs none of it

    app = App(name="skyctl", help_flags=[], version_flags=[])
    for name, where in COMMANDS.items():
        app.command(where, name=name)
    name = begins_with(words, COMMANDS) or words[0]
    if name not in COMMANDS and not name.startswith("-"):
        raise UsageError(f"{name} is no command")
    return called(app, [name, *words[len(name.split()) :]])


def called(app: "App", words: Sequence[str]) -> int:
    """Call what the words ask of an app; its exit status.

    Raises:
        UsageError: They make no sense.
    """
    from cyclopts import CycloptsError  # noqa: PLC0415

    from skyctl.files import DASH, STDIN  # noqa: PLC0415

    words = [STDIN if word == DASH else word for word in words]  # cyclopts takes a bare dash for an option
    try:
        command, given, _ = app.parse_args(words, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        error.verbose = False
        raise UsageError(str(error).rstrip(".")) from None
    done: int = command(*given.args, **given.kwargs)
    return done
