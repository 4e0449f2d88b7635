"""JSON-RPC by table: what each malformed frame is answered with, and that ids and text survive the way out and back.

Source: https://www.jsonrpc.org/specification, section 5.1 for the codes, section 4 for what a message is.
"""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultwire.protocol import jsonrpc
from vaultwire.protocol.jsonrpc import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, MessageError

DEEP = 100_000

NOT_JSON: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "Expecting value"),
    "words": (b"hello", "Expecting value"),
    "cut off": (b'{"jsonrpc":"2.0","id":1,', "Expecting property name"),
    "two texts": (b'{"jsonrpc":"2.0"}{"jsonrpc":"2.0"}', "Extra data"),
    "single quotes": (b"{'id':1}", "Expecting property name"),
    "a control character in a string": (b'{"id":"a\tb"}', "Invalid control character"),
    "NaN": (b'{"id":NaN}', "NaN is not JSON"),
    "Infinity": (b'{"id":Infinity}', "Infinity is not JSON"),
    "-Infinity": (b'{"params":{"x":-Infinity}}', "-Infinity is not JSON"),
    "Latin-1": ('{"method":"é"}'.encode("latin-1"), "not UTF-8 at byte 11"),
    "half a character": (b'{"method":"\xc3"}', "not UTF-8 at byte 11"),
    "a surrogate as bytes": (b'{"method":"\xed\xa0\x80"}', "not UTF-8 at byte 11"),
    "UTF-16 with a mark": ('{"id":1}'.encode("utf-16"), "not UTF-8 at byte 0"),
    "UTF-16 without a mark": ('{"id":1}'.encode("utf-16-le"), "Parse error"),
    "two marks": (b"\xef\xbb\xbf\xef\xbb\xbf{}", "Parse error"),
    "only a mark": (b"\xef\xbb\xbf", "Expecting value"),
    "a language server's header": (b"Content-Length: 52\r\n", "one JSON object per line"),
    "the header in small letters": (b"content-length: 52\r\n", "one JSON object per line"),
    "lists nested too deeply": (b"[" * DEEP + b"]" * DEEP, "nested too deeply"),
    "objects nested too deeply": (b'{"a":' * DEEP + b"1" + b"}" * DEEP, "nested too deeply"),
    "a number with more digits than Python reads": (b'{"id":' + b"1" * 5000 + b"}", "Parse error"),
}


@pytest.mark.parametrize(("frame", "reason"), NOT_JSON.values(), ids=NOT_JSON)
def test_a_frame_that_is_not_json_is_a_parse_error_that_says_why(frame: bytes, reason: str) -> None:
    with pytest.raises(MessageError) as caught:
        jsonrpc.parse_json(frame)
    assert (caught.value.code, caught.value.id) == (PARSE_ERROR, None)
    assert caught.value.message.startswith("Parse error: ")
    assert reason in caught.value.message
    assert len(caught.value.message) < 200


# message, code, id of the answer
MALFORMED: dict[str, tuple[Any, int, Any]] = {
    "a number": (1, INVALID_REQUEST, None),
    "null": (None, INVALID_REQUEST, None),
    "a string": ("ping", INVALID_REQUEST, None),
    "true": (True, INVALID_REQUEST, None),
    "a list in a list": ([], INVALID_REQUEST, None),
    "an empty object": ({}, INVALID_REQUEST, None),
    "no version": ({"id": 1, "method": "ping"}, INVALID_REQUEST, 1),
    "version 1.0": ({"jsonrpc": "1.0", "id": "a", "method": "ping"}, INVALID_REQUEST, "a"),
    "version as a number": ({"jsonrpc": 2.0, "id": 0, "method": "ping"}, INVALID_REQUEST, 0),
    "no method": ({"jsonrpc": "2.0", "id": 7}, INVALID_REQUEST, 7),
    "method null": ({"jsonrpc": "2.0", "id": 7, "method": None}, INVALID_REQUEST, 7),
    "method a number": ({"jsonrpc": "2.0", "id": 7, "method": 1}, INVALID_REQUEST, 7),
    "method a list": ({"jsonrpc": "2.0", "id": 7, "method": ["ping"]}, INVALID_REQUEST, 7),
    "id null": ({"jsonrpc": "2.0", "id": None, "method": "ping"}, INVALID_REQUEST, None),
    "id true": ({"jsonrpc": "2.0", "id": True, "method": "ping"}, INVALID_REQUEST, None),
    "id a fraction": ({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}, INVALID_REQUEST, None),
    "id a list": ({"jsonrpc": "2.0", "id": [1], "method": "ping"}, INVALID_REQUEST, None),
    "id an object": ({"jsonrpc": "2.0", "id": {}, "method": "ping"}, INVALID_REQUEST, None),
    "id beyond every number": (json.loads('{"jsonrpc":"2.0","id":1e400,"method":"ping"}'), INVALID_REQUEST, None),
    "params a list": ({"jsonrpc": "2.0", "id": 7, "method": "ping", "params": [1]}, INVALID_PARAMS, 7),
    "params a string": ({"jsonrpc": "2.0", "id": 7, "method": "ping", "params": "x"}, INVALID_PARAMS, 7),
    "params false": ({"jsonrpc": "2.0", "id": 0, "method": "ping", "params": False}, INVALID_PARAMS, 0),
    "a notification with a number for params": ({"jsonrpc": "2.0", "method": "x", "params": 1}, INVALID_REQUEST, None),
    # Its id names a request of ours; under it the peer would look for a request of its own.
    "a response of version 1.0": ({"jsonrpc": "1.0", "id": 7, "result": {}}, INVALID_REQUEST, None),
}


