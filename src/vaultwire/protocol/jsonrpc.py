"""JSON-RPC 2.0: text to messages and back. No MCP here, and no state.

Source: https://www.jsonrpc.org/specification. What MCP adds to it (no null ids, params by name only) is checked here
too, because a message that breaks it has no meaning in any revision.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False  # spelt out: importing typing would cost the handshake about 4 ms
if TYPE_CHECKING:
    from collections.abc import Callable

    from vaultwire.protocol.json_types import Json, JsonObject, RequestId

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

# What one message may hold. A batch of 1000 requests has some 10,000 values, the longest list of edits fewer. Text costs
# memory as it is long, but each value costs 60 to 230 bytes where it takes two bytes to write one.
MAX_VALUES = 100_000
# Nobody's arguments are nested so deeply, and everything that walks through a message can do so without a second thought.
MAX_DEPTH = 100

_BLANKS = " \t\n\r"
_JSON_SPACE = b" \t\n\r"
_OPENING = b"[{"
_NOT_NESTING = bytes(byte for byte in range(256) if byte not in b"[]{}")
_USUAL_IDS = (int, str)
_BOM = b"\xef\xbb\xbf"  # PowerShell puts one before the first line it pipes


class MessageError(Exception):
    """A frame or message that has no meaning; carries what the JSON-RPC error answer says.

    ``id`` is the request's own id where it could be read, else None, which is how JSON-RPC spells "unknown".
    """

    def __init__(self, code: int, message: str, id: RequestId | None = None) -> None:  # noqa: A002 - the wire's name
        super().__init__(message)
        self.code = code
        self.message = message
        self.id = id


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _refuse_value(value: object) -> None:
    raise TypeError(f"a {type(value).__name__} is not JSON")


_decoder = json.JSONDecoder(parse_constant=_refuse_constant)
_decode: Callable[[str], Json] = _decoder.decode
_scanner = getattr(_decoder, "scan_once", None)
if _scanner is not None:
    _scan: Callable[[str, int], tuple[Json, int]] = _scanner

    # What `decode` calls, with a look for blanks on either side that most texts do not need. Not a documented name either.
    def _decode_at_once(text: str) -> Json:
        if text[:1] == "{":
            try:
                value, end = _scan(text, 0)
            except StopIteration:  # something is missing; `decode` says what
                pass
            else:
                if end == len(text) or not text[end:].strip(_BLANKS):
                    return value
        return _decoder.decode(text)

    _decode = _decode_at_once
_encode: Callable[[Json], str] = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":")
).encode
_encode_ascii = json.JSONEncoder(ensure_ascii=True, allow_nan=False, check_circular=False, separators=(",", ":")).encode
_make_encoder = getattr(json.encoder, "c_make_encoder", None)
if _make_encoder is not None:
    # What `encode` makes anew for each text, which takes longer than most texts. Not a documented name of the library's.
    _pieces = _make_encoder(None, _refuse_value, json.encoder.encode_basestring, None, ":", ",", False, False, False)

    def _encode_at_once(value: Json) -> str:
        return "".join(_pieces(value, 0))

    _encode = _encode_at_once


# How a quicker library reads and writes, where there is one (``use``).
_quick_read: Callable[[bytes], Json] | None = None
_quick_write: Callable[[JsonObject], bytes] | None = None


def use(read: Callable[[bytes], Json], write: Callable[[JsonObject], bytes]) -> None:
    """Read and write frames with these from now on, as far as they do: what raises is done as without them.

    ``read`` raises ValueError, ``write`` TypeError.
    """
    global _quick_read, _quick_write
    _quick_read, _quick_write = read, write


def quicken() -> None:
    """Have frames read and written by a library from now on, if it is there. It takes 15 ms to load."""
    try:
        from vaultwire.protocol import quick_json  # noqa: PLC0415 - not before the first answers
    except ImportError:
        return
    use(quick_json.read, quick_json.write)


def parse_json(frame: bytes, most_values: int = MAX_VALUES) -> Json:
    """Return the value one frame holds.

    Raises MessageError for anything that is not one JSON text (-32700) and for a text that holds too much (-32600), which
    is seen before any of it is made.
    """
    if len(frame) > MAX_DEPTH:
        _check_amount(frame, most_values)
    if _quick_read is not None:
        try:
            return _quick_read(frame)
        except ValueError:
            pass
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

    The first value in a list or an object stands behind its bracket, each other one behind a comma. Brackets and commas in
    strings are told apart only where there are many: a note's text may be full of them. Text that is no JSON may be counted
    wrongly, but not up to where the parser stops.
    """
    openings = frame.count(b"[") + frame.count(b"{")
    if openings <= MAX_DEPTH and (len(frame) <= most_values or openings + frame.count(b",") < most_values):
        return
    bare = frame.replace(b"\\\\", b"").replace(b'\\"', b"")  # now each quote begins or ends a string
    # A value is a string at most and has a name at most. More quotes are not cut at: there may be millions.
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
    """Return how deeply brackets are nested, as soon as it is clear that it is too deep."""
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
    if _quick_write is not None:
        try:
            return _quick_write(message)
        except TypeError:
            pass
    try:
        return _encode(message).encode("utf-8") + b"\n"
    except UnicodeEncodeError:  # a lone surrogate, which only an escape can spell
        return _encode_ascii(message).encode("ascii") + b"\n"


def to_batch_frame(frames: list[bytes]) -> bytes:
    """Return the frames of several messages as the one frame of a batch."""
    return b"[" + b",".join(frame.removesuffix(b"\n") for frame in frames) + b"]\n"


def is_request_id(value: Json) -> bool:
    """Tell whether the value may be a request id: a string or a whole number, never null (MCP base protocol).

    Some JSON writers spell every number with a fraction, so 1.0 passes and is echoed as it came.
    """
    if isinstance(value, float):
        return value.is_integer()
    return isinstance(value, str | int) and not isinstance(value, bool)


def check_message(message: Json) -> JsonObject:
    """Return the message if it is a well-formed request, notification or response.

    Raises MessageError (-32600, or -32602 for params that are not an object), with the id where one is readable.
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
    if not isinstance(params, list):  # a list is sound JSON-RPC, and a notification is not answered
        raise MessageError(INVALID_REQUEST, f'Invalid Request: "params" must be an object, got {json_type(params)}')
    return message


def check_said(message: Json) -> JsonObject:
    """Return what a server says if it is a well-formed response, request or notification, as the client may rely on.

    Raises MessageError. A server's response may come from anywhere, so it is looked at more closely than a client's.
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
    if not is_request_id(id_) and (id_ is not None or "error" not in checked):  # of an error it may be unknown
        raise MessageError(INVALID_REQUEST, 'Invalid response: "id" must be a string or an integer')
    return checked


def is_usual(message: Json) -> bool:
    """Tell whether a message is as nearly all are: a sound request with params. Quicker than asking what is wrong with it."""
    if type(message) is not dict:
        return False
    get = message.get
    return (
        get("jsonrpc") == "2.0"
        and type(get("method")) is str
        and type(get("params")) is dict
        and type(get("id")) in _USUAL_IDS
    )


def _readable_id(message: JsonObject) -> RequestId | None:
    """Return the id under which the peer would look for the answer to its message, None if there is none."""
    if _answers(message):
        return None  # it names a request of ours
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
    """Return the error answer to request ``id``; None where the id could not be read."""
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
    """Return the value's type in JSON's own words, for error messages."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "an array" if isinstance(value, list) else "an object"
