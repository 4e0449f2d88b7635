"""The editors' socket with a real client: the handshake as it was measured with Claude Code, calls, and who may come."""

from __future__ import annotations

import itertools
import json
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from support.http_service import ServiceThread
from support.vaults import open_vault, write_vault
from vaultwire.editor import Decision, EditorState, Mention, Position, Proposals, Selection
from vaultwire.review import Reviewer
from vaultwire.server.editor_methods import Bridge, ClientPaths
from vaultwire.transports.editor_socket import TOKEN_HEADER, Bounds, EditorSocket
from vaultwire.transports.http_server import Endpoint, Limits
from vaultwire.transports.http_server.websocket import WebSocketCycle

TOKEN = "0a5d7c1e-7d1c-4c1c-9a5e-7d1c4c1c9a5e"
NOTES = """
=== Note.md
# Note
one
two [[Nowhere]]
=== Folder/My Daily Note.md
text
=== Odd #1.md
text
=== Other/Plan.md
the other plan
"""
# As Claude Code 2.1.197 sends it.
INITIALIZE = {
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"roots": {}, "elicitation": {}},
        "clientInfo": {"name": "claude-code", "title": "Claude Code", "version": "2.1.197"},
    },
    "jsonrpc": "2.0",
    "id": 0,
}


class Door:
    """A socket over a vault, on a server of its own."""

    def __init__(self, root: Path, bounds: Bounds, limits: Limits = Limits()) -> None:  # noqa: B008 - a constant
        self.root = root
        self.state = EditorState(lambda path: path.startswith("Private/"))
        self.vault = vault = open_vault(root)
        self.proposals = Proposals(lambda: vault.holding)
        self.opened: list[tuple[str, int]] = []
        self.log: list[str] = []
        self.bridge = Bridge(lambda: vault, ClientPaths(str(root)), self.state, self.proposals, self._open)
        listener = socket.create_server(("127.0.0.1", 0))
        self.port = listener.getsockname()[1]
        editors = EditorSocket(self.bridge, self.port, TOKEN, log=self.log.append, bounds=bounds)
        limits = limits._replace(message=bounds.message)
        self._thread = ServiceThread(editors, [Endpoint(editors, listener, websocket=WebSocketCycle)], limits)

    def _open(self, path: str, line: int) -> bool:
        self.opened.append((path, line))
        return True

    def close(self) -> None:
        self._thread.close()

    def connect(self, **options: Any) -> AbstractContextManager[ClientConnection]:
        options = {"subprotocols": ["mcp"], "compression": None, **options}
        headers = {TOKEN_HEADER: TOKEN, **options.pop("headers", {})}
        opened: AbstractContextManager[ClientConnection] = connect(
            f"ws://127.0.0.1:{self.port}/",
            max_size=None,
            additional_headers={name: value for name, value in headers.items() if value is not None},
            proxy=None,
            **options,
        )
        return opened


class Client:
    """A client that has shaken hands, as Claude Code does, or opencode."""

    def __init__(self, door: Door, name: str = "claude-code") -> None:
        self._open = door.connect()
        self.socket = self._open.__enter__()
        self._ids = iter(range(2, 1000))
        initialize = json.loads(json.dumps(INITIALIZE))
        initialize["params"]["clientInfo"]["name"] = name
        self.send(initialize)
        self.introduced = self.receive()
        self.send({"method": "notifications/initialized", "jsonrpc": "2.0"})
        if name == "opencode":  # it says no more
            return
        self.send({"method": "ide_connected", "params": {"pid": 16210}, "jsonrpc": "2.0"})
        self.tools = self.request("tools/list")["result"]["tools"]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.__exit__(None, None, None)

    def send(self, message: Any) -> None:
        self.socket.send(json.dumps(message))

    def receive(self) -> Any:
        return json.loads(self.socket.recv(timeout=20))

    def post(self, method: str, params: Any = None) -> int:
        id_ = next(self._ids)
        message = {"jsonrpc": "2.0", "id": id_, "method": method, **({} if params is None else {"params": params})}
        self.send(message)
        return id_

    def request(self, method: str, params: Any = None) -> Any:
        id_ = self.post(method, params)
        answer = self.receive()
        assert answer["id"] == id_
        return answer

    def call(self, name: str, **arguments: Any) -> list[str]:
        answer = self.request("tools/call", {"name": name, "arguments": arguments, "_meta": {"progressToken": 1}})
        return [item["text"] for item in answer["result"]["content"]]

    def hear(self, method: str) -> Any:
        message = self.receive()
        assert message["method"] == method
        assert "id" not in message
        return message["params"]


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    write_vault(tmp_path / "vault", NOTES)
    made = Door(tmp_path / "vault", Bounds(ready=0.0, quiet=0.0))
    yield made
    made.close()


