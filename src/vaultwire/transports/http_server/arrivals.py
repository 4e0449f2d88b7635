"""Taking connections from a listener, for as long as the server runs, whatever goes wrong with one of them.

A connection has its place from the moment it is taken, also while it is at its TLS handshake. asyncio's own servers know
of no such bounds; uvloop's ends once ``accept`` fails for want of a file descriptor.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import sys

from vaultwire.transports.http_server.connection import Connection
from vaultwire.transports.http_server.places import Places, address_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ssl
    from typing import Any

    from vaultwire.transports.http_server.shapes import Owner

_BACKLOG = 1024
# With no file descriptor left. One may be free at any time, and to ask costs little.
_PAUSE_SECONDS = 0.1
_NO_MORE = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
# A client that does not say goodbye when told so: TLS would wait half a minute for it.
_GOODBYE_SECONDS = 1.0


def most_connections(wanted: int) -> int:
    """Return how many connections there may be: half of the files the process may open are left for notes and the index."""
    if sys.platform == "win32":
        return wanted
    import resource  # noqa: PLC0415 - not on Windows

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return wanted if soft == resource.RLIM_INFINITY else max(1, min(wanted, soft // 2))


class Arrivals:
    """One listener, and who comes in by it."""

    def __init__(self, server: Owner, listener: socket.socket, tls: ssl.SSLContext | None, places: Places) -> None:
        self._server = server
        self._listener = listener
        self._tls = tls
        self._places = places
        self._entering: set[asyncio.Task[None]] = set()
        listener.setblocking(False)
        listener.listen(_BACKLOG)
        self._taking = server.loop.create_task(self._take_all())

    async def end(self) -> None:
        """Take no more, and let go of those that are not in yet."""
        tasks = (self._taking, *self._entering)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._listener.close()

    async def _take_all(self) -> None:
        while True:
            try:
                taken, peer = await self._server.loop.sock_accept(self._listener)
            except OSError as error:
                if error.errno in _NO_MORE:
                    self._places.let_one_go()
                # Otherwise a client that has left again, or what some system's firewall says.
                await asyncio.sleep(_PAUSE_SECONDS)
                continue
            try:
                self._take(taken, peer)
            except OSError:  # it has left by now
                taken.close()
            # Where more wait, accept does not: those that had to make room must close their files in between.
            await asyncio.sleep(0)

    def _take(self, taken: socket.socket, peer: Any) -> None:
        taken.setblocking(False)
        if taken.family != getattr(socket, "AF_UNIX", None):
            taken.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = Connection(self._server, address_of(peer), self._places)
        connection.is_refused = not self._places.enter(connection)
        if connection.is_refused and self._tls is not None:  # a handshake costs more than a new attempt
            taken.close()
            return
        task = self._server.loop.create_task(self._enter(connection, taken))
        connection.entering = task
        self._entering.add(task)
        task.add_done_callback(self._entering.discard)

    async def _enter(self, connection: Connection, taken: socket.socket) -> None:
        patience = None if self._tls is None else self._server.limits.head
        goodbye = None if self._tls is None else _GOODBYE_SECONDS
        try:
            await self._server.loop.connect_accepted_socket(
                lambda: connection,
                taken,
                ssl=self._tls,
                ssl_handshake_timeout=patience,
                ssl_shutdown_timeout=goodbye,
            )
        except asyncio.CancelledError:
            if connection.transport is not None:  # uvloop closes what it was about to hand over and tells nobody
                connection.connection_lost(None)
            raise
        except Exception:  # noqa: BLE001, S110 - no TLS, too slow, or gone: nobody is left to be told
            pass
        finally:
            connection.entering = None
            if connection.transport is None:
                taken.close()
                self._places.leave(connection)