@pytest.mark.parametrize(("message", "code", "id_"), MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_message_is_refused_under_its_own_id_where_that_can_be_read(
    message: Any, code: int, id_: Any
) -> None:
    with pytest.raises(MessageError) as caught:
        jsonrpc.check_message(message)
    assert (caught.value.code, caught.value.id) == (code, id_)
    assert type(caught.value.id) is type(id_)


SOUND: dict[str, Any] = {
    "a request": {"jsonrpc": "2.0", "id": 1, "method": "ping"},
    "a request with params": {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {}},
    "params null": {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": None},
    "a notification": {"jsonrpc": "2.0", "method": "exit"},
    "a notification with params by position": {"jsonrpc": "2.0", "method": "x", "params": [1]},
    "a result": {"jsonrpc": "2.0", "id": 1, "result": {}},
    "an error": {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "?"}},
    "members nobody knows": {"jsonrpc": "2.0", "id": 1, "method": "ping", "extra": [None]},
    "an empty method": {"jsonrpc": "2.0", "id": 1, "method": ""},
}


@pytest.mark.parametrize("message", SOUND.values(), ids=SOUND)
def test_a_well_formed_message_passes_unchanged(message: Any) -> None:
    assert jsonrpc.check_message(dict(message)) == message


IDS = [
    "0",
    '""',
    '"0"',
    "-1",
    "1.0",
    "-0.0",
    "9007199254740993",  # 2**53 + 1, which a float cannot hold
    "18446744073709551616",
    "-" + "9" * 4000,
    "1e+300",
    '"grüße 日本 🗝"',
    '"a b\\n\\u0000\\"\\\\"',
    '"\\ud800"',  # half a surrogate pair
    '"\\ud83d\\udd11"',
    '"\\u2028\\u2029"',  # line ends to JavaScript, not to us
    '"' + "x" * 10_000 + '"',
]


@pytest.mark.parametrize("spelt", IDS, ids=lambda spelt: spelt[:20])
def test_an_id_comes_back_as_it_went_in(spelt: str) -> None:
    message = jsonrpc.parse_json(b'{"jsonrpc":"2.0","id":' + spelt.encode() + b',"method":"ping"}')
    checked = jsonrpc.check_message(message)
    frame = jsonrpc.to_frame(jsonrpc.result_message(checked["id"], {}))
    echoed = json.loads(frame)["id"]
    sent = json.loads(spelt)
    assert echoed == sent
    assert type(echoed) is type(sent)
    assert frame.endswith(b"\n")
    assert frame.count(b"\n") == 1
    if not spelt.startswith('"'):
        assert b'"id":' + spelt.encode() + b"," in frame


@pytest.mark.parametrize("value", [None, True, False, 1.5, float("inf"), [], {}, [1]])
def test_nothing_but_a_string_or_a_whole_number_is_an_id(value: Any) -> None:
    assert not jsonrpc.is_request_id(value)


def test_a_byte_order_mark_before_a_message_is_overlooked() -> None:
    assert jsonrpc.parse_json(b'\xef\xbb\xbf{"id":1}\r\n') == {"id": 1}


def test_text_is_sent_as_utf_8_and_not_as_escapes() -> None:
    frame = jsonrpc.to_frame(jsonrpc.result_message(1, {"text": "grüße 🗝"}))
    assert "grüße 🗝".encode() in frame


def test_half_a_surrogate_pair_is_sent_as_an_escape() -> None:
    frame = jsonrpc.to_frame(jsonrpc.result_message(1, {"text": "é\ud800"}))
    assert frame.isascii()
    assert json.loads(frame)["result"] == {"text": "é\ud800"}


def test_a_line_end_inside_a_text_does_not_end_the_line() -> None:
    frame = jsonrpc.to_frame(jsonrpc.notification_message("notifications/message", {"data": "a\nb\r\nc"}))
    assert frame.count(b"\n") == 1
    assert b"\r" not in frame


@pytest.mark.parametrize("value", [float("nan"), float("inf"), b"bytes", {1, 2}, object()])
def test_what_is_not_json_is_never_sent(value: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        jsonrpc.to_frame(jsonrpc.result_message(1, {"value": value}))


def test_a_batch_frame_holds_its_messages_in_order_on_one_line() -> None:
    messages = [jsonrpc.result_message(1, {}), jsonrpc.error_message(None, -32600, "é")]
    frame = jsonrpc.to_batch_frame([jsonrpc.to_frame(message) for message in messages])
    assert json.loads(frame) == messages
    assert frame.count(b"\n") == 1


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (None, "null"),
        (True, "a boolean"),
        (0, "a number"),
        (1.5, "a number"),
        ("", "a string"),
        ([], "an array"),
        ({}, "an object"),
    ],
)
def test_types_are_called_by_their_json_names(value: Any, name: str) -> None:
    assert jsonrpc.json_type(value) == name


