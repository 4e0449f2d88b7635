"""JSON-RPC 2.0: frames to messages and back. No MCP here, and no state.

Source: https://www.jsonrpc.org/specification. Two rules of MCP are checked here, too, because they hold in every revision:
no null ids, and params by name only.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False  # spelt out: importing typing would cost the handshake about 4 ms
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    # Any, because with a precise recursive type every access to a message would need a cast. Messages are checked at run time.
    Json: TypeAlias = Any
    JsonObject: TypeAlias = dict[str, Any]
    RequestId: TypeAlias = str | int | float

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

# The most values in one message. A batch of 1000 requests has some 10,000, the longest list of edits fewer. A text needs
# memory in proportion to its length, but a value that takes two bytes to write needs 60 to 230 bytes of memory.
MAX_VALUES = 100_000
# No real arguments are nested so deeply. Below this bound, recursion over a message is safe everywhere.
MAX_DEPTH = 100

_JSON_SPACE = b" \t\n\r"
_OPENING = b"[{"
_NOT_NESTING = bytes(byte for byte in range(256) if byte not in b"[]{}")
_BOM = b"\xef\xbb\xbf"  # PowerShell puts one before the first line it pipes


class MessageError(Exception):
    """A malformed frame or message, with the code and text of the JSON-RPC error that answers it.

    ``id`` is the request's own id if it could be read, else None: JSON-RPC's null for "unknown".
    """

    def __init__(self, code: int, message: str, id: RequestId | None = None) -> None:  # noqa: A002 - the wire's name
        super().__init__(message)
        self.code = code
        self.message = message
        self.id = id


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


_decode: Callable[[str], Json] = json.JSONDecoder(parse_constant=_refuse_constant).decode
_encode: Callable[[Json], str] = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":")
).encode
_encode_ascii = json.JSONEncoder(ensure_ascii=True, allow_nan=False, check_circular=False, separators=(",", ":")).encode


def parse_json(frame: bytes, most_values: int = MAX_VALUES) -> Json:
    """Return the value that a frame holds.

    Raises MessageError for anything that is not one JSON text (-32700), and for a text with too many values (-32600). The
    values are counted before any of them is created.
    """
    if len(frame) > MAX_DEPTH:
        _check_amount(frame, most_values)
    frame = frame.removeprefix(_BOM)
    try:
        return _decode(frame.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise MessageError(PARSE_ERROR, f"Parse error: not UTF-8 at byte {error.start}") from None
    except RecursionError:
        raise MessageError(PARSE_ERROR, "Parse error: nested too deeply") from None
    except ValueError as error:
        if frame[:15].lower() == b"content-length:":
            raise MessageError(
                PARSE_ERROR,
                "Parse error: this looks like a Content-Length header; messages here are one JSON object per line",
            ) from None
        raise MessageError(PARSE_ERROR, f"Parse error: {error}") from None


def _check_amount(frame: bytes, most_values: int) -> None:
    """Raise MessageError if the frame holds too many values or nests them too deeply.

    The first value of a list or object follows its bracket, each further one a comma. Brackets and commas within strings
    are left out of the count only if there are many: a note's text may be full of them. In text that is not JSON the count
    may be wrong, but only behind the place where the parser stops.
    """
    openings = frame.count(b"[") + frame.count(b"{")
    if openings <= MAX_DEPTH and (len(frame) <= most_values or openings + frame.count(b",") < most_values):
        return
    bare = frame.replace(b"\\\\", b"").replace(b'\\"', b"")  # now each quote begins or ends a string
    # A value has four quotes at most: a name and a string. Splitting at millions of quotes would need too much memory.
    is_too_much = bare.count(b'"') > 4 * most_values
    if not is_too_much:
        bare = b"_".join(bare.split(b'"')[::2]).translate(None, _JSON_SPACE)
        if _depth(bare.translate(None, _NOT_NESTING)[: 2 * most_values]) > MAX_DEPTH:
            raise MessageError(PARSE_ERROR, f"Parse error: nested too deeply; at most {MAX_DEPTH} levels are read")
        empty = bare.count(b"[]") + bare.count(b"{}")
        is_too_much = bare.count(b"[") + bare.count(b"{") - empty + bare.count(b",") >= most_values
    if is_too_much:
        reason = f"Invalid Request: a message may hold at most {most_values} values, this one holds more"
        raise MessageError(INVALID_REQUEST, reason)


def _depth(brackets: bytes) -> int:
    """Return how deeply brackets are nested; past ``MAX_DEPTH`` the rest is not counted."""
    deepest = depth = 0
    for bracket in brackets:
        depth += 1 if bracket in _OPENING else -1
        if depth > deepest:
            deepest = depth
            if deepest > MAX_DEPTH:
                break
    return deepest


def to_frame(message: JsonObject) -> bytes:
    """Return the message as one UTF-8 line, newline included. Raises ValueError or TypeError for what is not JSON."""
    try:
        return _encode(message).encode("utf-8") + b"\n"
    except UnicodeEncodeError:  # a lone surrogate: only an escape can spell it
        return _encode_ascii(message).encode("ascii") + b"\n"


def to_batch_frame(frames: list[bytes]) -> bytes:
    """Return one frame, a batch, that holds the messages of several frames."""
    return b"[" + b",".join(frame.removesuffix(b"\n") for frame in frames) + b"]\n"


def is_request_id(value: Json) -> bool:
    """Tell whether the value may be a request id: a string or a whole number, never null (MCP base protocol).

    Some JSON writers give every number a fraction, so 1.0 passes, and the answer has it as 1.0.
    """
    if isinstance(value, float):
        return value.is_integer()
    return isinstance(value, str | int) and not isinstance(value, bool)


def check_message(message: Json) -> JsonObject:
    """Return the message if it is a well-formed request, notification or response.

    Raises MessageError (-32600, or -32602 for params that are not an object), with the id if it can be read.
    """
    if not isinstance(message, dict):
        raise MessageError(INVALID_REQUEST, f"Invalid Request: expected a JSON object, got {json_type(message)}")
    known_id = _readable_id(message)
    if message.get("jsonrpc") != "2.0":
        raise MessageError(INVALID_REQUEST, 'Invalid Request: "jsonrpc" must be "2.0"', known_id)
    if "method" not in message:
        if _answers(message):
            return message
        raise MessageError(INVALID_REQUEST, 'Invalid Request: "method" is missing', known_id)
    if not isinstance(message["method"], str):
        got = json_type(message["method"])
        raise MessageError(INVALID_REQUEST, f'Invalid Request: "method" must be a string, got {got}', known_id)
    if "id" in message and known_id is None:
        got = json_type(message["id"])
        raise MessageError(INVALID_REQUEST, f'Invalid Request: "id" must be a string or an integer, got {got}')
    params = message.get("params")
    if params is None or isinstance(params, dict):
        return message
    if "id" in message:
        raise MessageError(
            INVALID_PARAMS, f'Invalid params: "params" must be an object, got {json_type(params)}', known_id
        )
    if not isinstance(params, list):  # a list is valid JSON-RPC, and a notification gets no answer
        raise MessageError(INVALID_REQUEST, f'Invalid Request: "params" must be an object, got {json_type(params)}')
    return message


def check_server_message(message: Json) -> JsonObject:
    """Return a server's message if it is a well-formed response, request or notification. Raises MessageError.

    The checks of a response are stricter than those of ``check_message``: the client relies on its fields.
    """
    checked = check_message(message)
    if "method" in checked:
        return checked
    error = checked.get("error")
    if "error" in checked and not (
        isinstance(error, dict) and type(error.get("code")) is int and isinstance(error.get("message"), str)
    ):
        raise MessageError(INVALID_REQUEST, 'Invalid response: "error" must have a code and a message')
    if "error" in checked and "result" in checked:
        raise MessageError(INVALID_REQUEST, 'Invalid response: it has both "result" and "error"')
    id_ = checked.get("id")
    if not is_request_id(id_) and (id_ is not None or "error" not in checked):  # an error may have none
        raise MessageError(INVALID_REQUEST, 'Invalid response: "id" must be a string or an integer')
    return checked


def _readable_id(message: JsonObject) -> RequestId | None:
    """Return the id under which the peer expects the answer to its message; None if there is none."""
    if _answers(message):
        return None  # the id is one of ours
    return message["id"] if "id" in message and is_request_id(message["id"]) else None


def _answers(message: JsonObject) -> bool:
    return "method" not in message and ("result" in message or "error" in message)


def is_response(message: JsonObject) -> bool:
    """Tell whether a checked message answers a request of ours."""
    return "method" not in message


def result_message(id: RequestId, result: JsonObject) -> JsonObject:  # noqa: A002 - the wire's name
    """Return the answer to request ``id``."""
    return {"jsonrpc": "2.0", "id": id, "result": result}


def error_message(id: RequestId | None, code: int, message: str, data: JsonObject | None = None) -> JsonObject:  # noqa: A002
    """Return the error answer to request ``id``; None if the id could not be read."""
    error: JsonObject = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return {"jsonrpc": "2.0", "id": id, "error": error}


def request_message(id: RequestId, method: str, params: JsonObject) -> JsonObject:  # noqa: A002 - the wire's name
    """Return a request of ours."""
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def notification_message(method: str, params: JsonObject) -> JsonObject:
    """Return a notification."""
    return {"jsonrpc": "2.0", "method": method, "params": params}


def json_type(value: Json) -> str:
    """Return the JSON name of the value's type, for error messages."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "an array" if isinstance(value, list) else "an object"
