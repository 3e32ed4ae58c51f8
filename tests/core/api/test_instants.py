import pytest
from hypothesis import given
from hypothesis import strategies as st

from sky_core.api.instants import duration, instant, rfc3339
from sky_core.model import SECOND, Instant

MINUTE, HOUR = 60 * SECOND, 3600 * SECOND


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-02T00:00:01Z", 86_401 * SECOND),
        ("2026-01-01T00:00:00Z", 1_767_225_600 * SECOND),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1969-12-31T23:30:00-00:30", 0),
        ("1970-01-01T00:00:00.5Z", SECOND // 2),
        ("1970-01-01T00:00:00.000000001Z", 1),
        ("2024-02-29T00:00:00Z", 1_709_164_800 * SECOND),
        ("1969-12-31T23:59:59Z", -SECOND),
    ],
)
def test_an_instant_is_read_to_the_nanosecond(text: str, nanoseconds: int) -> None:
    assert instant(text) == nanoseconds


@pytest.mark.parametrize(
    "text",
    [
        "", "now", "2026-01-01", "2026-01-01 00:00:00Z", "2026-01-01T00:00:00", "2026-01-01t00:00:00z", "20260101T00Z",
        "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z",
        "2026-01-01T00:00:60Z", "2026-01-01T00:00:00+24:00", "٢026-01-01T00:00:00Z", "2026-01-01T00:00:00Z\n",
        "0000-01-01T00:00:00Z", "2026-01-01T00:00:00.1234567891Z",
    ],
)  # fmt: skip
def test_what_is_no_instant_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"time|day"):
        instant(text)


@given(st.integers(-62_135_596_800 * SECOND, 253_402_300_799 * SECOND))
def test_an_instant_reads_back_what_it_writes(when: int) -> None:
    assert instant(rfc3339(Instant(when))) == when


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0", 0), ("0s", 0), ("90s", 90 * SECOND), ("10m", 10 * MINUTE), ("1h30m", HOUR + 30 * MINUTE),
        ("1.5h", HOUR + 30 * MINUTE), ("100ms", SECOND // 10), ("1m10.5s", MINUTE + 10 * SECOND + SECOND // 2),
        (".5s", SECOND // 2), ("1.s", SECOND), ("+1s", SECOND), ("1us", 1000), ("1µs", 1000), ("1μs", 1000), ("7ns", 7),
        ("2540400h", 2_540_400 * HOUR),
    ],
)  # fmt: skip
def test_a_duration_is_read_as_go_reads_it(text: str, nanoseconds: int) -> None:
    assert duration(text) == nanoseconds


@pytest.mark.parametrize(
    "text",
    ["", "+", "1", "s", ".s", "-1s", "1 s", "1d", "1h-1m", "٣s", "1e3s", "1h30", "++1s", "3000000h", "9" * 70 + "h"],
)  # fmt: skip
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"duration|too long"):
        duration(text)