# ---------------------------------------------------------------------- who may come


def test_a_client_is_met_as_it_was_measured(door: Door) -> None:
    with Client(door) as client:
        assert client.socket.subprotocol == "mcp"
        assert client.introduced["id"] == 0
        result = client.introduced["result"]
        assert result["protocolVersion"] == "2025-11-25"
        assert result["capabilities"]["tools"] == {"listChanged": True}
        assert result["serverInfo"]["name"] == "Obsidian"
        names = [tool["name"] for tool in client.tools]
        assert {"openDiff", "close_tab", "closeAllDiffTabs", "getDiagnostics", "openFile"} <= set(names)
        assert "executeCode" not in names


def test_a_client_that_offers_no_subprotocol_is_taken(door: Door) -> None:
    with door.connect(subprotocols=None) as client:
        assert client.subprotocol is None


def test_a_client_without_the_token_is_401_before_the_upgrade(door: Door) -> None:
    for token, words in (
        (None, "Missing authentication header"),
        ("wrong", "Invalid authentication token"),
        ("", "Invalid"),
    ):
        with pytest.raises(InvalidStatus) as refused, door.connect(headers={TOKEN_HEADER: token}):
            pass
        assert refused.value.response.status_code == 401
        assert words in (refused.value.response.body or b"").decode()
    assert "Authentication successful" not in door.log


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:3000", "app://obsidian.md"])
def test_a_web_page_is_refused_whatever_it_knows(door: Door, origin: str) -> None:
    with pytest.raises(InvalidStatus) as refused, door.connect(origin=origin):
        pass
    assert refused.value.response.status_code == 403


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "127.0.0.1:{port}0"]
)
def test_another_host_is_refused(door: Door, host: str) -> None:
    request = (
        f"GET / HTTP/1.1\r\nHost: {host.format(port=door.port)}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n{TOKEN_HEADER}: {TOKEN}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", door.port)) as raw:
        raw.sendall(request.encode())
        assert raw.recv(100).startswith(b"HTTP/1.1 403 ")


def test_the_eleventh_client_is_503_and_the_next_after_one_left_is_not(door: Door) -> None:
    clients = [Client(door) for _ in range(10)]
    with pytest.raises(InvalidStatus) as refused, door.connect():
        pass
    assert refused.value.response.status_code == 503
    clients.pop().socket.close()
    while len(door.bridge.peers) == 10:  # its thread has it in a moment
        threading.Event().wait(0.001)
    clients.append(Client(door))
    for client in clients:
        client.socket.close()


def test_what_is_no_http_ends_that_connection_alone(door: Door) -> None:
    with socket.create_connection(("127.0.0.1", door.port)) as raw:
        raw.sendall(b"\x16\x03\x01 garbage\r\n\r\n")
        raw.recv(100)
    with Client(door):
        pass


# ---------------------------------------------------------------------- methods


def test_the_contracts_methods_answer(door: Door) -> None:
    with Client(door) as client:
        assert client.request("files/read", {"path": "/Note.md"})["result"] == {
            "content": "# Note\none\ntwo [[Nowhere]]\n"
        }
        absolute = str(door.root / "Note.md")
        assert client.request("files/read", {"path": absolute})["result"]["content"].startswith("# Note")
        assert client.request("resources/list")["result"] == {"resources": []}
        assert client.request("prompts/list")["result"] == {"prompts": []}
        assert client.request("ping")["result"] == {}
        assert client.request("workspace/selection")["error"]["code"] == -32603
        door.state.select(Selection("Note.md", "one", Position(1, 0), Position(1, 3)))
        client.hear("selection_changed")
        found = client.request("workspace/selection")["result"]
        assert found == {"selection": "one", "cursor": {"line": 1, "ch": 3}}


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("files/read", {}, -32602),
        ("files/read", {"path": 7}, -32602),
        ("files/read", {"path": "/nowhere.md"}, -32603),
        ("files/read", {"path": "../outside.md"}, -32603),
        ("files/read", {"path": "/etc/passwd"}, -32603),
        ("files/read", {"path": ".obsidian/app.json"}, -32603),
        ("nothing/such", {}, -32601),
        ("tools/call", {"name": "executeCode", "arguments": {"code": "1"}}, -32602),
        ("tools/call", {"name": 7}, -32602),
        ("tools/call", {"name": "openDiff", "arguments": {}}, -32602),
    ],
)
def test_what_cannot_be_answered_is_an_error(door: Door, method: str, params: Any, code: int) -> None:
    with Client(door) as client:
        assert client.request(method, params)["error"]["code"] == code


