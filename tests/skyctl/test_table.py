"""The picture and the sentences on a terminal."""

import pytest

from skyctl.scene import Card, Job, Machine, Reason, Scene, Use, Zone
from skyctl.table import SHOWN_MAX, table

USES = {use.sign: use for use in Use}


def machine(name: str, picture: str, *pods: str, spec: str = "", notes: tuple[str, ...] = ()) -> Machine:
    return Machine(name, spec, tuple(Card(USES.get(sign, Use.JOB), sign) for sign in picture), pods, notes)


def zone(*machines: Machine) -> Zone:
    return Zone("A", "roce#S1", machines)


def scene(*zones: Zone, jobs: tuple[Job, ...] = (), setbacks: tuple[str, ...] = ()) -> Scene:
    return Scene(3, zones, jobs, (), (), setbacks, ())


def waiting(name: str, *reasons: Reason) -> Job:
    return Job("", name, "Pending", "AllocateZone", (), 0, 4, reasons)


SHORT = Reason("TopologyZoneInsufficient", "No RDMA zone holds the whole job: " + "very many cards needed, " * 4)


def test_machines_stand_in_their_zones_with_a_sign_for_each_card() -> None:
    shown = table(
        scene(zone(machine("n0", "ab==~#..", "default/w-0"), machine("n10", "........", notes=("cordoned",))))
    )
    assert "\nzone A  roce#S1   10 of 16 cards idle\n" in shown
    assert "\n  n0   ab==~#..  default/w-0\n" in shown
    assert "\n  n10  ........  cordoned\n" in shown


def test_the_signs_that_occur_are_explained_and_no_others() -> None:
    shown = table(scene(zone(machine("n0", "a=~."))))
    assert "a of job a   ~ used by spot   = promised, unused   . idle" in shown
    assert "used by others" not in shown


def test_kinds_of_cards_are_named_where_there_are_several() -> None:
    one = zone(machine("n0", ".", spec="a100"), machine("n1", "."))
    assert "n0  a100     .\n" in table(scene(one))
    assert "n1  no spec  .\n" in table(scene(one))
    assert "a100" not in table(scene(zone(machine("n0", ".", spec="a100"))))


def test_a_job_that_waits_says_how_far_it_got_and_why() -> None:
    shown = table(
        scene(jobs=(waiting("default/big", SHORT), Job("a", "default/w", "Running", "Done", ("A",), 4, 4, ())))
    )
    assert "     default/big  Pending, 0 of 4 pods placed, stopped at AllocateZone\n" in shown
    assert "       TopologyZoneInsufficient: No RDMA zone holds the whole job:" in shown
    assert "  a  default/w  Running, 4 of 4 pods placed, zone A\n" in shown


def test_eighty_columns_suffice_and_nothing_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    pods = [f"default/worker-with-a-long-name-{n}" for n in range(3)]
    shown = table(
        scene(zone(machine("a-node-with-a-long-name", "." * 16, *pods)), jobs=(waiting("default/big", SHORT),))
    )
    assert max(map(len, shown.splitlines())) <= 80
    assert shown.count("very many cards needed") + shown.count("very many\n") >= 3
    assert all(pod in shown.replace("\n", "").replace(" ", "") for pod in pods)


def test_machines_that_look_alike_are_one_line_where_there_are_many() -> None:
    busy = machine("n50", "a.......", "default/w-0")
    shown = table(scene(zone(*(machine(f"n{n}", "........") for n in range(50)), busy)))
    assert "  n0 to n49  ........  50 alike\n" in shown
    assert "  n50        a.......  default/w-0\n" in shown


def test_of_very_much_it_is_said_how_much_more_there_is() -> None:
    shown = table(scene(jobs=tuple(waiting(f"default/j{n}") for n in range(SHOWN_MAX + 5))))
    assert f"default/j{SHOWN_MAX - 1} " in shown
    assert f"default/j{SHOWN_MAX} " not in shown
    assert "and 5 more jobs; -o json has them all" in shown


def test_very_many_cards_are_counted() -> None:
    assert "  n0  40a 24.\n" in table(scene(zone(machine("n0", "a" * 40 + "." * 24))))


def test_names_are_text_and_nothing_else() -> None:
    hostile = "[red]x[/red]\x1b[31m\u202e:smile:"
    shown = table(scene(zone(machine(hostile, ".", hostile)), jobs=(waiting(hostile, Reason("X", hostile)),)))
    assert shown.count(r"[red]x[/red]\x1b[31m\u202e:smile:") == 4
    assert "\x1b" not in shown


def test_colours_are_for_terminals_and_only_where_they_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    one = scene(zone(machine("n0", "a.")))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[33ma" in table(one) or "\x1b[3" in table(one)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in table(one)
