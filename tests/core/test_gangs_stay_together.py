"""A gang keeps to one kind of card, and a `required` one to one zone, also where quotas have nodes already."""

from sky_core.testing.objects import Object, node, pod, quota
from sky_core.testing.stories import at, cards, fixed, gang, gone, note, reborn, tell

REQUIRED: Object = {"notes": {"enable-topology-scheduling": "true", "topology-policy": "required"}}


def kind(name: str, card: str) -> Object:
    return node(name, labels={note("spec"): card})


def zoned(name: str, zone: str) -> Object:
    return node(name, labels={note("zone"): zone})


def test_a_required_gang_is_not_put_together_from_bound_quotas_of_two_zones() -> None:
    homes = [fixed("q-0", 8, "n0"), fixed("q-1", 8, "n1")]
    tale = tell(zoned("n0", "A"), zoned("n1", "B"), *homes, *gang("a", 2, cards(8), group=REQUIRED))
    assert tale.places("a-0", "a-1") == [None, None]
    assert "TopologyZoneInsufficient" in tale.codes("a")


def test_a_required_gang_does_not_go_to_bound_quotas_outside_of_all_zones() -> None:
    homes = [fixed("q-0", 8, "n0"), fixed("q-1", 8, "n1")]
    tale = tell(node("n0"), node("n1"), *homes, *gang("a", 2, cards(8), group=REQUIRED))
    assert tale.places("a-0", "a-1") == [None, None]
    assert "TopologyUnknown" in tale.codes("a")


def test_an_extra_of_a_required_gang_does_not_go_to_a_bound_quota_of_another_zone() -> None:
    homes = [fixed("q-0", 8, "n0"), fixed("q-1", 8, "n1")]
    tale = tell(zoned("n0", "A"), zoned("n1", "B"), *homes, *gang("a", 2, cards(8), least=1, group=REQUIRED))
    assert tale.places("a-0", "a-1") == ["n0", None]


def test_a_lost_rank_of_a_required_gang_does_not_return_to_another_zone() -> None:
    tale = tell(
        zoned("n0", "A"),
        zoned("n1", "A"),
        zoned("n2", "B"),
        quota("q-0", cards(8)),
        quota("q-1", cards(8)),
        *gang("a", 2, cards(8), group=REQUIRED),
        later=(
            at(3, delete=gone("a-1")),
            at(3, delete=gone("n1", "Node")),
            at(5, apply=fixed("q-2", 8, "n2")),
            at(7, apply=reborn(pod("a-1", cards(8), group="a"))),
        ),
    )
    assert tale.place("a-1") is None
    assert tale.codes("a") == {"TopologyZoneInsufficient"}


def test_a_lost_rank_does_not_return_to_another_kind_of_card() -> None:
    tale = tell(
        kind("n0", "slow"),
        kind("n1", "fast"),
        quota("q-0", cards(8)),
        *gang("a", 2, cards(4)),
        later=(
            at(3, delete=gone("a-1")),
            at(4, apply=pod("next", cards(4), notes={"quota-name": "q-0"})),
            at(5, apply=fixed("q-1", 8, "n0")),
            at(7, apply=reborn(pod("a-1", cards(4), group="a"))),
        ),
    )
    assert tale.place("a-0") == "n1"
    assert tale.place("a-1") is None
    assert tale.codes("a") == {"InsufficientQuota", "SpecMismatch"}


def test_an_extra_does_not_go_to_a_bound_quota_of_another_kind_of_card() -> None:
    homes = [fixed("q-0", 4, "n0"), fixed("q-1", 8, "n1")]
    tale = tell(kind("n0", "slow"), kind("n1", "fast"), *homes, *gang("a", 3, cards(4), least=2))
    assert tale.places("a-0", "a-1", "a-2") == ["n1", "n1", None]


def test_an_extra_that_comes_later_does_not_go_to_another_kind_of_card() -> None:
    quotas = [quota(f"q-{i}", cards(8)) for i in range(3)]
    nodes = [kind("n0", "slow"), kind("n1", "fast"), kind("n2", "fast")]
    late = pod("a-2", cards(8), group="a")
    tale = tell(*nodes, *quotas, *gang("a", 2, cards(8)), later=(at(5, apply=late),))
    assert tale.places("a-0", "a-1", "a-2") == ["n1", "n2", None]
