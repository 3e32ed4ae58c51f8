"""Status is written by itself, and an epoch never falls."""

from plays import Play, again, apply, delete, get, json_patch, merge, post, put
from sky_sandbox.testing import named, pod

SKY = "scheduling.infini-ai.com/v1alpha1"
QUOTAS = f"/apis/{SKY}/quotas"
PODS = "/api/v1/namespaces/$ns/pods"
OTHER = "8c3ad9a4-0000-4000-8000-000000000000"


def quota(name: str, **more: object) -> dict[str, object]:
    return named(SKY, "Quota", name, spec={"request": {"nvidia.com/gpu": 8}}, **more)


TOLD = {"type": "Bound", "status": "True", "reason": "R", "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z",
        "observedGeneration": 1}  # fmt: skip


def claim(number: int) -> dict[str, str]:
    return {"namespace": "d", "name": f"p{number}", "uid": f"u{number}"}


def test_a_new_object_has_no_status_whatever_it_says(play: Play) -> None:
    play(post(QUOTAS, quota("no-status", status={"epoch": 4})), get(f"{QUOTAS}/no-status"))


def test_a_write_of_the_object_leaves_its_status_and_the_other_way_round(play: Play) -> None:
    play(
        post(QUOTAS, quota("apart"), keep="q"),
        put(f"{QUOTAS}/apart/status", again("q", spec={"queueName": "x"}, status={"epoch": 1}), keep="q"),
        put(f"{QUOTAS}/apart", again("q", spec={"queueName": "y"}, status={"epoch": 2}), keep="q"),
        merge(f"{QUOTAS}/apart", {"status": {"epoch": 3}}),
        merge(f"{QUOTAS}/apart/status", {"spec": {"queueName": "z"}, "metadata": {"labels": {"a": "b"}}}),
        get(f"{QUOTAS}/apart"),
        get(f"{QUOTAS}/apart/status"),
    )


def test_a_status_is_put_with_a_name_and_a_version_alone(play: Play) -> None:
    body = named(SKY, "Quota", "bare", status={"epoch": 1, "nodeName": "n1"})
    body["metadata"]["resourceVersion"] = "$q.resourceVersion"
    play(
        post(QUOTAS, quota("bare"), keep="q"),
        put(f"{QUOTAS}/bare/status", body, keep="q"),
        put(f"{QUOTAS}/bare/status", body),
        put(f"{QUOTAS}/bare/status", {"metadata": body["metadata"], "status": {}}, "400 BadRequest"),
        merge(f"{QUOTAS}/bare/status", {"metadata": {"labels": {"a": "b"}}}),
        delete(f"{QUOTAS}/bare"),
        merge(f"{QUOTAS}/bare/status", {"status": {}}, "404 NotFound"),
        post(QUOTAS, quota("bare")),
        get(f"{QUOTAS}/bare"),
    )


def test_a_status_is_put_to_what_was_read(play: Play) -> None:
    play(
        post(QUOTAS, quota("fresh"), keep="old"),
        merge(f"{QUOTAS}/fresh", {"spec": {"queueName": "q"}}, keep="new"),
        put(f"{QUOTAS}/fresh/status", again("old", status={"epoch": 1}), "409 Conflict"),
        put(f"{QUOTAS}/fresh/status", again("new", metadata={"uid": OTHER}, status={"epoch": 1}), "409 Conflict"),
        put(
            f"{QUOTAS}/fresh/status", again("new", metadata={"resourceVersion": ""}, status={"epoch": 1}), "422 Invalid"
        ),
        put(f"{QUOTAS}/fresh/status", again("new", metadata={"resourceVersion": "x"}, status={"epoch": 1}), "500"),
        put(f"{QUOTAS}/fresh/status", again("new", metadata={"name": "other"}, status={"epoch": 1}), "400 BadRequest"),
        put(f"{QUOTAS}/absent/status", named(SKY, "Quota", "absent", status={}), "404 NotFound"),
        put(f"{QUOTAS}/fresh/status", again("new", status={"epoch": "one"}), "422 Invalid"),
        put(f"{QUOTAS}/fresh/status", again("new", status={"epoch": 1})),
    )


