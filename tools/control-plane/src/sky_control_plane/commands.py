"""The command line of each program, and the files that it reads."""

import base64
import json
import secrets
import socket
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from sky_control_plane.binaries import Binaries

HOST: Final = "127.0.0.1"
STAGES: Final = Path(__file__).with_name("stages.yaml")
MASTERS: Final = "system:masters"


class User(NamedTuple):
    """Whom a token stands for."""

    name: str
    groups: tuple[str, ...] = ()


class Layout(NamedTuple):
    """Where the parts of one control plane meet."""

    folder: Path
    port: int
    etcd_port: int
    etcd_peer_port: int

    @property
    def url(self) -> str:
        """Of the API server."""
        return f"https://{HOST}:{self.port}"

    @property
    def etcd_url(self) -> str:
        """Of etcd, for clients."""
        return f"http://{HOST}:{self.etcd_port}"

    @property
    def certificate(self) -> Path:
        """By which the API server is known; it makes it when it starts."""
        return self.folder / "certificates" / "apiserver.crt"

    def kubeconfig(self, user: str) -> Path:
        """A user's."""
        return self.folder / f"{user.replace(':', '.')}.kubeconfig"


def layout(folder: Path) -> Layout:
    """A layout with ports that are free now."""
    sockets = [socket.socket() for _ in range(3)]
    for each in sockets:
        each.bind((HOST, 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return Layout(folder, *ports)


def write_files(at: Layout, users: Sequence[User]) -> dict[str, str]:
    """Write what the programs read; each user's token."""
    tokens = {user.name: secrets.token_hex(16) for user in users}
    lines = [f'{tokens[user.name]},{user.name},{i},"{",".join(user.groups)}"' for i, user in enumerate(users)]
    files = {
        at.folder / "tokens.csv": "\n".join(lines),
        at.folder / "accounts.key": _account_key(),
        at.folder / "audit-policy.yaml": json.dumps(AUDIT_POLICY),
        **{at.kubeconfig(name): json.dumps(_kubeconfig(at, name, token)) for name, token in tokens.items()},
    }
    for path, text in files.items():
        path.touch(mode=0o600)
        path.write_text(text)
    return tokens


def _account_key() -> str:
    """A new key on P-256 for the tokens of service accounts, as RFC 5915 writes it; its public half is left out."""
    der = (
        b"\x30\x31\x02\x01\x01\x04\x20" + secrets.token_bytes(32) + b"\xa0\x0a\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07"
    )
    body = base64.b64encode(der).decode()
    return f"-----BEGIN EC PRIVATE KEY-----\n{body[:64]}\n{body[64:]}\n-----END EC PRIVATE KEY-----\n"


AUDIT_POLICY: Final = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}],
}


def _kubeconfig(at: Layout, user: str, token: str) -> dict[str, Any]:
    cluster = {"server": at.url, "certificate-authority": str(at.certificate)}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "control-plane", "cluster": cluster}],
        "users": [{"name": user, "user": {"token": token}}],
        "contexts": [{"name": user, "context": {"cluster": "control-plane", "user": user}}],
        "current-context": user,
    }


def _etcd(at: Layout) -> list[str]:
    peers = f"http://{HOST}:{at.etcd_peer_port}"
    return [
        f"--data-dir={at.folder / 'etcd'}",
        f"--listen-client-urls={at.etcd_url}",
        f"--advertise-client-urls={at.etcd_url}",
        f"--listen-peer-urls={peers}",
        f"--initial-advertise-peer-urls={peers}",
        f"--initial-cluster=default={peers}",
        "--unsafe-no-fsync",
        "--log-level=error",
    ]


def _apiserver(at: Layout) -> list[str]:
    return [
        f"--etcd-servers={at.etcd_url}",
        f"--secure-port={at.port}",
        f"--bind-address={HOST}",
        f"--advertise-address={HOST}",
        "--endpoint-reconciler-type=none",
        "--service-cluster-ip-range=10.0.0.0/24",
        f"--cert-dir={at.certificate.parent}",
        f"--service-account-key-file={at.folder / 'accounts.key'}",
        f"--service-account-signing-key-file={at.folder / 'accounts.key'}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--token-auth-file={at.folder / 'tokens.csv'}",
        "--authorization-mode=RBAC",
        f"--audit-policy-file={at.folder / 'audit-policy.yaml'}",
        f"--audit-log-path={at.folder / 'audit.log'}",
        "--shutdown-watch-termination-grace-period=1s",
        "--shutdown-send-retry-after",
    ]


def _controllers(at: Layout) -> list[str]:
    return [
        f"--kubeconfig={at.kubeconfig('kube-controller-manager')}",
        f"--service-account-private-key-file={at.folder / 'accounts.key'}",
        "--controllers=*,-node-ipam-controller,-cloud-node-lifecycle-controller",
        "--leader-elect=false",
        f"--bind-address={HOST}",
        "--secure-port=0",
        "--node-monitor-grace-period=24h",  # else nodes turn Unknown every 50 s: nobody renews their Leases
    ]


def _kwok(at: Layout) -> list[str]:
    return [f"--kubeconfig={at.kubeconfig('kwok')}", "--manage-all-nodes=true", f"--config={STAGES}"]


def _scheduler(at: Layout) -> list[str]:
    return [
        f"--kubeconfig={at.kubeconfig('kube-scheduler')}",
        "--leader-elect=false",
        f"--bind-address={HOST}",
        "--secure-port=0",
    ]


PROGRAMS: Final[Mapping[str, Callable[[Layout], list[str]]]] = {
    "etcd": _etcd,
    "kube-apiserver": _apiserver,
    "kube-controller-manager": _controllers,
    "kwok": _kwok,
    "kube-scheduler": _scheduler,
}
"""In the order in which they start; they end in the reverse."""

CLIENTS: Final = tuple(User(name, (MASTERS,)) for name in PROGRAMS if name not in {"etcd", "kube-apiserver"})


def command(name: str, binaries: Binaries, at: Layout) -> list[str]:
    """The command line of a program.

    Raises:
        NotAtHandError: It is not among the binaries.
    """
    return [str(binaries.path(name)), *PROGRAMS[name](at)]
