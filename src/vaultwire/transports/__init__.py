"""Bytes on wires, one module a wire. The network doors are ASGI callables; how ASGI looks to the type checker is below.

Besides what ASGI has, a scope may say two things, which a door need not look at and other servers do not say, and a
callable that has answered by the time it returns may return ``DONE``, so that nobody has to wait for it:
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator
    from typing import Any, Protocol, TypeAlias

    Scope: TypeAlias = dict[str, Any]
    Message: TypeAlias = dict[str, Any]
    Receive: TypeAlias = Callable[[], Awaitable[Message]]
    Send: TypeAlias = Callable[[Message], Awaitable[None]]
    App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

    class AtOnce(Protocol):
        """A shorter way for the usual request, whose body is there and whose answer is one piece, now or a little later."""

        besides: bytes
        """Headers that go with such an answer, whoever gives it, as they go onto the wire."""
        status: int
        """That of the answer, 0 as long as none was given this way."""

        def body(self) -> bytes | None:
            """Return the whole body, None if it has to be waited for (``receive``). Once."""

        def reply(self, status: int, lines: bytes, body: bytes) -> bool:
            """Answer; False if that has to be waited for, or is no answer of this kind (``send``).

            ``lines`` are headers as they go onto the wire, but for the body's length.
            """

        def put_off(self) -> None:
            """Have what the callable returns begun only at ``go_on``: a task that waits costs more than most answers."""

        def go_on(self) -> None:
            """Have it begun, if it is not. This also comes when the client has left, and after a second or so."""


MEMO = "vaultwire.memo"
"""A dictionary that requests of one connection share whose heads are alike to the byte, as most are: for what follows from
the head alone, under the name of who found it."""

AT_ONCE = "vaultwire.at_once"
"""An ``AtOnce``."""


class _Done:
    def __await__(self) -> Generator[Any, None, None]:
        yield from ()


DONE: Awaitable[None] = _Done()
"""Nothing is left to wait for."""
