"""Accepts connections from one listener as long as the server runs, also after an error with one of them.

A connection has its slot from the moment it is accepted, also during its TLS handshake. asyncio's own servers have no such
limit; uvloop's server ends when ``accept`` fails because there is no file descriptor left.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import sys

from vaultwire.transports.http_server.connection import Connection
from vaultwire.transports.http_server.slots import Slots, address_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from vaultwire.transports.http_server.interfaces import OwningServer
    from vaultwire.transports.http_server.settings import Endpoint

_BACKLOG = 1024
# Until the next attempt when there is no file descriptor left. One may be free at any time, and an attempt costs little.
_PAUSE_SECONDS = 0.1
_NO_DESCRIPTOR = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
# For a client to answer the end of TLS; asyncio would wait 30 seconds.
_SHUTDOWN_SECONDS = 1.0


def most_connections(wanted: int) -> int:
    """Return how many connections there may be. Half of the files the process may open are left for notes and the index."""
    if sys.platform == "win32":
        return wanted
    import resource  # noqa: PLC0415 - not on Windows

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return wanted if soft == resource.RLIM_INFINITY else max(1, min(wanted, soft // 2))


class Acceptor:
    """Accepts the connections of one listener."""

    def __init__(self, server: OwningServer, endpoint: Endpoint, slots: Slots) -> None:
        self._server = server
        self._endpoint = endpoint
        self._listener = endpoint.listener
        self._slots = slots
        self._entering: set[asyncio.Task[None]] = set()
        self._listener.setblocking(False)
        self._listener.listen(_BACKLOG)
        self._accepting = server.loop.create_task(self._accept_all())

    async def end(self) -> None:
        """Accept no more, and drop the connections that are still at their TLS handshake."""
        tasks = (self._accepting, *self._entering)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._listener.close()

    async def _accept_all(self) -> None:
        while True:
            try:
                accepted, peer = await self._server.loop.sock_accept(self._listener)
            except OSError as error:
                if error.errno in _NO_DESCRIPTOR:
                    self._slots.close_one()
                # Otherwise the client has left again, or a firewall of the system has refused it.
                await asyncio.sleep(_PAUSE_SECONDS)
                continue
            try:
                self._start(accepted, peer)
            except OSError:  # the client has left
                accepted.close()
            # Where more clients wait, accept returns at once. Connections that were closed need a turn to close their files.
            await asyncio.sleep(0)

    def _start(self, accepted: socket.socket, peer: Any) -> None:
        accepted.setblocking(False)
        if accepted.family != getattr(socket, "AF_UNIX", None):
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = Connection(self._server, self._endpoint, address_of(peer), self._slots)
        connection.is_refused = not self._slots.enter(connection)
        if connection.is_refused and self._endpoint.tls is not None:  # a TLS handshake costs more than a new attempt
            accepted.close()
            return
        task = self._server.loop.create_task(self._enter(connection, accepted))
        connection.entering = task
        self._entering.add(task)
        task.add_done_callback(self._entering.discard)

    async def _enter(self, connection: Connection, accepted: socket.socket) -> None:
        handshake = None if self._endpoint.tls is None else self._server.limits.head
        shutdown = None if self._endpoint.tls is None else _SHUTDOWN_SECONDS
        try:
            await self._server.loop.connect_accepted_socket(
                lambda: connection,
                accepted,
                ssl=self._endpoint.tls,
                ssl_handshake_timeout=handshake,
                ssl_shutdown_timeout=shutdown,
            )
        except asyncio.CancelledError:
            if connection.transport is not None:  # uvloop closes the socket and does not say so
                connection.connection_lost(None)
            raise
        except Exception:  # noqa: BLE001, S110 - not TLS, too slow, or gone: there is nobody to tell
            pass
        finally:
            connection.entering = None
            if connection.transport is None:
                accepted.close()
                self._slots.leave(connection)
