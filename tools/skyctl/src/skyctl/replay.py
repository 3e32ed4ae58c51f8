"""`skyctl replay`: what the scheduler's flight recorder wrote down, decided once more."""

import gzip
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from sky_core.api.instants import rfc3339
from sky_core.course import Course
from sky_core.cycle import default_policy
from sky_core.decisions import BindTask, Decision, EvictTask, WriteQuota
from sky_core.logbook import Difference, Entry, Opening, Page, decoder, reopened, replayed
from sky_core.policy import Policy
from sky_shell.reading.places import File, InputError
from sky_shell.reading.policy import policy_in
from skyctl.configuration import configured
from skyctl.faults import BROKEN, UsageError
from skyctl.terminal import answer, plain, progress, tell


def replay(*paths: str, config: str | None = None) -> int:
    """Recompute every cycle in these files, and print where one comes out otherwise; the exit status.

    Raises:
        UsageError: The command line makes no sense.
        InputError: A file can't be used, or a folder has none.
    """
    if not paths:
        raise UsageError("replay needs at least one file or folder of the flight recorder")
    other = configured(config) if config is not None else None
    differs = False
    for path in _files(paths):
        with progress() as say:
            say(f"replaying {path}")
            differs |= _replay(path, other)
    return BROKEN if differs and other is None else 0


def _files(paths: Sequence[str]) -> Iterator[str]:
    """The files that are meant; a folder stands for those in it, in the order in which they were written."""
    for path in paths:
        if not Path(path).is_dir():
            yield path
            continue
        inside = sorted(str(file) for file in Path(path).glob("*.jsonl.gz"))
        if not inside:
            raise InputError(f"the folder {path} has no file of the flight recorder, *.jsonl.gz")
        yield from inside


def _replay(path: str, other: Policy | None) -> bool:
    """Whether a file has a cycle that comes out otherwise."""
    pages = _pages(path)
    opening = next(pages, None)
    if not isinstance(opening, Opening):
        raise InputError(f"{path} does not begin as a file of the flight recorder does")
    policy = other or _recorded(path, opening)
    course = reopened(opening, policy.settings)
    cycles = differences = 0
    for page in pages:
        if not isinstance(page, Entry):
            raise InputError(f"{path}, line {cycles + 2}: not a cycle")
        cycles += 1
        difference = replayed(course, policy, cycles, page)
        if difference is not None:
            differences += 1
            answer(_told(course, difference))
    answer(f"{plain(path)}: {_counted(cycles, 'cycle')}, {differences or 'none'} otherwise\n")
    return differences > 0


def _recorded(path: str, opening: Opening) -> Policy:
    """What the cycles were decided by."""
    text = opening.configuration
    policy = policy_in(File(f"the configuration in {path}", text)) if text else default_policy()
    return msgspec.structs.replace(policy, lenient=True)


def _pages(path: str) -> Iterator[Page]:
    good = 0
    try:
        with gzip.open(Path(path), "rb") as file:
            for text in file:
                yield decoder.decode(text)
                good += 1
    except EOFError:
        tell(f"{path} was cut off after line {good}")
    except (OSError, zlib.error, ValueError) as error:
        where = f" after line {good}" if good else ""
        raise InputError(f"{path} can't be read{where}: {_why(error)}") from None


def _why(error: Exception) -> str:
    if isinstance(error, gzip.BadGzipFile):
        return "it is not gzipped, as files of the flight recorder are"
    return (isinstance(error, OSError) and error.strerror) or str(error)


def _told(course: Course, difference: Difference) -> str:
    """A cycle as it was, and as it comes out."""
    head = f"cycle {difference.cycle}, {rfc3339(difference.now)}:\n"
    if difference.recorded == difference.found:
        return f"{head}  the decisions are the same, what is told of them is not\n"
    was = (f"  - {line}\n" for line in _only(course, difference.recorded, difference.found))
    found = (f"  + {line}\n" for line in _only(course, difference.found, difference.recorded))
    return head + "".join((*was, *found))


def _only(course: Course, some: Sequence[Decision], others: Sequence[Decision]) -> list[str]:
    return [plain(_worded(course, decision)) for decision in some if decision not in others]


def _worded(course: Course, decision: Decision) -> str:
    match decision:
        case WriteQuota():
            claims = ", ".join(f"{claim.namespace}/{claim.name}" for claim in decision.claims)
            return f"quota {decision.quota} on {decision.node or 'no node'} for {claims or 'nobody'}"
        case BindTask():
            return f"pod {_name(course, decision.task)} to {decision.node}"
        case EvictTask():
            return f"pod {_name(course, decision.task)} evicted for {decision.certificate.claimant}"


def _name(course: Course, task: str) -> str:
    found = next((one for one in course.world.tasks.values() if one.id == task), None)
    return found.key if found is not None else task


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
