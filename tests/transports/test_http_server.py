"""HTTP/1.1 as the server speaks it: what a request may look like, what an answer does, one after the other."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.serving import Serving, received, stage
from support.vaults import write_vault

GET = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
CALL = b"POST /bridge/v1/tools/read_note/call HTTP/1.1\r\nHost: localhost\r\n"
BODY = b'{"arguments": {"path": "Note"}}'
LAST = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with Serving(write_vault(tmp_path_factory.mktemp("vault"), "=== Note.md\nthe text\n")) as started:
        yield started


def answers(server: Serving, sent: bytes) -> bytes:
    """Return all that comes until the server itself hangs up."""
    with server.connect() as connection:
        connection.sendall(sent)
        return received(connection)


def statuses(answer: bytes) -> list[int]:
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", answer)]


def test_of_requests_sent_together_the_first_is_answered_and_the_connection_ends(server: Serving) -> None:
    call = CALL + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
    answer = answers(server, call + GET + call)
    assert statuses(answer) == [200]
    assert b"connection: close\r\n" in answer
    assert answer.count(b"the text") == 1


def test_what_is_no_request_is_not_answered_before_what_was_one(server: Serving) -> None:
    call = CALL + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
    answer = answers(server, call + b"nonsense\r\n\r\n")
    assert statuses(answer) == [200]
    assert b"the text" in answer


@pytest.mark.parametrize(
    "body",
    [
        b"Transfer-Encoding: chunked\r\n\r\n" + b"".join(b"1\r\n%c\r\n" % byte for byte in BODY) + b"0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n1f\r\n" + BODY + b"\r\n0\r\nHost: evil.example\r\nX-Api-Key: x\r\n\r\n",
        b"Content-Length: 31\r\nExpect: 100-continue\r\n\r\n" + BODY,
    ],
)
def test_a_body_may_come_in_any_form(server: Serving, body: bytes) -> None:
    with server.connect() as connection:
        connection.sendall(CALL + body)
        answer = connection.recv(1 << 16)
        while b"the text" not in answer:
            answer += connection.recv(1 << 16)
        assert statuses(answer)[-1] == 200
        connection.sendall(LAST)
        assert statuses(received(connection)) == [200]


@pytest.mark.parametrize("word", [b"100-continue", b"100-Continue", b"100-CONTINUE \t"])
def test_a_client_that_waits_to_be_asked_for_its_body_is_asked(server: Serving, word: bytes) -> None:
    with server.connect() as connection:
        connection.sendall(CALL + b"Content-Length: %d\r\nExpect: %s\r\n\r\n" % (len(BODY), word))
        assert connection.recv(1 << 16) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(BODY)
        assert b"the text" in connection.recv(1 << 16)


@pytest.mark.parametrize("version", [b"2.0", b"0.9"])
def test_another_version_of_http_is_505(server: Serving, version: bytes) -> None:
    answer = answers(server, b"GET /health HTTP/%s\r\nHost: localhost\r\n\r\n" % version)
    assert statuses(answer) == [505]
    assert statuses(answers(server, GET + b"GET /health HTTP/%s\r\nHost: localhost\r\n\r\n" % version)) == [200]


def test_a_broken_body_behind_its_refusal_ends_the_connection_and_is_no_crash(tmp_path: Path) -> None:
    with Serving(tmp_path) as server:
        with server.connect() as connection:
            connection.sendall(b"POST /nothing HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
            assert statuses(connection.recv(1 << 16)) == [404]
            connection.sendall(b"no length of a chunk\r\n")
            assert received(connection) == b""
        assert server.end(signal.SIGTERM) == (0, "", "")


def test_what_comes_behind_the_last_request_takes_nothing_from_its_answer(server: Serving) -> None:
    for last in (LAST, b"GET /health HTTP/1.0\r\nHost: localhost\r\n\r\n"):
        for behind in (GET, b"nonsense", b"x" * 100_000):
            assert statuses(answers(server, last + behind)) == [200]


def test_a_client_that_ends_its_side_behind_its_request_gets_its_answer(server: Serving) -> None:
    call = CALL + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
    for sent in (call, call + GET, call + CALL, call + b"GET /he"):
        for _ in range(20):
            answer = server.send(sent)
            assert statuses(answer) == [200]
            assert b"the text" in answer


def test_a_client_that_is_too_slow_is_told_so(tmp_path: Path) -> None:
    with stage(tmp_path, "--limits", '{"head": 0.5, "body": 0.5, "idle": 0.5}') as server:
        for begun in (b"GET /health HTTP/1.1\r\nX: ", CALL + b"Content-Length: 9\r\n\r\n{"):
            with server.connect() as connection:
                connection.sendall(begun)
                assert statuses(received(connection)) == [408]
        with server.connect() as silent:
            assert received(silent) == b""


def test_head_gets_the_head_alone(server: Serving) -> None:
    answer = answers(server, b"HEAD /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert statuses(answer) == [200]
    assert b"content-length: 15\r\n" in answer
    assert answer.endswith(b"\r\n\r\n")


def test_the_server_hangs_up_after_an_answer_to_http_1_0(server: Serving) -> None:
    answer = answers(server, b"GET /health HTTP/1.0\r\nHost: localhost\r\n\r\n")
    assert statuses(answer) == [200]
    assert b"connection: close\r\n" in answer


def test_an_answer_says_when_it_was_given(server: Serving) -> None:
    assert re.search(rb"\r\ndate: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT\r\n", answers(server, LAST))
