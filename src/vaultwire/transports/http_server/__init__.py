"""An ASGI server for HTTP/1.1 and WebSockets. Not what is answered (the app), nor where to listen (``listening``).

Everything beyond one request and its answer is decided here, because only here are there bytes: how slowly a client may send
and read, how much may come before it is understood, and how all of it ends. ``connection`` is one connection; ``websocket`` is
loaded by those that serve one. This module accepts the connections of all endpoints on one event loop, watches them, and ends
them when a signal comes.

Anybody can open connections, also without a key. So a silent client keeps no slot: when all slots are taken, the new
connection gets the slot of one that is idle, first of those that never got an answer. A connection has its slot from the
moment it is accepted, also during its TLS handshake. asyncio's own servers have no such limit; uvloop's server ends when
``accept`` fails because there is no file descriptor left.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import signal
import socket
import sys
import threading
import time

from vaultwire.transports import call_on_loop
from vaultwire.transports.http_server.connection import Connection, Endpoint, Limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
    from typing import Any, Protocol

    class SlotUser(Protocol):
        """A connection, or one that is still at its TLS handshake."""

        address: str
        """Where its client is, as ``address_of`` names it."""
        idle_since: float

        @property
        def is_idle(self) -> bool:
            """Whether no request of it is worked on."""

        @property
        def was_served(self) -> bool:
            """Whether it has got an answer that was no refusal."""

        def hang_up(self) -> None:
            """Close at once."""


__all__ = ["Endpoint", "Limits", "run"]

LOCAL = ""
"""The address of this computer's own programs. They may take all slots: a proxy here brings the requests of all others."""

# How often to look for clients that take too long.
_CHECK_SECONDS = 1.0
_SIGNALS = ("SIGTERM", "SIGINT", "SIGHUP", "SIGBREAK")
_BACKLOG = 1024
# Until the next attempt when there is no file descriptor left. One may be free at any time, and an attempt costs little.
_PAUSE_SECONDS = 0.1
_NO_DESCRIPTOR = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
# For a client to answer the end of TLS; asyncio would wait 30 seconds.
_SHUTDOWN_SECONDS = 1.0


def run(
    endpoints: Sequence[Endpoint],
    on_ready: Callable[[Callable[[], None]], None],
    on_stop: Callable[[], Awaitable[None]],
    limits: Limits,
) -> None:
    """Serve until told to end; then finish what is in flight and return. Being told a second time does not wait.

    ``on_ready`` is called once connections are accepted, with the function that ends the server, from any thread.
    ``on_stop`` is called once no more are accepted: it ends what would never end. On the main thread, SIGTERM, SIGINT and
    SIGHUP end the server, too; a SIGHUP that is ignored at the start, as ``nohup`` does it, stays ignored.
    """
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(Server(limits).serve(endpoints, on_ready, on_stop))
    finally:
        for endpoint in endpoints:
            endpoint.listener.close()


