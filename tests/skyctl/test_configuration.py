"""Where in its file a configuration is wrong."""

from pathlib import Path

import pytest

from sky_shell.reading.places import InputError
from skyctl.configuration import configured

HEAD = "apiVersion: config.scheduling.infini-ai.com/v1alpha1\nkind: SchedulerConfiguration\n"


def refusal(folder: Path, text: str) -> str:
    (folder / "c.yaml").write_text(text)
    with pytest.raises(InputError) as caught:
        configured(str(folder / "c.yaml"))
    return str(caught.value).removeprefix(f"{folder}/")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("expressions:\n  qn.order: sum(topology, wat)\n", "line 4, column 27: expressions.qn.order: found"),
        ("expressions:\n  qn.order: 'sum(topology, wat)'\n", "line 4, column 28: expressions.qn.order: found"),
        ("expressions:\n  qn.order: |\n    sum(topology,\n    wat)\n", "line 6: expressions.qn.order: found"),
        ("expressions: {qn.order: sum(topology wat)}\n", "line 3, column 38: expressions.qn.order: found"),
        ("expressions:\n  qn.odour: sum(topology)\n", "line 4, column 3: expressions.qn.odour: unknown function point"),
        ("plugins:\n- name: gang\n- name: gung\n", "line 5, column 3: plugins[1].name: unknown plugin 'gung'"),
        ("plugins:\n- name: gang\n  args: {a: 1}\n", "line 5, column 3: plugins[0].args: plugin 'gang' takes no"),
        ("period: soon\n", "line 3, column 1: period: "),
        ("wheels: 4\n", "line 3, column 1: wheels: unknown key, expected one of apiVersion, kind, schedulerName"),
        ("spot:\n  resource: a\n  backedby: b\n", "line 5, column 3: spot.backedby: unknown key"),
        ("period:\n  - [1]\n", "line 3, column 1: period: found list"),
        ("a: &a [*a]\n", "line 3, column 8: *a stands for nothing"),
        ("a: 1\na: 2\n", "line 4, column 1: the key 'a' is given twice"),
    ],
)
def test_what_is_wrong_is_said_with_line_and_column(tmp_path: Path, text: str, said: str) -> None:
    assert said in refusal(tmp_path, HEAD + text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has 0 documents; a configuration is one"),
        (f"{HEAD}---\n{HEAD}", "has 2 documents"),
        ("- a", "line 1, column 1: found list"),
        ("hello", "line 1, column 1: found str 'hello', expected a mapping"),
        ("kind: SchedulerConfiguration", "line 1, column 1: apiVersion: found None"),
        ("kind: [", "not YAML"),
    ],
)
def test_what_is_no_configuration_is_refused(tmp_path: Path, text: str, said: str) -> None:
    assert said in refusal(tmp_path, text)


def test_an_absent_file_is_named() -> None:
    with pytest.raises(InputError, match=r"absent\.yaml can't be read: no such file"):
        configured("absent.yaml")


def test_what_is_written_counts_and_the_rest_has_its_default(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(f"{HEAD}period: 5s\nexpressions: {{qn.order: sum(binpack)}}\n")
    policy, default = configured(str(tmp_path / "c.yaml")), configured(None)
    assert policy.settings.period == 5 * default.settings.period
    assert policy.settings.actions == default.settings.actions
    assert policy.combinations["qn.order"].names == ("binpack",)
    assert policy.combinations["tn.order"] == default.combinations["tn.order"]


def test_json_is_as_good(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text(
        '{"apiVersion": "config.scheduling.infini-ai.com/v1alpha1", "kind": "SchedulerConfiguration", "period": "2s"}'
    )
    assert configured(str(tmp_path / "c.json")).settings.period == 2 * configured(None).settings.period
