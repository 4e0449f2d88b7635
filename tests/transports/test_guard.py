"""Who is let in: names, pages, keys, sizes and patience, each with a real server and bytes no well-meaning client sends."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from support.serving import Serving, received, stage
from support.vaults import write_vault
from support.wire import STATELESS_REVISION
from vaultwire.transports.guard import MAX_HEAD_BYTES, MAX_HEADERS
from vaultwire.trust.keys import Keys
from vaultwire.trust.limits import MAX_MESSAGE_BYTES

CALL = "/bridge/v1/tools/read_note/call"
BODY = b'{"arguments": {"path": "Note"}}'
REFUSED = 403


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_vault(tmp_path_factory.mktemp("vault"), "=== Note.md\nthe secret text\n")


@pytest.fixture(scope="module")
def server(vault: Path) -> Iterator[Serving]:
    with Serving(vault, "--allow-host", "notes.example", "--allow-origin", "https://App.example") as started:
        yield started


def status_of(answer: bytes) -> int:
    found = re.match(rb"HTTP/1\.1 (\d{3}) ", answer)
    assert found is not None, answer
    return int(found[1])


# ---------------------------------------------------------------------- the name it is called by

HOSTS = [
    ("localhost", 200),
    ("LOCALHOST:{port}", 200),
    ("127.0.0.1:{port}", 200),
    ("[::1]:{port}", 200),
    ("localhost:8080", 200),  # a tunnel's own port
    ("notes.example", 200),
    ("evil.example", 421),
    ("evil.example:{port}", 421),
    ("localhost.evil.example", 421),
    ("localhost.", 421),
    ("127.0.0.1.nip.example", 421),
    ("192.0.2.7", 421),
    ("0.0.0.0", 421),
    ("user@localhost", 400),
    ("localhost:{port}/x", 400),
    ("localhost:123456", 400),
    ("localhost evil.example", 400),
    ("", 400),
]


@pytest.mark.parametrize("path", ["/bridge/v1/health", "/health", "/nothing"])
@pytest.mark.parametrize(("host", "status"), HOSTS)
def test_a_server_answers_to_its_own_names_only(server: Serving, host: str, status: int, path: str) -> None:
    reply = server.request("GET", path, host=host.format(port=server.port))
    assert reply.status == (404 if (path, status) == ("/nothing", 200) else status)
    assert (status == 200) or set(reply.json) == {"error", "message"}


@pytest.mark.parametrize(
    "headers", [b"", b"Host: localhost\r\nHost: evil.example\r\n", b"Host: localhost\r\nhost: localhost\r\n"]
)
def test_a_request_needs_exactly_one_host(server: Serving, headers: bytes) -> None:
    assert status_of(server.send(b"GET /health HTTP/1.1\r\n" + headers + b"\r\n")) == 400


def test_blanks_around_a_value_are_no_part_of_it(server: Serving) -> None:
    answer = server.send(b"GET /health HTTP/1.1\r\nHost:  \t localhost \t \r\nConnection: close\r\n\r\n")
    assert status_of(answer) == 200


def test_blanks_around_a_value_are_no_part_of_it_for_doors_either(server: Serving) -> None:
    meta: dict[str, Any] = {f"io.modelcontextprotocol/{name}": {} for name in ("clientInfo", "clientCapabilities")}
    meta["io.modelcontextprotocol/protocolVersion"] = STATELESS_REVISION
    params = {"name": "read_note", "arguments": {"path": "Note"}, "_meta": meta}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    headers = {
        "mcp_protocol_version": f" \t{STATELESS_REVISION}\t ",
        "mcp_method": "  tools/call ",
        "mcp_name": "\tread_note ",
    }
    reply = server.request("POST", "/mcp", body, accept="\tapplication/json ", **headers)
    assert reply.status == 200, reply.json
    assert "the secret text" in reply.json["result"]["content"][0]["text"]


# ---------------------------------------------------------------------- the page it is called from

ORIGINS = [
    ("http://localhost:{port}", True),
    ("http://127.0.0.1:{port}", True),
    ("http://[::1]:{port}", True),
    ("HTTP://LocalHost:{port}", True),
    ("https://app.example", True),
    ("https://app.example:443", False),
    ("https://app.example.evil.example", False),
    ("http://app.example", False),
    ("https://evil.example", False),
    ("http://localhost:1", False),
    ("http://localhost", False),
    ("http://localhost:{port}.evil.example", False),
    ("http://evil.example:{port}", False),
    ("null", False),
    ("", False),
    ("file://", False),
    ("chrome-extension://abcdef", False),
]


@pytest.mark.parametrize(("origin", "may"), ORIGINS)
def test_a_page_may_call_a_tool_only_from_here_or_from_where_it_was_allowed(
    server: Serving, origin: str, may: bool
) -> None:
    origin = origin.format(port=server.port)
    reply = server.request("POST", CALL, BODY, origin=origin)
    assert reply.status == (200 if may else REFUSED)
    assert (b"the secret text" in reply.body) is may
    assert may or reply.json["error"] == "Forbidden"


def test_a_form_or_a_plain_text_post_of_a_foreign_page_calls_nothing(server: Serving, vault: Path) -> None:
    # The requests a browser sends without asking first.
    body = json.dumps({"arguments": {"path": "Planted", "content": "x"}}).encode()
    for content_type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        reply = server.request(
            "POST",
            "/bridge/v1/tools/write_note/call",
            body,
            origin="https://evil.example",
            content_type=content_type,
        )
        assert reply.status == REFUSED
    assert not (vault / "Planted.md").exists()


@pytest.mark.parametrize("path", ["/bridge/v1/health", "/bridge/v1/tools", "/bridge/v1/openapi.json"])
def test_what_the_contract_shows_to_every_page_is_shown(server: Serving, path: str) -> None:
    reply = server.request("GET", path, origin="https://evil.example")
    assert (reply.status, reply.headers["access-control-allow-origin"]) == (200, "*")


def test_the_contracts_letter_is_a_flag_away(vault: Path) -> None:
    with Serving(vault, "--cors-any-origin") as server:
        reply = server.request("POST", CALL, BODY, origin="https://evil.example")
        asked = server.request("OPTIONS", CALL, origin="https://evil.example", access_control_request_method="POST")
    assert (reply.status, reply.headers["access-control-allow-origin"]) == (200, "*")
    assert (asked.status, asked.headers["access-control-allow-headers"]) == (204, "Content-Type")


def test_an_allowed_page_is_told_that_it_may_send_a_key(server: Serving) -> None:
    asked = server.request(
        "OPTIONS",
        CALL,
        origin="https://app.example",
        access_control_request_method="POST",
        access_control_request_headers="authorization,content-type",
    )
    assert asked.status == 204
    assert asked.headers["access-control-allow-origin"] == "https://app.example"
    assert asked.headers["access-control-allow-headers"] == "authorization,content-type"
    assert asked.headers["vary"] == "Origin"


def test_two_origins_are_none(server: Serving) -> None:
    head = f"POST {CALL} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(BODY)}\r\n"
    origins = f"Origin: http://localhost:{server.port}\r\nOrigin: https://evil.example\r\n\r\n"
    assert status_of(server.send(head.encode() + origins.encode() + BODY)) == 400


# ---------------------------------------------------------------------- keys


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def test_a_server_that_needs_a_key_lets_nobody_in_without(vault: Path, state: Path) -> None:
    keys = Keys(str(state / "keys"))
    key = keys.issue("phone")
    with Serving(vault, "--require-key", "--metrics", VAULTWIRE_STATE=str(state)) as server:
        for path in ("/bridge/v1/health", "/bridge/v1/tools", "/bridge/v1/openapi.json", "/metrics", "/nothing"):
            reply = server.request("GET", path)
            assert (reply.status, reply.headers["www-authenticate"]) == (401, 'Bearer realm="vaultwire"')
        wrong: list[dict[str, str]] = [
            {"authorization": "Bearer " + key[:-1]},
            {"authorization": "Bearer " + key.swapcase()},
            {"authorization": "Bearer"},
            {"authorization": "Basic " + key},
            {"authorization": key},
            {"x_api_key": "x"},
            {"cookie": f"key={key}"},
        ]
        for headers in wrong:
            reply = server.request("POST", CALL, BODY, **headers)
            assert reply.status == 401, headers
            assert b"secret" not in reply.body
        assert 'error="invalid_token"' in server.request("GET", "/metrics", x_api_key="x").headers["www-authenticate"]
        for right in ({"authorization": f"Bearer {key}"}, {"authorization": f"bearer  {key}"}, {"x_api_key": key}):
            assert server.request("POST", CALL, BODY, **right).json["success"] is True
        assert server.request("GET", "/health").json == {"status": "ok"}  # for whoever watches over the server


def test_a_key_counts_from_its_issue_to_its_revocation_while_the_server_runs(vault: Path, state: Path) -> None:
    keys = Keys(str(state / "keys"))
    first = keys.issue("first")
    with Serving(vault, "--require-key", VAULTWIRE_STATE=str(state)) as server:
        second = keys.issue("second")
        assert server.request("GET", "/bridge/v1/health", x_api_key=second).status == 200
        keys.revoke("second")
        assert server.request("GET", "/bridge/v1/health", x_api_key=second).status == 401
        assert server.request("GET", "/bridge/v1/health", x_api_key=first).status == 200
        keys.revoke("first")
        assert server.request("GET", "/bridge/v1/health", x_api_key=first).status == 401


def test_a_key_that_is_taken_back_opens_nothing_more_on_a_connection_that_stays(vault: Path, state: Path) -> None:
    keys = Keys(str(state / "keys"))
    key = keys.issue("a-client")
    head = f"POST {CALL} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n"
    call = head.encode() + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
    with Serving(vault, "--require-key", VAULTWIRE_STATE=str(state)) as server, server.connect() as connection:
        for _ in range(3):
            connection.sendall(call)
            assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
        keys.revoke("a-client")
        connection.sendall(call)
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 401 ")


def test_a_change_is_on_record_under_the_name_of_its_key(vault: Path, state: Path) -> None:
    key = Keys(str(state / "keys")).issue("phone")
    with Serving(vault, "--require-key", VAULTWIRE_STATE=str(state)) as server:
        server.call("write_note", {"path": "Called", "content": "x"}, x_api_key=key)
        listed = server.call("list_changes", {}, x_api_key=key).json["content"][0]["text"]
    assert "phone (rest)" in listed


# ---------------------------------------------------------------------- sizes


def test_a_head_of_the_limit_passes_and_a_longer_one_is_431(server: Serving) -> None:
    fits, too_long = (
        server.request("GET", "/health", x_padding="x" * (MAX_HEAD_BYTES - left)).status for left in (200, 0)
    )
    assert (fits, too_long) == (200, 431)
    assert server.request("GET", "/health?" + "x" * MAX_HEAD_BYTES).status == 431


def test_too_many_header_lines_are_431(server: Serving) -> None:
    lines = b"".join(b"X-%d: x\r\n" % number for number in range(MAX_HEADERS))
    assert status_of(server.send(b"GET /health HTTP/1.1\r\nHost: localhost\r\n" + lines + b"\r\n")) == 431


@pytest.mark.parametrize("start", [b"GET /", b"GET / HTTP/1.1\r\nHost: localhost\r\nX: "])
def test_a_head_without_end_is_cut_off(server: Serving, start: bytes) -> None:
    with server.connect() as connection:
        connection.sendall(start)
        answer = b""
        try:
            for _ in range(2_000):
                connection.sendall(b"x" * 10_000)  # 20 MB in all: more than buffers hold, sooner than patience ends
        except OSError:
            pass
        else:
            raise AssertionError("the server took it all")
        try:
            answer = connection.recv(65536)
        except OSError:  # what it said is lost with the connection
            return
        assert answer == b"" or status_of(answer) == 431


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # TLS to a server without
        b"GET / HTTP/9.9\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"POST /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\nA\rB: x\r\n\r\n",
    ],
)
def test_what_is_no_http_is_400_and_ends_the_connection(server: Serving, data: bytes) -> None:
    assert status_of(server.send(data)) == 400
    assert server.request("GET", "/health").status == 200


PIECES = [
    b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"POST /bridge/v1/tools/read_note/call HTTP/1.1\r\nHost: localhost\r\nContent-Length: 31\r\n\r\n" + BODY,
    b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
    b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET http://evil.example/health HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET //[/%zz?%ff#x HTTP/1.0\r\nHost: localhost\r\n\r\n",
    b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    b"POST /bridge/v1/tools/%ff%00/call HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
]


@st.composite
def broken_requests(draw: st.DrawFn) -> bytes:
    """Return requests with some of their bytes cut out, doubled or replaced."""
    data = b"".join(draw(st.lists(st.sampled_from(PIECES), min_size=1, max_size=3)))
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 20)))
        data = (
            data[:start] + draw(st.sampled_from([b"", data[start:end] * 2, b"\r\n", b"\0", b"\xff", b":"])) + data[end:]
        )
    return data


@hypothesis.given(broken_requests())
def test_no_bytes_whatever_make_the_server_fail(server: Serving, data: bytes) -> None:
    statuses = re.findall(rb"HTTP/1\.1 (\d{3}) ", server.send(data))
    assert all(status < b"500" or status == b"505" for status in statuses), statuses  # of another version of HTTP
    assert server.process.poll() is None


def test_a_message_beyond_the_limit_is_413_whether_it_says_its_length_or_not(server: Serving) -> None:
    pieces = 16
    for size, status in ((MAX_MESSAGE_BYTES, 400), (MAX_MESSAGE_BYTES + pieces, 413)):
        piece = b" " * (size // pieces)
        assert server.request("POST", "/mcp", piece * pieces, content_type="application/json").status == status
        assert server.request("POST", "/mcp", iter([piece] * pieces), content_type="application/json").status == status


def test_a_client_that_asks_first_is_refused_before_it_sends_a_body(server: Serving) -> None:
    head = f"POST {CALL} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1048577\r\nExpect: 100-continue\r\n\r\n"
    with server.connect() as connection:
        connection.sendall(head.encode())
        assert status_of(connection.recv(65536)) == 413


# ---------------------------------------------------------------------- patience


def is_hung_up_on(connection: socket.socket, drip: bytes = b"") -> bool:
    """Tell whether the server hangs up within ten seconds, while a byte is sent ever so often."""
    connection.settimeout(0.05)
    until = time.monotonic() + 10
    while time.monotonic() < until:
        try:
            if drip:
                connection.sendall(drip)
            answer = connection.recv(65536)
            if not answer or answer.startswith(b"HTTP/1.1 408 "):
                return True
        except TimeoutError:
            continue
        except OSError:
            return True
    return False


LIMITS = json.dumps({"head": 0.5, "body": 0.5, "idle": 0.5, "stalled": 0.5, "connections": 5, "grace": 1})
CHUNKED = b"POST /bridge/v1/tools/crash/call HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
SLOW: dict[str, tuple[bytes, bytes]] = {
    "who says nothing": (b"", b""),
    "who sends a head byte by byte": (b"GET /health HTTP/1.1\r\nX: ", b"x"),
    "who sends empty lines": (b"", b"\r\n"),
    "who sends a body byte by byte": (CHUNKED, b"1\r\nx\r\n"),
    "who promises a body": (CHUNKED.replace(b"Transfer-Encoding: chunked", b"Content-Length: 100"), b""),
    "who keeps a connection for nothing": (b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n", b""),
    "who sends empty lines after an answer": (b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n", b"\r\n"),
    "who goes on sending what was refused": (CHUNKED + b"100001\r\n" + b"x" * 0x100001, b"\r\n1\r\nx"),
}


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with stage(tmp_path_factory.mktemp("vault"), "--limits", LIMITS) as started:
        yield started


@pytest.mark.parametrize("who", SLOW)
def test_a_client_is_let_go(impatient: Serving, who: str) -> None:
    start, drip = SLOW[who]
    with impatient.connect() as connection:
        connection.sendall(start)
        assert is_hung_up_on(connection, drip)


def test_a_client_whose_body_came_after_its_refusal_is_let_go_when_it_is_idle(impatient: Serving) -> None:
    with impatient.connect() as connection:
        connection.sendall(b"POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\n")
        assert status_of(connection.recv(65536)) == 404
        connection.sendall(b"xxx")
        assert is_hung_up_on(connection)


def test_patience_with_a_head_is_the_same_for_a_later_request(tmp_path: Path) -> None:
    limits = json.dumps({"head": 0.5, "idle": 60})
    with stage(tmp_path, "--limits", limits) as server, server.connect() as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert status_of(connection.recv(65536)) == 200
        connection.sendall(b"GET /health HTTP/1.1\r\nX: ")
        assert is_hung_up_on(connection, b"x")


@pytest.mark.parametrize("before", [b"", b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"])
def test_a_call_that_takes_its_time_is_no_client_that_does(impatient: Serving, tmp_path: Path, before: bytes) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    body = json.dumps({"arguments": {"fifo": str(fifo)}}).encode()
    head = b"POST /bridge/v1/tools/wait/call HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
    with impatient.connect() as waiting:
        waiting.sendall(before)
        answer = b""
        while before and not answer.endswith(b'{"status":"ok"}'):
            answer += waiting.recv(65536)
        waiting.sendall(head + body)
        pipe = os.open(fifo, os.O_WRONLY)
        for _ in range(2):  # others that came later are let go meanwhile
            with impatient.connect() as later:
                assert is_hung_up_on(later)
        os.write(pipe, b"done")
        os.close(pipe)
        assert status_of(waiting.recv(65536)) == 200


@pytest.mark.skipif(sys.platform != "linux", reason="asks the kernel which connections there are")
def test_a_client_that_takes_no_answer_is_let_go(tmp_path: Path) -> None:
    body = b'{"arguments": {"megabytes": 50}}'
    head = f"POST /bridge/v1/tools/flood/call HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
    with stage(tmp_path, "--limits", '{"stalled": 0.5}') as server, server.connect() as connection:
        connection.sendall(head.encode() + body)
        assert status_of(connection.recv(1000)) == 200
        # Nothing more is read until the server has given up, which its own count of connections shows.
        until = time.monotonic() + 10
        while len(open_connections(server.process.pid)) > 0:
            assert time.monotonic() < until
        assert len(received(connection)) < 50_000_000


def open_connections(pid: int) -> list[str]:
    """Return the sockets of a process besides the one that listens and the event loop's own."""
    ours = [os.readlink(entry.path) for entry in os.scandir(f"/proc/{pid}/fd") if os.path.islink(entry.path)]
    inodes = {name[8:-1] for name in ours if name.startswith("socket:[")}
    table = Path("/proc/net/tcp").read_text().splitlines()[1:]
    rows = [row.split() for row in table]
    return [row[1] for row in rows if row[9] in inodes and row[3] != "0A"]


