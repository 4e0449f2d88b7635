"""MCP over HTTP: which revision a message asks for, what its headers must say, status codes, event streams.

Only the rules of the specification's "Streamable HTTP" pages; no socket, no session. Header names come in lower case and
values without the spaces around them.
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
    TASK_METHODS,
    UNSUPPORTED_PROTOCOL_VERSION,
    WITHOUT_HEADER,
    handshake,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from vaultwire.protocol.jsonrpc import Json, JsonObject
    from vaultwire.protocol.revisions import Revision

VERSION = b"mcp-protocol-version"
SESSION = b"mcp-session-id"
METHOD = b"mcp-method"
NAME = b"mcp-name"
PARAM_PREFIX = b"mcp-param-"
LAST_EVENT = b"last-event-id"

JSON_TYPE = b"application/json"
STREAM_TYPE = b"text/event-stream"
STREAM_HEADERS = (
    (b"content-type", STREAM_TYPE),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),  # nginx would hold events back
)

# The HTTP status of the stateless revision's errors, for proxies between client and server. All others: 200.
_STATUS = {
    jsonrpc.PARSE_ERROR: 400,
    jsonrpc.INVALID_REQUEST: 400,
    jsonrpc.INVALID_PARAMS: 400,
    jsonrpc.METHOD_NOT_FOUND: 404,
    HEADER_MISMATCH: 400,
    MISSING_CLIENT_CAPABILITY: 400,
    UNSUPPORTED_PROTOCOL_VERSION: 400,
}
# In the handshake era an error is an answer like any other, unless the body was no request at all.
_HANDSHAKE_STATUS = {jsonrpc.PARSE_ERROR: 400, jsonrpc.INVALID_REQUEST: 400}

# The param that the Mcp-Name header repeats, by method.
_NAMED = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    **dict.fromkeys(TASK_METHODS, "taskId"),
}

_BASE64_START, _BASE64_END = b"=?base64?", b"?="

# Each header with the argument that it repeats, as a path into the arguments.
if TYPE_CHECKING:
    HeaderParams = tuple[tuple[bytes, tuple[str, ...]], ...]


class HeaderMismatch(Exception):  # noqa: N818 - says what is wrong with the headers
    """A header is missing, or contradicts the body."""


class Headers:
    """The headers of one request, by name, and what MCP reads from them."""

    __slots__ = ("_twice", "_values", "is_json", "names_revision", "revision", "session", "takes_json", "takes_stream")

    def __init__(self, raw: Iterable[tuple[bytes, bytes]]) -> None:
        lines = list(raw)
        self._values = dict(lines)
        self._twice: set[bytes] = set()
        if len(self._values) != len(lines):
            names = [name for name, _ in lines]
            self._twice = {name for name in names if names.count(name) > 1}
        content_type, session = self.get(b"content-type"), self.get(SESSION)
        self.is_json = content_type is None or content_type.lower().startswith(JSON_TYPE)
        """Whether the body may be JSON: the headers say so, or have no content type."""
        self.takes_json = self.accepts(JSON_TYPE)
        self.takes_stream = self.accepts(STREAM_TYPE)
        self.session = None if session is None else session.decode("latin-1")
        version = self.get(VERSION)
        # A request of an unknown version is refused by the stateless revision's rules, which name the known ones.
        self.revision = WITHOUT_HEADER if version is None else handshake(version.decode("latin-1")) or STATELESS[-1]
        """The revision that the headers ask for."""
        self.names_revision = version is not None
        """Whether they ask for one."""

    def get(self, name: bytes) -> bytes | None:
        """Return a header's value, None if it is missing."""
        return self._values.get(name)

    def get_once(self, name: bytes) -> bytes | None:
        """Return a header's value, as ``get`` does. Raises HeaderMismatch if the header is there twice."""
        if name in self._twice:
            raise HeaderMismatch(f"{name.decode('latin-1')} is there more than once")
        return self.get(name)

    def accepts(self, media_type: bytes) -> bool:
        """Tell whether the client accepts this media type. Wildcards count for JSON only, which every client reads."""
        accept = self._values.get(b"accept")
        if accept is None:
            return media_type == JSON_TYPE
        accept = accept.lower()
        return media_type in accept or (media_type == JSON_TYPE and (b"*/*" in accept or b"application/*" in accept))


def revision_of(message: Json, headers: Headers) -> Revision:
    """Return the revision whose rules apply to a body.

    The body decides; the header counts only if the body says nothing. ``initialize`` opens the handshake era, unless its
    ``_meta`` names a stateless revision, which has no such method.
    """
    if isinstance(message, dict):
        params = message.get("params")
        if isinstance(params, dict) and "_meta" in params and META_VERSION in meta_of(params):
            return STATELESS[-1]
        if message.get("method") == "initialize":
            return WITHOUT_HEADER
    return headers.revision