MANY: dict[str, Callable[[int], bytes]] = {
    "lists": lambda count: b"[" + b",".join([b"[]"] * count) + b"]",
    "objects": lambda count: b"[" + b", ".join([b"{}"] * count) + b"]",
    "numbers": lambda count: b"[" + b",".join([b"1"] * count) + b"]",
    "texts": lambda count: b"[" + b",".join([b'""'] * count) + b"]",
    "texts with escapes": lambda count: b"[" + b",".join([rb'"\\\",[{\\"'] * count) + b"]",
    "names": lambda count: b'{"":{' + b",".join(b'"%d":0' % number for number in range(count)) + b"}}",
}


@pytest.mark.parametrize("make", MANY.values(), ids=MANY)
def test_a_message_of_too_many_values_is_refused_before_any_is_made(make: Callable[[int], bytes]) -> None:
    jsonrpc.parse_json(make(jsonrpc.MAX_VALUES - 2))  # and what they are in
    frame = make(jsonrpc.MAX_VALUES * 10)
    tracemalloc.start()
    try:
        with pytest.raises(MessageError, match="at most 100000 values") as caught:
            jsonrpc.parse_json(frame)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert caught.value.code == INVALID_REQUEST
    assert most < 3 * len(frame) + 100 * 4 * jsonrpc.MAX_VALUES  # of the text itself, and of pieces between few quotes


@pytest.mark.parametrize("text", [",", "[{", '"', "\\", '\\"', '",[', "a\n[[b]], c", "é,[", "\ud83d\\,[", '\\\\"[,'])
def test_a_note_full_of_commas_brackets_and_quotes_can_be_written(text: str) -> None:
    message = {"jsonrpc": "2.0", "method": "x", "params": {"content": text * (2_000_000 // len(text)), "more": [1, 2]}}
    for ascii_only in (True, False):
        frame = json.dumps(message, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
        if ascii_only or "\ud83d" not in text:
            assert jsonrpc.parse_json(frame) == message


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}"), ('[{"[":', "}]")])
def test_values_are_nested_so_deeply_and_no_deeper(opening: str, closing: str) -> None:
    fitting = jsonrpc.MAX_DEPTH // len(closing)
    for levels, fits in ((fitting, True), (fitting + 1, False)):
        frame = (opening * levels + "1" + closing * levels).encode()
        if fits:
            jsonrpc.parse_json(frame)
        else:
            with pytest.raises(MessageError, match="nested too deeply"):
                jsonrpc.parse_json(frame)


@pytest.mark.parametrize(
    ("value", "values"), [("[]", 1), ("{}", 1), ("1", 1), ('"["', 1), ('{"a":[]}', 2), ("[[]]", 2)]
)
def test_values_behind_many_others_are_nested_so_deeply_and_no_deeper(value: str, values: int) -> None:
    start = f"[{value}," * 10 + f"{value}," * (jsonrpc.MAX_VALUES * 3 // 4 // values)
    for levels, fits in ((jsonrpc.MAX_DEPTH - 10, True), (jsonrpc.MAX_DEPTH - 9, False)):
        frame = (start + "[" * levels + "]" * levels + "]" * 10).encode()
        if fits:
            jsonrpc.parse_json(frame)
        else:
            with pytest.raises(MessageError, match="nested too deeply"):
                jsonrpc.parse_json(frame)


AMOUNTS = st.recursive(
    st.integers(-3, 3) | st.text(st.sampled_from('\\",[]{}: a'), max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from('\\",[{'), inner, max_size=3),
    max_leaves=8,
)


def values_in(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(values_in, inner))


@given(st.lists(AMOUNTS, min_size=1, max_size=5), st.sampled_from([(", ", ": "), (",", ":")]))
def test_values_are_counted_exactly(some: list[Any], separators: tuple[str, str]) -> None:
    value = [[some]] * 50  # more brackets than are let pass without a closer look
    frame = json.dumps(value, separators=separators).encode()
    count = values_in(value)
    assert jsonrpc.parse_json(frame, count) == value
    with pytest.raises(MessageError, match="values"):
        jsonrpc.parse_json(frame, count - 1)
