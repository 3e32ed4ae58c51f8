"""The life of a task: its states, and every move that a trial may make.

Rule 1: every way in which a trial changes a task's state is a cell of `MOVES`; an absent cell is a defect of ours.
Rule 2: undo is not a move. A trial puts the old row back, so the table says only what may happen next.

What the cluster reports is not a move either: a task's observed state is a function of its pod (`observed`).
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class TaskState(StrEnum):
    """Where a task stands between submission and end (behaviour.md 3)."""

    __hash__ = str.__hash__  # Enum's own is a function in Python, and every look-up would call it

    PENDING = "Pending"
    ALLOCATED_TO_QUOTA = "AllocatedToQuota"  # has claimed a quota; may have no node yet
    PIPELINED = "Pipelined"  # claims a quota whose node will have room when victims are gone
    ALLOCATED = "Allocated"  # has a node in this trial; nothing was sent
    BINDING = "Binding"  # its Binding is decided, and not answered yet
    BOUND = "Bound"
    RUNNING = "Running"
    RELEASING = "Releasing"  # told to go; still holds what it holds
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


class Move(StrEnum):
    """What a trial may do to a task."""

    __hash__ = str.__hash__

    CLAIM = "claim"
    GIVE_BACK = "give back"
    PIPELINE = "pipeline"
    ALLOCATE = "allocate"
    BIND = "bind"
    EVICT = "evict"


_S, _M = TaskState, Move

MOVES: Final[Mapping[TaskState, Mapping[Move, TaskState]]] = {
    _S.PENDING: {_M.CLAIM: _S.ALLOCATED_TO_QUOTA, _M.PIPELINE: _S.PIPELINED, _M.ALLOCATE: _S.ALLOCATED},
    _S.ALLOCATED_TO_QUOTA: {_M.ALLOCATE: _S.ALLOCATED, _M.PIPELINE: _S.PIPELINED, _M.GIVE_BACK: _S.PENDING},
    _S.PIPELINED: {_M.ALLOCATE: _S.ALLOCATED, _M.GIVE_BACK: _S.PENDING},
    _S.ALLOCATED: {_M.BIND: _S.BINDING},
    _S.BINDING: {},
    _S.BOUND: {_M.EVICT: _S.RELEASING},
    _S.RUNNING: {_M.EVICT: _S.RELEASING},
    _S.RELEASING: {},
    _S.SUCCEEDED: {},
    _S.FAILED: {},
}

FINISHED: Final = frozenset({_S.SUCCEEDED, _S.FAILED})
ON_NODE: Final = frozenset({_S.BINDING, _S.BOUND, _S.RUNNING})
"""Holds its node and counts as placed (behaviour.md 1, Members)."""

PLACED: Final = ON_NODE | {_S.SUCCEEDED}
"""Counts as placed, unless it succeeded after we evicted it."""

READY: Final = PLACED | {_S.ALLOCATED}


class IllegalMove(Exception):  # noqa: N818  the name that behaviour.md gives it
    """Our own code asked of a task what its state does not allow: a defect, never the cluster's doing."""

    def __init__(self, task: str, state: TaskState, move: Move) -> None:
        """`task` is for people: namespace/name."""
        super().__init__(f"task {task} is {state}: it cannot {move}")
        self.state = state
        self.move = move


def after(task: str, state: TaskState, move: Move) -> TaskState:
    """The state that follows, or `IllegalMove`."""
    try:
        return MOVES[state][move]
    except KeyError:
        raise IllegalMove(task, state, move) from None


def observed(*, phase: str, deleting: bool, node: bool, binding: bool, claim: bool) -> TaskState:
    """The state that a pod shows, by behaviour.md 3: the first line that applies.

    `binding`: a Binding of ours for it is unanswered. `claim`: a quota's status names it.
    """
    if phase == "Succeeded":
        return TaskState.SUCCEEDED
    if phase == "Failed":
        return TaskState.FAILED
    if deleting:
        return TaskState.RELEASING
    if node:
        return TaskState.RUNNING if phase in {"Running", "Unknown"} else TaskState.BOUND
    if binding:
        return TaskState.BINDING
    return TaskState.ALLOCATED_TO_QUOTA if claim else TaskState.PENDING
