"""Bytes on wires, one module a wire. The network doors are ASGI callables; how ASGI looks to the type checker is below.

Besides what ASGI has, a scope may say two things, which a door need not look at and other servers do not say:
"""

MEMO = "vaultwire.memo"
"""A dictionary that requests of one connection share whose heads are alike to the byte, as most are: for what follows from
the head alone, under the name of who found it."""

AT_ONCE = "vaultwire.at_once"
"""An ``AtOnce``."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable
    from typing import Any, Protocol, TypeAlias

    Scope: TypeAlias = dict[str, Any]
    Message: TypeAlias = dict[str, Any]
    Receive: TypeAlias = Callable[[], Awaitable[Message]]
    Send: TypeAlias = Callable[[Message], Awaitable[None]]
    App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

    class AtOnce(Protocol):
        """A shorter way for the usual request, whose body is there and whose answer is one piece."""

        def body(self) -> bytes | None:
            """Return the whole body, None if it has to be waited for (``receive``). Once."""

        def reply(self, status: int, headers: Iterable[tuple[bytes, bytes]], body: bytes) -> bool:
            """Answer; False if that has to be waited for (``send``). ``headers`` say how long the body is."""
