"""The REST API, version 1, as an ASGI app: health, the list of tools with its hash, one call in each request.

The status code says whether the request was understood, ``success`` in the body whether the tool did it. The guard
controls access and size. The OpenAPI document describes the API to programs.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from typing import Any
from urllib.parse import unquote

from vaultwire import __version__
from vaultwire.protocol.dialects import FOR_PROGRAMS
from vaultwire.protocol.events import Peer, Request
from vaultwire.protocol.jsonrpc import INVALID_REQUEST, MessageError, json_type, parse_json
from vaultwire.protocol.revisions import LATEST_HANDSHAKE
from vaultwire.server.results import TOOL_NOT_FOUND, FrameSink, Refusal, Result
from vaultwire.transports import call_on_loop, read_body, send_whole
from vaultwire.vault.caller import MEMORY_BUDGET, UNCOUNTED_BYTES, Reservation, estimated_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from vaultwire.protocol.jsonrpc import JsonObject
    from vaultwire.server.results import Answer
    from vaultwire.server.workers import Workers
    from vaultwire.transports import Receive, Scope, Send


ROOT = "/bridge/v1"
PROTOCOL_VERSION = "1"
MAX_BODY_BYTES = 1024 * 1024  # the contract's: "Max body size: 1 MiB"

_PAGES = frozenset((b"/health", b"/tools", b"/openapi.json"))
_CALL = re.compile(rb"/tools/([^/]+)/call")
# Callers, told apart by key or token. What they have read is remembered; beyond so many, the oldest is forgotten.
_MAX_PEERS = 1000
# From the contract, on every answer. The guard has checked before from where a page may call.
CORS = (
    (b"access-control-allow-origin", b"*"),
    (b"access-control-allow-methods", b"GET, POST, OPTIONS"),
    (b"access-control-allow-headers", b"Content-Type"),
)
_REASONS = {
    400: "Invalid request body",
    404: "Not found",
    405: "Method not allowed",
    429: "Too many requests",
    500: "Internal server error",
}


class _Caller:
    """All that come with one key, or with none. ``pages``: what GET shows them, by the app's root path and the path."""

    __slots__ = ("pages", "peer")

    def __init__(self, key: str) -> None:
        self.peer = Peer(key)
        self.peer.name = "rest"
        self.peer.is_sessionless = True
        self.pages: dict[str, dict[bytes, bytes]] = {}


class _Single(FrameSink):
    """Session and sink of one request, the little that the workers need: the answer goes out as it is, all else nowhere."""

    dialect = FOR_PROGRAMS
    can_ask = False

    def __init__(self, on_answer: Callable[[Answer], None]) -> None:
        """``on_answer`` is called once, on any thread, and must not wait."""
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


