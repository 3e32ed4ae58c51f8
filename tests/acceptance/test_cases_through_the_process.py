"""Every acceptance case once more: decided by the scheduler's process, on a sandbox in simulated time."""

from collections.abc import Callable, Iterator, Mapping

import pytest

from rehearsal import acceptance

LEFT_OUT: Mapping[str, str] = {}
"""Cases that can't be played so, each with its reason."""

NAMES = acceptance.names()


@pytest.fixture(scope="module")
def cases() -> Iterator[Mapping[str, Callable[[], None]]]:
    with acceptance.cases() as found:
        yield found


@pytest.mark.parametrize("name", [name for name in NAMES if name not in LEFT_OUT])
def test_the_process_passes(name: str, cases: Mapping[str, Callable[[], None]]) -> None:
    cases[name]()


def test_what_is_left_out_exists_and_fails(cases: Mapping[str, Callable[[], None]]) -> None:
    assert set(LEFT_OUT) <= set(NAMES)
    for name in LEFT_OUT:
        with pytest.raises(AssertionError):
            cases[name]()
