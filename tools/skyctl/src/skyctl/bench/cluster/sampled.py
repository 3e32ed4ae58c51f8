"""Runs the scheduler's command, and looks a hundred times a second at what its threads are doing."""

import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Final

EVERY: Final = 0.01
"""Seconds between two looks."""
STAGES: Final = {
    "sky_shell/reflector.py": "watch: heads of events and lists",
    "sky_shell/listing.py": "watch: heads of events and lists",
    "sky_scheduler/watching.py": "watch: what is news",
    "sky_scheduler/mirror.py": "watch: what is news",
    "sky_core/api/store.py": "cycle: objects read",
    "sky_scheduler/view.py": "cycle: objects read",
    "sky_core/api/intake.py": "cycle: world brought up to date",
    "sky_core/cycle.py": "cycle: decided",
    "sky_scheduler/plans.py": "cycle: requests made up",
    "sky_scheduler/reports.py": "cycle: reports looked for",
    "sky_core/status.py": "cycle: counted",
    "sky_core/invariants.py": "cycle: checked",
    "sky_scheduler/desk.py": "cycle: else",
    "sky_shell/writer.py": "writes: followed",
    "sky_scheduler/commit.py": "writes: followed",
    "sky_scheduler/reporter.py": "writes: told",
    "sky_shell/http_session.py": "client: requests and answers",
    "asyncio/base_events.py": "client: its loop",
    "trio/_core/_run.py": "trio's loop",
    "<frozen importlib._bootstrap>": "start: imports",
}
"""What is being done, by the innermost of these files on a thread's stack."""
WAITING: Final = {"select", "wait", "acquire", "poll", "get_events", "_handle_job", "_work", "_wait_for_tstate_lock"}
"""Where a thread only waits."""


class Sampler:
    """Counts where threads are found."""

    def __init__(self) -> None:
        """Nobody has looked."""
        self._stages: Counter[str] = Counter()
        self._functions: Counter[str] = Counter()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> str:
        """Look no more; what was seen, for people."""
        self._ended.set()
        self._thread.join()
        total = sum(self._stages.values()) or 1
        tables = (("stage", self._stages), ("function", self._functions))
        return "".join(
            f"{what}\n" + "".join(f"{count / total:>7.1%}  {name}\n" for name, count in counts.most_common(30))
            for what, counts in tables
        )

    def _run(self) -> None:
        own = threading.get_ident()
        while not self._ended.wait(EVERY):
            for thread, frame in sys._current_frames().items():
                if thread != own and frame.f_code.co_name not in WAITING:
                    self._stages[_stage(frame)] += 1
                    self._functions[_function(frame)] += 1


def _stage(frame: FrameType) -> str:
    return next((STAGES[file] for file in map(_file, _stack(frame)) if file in STAGES), "else")


def _function(frame: FrameType) -> str:
    """The innermost one of ours; of a library's own loops the innermost of all."""
    ours = next((one for one in _stack(frame) if _file(one).startswith("sky_")), frame)
    return f"{ours.f_code.co_name} {_file(ours)}"


def _stack(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _file(frame: FrameType) -> str:
    """The end of its path, from a package on."""
    parts = Path(frame.f_code.co_filename).parts
    start = next((at for at, part in enumerate(parts) if part in ("sky_core", "sky_shell", "sky_scheduler")), -2)
    return "/".join(parts[start:])


if __name__ == "__main__":
    out, *words = sys.argv[1:]
    sys.argv[1:] = words
    sampler = Sampler()
    sampler.start()
    try:
        from sky_scheduler.command_line import main  # a part of the start, and looked at as such

        main()
    finally:
        Path(out).write_text(sampler.stop())