class Rest:
    """The ASGI app at ``/bridge/v1``."""

    def __init__(self, workers: Workers, key_name: str) -> None:
        """``key_name``: where the scope holds the principal of the key a request came with."""
        self._workers = workers
        self._key_name = key_name
        # There are no sessions: all calls with the same key, or without one, are the same caller's.
        self._callers: dict[str, _Caller] = {}
        # By root path and the names of the tools: those who may call the same tools get the same pages.
        self._pages: dict[tuple[str, ...], dict[bytes, bytes]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        path: bytes = scope["raw_path"][len(ROOT) :]
        match = _CALL.fullmatch(path)
        allowed = "POST" if match else "GET, HEAD"
        if not match and path not in _PAGES:
            await _send_error(send, 404, f"There is nothing at {scope['path'][:200]}")
        elif scope["method"] == "OPTIONS":
            await _send(send, 204, b"", (b"allow", f"{allowed}, OPTIONS".encode()))
        elif scope["method"] not in allowed.split(", "):
            allow = (b"allow", f"{allowed}, OPTIONS".encode())
            await _send_error(send, 405, f"{scope['method']} is not possible here; {allowed} is", None, allow)
        elif match:
            name = unquote(match[1].decode("latin-1"))
            await self._call(name, self._caller(scope).peer, receive, send)
        else:
            await self._show(path, scope.get("root_path", ""), self._caller(scope), send)

    def _caller(self, scope: Scope) -> _Caller:
        """Return the caller of a request, with what is remembered of the requests before."""
        key: str = scope.get(self._key_name, "")
        caller = self._callers.get(key)
        if caller is None:
            if len(self._callers) >= _MAX_PEERS:
                del self._callers[next(iter(self._callers))]
            caller = self._callers[key] = _Caller(key)
        return caller

    async def _answer(self, request: Request, held: Reservation | None = None) -> Answer:
        """Have the request answered. ``held`` counts its message until then, also when the client has left."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Answer] = loop.create_future()

        def resolve(made: Answer) -> None:
            if not answer.done():
                answer.set_result(made)

        def on_answer(made: Answer) -> None:
            if held is not None:
                held.end()
            call_on_loop(loop, resolve, made)

        single: Any = _Single(on_answer)
        self._workers.act(request, single, single)
        return await answer

    async def _show(self, path: bytes, root: str, caller: _Caller, send: Send) -> None:
        if path == b"/health":
            await _send(send, 200, _HEALTH)
            return
        pages = caller.pages.get(root) or await self._make_pages(root, caller.peer)
        if isinstance(pages, Refusal):
            await _send_refusal(send, pages)
        else:
            caller.pages[root] = pages
            await _send(send, 200, pages[path])

    async def _make_pages(self, root: str, peer: Peer) -> dict[bytes, bytes] | Refusal:
        """Return what GET shows a caller, by path: it stays the same as long as the process runs, and is asked for often.

        Return a refusal if the caller has asked too often.
        """
        tools: list[dict[str, Any]] = []
        params: dict[str, Any] | None = {}
        while params is not None:
            answer = await self._answer(_request("tools/list", params, peer))
            if isinstance(answer, Refusal):
                return answer
            tools += map(_to_listed, answer.value["tools"])
            params = {"cursor": answer.value["nextCursor"]} if "nextCursor" in answer.value else None
        tools.sort(key=lambda tool: str(tool["name"]))
        key = (root, *(tool["name"] for tool in tools))
        if key not in self._pages:
            self._pages[key] = {
                b"/tools": _to_json({"tools": tools, "hash": tools_hash(tools)}),
                b"/openapi.json": _to_json(to_document(tools, root + ROOT)),
            }
        return self._pages[key]

    async def _call(self, name: str, peer: Peer, receive: Receive, send: Send) -> None:
        body = await read_body(receive)
        if body is None:
            return  # the client is gone
        size = estimated_bytes(body)
        if size > UNCOUNTED_BYTES and not MEMORY_BUDGET.has_room(size):
            await _send_error(send, 429, "Too many large requests are worked on", None, (b"retry-after", b"1"))
            return
        try:
            arguments = _arguments(body)
        except MessageError as error:
            await _send_error(send, 400, "The request body cannot be used", error.message)
            return
        held = Reservation(size)
        answer = await self._answer(_request("tools/call", {"name": name, "arguments": arguments}, peer), held)
        seconds = _retry_after(answer)
        if isinstance(answer, Result) and seconds is not None:
            await _send_error(send, 429, answer.value["content"][0]["text"], None, (b"retry-after", b"%d" % seconds))
        elif isinstance(answer, Result):
            await _send(send, 200, _to_json(_to_called(answer.value)))
        elif answer.data is not None and answer.data.get("errorCode") == TOOL_NOT_FOUND:
            await _send_error(send, 404, answer.message, error="Tool not found")
        else:
            await _send_refusal(send, answer)


def _request(method: str, params: dict[str, Any], peer: Peer) -> Request:
    """Return a request of the newest revision with a handshake, from a client that cannot be asked questions."""
    return Request(0, method, params, LATEST_HANDSHAKE, peer, {})


def tools_hash(tools: Sequence[dict[str, Any]]) -> str:
    """Return the contract's hash over tools that are in order: SHA-256 of their JSON, keys sorted at every depth.

    Written as ``JSON.stringify`` writes it: without spaces, and with no more escapes than needed.
    """
    text = json.dumps(tools, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _arguments(body: bytes) -> dict[str, Any]:
    """Return the arguments a body holds. Raises MessageError."""
    value = parse_json(body)
    if not isinstance(value, dict):
        raise MessageError(INVALID_REQUEST, f'Expected an object such as {{"arguments": {{}}}}, got {json_type(value)}')
    if "arguments" not in value:
        raise MessageError(INVALID_REQUEST, '"arguments" is missing')
    arguments: Any = value["arguments"]
    if not isinstance(arguments, dict):
        raise MessageError(INVALID_REQUEST, f'"arguments" must be an object, got {json_type(arguments)}')
    return arguments


def _to_listed(tool: dict[str, Any]) -> dict[str, Any]:
    # Without the name of the schema's dialect: the contract shows none, and validators reject those they do not know.
    schema = {key: value for key, value in tool["inputSchema"].items() if key != "$schema"}
    return {"name": tool["name"], "description": tool["description"], "inputSchema": schema}


def _to_called(result: dict[str, Any]) -> dict[str, Any]:
    """Return a tool's result as the contract shows it. A failure's text begins with the word Error."""
    if not result["isError"]:
        return {"success": True, "content": result["content"]}
    content = [
        {**block, "text": f"Error: {block['text']}"} if number == 0 and block["type"] == "text" else block
        for number, block in enumerate(result["content"])
    ]
    return {"success": False, "content": content, "isError": True}


def _retry_after(answer: Answer) -> int | None:
    """Return after how many seconds a client that called too often may call again; None for any other answer."""
    details = answer.value.get("_meta", {}).get("errorDetails") if isinstance(answer, Result) else answer.data
    seconds = (details or {}).get("retryAfter")
    return seconds if isinstance(seconds, int) else None


async def _send_refusal(send: Send, refusal: Refusal) -> None:
    """Answer for a refusal of the protocol: too many requests, or an internal error."""
    seconds = _retry_after(refusal)
    if seconds is not None:
        await _send_error(send, 429, refusal.message, None, (b"retry-after", b"%d" % seconds))
    else:
        await _send_error(send, 500, refusal.message)


async def _send_error(
    send: Send,
    status: int,
    message: str,
    details: str | None = None,
    *headers: tuple[bytes, bytes],
    error: str | None = None,
) -> None:
    value = {"error": error or _REASONS[status], "message": message}
    if details is not None:
        value["details"] = details
    await _send(send, status, _to_json(value), *headers)


async def _send(send: Send, status: int, body: bytes, *headers: tuple[bytes, bytes]) -> None:
    """Send JSON, or nothing."""
    own = [(b"content-type", b"application/json")] if body else []
    await send_whole(send, status, [*own, *CORS, *headers], body)


def _to_json(value: dict[str, Any]) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    except UnicodeEncodeError:  # a lone surrogate, which only an escape can spell
        return json.dumps(value).encode("ascii")


_HEALTH = _to_json({"status": "ok", "version": __version__, "protocolVersion": PROTOCOL_VERSION})


# ---------------------------------------------------------------------- the OpenAPI document
#
# The OpenAPI 3.1 document of the REST API, made from the tools' own schemas.


def _object(*, optional: Collection[str] = (), **properties: Any) -> dict[str, Any]:
    """Return the schema of an object that has these properties and no others."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


_TEXT = {"type": "string"}
_CONTENT = {"type": "array", "items": {"$ref": "#/components/schemas/Content"}}
_SCHEMAS: dict[str, Any] = {
    "Content": {
        "type": "object",
        "description": "A block of content in MCP's own form.",
        "properties": {"type": _TEXT, "text": _TEXT},
        "required": ["type"],
    },
    "Called": {
        "description": "What came of a call: of one that worked, or of one whose tool could not do it.",
        "oneOf": [
            _object(success={"const": True}, content=_CONTENT),
            _object(success={"const": False}, content=_CONTENT, isError={"const": True}),
        ],
    },
    "Document": {"type": "object"},
    "Error": _object(error=_TEXT, message=_TEXT, details=_TEXT, optional=("details",)),
    "Health": _object(status={"const": "ok"}, version=_TEXT, protocolVersion={"const": "1"}),
    "Tools": _object(
        tools={
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": _TEXT, "description": _TEXT, "inputSchema": {"type": "object"}},
                "required": ["name", "description", "inputSchema"],
            },
        },
        hash={"type": "string", "pattern": "^[0-9a-f]{64}$"},
    ),
}
_ERRORS = {
    "400": "The body is not JSON of the form that is asked for.",
    "401": "A key is needed, and none of this server's was sent.",
    "403": "The request comes from a page that may not call.",
    "413": "The body has more than 1 MiB.",
    "429": "This client calls too often; Retry-After says in how many seconds it may again.",
    "500": "The server failed; its log says more.",
}


