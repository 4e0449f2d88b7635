"""Whichever library reads or writes a message, it is the same message, and the same mistake where it is none."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultwire.protocol import jsonrpc, quick_json

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=20,
)
# What one reader might take and the other not, or otherwise.
ODD = [
    b'{"id":123456789012345678901234567890}',
    b'{"id":18446744073709551616}',
    b'{"id":-9223372036854775809}',
    b'{"id":1e400}',
    b'{"id":1.0}',
    b'{"id":NaN}',
    b'{"id":-Infinity}',
    b'{"a":1,"a":2}',
    b'{"a":"\\ud800"}',
    b'{"a":"\\ud83d\\ude00"}',
    b"\xef\xbb\xbf{}",
    b"{}\n",
    b" {} ",
    b"",
    b"[1,]",
    b'{"a":"\xff"}',
    b'{"a":"\x01"}',
    b"[" * 2000 + b"]" * 2000,
    b'{"a":' + b'"x' * 40_000 + b'"}',
    b'{"a":"' + b"x" * 100_000 + b'"}',
    b"Content-Length: 5",
]


@pytest.fixture(params=["our own reader first", "the library first"])
def library_first(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonrpc, "_quick_read", None)
    monkeypatch.setattr(jsonrpc, "_quick_write", None)
    if request.param == "the library first":
        jsonrpc.use(quick_json.read, quick_json.write)


def parsed(frame: bytes) -> Any:
    """Return the value, or what is told of the mistake."""
    try:
        return jsonrpc.parse_json(frame)
    except jsonrpc.MessageError as error:
        return error.code, error.message, error.id


def quickly_parsed(frame: bytes) -> Any:
    with contextlib.suppress(ValueError):
        return quick_json.read(frame)
    return parsed(frame)


@pytest.mark.parametrize("frame", ODD, ids=lambda frame: repr(frame[:40]))
def test_a_frame_is_read_alike(frame: bytes) -> None:
    assert repr(quickly_parsed(frame)) == repr(parsed(frame))


@given(value=JSON, ascii_only=st.booleans(), indent=st.sampled_from([None, 1]))
def test_any_value_is_read_alike(value: Any, ascii_only: bool, indent: int | None) -> None:
    frame = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode("utf-8", "surrogatepass")
    assert repr(quickly_parsed(frame)) == repr(parsed(frame))


@given(value=st.dictionaries(st.text(), JSON, max_size=4))
def test_any_message_is_written_as_it_is_read(value: dict[str, Any]) -> None:
    with contextlib.suppress(TypeError):  # left to Python's own
        frame = quick_json.write(value)
        assert frame.endswith(b"\n")
        assert frame.count(b"\n") == 1
        assert json.loads(frame) == value


@pytest.mark.usefixtures("library_first")
@pytest.mark.parametrize("value", [{1, 2}, object(), b"bytes", {"a": {1: object()}}])
def test_what_is_no_json_is_no_frame(value: Any) -> None:
    with pytest.raises(TypeError):
        jsonrpc.to_frame({"result": value})


@pytest.mark.usefixtures("library_first")
@pytest.mark.parametrize("value", [2**70, "\ud800", "東京", 1.5, [None, True]])
def test_what_json_can_spell_comes_back_as_it_was(value: Any) -> None:
    assert jsonrpc.parse_json(jsonrpc.to_frame({"result": value})) == {"result": value}
