"""A server that has one answer to every request, and costs next to nothing: `python -m skyctl.bench.answering`."""

import asyncio
import sys
from typing import Final

BODY: Final = b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201}'
ANSWER: Final = (
    b"HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: " + str(len(BODY)).encode()
) + (b"\r\n\r\n" + BODY)


class Answering(asyncio.Protocol):
    """One connection, kept alive."""

    def __init__(self) -> None:
        """Nothing has been asked."""
        self._unread = b""
        self._transport: asyncio.WriteTransport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.Protocol`."""
        assert isinstance(transport, asyncio.WriteTransport)  # noqa: S101
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer each whole request."""
        self._unread += data
        while True:
            head, end, rest = self._unread.partition(b"\r\n\r\n")
            length = _length(head)
            if not end or len(rest) < length:
                return
            self._unread = rest[length:]
            self._transport.write(ANSWER)


def _length(head: bytes) -> int:
    lines = (line.partition(b":") for line in head.split(b"\r\n"))
    return next((int(value) for name, _, value in lines if name.lower() == b"content-length"), 0)


async def answer() -> None:
    """Say on which port, and answer until standard input ends."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Answering, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    ended = asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), ended.set)
    await ended.wait()
    server.close()


if __name__ == "__main__":
    asyncio.run(answer())
