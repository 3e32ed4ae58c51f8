"""Where the API server is and who we are to it, as kubernetes-asyncio reads it."""

import ssl
from collections.abc import Awaitable, Callable
from os import environ, pathsep
from pathlib import Path
from typing import Final

from kubernetes_asyncio.client import Configuration
from kubernetes_asyncio.config import ConfigException, load_incluster_config, load_kube_config
from yaml import YAMLError

Load = Callable[[], Awaitable[Configuration]]
"""Reads anew where the server is and what we show it; awaited on an asyncio loop."""

_DEFAULT_KUBECONFIG: Final = Path("~/.kube/config")
_UNREADABLE: Final = (
    ConfigException,
    OSError,
    ValueError,
    YAMLError,
    # What the library meets a file with that is YAML, but no kubeconfig.
    AssertionError,
    AttributeError,
    LookupError,
    TypeError,
)


class AccessError(Exception):
    """It can't be read where the API server is, or who we are to it."""


def kubeconfig(path: str, context: str | None = None) -> Load:
    """As this file says, in its current context or the one named. Several paths are joined as in KUBECONFIG."""

    async def load() -> Configuration:
        configuration = Configuration()
        if not _any_is_there(path):
            raise AccessError(f"{path} can't be used: there is no such file")
        try:
            await load_kube_config(config_file=path, context=context, client_configuration=configuration)
        except _UNREADABLE as error:
            raise AccessError(f"{path} can't be used: {error}") from error
        return configuration

    return load


def _any_is_there(paths: str) -> bool:
    return any(Path(path).expanduser().exists() for path in paths.split(pathsep))


def in_cluster() -> Load:
    """As the pod's ServiceAccount. Its token is read again every minute."""

    async def load() -> Configuration:
        configuration = Configuration()
        try:
            load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
        except _UNREADABLE as error:
            raise AccessError(f"no kubeconfig is given, and this is no pod of a cluster: {error}") from error
        return configuration

    return load


def found(path: str | None = None) -> Load:
    """By this file; without one, by KUBECONFIG, as the pod that this is, or by ~/.kube/config: the first there is."""
    if named := path or environ.get("KUBECONFIG"):
        return kubeconfig(named)
    default = _DEFAULT_KUBECONFIG.expanduser()
    if "KUBERNETES_SERVICE_HOST" not in environ and default.exists():
        return kubeconfig(str(default))
    return in_cluster()


def tls(configuration: Configuration) -> ssl.SSLContext:
    """What a TLS connection to this server checks and shows.

    Raises:
        AccessError: A certificate or key can't be read.
    """
    try:
        context = ssl.create_default_context(cafile=configuration.ssl_ca_cert)
        if configuration.cert_file:
            context.load_cert_chain(configuration.cert_file, keyfile=configuration.key_file)
    except (OSError, ValueError) as error:
        raise AccessError(f"the certificates for {configuration.host} can't be used: {error}") from error
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if configuration.disable_strict_ssl_verification:
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context