@pytest.mark.parametrize(("frame", "code"), [("{", -32700), ("[]", -32600), ('{"jsonrpc":"2.0","id":5}', -32600)])
def test_what_is_no_message_is_answered_too(door: Door, frame: str, code: int) -> None:
    with Client(door) as client:
        client.socket.send(frame)
        assert client.receive()["error"]["code"] == code
        client.send({"jsonrpc": "2.0", "method": "initialized"})
        assert client.request("ping")["result"] == {}


def answers(door: Door, client: Client, given: str) -> list[str]:
    """Return what a client is answered about a file, without the file's name."""
    found = [client.request("files/read", {"path": given})]
    for tool, name in (
        ("getDiagnostics", "uri"),
        ("checkDocumentDirty", "filePath"),
        ("saveDocument", "filePath"),
        ("openFile", "filePath"),
    ):
        found.append(client.request("tools/call", {"name": tool, "arguments": {name: given}}))
    assert door.opened == []
    texts = [json.dumps({**answer, "id": 0}) for answer in found]
    texts = [text.replace(json.dumps(json.dumps(given))[1:-1], "?") for text in texts]
    return [re.sub(r"no file '.*?' in", "no file ? in", text) for text in texts]  # a message cuts a long name short


def test_what_is_not_to_be_seen_is_told_like_what_is_not_there(door: Door, tmp_path: Path) -> None:
    (door.root / ".obsidian").mkdir()
    (tmp_path / "outside.md").write_text("[[Nowhere]]\n")
    (door.root / ".obsidian" / "app.json").write_text("{}")
    (door.root / "out.md").symlink_to(tmp_path / "outside.md")
    (door.root / "nowhere.md").symlink_to(tmp_path / "nowhere.md")
    ways = ["{}", "/{}", f"{door.root}/{{}}", f"file://{door.root}/{{}}"]
    names = [
        ".obsidian/app.json",
        ".obsidian/no.json",
        "../outside.md",
        "../no.md",
        "out.md",
        "nowhere.md",
        "a/../../x",
    ]
    up = "/.." * len(door.root.parts)
    named = [way.format(name) for way in ways for name in names]
    named += ["/etc/passwd", "/etc/no", f"{up}/etc/passwd", f"{up}/etc/no", "file:///etc/passwd", ".", "/"]
    with Client(door) as client:
        missing = answers(door, client, "No.md")
        assert json.loads(missing[0])["error"]["message"] == "There is no file ? in the vault."
        assert all('\\"success\\": false' in answer for answer in missing[2:])
        for given in named:
            assert answers(door, client, given) == missing, given


@pytest.mark.parametrize("name", ["\ud800.md", "a\nb.md", "a\x1b[2J.md", "a\u2028b.md"])
def test_a_name_that_nobody_could_be_shown_is_an_error(door: Door, name: str) -> None:
    with Client(door) as client:
        for place, tab in ((f"{door.root}/{name}", "Note.md"), (f"{door.root}/Note.md", name)):
            arguments = {"new_file_path": place, "new_file_contents": "x", "tab_name": tab}
            error = client.request("tools/call", {"name": "openDiff", "arguments": arguments})["error"]
            assert error["code"] == -32602
            assert "surrogate" in error["message"] or "must be one line" in error["message"]
        assert door.proposals.waiting == []
        assert client.request("ping")["result"] == {}


def test_no_answer_is_larger_than_messages_may_be(tmp_path: Path) -> None:
    write_vault(tmp_path / "vault", NOTES)
    (tmp_path / "vault" / "Large.md").write_text("x" * 9000)
    door = Door(tmp_path / "vault", Bounds(message=8000))
    try:
        with Client(door) as client:
            error = client.request("files/read", {"path": "/Large.md"})["error"]
            assert error["code"] == -32603
            assert "a message may have 8000" in error["message"]
            assert client.request("files/read", {"path": "/Note.md"})["result"]["content"].startswith("# Note")
    finally:
        door.close()


def test_a_message_in_frames_is_taken_and_one_beyond_the_limits_is_not(tmp_path: Path) -> None:
    write_vault(tmp_path / "vault", NOTES)
    door = Door(tmp_path / "vault", Bounds(message=3000))
    text = json.dumps({"jsonrpc": "2.0", "id": 5, "method": "ping", "params": {"x": "y" * 2000}})
    try:
        with Client(door) as client:
            client.socket.send([text[:900], text[900:1800], text[1800:]])
            assert client.receive() == {"jsonrpc": "2.0", "id": 5, "result": {}}
            client.socket.send(text)
            assert client.receive()["result"] == {}
            with suppress(ConnectionClosed):  # while it still sends, or once it reads
                client.socket.send([text[:1900], text[1900:], " " * 1000])
            with pytest.raises(ConnectionClosed) as closed:
                client.socket.recv(timeout=20)
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1009
    finally:
        door.close()


