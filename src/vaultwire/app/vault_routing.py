"""Which of several servers answers a request: the owner of its vault, or any. It stands behind the guard, before the doors.

A message about a session, such as a cancellation or a subscription, is for all servers: each may have a part of the session.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import starmap
from typing import Protocol
from urllib.parse import unquote, urlsplit

from vaultwire.protocol import jsonrpc
from vaultwire.protocol.http import LAST_EVENT, Headers
from vaultwire.protocol.jsonrpc import MessageError
from vaultwire.transports import PASSED_ON, call_on_loop, read_body, rest
from vaultwire.transports.joined_streams import send_first, send_joined
from vaultwire.transports.passing_on import pass_on, refuse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from vaultwire.transports import App, Message, Receive, Scope, Send
    from vaultwire.transports.joined_streams import Part

    VaultOf: TypeAlias = Callable[[str, dict[str, Any]], str | None]
    OnlyReads: TypeAlias = Callable[[str, dict[str, Any]], bool]

# For an answer that was made before a vault was closed to be on its way.
_LAST_SECONDS = 1.0
# For another server to take what it is told of a session.
_COPY_SECONDS = 2.0
# These change a session (all revisions of the handshake era).
_OF_SESSION = ("logging/setLevel", "resources/subscribe", "resources/unsubscribe")
_LISTEN = "subscriptions/listen"
_INITIALIZED = "notifications/initialized"
_TOOL_CALL = re.compile(rest.ROOT.encode() + rb"/tools/([^/]+)/call")


class _Standing(Protocol):
    @property
    def owns(self) -> bool: ...
    @property
    def address(self) -> str: ...


class _Replica(Protocol):
    """The part of this server among the others (``cluster.replica.Replica``)."""

    others: tuple[str, ...]

    def standing(self, vault: str, /) -> _Standing: ...


class Router:
    """The routes of one server. ``here``: the vaults that it answers for, with what is set when one has been closed."""

    def __init__(
        self,
        vault_of: VaultOf,
        only_reads: OnlyReads,
        replica: _Replica,
        names: Mapping[str, str],
        address: str,
        *,
        passes_on_to_loopback: bool,
    ) -> None:
        """``vault_of``: the vault of a method and its params (``Handlers.vault_of``); ``only_reads``: whether these change
        nothing. ``names``: the vault's name for all servers.

        ``address``: where the others reach this server. ``passes_on_to_loopback``: also to servers that only this computer can
        reach. Such a server may ask for no key, because it believes that nobody else comes.
        """
        self._vault_of = vault_of
        self._only_reads = only_reads
        self._replica = replica
        self._names = names
        self._address = address
        self._passes_on_to_loopback = passes_on_to_loopback
        self.here: dict[str, asyncio.Event] = {}
        self.loop: asyncio.AbstractEventLoop | None = None
        self._copies: set[asyncio.Task[None]] = set()

    # ------------------------------------------------------------------ what this server has; from any thread

    def enter(self, vault: str) -> None:
        """Answer for a vault from now on."""
        self.here[vault] = asyncio.Event()

    def leave(self, vault: str) -> asyncio.Event | None:
        """Answer for a vault no more. Return what ``tell_left`` takes once it has been closed."""
        return self.here.pop(vault, None)

    def tell_left(self, entered: asyncio.Event | None) -> None:
        """Have calls answered that were under way when their vault was closed."""
        if entered is not None and self.loop is not None:
            call_on_loop(self.loop, entered.set)

    def can_answer(self, vault: str) -> bool:
        """Tell whether a call about a vault would be answered, here or by another server."""
        standing = self._replica.standing(vault)
        return vault in self.here if standing.owns else standing.address not in ("", self._address)

    # ------------------------------------------------------------------ one request

    def around(self, door: str, app: App) -> App:
        """Return what stands before a door."""
        return partial(self._answer_mcp if door == "mcp" else self._answer_rest, app)

    async def _answer_rest(self, app: App, scope: Scope, receive: Receive, send: Send) -> None:
        match = _TOOL_CALL.fullmatch(scope["raw_path"])
        if match is None or scope["method"] != "POST":
            await app(scope, receive, send)
            return
        body = await read_body(receive)
        if body is None:
            return
        try:
            message = jsonrpc.parse_json(body)
        except MessageError:
            message = None  # the door says what is wrong with it
        arguments = message.get("arguments") if isinstance(message, dict) else None
        call = {"method": "tools/call", "params": {"name": unquote(match[1].decode("latin-1")), "arguments": arguments}}
        await self._answer_for({"id": 0, **call}, app, scope, _again(body, receive), send)

    async def _answer_mcp(self, app: App, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope["headers"])
        body, message = b"", None
        if scope["method"] == "POST":
            read = await read_body(receive)
            if read is None:
                return
            body, receive = read, _again(read, receive)
            try:
                message = jsonrpc.parse_json(body)
            except MessageError:
                pass
        is_for_all = headers.session is not None and not _is_passed_on(scope) and _is_for_all(scope["method"], message)
        if is_for_all and scope["method"] == "POST":
            copies = self._tell_others(scope, body)
            if copies and _method_of(message) in _OF_SESSION:
                await asyncio.wait(copies)  # what is asked for holds everywhere when the answer comes
        if scope["method"] == "GET" or _method_of(message) == _LISTEN:
            await self._answer_with_all(app, scope, body, receive, send)
        else:
            await self._answer_for(message, app, scope, receive, send)
        if is_for_all and scope["method"] == "DELETE":  # now: before, the others would have made this server forget it
            self._tell_others(scope, body)

    async def _answer_for(self, message: Any, app: App, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a message about a vault, or pass it on to its owner; a batch to that of its first request about one."""
        requests = [*_requests_in(message)]
        vault = next((name for name in starmap(self._vault_of, requests) if name is not None), None)
        if vault is None:
            await app(scope, receive, send)
            return
        name = self._names[vault]
        standing, closed = self._replica.standing(name), self.here.get(name)
        if standing.owns and closed is not None:
            await _answer_while_open(app, closed, scope, receive, send)
        elif standing.owns or not standing.address:
            await refuse(send, "No server owns this vault yet.")
        elif standing.address == self._address or _is_passed_on(scope):
            await refuse(send, "This vault is just changing its server.")
        elif not self._may_pass_on_to(standing.address):
            await refuse(send, "The server that owns this vault can be reached from its own computer only (--host).")
        else:

            def is_current() -> bool:  # while nobody owns the vault, the same server may still take it again
                return self._replica.standing(name).address in ("", standing.address)

            only_reads = all(starmap(self._only_reads, requests))
            await pass_on(standing.address, scope, receive, send, is_current, only_reads=only_reads)

    def _may_pass_on_to(self, address: str) -> bool:
        return self._passes_on_to_loopback or not _is_loopback(address)

    # ------------------------------------------------------------------ all servers

    def _tell_others(self, scope: Scope, body: bytes) -> list[asyncio.Task[None]]:
        """Pass a message on to the other servers; return the tasks that do it."""
        others = filter(self._may_pass_on_to, self._replica.others)
        copies = [asyncio.create_task(_copy(address, scope, body)) for address in others]
        for task in copies:
            self._copies.add(task)
            task.add_done_callback(self._copies.discard)
        return copies

    async def _answer_with_all(self, app: App, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        """Answer with a stream of what all servers have to tell, or with the rest of a stream that one of them has."""
        others = self._replica.others
        if _is_passed_on(scope):
            await app(scope, receive, send)
            return
        last = Headers(scope["headers"]).get(LAST_EVENT)
        parts: list[Part] = [partial(app, scope, receive)]
        addresses = filter(self._may_pass_on_to, others)
        parts += [partial(self._pass_on_to_member, address, scope, _again(body)) for address in addresses]
        if last is not None:
            await send_first(parts, send)
        else:
            await send_joined(parts, send, lambda: self._replica.others == others)

    async def _pass_on_to_member(self, address: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on to another server, as long as it is there."""
        await pass_on(address, scope, receive, send, lambda: address in self._replica.others)


async def _copy(address: str, scope: Scope, body: bytes) -> None:
    """Pass a request on to a server whose answer is not needed: one that has no part of the session says so."""

    async def drop(_message: Message) -> None:
        pass

    try:
        async with asyncio.timeout(_COPY_SECONDS):
            await pass_on(address, scope, _again(body), drop)
    except (OSError, TimeoutError):
        pass


def _again(body: bytes, receive: Receive | None = None) -> Receive:
    """Return what gives a body that was read already, and then what ``receive`` gives."""
    is_given = False

    async def give() -> Message:
        nonlocal is_given
        if not is_given:
            is_given = True
            return {"type": "http.request", "body": body, "more_body": False}
        if receive is not None:
            return await receive()
        await asyncio.Event().wait()
        raise AssertionError

    return give


def _is_for_all(http_method: str, message: Any) -> bool:
    """Tell whether a request is about a session as a whole: its end, a notification, an answer to a question of a server."""
    if http_method != "POST":
        return http_method == "DELETE"
    messages = message if isinstance(message, list) else [message]
    return any(
        isinstance(each, dict) and (_method_of(each) in _OF_SESSION if "id" in each and "method" in each else True)
        for each in messages
        if _method_of(each) != _INITIALIZED  # a server that goes on with a session knows that
    )


def _requests_in(message: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the method and the params of each request in a message, which may be a batch."""
    for each in message if isinstance(message, list) else [message]:
        method = _method_of(each)
        if isinstance(method, str) and "id" in each:
            params = each.get("params")
            yield method, params if isinstance(params, dict) else {}


def _method_of(message: Any) -> Any:
    return message.get("method") if isinstance(message, dict) else None


def _is_passed_on(scope: Scope) -> bool:
    return any(name == PASSED_ON for name, _ in scope["headers"])


def _is_loopback(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


async def _answer_while_open(app: App, closed: asyncio.Event, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request. A call that was stopped when its vault was closed has no answer: the client is told so."""
    has_begun = False

    async def pass_answer(message: Message) -> None:
        nonlocal has_begun
        has_begun = True
        await send(message)

    answering = asyncio.ensure_future(app(scope, receive, pass_answer))
    closing = asyncio.ensure_future(closed.wait())
    try:
        await asyncio.wait((answering, closing), return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait((answering,), timeout=_LAST_SECONDS)  # one that was made may be on its way
        if answering.done():
            answering.result()  # raises what the app has raised
            return
    finally:
        answering.cancel()
        closing.cancel()
    if has_begun:
        raise ConnectionAbortedError
    await refuse(send, "The server has lost this vault before it could answer, and perhaps has done it: look first.")