def check_headers(message: JsonObject, headers: Headers) -> None:
    """Raise HeaderMismatch unless the headers of a stateless request agree with its body (SEP-2243).

    If the body itself lacks something, the session refuses it.
    """
    params = message.get("params")
    method = message.get("method")
    if not isinstance(params, dict) or not isinstance(method, str):
        params = {}
    version = meta_of(params).get(META_VERSION)
    if not isinstance(version, str) or not isinstance(method, str):
        return
    name = params.get(_NAMED.get(method))
    _compare("MCP-Protocol-Version", headers.get_once(VERSION), version)
    _compare("Mcp-Method", headers.get_once(METHOD), method)
    if isinstance(name, str):
        _compare("Mcp-Name", _decoded("Mcp-Name", headers.get_once(NAME)), name)


def header_params(schema: Mapping[str, Any]) -> HeaderParams:
    """Return the arguments of a tool that headers repeat: its schema marks them with ``x-mcp-header``."""
    return tuple(_header_params(schema, ()))


def _header_params(schema: Mapping[str, Any], path: tuple[str, ...]) -> Iterable[tuple[bytes, tuple[str, ...]]]:
    for name, inner in schema.get("properties", {}).items():
        if isinstance(inner, dict):
            if isinstance(inner.get("x-mcp-header"), str):
                yield PARAM_PREFIX + inner["x-mcp-header"].lower().encode("latin-1", "replace"), (*path, name)
            yield from _header_params(inner, (*path, name))


def check_params(params: HeaderParams, arguments: Json, headers: Headers) -> None:
    """Raise HeaderMismatch unless each of these headers agrees with its argument; without the argument it must be missing."""
    for header, path in params:
        value = arguments
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        shown_name = header.decode("latin-1")
        got = headers.get_once(header)
        if value is None:
            if got is not None:
                raise HeaderMismatch(f"{shown_name} is there, but no such argument")
        elif isinstance(value, bool):
            _compare(shown_name, got, "true" if value else "false")
        elif isinstance(value, int | float):
            _compare_number(shown_name, got, value)
        elif isinstance(value, str):
            _compare(shown_name, _decoded(shown_name, got), value)


def to_headers(message: JsonObject, params: HeaderParams = ()) -> dict[str, str]:
    """Return the headers that a stateless request or notification needs to pass the checks above."""
    content = message.get("params")
    content = content if isinstance(content, dict) else {}
    method = message["method"]
    headers = {"MCP-Protocol-Version": str(meta_of(content).get(META_VERSION)), "Mcp-Method": _encoded(method)}
    named = _NAMED.get(method)
    if named is not None and isinstance(content.get(named), str):
        headers["Mcp-Name"] = _encoded(content[named])
    for header, path in params:
        value = content.get("arguments")
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        if isinstance(value, bool):
            headers[header.decode("latin-1")] = "true" if value else "false"
        elif isinstance(value, str | int | float):
            headers[header.decode("latin-1")] = _encoded(str(value))
    return headers


def _encoded(value: str) -> str:
    """Return a header's value: the text itself, or base64 if a header cannot hold the text or it looks like base64."""
    is_plain = value.isascii() and value.isprintable() and value == value.strip(" ")
    if is_plain and not value.startswith(_BASE64_START.decode()):
        return value
    encoded = binascii.b2a_base64(value.encode("utf-8", "surrogatepass"), newline=False)
    return (_BASE64_START + encoded + _BASE64_END).decode("ascii")


def status_of(code: int | None, revision: Revision) -> int:
    """Return the HTTP status of an answer with this JSON-RPC error code; a result has None."""
    if code is None:
        return 200
    return (_STATUS if revision.stateless else _HANDSHAKE_STATUS).get(code, 200)


def to_event(frame: bytes, event_id: str | None = None) -> bytes:
    """Return a frame as a server-sent event. A frame has no line break except at its end."""
    head = b"" if event_id is None else b"id: %s\n" % event_id.encode("ascii")
    return b"%sevent: message\ndata: %s\n\n" % (head, frame.removesuffix(b"\n"))


def to_first_event(event_id: str, retry_ms: int) -> bytes:
    """Return the event without data that tells a client from where to resume, and after how long."""
    return b"id: %s\nretry: %d\ndata:\n\n" % (event_id.encode("ascii"), retry_ms)


KEEP_ALIVE = b": keep-alive\n\n"


def _decoded(name: str, value: bytes | None) -> bytes | None:
    """Return the text that a header's value stands for."""
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
