import pytest
from hypothesis import given
from hypothesis import strategies as st

from sky_core.selector_text import SelectorError, parse_selector
from sky_core.selectors import EVERYTHING, Operator, Requirement, Selector

IN, NOT_IN, EXISTS, ABSENT = Operator.IN, Operator.NOT_IN, Operator.EXISTS, Operator.DOES_NOT_EXIST


@pytest.mark.parametrize(
    ("text", "requirements"),
    [
        ("a=b", [Requirement("a", IN, ("b",))]),
        ("a==b", [Requirement("a", IN, ("b",))]),
        ("a!=b", [Requirement("a", NOT_IN, ("b",))]),
        ("a", [Requirement("a", EXISTS)]),
        ("!a", [Requirement("a", ABSENT)]),
        ("a=", [Requirement("a", IN, ("",))]),
        ("a in (y, x,y)", [Requirement("a", IN, ("x", "y"))]),
        ("a notin (x)", [Requirement("a", NOT_IN, ("x",))]),
        ("a in (x,)", [Requirement("a", IN, ("", "x"))]),
        ("a in ()", [Requirement("a", IN, ("",))]),
        ("n>5", [Requirement("n", Operator.GT, ("5",))]),
        ("n < 5", [Requirement("n", Operator.LT, ("5",))]),
        ("in in (in)", [Requirement("in", IN, ("in",))]),
        ("example.com/a = b_c.d-e", [Requirement("example.com/a", IN, ("b_c.d-e",))]),
        (" a = b , c != d ", [Requirement("a", IN, ("b",)), Requirement("c", NOT_IN, ("d",))]),
        (
            "a=b,c!=d,e in (x,y),!f,g",
            [
                Requirement("a", IN, ("b",)),
                Requirement("c", NOT_IN, ("d",)),
                Requirement("e", IN, ("x", "y")),
                Requirement("f", ABSENT),
                Requirement("g", EXISTS),
            ],
        ),
    ],
)
def test_a_selector_is_read_as_kubectl_reads_it(text: str, requirements: list[Requirement]) -> None:
    assert parse_selector(text) == Selector(tuple(requirements))


@pytest.mark.parametrize("text", ["", " ", "\t"])
def test_no_text_selects_everything(text: str) -> None:
    assert parse_selector(text) == EVERYTHING


def test_the_order_of_requirements_means_nothing() -> None:
    assert parse_selector("b,a") == parse_selector("a,b")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (",", "expected a label's key at character 1"),
        ("a,", "expected a label's key at character 3 of 'a,', not the end"),
        ("a,,b", "character 3"),
        ("=b", "a label's key at character 1"),
        ("a=b c", "expected ','"),
        ("a in b", "expected '('"),
        ("a in (b", "expected ')'"),
        ("a b", "expected =, ==, !="),
        ("a=b=c", "expected ','"),
        ("a>x", "an integer"),
        ("a=%", "a label's value at character 3"),
        ("é", "a label's key"),
        ("a=é", "a label's value"),
        ("-a", "a label's key"),
        ("A/b/c", "a label's key"),
        ("UPPER.com/x", "a label's key"),
        ("a=" + "v" * 64, "a label's value"),
        ("k" * 64, "a label's key"),
        ("a," * 2049, "4098 characters"),
        ("a!b", "expected ="),
    ],
)
def test_what_is_no_selector_is_refused_with_its_place(text: str, what: str) -> None:
    with pytest.raises(SelectorError) as caught:
        parse_selector(text)

    assert what in str(caught.value)


@given(st.text(alphabet="ab/.-_=!(),<> \tinot€\x00", max_size=30))
def test_any_text_is_a_selector_or_refused(text: str) -> None:
    try:
        selector = parse_selector(text)
    except SelectorError:
        return
    assert selector.requirements or not text.strip()
