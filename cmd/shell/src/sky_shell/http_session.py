"""Requests and watches over HTTP; everything here runs on the asyncio loop of the bridge."""

import asyncio
import contextlib
import ssl
from collections.abc import Mapping
from functools import lru_cache
from typing import Final
from urllib.parse import urlencode

import aiohttp
import msgspec
from aiohttp.connector import Connection
from kubernetes_asyncio.client import Configuration
from yarl import URL

from sky_shell.access import AccessError, Load, tls
from sky_shell.deadlines import Deadlines
from sky_shell.transport import FencedError, Response, TransportError, fence

CONNECT_SECONDS: Final = 5.0
KEEP_ALIVE_SECONDS: Final = 60.0
CONNECTIONS: Final = 100
LINE_BYTES_MAX: Final = 16 << 20
"""Of one event of a watch; etcd holds no object of a tenth of it."""
HELPING_SECONDS: Final = 0.05
"""Between two helpings of a watch: what comes meanwhile comes together, for it is the helping that costs."""
RENEW_SECONDS: Final = 10.0
"""How often at most access is read anew, should a server go on to refuse us."""

_READ_BYTES: Final = 2 << 20
_UNTRUSTED: Final = (aiohttp.ClientConnectorSSLError, aiohttp.ClientConnectorCertificateError)
"""Raised before anything is sent."""


class _NoPermitError(Exception):
    """Crosses aiohttp as it is, which takes an OSError for the connection's."""


_NO_ANSWER: Final = (aiohttp.ClientError, asyncio.TimeoutError, OSError, _NoPermitError)


class _Fenced(aiohttp.ClientRequest):
    """A request that asks the permit of its context when it has its connection and is about to be written.

    aiohttp's tracing would tell of the same moment, and of all others, which costs a fifth of a request.
    """

    async def send(self, conn: Connection) -> aiohttp.ClientResponse:
        permit = fence.get()
        if permit is not None and not permit():
            raise _NoPermitError
        return await super().send(conn)


class Asked(msgspec.Struct, frozen=True):
    """A request, sent under the permit of the context in which it is made."""

    method: str
    path: str
    query: Mapping[str, str]
    body: bytes | None = None
    content_type: str | None = None


class Access(msgspec.Struct, frozen=True):
    """Where the server is and who we are to it, until it is read anew."""

    root: URL
    configuration: Configuration
    tls: ssl.SSLContext

    @classmethod
    async def read(cls, load: Load) -> "Access":
        """As it is written now.

        Raises:
            AccessError: It can't be read.
        """
        configuration = await load()
        if configuration.host is None:
            raise AccessError("no server is named")
        try:
            root = URL(configuration.host, encoded=True)
        except ValueError as error:
            raise AccessError(f"{configuration.host} is no server's address: {error}") from error
        return cls(root, configuration, tls(configuration))

    def url(self, asked: Asked) -> URL:
        """Of what is asked, put together: to take a text apart costs several times as much."""
        root = self.root
        return URL.build(
            scheme=root.scheme,
            authority=root.raw_authority,
            path=root.raw_path.rstrip("/") + asked.path,
            query_string=_encoded(*asked.query.items()),
            encoded=True,
        )


