from typing import Any

import msgspec

from sky_core.api.identity import Key
from sky_core.settings import Settings
from sky_scheduler.mirror import Mirror
from sky_scheduler.view import View
from sky_shell.objects import Identity
from sky_shell.resources import NODES, QUOTAS, SEEN

Q = Key("Quota", "", "q")


def body(version: int, uid: str = "1", kind: str = "Quota", **status: Any) -> bytes:
    metadata = {"name": "q", "uid": uid, "resourceVersion": str(version)}
    return msgspec.json.encode({"kind": kind, "metadata": metadata, "status": status})


def at(version: int, uid: str = "1") -> Identity:
    return Identity("", "q", uid, str(version))


class Watched:
    """A mirror and a view that takes up what it tells."""

    def __init__(self) -> None:
        self.mirror, self.view = Mirror(), View(Settings())

    def put(self, version: int, uid: str = "1") -> None:
        self.mirror.put(QUOTAS, at(version, uid), body(version, uid, epoch=version))

    def epoch(self) -> int | None:
        self.view.take_up(self.mirror.take())
        return self.view.statuses[Q]["epoch"] if Q in self.view.statuses else None


async def test_what_a_write_made_of_an_object_counts_at_once_and_older_news_do_not() -> None:
    watched = Watched()
    watched.put(1)
    assert watched.epoch() == 1
    watched.mirror.acknowledged(QUOTAS, body(5, epoch=5))
    watched.put(3)
    assert watched.epoch() == 5
    watched.put(4)
    assert watched.epoch() == 5
    watched.put(6)
    assert watched.epoch() == 6


async def test_an_object_is_gone_though_another_of_its_name_came_and_went_in_the_same_moment() -> None:
    watched = Watched()
    watched.put(1)
    assert watched.epoch() == 1
    watched.mirror.remove(QUOTAS, at(2))
    watched.put(3, uid="2")
    watched.mirror.remove(QUOTAS, at(4, uid="2"))
    assert watched.epoch() is None


async def test_an_object_stays_when_it_is_told_late_that_the_one_before_it_has_gone() -> None:
    watched = Watched()
    watched.put(3, uid="2")
    assert watched.epoch() == 3
    watched.mirror.remove(QUOTAS, at(1))
    assert watched.epoch() == 3


async def test_the_answer_to_a_write_brings_nothing_back_that_has_gone() -> None:
    watched = Watched()
    watched.put(1)
    assert watched.epoch() == 1
    watched.mirror.remove(QUOTAS, at(2))
    watched.mirror.acknowledged(QUOTAS, body(2, epoch=2))
    assert watched.epoch() is None
    watched.mirror.acknowledged(QUOTAS, body(2, epoch=2))
    assert watched.epoch() is None


async def test_another_object_of_the_name_is_not_removed_with_the_first() -> None:
    watched = Watched()
    watched.put(1)
    assert watched.epoch() == 1
    watched.mirror.remove(QUOTAS, at(2))
    watched.put(3, uid="2")
    watched.mirror.remove(QUOTAS, at(2))
    assert watched.epoch() == 3


async def test_an_answer_that_is_no_such_object_tells_nothing() -> None:
    watched = Watched()
    for said in (b"", body(9, kind="Status"), b"{}"):
        watched.mirror.acknowledged(QUOTAS, said)
    assert watched.epoch() is None


async def test_it_is_complete_once_every_kind_is_listed_and_knows_the_nodes_of_now() -> None:
    mirror = Mirror()
    for resource in SEEN:
        assert not mirror.complete.is_set()
        mirror.synced(resource)
    assert mirror.complete.is_set()
    mirror.put(NODES, Identity("", "n", "1", "1"), b"{}")
    mirror.take()
    assert mirror.nodes == {"n"}
    mirror.remove(NODES, Identity("", "n", "1", "2"))
    assert mirror.nodes == set()
