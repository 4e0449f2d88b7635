"""Sixty-four clients at once that do all sorts of things and break off anywhere: no error, nothing lost, nothing left."""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.loaded import Server
from support.serving import PATIENCE
from support.wire import STATELESS_REVISION, envelope
from vaultwire.vault.caller import MAX_MEMORY_BYTES

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="asks the kernel for memory and open files")

CLIENTS = 64
IS_SOAK = os.environ.get("HYPOTHESIS_PROFILE") == "soak"
# The first part fills caches and pools: what is there after it is what should be there at the end.
WARM_UP, SECONDS = (15.0, 60.0) if IS_SOAK else (2.5, 5.0)
# A few seconds do not fill what a minute fills: a client in a session keeps what it has read.
MOST_GROWTH = 1.2 if IS_SOAK else 1.4
NOTES = 100
BREAKS = ("head", "body", "waiting", "answer")
BREAKS_ONE_IN = 5
REVISION = "2025-11-25"
BOTH = "application/json, text/event-stream"


class Broken(Exception):  # noqa: N818 - nothing is wrong
    """The client has broken off, as it meant to."""


class Client:
    """One of the many: does one thing after another, on one connection at a time, and breaks off now and then."""

    def __init__(self, number: int, port: int, chance: random.Random) -> None:
        self.port = port
        self.chance = chance
        self.path = f"Load/Client {number}.md"
        self.last = ""  # that its note is known to have held
        self.maybe: set[str] = set()  # what it may hold since, for all the client knows
        self.session = ""
        self.lost_sessions = 0  # that may have been opened, without the client having heard of it
        self.done = 0
        self.broken = 0
        self._ids = iter(range(1, 1 << 60))
        self._stream: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def run(self, until: float) -> None:
        """Go on until then; then put everything away in good order."""
        acts = (
            [self.read, self.search, self.list, self.resources, self.rest] * 6
            # Each write waits for the disk, and all others behind it.
            + [self.write, self.open, self.leave, self.listen, self.hear, self.refused]
        )
        while time.monotonic() < until:
            try:
                await self.chance.choice(acts)()
                self.done += 1
            except Broken:
                self.broken += 1
                self._hang_up()
        await self.leave(breaks=False)
        if self.last:
            found = await self.tool("read_note", {"path": self.path}, breaks=False)
            assert found["content"].rstrip("\n") in {self.last, *self.maybe}
        self._hang_up()

    # ------------------------------------------------------------------ what it does

    async def read(self) -> None:
        number = self.chance.randrange(NOTES)
        found = await self.tool("read_note", {"path": f"Notes/Note {number}.md"})
        assert f"the {number}th note" in found["content"]

    async def search(self) -> None:
        number = self.chance.randrange(NOTES)
        found = await self.tool("search_notes", {"query": f'"the {number}th note"'})
        assert found["total"] >= 1, found

    async def list(self) -> None:
        listed = await self.ask(self.chance.choice(["tools/list", "prompts/list"]), {})
        assert "tools" in listed or "prompts" in listed

    async def resources(self) -> None:
        listed = await self.ask("resources/list", {})
        uri = self.chance.choice(listed["resources"])["uri"]
        await self.ask("resources/read", {"uri": uri})

    async def write(self) -> None:
        text = f"line {next(self._ids)}"
        try:
            await self.tool("write_note", {"path": self.path, "content": text, "mode": "overwrite"})
        except Broken:
            self.maybe.add(text)
            raise
        self.last = text

    async def rest(self) -> None:
        number = self.chance.randrange(NOTES)
        body = json.dumps({"arguments": {"path": f"Notes/Note {number}.md"}}).encode()
        answer = await self.exchange("POST", "/bridge/v1/tools/read_note/call", {}, body)
        assert answer["success"] is True

    async def refused(self) -> None:
        """Ask for what there is not; an error is the right answer to that."""
        with pytest.raises(AssertionError):
            await self.ask("tools/call", {"name": "no_such_tool", "arguments": {}})

    async def open(self) -> None:
        await self.leave()
        params = {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": {"name": "load", "version": "0"}}
        body = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
        self.lost_sessions += 1
        await self.exchange("POST", "/mcp", {"Accept": BOTH}, json.dumps(body).encode())
        self.lost_sessions -= 1
        assert self.session
        body = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        await self.exchange("POST", "/mcp", self._session_headers(), json.dumps(body).encode())

    async def leave(self, breaks: bool = True) -> None:
        if self.session:
            headers, self.session = self._session_headers(), ""
            self.lost_sessions += 1
            await self.exchange("DELETE", "/mcp", headers, b"", breaks=breaks)
            self.lost_sessions -= 1

    async def listen(self) -> None:
        """Hear of changes for a while, as of 2026-07-28, and leave without a word."""
        params = {"notifications": {"toolsListChanged": True}, "_meta": envelope()}
        await self._hear("POST", self._routing("subscriptions/listen", {}), "subscriptions/listen", params)

    async def hear(self) -> None:
        """Take the stream beside the session's calls for a while, and leave without a word."""
        if self.session:
            await self._hear("GET", self._session_headers(), "", None)

    async def _hear(self, method: str, headers: dict[str, str], asked: str, params: Any) -> None:
        self._hang_up()
        reader, writer = await self._connected()
        body = b"" if params is None else self._body(asked, params)
        writer.write(_head(method, "/mcp", {**headers, "Accept": "text/event-stream"}, body) + body)
        head = await _patiently(reader.readuntil(b"\r\n\r\n"))
        assert head.startswith(b"HTTP/1.1 200"), head
        assert b"text/event-stream" in head
        try:
            await asyncio.wait_for(reader.read(1 << 16), self.chance.random() / 4)
        except TimeoutError:
            pass
        raise Broken

    async def tool(self, name: str, arguments: dict[str, Any], breaks: bool = True) -> Any:
        params = {"name": name, "arguments": arguments}
        result = await self.ask("tools/call", params, breaks=breaks)
        assert not result.get("isError"), result
        return result["structuredContent"]

    # ------------------------------------------------------------------ how it says it

    async def ask(self, method: str, params: dict[str, Any], breaks: bool = True) -> Any:
        """Make a request: in the session if there is one, else as of 2026-07-28 or as of 2025 without a session."""
        meta = {"progressToken": f"token {next(self._ids)}"} if self.chance.random() < 0.3 else {}
        if self.session:
            headers = self._session_headers()
        elif self.chance.random() < 0.5:
            headers, meta = self._routing(method, params), envelope(**meta)
        else:
            headers = {"MCP-Protocol-Version": REVISION}
        headers["Accept"] = self.chance.choice([BOTH, BOTH, "application/json", "text/event-stream"])
        answer = await self.exchange("POST", "/mcp", headers, self._body(method, {**params, "_meta": meta}), breaks)
        assert "result" in answer, answer
        return answer["result"]

    def _body(self, method: str, params: dict[str, Any]) -> bytes:
        return json.dumps({"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params}).encode()

    def _session_headers(self) -> dict[str, str]:
        return {"Mcp-Session-Id": self.session, "MCP-Protocol-Version": REVISION, "Accept": BOTH}

    def _routing(self, method: str, params: dict[str, Any]) -> dict[str, str]:
        named = params.get("uri") if method == "resources/read" else params.get("name")
        return {
            "MCP-Protocol-Version": STATELESS_REVISION,
            "Mcp-Method": method,
            **({} if named is None else {"Mcp-Name": named}),
        }

    async def exchange(self, method: str, path: str, headers: dict[str, str], body: bytes, breaks: bool = True) -> Any:
        """Send a request and return what the answer says; raises Broken where the client broke off."""
        where = self.chance.choice(BREAKS) if breaks and self.chance.randrange(BREAKS_ONE_IN) == 0 else ""
        reader, writer = await self._connected()
        head = _head(method, path, headers, body)
        if where in ("head", "body"):
            whole = head if where == "head" else head + body
            start = 0 if where == "head" else len(head)
            writer.write(whole[: self.chance.randrange(start, len(whole) + 1)])
        else:
            writer.write(head + body)
        await writer.drain()
        if where == "answer":
            await _patiently(reader.readexactly(self.chance.randrange(1, 200)))
        if where:
            raise Broken
        return self._understood(*await _patiently(_answer(reader)))

    def _understood(self, status: int, headers: dict[str, str], body: bytes) -> Any:
        assert status in (200, 202, 204), (status, body)
        self.session = headers.get("mcp-session-id", self.session)
        if headers.get("connection") == "close":
            self._hang_up()
        if headers.get("content-type") == "text/event-stream":
            events = [line[6:] for line in body.split(b"\n") if line.startswith(b"data: ")]
            answers = [each for each in map(json.loads, events) if "method" not in each]
            assert len(answers) == 1, body
            return answers[0]
        return json.loads(body) if body else {}

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._stream is None:
            self._stream = await _patiently(asyncio.open_connection("127.0.0.1", self.port))
        return self._stream

    def _hang_up(self) -> None:
        if self._stream is not None:
            self._stream[1].transport.abort()
            self._stream = None


async def _patiently(waiting: Any) -> Any:
    """Wait for what must not take for ever: a request that is stuck fails here."""
    return await asyncio.wait_for(waiting, PATIENCE)


def _head(method: str, path: str, headers: dict[str, str], body: bytes) -> bytes:
    sent = {"Host": "127.0.0.1", "Content-Type": "application/json", **headers, "Content-Length": str(len(body))}
    return (f"{method} {path} HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in sent.items()) + "\r\n").encode()


async def _answer(reader: asyncio.StreamReader) -> tuple[int, dict[str, str], bytes]:
    lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:-2])}
    if headers.get("transfer-encoding") != "chunked":
        return int(lines[0].split()[1]), headers, await reader.readexactly(int(headers.get("content-length", 0)))
    pieces = []
    while size := int(await reader.readline(), 16):
        pieces.append(await reader.readexactly(size))
        await reader.readexactly(2)
    await reader.readexactly(2)
    return int(lines[0].split()[1]), headers, b"".join(pieces)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    vault = tmp_path / "vault"
    (vault / "Notes").mkdir(parents=True)
    for number in range(NOTES):
        text = f"# Note {number}\nThis is the {number}th note.\n#tag-{number % 7}\n" + "Some more words.\n" * 50
        (vault / "Notes" / f"Note {number}.md").write_text(text, encoding="utf-8")
    (vault / "Load").mkdir()
    for number in range(CLIENTS):
        (vault / "Load" / f"Client {number}.md").write_text("nothing yet\n", encoding="utf-8")
    started = Server(vault)
    yield started
    started.close()


async def load(port: int, seconds: float, seed: str) -> list[Client]:
    clients = [Client(number, port, random.Random(f"{seed} {number}")) for number in range(CLIENTS)]
    until = time.monotonic() + seconds
    async with asyncio.TaskGroup() as group:
        for client in clients:
            group.create_task(client.run(until))
    return clients


@pytest.mark.timeout(600)
def test_many_clients_that_break_off_anywhere_leave_nothing_behind(
    server: Server, request: pytest.FixtureRequest
) -> None:
    seed = request.config.getoption("hypothesis_seed")
    idle = server.counts()
    asyncio.run(load(server.port, WARM_UP, f"{seed} warm-up"))
    quiet = {"tasks": idle["tasks"], "in flight": 0}
    warm = server.settled({**quiet, "files": idle["files"] + 20})
    clients = asyncio.run(load(server.port, SECONDS, f"{seed}"))
    most = {
        **quiet,
        "files": warm["files"],
        "threads": warm["threads"],
        "sessions": warm["sessions"] + sum(client.lost_sessions for client in clients),
        "bytes": int(MOST_GROWTH * warm["bytes"]),
        "kept": MAX_MEMORY_BYTES,
    }
    counts = server.settled(most)

    assert min(client.done for client in clients) > 0
    assert sum(client.broken for client in clients) > CLIENTS
    assert {name: count for name, count in counts.items() if count > most[name]} == {}, (most, counts)
    assert server.end() == (0, "")
