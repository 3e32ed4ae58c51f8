"""YAML and JSON, as people and programs write them, and as they should not."""

import json

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from sky_shell.reading.documents import written
from sky_shell.reading.places import File, InputError
from sky_shell.reading.yaml_text import REPEATED_MAX


def values(text: str, name: str = "f.yaml") -> list[object]:
    return [document.value for document in written(File(name, text))]


def places(text: str) -> list[str]:
    return [str(document.place) for document in written(File("f.yaml", text))]


def refusal(text: str, name: str = "f.yaml") -> str:
    with pytest.raises(InputError) as caught:
        values(text, name)
    return str(caught.value)


@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        ("on", "on"),
        ("yes", "yes"),
        ("1:30", "1:30"),
        ("017", "017"),
        ("0x1f", "0x1f"),
        ("1_000", "1_000"),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("2026-01-01", "2026-01-01"),
        (".inf", ".inf"),
        ("NaN", "NaN"),
        ("1Gi", "1Gi"),
        ("=", "="),
        ("1e3", 1000.0),
        ("0.5", 0.5),
        ("-7", -7),
        ("0", 0),
        ("true", True),
        ("False", False),
        ("", None),
        ("~", None),
        ("null", None),
        ("'true'", "true"),
        ('"7"', "7"),
        ("!!str 7", "7"),
        ("! 7", "7"),
        ("9" * 5000, "9" * 5000),
    ],
)
def test_a_scalar_means_what_it_means_in_json_and_is_text_otherwise(scalar: str, value: object) -> None:
    (document,) = values(f"a: {scalar}")
    assert document == {"a": value}
    assert type(document["a"]) is type(value)


def test_a_key_is_text_whatever_it_looks_like() -> None:
    assert values("1: a\ntrue: b\non: c\n~: d") == [{"1": "a", "true": "b", "on": "c", "~": "d"}]


def test_aliases_stand_for_what_they_name_and_merges_fill_in() -> None:
    text = "x: &x {a: 1, b: 2}\ny: *x\nz: {<<: *x, a: 3}\nw: {<<: [{a: 5}, *x]}\nv: {'<<': 1}"
    one = {"a": 1, "b": 2}
    assert values(text) == [{"x": one, "y": one, "z": {"a": 3, "b": 2}, "w": {"a": 5, "b": 2}, "v": {"<<": 1}}]


def test_documents_of_one_file_are_told_apart_with_their_lines() -> None:
    assert places("# words\na: 1\n---\n---\n\nb: 2\n") == ["f.yaml, document 1, line 2", "f.yaml, document 3, line 6"]


def test_json_values_may_follow_each_other() -> None:
    assert values('{"a": 1}\n{"a": 2}\n\n {"a": 3}') == [{"a": 1}, {"a": 2}, {"a": 3}]
    assert places('{"a": 1}\n{"a":\n 2}\n\n {"a": 3}')[2] == "f.yaml, document 3, line 5"


def test_yaml_may_begin_like_json() -> None:
    assert values("{a: b}") == [{"a": "b"}]
    assert values('{"a": 1}\n---\n{"b": 2}') == [{"a": 1}, {"b": 2}]


def test_what_json_cannot_say_becomes_text_that_no_quantity_is() -> None:
    assert values('{"a": NaN, "b": -Infinity}') == [{"a": "NaN", "b": "-Infinity"}]
    assert values(f'{{"a": {"9" * 5000}}}') == [{"a": "9" * 5000}]


def test_a_list_is_its_items_each_with_its_line() -> None:
    text = "kind: List\nitems:\n- a: 1\n- kind: PodList\n  apiVersion: v1\n  items:\n  - metadata: {}\n"
    assert values(text) == [{"a": 1}, {"apiVersion": "v1", "kind": "Pod", "metadata": {}}]
    assert places(text) == ["f.yaml, document 1, line 3", "f.yaml, document 1, line 7"]
    assert places('{"kind": "List", "items": [{"a": 1}]}') == ["f.yaml, document 1, line 1, items[0]"]
    assert values("kind: List\nitems:\n") == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\n---\nb: [\n", "document 2, line 4, column 1: not YAML: while parsing a flow node from line 4 on"),
        ("a: 1\nb: 2\na: 3", "line 3, column 1: the key 'a' is given twice"),
        ('{"a": 1,\n "a": 2}', "line 1: the key 'a' is given twice"),
        ("a: &a [*a]", "line 1, column 8: *a stands for nothing"),
        ("a: *b", "*b stands for nothing"),
        ("a: !!binary aGk=", "the tag tag:yaml.org,2002:binary has no meaning here"),
        ("a: !!python/object:os.system {}", "has no meaning here"),
        ("a: !!map [x]", "has no meaning here"),
        ("? [a]\n: b", "a key must be text"),
        ("name: {{ .Values.name }}", "if this is a template, render it first"),
        ("a:\n\tb: 1", "indent with spaces, not with tabs"),
        ("a: b: c", "mapping values are not allowed"),
        ("a: {<<: 1}", "<< merges mappings"),
        ("a: \x07", "control characters are not allowed; is it a text file?"),
        ("kind: List\nitems: 5", "items is no list"),
        ("[" * 1_000_000, "more than 100 levels"),
        ("- " * 1_000_000, "more than 100 levels"),
        ("{a: " * 100_000, "more than 100 levels"),
        ('{"a":' * 100_000, "more than 100 levels"),
        ('{"a":' * 101 + "1" + "}" * 101, "more than 100 levels"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, said: str) -> None:
    assert said in refusal(text)


def test_a_json_file_that_is_neither_is_told_so_as_json() -> None:
    assert "f.json, document 1, line 2, column 1: not JSON" in refusal('{"a": 1,\n', "f.json")


def test_nested_aliases_are_bounded() -> None:
    levels = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    text = "\n".join(["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]", *levels])
    assert f"repeat more than {REPEATED_MAX:,} values" in refusal(text)


def test_depth_counts_what_aliases_stand_for() -> None:
    steps = [f"a{n}: &a{n} {'[' * 40}{f'*a{n - 1}' if n else ''}{']' * 40}" for n in range(3)]
    assert len(values("\n".join(steps[:2]))) == 1
    assert "line 3, column 49: it is nested more than 100 levels deep" in refusal("\n".join(steps))


TEXT = st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"]))  # YAML escapes what is beyond otherwise
KEY = TEXT.filter(lambda text: len(json.dumps(text)) < 1000)  # a longer one is no key on one line of YAML
JSON = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner | st.none(), max_size=4) | st.dictionaries(KEY, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=100, deadline=None)
@given(JSON)
def test_json_is_read_back_as_it_was_written_and_so_as_yaml(value: object) -> None:
    assert values(json.dumps([value])) == [[value]]
    assert values("# no JSON\n" + json.dumps([value])) == [[value]]


def test_without_libyaml_the_same_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "a: &a [1, on, 'x', {b: ~}]\nc: {<<: {d: 1}, e: *a}\n---\n- !!str 7\n"
    fast = values(text)
    monkeypatch.setattr("sky_shell.reading.yaml_text._PARSER", yaml.SafeLoader)
    assert values(text) == fast
    assert "f.yaml, document 1, line 2" in refusal("a: [\n")
    assert "special characters are not allowed" in refusal("a: \x07")
