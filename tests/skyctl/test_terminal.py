"""What reaches a terminal."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skyctl.terminal import plain, progress, tell


@given(st.text(st.characters()))
def test_nothing_that_is_shown_controls_a_terminal_or_turns_a_line_around(text: str) -> None:
    shown = plain(text)
    assert not [c for c in shown if unicodedata.category(c) in {"Cc", "Cs", "Zl", "Zp"}]
    assert not [c for c in shown if unicodedata.bidirectional(c) in {"LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI"}]
    shown.encode("utf-8")
    assert plain(shown) == shown


def test_ordinary_text_is_shown_as_it_is() -> None:
    assert plain("训练 äöü №1 → x") == "训练 äöü №1 → x"


def test_a_message_is_one_line_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    tell("a\nb\x1b[31m\u202e")
    assert capsys.readouterr() == ("", "skyctl: a\\nb\\x1b[31m\\u202e\n")


def test_progress_is_silent_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    with progress() as say:
        say("cycle 1")
    assert capsys.readouterr() == ("", "")
