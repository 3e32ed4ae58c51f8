"""`build` prints the folder of the programs; with `up` they run until standard input ends."""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from sky_control_plane import ControlPlane, NotAtHandError, find


def main(arguments: Sequence[str] | None = None) -> int:
    """Build, or start. Exit status 1 if there is nothing to start."""
    parser = argparse.ArgumentParser(prog="sky_control_plane", description=__doc__)
    parser.add_argument("verb", choices=["build", "up"])
    verb = parser.parse_args(arguments).verb
    try:
        binaries = find()
    except NotAtHandError as reason:
        print(reason, file=sys.stderr)
        return 1
    if verb == "build":
        print(binaries.folder)
        return 0
    with tempfile.TemporaryDirectory() as folder, ControlPlane(binaries, Path(folder)) as plane:
        print(f"export KUBECONFIG={plane.kubeconfig()}", flush=True)
        sys.stdin.read()
    return 0


if __name__ == "__main__":
    sys.exit(main())
