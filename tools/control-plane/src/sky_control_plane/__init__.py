"""A real Kubernetes control plane on loopback, without root, containers or a download at run time."""

from sky_control_plane.binaries import Binaries, NotAtHandError, find
from sky_control_plane.commands import User
from sky_control_plane.filters import Filters, FiltersError, Judgement
from sky_control_plane.plane import ADMIN, Answer, ControlPlane, service_account
from sky_control_plane.rights import Right, covers, granted, used
from sky_control_plane.server import Server, ServerError

__all__ = [
    "ADMIN",
    "Answer",
    "Binaries",
    "ControlPlane",
    "Filters",
    "FiltersError",
    "Judgement",
    "NotAtHandError",
    "Right",
    "Server",
    "ServerError",
    "User",
    "covers",
    "find",
    "granted",
    "service_account",
    "used",
]