def test_an_epoch_never_falls(play: Play) -> None:
    path = f"{QUOTAS}/never-falls/status"
    whole = named(SKY, "Quota", "never-falls")
    play(
        post(QUOTAS, quota("never-falls"), keep="q"),
        put(path, again("q", status={"epoch": 5, "nodeName": "n1"}), keep="q"),
        merge(path, {"status": None}, "422 Invalid"),
        merge(path, {"status": {"epoch": None}}, "422 Invalid"),
        merge(path, {"status": {"epoch": 4}}, "422 Invalid"),
        json_patch(path, {"op": "remove", "path": "/status"}, gets="422 Invalid"),
        json_patch(path, {"op": "replace", "path": "/status/epoch", "value": 4}, gets="422 Invalid"),
        apply(path, {**whole, "status": {"epoch": 4}}, "422 Invalid", force=True),
        apply(path, {**whole, "status": {"epoch": None}}, "422 Invalid", force=True),
        put(path, {**again("q"), "status": {"epoch": 4}}, "422 Invalid"),
        put(
            path, {**whole, "metadata": {"name": "never-falls", "resourceVersion": "$q.resourceVersion"}}, "422 Invalid"
        ),
        put(path, {**again("q"), "status": {"epoch": None}}, "422 Invalid"),
        get(f"{QUOTAS}/never-falls"),
    )


def test_an_epoch_may_stay_and_rise_and_the_spec_may_change(play: Play) -> None:
    path = f"{QUOTAS}/rises"
    play(
        post(QUOTAS, quota("rises"), keep="q"),
        put(f"{path}/status", again("q", status={"epoch": 5}), keep="q"),
        put(f"{path}/status", again("q", status={"epoch": 5, "nodeName": "n1"}), keep="q"),
        put(f"{path}/status", again("q", status={"epoch": 6}), keep="q"),
        put(path, again("q", spec={"queueName": "q"})),
        merge(path, {"spec": {"request": {"nvidia.com/gpu": "4"}}}),
        merge(f"{path}/status", {"status": {"epoch": 7}}),
    )


def test_a_status_of_the_wrong_form_is_refused(play: Play) -> None:
    path = f"{QUOTAS}/malformed/status"
    play(
        post(QUOTAS, quota("malformed")),
        merge(path, {"status": {"epoch": -1}}, "422 Invalid"),
        merge(path, {"status": {"epoch": "1"}}, "422 Invalid"),
        merge(path, {"status": {"nodeName": 1}}, "422 Invalid"),
        merge(path, {"status": {"phase": "Odd"}}, "422 Invalid"),
        merge(path, {"status": {"tasks": [{}]}}, "422 Invalid"),
        merge(path, {"status": []}, "422 Invalid"),
        merge(path, {"status": "x"}, "422 Invalid"),
        merge(path, {"status": {"conditions": [{"type": "A"}]}}, "422 Invalid"),
        merge(path, {"status": {"conditions": [TOLD, TOLD]}}, "422 Invalid"),
        merge(path, {"status": {"tasks": [claim(i) for i in range(257)]}}, "422 Invalid"),
        merge(path, {"status": {"tasks": [claim(i) for i in range(3)]}}),
        merge(path, {"status": {"unknown": 1}}),
        merge(path, {"status": {"unknown": 1}}, "422 Invalid", fieldValidation="Strict"),
        get(f"{QUOTAS}/malformed"),
    )


def test_a_condition_says_what_it_has_seen(play: Play) -> None:
    path = f"{QUOTAS}/observed/status"
    beyond = {**TOLD, "observedGeneration": 2**53 + 2}
    play(
        post(QUOTAS, quota("observed")),
        merge(path, {"status": {"conditions": [TOLD]}}),
        merge(path, {"status": {"conditions": [beyond]}}, "422 Invalid"),
    )


def test_the_status_of_a_pod_is_put(play: Play) -> None:
    play(
        post(PODS, pod("a"), keep="old"),
        put(f"{PODS}/a/status", again("old", status={"phase": "Running"}, spec={"nodeName": "n1"}), keep="new"),
        put(f"{PODS}/a/status", again("old", status={"phase": "Failed"}), "409 Conflict"),
        put(f"{PODS}/a/status", again("new", metadata={"uid": OTHER}), "409 Conflict"),
        put(f"{PODS}/a/status", again("new", metadata={"labels": {"new": "label"}})),
        put(f"{PODS}/a", again("old", metadata={"resourceVersion": None}, status={"phase": "Pending"})),
        put(f"{PODS}/absent/status", pod("absent"), "404 NotFound"),
        get(f"{PODS}/a"),
    )