def test_a_large_note_is_laid_before_the_person_in_one_frame(door: Door) -> None:
    large = "a line of many\n" * 300_000  # 4.5 MB; Claude Code sends each message as one frame
    with Client(door) as client:
        place = str(door.root / "Note.md")
        arguments = {"new_file_path": place, "new_file_contents": large, "tab_name": "Note.md"}
        id_ = client.post("tools/call", {"name": "openDiff", "arguments": arguments})
        assert client.request("ping")["result"] == {}
        (proposal,) = door.proposals.waiting
        door.proposals.decide(proposal.id, Decision(proposal.new))
        answer = client.receive()
        assert (answer["id"], texts(answer)) == (id_, ["FILE_SAVED", large])


def silent_client(door: Door) -> socket.socket:
    """Connect a client that shakes hands and from then on reads nothing, as one that is suspended."""
    client = socket.create_connection(("127.0.0.1", door.port))
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    request = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{door.port}\r\n{TOKEN_HEADER}: {TOKEN}\r\n"
    request += "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    client.sendall(f"{request}Sec-WebSocket-Key: {'A' * 22}==\r\n\r\n".encode())
    while not door.bridge.peers:
        threading.Event().wait(0.001)
    return client


@pytest.mark.parametrize(("patience", "opcodes"), [(60.0, [0x89]), (0.1, [0x89, 0x88])])
def test_a_client_that_is_suspended_is_waited_for(tmp_path: Path, patience: float, opcodes: list[int]) -> None:
    write_vault(tmp_path / "vault", NOTES)
    door = Door(tmp_path / "vault", Bounds(look=0.05), Limits(ping=0.05, patience=patience))
    with silent_client(door) as client, client.makefile("rb", buffering=0) as stream:
        while stream.readline().strip():  # the answer's head
            continue
        while door.log.count("Health check: 1 active connections") < 10:
            threading.Event().wait(0.001)
        for opcode in opcodes:  # a ping; and, where patience is over, a goodbye
            seen, length = stream.read(2)
            assert seen == opcode
            stream.read(length)
        client.setblocking(False)
        if len(opcodes) == 1:
            with pytest.raises(BlockingIOError):
                client.recv(1)
    door.close()


def test_a_client_that_reads_nothing_holds_up_no_other(tmp_path: Path) -> None:
    write_vault(tmp_path / "vault", NOTES)
    door = Door(tmp_path / "vault", Bounds(ready=0.0, quiet=0.0), Limits(stalled=0.2))
    with silent_client(door):
        (silent,) = door.bridge._peers
        silent.is_ready = True
        with Client(door) as client:
            for number in itertools.count():
                door.state.select(Selection("Note.md", str(number % 10) * 100_000))
                assert client.hear("selection_changed")["text"] == str(number % 10) * 100_000
                if len(door.bridge.peers) == 1:
                    break
        assert "Removing dead connection" in door.log
    door.close()


# ---------------------------------------------------------------------- what is told


def test_a_selection_is_told_with_absolute_paths(door: Door) -> None:
    with Client(door) as client:
        door.state.select(Selection("Note.md", "one\ntw", Position(1, 0), Position(2, 2)))
        told = client.hear("selection_changed")
        place = door.root / "Note.md"
        assert told == {
            "text": "one\ntw",
            "filePath": str(place),
            "fileUrl": place.as_uri(),
            "selection": {"start": {"line": 1, "character": 0}, "end": {"line": 2, "character": 2}, "isEmpty": False},
        }
        door.state.select(Selection("Private/Diary.md", "secret"))
        assert client.hear("selection_changed")["filePath"] == ""


def test_a_client_that_comes_later_hears_what_is_in_front(door: Door) -> None:
    door.state.select(Selection("Note.md"))
    with Client(door) as client:
        assert client.hear("selection_changed")["filePath"].endswith("Note.md")
        assert client.call("closeAllDiffTabs") == ["CLOSED_0_DIFF_TABS"]
        assert client.hear("selection_changed")["filePath"].endswith("Note.md")


