"""A real control plane for people, as the end-to-end tests have it."""

from functools import partial
from pathlib import Path
from typing import Final

from sky_control_plane import ADMIN, ControlPlane, NotAtHandError, ServerError, find
from sky_core.simulation.objects import Object
from sky_sandbox.kubeconfig import pointing
from sky_shell.reading.places import InputError
from skyctl.furnishing import furnishing, is_there, place
from skyctl.staying import Work, at_hand, interruptible, stay
from skyctl.terminal import tell

_INSTEAD: Final = (
    "install Go, which builds one in some minutes, once; or let KUBEBUILDER_ASSETS name a folder that has it, as "
    "`setup-envtest use -p path` prints one; or leave --real out, for a cluster in memory"
)


def on_control_plane(folder: Path, file: Path, use: Work) -> int:
    """Start one, furnished, with its data in this folder and its kubeconfig in this file; what its use comes to.

    Raises:
        InputError: There is none, it does not start, or the file can't be written.
    """
    try:
        with interruptible(), ControlPlane(find(notice=tell), folder) as plane:
            for raw in furnishing():
                plane.wait_until(partial(_create, plane, raw))
            cluster = {"server": plane.url, "certificate-authority": str(plane.certificate)}
            with at_hand(file, pointing(cluster, {"token": plane.token(ADMIN.name)})):
                return stay(use)
    except NotAtHandError as error:
        raise InputError(f"{error}. What helps: {_INSTEAD}") from None
    except ServerError as error:
        raise InputError(f"the control plane can't be used: {error}") from None


def _create(plane: ControlPlane, raw: Object) -> bool:
    """Whether it is there; an object may come before its kind is served."""
    return is_there(plane.request("POST", place(raw), raw).status)
