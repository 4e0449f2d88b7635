"""Which of several servers answers a request: the owner of its vault, or any. It stands behind the guard, before the doors.

A message about a session, such as a cancellation or a subscription, is for all servers: each may have a part of the session.
A list of what all vaults have, and a batch about vaults of several owners, get one answer made of those of all owners.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import starmap
from typing import Protocol
from urllib.parse import unquote, urlsplit

from vaultwire.protocol import jsonrpc
from vaultwire.protocol.http import LAST_EVENT, Headers
from vaultwire.protocol.jsonrpc import MessageError
from vaultwire.protocol.session import MAX_BATCH
from vaultwire.transports import PASSED_ON, call_on_loop, read_body, rest
from vaultwire.transports.joined_answers import PartAnswer, send_as_one
from vaultwire.transports.joined_streams import send_first, send_joined
from vaultwire.transports.passing_on import RETRY_SECONDS, pass_on, refuse
from vaultwire.vault.errors import SERVER_BUSY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from vaultwire.transports import App, Message, Receive, Scope, Send
    from vaultwire.transports.joined_streams import Part

    VaultOf: TypeAlias = Callable[[Scope, str, dict[str, Any]], str | None]
    OnlyReads: TypeAlias = Callable[[str, dict[str, Any]], bool]
    IsOfAll: TypeAlias = Callable[[str], bool]

# For an answer that was made before a vault was closed to be on its way.
_LAST_SECONDS = 1.0
# For another server to take what it is told of a session.
_COPY_SECONDS = 2.0
# What the answer of a part is: broken off, one, without content, refused for now.
_BROKEN, _OK, _ACCEPTED, _BUSY = 0, 200, 202, 503
# These change a session (all revisions of the handshake era).
_OF_SESSION = ("logging/setLevel", "resources/subscribe", "resources/unsubscribe")
_LISTEN = "subscriptions/listen"
_INITIALIZED = "notifications/initialized"
# Where a list is in a result, and what no two of its entries have in common.
_LISTS = {"prompts/list": ("prompts", "name"), "skills/list": ("skills", "uri")}
_TOO_FAR = "The server that owns this vault can be reached from its own computer only (--host)."
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
        is_of_all: IsOfAll,
        replica: _Replica,
        names: Mapping[str, str],
        address: str,
        *,
        passes_on_to_loopback: bool,
    ) -> None:
        """``vault_of``: the vault of a request, its method and its params (``Handlers.vault_of``). ``only_reads``: whether
        method and params change nothing. ``is_of_all``: whether a method lists what is in the notes of all vaults. ``names``: a
        vault's name for all servers.

        ``address``: where the others reach this server. ``passes_on_to_loopback``: also to servers that only this computer can
        reach. Such a server may ask for no key, because it believes that nobody else comes.
        """
        self._vault_of = vault_of
        self._only_reads = only_reads
        self._is_of_all = is_of_all
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

    def reaches_all(self, method: str) -> bool:
        """Tell whether each server gets the requests of a method: about a session, a stream, what is in all vaults."""
        return method in (*_OF_SESSION, _LISTEN) or self._is_of_all(method)

    def can_answer(self, vault: str) -> bool:
        """Tell whether a call about a vault would be answered, here or by another server."""
        standing = self._replica.standing(vault)
        return vault in self.here if standing.owns else standing.address not in ("", self._address)

    # ------------------------------------------------------------------ one request

    def around(self, door: str, app: App) -> App:
        """Return what stands before a door."""
        answers = {"mcp": self._answer_mcp, "v1": self._answer_rest, "note": self._answer_page}
        return partial(answers[door], app)

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
        await self._answer_message({"id": 0, **call}, app, scope, _again(body, receive), send)

    async def _answer_page(self, app: App, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with the page of a note (``remote.note_pages``): ``/n/VAULT/PATH``. One of no vault is not there."""
        text = scope["raw_path"].removeprefix(b"/n").lstrip(b"/").partition(b"/")[0].decode("latin-1")
        vault = next((name for name, shared in self._names.items() if shared == unquote(text)), None)
        await self._answer_for(vault, app, scope, receive, send, only_reads=True)

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
        is_first = not _is_passed_on(scope)
        if scope["method"] == "DELETE" and headers.session is not None and is_first:
            await self._end_session(app, scope, receive, send)
            return
        for_all = _for_all(message) if headers.session is not None and is_first and scope["method"] == "POST" else []
        if for_all:
            copy = json.dumps(for_all).encode() if isinstance(message, list) else body
            copies = self._tell_others(_with_length(scope, copy), copy)
            if copies and _method_of(message) in _OF_SESSION:
                await asyncio.wait(copies)  # what is asked for holds everywhere when the answer comes
        method = _method_of(message)
        if scope["method"] == "GET" or method == _LISTEN:
            await self._answer_with_all(app, scope, body, receive, send)
        elif is_first and isinstance(method, str) and self._is_of_all(method):
            await self._answer_list(method, app, scope, body, receive, send)
        elif is_first and isinstance(message, list) and len(message) <= MAX_BATCH:
            await self._answer_batch(message, app, scope, receive, send)
        else:
            await self._answer_message(message, app, scope, receive, send)

    async def _answer_message(self, message: Any, app: App, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a message, or pass it on to the owner of its vault; a batch to that of its first request about one."""
        requests = [*_requests_in(message)]
        vaults = (self._vault_of(scope, *request) for request in requests)
        vault = next((name for name in vaults if name is not None), None)
        only_reads = all(starmap(self._only_reads, requests))
        await self._answer_for(vault, app, scope, receive, send, only_reads=only_reads)

    async def _answer_for(
        self, vault: str | None, app: App, scope: Scope, receive: Receive, send: Send, *, only_reads: bool
    ) -> None:
        """Answer a request about a vault, or pass it on to its owner. ``only_reads``: it changes nothing."""
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
            await refuse(send, _TOO_FAR)
        else:

            def is_current() -> bool:  # while nobody owns the vault, the same server may still take it again
                return self._replica.standing(name).address in ("", standing.address)

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

    async def _end_session(self, app: App, scope: Scope, receive: Receive, send: Send) -> None:
        """End a session here, then at the others: the other way round, this server would know it no more. Then answer."""
        messages: list[Message] = []

        async def keep(message: Message) -> None:
            messages.append(message)

        await app(scope, receive, keep)
        copies = self._tell_others(scope, b"")
        if copies:
            await asyncio.wait(copies)
        for message in messages:
            await send(message)

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

    async def _answer_list(
        self, method: str, app: App, scope: Scope, body: bytes, receive: Receive, send: Send
    ) -> None:
        """Answer with what this server lists and what the owners of the other vaults list."""
        if not all(map(self.can_answer, self._names.values())):
            await refuse(send, "No server owns some of the vaults yet.")
            return
        owners = {self._replica.standing(name).address for name in self._names.values()} - {self._address}
        if not all(map(self._may_pass_on_to, owners)):
            await refuse(send, _TOO_FAR)
            return
        parts: list[Part] = [partial(app, scope, _again(body))]
        parts += [partial(self._pass_on_to_member, owner, scope, _again(body)) for owner in sorted(owners)]
        await send_as_one(parts, partial(_joined_list, method), receive, send)

    async def _answer_batch(self, batch: list[Any], app: App, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a batch, each request by the owner of its vault; here what is about no vault."""
        by_owner: dict[str, list[Any]] = {}
        for message in batch:
            vault = next((self._vault_of(scope, *request) for request in _requests_in(message)), None)
            owner = self._address if vault is None else self._replica.standing(self._names[vault]).address
            by_owner.setdefault(owner, []).append(message)
        if len(by_owner) <= 1:
            await self._answer_message(batch, app, scope, receive, send)
            return
        parts: list[Part] = []
        for messages in by_owner.values():
            body = json.dumps(messages).encode()
            parts.append(partial(self._answer_message, messages, app, _with_length(scope, body), _again(body)))
        await send_as_one(parts, partial(_joined_batch, [*by_owner.values()]), receive, send)

    async def _pass_on_to_member(self, address: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on to another server, as long as it is there."""
        await pass_on(address, scope, receive, send, lambda: address in self._replica.others, only_reads=True)


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


def _with_length(scope: Scope, body: bytes) -> Scope:
    """Return the scope of the same request with another body."""
    of_body = (b"content-length", b"transfer-encoding")
    headers = [(name, value) for name, value in scope["headers"] if name not in of_body]
    return {**scope, "headers": [*headers, (b"content-length", b"%d" % len(body))]}


def _for_all(message: Any) -> list[Any]:
    """Return what in a message or batch is about a session as a whole: a notification, an answer to a question of a server."""
    return [
        each
        for each in (message if isinstance(message, list) else [message])
        if isinstance(each, dict)
        and (_method_of(each) in _OF_SESSION if "id" in each and "method" in each else True)
        and _method_of(each) != _INITIALIZED  # a server that goes on with a session knows that
    ]


def _joined_list(method: str, answers: Sequence[PartAnswer]) -> Any:
    """Return the answer to a list: what all servers have first, in its order, then the others by their names.

    If a server has not answered, return that: a list without its vaults would be wrong. A page ends where the shortest page of
    a server ends; the cursor of skills is the URI of a folder.
    """
    for answer in answers:
        if not (isinstance(answer.content, dict) and isinstance(answer.content.get("result"), dict)):
            return answer
    own, *others = results = [answer.content["result"] for answer in answers]
    kind, key = _LISTS[method]
    entries = {entry[key]: entry for result in reversed(results) for entry in result[kind]}
    joint = [entry[key] for entry in own[kind] if all(entry in result[kind] for result in others)]
    cursor = min((result["nextCursor"] for result in results if "nextCursor" in result), default=None)
    names = [
        name
        for name in (*joint, *sorted(entries.keys() - joint))
        if cursor is None or name.rpartition("/")[0] <= cursor
    ]
    result = {**own, kind: [entries[name] for name in names]}
    if cursor is not None:
        result["nextCursor"] = cursor
    return {**answers[0].content, "result": result}


def _joined_batch(parts: Sequence[Sequence[Any]], answers: Sequence[PartAnswer]) -> Any:
    """Return the answers to a batch. ``parts`` are the messages that each part was made of.

    What refuses the request as a whole, such as an unknown session, is said by all parts, and is returned as it is.
    """
    if all(isinstance(each.content, dict) and each.status not in (_BROKEN, _ACCEPTED, _BUSY) for each in answers):
        return answers[0]
    joined: list[Any] = []
    for messages, answer in zip(parts, answers, strict=True):
        if isinstance(answer.content, list):
            joined += answer.content
        elif answer.status not in (_ACCEPTED, _OK):  # with these, all of its requests were cancelled
            joined += [_busy(each["id"], answer) for each in messages if [*_requests_in(each)]]
    return joined or answers[0]


def _busy(id_: Any, answer: PartAnswer) -> dict[str, Any]:
    """Return the answer to a request of a batch whose server could not answer, or has not."""
    said = answer.content.get("message") if isinstance(answer.content, dict) else None
    if answer.status == _BROKEN:
        said = "The server that owns this vault has not answered, and perhaps has done it: look first."
    data = {"errorCode": SERVER_BUSY, "retryAfter": RETRY_SECONDS}
    message = f"{SERVER_BUSY}: {said or 'The server cannot answer now. Nothing was done.'}"
    return jsonrpc.error_message(id_, jsonrpc.INTERNAL_ERROR, message, data)


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
