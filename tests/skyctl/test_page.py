"""The HTML page."""

import re
from html.parser import HTMLParser

from skyctl.page import page
from skyctl.scene import Card, Chapter, Job, Machine, Quota, Reason, Scene, Use, Zone

VOID = {"meta"}


class Outline(HTMLParser):
    """Checks that tags close in order, and collects elements and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID and not (self.get_starttag_text() or "").endswith("/>"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not (self.get_starttag_text() or "").endswith("/>") or self.open[-1:] == [tag]:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def scene(name: str = "n0") -> Scene:
    cards = (Card(Use.JOB, "a", name), Card(Use.FOREIGN, "#", name), Card(Use.PROMISED, "="), Card(Use.IDLE, "."))
    return Scene(
        cycles=2,
        zones=(
            Zone("A", name, (Machine(name, name, cards, (name,), (name,)),)),
            Zone("", None, (Machine(name, "", (), (), ()),)),
        ),
        jobs=(Job("a", name, name, name, (name,), 1, 2, (Reason("Code", name),)),),
        quotas=(Quota(name, name, name, (name,), (name,)),),
        story=(Chapter(1, "2026-01-01T00:00:00Z", (name,)),),
        setbacks=(name,),
        faults=(name,),
    )


def test_a_page_is_well_formed_and_tells_everything() -> None:
    text = Outline(page(scene())).text
    for said in ("1 of 2 pods placed after 2 cycles", "zone A", "2026-01-01T00:00:00Z", "promised, unused"):
        assert said in text


def test_names_never_become_markup() -> None:
    hostile = "</title></script><script>alert(1)</script><img src=x onerror=\"alert('&')\">\x00\u202e"
    outline, honest = Outline(page(scene(hostile))), Outline(page(scene()))
    assert [tag for tag, _ in outline.elements] == [tag for tag, _ in honest.elements]
    assert "alert('&')" in outline.text
    assert "\u202e" not in outline.text
    assert "\x00" not in outline.text


def test_a_page_needs_no_network_and_no_script() -> None:
    shown = page(scene())
    assert not re.findall(r"https?:|//|url\(|@import|<script|<link|<img|<iframe", shown)
    assert "default-src 'none'" in shown
    assert not [attrs for _, attrs in Outline(shown).elements if {"src", "href", "onclick"} & attrs.keys()]


def test_pictures_are_named_and_told_in_words_too() -> None:
    elements = Outline(page(scene())).elements
    pictures = [attrs for tag, attrs in elements if tag == "svg"]
    ids = {attrs.get("id") for _, attrs in elements}
    assert pictures
    assert all(attrs["role"] == "img" for attrs in pictures)
    assert all(set((attrs["aria-labelledby"] or "").split()) <= ids for attrs in pictures)
    assert sum(tag == "details" for tag, _ in elements) == len(pictures)