MENTIONS = [
    ("claude-code", Mention("Note.md"), {"filePath": "{root}/Note.md"}),
    ("claude-code", Mention("Note.md", 2, 3), {"filePath": "{root}/Note.md", "lineStart": 1, "lineEnd": 2}),
    ("claude-code", Mention("Folder/My Daily Note.md", 2, 3), {"filePath": '"{root}/Folder/My Daily Note.md#L2-3"'}),
    ("claude-code", Mention("Folder/My Daily Note.md"), {"filePath": '"{root}/Folder/My Daily Note.md"'}),
    ("claude-code", Mention("a\u00a0b.md", 2, 2), {"filePath": '"{root}/a\u00a0b.md#L2"'}),
    ("claude-code", Mention("a\u3000b.md"), {"filePath": '"{root}/a\u3000b.md"'}),
    (
        "claude-code",
        Mention("it's,(50%)&é;.md", 2, 2),
        {"filePath": "{root}/it's,(50%)&é;.md", "lineStart": 1, "lineEnd": 1},
    ),
    ("opencode", Mention("Note.md", 2, 3), {"filePath": "{root}/Note.md", "lineStart": 2, "lineEnd": 3}),
    ("opencode", Mention("Note.md"), {"filePath": "{root}/Note.md", "lineStart": 1, "lineEnd": 1}),
]


@pytest.mark.parametrize(("name", "mention", "params"), MENTIONS, ids=range(len(MENTIONS)))
def test_a_mention_is_spelt_so_that_the_client_attaches_it(
    door: Door, name: str, mention: Mention, params: dict[str, Any]
) -> None:
    with Client(door, name) as client:
        assert client.request("ping")["result"] == {}
        while not all(peer.is_ready for peer in door.bridge._peers):
            threading.Event().wait(0.001)
        door.state.mention(mention)
        expected = {
            key: value.format(root=door.root) if isinstance(value, str) else value for key, value in params.items()
        }
        assert client.hear("at_mentioned") == expected


def test_a_note_that_cannot_be_mentioned_is_shown_instead_with_its_lines(door: Door) -> None:
    (door.root / "Odd #1.md").write_text("one\ntwo\nthree\n")
    with Client(door) as client:
        for first, last, text in ((1, 1, "one"), (2, 3, "two\nthree"), (0, 0, "")):
            door.state.mention(Mention("Odd #1.md", first, last))
            told = client.hear("selection_changed")
            assert told["filePath"].endswith("Odd #1.md")
            assert told["text"] == text
            if first:
                assert told["selection"]["start"] == {"line": first - 1, "character": 0}
                assert told["selection"]["end"] == {"line": last - 1, "character": len(text.split("\n")[-1])}
            # The client asks so as the next prompt goes off, which is what this was pointed out for.
            assert client.call("closeAllDiffTabs") == ["CLOSED_0_DIFF_TABS"]
            assert client.hear("selection_changed") == told


def test_what_was_selected_before_a_mention_is_told_before_it(tmp_path: Path) -> None:
    write_vault(tmp_path / "vault", NOTES)
    door = Door(tmp_path / "vault", Bounds(ready=0.0, quiet=3600.0))
    try:
        with Client(door) as client:
            while not all(peer.is_ready for peer in door.bridge._peers):
                threading.Event().wait(0.001)
            door.state.select(Selection("Note.md"))
            door.state.mention(Mention("Other/Plan.md"))
            told = [json.loads(client.socket.recv(timeout=20))["method"] for _ in range(2)]
            assert told == ["selection_changed", "at_mentioned"]
    finally:
        door.close()


def test_a_mention_is_logged_when_it_is_sent_and_not_before(tmp_path: Path) -> None:
    write_vault(tmp_path / "vault", NOTES)
    door = Door(tmp_path / "vault", Bounds(ready=3600.0))
    try:
        with Client(door):
            door.state.mention(Mention("Note.md"))
            assert "Sent at-mention" not in door.log
            (peer,) = door.bridge._peers
            assert door.bridge.make_ready(peer) == 1
            assert door.bridge.tell_mention(Mention("Note.md")) == 1
    finally:
        door.close()


@pytest.mark.parametrize("asks", [False, True])
def test_a_client_that_never_asks_for_the_tools_hears_all_the_same(tmp_path: Path, asks: bool) -> None:
    write_vault(tmp_path / "vault", NOTES)
    door = Door(tmp_path / "vault", Bounds(toolless=0.05, quiet=0.0))
    door.state.select(Selection("Note.md"))
    try:
        with door.connect() as connection:
            connection.send(json.dumps(INITIALIZE))
            assert json.loads(connection.recv(timeout=20))["id"] == 0
            if asks:  # as the contract's table has it, among what is answered
                connection.send('{"jsonrpc":"2.0","id":7,"method":"initialized"}')
                assert json.loads(connection.recv(timeout=20)) == {"jsonrpc": "2.0", "id": 7, "result": {}}
            else:
                connection.send('{"jsonrpc":"2.0","method":"initialized"}')
            door.state.mention(Mention("Other/Plan.md"))
            told = [json.loads(connection.recv(timeout=20)) for _ in range(2)]
            assert [message["method"] for message in told] == ["selection_changed", "at_mentioned"]
            door.state.select(Selection("Other/Plan.md"))
            assert json.loads(connection.recv(timeout=20))["params"]["filePath"].endswith("Plan.md")
            # Should it ask after all, it may have heard none of that.
            connection.send('{"jsonrpc":"2.0","id":8,"method":"tools/list"}')
            assert json.loads(connection.recv(timeout=20))["id"] == 8
            assert json.loads(connection.recv(timeout=20))["params"]["filePath"].endswith("Plan.md")
    finally:
        door.close()


