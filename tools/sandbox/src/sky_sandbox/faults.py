"""Faults on demand: which requests are to meet one, and what then becomes of them."""

from collections.abc import Mapping
from typing import Final

import msgspec

from sky_sandbox.api.requests import Request, target

_VERBS: Final[Mapping[str, str]] = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class Fault(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """What becomes of some requests.

    Attributes:
        verbs: Which ones: get, list, watch, create, update, patch, delete. None: all.
        resource: On what: `pods`, `pods/binding`, `quotas.scheduling.infini-ai.com/status`. Empty: on anything.
        namespace: On objects of one namespace.
        name: On objects of one name.
        skip: So many are spared first.
        times: So many meet it, None for all.
        wait: Seconds before the server looks at it.
        linger: Seconds between the deed and the answer.
        status: The answer, 0 for the server's own.
        retry_after: Seconds that the answer's Retry-After asks for; 0 for no such header.
        done: The deed is done, and be it later, whatever the answer is and whoever still waits for it.
        lost: No answer comes; the connection breaks.
        behind: So many seconds old is the cache that answers lists which may be old.
        silent: A watch says nothing.
        broken: A watch breaks in the middle of its first line.
    """

    verbs: tuple[str, ...] = ()
    resource: str = ""
    namespace: str = ""
    name: str = ""
    skip: int = 0
    times: int | None = 1
    wait: float = 0
    linger: float = 0
    status: int = 0
    retry_after: int = 0
    done: bool = False
    lost: bool = False
    behind: float = 0
    silent: bool = False
    broken: bool = False

    def concerns(self, request: Request) -> bool:
        """Whether a request is of those that meet it."""
        where = target(request.path)
        if where is None:
            return not (self.verbs or self.resource or self.namespace or self.name)
        resource = f"{where.plural}.{where.group}" if where.group else where.plural
        if where.subresource:
            resource += f"/{where.subresource}"
        return (
            (not self.verbs or verb(request, where.name) in self.verbs)
            and self.resource in {"", resource}
            and self.namespace in {"", where.namespace}
            and self.name in {"", where.name}
        )


HEALTHY: Final = Fault(times=None)
"""No fault."""


class Faults:
    """The faults that wait for requests, in the order in which they were added."""

    def __init__(self) -> None:
        """None."""
        self._waiting: list[Fault] = []
        self._met: list[int] = []

    @property
    def waiting(self) -> tuple[Fault, ...]:
        """Those that requests can still meet, with what they were added with."""
        return tuple(self._waiting)

    def add(self, fault: Fault) -> None:
        """Let requests meet a fault."""
        self._waiting.append(fault)
        self._met.append(0)

    def clear(self) -> None:
        """Let no request meet any more."""
        self._waiting.clear()
        self._met.clear()

    def meet(self, request: Request) -> Fault:
        """The first fault that concerns a request, which is then used up by one; else HEALTHY."""
        for index, fault in enumerate(self._waiting):
            if not fault.concerns(request):
                continue
            self._met[index] += 1
            if self._met[index] <= fault.skip:
                continue
            if fault.times is not None and self._met[index] >= fault.skip + fault.times:
                del self._waiting[index], self._met[index]
            return fault
        return HEALTHY


def verb(request: Request, name: str) -> str:
    """What a request does, in Kubernetes' words."""
    if request.method == "GET":
        return "watch" if request.flag("watch") else "get" if name else "list"
    return _VERBS.get(request.method, request.method.lower())
