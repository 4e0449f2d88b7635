"""All connections of a server: the clock that watches them, and their end when a signal comes."""

from __future__ import annotations

import asyncio
import signal
import time

from vaultwire.transports import call_on_loop
from vaultwire.transports.http_server.acceptor import Acceptor, most_connections
from vaultwire.transports.http_server.slots import Slots

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine
    from typing import Any

    from vaultwire.transports.http_server.connection import Connection
    from vaultwire.transports.http_server.settings import Endpoint, Limits

# How often to look for clients that take too long.
_CHECK_SECONDS = 1.0
_SIGNALS = ("SIGTERM", "SIGINT", "SIGHUP", "SIGBREAK")


def run(
    endpoint: Endpoint,
    on_ready: Callable[[], None],
    on_stop: Callable[[], Awaitable[None]],
    limits: Limits,
) -> None:
    """Serve until SIGTERM, SIGINT or SIGHUP; then finish what is in flight and return. A second signal does not wait.

    A SIGHUP that is ignored at the start, as ``nohup`` does it, stays ignored.

    ``on_ready`` is called once connections are accepted, ``on_stop`` once no more are: it ends what would never end.
    """
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(Server(limits).serve(endpoint, on_ready, on_stop))


def run_beside(
    endpoint: Endpoint,
    on_ready: Callable[[Callable[[], None]], None],
    on_stop: Callable[[], Awaitable[None]],
    limits: Limits,
) -> None:
    """Serve as ``run`` does, on a thread of a process that handles its signals itself.

    ``on_ready`` gets the function that ends the server, from any thread. A second call of it does not wait.
    """
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        server = Server(limits, handles_signals=False)
        runner.run(server.serve(endpoint, lambda: on_ready(server.stop), on_stop))


class Server:
    """All connections, and their end."""

    def __init__(self, limits: Limits, *, handles_signals: bool = True) -> None:
        self.limits = limits
        self.connections: set[Connection] = set()
        self.is_ending = False
        self.date = b""  # as a line of an answer's head
        self._handles_signals = handles_signals
        self.tasks: set[asyncio.Task[None]] = set()

    async def serve(
        self, endpoint: Endpoint, on_ready: Callable[[], None], on_stop: Callable[[], Awaitable[None]]
    ) -> None:
        """Accept connections until a signal comes, then finish what is in flight."""
        loop = self.loop = asyncio.get_running_loop()
        self._stop, self._empty = asyncio.Event(), asyncio.Event()
        if self._handles_signals:
            self._handle_signals()
        acceptor = Acceptor(self, endpoint, Slots(most_connections(self.limits.connections)))
        self._check_connections()
        on_ready()
        await self._stop.wait()
        self._stop.clear()
        self.is_ending = True
        await acceptor.end()
        await on_stop()
        for connection in list(self.connections):
            connection.end()
        self.look_for_end()
        waits = [loop.create_task(event.wait()) for event in (self._empty, self._stop)]
        await asyncio.wait(waits, timeout=self.limits.grace, return_when=asyncio.FIRST_COMPLETED)
        for connection in list(self.connections):
            connection.transport.abort()
        for task in (*waits, *self.tasks):
            task.cancel()
        await asyncio.gather(*waits, *self.tasks, return_exceptions=True)

    def stop(self) -> None:
        """End the server as a signal would. From any thread."""
        call_on_loop(self.loop, self._stop.set)

    def start_task(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine as a task that the end waits for."""
        task = self.loop.create_task(coroutine)
        self.tasks.add(task)
        task.add_done_callback(self._forget_task)

    def _forget_task(self, task: asyncio.Task[None]) -> None:
        self.tasks.discard(task)
        self.look_for_end()

    def look_for_end(self) -> None:
        """Note that something has ended. When the server is ending and nothing is left, it has ended."""
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
