"""The house lint: what ruff, mypy and import-linter don't know about this repository.

Reads every file that git does not ignore and prints `path:line: what is wrong`; exit status 1 if there is anything.
A rule is a function over one file, or over all of them; three tables below the rules list them.
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

ROOT: Final = Path(__file__).parents[2]

FUNCTION_LINES_MAX: Final = 70
SHIPPED_FILE_LINES_MAX: Final = 400
SHIPPED: Final = ("core/", "cmd/", "tools/")
VAGUE_NAMES: Final = {"util", "utils", "helper", "helpers", "common", "manager", "managers"}
README_HEADINGS: Final = ("What it does", "What it reads", "What it writes", "What it never does")

HISTORY: Final = re.compile(
    r"\b(now (also|uses|returns|takes|handles|supports)|previously|formerly|no longer|improved|refactored)\b", re.I
)
REGISTRY: Final = re.compile(
    r"pypi\.org|pythonhosted\.org|\bindex[-_]url\b|tool\.uv\.index|://[^\s/]+/(\S*/)?simple\b|"
    r"registry\.npmjs|proxy\.golang\.org",
    re.I,
)
HASH_COMMENTS: Final = {"", ".sh", ".toml", ".yaml", ".yml"}  # "": Makefile, tools/setup, .ci/run


class File(NamedTuple):
    """A text file of the repository; `path` is relative to its root, with slashes."""

    path: str
    text: str


class Fault(NamedTuple):
    """One thing that is wrong. Lines count from 1; 0 is the file as a whole."""

    path: str
    line: int
    what: str


Lines: TypeAlias = Iterator[tuple[int, str]]
FileRule: TypeAlias = Callable[[File], Lines]
TreeRule: TypeAlias = Callable[[Mapping[str, File]], Iterator[Fault]]


def module_name(file: File) -> Lines:
    """A module is a noun of the domain; a vague name collects what belongs elsewhere."""
    if vague := VAGUE_NAMES.intersection(Path(file.path).with_suffix("").parts):
        yield 0, f"{', '.join(sorted(vague))!r} is no noun of the domain"


def function_length(file: File) -> Lines:
    """A function fits a screen."""
    for node in ast.walk(ast.parse(file.text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > FUNCTION_LINES_MAX:
                yield node.lineno, f"{node.name} has {lines} lines, more than {FUNCTION_LINES_MAX}"


def file_length(file: File) -> Lines:
    """A shipped file is short; tests may be long tables."""
    lines = len(file.text.splitlines())
    if file.path.startswith(SHIPPED) and lines > SHIPPED_FILE_LINES_MAX:
        yield 0, f"{lines} lines, more than {SHIPPED_FILE_LINES_MAX}"


def catch_all(file: File) -> Lines:
    """The core names what it catches: a defect must not pass for a refusal."""
    for node in ast.walk(ast.parse(file.text)) if file.path.startswith("core/") else ():
        if isinstance(node, ast.ExceptHandler):
            caught = {name.id for name in ast.walk(node.type) if isinstance(name, ast.Name)} if node.type else {"all"}
            if caught & {"all", "Exception", "BaseException"}:
                yield node.lineno, "the core catches what it expects, by name"


def history(file: File) -> Lines:
    """A comment says what is; git says what was."""
    for line, comment in comments(file):
        if found := HISTORY.search(comment):
            yield line, f"{found[0]!r} tells history, which is git's to tell"


def comments(file: File) -> Lines:
    """Each comment with its line, in the kinds of file that have `#` comments."""
    suffix = Path(file.path).suffix
    if suffix == ".py":
        for token in tokenize.generate_tokens(io.StringIO(file.text).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string
    elif suffix in HASH_COMMENTS:
        for line, text in enumerate(file.text.splitlines(), 1):
            if found := re.search(r"(^|\s)#.*", text):
                yield line, found[0]


def registry_address(file: File) -> Lines:
    """Where packages come from is the machine's business, never the repository's."""
    for line, text in enumerate(file.text.splitlines(), 1):
        if found := REGISTRY.search(text):
            yield line, f"{found[0]!r} names a package registry, which each machine chooses for itself"


def lock_file(files: Mapping[str, File]) -> Iterator[Fault]:
    """The lock is requirements.lock, with hashes and without addresses."""
    for path in files:
        if Path(path).name == "uv.lock":
            yield Fault(path, 0, "requirements.lock is the lock; this one names registries")


def cmd_package(files: Mapping[str, File]) -> Iterator[Fault]:
    """The folder cmd is no package: it would hide the standard library's cmd, and break pdb and pytest."""
    if "cmd/__init__.py" in files:
        yield Fault("cmd/__init__.py", 0, "hides the standard library's cmd, which pdb and pytest need")


def member_readme(files: Mapping[str, File]) -> Iterator[Fault]:
    """Every member of the workspace says the same four things about itself."""
    for member in tomllib.loads(files["pyproject.toml"].text)["tool"]["uv"]["workspace"]["members"]:
        path = f"{member}/README.md"
        headings = re.findall(r"^## (.+)$", files[path].text, re.MULTILINE) if path in files else []
        if missing := [heading for heading in README_HEADINGS if heading not in headings]:
            yield Fault(path, 0, f"lacks the heading {', '.join(map(repr, missing))}")


PYTHON_RULES: Final[tuple[FileRule, ...]] = (module_name, function_length, file_length, catch_all)
TEXT_RULES: Final[tuple[FileRule, ...]] = (history, registry_address)
TREE_RULES: Final[tuple[TreeRule, ...]] = (lock_file, cmd_package, member_readme)


def faults(files: Iterable[File]) -> list[Fault]:
    """Everything that is wrong with a tree, by path and line; the root's pyproject.toml must be in it."""
    tree = {file.path: file for file in files}
    found = [fault for rule in TREE_RULES for fault in rule(tree)]
    for file in tree.values():
        rules = TEXT_RULES + (PYTHON_RULES if file.path.endswith(".py") else ())
        found += [Fault(file.path, line, what) for rule in rules for line, what in rule(file)]
    return sorted(found)


def repository(root: Path) -> Iterator[File]:
    """The text files that git knows or would add; whoever owns the checkout, since CI is root."""
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
    for path in sorted(set(listed.split("\0")) - {""}):
        content = (root / path).read_bytes() if (root / path).is_file() else b"\0"  # git lists what is deleted, too
        if b"\0" not in content:
            yield File(path, content.decode(errors="replace"))


def main() -> int:
    """Print the faults of this repository."""
    found = faults(repository(ROOT))
    for fault in found:
        print(f"{fault.path}:{fault.line}: {fault.what}")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
