"""Objects that say the very same are counted, and that comes to what adding each of them does."""

from hypothesis import given
from hypothesis import strategies as st

from sky_core.reasons import Code, Reason, never_fits
from sky_core.resources import NOTHING, Resources
from sky_core.tally import Tally

AMOUNTS = st.dictionaries(st.sampled_from(["cpu", "gpu"]), st.integers(-3, 3).filter(bool), max_size=2).map(Resources)
REASONS = st.builds(
    Reason,
    st.sampled_from([Code.INSUFFICIENT_QUOTA_IDLE, Code.INSUFFICIENT_IDLE, Code.NODE_NOT_READY]),
    needed=AMOUNTS,
    available=AMOUNTS,
    never=st.sampled_from([None, never_fits(Resources({"gpu": 2}), NOTHING)]),
)


@given(st.lists(st.lists(REASONS, max_size=3).map(tuple), min_size=1, max_size=4), st.data())
def test_many_at_once_come_to_the_same_as_one_by_one(kinds: list[tuple[Reason, ...]], draw: st.DataObject) -> None:
    said = draw.draw(st.lists(st.sampled_from(kinds), max_size=20))
    names = [f"n{at}" for at in range(len(said))]
    places = {reasons: [at for at, each in enumerate(said) if each == reasons] for reasons in said}
    together, single = Tally(), Tally()
    together.add_all(names, list(places.items()))
    for name, reasons in zip(names, said, strict=True):
        single.add(name, reasons)
    assert together.findings() == single.findings()
