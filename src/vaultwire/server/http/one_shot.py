"""Requests that bring one answer and nothing else: no session, no frames, nobody to ask or to tell.

A door for such requests gets answers as they are and writes them itself. Here are also the threads that run beside the
calls of a network door: the one that keeps the index up to date, and the one that waits for the end of the process.
"""

from __future__ import annotations

import threading

from vaultwire.protocol.dialects import FOR_PROGRAMS
from vaultwire.server.outlet import Outlet
from vaultwire.server.results import Refusal, Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from vaultwire.protocol.events import Request
    from vaultwire.protocol.jsonrpc import JsonObject
    from vaultwire.server.handlers import Handlers
    from vaultwire.server.results import Answer
    from vaultwire.server.workers import Workers


def ask(workers: Workers, request: Request, on_answer: Callable[[Answer], None]) -> None:
    """Have the request answered. ``on_answer`` is called once, on any thread, and must not wait."""
    single: Any = _Single(on_answer)  # the little of a session that the workers need of one without progress
    workers.act(request, single, single)


class IndexUpdater:
    """The thread that keeps a vault's index up to date while a server runs."""

    def __init__(self, handlers: Handlers) -> None:
        self._handlers = handlers
        # Not a daemon: a thread that is stopped while it imports holds a lock that the end of the process needs.
        self._thread = threading.Thread(target=handlers.run_background, name="vaultwire-beside")

    def begin(self) -> None:
        """Start it."""
        self._thread.start()

    def end(self) -> None:
        """End it and wait for that."""
        self._handlers.close()
        if self._thread.ident is not None:
            self._thread.join()


def at_process_end(close: Callable[[], None]) -> None:
    """Have ``close`` called when the main thread has ended, before the process waits for its other threads."""

    def wait() -> None:
        threading.main_thread().join()
        close()

    threading.Thread(target=wait, name="vaultwire-end").start()


class _Single(Outlet):
    """Session and outlet of one request: the answer goes out as it is, all else nowhere."""

    dialect = FOR_PROGRAMS
    can_ask = False

    def __init__(self, on_answer: Callable[[Answer], None]) -> None:
        self._on_answer = on_answer

    def reply(self, _request: Request, value: JsonObject) -> Answer:
        return Result(value)

    def refuse(self, _request: Request, code: int, message: str, data: JsonObject | None = None) -> Answer:
        return Refusal(code, message, data)

    def answer(self, answer: Any, _code: int | None) -> None:
        self._on_answer(answer)

    def log_level(self, _request: Request) -> None:
        """Nobody listens."""

    def log(self, *_: object) -> None:
        """Nobody listens."""
