from pathlib import Path

import pytest

import state_diagram
from state_diagram import diagram, drawn

DOOR = {"Open": {"shut": "Shut"}, "Shut": {"open": "Open", "lock": "Locked"}, "Locked": {}, "Gone": {}}
PICTURE = """\
```mermaid
stateDiagram-v2
    Open --> Shut: shut
    Shut --> Open: open
    Shut --> Locked: lock
    Gone
```"""


def test_every_move_is_an_arrow_and_no_state_is_lost() -> None:
    assert diagram(DOOR) == PICTURE


def test_only_what_stands_between_the_markers_is_replaced() -> None:
    page = "before\n<!-- state diagram -->\nold\n<!-- /state diagram -->\nafter\n"
    assert drawn(page, "new") == "before\n<!-- state diagram -->\nnew\n<!-- /state diagram -->\nafter\n"


def test_drawing_twice_changes_nothing() -> None:
    once = drawn("<!-- state diagram --><!-- /state diagram -->", PICTURE)
    assert drawn(once, PICTURE) == once


@pytest.mark.parametrize(
    "page",
    [
        "no markers",
        "<!-- state diagram -->",
        "<!-- /state diagram --><!-- state diagram -->",
        "<!-- state diagram --><!-- state diagram --><!-- /state diagram -->",
    ],
)
def test_a_page_without_one_pair_of_markers_is_refused(page: str) -> None:
    with pytest.raises(ValueError, match="the page needs one"):
        drawn(page, PICTURE)


def test_a_stale_page_fails_the_check_and_is_left_alone_until_it_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "README.md"
    page.write_text("<!-- state diagram -->\nstale\n<!-- /state diagram -->\n")
    monkeypatch.setattr(state_diagram, "README", page)

    assert state_diagram.main(["--check"]) == 1
    assert "stale" in page.read_text()
    assert "make diagram" in capsys.readouterr().out

    assert state_diagram.main([]) == 0
    assert state_diagram.main(["--check"]) == 0
    assert "Pending --> " in page.read_text()