# ---------------------------------------------------------------------- tools


def open_diff(client: Client, door: Door, path: str = "Note.md", tab: str = "✻ [Claude Code] Note.md ⧉") -> int:
    place = str(door.root / path)
    arguments = {"old_file_path": place, "new_file_path": place, "new_file_contents": "new\n", "tab_name": tab}
    id_ = client.post("tools/call", {"name": "openDiff", "arguments": arguments})
    while not door.proposals.waiting:
        threading.Event().wait(0.001)
    return id_


def texts(answer: Any) -> list[str]:
    return [item["text"] for item in answer["result"]["content"]]


def test_a_diff_waits_for_the_person_and_other_calls_do_not_wait_for_it(door: Door) -> None:
    with Client(door) as client:
        id_ = open_diff(client, door)
        (proposal,) = door.proposals.waiting
        assert (proposal.path, proposal.old, proposal.new) == ("Note.md", "# Note\none\ntwo [[Nowhere]]\n", "new\n")
        assert client.request("ping")["result"] == {}
        door.proposals.decide(proposal.id, Decision("edited\n"))
        answer = client.receive()
        assert (answer["id"], texts(answer)) == (id_, ["FILE_SAVED", "edited\n"])
        assert (door.root / "Note.md").read_text() == "# Note\none\ntwo [[Nowhere]]\n"  # the client writes it


def test_closing_a_diff_is_a_rejection(door: Door) -> None:
    with Client(door) as client:
        id_ = open_diff(client, door)
        client.post("tools/call", {"name": "close_tab", "arguments": {"tab_name": "✻ [Claude Code] Note.md ⧉"}})
        rejected, closed = client.receive(), client.receive()
        assert (rejected["id"], texts(rejected)) == (id_, ["DIFF_REJECTED", "✻ [Claude Code] Note.md ⧉"])
        assert texts(closed) == ["TAB_CLOSED"]
        open_diff(client, door)
        client.post("tools/call", {"name": "closeAllDiffTabs", "arguments": {}})
        assert texts(client.receive())[0] == "DIFF_REJECTED"
        assert texts(client.receive()) == ["CLOSED_1_DIFF_TABS"]


def test_a_new_notes_diff_has_nothing_of_another_of_its_name(door: Door) -> None:
    with Client(door) as client:
        open_diff(client, door, "Plan.md")
        assert door.proposals.waiting[0].old == ""


@pytest.mark.parametrize(("there", "bom"), [("\ufeff", "\ufeff"), ("\ufeff", ""), ("", "\ufeff")])
def test_a_mark_of_the_byte_order_is_no_change_of_the_first_line(door: Door, there: str, bom: str) -> None:
    (door.root / "Note.md").write_text(f"{there}# Note\none\n", encoding="utf-8")
    with Client(door) as client:
        place = str(door.root / "Note.md")
        arguments = {"new_file_path": place, "new_file_contents": f"{bom}# Note\ntwo\n", "tab_name": "Note.md"}
        id_ = client.post("tools/call", {"name": "openDiff", "arguments": arguments})
        assert client.request("ping")["result"] == {}
        (proposal,) = door.proposals.waiting
        [step] = door.vault.holding.waiting()[0].steps
        assert step.after == f"{there}# Note\ntwo\n".encode()  # type: ignore[union-attr]
        door.proposals.decide(proposal.id, Decision(proposal.new))
        answer = client.receive()
        assert (answer["id"], texts(answer)) == (id_, ["FILE_SAVED", f"{bom}# Note\ntwo\n"])


