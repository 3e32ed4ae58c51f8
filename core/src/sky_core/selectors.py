"""Label selectors, as Kubernetes reads them: one requirement row for labels of pods, quotas, namespaces and nodes."""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Final

import msgspec

Labels = Mapping[str, str]

_INTEGER: Final = re.compile(r"[0-9]{1,63}")  # int() alone would also take 1_0, which is a legal label value
_INTEGER_MAX: Final = 2**63 - 1


class Operator(StrEnum):
    """How a requirement compares. Gt and Lt belong to node selectors only."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"


class Requirement(msgspec.Struct, frozen=True, gc=False):
    """One condition on one key. NotIn and DoesNotExist are met by an absent key."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def met_by(self, labels: Labels) -> bool:
        """Whether these labels meet it."""
        value = labels.get(self.key)
        match self.operator:
            case Operator.IN:
                return value in self.values
            case Operator.NOT_IN:
                return value not in self.values
            case Operator.EXISTS:
                return value is not None
            case Operator.DOES_NOT_EXIST:
                return value is None
            case Operator.GT | Operator.LT:
                return value is not None and _compares(self.operator, value, self.values[0])

    def __str__(self) -> str:
        """As kubectl writes it: `a=b`, `a in (b,c)`, `a notin (b)`, `a`, `!a`, `a>1`."""
        values = ",".join(self.values)
        match self.operator:
            case Operator.IN:
                return f"{self.key}={values}" if len(self.values) == 1 else f"{self.key} in ({values})"
            case Operator.NOT_IN:
                return f"{self.key} notin ({values})"
            case Operator.EXISTS:
                return self.key
            case Operator.DOES_NOT_EXIST:
                return f"!{self.key}"
            case Operator.GT | Operator.LT:
                return f"{self.key}{'>' if self.operator is Operator.GT else '<'}{values}"


class Selector(msgspec.Struct, frozen=True, gc=False):
    """All requirements must be met; one without requirements matches everything."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Labels) -> bool:
        """Whether these labels meet every requirement."""
        return all(requirement.met_by(labels) for requirement in self.requirements)


EVERYTHING: Final = Selector()


def equals(labels: Labels) -> Selector:
    """The selector that a plain map of labels stands for, its keys in order."""
    return Selector(tuple(Requirement(key, Operator.IN, (labels[key],)) for key in sorted(labels)))


def _compares(operator: Operator, have: str, want: str) -> bool:
    """Gt and Lt as in node affinity: both sides are label values and integers of 64 bits, else no match."""
    if not (_INTEGER.fullmatch(have) and _INTEGER.fullmatch(want)):
        return False
    left, right = int(have), int(want)
    if left > _INTEGER_MAX or right > _INTEGER_MAX:
        return False
    return left > right if operator is Operator.GT else left < right
