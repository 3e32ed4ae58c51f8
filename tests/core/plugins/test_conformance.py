from sky_core.plugins.conformance import PLUGIN
from sky_core.testing.rows import context, spot_task, world


def test_critical_pods_are_never_victims() -> None:
    ask = PLUGIN.open(context(world()), None).reclaimable
    assert ask is not None
    plain, critical = spot_task("s", 1, node="n0"), spot_task("c", 1, node="n0", critical=True)
    assert ask(spot_task("claimant", 1), (plain, critical)) == frozenset({plain.id})
    assert ask(spot_task("claimant", 1), (critical,)) == frozenset()
