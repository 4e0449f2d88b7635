"""What MCP puts into HTTP: which revision a message asks for, what its headers must say, status codes, event streams.

Only what is in the specification's "Streamable HTTP" pages; no socket, no session. Header names come in lower case and
values as they stood on the wire (ASGI): blanks around them are no part of them (RFC 9110 §5.5).
"""

from __future__ import annotations

import binascii

from vaultwire.protocol import jsonrpc
from vaultwire.protocol.events import meta_of
from vaultwire.protocol.revisions import (
    HEADER_MISMATCH,
    META_VERSION,
    MISSING_CLIENT_CAPABILITY,
    STATELESS,
    UNSUPPORTED_PROTOCOL_VERSION,
    WITHOUT_HEADER,
    handshake,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from vaultwire.protocol.messages import Json, JsonObject
    from vaultwire.protocol.revisions import Revision

VERSION = b"mcp-protocol-version"
SESSION = b"mcp-session-id"
METHOD = b"mcp-method"
NAME = b"mcp-name"
PARAM_PREFIX = b"mcp-param-"
LAST_EVENT = b"last-event-id"

JSON_TYPE = b"application/json"
STREAM_TYPE = b"text/event-stream"

# How the stateless revision's errors are told to what stands between client and server. Not named: 200.
_STATUS = {
    jsonrpc.PARSE_ERROR: 400,
    jsonrpc.INVALID_REQUEST: 400,
    jsonrpc.INVALID_PARAMS: 400,
    jsonrpc.METHOD_NOT_FOUND: 404,
    HEADER_MISMATCH: 400,
    MISSING_CLIENT_CAPABILITY: 400,
    UNSUPPORTED_PROTOCOL_VERSION: 400,
}
# The handshake era's errors are answers like any other, but for what was no request at all.
_HANDSHAKE_STATUS = {jsonrpc.PARSE_ERROR: 400, jsonrpc.INVALID_REQUEST: 400}

# Which of a request's params stands in the Mcp-Name header.
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

_BASE64_START, _BASE64_END = b"=?base64?", b"?="

# The header and the parameter it repeats, as a path into the arguments.
if TYPE_CHECKING:
    HeaderParams = tuple[tuple[bytes, tuple[str, ...]], ...]


class HeaderMismatch(Exception):  # noqa: N818 - says what is wrong with the headers
    """A header is missing, or says something else than the body."""


class Headers:
    """The headers of one request, by name. One that must be there once and is there twice is a mismatch."""

    __slots__ = ("_twice", "_values", "is_json", "revision", "session", "takes_json", "takes_stream")

    def __init__(self, raw: Iterable[tuple[bytes, bytes]]) -> None:
        lines = [(name, value.strip(b" \t")) for name, value in raw]
        self._values = dict(lines)
        self._twice: set[bytes] = set()
        if len(self._values) != len(lines):
            names = [name for name, _ in lines]
            self._twice = {name for name in names if names.count(name) > 1}
        content_type, session = self.get(b"content-type"), self.get(SESSION)
        self.is_json = content_type is None or content_type.lower().startswith(JSON_TYPE)
        """Whether the body may be JSON, as far as they say."""
        self.takes_json = self.accepts(JSON_TYPE)
        self.takes_stream = self.accepts(STREAM_TYPE)
        self.session = None if session is None else session.decode("latin-1")
        version = self.get(VERSION)
        # An unknown version is told by the stateless revision's rules which ones there are.
        self.revision = WITHOUT_HEADER if version is None else handshake(version.decode("latin-1")) or STATELESS[-1]
        """The revision they ask for."""

    def get(self, name: bytes) -> bytes | None:
        """Return a header's value without the blanks around it, None if it is not there."""
        return self._values.get(name)

    def get_once(self, name: bytes) -> bytes | None:
        """Return as ``get``. Raises HeaderMismatch if it is there twice."""
        if name in self._twice:
            raise HeaderMismatch(f"{name.decode('latin-1')} is there more than once")
        return self.get(name)

    def accepts(self, media_type: bytes) -> bool:
        """Tell whether the client named this media type; blanket terms count for JSON only, as every client reads it."""
        accept = self._values.get(b"accept")
        if accept is None:
            return media_type == JSON_TYPE
        accept = accept.lower()
        return media_type in accept or (media_type == JSON_TYPE and (b"*/*" in accept or b"application/*" in accept))

    def agree(self, version: str, method: str, name: str | None) -> None:
        """Raise HeaderMismatch unless they say the same as the body; a ``name`` that is None need not be there."""
        _compare("MCP-Protocol-Version", self.get_once(VERSION), version)
        _compare("Mcp-Method", self.get_once(METHOD), method)
        if name is not None:
            _compare("Mcp-Name", _decoded("Mcp-Name", self.get_once(NAME)), name)


def revision_of(message: Json, headers: Headers) -> Revision:
    """Return the revision under whose rules a body is to be read.

    What the body says counts; the header decides where it says nothing. ``initialize`` opens the handshake era unless it
    claims to be stateless, where there is no such method.
    """
    if isinstance(message, dict):
        params = message.get("params")
        if isinstance(params, dict) and "_meta" in params and META_VERSION in meta_of(params):
            return STATELESS[-1]
        if message.get("method") == "initialize":
            return WITHOUT_HEADER
    return headers.revision


def check_headers(message: JsonObject, headers: Headers) -> None:
    """Raise HeaderMismatch unless the headers of a stateless request say what its body says (SEP-2243).

    What the body itself lacks is the session's to refuse.
    """
    params = message.get("params")
    method = message.get("method")
    if not isinstance(params, dict) or not isinstance(method, str):
        params = {}
    version = meta_of(params).get(META_VERSION)
    if not isinstance(version, str) or not isinstance(method, str):
        return
    name = params.get(_NAMED.get(method))
    headers.agree(version, method, name if isinstance(name, str) else None)


def header_params(schema: Mapping[str, Any]) -> HeaderParams:
    """Return which arguments of a tool stand in headers as well: those its schema marks with ``x-mcp-header``."""
    return tuple(_header_params(schema, ()))


def _header_params(schema: Mapping[str, Any], path: tuple[str, ...]) -> Iterable[tuple[bytes, tuple[str, ...]]]:
    for name, inner in schema.get("properties", {}).items():
        if isinstance(inner, dict):
            if isinstance(inner.get("x-mcp-header"), str):
                yield PARAM_PREFIX + inner["x-mcp-header"].lower().encode("latin-1", "replace"), (*path, name)
            yield from _header_params(inner, (*path, name))


def check_params(params: HeaderParams, arguments: Json, headers: Headers) -> None:
    """Raise HeaderMismatch unless each of these headers says what the argument says, and is missing where that is."""
    for header, path in params:
        value = arguments
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        shown = header.decode("latin-1")
        got = headers.get_once(header)
        if value is None:
            if got is not None:
                raise HeaderMismatch(f"{shown} is there, but no such argument")
        elif isinstance(value, bool):
            _compare(shown, got, "true" if value else "false")
        elif isinstance(value, int | float):
            _compare_number(shown, got, value)
        elif isinstance(value, str):
            _compare(shown, _decoded(shown, got), value)


def to_headers(message: JsonObject, params: HeaderParams = ()) -> dict[str, str]:
    """Return the headers that must go with a stateless request or notification: the other side of the checks above."""
    given = message.get("params")
    given = given if isinstance(given, dict) else {}
    method = message["method"]
    headers = {"MCP-Protocol-Version": str(meta_of(given).get(META_VERSION)), "Mcp-Method": _encoded(method)}
    named = _NAMED.get(method)
    if named is not None and isinstance(given.get(named), str):
        headers["Mcp-Name"] = _encoded(given[named])
    for header, path in params:
        value = given.get("arguments")
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        if isinstance(value, bool):
            headers[header.decode("latin-1")] = "true" if value else "false"
        elif isinstance(value, str | int | float):
            headers[header.decode("latin-1")] = _encoded(str(value))
    return headers


def _encoded(value: str) -> str:
    """Return a value fit for a header: as it is, unless a header could not hold it or it looks as if it were encoded."""
    is_plain = value.isascii() and value.isprintable() and value == value.strip(" ")
    if is_plain and not value.startswith(_BASE64_START.decode()):
        return value
    encoded = binascii.b2a_base64(value.encode("utf-8", "surrogatepass"), newline=False)
    return (_BASE64_START + encoded + _BASE64_END).decode("ascii")


def status_of(code: int | None, revision: Revision) -> int:
    """Return the HTTP status of an answer with this JSON-RPC error code, None for a result."""
    if code is None:
        return 200
    return (_STATUS if revision.stateless else _HANDSHAKE_STATUS).get(code, 200)


def to_event(frame: bytes, event_id: str | None = None) -> bytes:
    """Return a frame, which has no line break but its last, as a server-sent event."""
    head = b"" if event_id is None else b"id: %s\n" % event_id.encode("ascii")
    return b"%sevent: message\ndata: %s\n\n" % (head, frame.removesuffix(b"\n"))


def to_first_event(event_id: str, retry_ms: int) -> bytes:
    """Return the event without data that tells a client where to come back to, and when."""
    return b"id: %s\nretry: %d\ndata:\n\n" % (event_id.encode("ascii"), retry_ms)


KEEP_ALIVE = b": keep-alive\n\n"


def _decoded(name: str, value: bytes | None) -> bytes | None:
    """Return a value as it was before it was put into a header."""
    if value is None or not (value.startswith(_BASE64_START) and value.endswith(_BASE64_END)):
        return value
    try:
        return binascii.a2b_base64(value[len(_BASE64_START) : -len(_BASE64_END)], strict_mode=True)
    except ValueError:
        raise HeaderMismatch(f"{name} is not sound base64") from None


def _compare(name: str, got: bytes | None, expected: str) -> None:
    if got is None:
        raise HeaderMismatch(f"{name} is missing; the body says {expected[:80]!r}")
    if got != expected.encode("utf-8", "surrogatepass"):
        raise HeaderMismatch(f"{name} says {got[:80].decode('utf-8', 'replace')!r}, the body {expected[:80]!r}")


def _compare_number(name: str, got: bytes | None, expected: float) -> None:
    if got is None:
        raise HeaderMismatch(f"{name} is missing; the body says {expected}")
    try:
        value = float(got)
    except ValueError:
        value = None
    if value != expected:
        raise HeaderMismatch(f"{name} says {got[:80].decode('utf-8', 'replace')!r}, the body {expected}")
