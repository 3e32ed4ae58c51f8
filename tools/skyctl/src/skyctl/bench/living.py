"""A cluster that lives: objects come and go between cycles, and what is decided is done at once."""

from collections.abc import Iterable

from sky_core.api.encode import quota_status
from sky_core.cycle import Outcome, schedule
from sky_core.decisions import BindTask, EvictTask, WriteQuota
from sky_core.memory import Memory
from sky_core.model import Instant
from sky_core.policy import Policy
from sky_core.world import World
from skyctl.bench.clusters import Object, intake, running
from skyctl.bench.timing import NOW, SPREAD, Stopwatch


class Living:
    """Objects by kind and name, and a scheduler at work on them.

    Attributes:
        now: The time of the next cycle.
        took: The milliseconds of the last one.
    """

    def __init__(self, objects: Iterable[Object], policy: Policy = SPREAD) -> None:
        """Before the first cycle."""
        self._objects: dict[tuple[str, str], Object] = {}
        self._intake = intake(())
        self._policy = policy
        self._memory = Memory()
        self.now = NOW
        self.took = 0.0
        for each in objects:
            self.put(each)

    @property
    def world(self) -> World:
        """As of now."""
        return self._intake.world()

    def put(self, raw: Object) -> None:
        """An object comes or changes."""
        self._objects[raw["kind"], raw["metadata"]["name"]] = raw
        self._intake.put(raw)

    def remove(self, kind: str, name: str) -> None:
        """An object of the namespace `default`, or of none, goes."""
        del self._objects[kind, name]
        self._intake.remove(kind, "default", name)

    def cycle(self) -> Outcome:
        """Decide, do what was decided, and let pods that got a node run. Only the deciding is timed."""
        world, watch = self.world, Stopwatch()
        with watch.running():
            outcome, self._memory = schedule(world, self._memory, self._policy, self.now)
        self.took = watch.total
        tasks = dict(world.tasks) if outcome.decisions else {}
        for decision in outcome.decisions:
            match decision:
                case WriteQuota():
                    raw = self._objects["Quota", decision.quota]
                    status = quota_status(decision, world.quotas[decision.quota], self.now)
                    self.put({**raw, "status": status})
                case BindTask():
                    self.put(running(self._objects["Pod", tasks[decision.task].name], decision.node))
                case EvictTask():
                    self.remove("Pod", tasks[decision.task].name)
        return outcome

    def wait(self, nanoseconds: int) -> None:
        """Let time go by."""
        self.now = Instant(self.now + nanoseconds)
