"""Volumes: from which nodes what a pod mounts can be reached."""

from collections.abc import Mapping
from typing import Any

from sky_core.api import identity
from sky_core.api.decoding import decoded
from sky_core.api.selection import node_terms
from sky_core.api.wire import core
from sky_core.constraints import NodeTerm


def read_volume(raw: Mapping[str, Any]) -> tuple[NodeTerm, ...] | None:
    """The node terms of a PersistentVolume, of which one must match; None if it can be reached from everywhere.

    Raises:
        Invalid: It is malformed.
    """
    written = decoded(raw, core.PersistentVolume)
    identity.name("metadata.name", written.metadata.name)
    affinity = written.spec.node_affinity
    if affinity is None or affinity.required is None:
        return None
    return node_terms("spec.nodeAffinity.required.nodeSelectorTerms", affinity.required.node_selector_terms)


def read_claim(raw: Mapping[str, Any]) -> str:
    """The PersistentVolume that a claim is bound to; empty while it is not.

    Raises:
        Invalid: It is malformed.
    """
    written = decoded(raw, core.PersistentVolumeClaim)
    identity.name("metadata.name", written.metadata.name)
    return written.spec.volume_name
