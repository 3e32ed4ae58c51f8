"""A line of a table: a kind, a name, words, and what is expected (`sky_core.testing.table`)."""

from collections.abc import Mapping
from typing import Final

from sky_core.testing.objects import GPU, HCA, SPOT, Object

AMOUNTS: Final[Mapping[str, str]] = {
    "gpu": GPU,
    "hca": HCA,
    "rdma": "rdma/roce",
    "spot": SPOT,
    "cpu": "cpu",
    "memory": "memory",
    "storage": "ephemeral-storage",
}
"""Short names of resources; others are written as they are, `domain/name=2`."""

_PREFIXES: Final = ("label.", "note.", "cap.")


class TableError(ValueError):
    """A table cannot be read: the line, and what is wrong with it."""


class Line:
    """`[@TIME] KIND NAME [WORD …] [-> EXPECTATION]`, a word being `key=value` or a `key` by itself.

    Words are taken one by one; `close` complains of those that nobody took. `key` is what a pod or a job is called in
    a simulation's report, `job` the job of a task.
    """

    def __init__(self, number: int, text: str) -> None:
        """Take it apart."""
        told, arrow, expected = text.partition("->")
        parts = told.split()
        self.number = number
        self.text = text
        self.at = parts.pop(0).removeprefix("@") if told.lstrip().startswith("@") else ""
        self.expected = tuple(expected.split())
        if len(parts) < 2 or bool(arrow) != bool(self.expected):
            raise self.error("write KIND NAME, words, and perhaps -> EXPECTATION")
        self.kind, self.name, *words = parts
        self._words: dict[str, str | None] = {}
        self._known: dict[str, None] = {}
        for word in words:
            key, equals, value = word.partition("=")
            if key in self._words or (equals and not value):
                raise self.error(f"{key} is said twice, or says nothing")
            self._words[key] = value if equals else None
        namespace = self._words.get("namespace") or "default"
        self.key = f"{namespace}/{self.name}"
        self.job = f"{namespace}/{self._words.get('job') or self.name}"

    def error(self, what: str) -> TableError:
        """What is wrong with this line."""
        return TableError(f"line {self.number}: {what}: {self.text.strip()}")

    def take(self, key: str) -> str:
        """The value of a word; empty where it is not there."""
        self._known[f"{key}="] = None
        if key not in self._words:
            return ""
        value = self._words.pop(key)
        if value is None:
            raise self.error(f"write {key}=VALUE")
        return value

    def flag(self, key: str) -> bool:
        """Whether a word is there that has no value."""
        self._known[key] = None
        if key not in self._words:
            return False
        if self._words.pop(key) is not None:
            raise self.error(f"{key} takes no value")
        return True

    def whole(self, key: str, usual: int) -> int:
        """A word's number."""
        if not (value := self.take(key)):
            return usual
        if not value.removeprefix("-").isdecimal():
            raise self.error(f"{key} is a whole number")
        return int(value)

    def choice(self, key: str, meant: Mapping[str, str]) -> str:
        """What one of a few values means; empty where the word is not there."""
        value = self.take(key)
        if value and value not in meant:
            raise self.error(f"{key} is one of {', '.join(meant)}")
        return meant[value] if value else ""

    def several(self, key: str) -> list[str]:
        """A word's values."""
        return [value for value in self.take(key).split(",") if value]

    def pairs(self, key: str) -> dict[str, str]:
        """A word's `KEY:VALUE,KEY:VALUE`."""
        parts = [part.partition(":") for part in self.several(key)]
        if not all(name and value for name, _, value in parts):
            raise self.error(f"write {key}=KEY:VALUE")
        return {name: value for name, _, value in parts}

    def below(self, prefix: str) -> dict[str, str]:
        """The words `PREFIX.KEY=VALUE`, by key."""
        self._known[f"{prefix}.KEY="] = None
        found = [key for key in self._words if key.startswith(f"{prefix}.")]
        return {key.removeprefix(f"{prefix}."): self.take(key) for key in found}

    def amounts(self, usual: Object) -> Object:
        """What is said of resources; the usual where nothing is."""
        self._known.update(dict.fromkeys(f"{key}=" for key in (*AMOUNTS, "DOMAIN/RESOURCE")))
        found = [key for key in self._words if key in AMOUNTS or ("/" in key and not key.startswith(_PREFIXES))]
        return {AMOUNTS.get(key, key): self.take(key) for key in found} or usual

    def close(self) -> None:
        """Complain of words that nobody has taken."""
        if self._words:
            known = " ".join(sorted(key for key in self._known if key.rstrip("=") not in self._words))
            raise self.error(f"a {self.kind} knows no {', '.join(self._words)} (but {known})")
