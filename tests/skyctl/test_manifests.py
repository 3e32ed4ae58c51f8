"""Kubernetes objects out of files, and what is said of files that have none."""

import io
import sys
from pathlib import Path

import pytest

from sky_shell.reading.places import InputError
from skyctl import files
from skyctl.manifests import Manifests, load

NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: NAME}\n"


def node(name: str) -> str:
    return NODE.replace("NAME", name)


def loaded(folder: Path, text: str | bytes, name: str = "f.yaml") -> Manifests:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return load([str(path)])


def refusal(*paths: Path | str) -> str:
    with pytest.raises(InputError) as caught:
        load([str(path) for path in paths])
    return str(caught.value)


def names(found: Manifests) -> list[str]:
    return [object_["metadata"]["name"] for object_ in found.objects]


def test_a_folder_is_read_in_the_order_of_names_and_not_below(tmp_path: Path) -> None:
    for name in ("b.yml", "a.yaml", "c.json", "d.txt"):
        (tmp_path / name).write_text(node(name[0]))
    (tmp_path / "deeper.yaml").mkdir()
    (tmp_path / "deeper.yaml" / "e.yaml").write_text(node("e"))
    assert names(load([str(tmp_path)])) == ["a", "b", "c"]


def test_a_folder_without_manifests_is_refused(tmp_path: Path) -> None:
    assert "has no *.json, *.yaml, *.yml" in refusal(tmp_path)


def test_standard_input_is_read_for_a_dash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(node("a").encode())))
    assert names(load([files.STDIN])) == ["a"]


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    assert names(loaded(tmp_path, b"\xef\xbb\xbf" + node("a").encode())) == ["a"]


def test_empty_files_and_documents_say_nothing(tmp_path: Path) -> None:
    assert loaded(tmp_path, "") == loaded(tmp_path, "---\n---\n# words\n") == Manifests([], (), [])


def test_kinds_of_others_are_skipped_with_a_line_each(tmp_path: Path) -> None:
    others = "apiVersion: v1\nkind: Service\n---\napiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\n"
    found = loaded(tmp_path, f"{others}---\n{node('a')}")
    assert names(found) == ["a"]
    service, queue = found.skipped
    assert "document 1, line 1" in service
    assert "Service (v1)" in service
    assert "document 2, line 4" in queue
    assert "Queue (scheduling.volcano.sh/v1beta1)" in queue


def test_a_configuration_among_the_manifests_is_told_where_it_belongs(tmp_path: Path) -> None:
    text = "apiVersion: config.scheduling.infini-ai.com/v1alpha1\nkind: SchedulerConfiguration\n"
    (line,) = loaded(tmp_path, text).skipped
    assert "--config" in line


TIMELINE = "apiVersion: simulation.scheduling.infini-ai.com/v1alpha1\nkind: Timeline\nevents:\n"


def test_the_events_of_all_timelines_come_in_the_order_of_their_times(tmp_path: Path) -> None:
    first = f"{TIMELINE}- at: 20s\n  delete: {{kind: Node, name: a}}\n"
    found = loaded(tmp_path, f"{first}---\n{first.replace('20s', '10s').replace('a}', 'b}')}")
    assert [str(event.what) for event in found.events] == ["delete Node/b", "delete Node/a"]
    assert (found.objects, found.skipped) == ([], [])


def test_a_timeline_that_makes_no_sense_is_refused_with_its_place_and_path(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"f\.yaml, document 2, line 5: events\[0\]: unknown explode"):
        loaded(tmp_path, f"{node('a')}---\n{TIMELINE}- at: 20s\n  explode: {{}}\n")


def test_timelines_of_others_are_skipped(tmp_path: Path) -> None:
    (line,) = loaded(tmp_path, "apiVersion: films.example.com/v1\nkind: Timeline\n").skipped
    assert "Timeline (films.example.com/v1)" in line


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hello", "'hello' is no Kubernetes object"),
        ("- a\n- b", "a list is no Kubernetes object"),
        ("a: 1", "it has no kind"),
        ("kind:\nmetadata: {name: a}", "it has no kind"),
        ("kind: 5", "kind is 5 and must be text"),
        ("apiVersion: 1\nkind: Node", "apiVersion is 1 and must be text"),
        ("apiVersion: v1\nkind: Node", "no metadata.name"),
        ("apiVersion: v1\nkind: Node\nmetadata: {name: 7}", "no metadata.name, or one that is no text"),
        ("apiVersion: v1\nkind: Node\nmetadata: {name: ''}", "no metadata.name"),
        ("apiVersion: v1\nkind: Node\nmetadata: []", "no metadata.name"),
        ("apiVersion: v1\nkind: Pod\nmetadata: {generateName: a-}", "no metadata.name"),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: 7}",
            "metadata.namespace of Pod/default/a is no text",
        ),
    ],
)
def test_what_is_no_kubernetes_object_is_refused_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError, match=r"f\.yaml, document 2, line 5: ") as caught:
        loaded(tmp_path, f"{node('first')}---\n{text}")
    assert said in str(caught.value)


def test_an_object_given_twice_is_refused_with_both_places(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(node("x"))
    (tmp_path / "b.yaml").write_text(f"{node('y')}---\n{node('x')}")
    said = refusal(tmp_path)
    assert "b.yaml, document 2, line 5: Node/x is given twice, first in" in said
    assert "a.yaml, document 1, line 1" in said


def test_an_absent_namespace_is_default_and_counts_only_where_there_are_namespaces(tmp_path: Path) -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"
    (tmp_path / "f.yaml").write_text(f"{pod}---\n{pod.replace('name: a', 'name: a, namespace: default')}")
    assert "Pod/default/a is given twice" in refusal(tmp_path)
    in_two = f"{pod}---\n{pod.replace('name: a', 'name: a, namespace: b')}"
    assert names(loaded(tmp_path, in_two)) == ["a", "a"]
    (tmp_path / "f.yaml").write_text(f"{node('n')}---\n{node('n, namespace: b')}")
    assert "Node/n is given twice" in refusal(tmp_path)


def test_bytes_that_are_no_utf8_are_told_by_line(tmp_path: Path) -> None:
    (tmp_path / "f.yaml").write_bytes(b"a: 1\nb: \xff\n")
    assert "f.yaml, line 2: byte 0xff is not UTF-8" in refusal(tmp_path / "f.yaml")


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    (tmp_path / "loop.yaml").symlink_to(tmp_path / "loop.yaml")
    assert "absent.yaml can't be read: no such file or directory" in refusal(tmp_path / "absent.yaml")
    assert "too many levels of symbolic links" in refusal(tmp_path / "loop.yaml")
    assert "loop.yaml can't be read" in refusal(tmp_path)
    assert "can't be read" in refusal("nul\0.yaml")
    assert "can't be read" in refusal("x" * 5000)


def test_a_file_without_end_is_bounded() -> None:
    assert "/dev/zero has more than 256 MiB" in refusal("/dev/zero")
