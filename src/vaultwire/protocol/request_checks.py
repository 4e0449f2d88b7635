"""Checks of one request before it is handled, each with the error that refuses it. No state: the session applies them."""

from __future__ import annotations

from vaultwire.protocol import jsonrpc
from vaultwire.protocol.jsonrpc import INVALID_PARAMS
from vaultwire.protocol.revisions import (
    META_CLIENT_CAPABILITIES,
    META_CLIENT_INFO,
    META_VERSION,
    STATELESS,
    UNSUPPORTED_PROTOCOL_VERSION,
    Revision,
    stateless,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultwire.protocol.json_types import Json, JsonObject, RequestId

LOG_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")  # RFC 5424, ascending

# Characters of a peer's text that an answer repeats: enough to recognise it, not enough to flood a log.
MAX_QUOTE = 80

# A session keeps the capabilities as long as it lives. Real ones have a few hundred bytes.
_MAX_CAPABILITIES_BYTES = 16 * 1024


class Refused(Exception):  # noqa: N818 - an answer, not a failure of ours
    """A request that gets a JSON-RPC error instead of a handler."""

    def __init__(self, code: int, message: str, data: JsonObject | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


def check_envelope(method: str, meta: JsonObject) -> Revision:
    """Return the revision that a stateless request names in its ``_meta`` (2026-07-28, "Request metadata")."""
    for key, expected, shape in ((META_VERSION, str, "a string"), (META_CLIENT_CAPABILITIES, dict, "an object")):
        if not isinstance(meta.get(key), expected):
            got = jsonrpc.json_type(meta[key]) if key in meta else "nothing"
            raise Refused(INVALID_PARAMS, f'Invalid params: {quote(method)} needs _meta["{key}"] ({shape}), got {got}')
    if not isinstance(meta.get(META_CLIENT_INFO, {}), dict):
        got = jsonrpc.json_type(meta[META_CLIENT_INFO])
        raise Refused(INVALID_PARAMS, f'Invalid params: _meta["{META_CLIENT_INFO}"] must be an object, got {got}')
    revision = stateless(meta[META_VERSION])
    if revision is None:
        supported = [served.name for served in STATELESS]
        raise Refused(
            UNSUPPORTED_PROTOCOL_VERSION,
            f"Unsupported protocol version: {quote(meta[META_VERSION])}; per-request _meta is served for "
            f"{', '.join(supported)}, older versions open with initialize",
            {"supported": supported, "requested": meta[META_VERSION]},
        )
    return revision


def check_initialize(params: JsonObject) -> int:
    """Check the params of ``initialize``; return how many bytes the client's capabilities have as JSON."""
    for name in ("capabilities", "clientInfo"):
        if not isinstance(params.get(name, {}), dict):
            got = jsonrpc.json_type(params[name])
            raise Refused(INVALID_PARAMS, f"Invalid params: {name} must be an object, got {got}")
    capabilities = params.get("capabilities")
    size = len(jsonrpc.to_frame(capabilities)) if capabilities else 0
    if size > _MAX_CAPABILITIES_BYTES:
        reason = f"capabilities may have at most {_MAX_CAPABILITIES_BYTES} bytes, these have {size}"
        raise Refused(INVALID_PARAMS, f"Invalid params: {reason}")
    return size


def check_level(level: Json, name: str) -> str:
    """Return the log level. Raises Refused, which calls it ``name``, if it is none."""
    if isinstance(level, str) and level in LOG_LEVELS:
        return level
    got = quote(level) if isinstance(level, str) else jsonrpc.json_type(level)
    raise Refused(INVALID_PARAMS, f"Invalid params: {name} must be one of {', '.join(LOG_LEVELS)}; got {got}")


def check_progress_token(token: Json) -> None:
    """Raise Refused unless the token is one, or None."""
    if token is not None and not jsonrpc.is_request_id(token):
        got = jsonrpc.json_type(token)
        raise Refused(INVALID_PARAMS, f"Invalid params: progressToken must be a string or an integer, got {got}")


def quote(value: RequestId) -> str:
    """Return the peer's text in a form for messages: bounded and printable."""
    text = str(value) if not isinstance(value, str) else value
    text = text if len(text) <= MAX_QUOTE else text[: MAX_QUOTE - 1] + "…"
    return repr(text) if isinstance(value, str) else text
