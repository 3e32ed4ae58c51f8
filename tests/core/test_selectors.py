import pytest

from sky_core.selectors import Operator, Requirement

TEXTS = {
    "a=b": Requirement("a", Operator.IN, ("b",)),
    "a in (b,c)": Requirement("a", Operator.IN, ("b", "c")),
    "a notin (b)": Requirement("a", Operator.NOT_IN, ("b",)),
    "a": Requirement("a", Operator.EXISTS),
    "!a": Requirement("a", Operator.DOES_NOT_EXIST),
    "a>1": Requirement("a", Operator.GT, ("1",)),
    "a<1": Requirement("a", Operator.LT, ("1",)),
}


@pytest.mark.parametrize(("text", "requirement"), TEXTS.items())
def test_a_requirement_reads_as_in_kubectl(text: str, requirement: Requirement) -> None:
    assert str(requirement) == text
