"""Server-side apply: who owns what, who may take it, and what goes when nobody says it any more."""

from typing import Any

from sky_sandbox.testing import PODS, Caller, Reply, named, pod
from sky_shell.transport import APPLY_PATCH, MERGE_PATCH

MAPS = "/api/v1/namespaces/default/configmaps"
TOPOLOGIES = "/apis/scheduling.infini-ai.com/v1alpha1/nodetopologies"


def apply(caller: Caller, manager: str, *, force: bool = False, **data: str) -> Reply:
    raw = named("v1", "ConfigMap", "m", data=data)
    return caller.patch(f"{MAPS}/m", raw, APPLY_PATCH, fieldManager=manager, force=force)


def owners(reply: Reply) -> dict[str, Any]:
    return {one["manager"]: one["fieldsV1"] for one in reply.body["metadata"]["managedFields"]}


def test_the_first_apply_makes_the_object(caller: Caller) -> None:
    made = apply(caller, "one", a="1")
    assert made.status == 201
    (entry,) = made.body["metadata"]["managedFields"]
    assert (entry["operation"], entry["fieldsV1"]) == ("Apply", {"f:data": {"f:a": {}}})
    again = apply(caller, "one", a="1")
    assert (again.status, again.version) == (200, made.version)


def test_what_an_applier_says_no_more_goes_unless_another_says_it(caller: Caller) -> None:
    apply(caller, "one", a="1", b="2")
    apply(caller, "two", b="2")
    left = apply(caller, "one", c="3")
    assert left.body["data"] == {"b": "2", "c": "3"}
    assert owners(left) == {"one": {"f:data": {"f:c": {}}}, "two": {"f:data": {"f:b": {}}}}


def test_what_others_own_is_taken_by_force_only(caller: Caller) -> None:
    apply(caller, "one", a="1")
    refused = apply(caller, "two", a="2")
    assert (refused.status, refused.reason) == (409, "Conflict")
    (cause,) = refused.body["details"]["causes"]
    assert cause == {"reason": "FieldManagerConflict", "message": 'conflict with "one"', "field": ".data.a"}
    taken = apply(caller, "two", force=True, a="2")
    assert taken.body["data"] == {"a": "2"}
    assert owners(taken) == {"two": {"f:data": {"f:a": {}}}}


def test_a_plain_write_takes_what_it_changes(caller: Caller) -> None:
    apply(caller, "one", a="1", b="2")
    caller.patch(f"{MAPS}/m", {"data": {"a": "9"}}, MERGE_PATCH, fieldManager="hand")
    assert owners(caller.get(f"{MAPS}/m")) == {"one": {"f:data": {"f:b": {}}}, "hand": {"f:data": {"f:a": {}}}}
    assert apply(caller, "one", a="1", b="2").status == 409


def test_what_was_there_before_the_first_apply_is_owned_too(caller: Caller) -> None:
    caller.post(MAPS, named("v1", "ConfigMap", "m", data={"a": "1"}))
    assert 'conflict with "before-first-apply"' in apply(caller, "one", a="2").body["message"]
    assert apply(caller, "one", a="1", b="2").body["data"] == {"a": "1", "b": "2"}


def test_lists_by_key_merge_item_by_item(sky: Caller) -> None:
    def report(manager: str, **net: object) -> Reply:
        raw = named("scheduling.infini-ai.com/v1alpha1", "NodeTopology", "n", spec={"net": net})
        return sky.patch(f"{TOPOLOGIES}/n", raw, APPLY_PATCH, fieldManager=manager)

    report("agent", roce=[{"name": "eth0", "switchName": "s1"}])
    both = report("collector", ib=[{"name": "ib0", "switchName": "s2"}], roce=[{"name": "eth1", "switchName": "s1"}])
    assert [one["name"] for one in both.body["spec"]["net"]["roce"]] == ["eth0", "eth1"]
    left = report("collector", ib=[{"name": "ib0", "switchName": "s2"}])
    assert [one["name"] for one in left.body["spec"]["net"]["roce"]] == ["eth0"]
    assert report("other", roce=[{"name": "eth0", "switchName": "s9"}]).status == 409


def test_conditions_of_two_appliers_stand_side_by_side(caller: Caller) -> None:
    caller.post(PODS, pod("p"))
    for kind in ("A", "B"):
        raw = named("v1", "Pod", "p", status={"conditions": [{"type": kind, "status": "True"}]})
        told = caller.patch(f"{PODS}/p/status", raw, APPLY_PATCH, fieldManager=kind)
    assert [one["type"] for one in told.body["status"]["conditions"]] == ["A", "B"]
    entry = next(one for one in told.body["metadata"]["managedFields"] if one["manager"] == "B")
    assert entry["subresource"] == "status"
    assert entry["fieldsV1"] == {
        "f:status": {"f:conditions": {'k:{"type":"B"}': {".": {}, "f:status": {}, "f:type": {}}}}
    }


def test_an_apply_must_say_who_and_may_not_say_who_owns_what(caller: Caller) -> None:
    raw = named("v1", "ConfigMap", "m")
    assert caller.patch(f"{MAPS}/m", raw, APPLY_PATCH).status == 422
    raw["metadata"]["managedFields"] = [{"manager": "x"}]
    assert caller.patch(f"{MAPS}/m", raw, APPLY_PATCH, fieldManager="one").status == 400
    assert (
        caller.patch(f"{PODS}/absent/status", named("v1", "Pod", "absent"), APPLY_PATCH, fieldManager="x").status == 404
    )
    assert caller.patch(f"{MAPS}/m", b"a: 1", APPLY_PATCH, fieldManager="one").status == 501
