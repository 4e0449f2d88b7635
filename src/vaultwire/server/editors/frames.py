"""Frames of editors' clients as messages. Besides what JSON-RPC asks for, every text in one is whole."""

from __future__ import annotations

import json
from typing import Any

from vaultwire.protocol import jsonrpc

_SURROGATE = b"\\ud"  # how a frame spells half of a surrogate pair, and whole ones
_NOT_WHOLE = "Invalid params: half of a surrogate pair is no text, and no file can hold it; send whole characters"


def parse_frame(frame: bytes) -> dict[str, Any]:
    """Return the message that a frame holds. Raises MessageError."""
    message = jsonrpc.check_message(jsonrpc.parse_json(frame))
    if _SURROGATE in frame.lower() and not _is_text(message):
        id_ = message.get("id")
        raise jsonrpc.MessageError(jsonrpc.INVALID_PARAMS, _NOT_WHOLE, id_ if _is_text(id_) else None)
    return message


def _is_text(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