class Server:
    """All connections, and their end."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.connections: set[Connection] = set()
        self.is_ending = False
        self.date = b""  # as a line of an answer's head
        self.tasks: set[asyncio.Task[None]] = set()
        self._slots = Slots(most_connections(limits.connections))
        self._entering: set[asyncio.Task[None]] = set()

    async def serve(
        self,
        endpoints: Sequence[Endpoint],
        on_ready: Callable[[Callable[[], None]], None],
        on_stop: Callable[[], Awaitable[None]],
    ) -> None:
        """Accept connections until told to end, then finish what is in flight."""
        loop = self.loop = asyncio.get_running_loop()
        self._stop, self._empty = asyncio.Event(), asyncio.Event()
        if threading.current_thread() is threading.main_thread():
            self._handle_signals()
        for endpoint in endpoints:
            endpoint.listener.setblocking(False)
            endpoint.listener.listen(_BACKLOG)
        accepting = [loop.create_task(self._accept_all(endpoint)) for endpoint in endpoints]
        self._check_connections()
        on_ready(lambda: call_on_loop(loop, self._stop.set))
        await self._stop.wait()
        self._stop.clear()
        self.is_ending = True
        entering = (*accepting, *self._entering)  # those that are still at their TLS handshake are dropped
        for task in entering:
            task.cancel()
        await asyncio.gather(*entering, return_exceptions=True)
        for endpoint in endpoints:
            endpoint.listener.close()
        await on_stop()
        for connection in list(self.connections):
            connection.end()
        self._look_for_end()
        waits: list[asyncio.Task[Any]] = [loop.create_task(event.wait()) for event in (self._empty, self._stop)]
        await asyncio.wait(waits, timeout=self.limits.grace, return_when=asyncio.FIRST_COMPLETED)
        for connection in list(self.connections):
            connection.transport.abort()
        for task in (*waits, *self.tasks):
            task.cancel()
        await asyncio.gather(*waits, *self.tasks, return_exceptions=True)

    # ------------------------------------------------------------------ connections come

    async def _accept_all(self, endpoint: Endpoint) -> None:
        """Accept the connections of one listener, also after an error with one of them."""
        while True:
            try:
                accepted, peer = await self.loop.sock_accept(endpoint.listener)
            except OSError as error:
                if error.errno in _NO_DESCRIPTOR:
                    self._slots.close_one()
                # Otherwise the client has left again, or a firewall of the system has refused it.
                await asyncio.sleep(_PAUSE_SECONDS)
                continue
            try:
                self._start(endpoint, accepted, peer)
            except OSError:  # the client has left
                accepted.close()
            # Where more clients wait, accept returns at once. Connections that were closed need a turn to close their files.
            await asyncio.sleep(0)

    def _start(self, endpoint: Endpoint, accepted: socket.socket, peer: Any) -> None:
        accepted.setblocking(False)
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = Connection(self, endpoint, address_of(peer))
        connection.is_refused = not self._slots.enter(connection)
        if connection.is_refused and endpoint.tls is not None:  # a TLS handshake costs more than a new attempt
            accepted.close()
            return
        task = self.loop.create_task(self._enter(endpoint, connection, accepted))
        connection.entering = task
        self._entering.add(task)
        task.add_done_callback(self._entering.discard)

    async def _enter(self, endpoint: Endpoint, connection: Connection, accepted: socket.socket) -> None:
        try:
            await self.loop.connect_accepted_socket(
                lambda: connection,
                accepted,
                ssl=endpoint.tls,
                ssl_handshake_timeout=None if endpoint.tls is None else self.limits.head,
                ssl_shutdown_timeout=None if endpoint.tls is None else _SHUTDOWN_SECONDS,
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

    # ------------------------------------------------------------------ connections and tasks go

    def opened(self, connection: Connection) -> None:
        """Note that a connection has its transport."""
        self.connections.add(connection)

    def closed(self, connection: Connection) -> None:
        """Note that a connection is lost: its slot is free."""
        self.connections.discard(connection)
        self._slots.leave(connection)
        self._look_for_end()

    def start_task(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine as a task that the end waits for."""
        task = self.loop.create_task(coroutine)
        self.tasks.add(task)
        task.add_done_callback(self._forget_task)

    def _forget_task(self, task: asyncio.Task[None]) -> None:
        self.tasks.discard(task)
        self._look_for_end()

    def _look_for_end(self) -> None:
        """When the server is ending and nothing is left, it has ended."""
        if self.is_ending and not self.connections and not self.tasks:
            self._empty.set()

    def _check_connections(self) -> None:
        """Check all connections for clients that take too long, and again in a second."""
        self.date = time.strftime("date: %a, %d %b %Y %H:%M:%S GMT\r\n", time.gmtime()).encode("ascii")
        now = time.monotonic()
        for connection in list(self.connections):
            connection.check_time(now)
        self.loop.call_later(_CHECK_SECONDS, self._check_connections)

    def _handle_signals(self) -> None:
        for name in _SIGNALS:
            number = getattr(signal, name, None)
            if number is None or (name == "SIGHUP" and signal.getsignal(number) is signal.SIG_IGN):
                continue  # a person who uses nohup wants it to outlive the terminal
            try:
                self.loop.add_signal_handler(number, self._stop.set)
            except NotImplementedError:  # Windows
                signal.signal(number, lambda *_: self.loop.call_soon_threadsafe(self._stop.set))


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return what makes the fastest event loop there is; None for Python's own."""
    try:
        from uvloop import new_event_loop  # noqa: PLC0415 - not on Windows
    except ImportError:
        return None
    return new_event_loop


def most_connections(limit: int) -> int:
    """Return how many connections there may be. Half of the files the process may open are left for notes and the index."""
    if sys.platform == "win32":
        return limit
    import resource  # noqa: PLC0415 - not on Windows

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return limit if soft == resource.RLIM_INFINITY else max(1, min(limit, soft // 2))


def address_of(peer: tuple[Any, ...]) -> str:
    """Return where a client is, from its socket's address. Addresses that one client can choose from count as one."""
    address = ipaddress.ip_address(peer[0].partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        mapped = address.ipv4_mapped
        if mapped is None and not address.is_loopback:
            return str(ipaddress.ip_network((int(address) >> 64 << 64, 64)))  # what one customer of a network gets
        address = mapped or address
    return LOCAL if address.is_loopback else str(address)


class Slots:
    """The connections that have a slot, by their clients' addresses."""

    def __init__(self, most: int) -> None:
        """``most``: connections in all. One other computer may have half of them."""
        self.most = most
        self._most_each = max(1, most // 2)
        self._users: dict[str, set[SlotUser]] = {}
        self._count = 0

    def enter(self, user: SlotUser) -> bool:
        """Give a slot to a new connection; return False if none can be closed for it, because all wait for answers."""
        same = self._users.setdefault(user.address, set())
        room = True
        if user.address != LOCAL and len(same) >= self._most_each:
            room = self._close_one(same)
        elif self._count >= self.most:
            room = self.close_one()
        if room:  # ``same`` may be empty now, and no longer in ``_users``
            self._users.setdefault(user.address, set()).add(user)
            self._count += 1
        elif not same:
            self._users.pop(user.address, None)
        return room

    def leave(self, user: SlotUser) -> None:
        """Take the slot back, if that has not been done."""
        same = self._users.get(user.address, set())
        if user in same:
            same.remove(user)
            self._count -= 1
            if not same:
                del self._users[user.address]

    def close_one(self) -> bool:
        """Close the connection that needs its slot least; return False if all need theirs."""
        return self._close_one(user for users in self._users.values() for user in users)

    def _close_one(self, users: Iterable[SlotUser]) -> bool:
        idle = (user for user in users if user.is_idle)
        least = min(idle, key=lambda user: (user.was_served, user.idle_since), default=None)
        if least is None:
            return False
        self.leave(least)
        least.hang_up()
        return True
