"""Who used which rights, by the audit log, and which rights a manifest grants."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple


class Right(NamedTuple):
    """To do something to a kind of object.

    Attributes:
        namespace: Where; empty for everywhere.
        group: Of the kind; the core group is empty.
        resource: The kind, with its subresource behind a slash: `pods/binding`.
        verb: As RBAC calls it.
        name: Of the one object that it is for; empty for all.
    """

    namespace: str
    group: str
    resource: str
    verb: str
    name: str = ""


def used(events: Iterable[Mapping[str, Any]], user: str, agent: str) -> set[Right]:
    """What a user asked for through programs whose name begins so, whether it was granted or not.

    Namespace and name are those of the object. What is no object's has its path for a resource.
    """
    return {
        _right(event)
        for event in events
        if event["user"].get("username") == user  # nobody, of whom who is not known
        and "impersonatedUser" not in event
        and event.get("userAgent", "").startswith(agent)
    }


def granted(objects: Iterable[Mapping[str, Any]]) -> set[Right]:
    """What the ClusterRoles, and the Roles in their namespaces, of a manifest grant."""
    return {right for found in objects if found["kind"] in ("ClusterRole", "Role") for right in _of_role(found)}


def covers(right: Right, use: Right) -> bool:
    """Whether a right lets somebody do this."""
    where, name = right.namespace in ("", use.namespace), right.name in ("", use.name)
    return where and name and right[1:4] == use[1:4]


def _right(event: Mapping[str, Any]) -> Right:
    target = event.get("objectRef")
    if target is None or "resource" not in target:
        return Right("", "", event["requestURI"].partition("?")[0], event["verb"])
    part = f"/{target['subresource']}" if "subresource" in target else ""
    named = target.get("namespace", ""), target.get("apiGroup", ""), target["resource"] + part
    return Right(*named, event["verb"], target.get("name", ""))


def _of_role(role: Mapping[str, Any]) -> Iterator[Right]:
    namespace = role["metadata"]["namespace"] if role["kind"] == "Role" else ""
    for rule in role["rules"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                for verb in rule["verbs"]:
                    for name in rule.get("resourceNames", [""]):
                        yield Right(namespace, group, resource, verb, name)
