"""Kubernetes quantities: text to an exact number, and back to canonical text."""

import enum
import re
from typing import Final, Self

import msgspec

NANO: Final = 10**9
"""Billionths in one."""

_LONGEST_TEXT = 128
_LONGEST_SHOWN = 64
_LOWEST_EXPONENT, _HIGHEST_EXPONENT = -(2**31), 128
_BINARY_CAP = (2**63 - 1) * NANO

_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIX = ("", *_BINARY)
_ALLOWED = f"{' '.join(filter(None, (*_DECIMAL, *_BINARY)))}, an exponent such as e3, or none"

# As generous as Kubernetes' own split: the tables judge the suffix. Not \d, which takes the digits of every script.
_FORM = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[+-]?[0-9]*)")
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)")


class QuantityError(ValueError):
    """An amount that can't be used: what was written, what is wrong with it, what is allowed. For people."""


class Format(enum.StrEnum):
    """How a quantity was written, which its canonical text keeps."""

    DECIMAL_SI = "DecimalSI"
    BINARY_SI = "BinarySI"
    DECIMAL_EXPONENT = "DecimalExponent"


class Quantity(msgspec.Struct, frozen=True, gc=False):
    """An exact amount in billionths (`nano`), as `resource.Quantity` of k8s.io/apimachinery holds it.

    Equality compares the format too: `1Ki` and `1024` are the same amount and two quantities.
    """

    nano: int
    format: Format

    @classmethod
    def parse(cls, text: str) -> Self:
        """What Go's `ParseQuantity` reads in `text`.

        What is finer than a billionth rounds away from zero; an amount with a binary suffix is capped at 2^63-1.
        An exponent beyond int32, which old API servers wrap around, is an error as in new ones, and so is one above
        128: the number would take all memory.

        Raises:
            QuantityError: Go would refuse the text, it has more than 128 characters, or its exponent is too high.
        """
        if len(text) > _LONGEST_TEXT:
            raise QuantityError(f"{shown(text)} has {len(text)} characters; a quantity has at most {_LONGEST_TEXT}")
        split = _FORM.fullmatch(text) if text else None
        if split is None:
            raise QuantityError(f"{shown(text)} is not a quantity; write a decimal number and a suffix: {_ALLOWED}")
        sign, whole, fraction, suffix = split.groups("")
        shift = exponent = 0
        if suffix in _DECIMAL:
            written, exponent = Format.DECIMAL_SI, _DECIMAL[suffix]
        elif suffix in _BINARY:
            written, shift = Format.BINARY_SI, _BINARY[suffix]
        else:
            written, exponent = Format.DECIMAL_EXPONENT, _exponent(text, suffix)
        # No text holds a number of more digits, so below that exponent everything but zero is one billionth.
        places = max(exponent + 9 - len(fraction), -_LONGEST_TEXT)
        digits = int(whole + fraction or "0") << shift
        nano = digits * 10**places if places >= 0 else -(-digits // 10**-places)
        if written is Format.BINARY_SI:
            nano = min(nano, _BINARY_CAP)
            if 0 < nano < NANO:
                written = Format.DECIMAL_SI
        return cls(-nano if sign == "-" else nano, written)

    def canonical(self) -> str:
        """The text that Kubernetes prints: no fraction, nothing lost, the largest suffix that allows both."""
        if self.nano == 0:
            return "0"
        if self.format is Format.BINARY_SI and abs(self.nano) >= 1024 * NANO and self.nano % NANO == 0:
            number, times = _factor_out(1024, self.nano // NANO, at_most=len(_BINARY))
            return f"{number}{_BINARY_SUFFIX[times]}"
        number, times = _factor_out(1000, self.nano, at_most=_LONGEST_TEXT)
        exponent = 3 * times - 9
        if exponent in _DECIMAL_SUFFIX and (self.format is not Format.DECIMAL_EXPONENT or exponent == 0):
            return f"{number}{_DECIMAL_SUFFIX[exponent]}"
        return f"{number}e{exponent}"

    def value(self) -> int:
        """The amount in whole units, fractions rounded away from zero."""
        return _ceil_away(self.nano, NANO)

    def milli(self) -> int:
        """The amount in thousandths, finer fractions rounded away from zero."""
        return _ceil_away(self.nano, NANO // 1000)


def shown(text: str) -> str:
    """`text` quoted for a message: at most 64 characters, escaped where not ASCII, since some digits look alike."""
    quoted = ascii(text[:_LONGEST_SHOWN])
    return quoted if len(quoted) <= _LONGEST_SHOWN else f"{quoted[: _LONGEST_SHOWN - 3]}..."


def _exponent(text: str, suffix: str) -> int:
    """The decimal exponent in `suffix`, within its bounds before anybody computes with it."""
    split = _EXPONENT.fullmatch(suffix)
    if split is None:
        raise QuantityError(f"{shown(text)} has the unknown suffix {shown(suffix)}; allowed are {_ALLOWED}")
    exponent = int(split[1])
    if not _LOWEST_EXPONENT <= exponent <= _HIGHEST_EXPONENT:
        raise QuantityError(
            f"{shown(text)} has an exponent out of bounds; allowed are {_LOWEST_EXPONENT} to {_HIGHEST_EXPONENT}"
        )
    return exponent


def _factor_out(base: int, number: int, at_most: int) -> tuple[int, int]:
    """`number` without its factors of `base`, and how many those were."""
    times = 0
    while times < at_most and number % base == 0:
        number //= base
        times += 1
    return number, times


def _ceil_away(number: int, divisor: int) -> int:
    return -(-number // divisor) if number > 0 else number // divisor