def test_a_file_that_is_not_to_be_read_is_not_taken_for_a_new_one(door: Door, tmp_path: Path) -> None:
    (tmp_path / "outside.txt").write_text("theirs\n")
    (door.root / ".claude").mkdir()
    (door.root / ".claude" / "rules.md").write_text("rules\n")
    with Client(door) as client:
        for path in ("../outside.txt", ".claude/rules.md"):
            open_diff(client, door, path)
            (proposal,) = door.proposals.waiting
            assert proposal.old is None
            [stored] = door.vault.holding.waiting()
            assert stored.outside.endswith(path.lstrip("./"))
            assert stored.steps[0].before is None  # type: ignore[union-attr]
            door.proposals.decide(proposal.id, Decision(None))
            client.receive()
        open_diff(client, door, "../another.txt")
        assert door.proposals.waiting[0].old == ""


def test_a_client_closes_its_own_diffs_only_and_takes_them_with_it(door: Door) -> None:
    with Client(door) as one:
        with Client(door) as other:
            open_diff(one, door)
            assert other.call("closeAllDiffTabs") == ["CLOSED_0_DIFF_TABS"]
            assert len(door.proposals.waiting) == 1
        one.socket.close()
    while door.proposals.waiting:
        threading.Event().wait(0.001)


def test_the_end_of_the_server_is_a_rejection_and_a_close_frame(tmp_path: Path) -> None:
    write_vault(tmp_path / "vault", NOTES)
    door = Door(tmp_path / "vault", Bounds())
    with Client(door) as client:
        open_diff(client, door)
        door.close()
        assert texts(client.receive())[0] == "DIFF_REJECTED"
        with pytest.raises(ConnectionClosed) as closed:
            client.receive()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1001


def test_diagnostics_are_of_the_files_asked_about(door: Door) -> None:
    place = door.root / "Note.md"
    with Client(door) as client:
        assert json.loads(client.call("getDiagnostics")[0]) == []
        for uri in (f"file://{place}", place.as_uri(), str(place), f"_claude_fs_right:{place}"):
            (found,) = json.loads(client.call("getDiagnostics", uri=uri)[0])
            assert found["uri"] == uri
            (diagnostic,) = found["diagnostics"]
            assert diagnostic == {
                "message": "[[Nowhere]] leads nowhere: there is no file 'Nowhere'",
                "severity": "Warning",
                "range": {"start": {"line": 2, "character": 4}, "end": {"line": 2, "character": 15}},
                "source": "obsidian",
                "code": "unresolved-link",
            }
        place.write_text("fine\n")
        (found,) = json.loads(client.call("getDiagnostics")[0])
        assert found["diagnostics"] == []
        asked = ("Plan.md", "Folder/My Daily Note.md")
        for path in asked:
            # Claude Code encodes no blanks, and takes no answer that does for one about its file.
            (found,) = json.loads(client.call("getDiagnostics", uri=f"file://{door.root}/{path}")[0])
            assert found == {"uri": f"file://{door.root}/{path}", "diagnostics": []}
        told = json.loads(client.call("getDiagnostics")[0])
        latest = [f"_claude_fs_right:{place}", *(f"file://{door.root}/{path}" for path in asked)]
        assert [each["uri"] for each in told] == latest


def test_a_fault_that_an_edit_has_moved_is_no_new_one(door: Door) -> None:
    place = door.root / "Note.md"
    models = {"name": "getDiagnostics", "arguments": {}, "_meta": {"claudecode/toolUseId": "toolu_1"}}

    def told(answer: list[str]) -> list[tuple[str, int]]:
        (found,) = json.loads(answer[0])
        return [(each["message"].split(" leads")[0], each["range"]["start"]["line"]) for each in found["diagnostics"]]

    place.write_text("[[A]]\n[[B]]\n[[A]]\n")
    with Client(door) as client, Client(door, "another") as other:
        for each in (client, other):
            assert told(each.call("getDiagnostics", uri=str(place))) == [("[[A]]", 0), ("[[B]]", 1), ("[[A]]", 2)]
        place.write_text("new\n[[A]]\n[[C]]\n[[A]]\n[[A]]\n")
        moved = [("[[A]]", 0), ("[[C]]", 2), ("[[A]]", 2), ("[[A]]", 4)]
        true = [("[[A]]", 1), ("[[C]]", 2), ("[[A]]", 3), ("[[A]]", 4)]
        assert told(client.call("getDiagnostics")) == moved
        assert told(other.call("getDiagnostics")) == true  # who knows what it makes of them
        assert told(texts(client.request("tools/call", models))) == true  # the model wants to know where to look
        models["arguments"] = {"uri": str(place)}
        assert told(texts(client.request("tools/call", models))) == true
        assert told(client.call("getDiagnostics")) == moved
        assert told(client.call("getDiagnostics", uri=str(place))) == true
        assert told(client.call("getDiagnostics")) == true
        odd = {"name": "getDiagnostics", "arguments": {}, "_meta": 5}
        assert told(texts(client.request("tools/call", odd))) == true


