"""Bytes on wires, one module a wire. The network doors are ASGI callables; how ASGI looks to the type checker is below."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any, TypeAlias

    Scope: TypeAlias = dict[str, Any]
    Message: TypeAlias = dict[str, Any]
    Receive: TypeAlias = Callable[[], Awaitable[Message]]
    Send: TypeAlias = Callable[[Message], Awaitable[None]]
    App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
