from hypothesis import given
from hypothesis import strategies as st

from sky_core.api.upkeep.tables import settle

keys = st.sampled_from("abcdefg")
changes = st.dictionaries(keys, st.none() | st.integers(0, 5))


@given(st.lists(changes, max_size=8))
def test_a_table_stands_in_its_order_whatever_came_and_went(history: list[dict[str, int | None]]) -> None:
    table: dict[str, int] = {}
    plain: dict[str, int] = {}
    for step in history:
        settle(table, step, lambda key, row: (row, key))
        plain = {key: row for key, row in (plain | step).items() if row is not None}

        assert list(table.items()) == sorted(plain.items(), key=lambda item: (item[1], item[0]))
