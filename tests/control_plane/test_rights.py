"""What an audit log and a manifest say of rights, so that a difference would be seen."""

from typing import Any

import pytest

from sky_control_plane import Right, covers, granted, used

ROLES: list[dict[str, Any]] = [
    {"kind": "Namespace", "metadata": {"name": "here"}},
    {
        "kind": "ClusterRole",
        "metadata": {"name": "r"},
        "rules": [{"apiGroups": [""], "resources": ["pods", "pods/binding"], "verbs": ["get", "create"]}],
    },
    {
        "kind": "Role",
        "metadata": {"name": "r", "namespace": "here"},
        "rules": [{"apiGroups": ["g"], "resources": ["leases"], "resourceNames": ["one"], "verbs": ["update"]}],
    },
]


def event(user: dict[str, str], agent: str, **more: Any) -> dict[str, Any]:
    target = {"resource": "leases", "apiGroup": "g", "namespace": "here", "name": "one"}
    return {"user": user, "userAgent": agent, "verb": "update", "objectRef": target, **more}


def test_what_a_manifest_grants() -> None:
    everywhere = [Right("", "", resource, verb) for resource in ("pods", "pods/binding") for verb in ("get", "create")]
    assert granted(ROLES) == {*everywhere, Right("here", "g", "leases", "update", "one")}


def test_what_a_program_asked_for_itself_under_its_account() -> None:
    us = {"username": "us"}
    binding = {"resource": "pods", "subresource": "binding", "namespace": "n", "name": "p"}
    events = [
        event(us, "ours/1"),
        event(us, "ours/1", verb="create", objectRef=binding),
        {"user": us, "userAgent": "ours/1", "verb": "get", "requestURI": "/api?timeout=1s"},
        event(us, "another"),
        event(us, "ours/1", verb="delete", impersonatedUser={"username": "them"}),
        event({"username": "them"}, "ours/1", verb="delete"),
        event({}, "ours/1", verb="delete"),
    ]
    assert used(events, "us", "ours/") == {
        Right("here", "g", "leases", "update", "one"),
        Right("n", "", "pods/binding", "create", "p"),
        Right("", "", "/api", "get"),
    }


@pytest.mark.parametrize(
    ("use", "is_covered"),
    [
        (Right("here", "g", "leases", "update", "one"), True),
        (Right("here", "g", "leases", "update", "another"), False),
        (Right("there", "g", "leases", "update", "one"), False),
        (Right("here", "g", "leases", "get", "one"), False),
        (Right("any", "", "pods/binding", "create", "p"), True),
        (Right("any", "", "pods/eviction", "create", "p"), False),
    ],
)
def test_what_a_right_lets_somebody_do(use: Right, *, is_covered: bool) -> None:
    assert any(covers(right, use) for right in granted(ROLES)) is is_covered
