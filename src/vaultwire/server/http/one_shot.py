"""For doors where one request brings one answer and nothing else: no session, no frames, nobody to ask or to tell.

Such a door gets answers as they are and spells them itself. Also what goes on beside the calls of a network door, which
unlike that of a duplex one begins before the first call.
"""

from __future__ import annotations

import threading

from vaultwire.protocol.dialects import MCP
from vaultwire.server.results import Refusal, Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from vaultwire.protocol.events import Request
    from vaultwire.protocol.json_types import Json, JsonObject
    from vaultwire.server.handlers import Handlers
    from vaultwire.server.results import Answer
    from vaultwire.server.workers import Workers


def ask(workers: Workers, request: Request, on_answer: Callable[[Answer], None]) -> None:
    """Have the request answered. ``on_answer`` is called once, on whatever thread it may be, and must not wait."""
    single: Any = _Single(on_answer)  # the little of a session and of an outlet that the workers need
    workers.act(request, single, single)


class Tending:
    """The thread that keeps a vault's index true while a server runs."""

    def __init__(self, handlers: Handlers) -> None:
        self._handlers = handlers
        # No daemon: a thread frozen while it imports holds a lock the process's end needs.
        self._thread = threading.Thread(target=handlers.run_background, name="vaultwire-beside")

    def begin(self) -> None:
        """Start it."""
        self._thread.start()

    def end(self) -> None:
        """End it and wait for that."""
        self._handlers.close()
        if self._thread.ident is not None:
            self._thread.join()


class _Single:
    """Session and outlet of one request: what is answered goes out as it is, all else nowhere."""

    dialect = MCP
    can_ask = False

    def __init__(self, on_answer: Callable[[Answer], None]) -> None:
        self._on_answer = on_answer

    def reply(self, _request: Request, value: JsonObject) -> Answer:
        return Result(value)

    def refuse(self, _request: Request, code: int, message: str, data: JsonObject | None = None) -> Answer:
        return Refusal(code, message, data)

    def answer(self, answer: Answer, _code: int | None) -> None:
        self._on_answer(answer)

    def report(self, _request: Request, _progress: float, _total: float | None, _message: str | None) -> None:
        return None

    def log_level(self, _request: Request) -> None:
        return None

    def log(self, _request: Request, _level: str, _logger: str, _data: Json) -> None:
        return None

    def send(self, _frame: bytes) -> None:
        """Nobody listens."""

    def abandon(self) -> None:
        """Nobody cancels."""

    def hang_up(self) -> None:
        """There is one answer and it is waited for."""