def test_of_two_edits_in_one_round_the_first_ones_faults_are_told_too(door: Door) -> None:
    place = door.root / "Note.md"

    def count(answer: list[str]) -> int:
        return len(json.loads(answer[0])[0]["diagnostics"])

    with Client(door) as client, Client(door, "another") as other:
        for number, known in enumerate((0, 0, 0)):  # Claude Code compares with the last answer it had about the file
            place.write_text("[[A]]\n" * number)
            assert count(client.call("getDiagnostics", uri=str(place))) == known
            assert count(other.call("getDiagnostics", uri=str(place))) == number
        assert count(client.call("getDiagnostics")) == 2
        assert count(client.call("getDiagnostics", uri=str(place))) == 2


def test_the_tools_of_other_clients_answer(door: Door) -> None:
    place = str(door.root / "Note.md")
    with Client(door) as client:
        assert json.loads(client.call("getCurrentSelection")[0])["success"] is False
        door.state.open_tabs(["Note.md", "Other/Plan.md"])
        door.state.select(Selection("Note.md"))
        client.hear("selection_changed")
        assert json.loads(client.call("getLatestSelection")[0])["filePath"] == place
        tabs = json.loads(client.call("getOpenEditors")[0])["tabs"]
        assert [(tab["label"], tab["isActive"]) for tab in tabs] == [("Note.md", True), ("Plan.md", False)]
        folders = json.loads(client.call("getWorkspaceFolders")[0])
        assert folders["rootPath"] == folders["folders"][0]["path"] == str(door.root)
        assert json.loads(client.call("checkDocumentDirty", filePath=place)[0])["isDirty"] is False
        assert json.loads(client.call("saveDocument", filePath=place)[0])["saved"] is True
        assert client.call("openFile", filePath=place, startLine=3) == [f"Opened file: {place}"]
        assert door.opened == [("Note.md", 3)]
        assert json.loads(client.call("openFile", filePath="/etc/passwd")[0])["success"] is False


def test_the_contracts_log_lines_are_said(door: Door) -> None:
    with Client(door) as client:
        door.state.mention(Mention("Note.md"))
        client.hear("at_mentioned")
        client.call("close_tab", tab_name="Note.md")
        client.request("\x1b[2J")
    lines = {"Authentication successful", "Client connected", "Sent at-mention", "Client disconnected"}
    while not lines.issubset(door.log):
        threading.Event().wait(0.001)
    assert any(line.startswith("Raw data received") for line in door.log)
    parsed = ["initialize", "notifications/initialized", "ide_connected", "tools/list", "tools/call close_tab"]
    assert [line for line in door.log if line.startswith("Parsed")] == [
        *(f"Parsed message: {method}" for method in parsed),
        "Parsed message",  # not what has no name that can be shown
    ]
    assert not any(TOKEN in line for line in door.log)


# ---------------------------------------------------------------------- long notes


@pytest.mark.parametrize("line", ["a line of many\n", "eine Zeile für \u00e4lle \u65e5\u672c\n"])
def test_a_diff_of_a_note_of_several_megabytes_is_shown_and_answered(door: Door, line: str) -> None:
    long = line * (5_000_000 // len(line.encode()))
    (door.root / "Note.md").write_text(long, encoding="utf-8")
    with Client(door) as client:
        place = str(door.root / "Note.md")
        arguments = {"new_file_path": place, "new_file_contents": f"first\n{long}", "tab_name": "Note.md"}
        id_ = client.post("tools/call", {"name": "openDiff", "arguments": arguments})
        while not door.proposals.waiting:
            threading.Event().wait(0.001)
        [proposal] = door.proposals.waiting
        assert proposal.old == long
        detail = Reviewer(door.vault).item(proposal.id)
        assert [(file["added"], file["removed"]) for file in detail["files"]] == [(1, 0)]
        door.proposals.decide(proposal.id, Decision(proposal.new))
        answer = client.receive()
        assert (answer["id"], texts(answer)) == (id_, ["FILE_SAVED", f"first\n{long}"])


def test_what_claude_code_has_written_after_it_was_accepted_is_on_record_under_its_name(door: Door) -> None:
    with Client(door) as client:
        open_diff(client, door)
        door.vault.holding.accept(door.vault.holding.waiting()[0].id)  # as another process does
        door.proposals.look()
        assert texts(client.receive())[0] == "FILE_SAVED"
        (door.root / "Note.md").write_text("new\n")
        door.proposals.record()
        [change] = door.vault.history.latest("", 10, None)
        assert (change.author.client, change.author.tool, change.proposal) == ("claude-code", "openDiff", 1)
        assert change.author.session
