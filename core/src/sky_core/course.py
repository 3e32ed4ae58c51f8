"""Cycle upon cycle: what a scheduler holds while objects change, decisions are answered and time goes on."""

from collections.abc import Callable, Iterable, Mapping

import msgspec

from sky_core.actions import ACTIONS, Action
from sky_core.api.identity import Key
from sky_core.api.intake import Intake
from sky_core.api.store import Said
from sky_core.cycle import Outcome, schedule
from sky_core.decisions import Decision
from sky_core.memory import Memory
from sky_core.model import Instant
from sky_core.policy import Policy
from sky_core.settings import Settings
from sky_core.world import World


class Told(msgspec.Struct, frozen=True, gc=False):
    """An object as JSON. In a list it does not say its kind itself."""

    key: Key
    raw: msgspec.Raw


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """What has happened between two cycles: objects as they are now, those that are gone, and decisions answered.

    An object is in one of the two at most. `answered`: see `Intake.forget`.
    """

    objects: tuple[Told, ...] = ()
    gone: tuple[Key, ...] = ()
    answered: tuple[Decision, ...] = ()


class Course:
    """The world as of what was learnt, and the memory of the last cycle. The same calls come to the same outcomes."""

    def __init__(self, settings: Settings, memory: Memory | None = None) -> None:
        """Nothing is there."""
        self.intake = Intake(settings)
        self.memory = memory or Memory()

    @property
    def world(self) -> World:
        """As of what was learnt; to be read between cycles."""
        return self.intake.world()

    def learn(self, changes: Changes, seen: Callable[[Key, Said], None] = lambda _key, _said: None) -> None:
        """Take up what has happened; `seen` is told what each object says. One that is no JSON is as good as gone."""
        for key in changes.gone:
            self.intake.remove(*key)
        for told in changes.objects:
            try:
                said = self.intake.put_json(told.key, told.raw)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                self.intake.remove(*told.key)
                continue
            seen(told.key, said)
        for decision in changes.answered:
            self.intake.forget(decision)

    def cycle(self, policy: Policy, now: Instant, actions: Mapping[str, Action] = ACTIONS) -> Outcome:
        """Decide. What comes of it is not assumed yet."""
        outcome, self.memory = schedule(self.world, self.memory, policy, now, actions=actions)
        return outcome

    def assume(self, decisions: Iterable[Decision]) -> None:
        """These decisions are on their way; the world shows it at once.

        Else it would depend on whether somebody reads the world before they are answered what counts as a change.
        """
        for decision in decisions:
            self.intake.assume(decision)
        self.intake.world()