def test_more_calls_than_there_may_be_connections_are_turned_away_and_the_others_answered(
    impatient: Serving, tmp_path: Path
) -> None:
    with contextlib.ExitStack() as stack:
        waiting, pipes = [], []
        for number in range(5):
            fifo = tmp_path / f"fifo {number}"
            os.mkfifo(fifo)
            arguments = {"arguments": {"fifo": str(fifo)}}
            path, asked = "/bridge/v1/tools/wait/call", json.dumps(arguments)
            if number == 4:  # of another client: one alone may not have all threads
                call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "wait", **arguments}}
                path, asked = "/mcp", json.dumps(call)
            lines = [f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json", "Accept: */*"]
            waiting.append(stack.enter_context(impatient.connect()))
            waiting[-1].sendall("\r\n".join([*lines, f"Content-Length: {len(asked)}", "", asked]).encode())
            pipes.append(os.open(fifo, os.O_WRONLY))  # so the call has begun
        with impatient.connect() as one_more:
            answer = received(one_more)
        assert status_of(answer) == 503
        for pipe in pipes:
            os.close(pipe)
        assert [status_of(connection.recv(65536)) for connection in waiting] == [200] * 5


# ---------------------------------------------------------------------- what is told


def test_every_answer_carries_what_protects_whoever_gets_it(server: Serving) -> None:
    ids = set()
    for method, path in (("GET", "/health"), ("GET", "/nothing"), ("POST", CALL), ("GET", "/bridge/v1/tools")):
        headers = server.request(method, path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert "server" not in headers
        ids.add(headers["x-request-id"])
    assert len(ids) == 4


def test_the_log_has_a_line_for_each_request_and_nothing_of_a_note(vault: Path) -> None:
    with Serving(vault, "--log-json") as server:
        replies = [
            server.call("read_note", {"path": "Note"}),
            server.request("GET", "/bridge/v1/tools", host="evil.example"),
            server.request("GET", "/" + "x" * 500 + "?secret=query"),
        ]
        code, _, log = server.end(signal.SIGTERM)
    lines: list[dict[str, Any]] = [json.loads(line) for line in log.splitlines()]
    assert code == 0
    assert [line["status"] for line in lines] == [200, 421, 404]
    assert [line["id"] for line in lines] == [reply.headers["x-request-id"] for reply in replies]
    assert [line["door"] for line in lines] == ["v1", "v1", ""]
    assert all(line["event"] == "request" and line["ms"] > 0 for line in lines)
    assert "secret" not in log
    assert len(lines[2]["path"]) == 200


def test_a_door_that_crashes_answers_500_and_the_log_says_why_under_the_requests_id(tmp_path: Path) -> None:
    with stage(tmp_path, "--log-json") as server:
        reply = server.call("babble", {})
        _, _, log = server.end(signal.SIGTERM)
    assert (reply.status, reply.json["error"]) == (500, "Internal server error")
    crash, request = (json.loads(line) for line in log.splitlines())
    assert (crash["event"], request["status"]) == ("crash", 500)
    assert crash["id"] == request["id"] == reply.headers["x-request-id"]
    assert "TypeError" in crash["traceback"]


def test_metrics_count_what_was_answered(vault: Path) -> None:
    with Serving(vault, "--metrics") as server:
        for _ in range(3):
            server.call("read_note", {"path": "Note"})
        server.request("GET", "/nothing")
        server.request("PUT", "/health")
        text = server.request("GET", "/metrics").body.decode()
    assert 'vaultwire_http_requests_total{door="v1",method="POST",status="200"} 3.0' in text
    assert 'vaultwire_http_requests_total{door="none",method="GET",status="404"} 1.0' in text
    assert 'vaultwire_http_requests_total{door="health",method="other",status="405"} 1.0' in text
    assert 'vaultwire_http_request_seconds_count{door="v1"} 3.0' in text


def test_there_are_no_metrics_unless_they_are_asked_for(server: Serving) -> None:
    assert server.request("GET", "/metrics").status == 404
