"""The control plane as a whole: started, used, broken on purpose, and always stopped."""

import json
import shutil
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

from sky_control_plane.binaries import Binaries, NotAtHandError
from sky_control_plane.commands import CLIENTS, MASTERS, PROGRAMS, User, command, layout, write_files
from sky_control_plane.server import Server, ServerError

ADMIN: Final = User("admin", (MASTERS,))
PATIENCE: Final = 120.0
DEFAULT_ACCOUNT: Final = "/api/v1/namespaces/default/serviceaccounts/default"


def service_account(namespace: str, name: str) -> User:
    """A service account as the API server sees it; it need not exist."""
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    return User(f"system:serviceaccount:{namespace}:{name}", groups)


class Answer(NamedTuple):
    """What the API server answered: the HTTP status, and the body, which is a text where it is not JSON."""

    status: int
    body: Any


class ControlPlane:
    """Etcd and the API server on free ports of loopback, and such other parts as are asked for.

    As a context it is started, and ready, inside, and stopped after it. RBAC is on; requests are in an audit log, at
    level Metadata.

    Attributes:
        servers: Each part by its name, to be stopped and started again.
        url: The API server's.
        certificate: The file by which it is known.
        etcd_url: For what no API server offers: compaction.
    """

    def __init__(
        self, binaries: Binaries, folder: Path, *, parts: Sequence[str] | None = None, users: Sequence[User] = ()
    ) -> None:
        """Nothing runs yet.

        Args:
            binaries: The programs.
            folder: For data, logs and credentials; it need not exist.
            parts: Beside etcd and the API server. None: the controllers and KWOK, as far as they are there.
            users: Beside `ADMIN`; each gets a token and a kubeconfig.

        Raises:
            NotAtHandError: A part is not among the binaries.
        """
        folder.mkdir(parents=True, exist_ok=True)
        if parts is None:
            parts = [name for name in ("kube-controller-manager", "kwok") if binaries.has(name)]
        self._at = layout(folder)
        self._binaries = binaries
        self._tokens = write_files(self._at, (ADMIN, *CLIENTS, *users))
        self.servers = {
            name: Server(name, command(name, binaries, self._at), folder / f"{name}.log")
            for name in PROGRAMS
            if name in {"etcd", "kube-apiserver", *parts}
        }
        self.url = self._at.url
        self.etcd_url = self._at.etcd_url
        self.certificate = self._at.certificate
        self._audited = 0
        self._events: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        """Start everything.

        Raises:
            ServerError: A part did not come up.
        """
        try:
            for name in ("etcd", "kube-apiserver"):
                self.servers[name].start()
            self.wait_until_ready()
            for name, server in self.servers.items():
                if not server.running:
                    server.start()
                if name == "kube-controller-manager":
                    server.wait_until(self._has_default_account, PATIENCE)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        """Stop everything."""
        self.stop()

    def stop(self) -> None:
        """End everything at once. The API server goes before etcd: without it, it would hold its port for a minute."""
        for server in reversed(self.servers.values()):
            server.kill()

    def wait_until_ready(self) -> None:
        """Wait until the API server serves, after it was started again.

        Raises:
            ServerError: It doesn't; with what it lacks, as far as it says so.
        """
        try:
            self.wait_until(lambda: self.serves("/readyz"))
        except ServerError as error:
            with suppress(OSError, HTTPException):
                error.add_note(str(self.request("GET", "/readyz?verbose").body))
            raise

    def wait_until(self, question: Callable[[], bool], patience: float = PATIENCE) -> None:
        """Wait until a question is answered with yes; asked twenty times a second.

        Raises:
            ServerError: The API server ended, or `patience` seconds were over.
        """
        self.servers["kube-apiserver"].wait_until(question, patience)

    def command(self, name: str) -> list[str]:
        """The command line of a part, started or not.

        Raises:
            NotAtHandError: It is not among the binaries.
        """
        return command(name, self._binaries, self._at)

    def token(self, user: str) -> str:
        """A user's bearer token."""
        return self._tokens[user]

    def kubeconfig(self, user: str = ADMIN.name) -> Path:
        """A user's kubeconfig, for kubectl and for clients."""
        return self._at.kubeconfig(user)

    def kubectl(
        self, *arguments: str, user: str = ADMIN.name, manifest: str = "", program: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        """What kubectl says: the one beside the API server, or another `program`. `manifest` is its standard input."""
        settings = [f"--kubeconfig={self.kubeconfig(user)}", f"--cache-dir={self._at.folder / 'kubectl'}"]
        command = [program or self._kubectl(), *settings, *arguments]
        return subprocess.run(command, input=manifest, capture_output=True, text=True, check=False, timeout=PATIENCE)

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        user: str = ADMIN.name,
        content_type: str = "application/json",
        accept: str = "application/json",
    ) -> Answer:
        """What the API server answers, whatever its status.

        Raises:
            OSError, HTTPException: There is no answer.
        """
        asked = urllib.request.Request(  # noqa: S310 - the address is ours
            self.url + path,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.token(user)}", "Content-Type": content_type, "Accept": accept},
            method=method,
        )
        trusted = ssl.create_default_context(cafile=str(self.certificate))
        try:
            with urllib.request.urlopen(asked, context=trusted, timeout=PATIENCE) as answer:  # noqa: S310
                return Answer(answer.status, _read(answer.read()))
        except urllib.error.HTTPError as refusal:
            with refusal:
                return Answer(refusal.code, _read(refusal.read()))

    def serves(self, path: str) -> bool:
        """Whether a GET is answered with 200."""
        try:
            return self.request("GET", path).status == 200
        except (OSError, HTTPException):
            return False

    def audit(self) -> list[dict[str, Any]]:
        """The requests so far, oldest first, as audit events; without the one that a server was killed at."""
        log = self._at.folder / "audit.log"
        if log.exists():
            with log.open("rb") as file:
                file.seek(self._audited)
                whole, newline, _ = file.read().rpartition(b"\n")
            self._audited += len(whole + newline)
            self._events += [event for line in whole.splitlines() if (event := _parsed(line)) is not None]
        return list(self._events)

    def compact(self) -> None:
        """Let etcd forget everything but what is there now: who asks for what was is answered with 410.

        So does an API server that has no watch cache; one that has goes on to tell what it remembers.

        Raises:
            OSError: Etcd is away.
        """
        revision = self._etcd("range", {"key": "AA=="})["header"]["revision"]
        self._etcd("compaction", {"revision": revision, "physical": True})

    def _etcd(self, method: str, said: object) -> Any:
        asked = urllib.request.Request(f"{self.etcd_url}/v3/kv/{method}", data=json.dumps(said).encode())  # noqa: S310
        with urllib.request.urlopen(asked, timeout=PATIENCE) as answer:  # noqa: S310
            return json.load(answer)

    def _kubectl(self) -> str:
        if self._binaries.has("kubectl"):
            return str(self._binaries.path("kubectl"))
        if found := shutil.which("kubectl"):
            return found
        raise NotAtHandError("there is no kubectl")

    def _has_default_account(self) -> bool:
        """Whether pods can be created: the controllers make the account that they run as."""
        return self.serves(DEFAULT_ACCOUNT)


def _read(body: bytes) -> Any:
    found = _parsed(body)
    return body.decode(errors="replace") if found is None else found


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None
