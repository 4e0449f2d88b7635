"""All connections of one listener: their number, the clock they are under, and their end when a signal comes."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from typing import Any, NamedTuple

from vaultwire.transports.http_server.arrivals import Arrivals, most_connections
from vaultwire.transports.http_server.at_once import begin_at_once
from vaultwire.transports.http_server.places import Places

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    import ssl
    from collections.abc import Awaitable, Callable, Coroutine, Sequence

    from vaultwire.transports import App
    from vaultwire.transports.http_server.connection import Connection

# How often there is a look at who takes too long.
_LOOK_SECONDS = 1.0
# Python lets a thread that searches go on for 5 ms when the loop's has something to do, which is at every byte that comes.
_SWITCH_SECONDS = 0.0005
_SIGNALS = ("SIGTERM", "SIGINT", "SIGHUP", "SIGBREAK")


class Limits(NamedTuple):
    """How much a client may take of the server's patience; in seconds, but for ``connections``."""

    # Each is an open file, of which there are never more than half as many as the process may have (``arrivals``).
    connections: int = 200
    # From the first byte of a request to the end of its head: a few hundred bytes over the slowest line.
    head: float = 10.0
    # For the body after that: 16 MiB over a line of 2 Mbit/s.
    body: float = 70.0
    # Between two requests, as proxies have it: a connection that is idle costs nothing.
    idle: float = 75.0
    # With bytes waiting for a client that takes none of them.
    stalled: float = 30.0
    # At the end, for calls in flight: a little longer than the longest may take (``trust.limits``).
    grace: int = 65


def run(
    app: App,
    listener: socket.socket,
    tls: ssl.SSLContext | None,
    on_ready: Callable[[], None],
    on_stop: Callable[[], Awaitable[None]],
    limits: Limits,
    beside: tuple[App, socket.socket] | None = None,
    refusal_headers: Sequence[tuple[bytes, bytes]] = (),
) -> None:
    """Serve until SIGTERM, SIGINT or SIGHUP; then finish what is in flight and return. A second signal does not wait.

    ``on_ready`` is called once connections are taken, ``on_stop`` when no more are: it ends what would go on for ever.
    ``beside`` is what answers, without TLS, at another socket, one in the file system. ``refusal_headers`` go with answers
    that are given before ``app`` hears of a request.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        server = Server(app, limits, is_tls=tls is not None, refusal_headers=refusal_headers)
        runner.run(server.serve(listener, tls, on_ready, on_stop, beside))


def run_aside(
    app: App,
    listener: socket.socket,
    on_ready: Callable[[Callable[[], None]], None],
    on_stop: Callable[[], Awaitable[None]],
    limits: Limits,
) -> None:
    """Serve on a thread of a process whose signals are somebody else's. As ``run``, without TLS.

    ``on_ready`` is given what ends it, from any thread; a second call does not wait.
    """
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        server = Server(app, limits, is_tls=False, heeds_signals=False)
        runner.run(server.serve(listener, None, lambda: on_ready(server.stop), on_stop))


class Server:
    """All connections of one listener, and their end."""

    def __init__(
        self,
        app: App,
        limits: Limits,
        *,
        is_tls: bool,
        heeds_signals: bool = True,
        refusal_headers: Sequence[tuple[bytes, bytes]] = (),
    ) -> None:
        self.app = app
        self.refusal_lines = b"".join(b"%s: %s\r\n" % header for header in refusal_headers)
        self._heeds_signals = heeds_signals
        self.limits = limits
        self.scheme = "https" if is_tls else "http"
        self.connections: set[Connection] = set()
        self.tasks: set[asyncio.Task[None]] = set()
        self.is_ending = False
        self.date = b""  # as a line of an answer's head

    async def serve(
        self,
        listener: socket.socket,
        tls: ssl.SSLContext | None,
        on_ready: Callable[[], None],
        on_stop: Callable[[], Awaitable[None]],
        beside: tuple[App, socket.socket] | None = None,
    ) -> None:
        """Take connections until a signal comes, then finish what there is."""
        loop = self.loop = asyncio.get_running_loop()
        self._told, self._empty = asyncio.Event(), asyncio.Event()
        if self._heeds_signals:
            self._heed_signals()
        most = most_connections(self.limits.connections)
        arrivals = [Arrivals(self, listener, tls, Places(most))]
        if beside is not None:
            twin: Any = _Beside(self, beside[0])
            arrivals.append(Arrivals(twin, beside[1], None, Places(max(1, most // 2))))
        self._look()
        on_ready()
        await self._told.wait()
        self._told.clear()
        self.is_ending = True
        for each in arrivals:
            await each.end()
        await on_stop()
        for connection in list(self.connections):
            connection.end()
        self.look_for_end()
        waits = [loop.create_task(event.wait()) for event in (self._empty, self._told)]
        await asyncio.wait(waits, timeout=self.limits.grace, return_when=asyncio.FIRST_COMPLETED)
        for connection in list(self.connections):
            connection.transport.abort()
        for task in (*waits, *self.tasks):
            task.cancel()
        await asyncio.gather(*waits, *self.tasks, return_exceptions=True)

    def stop(self) -> None:
        """Do what a signal would have it do. From any thread."""
        try:
            self.loop.call_soon_threadsafe(self._told.set)
        except RuntimeError:  # it has ended
            pass

    def see_through(self, left: Coroutine[Any, Any, None]) -> None:
        """Have what is left of a request be done, from here on or when it can be."""
        task = begin_at_once(left, self.loop)
        if task is not None:
            self.tasks.add(task)
            task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[None]) -> None:
        self.tasks.discard(task)
        self.look_for_end()

    def look_for_end(self) -> None:
        """Take note that something has ended: at the end, all has."""
        if self.is_ending and not self.connections and not self.tasks:
            self._empty.set()

    def _look(self) -> None:
        """Look at all connections, and again after a while."""
        self.date = time.strftime("date: %a, %d %b %Y %H:%M:%S GMT\r\n", time.gmtime()).encode("ascii")
        now = time.monotonic()
        for connection in list(self.connections):
            connection.look(now)
        self.loop.call_later(_LOOK_SECONDS, self._look)

    def _heed_signals(self) -> None:
        for name in _SIGNALS:
            number = getattr(signal, name, None)
            if number is None:
                continue
            try:
                self.loop.add_signal_handler(number, self._told.set)
            except NotImplementedError:  # Windows
                signal.signal(number, lambda *_: self.loop.call_soon_threadsafe(self._told.set))


class _Beside:
    """The server as connections at another socket see it, whose requests another callable answers."""

    def __init__(self, server: Server, app: App) -> None:
        self._server = server
        self.app = app

    def __getattr__(self, name: str) -> Any:
        return getattr(self._server, name)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return what makes the fastest event loop there is; None for Python's own."""
    try:
        from uvloop import new_event_loop  # noqa: PLC0415 - not on Windows
    except ImportError:
        return None
    return new_event_loop
