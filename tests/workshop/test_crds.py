import re
from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
import pytest
import yaml
from msgspec.inspect import type_info

import crds
from schema import schema, unbounded
from shared_parts import AMOUNT, PARTS
from sky_core.api.wire import meta
from sky_core.quantity import QuantityError
from sky_core.resources import amount

DEFINITIONS = {path: yaml.safe_load(text) for path, text in crds.files()}


class Loose(msgspec.Struct, kw_only=True):
    """Has a bound where one is needed, or not."""

    short: Annotated[str, msgspec.Meta(max_length=3)] = ""
    texts: tuple[str, ...] = ()
    numbers: Annotated[dict[str, int], msgspec.Meta(max_length=3)] = {}
    high: Annotated[int, msgspec.Meta(ge=0, le=2**53)] = 0
    higher: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)] = 0


def undescribed(part: dict[str, Any], path: str = "") -> Iterator[str]:
    for name, value in part.get("properties", {}).items():
        if name != "metadata" and "description" not in value:
            yield f"{path}.{name}"
        if not any(value.get("properties") == shared.get("properties") for shared in PARTS.values()):
            yield from undescribed(value, f"{path}.{name}")
            yield from undescribed(value.get("items", {}), f"{path}.{name}[]")


def test_what_lies_in_deploy_is_what_the_structs_say() -> None:
    assert crds.main(["--check"]) == 0


def test_a_changed_file_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Any, capsys: Any) -> None:
    monkeypatch.setattr(crds, "FOLDER", tmp_path)
    assert crds.main([]) == 0
    (tmp_path / "queues.yaml").write_text("")
    assert crds.main(["--check"]) == 1
    assert "/queues.yaml is not what the structs say" in capsys.readouterr().out


def test_the_kustomization_lists_every_definition() -> None:
    listed = yaml.safe_load((crds.FOLDER / "kustomization.yaml").read_text())["resources"]
    assert sorted(listed) == sorted(path.name for path in DEFINITIONS)


def test_what_has_no_bound_is_found() -> None:
    assert list(unbounded(schema(type_info(Loose)))) == [".texts[]", ".texts", ".numbers{}", ".higher"]


@pytest.mark.parametrize("made", DEFINITIONS.values(), ids=lambda made: str(made["spec"]["names"]["kind"]))
def test_every_field_is_described(made: dict[str, Any]) -> None:
    (version,) = made["spec"]["versions"]
    assert list(undescribed(version["schema"]["openAPIV3Schema"])) == []


@pytest.mark.parametrize("struct", [meta.LabelSelector, meta.NodeAffinity, meta.Toleration])
def test_a_shared_part_has_the_fields_that_are_read(struct: type) -> None:
    read = {field.encode_name for field in msgspec.structs.fields(struct)}
    assert PARTS[struct]["properties"].keys() == read


def test_a_default_of_the_schema_is_the_default_of_whoever_reads() -> None:
    made = next(made for made in DEFINITIONS.values() if made["spec"]["names"]["kind"] == "PodGroup")
    spec = made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert {name: part["default"] for name, part in spec["properties"].items() if "default" in part} == {
        "minMember": 1,
        "queue": "default",
    }


@pytest.mark.parametrize(
    "text", ["0", "1", "1.5", ".5", "1.", "+1", "100m", "1Gi", "2k", "1e3", "1E3", "1e-3", "1E", "1Ei"]
)
def test_a_quantity_that_the_pattern_lets_in_is_one_that_the_core_reads(text: str) -> None:
    assert re.search(AMOUNT["pattern"], text)
    assert amount("memory", text) >= 0


@pytest.mark.parametrize(
    "text", ["", "-1", "Ki", "NaN", "Inf", "1e3.5", "1e100", "1e99999999", "1 ", "1K", "0x1", "1_0", "\uff11", "1Gib"]
)
def test_what_is_no_quantity_or_a_negative_one_is_refused_at_the_door(text: str) -> None:
    assert not re.search(AMOUNT["pattern"], text)


def test_a_huge_quantity_passes_the_door_and_is_refused_by_the_core() -> None:
    assert re.search(AMOUNT["pattern"], "1e99")
    with pytest.raises(QuantityError):
        amount("nvidia.com/gpu", "1e99")
