"""A sandbox's state: saved, loaded, and set up past validation."""

import pytest

from sky_sandbox.api.refusals import Refusal
from sky_sandbox.state import load, restored, saved
from sky_sandbox.testing import PODS, Caller, named, pod

QUOTAS = "/apis/scheduling.infini-ai.com/v1alpha1/quotas"


def quota(name: str) -> dict[str, object]:
    return named("scheduling.infini-ai.com/v1alpha1", "Quota", name, spec={"request": {"cpu": "1"}})


def test_what_was_saved_goes_on_where_it_was(sky: Caller) -> None:
    sky.post(PODS, pod("p"))
    sky.post(QUOTAS, quota("q"))
    again = Caller(restored(saved(sky.server)))
    assert saved(again.server) == saved(sky.server)
    for path in (PODS, QUOTAS):
        assert again.get(path).body == sky.get(path).body
    uids = {sky.get(f"{PODS}/p").body["metadata"]["uid"], again.post(PODS, pod("q")).body["metadata"]["uid"]}
    assert len(uids) == 2


def test_a_watch_from_before_a_load_has_to_list_anew(sky: Caller) -> None:
    sky.post(PODS, pod("p"))
    version = int(sky.get(PODS).version)
    again = Caller(restored(saved(sky.server)))
    (line,) = again.lines(again.watch(PODS, resourceVersion=version - 1))
    assert line["object"]["code"] == 410


def test_what_is_no_state_is_refused() -> None:
    with pytest.raises(ValueError, match="missing required field"):
        restored(b"{}")


def test_broken_objects_are_loaded_as_they_are(sky: Caller) -> None:
    broken = {**quota("q"), "spec": {"request": {"cpu": "-1"}, "unknown": 1}}
    load(sky.server, [broken, {**named("v1", "Pod", "p", spec={"containers": 7})}], sky.now)
    assert sky.get(f"{QUOTAS}/q").body["spec"] == broken["spec"]
    assert sky.get(f"{PODS}/p").body["metadata"]["namespace"] == "default"
    with pytest.raises(Refusal, match="serve Job of batch/v1"):
        load(sky.server, [named("batch/v1", "Job", "j")], sky.now)
