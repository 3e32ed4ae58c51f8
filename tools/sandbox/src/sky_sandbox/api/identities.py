"""Names and uids that nobody has given before: the same in each run from the same seed."""

from hashlib import sha256
from typing import Final

_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX: Final = 5
_BASE_MAX: Final = 63 - _SUFFIX


class Identities:
    """Makes them. `made` counts, so that a saved sandbox goes on where it was."""

    def __init__(self, seed: str) -> None:
        """Two sandboxes with other seeds have other uids."""
        self.seed = seed
        self.made = 0

    def uid(self) -> str:
        """A UUID."""
        digits = sha256(f"{self.seed}/{self._next()}".encode()).hexdigest()
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:32]}"

    def name(self, base: str) -> str:
        """A name that begins with this."""
        digest = sha256(f"{self.seed}/{self._next()}".encode()).digest()
        return base[:_BASE_MAX] + "".join(_LETTERS[byte % len(_LETTERS)] for byte in digest[:_SUFFIX])

    def _next(self) -> int:
        self.made += 1
        return self.made
