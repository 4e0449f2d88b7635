"""Parses frames of editors' clients. It also refuses text with half of a surrogate pair, which JSON-RPC would allow."""

from __future__ import annotations

import json
from typing import Any

from vaultwire.protocol import jsonrpc

_SURROGATE = b"\\ud"  # how JSON escapes begin, of half a surrogate pair and of whole ones
_HALF_PAIR = "Invalid params: half of a surrogate pair is no text, and no file can hold it; send whole characters"


def parse_frame(frame: bytes) -> dict[str, Any]:
    """Return the message that a frame holds. Raises MessageError."""
    message = jsonrpc.check_message(jsonrpc.parse_json(frame))
    if _SURROGATE in frame.lower() and not _is_text(message):
        id_ = message.get("id")
        raise jsonrpc.MessageError(jsonrpc.INVALID_PARAMS, _HALF_PAIR, id_ if _is_text(id_) else None)
    return message


def _is_text(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
