import contextlib
import json
import operator
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sky_core.quantity import NANO, Format, Quantity, QuantityError

GOLDEN = Path(__file__).with_name("quantity_golden.tsv")  # what Go's resource.Quantity made of each text
LINES = [line.split("\t") for line in GOLDEN.read_text().splitlines()[1:]]

TOP = 2**63 - 1
EXACT_WHERE_GO_IS_NOT = {  # text -> value, milli; Go overflows, and in the last line loses the sign
    "1E": (10**18, 10**21),
    "1Ei": (2**60, 2**60 * 1000),
    "999999999999999999": (999999999999999999, 999999999999999999000),
    "9223372036854775807": (TOP, TOP * 1000),
    "9223372036854775808": (TOP + 1, (TOP + 1) * 1000),
    "-9223372036854775808": (-TOP - 1, (-TOP - 1) * 1000),
    "-9223372036854775809": (-TOP - 2, (-TOP - 2) * 1000),
    "12E": (12 * 10**18, 12 * 10**21),
    "8Ei": (TOP, TOP * 1000),
    "7.9Ei": (9108079886394091111, 9108079886394091110400),
    "9Ei": (TOP, TOP * 1000),
    "100Ei": (TOP, TOP * 1000),
    "-9Ei": (-TOP, -TOP * 1000),
    "1e18": (10**18, 10**21),
    "1e19": (10**19, 10**22),
    "1e30": (10**30, 10**33),
    "1e100": (10**100, 10**103),
    "123456789012345678901234567890": (123456789012345678901234567890, 123456789012345678901234567890000),
    "12345678901234567890e0": (12345678901234567890, 12345678901234567890000),
    "1.0000000001e25": (10000000001 * 10**15, 10000000001 * 10**18),
    "-0.5n": (-1, -1),
}
REFUSED_WHERE_GO_WRAPS_THE_EXPONENT = {"1e4294967296", "1e4294967299"}


@pytest.mark.parametrize("line", LINES, ids=operator.itemgetter(0))
def test_go_and_we_read_the_same(line: list[str]) -> None:
    text, result, canonical, written, value, milli, sign = line
    text = json.loads(text)
    if result != "ok" or text in REFUSED_WHERE_GO_WRAPS_THE_EXPONENT:
        with pytest.raises(QuantityError):
            Quantity.parse(text)
        return

    quantity = Quantity.parse(text)

    assert (quantity.canonical(), quantity.format) == (json.loads(canonical), written)
    assert (quantity.nano > 0) - (quantity.nano < 0) == int(sign)
    golden = (int(value), int(milli))
    if text in EXACT_WHERE_GO_IS_NOT:
        assert (quantity.value(), quantity.milli()) == EXACT_WHERE_GO_IS_NOT[text] != golden
    else:
        assert (quantity.value(), quantity.milli()) == golden


def test_every_stated_exception_is_in_the_golden_file() -> None:
    texts = {json.loads(line[0]) for line in LINES}

    assert texts >= EXACT_WHERE_GO_IS_NOT.keys() | REFUSED_WHERE_GO_WRAPS_THE_EXPONENT


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("1 Gi", "'1 Gi' is not a quantity; write a decimal number and a suffix: n u m k"),
        ("", "'' is not a quantity"),
        ("1K", "'1K' has the unknown suffix 'K'; allowed are n u m k"),
        ("1e129", "'1e129' has an exponent out of bounds; allowed are -2147483648 to 128"),
        ("9" * 129, "has 129 characters; a quantity has at most 128"),
        ("\N{FULLWIDTH DIGIT ONE}", r"'\uff11' is not a quantity"),
    ],
)
def test_an_error_says_what_was_written_and_what_is_allowed(text: str, complaint: str) -> None:
    with pytest.raises(QuantityError) as error:
        Quantity.parse(text)

    assert complaint in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        "1e999999999", "1e-99999999999", "1e" + "9" * 10**5, "9" * 10**5, "0." + "0" * 10**5 + "1", "1" + "E" * 10**5,
        "\N{ARABIC-INDIC DIGIT FIVE}", "1\N{SUPERSCRIPT TWO}", "\N{RIGHT-TO-LEFT OVERRIDE}1" * 30, "\ud800", "1\x00",
        "1\n", "\t1", "1_000", "0x10", "NaN", "-Infinity", "1e1e1", "--1", "+-1",
    ],
)  # fmt: skip
def test_a_hostile_text_is_refused_briefly(text: str) -> None:
    with pytest.raises(QuantityError) as error:
        Quantity.parse(text)

    assert len(str(error.value)) < 300
    assert str(error.value).isascii()


def test_the_highest_exponent_and_the_longest_text_are_read_exactly() -> None:
    assert Quantity.parse("9" * 124 + "e128").value() == (10**124 - 1) * 10**128


def test_the_lowest_exponent_still_leaves_one_billionth() -> None:
    assert Quantity.parse("9" * 116 + "e-2147483648") == Quantity(1, Format.DECIMAL_EXPONENT)


def test_less_than_one_of_a_binary_unit_prints_as_decimal() -> None:
    assert Quantity.parse("0.0001Ki") == Quantity.parse("102400u")


def test_what_no_decimal_suffix_reaches_prints_with_an_exponent() -> None:
    assert Quantity.parse("1000E").canonical() == "1e21"


nanos = st.integers(-(10**40), 10**40) | st.integers(-30, 30).map(lambda n: n * NANO * 1024)


@given(nanos, st.sampled_from([Format.DECIMAL_SI, Format.DECIMAL_EXPONENT]))
def test_decimal_text_parses_back_to_the_same_amount(nano: int, written: Format) -> None:
    assert Quantity.parse(Quantity(nano, written).canonical()).nano == nano


@given(st.integers(-TOP, TOP) | st.integers(-(2**13), 2**13).map(lambda n: n << 40))
def test_binary_text_parses_back_to_the_same_amount(value: int) -> None:
    assert Quantity.parse(Quantity(value * NANO, Format.BINARY_SI).canonical()).nano == value * NANO


digits = st.text("0123456789", max_size=20)
suffixes = st.sampled_from(["", *"numkMGTPE", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "e-4", "E+05", "e-99"])
fractions = st.just("") | digits.map(".{}".format)
texts = st.tuples(st.sampled_from(["", "+", "-"]), digits, fractions, suffixes).map("".join)


@given(texts.filter(bool))
@example("-9.99999999999999999999Ei")
def test_canonical_text_is_a_fixed_point(text: str) -> None:
    quantity = Quantity.parse(text)
    again = Quantity.parse(quantity.canonical())

    assert again.nano == quantity.nano
    assert again.canonical() == quantity.canonical()


@given(st.integers(), st.integers(0, 30), st.integers(-60, 60))
def test_rounding_is_away_from_zero_and_by_less_than_a_billionth(number: int, point: int, exponent: int) -> None:
    text = f"{number:+0{point + 2}d}"
    text = f"{text[: len(text) - point]}.{text[len(text) - point :]}e{exponent}"

    added = abs(Quantity.parse(text).nano) - abs(Fraction(text) * NANO)

    assert 0 <= added < 1


@given(st.text(max_size=140))
def test_any_text_is_a_quantity_or_a_quantity_error(text: str) -> None:
    with contextlib.suppress(QuantityError):
        assert isinstance(Quantity.parse(text).nano, int)