class HttpSession:
    """The connections to one API server."""

    def __init__(self, load: Load, access: Access, agent: str) -> None:
        """See `open`."""
        self._load = load
        self._access = access
        self._read_at = float("-inf")
        self._reading = asyncio.Lock()
        self._deadlines = Deadlines()
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=CONNECTIONS, keepalive_timeout=KEEP_ALIVE_SECONDS),
            # An environment's proxies and netrc are looked up for every request, which doubles its cost.
            trust_env=False,
            read_bufsize=_READ_BYTES,
            # Inside a cluster bytes are cheaper than compressing them, for both sides.
            headers={"User-Agent": agent, "Accept": "application/json", "Accept-Encoding": "identity"},
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
            request_class=_Fenced,
        )
        # aiohttp repeats a PUT or DELETE by itself when a kept connection turns out to be closed.
        self._session._retry_connection = False

    @classmethod
    async def open(cls, load: Load, agent: str) -> "HttpSession":
        """Connections to the server that `load` names.

        Raises:
            AccessError: What it reads can't be used.
        """
        return cls(load, await Access.read(load), agent)

    async def close(self) -> None:
        """Drop every connection."""
        await self._session.close()

    async def ask(self, asked: Asked, seconds: float) -> Response:
        """The whole answer, if it comes within so many seconds.

        Raises:
            TransportError: There is none.
        """
        try:
            with self._deadlines.within(seconds):
                answer = await self._answer(asked)
                body = await answer.read()  # which gives the connection back, or closes it
        except _NO_ANSWER as error:
            raise _no_answer(asked, error) from error
        return Response(answer.status, body, answer.headers)

    async def watch(self, asked: Asked) -> "HttpLines":
        """An answer of which only the head is there, and that may have no end; to be closed.

        Raises:
            TransportError: There is none.
        """
        try:
            return HttpLines(await self._answer(asked), asked)
        except _NO_ANSWER as error:
            raise _no_answer(asked, error) from error

    async def _answer(self, asked: Asked) -> aiohttp.ClientResponse:
        """As the server says; if it doesn't know us or we don't know it, as it says to what is read anew."""
        access = self._access
        try:
            answer = await self._send(access, asked)
        except _UNTRUSTED:
            if not await self._renew(access):
                raise
        else:
            if answer.status != 401 or not await self._renew(access):
                return answer
            answer.release()
        return await self._send(self._access, asked)

    async def _send(self, access: Access, asked: Asked) -> aiohttp.ClientResponse:
        configuration = access.configuration
        headers = {} if asked.content_type is None else {"Content-Type": asked.content_type}
        for setting in (await configuration.auth_settings()).values():
            headers[setting["key"]] = setting["value"]
        return await self._session.request(
            asked.method,
            access.url(asked),
            data=asked.body,
            headers=headers,
            ssl=access.tls,
            server_hostname=configuration.tls_server_name,
            proxy=configuration.proxy,
            proxy_headers=configuration.proxy_headers,
            allow_redirects=False,
        )

    async def _renew(self, refused: Access) -> bool:
        """Whether there is another access than the one refused."""
        now = asyncio.get_running_loop().time()
        async with self._reading:
            if self._access is refused and now - self._read_at >= RENEW_SECONDS:
                self._read_at = now
                with contextlib.suppress(AccessError):
                    self._access = await Access.read(self._load)
            return self._access is not refused


class HttpLines:
    """A watch as aiohttp reads it. It buffers some megabytes, then the server has to wait."""

    def __init__(self, answer: aiohttp.ClientResponse, asked: Asked) -> None:
        """Of an answer whose body is still to come."""
        self._answer = answer
        self._asked = asked
        self._unfinished = bytearray()
        self._loop = asyncio.get_running_loop()
        self._next_at = self._loop.time()

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self._answer.status

    async def next_lines(self) -> list[bytes]:
        """See `sky_shell.transport.Lines`. If it is cancelled, nothing is lost."""
        if (rest := self._next_at - self._loop.time()) > 0:
            await asyncio.sleep(rest)
        lines = await self._read()
        self._next_at = self._loop.time() + HELPING_SECONDS
        return lines

    async def _read(self) -> list[bytes]:
        while chunk := await self._chunk():
            whole, newline, rest = chunk.rpartition(b"\n")
            if newline and (lines := (bytes(self._unfinished) + whole).split(b"\n")) != [b""]:
                self._unfinished = bytearray(rest)
                return [line for line in lines if line]
            self._unfinished += rest
            if len(self._unfinished) > LINE_BYTES_MAX:
                raise TransportError(f"a line of {self._asked.path} has more than {LINE_BYTES_MAX} bytes")
        return self._last()

    async def _chunk(self) -> bytes:
        try:
            return await self._answer.content.readany()
        except _NO_ANSWER as error:
            raise _no_answer(self._asked, error) from error

    def _last(self) -> list[bytes]:
        """What an answer without a final newline ends with: of a refusal that is the text, of a watch half an event."""
        rest, self._unfinished = bytes(self._unfinished), bytearray()
        if rest and self.status == 200:
            raise TransportError(f"{self._asked.path} ended within a line")
        return [rest] if rest else []

    async def close(self) -> None:
        """Drop the connection, without a farewell by TLS: a server that is gone would not answer it."""
        connection = self._answer.connection
        if connection is not None and connection.transport is not None:
            connection.transport.abort()
        self._answer.close()


def _no_answer(asked: Asked, error: Exception) -> TransportError:
    if isinstance(error, _NoPermitError):
        return FencedError()
    said = str(error) or type(error).__name__
    return TransportError(f"no answer to {asked.method} {asked.path}: {said}")


@lru_cache(maxsize=64)
def _encoded(*query: tuple[str, str]) -> str:
    return urlencode(query)
