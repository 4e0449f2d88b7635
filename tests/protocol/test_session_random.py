"""The session under random input: it never raises, sends whole lines of JSON only, and answers every request at most once.

Three kinds of input: any bytes, any JSON, and conversations of plausible messages whose calls are answered in any order.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from support.transcripts import METHODS, make_session
from support.wire import HANDSHAKE_REVISIONS, REVISIONS
from vaultwire.protocol.events import Cancel, Exit, Peer, Request, Send
from vaultwire.protocol.jsonrpc import is_request_id

META = "io.modelcontextprotocol/"

# Few, so that they collide. 1 and 1.0 are one number, "1" is not.
IDS = st.sampled_from([0, 1, 2, 1.0, "1", "", "ü", "\ud800"])
NO_IDS: st.SearchStrategy[Any] = st.sampled_from([None, True, 1.5, [], {}])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)


@st.composite
def metas(draw: st.DrawFn) -> dict[str, Any]:
    """Return envelopes and halves of envelopes."""
    return draw(
        st.fixed_dictionaries(
            {},
            optional={
                META + "protocolVersion": st.sampled_from([*REVISIONS, "2030-01-01", None]),
                META + "clientCapabilities": st.sampled_from([{}, {"sampling": {}}, []]),
                META + "clientInfo": st.sampled_from([{}, "me"]),
                META + "logLevel": st.sampled_from(["debug", "error", "loud", None]),
                "progressToken": IDS | NO_IDS,
            },
        )
    )


@st.composite
def params(draw: st.DrawFn) -> dict[str, Any]:
    """Return what a request of some method may carry."""
    return draw(
        st.fixed_dictionaries(
            {},
            optional={
                "protocolVersion": st.sampled_from([*REVISIONS, "1", None]),
                "capabilities": st.sampled_from([{}, []]),
                "level": st.sampled_from(["debug", "loud", 1]),
                "name": st.sampled_from(["x", 1]),
                "requestId": IDS | NO_IDS,
                "_meta": metas() | VALUES,
            },
        )
    )


REQUEST_METHODS = st.sampled_from(
    [*METHODS, *METHODS, "initialize", "ping", "server/discover", "logging/setLevel", "nonsense"]
)
GOOD_ENVELOPE = st.just({"_meta": {META + "protocolVersion": "2026-07-28", META + "clientCapabilities": {}}})
REQUESTS = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "id": IDS, "method": REQUEST_METHODS}, optional={"params": params() | GOOD_ENVELOPE}
)
NOTIFICATIONS = st.fixed_dictionaries(
    {
        "jsonrpc": st.just("2.0"),
        "method": st.sampled_from(["notifications/cancelled", "notifications/cancelled", "exit", "nonsense"]),
    },
    optional={"params": params()},
)
MALFORMED = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.sampled_from(["2.0", "1.0", 2]),
        "id": IDS | NO_IDS,
        "method": REQUEST_METHODS | st.none(),
        "params": params() | VALUES,
        "result": VALUES,
        "error": VALUES,
    },
)
MESSAGES = REQUESTS | REQUESTS | NOTIFICATIONS | MALFORMED
FRAMES = MESSAGES | MESSAGES | st.lists(MESSAGES, max_size=4)
OPENINGS = st.sampled_from([None, *HANDSHAKE_REVISIONS, "2025-03-26", "2025-03-26"])  # batches are found there only


def read(frame: bytes) -> list[Any]:
    """Return the messages of a frame that went out, having checked that it is one line of JSON-RPC."""
    assert frame.endswith(b"\n")
    assert frame.count(b"\n") == 1
    value = json.loads(frame, parse_constant=lambda name: (_ for _ in ()).throw(AssertionError(name)))
    messages = value if isinstance(value, list) else [value]
    assert messages
    for message in messages:
        assert message["jsonrpc"] == "2.0"
        assert ("method" in message) + ("result" in message) + ("error" in message) == 1
    return messages


def key(id_: Any) -> str:
    """Return the id so that 1 and 1.0 are one, and "1" another."""
    return repr(float(id_)) if isinstance(id_, int | float) else repr(id_)


class Conversation:
    """A session, its driver, and the account of who is owed an answer."""

    def __init__(self) -> None:
        self.session = make_session()
        self.calls: list[Request] = []  # every one there ever was: late and second answers are tried too
        self.waiting: set[Request] = set()
        self.cancelled: set[Request] = set()
        self.owed: Counter[str] = Counter()  # requests neither answered nor cancelled, by id
        self.anonymous = 0  # answers under the id null

    def receive(self, value: Any) -> None:
        frame = json.dumps(value).encode()
        asked = [key(message["id"]) for message in messages_of(value) if wants_answer(message)]
        self.owed.update(asked)
        calls_before = len(self.calls)
        answers: list[Any] = []
        for event in self.session.receive(frame):
            match event:
                case Send(out):
                    answers += read(out)
                case Request() as request:
                    assert request.method in METHODS
                    assert request not in self.waiting
                    self.calls.append(request)
                    self.waiting.add(request)
                case Cancel(request):
                    assert request in self.waiting
                    self.waiting.remove(request)
                    self.cancelled.add(request)
                    self.owed[key(request.id)] -= 1
                case Exit():
                    pass
        for request in self.calls[calls_before:]:
            assert key(request.id) in asked, "a call nobody asked for"
        if isinstance(value, list) and answers and "batches exist" in answers[0].get("error", {}).get("message", ""):
            self.owed.subtract(asked)  # one answer for the whole frame
            assert len(answers) == 1
        self.settle(answers)

    def settle(self, answers: list[Any]) -> None:
        for answer in answers:
            if answer["id"] is None:
                assert answer["error"]["code"] in (-32700, -32600, -32602)
                self.anonymous += 1
            else:
                self.owed[key(answer["id"])] -= 1
                assert self.owed[key(answer["id"])] >= 0, "answered more often than asked"

    def answer(self, request: Request, *, refuse: bool) -> None:
        expected = request in self.waiting
        self.waiting.discard(request)
        before = self.session.in_flight
        frame = self.session.refuse(request, -32000, "no") if refuse else self.session.reply(request, {})
        assert self.session.in_flight == before - expected
        if not expected:
            assert frame is None, "answered twice, or after it was cancelled"
        if frame is not None:
            self.settle(read(frame))
        elif expected:
            assert request.batch is not None, "an answer was lost"

    def report(self, request: Request) -> None:
        frame = self.session.report(request, request.progress + 1, None, "…")
        assert frame is None or request in self.waiting
        if frame is not None:
            (message,) = read(frame)
            assert message["params"]["progressToken"] == request.progress_token
        logged = self.session.log(request, "error", "test", "hello")
        if logged is not None:
            read(logged)
            assert request in self.waiting or not request.revision.stateless


def wants_answer(message: dict[str, Any]) -> bool:
    """Tell whether a message has an id under which its sender waits, be the rest of it sound or not."""
    answers_us = "method" not in message and ("result" in message or "error" in message)
    return "id" in message and is_request_id(message["id"]) and not answers_us


def messages_of(value: Any) -> list[dict[str, Any]]:
    return [message for message in (value if isinstance(value, list) else [value]) if isinstance(message, dict)]


@given(st.data())
def test_every_request_of_a_random_conversation_is_answered_once_or_cancelled(data: st.DataObject) -> None:
    conversation = Conversation()
    opening = data.draw(OPENINGS, "opening")
    if opening is not None:
        conversation.receive(
            {"jsonrpc": "2.0", "id": "open", "method": "initialize", "params": {"protocolVersion": opening}}
        )
        assert conversation.owed["'open'"] == 0
    for value in data.draw(st.lists(FRAMES, max_size=8), "frames"):
        conversation.receive(value)
        assert conversation.session.in_flight == len(conversation.waiting)
        ids = [key(request.id) for request in conversation.waiting]
        assert len(ids) == len(set(ids)), "two calls in flight under one id"
        if conversation.calls:
            request = data.draw(st.sampled_from(conversation.calls), "request")
            conversation.report(request)
            if data.draw(st.booleans(), "answer"):
                conversation.answer(request, refuse=data.draw(st.booleans(), "refuse"))
    for request in data.draw(st.permutations(conversation.calls), "order"):
        conversation.answer(request, refuse=False)
        conversation.answer(request, refuse=True)
    assert conversation.session.in_flight == 0
    # What is owed for good was refused under no id, because its own was in use.
    assert sum(conversation.owed.values()) <= conversation.anonymous
    if conversation.anonymous == 0:
        assert not +conversation.owed


@given(st.binary() | st.text().map(str.encode) | st.binary().map(lambda tail: b'{"jsonrpc":"2.0","id":' + tail))
def test_any_bytes_are_taken(frame: bytes) -> None:
    for opening in (None, "2025-03-26"):
        session = make_session()
        if opening is not None:
            session.receive(b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}')
        for event in session.receive(frame):
            if isinstance(event, Send):
                read(event.frame)


@given(VALUES | MALFORMED | st.lists(VALUES | MALFORMED))
def test_any_json_is_taken(value: Any) -> None:
    conversation = Conversation()
    conversation.receive(
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-03-26"}}
    )
    conversation.receive(value)
    conversation.receive({"jsonrpc": "2.0", "id": "still there?", "method": "ping"})
    assert conversation.owed["'still there?'"] == 0


def test_what_a_peer_said_counts_with_what_python_makes_of_it() -> None:
    peer = Peer()
    peer.capabilities_size = 1000
    assert peer.size >= 10_000
    peer.watched = {f"obsidian://vault/v/{number}" for number in range(100)}
    assert peer.size >= 10_000 + 100 * 50
