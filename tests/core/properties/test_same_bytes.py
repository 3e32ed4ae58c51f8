"""The same input gives the same bytes, in whatever process (I6)."""

import json
import os
import subprocess
import sys

from hypothesis import Phase, given, settings

from sky_core.testing.objects import Object
from sky_core.testing.strategies import scenes

SCENES = 150

DECIDE = """
import json, sys
import msgspec
from sky_core.api.instants import instant
from sky_core.cycle import default_policy, schedule
from sky_core.memory import Memory
from sky_core.testing.objects import world_of
from sky_core.testing.strategies import START

policy, now = default_policy(), instant(START)
for objects in json.load(sys.stdin):
    outcome, memory = schedule(world_of(objects), Memory(), policy, now)
    sys.stdout.buffer.write(msgspec.json.encode([outcome, memory.binds, list(memory.attempts)]) + b"\\n")
"""


def some_scenes() -> list[list[Object]]:
    found: list[list[Object]] = []

    @settings(max_examples=SCENES, phases=[Phase.generate], database=None)
    @given(scenes())
    def collect(objects: list[Object]) -> None:
        found.append(objects)

    collect()
    return found


def decided(told: str, hash_seed: str) -> list[bytes]:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(
        [sys.executable, "-c", DECIDE], input=told.encode(), env=environment, capture_output=True, check=True
    )
    return done.stdout.splitlines()


def test_decisions_and_verdicts_are_the_same_bytes_under_any_hash_seed() -> None:
    told = json.dumps(some_scenes())
    one, other = decided(told, "0"), decided(told, "4242")
    assert len(one) >= SCENES
    assert one == other