def to_document(tools: Sequence[dict[str, Any]], url: str) -> dict[str, Any]:
    """Return the document of the API at a URL, for the tools as ``GET /tools`` lists them."""
    paths: dict[str, Any] = {
        "/health": {"get": _reading("health", "Is the server alive?", "Health")},
        "/tools": {"get": _reading("tools", "The tools, and a hash that changes when they do.", "Tools")},
        "/openapi.json": {"get": _reading("openapi", "This document.", "Document")},
    }
    for tool in tools:
        paths[f"/tools/{tool['name']}/call"] = {"post": _calling(tool)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Vaultwire",
            "version": __version__,
            "summary": "The tools of one Obsidian vault, over HTTP.",
        },
        "servers": [{"url": url}],
        # The empty one: on the computer itself a server need not ask for a key.
        "security": [{}, {"key": []}],
        "paths": paths,
        "components": {
            "schemas": _SCHEMAS,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _reading(operation: str, summary: str, schema: str) -> dict[str, Any]:
    return {
        "operationId": operation,
        "summary": summary,
        "responses": {"200": _answer(summary, schema), "401": _error("401")},
    }


def _calling(tool: dict[str, Any]) -> dict[str, Any]:
    return {
        "operationId": tool["name"],
        "summary": tool["description"].partition("\n")[0],
        "description": tool["description"],
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": {
                        "type": "object",
                        "properties": {"arguments": _as_taken(tool["inputSchema"])},
                        "required": ["arguments"],
                    }
                }
            },
        },
        "responses": {
            "200": _answer("The tool was called; `success` says whether it could do it.", "Called"),
            **{status: _error(status) for status in _ERRORS},
        },
    }


def _as_taken(schema: dict[str, Any]) -> dict[str, Any]:
    """Return an input schema with no types for the members of objects that take any: these members are only examples.

    Lists of tools keep the types: some models' APIs refuse an object that names no typed member.
    """
    if schema["type"] == "array":
        return {**schema, "items": _as_taken(schema["items"])}
    if schema["type"] != "object":
        return schema
    members = schema["properties"]
    if schema["additionalProperties"] is True:
        return {**schema, "properties": {name: {} for name in members}}
    return {**schema, "properties": {name: _as_taken(member) for name, member in members.items()}}


def _answer(description: str, schema: str) -> dict[str, Any]:
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}
    return {"description": description, "content": content}


def _error(status: str) -> dict[str, Any]:
    return _answer(_ERRORS[status], "Error")
