"""Writes deploy/crds from the structs of `sky_core.api.wire`, and what skyctl gives a new cluster.

With --check it writes nothing, and exits with 1 if a file there is not what would be written.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml
from msgspec.inspect import type_info

from schema import schema, unbounded
from shared_parts import Schema
from sky_core.api.wire import crds, topology
from sky_core.settings import PREFIX

FOLDER: Final = Path(__file__).parents[2] / "deploy" / "crds"
BUNDLE: Final = Path(__file__).parents[1] / "skyctl" / "src" / "skyctl" / "crds.json"
"""All of them in one, which is installed with skyctl, and is read sooner than YAML."""
GROUP: Final = PREFIX.rstrip("/")
VERSION: Final = "v1alpha1"
HEADER: Final = "# Made by tools/workshop/crds.py from the structs of sky_core.api.wire: `make crds` writes it anew.\n"

GPU: Final = r"['nvidia\.com/gpu']"
EPOCH_NEVER_FALLS: Final = (
    "!has(oldSelf.status) || !has(oldSelf.status.epoch) || "
    "(has(self.status) && has(self.status.epoch) && self.status.epoch >= oldSelf.status.epoch)"
)


class Column(NamedTuple):
    """A column of `kubectl get`; a wide one is shown by `-o wide` alone."""

    name: str
    path: str
    type: str = "string"
    wide: bool = False


class Kind(NamedTuple):
    """What a kind's struct does not say of it. `rules`: those at the schema's root."""

    struct: type
    plural: str
    short: str
    columns: tuple[Column, ...]
    namespaced: bool = False
    rules: tuple[Schema, ...] = ()


AGE: Final = Column("Age", ".metadata.creationTimestamp", "date")
PENDING: Final = Column("Pending", ".status.pending", "integer")
RUNNING: Final = Column("Running", ".status.running", "integer")

KINDS: Final = (
    Kind(
        crds.Quota,
        "quotas",
        "qo",
        columns=(
            Column("Queue", ".spec.queueName"),
            Column("Spec", r".spec.nodeSelector['scheduling\.infini-ai\.com/spec']"),
            Column("Node", ".status.nodeName"),
            Column("Phase", ".status.phase"),
            Column("GPU", f".spec.request{GPU}"),
            Column("Allocated", f".status.allocated{GPU}"),
            Column("Static", ".spec.staticBindNode", wide=True),
            Column("Epoch", ".status.epoch", "integer", wide=True),
            AGE,
        ),
        # At the root, because a rule at .status is not asked when the status is set to null.
        rules=({"rule": EPOCH_NEVER_FALLS, "message": "status.epoch must not fall"},),
    ),
    Kind(
        crds.PodGroup,
        "podgroups",
        "skypg",
        columns=(
            Column("Queue", ".spec.queue"),
            Column("Min", ".spec.minMember", "integer"),
            Column("Phase", ".status.phase"),
            PENDING,
            RUNNING,
            Column("Reason", ".status.reasons[0].code"),
            Column("Rung", ".status.rung", wide=True),
            Column("Next", ".status.nextAttemptTime", wide=True),
            AGE,
        ),
        namespaced=True,
    ),
    Kind(
        crds.Queue,
        "queues",
        "skyq",
        columns=(
            Column("State", ".spec.state"),
            Column("Priority", ".spec.priority", "integer"),
            Column("Weight", ".spec.weight", "integer"),
            PENDING,
            RUNNING,
            Column("Allocated", f".status.allocated{GPU}"),
            Column("Capability", f".spec.capability{GPU}", wide=True),
            AGE,
        ),
    ),
    Kind(
        crds.JobQueue,
        "jobqueues",
        "jq",
        columns=(
            Column("Queue", ".spec.queueName"),
            Column("Priority", ".spec.priority", "integer"),
            Column("Policy", ".spec.policy"),
            Column("Suspend", ".spec.suspend", "boolean"),
            PENDING,
            RUNNING,
            Column("Allocated", f".status.allocated{GPU}", wide=True),
            AGE,
        ),
    ),
    Kind(
        topology.NodeTopology,
        "nodetopologies",
        "nt",
        columns=(
            Column("RoCE", ".spec.net.roce[0].switchName"),
            Column("IB", ".spec.net.ib[0].switchName"),
            Column("Seen", ".status.lastSeen", "date"),
            Column("Zone", ".metadata.labels.zone", wide=True),
            AGE,
        ),
    ),
)


def definition(kind: Kind) -> dict[str, Any]:
    """The CustomResourceDefinition of a kind.

    Raises:
        ValueError: A part of it is not bounded.
    """
    name = kind.struct.__name__
    root = schema(type_info(kind.struct))
    del root["required"]  # metadata, which no object is without
    if free := list(unbounded(root)):
        raise ValueError(f"{name} is not bounded at {', '.join(free)}")
    root["properties"]["spec"]["default"] = {}  # else the defaults inside of it would not be set
    if kind.rules:
        root["x-kubernetes-validations"] = list(kind.rules)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{GROUP}", "labels": {"app.kubernetes.io/part-of": "sky-scheduler"}},
        "spec": {
            "group": GROUP,
            "names": {
                "kind": name,
                "listKind": f"{name}List",
                "plural": kind.plural,
                "singular": name.lower(),
                "shortNames": [kind.short],
                "categories": ["sky"],
            },
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": [_column(column) for column in kind.columns],
                    "schema": {"openAPIV3Schema": root},
                }
            ],
        },
    }


def _column(column: Column) -> dict[str, Any]:
    shown = {"name": column.name, "type": column.type, "jsonPath": column.path}
    return {**shown, "priority": 1} if column.wide else shown


class _Whole(yaml.SafeDumper):
    """Writes a part that stands in several places each time."""

    def ignore_aliases(self, _: Any) -> bool:
        """Nothing is an alias of something else."""
        return True


def files() -> Iterator[tuple[Path, str]]:
    """Each file of deploy/crds that is made, with its text."""
    for kind in KINDS:
        text = yaml.dump(definition(kind), Dumper=_Whole, sort_keys=False, width=120)
        yield FOLDER / f"{kind.plural}.yaml", HEADER + text


def bundle() -> str:
    """The text of that file, with a line for each kind."""
    return "[\n" + ",\n".join(json.dumps(definition(kind)) for kind in KINDS) + "\n]\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Bring what is made up to the structs, or say what is not."""
    parser = argparse.ArgumentParser(description="Write deploy/crds, and the same for skyctl.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file is out of date")
    check = parser.parse_args(arguments).check
    made = [*files(), (BUNDLE, bundle())]
    stale = [(path, text) for path, text in made if not path.exists() or path.read_text() != text]
    for path, text in stale:
        if check:
            print(f"{path.parent.name}/{path.name} is not what the structs say; `make crds` writes it")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return bool(stale) and check


if __name__ == "__main__":
    sys.exit(main())
