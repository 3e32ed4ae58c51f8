"""The acceptance cases a third time: decided by the scheduler's process before a real API server, KWOK for kubelets.

The scheduler goes by its own account, under its roles and its fence, with a period of a fifth of a second. Statuses are
written by subresource; nodes are held from KWOK by a label. What happens later happens as soon as all is at rest.
"""

from collections.abc import Callable, Iterator, Mapping

import pytest

from rehearsal import acceptance
from sky_control_plane import ControlPlane, service_account

SCHEDULER = service_account("sky-system", "sky-scheduler").name
REFUSED = "must not be provided in pod spec|in body should"

LEFT_OUT = {
    "priority_spares": "names a priority by its number, where a real API server wants a PriorityClass",
    "bad_objects_spoil_only_themselves": "its broken objects are refused by a real API server",
    "reservation_expires": "chooses the clock, and looks at the numbers of cycles",
    "same_bytes_every_time": "looks at the numbers of cycles, which a real clock gives, six times over",
}
"""Cases that can't be played so, each with its reason."""

NAMES = acceptance.names()


@pytest.fixture(scope="module")
def cases(module_plane: ControlPlane) -> Iterator[Mapping[str, Callable[[], None]]]:
    administrator, scheduler = module_plane.kubeconfig(), module_plane.kubeconfig(SCHEDULER)
    with acceptance.cases("--administrator", str(administrator), "--scheduler", str(scheduler)) as found:
        yield found


@pytest.mark.parametrize("name", [name for name in NAMES if name not in LEFT_OUT])
def test_the_process_passes(name: str, cases: Mapping[str, Callable[[], None]]) -> None:
    cases[name]()


def test_what_is_left_out_exists() -> None:
    assert set(LEFT_OUT) <= set(NAMES)


@pytest.mark.parametrize("name", ["priority_spares", "bad_objects_spoil_only_themselves"])
def test_what_the_server_refuses_is_rightly_left_out(name: str, cases: Mapping[str, Callable[[], None]]) -> None:
    with pytest.raises(AssertionError, match=REFUSED):
        cases[name]()
