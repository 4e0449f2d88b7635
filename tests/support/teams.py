"""Several real servers for the same vaults: what tests ask them, and a client that uses any of them."""

from __future__ import annotations

import itertools
import json
import os
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeAlias

from support.command_line import run_command
from support.postgres import PostgresServer
from support.serving import Reply, Serving
from support.vaults import write_vault
from vaultwire.cluster.database import Database
from vaultwire.cluster.leases import ask_back, owners

Start: TypeAlias = Callable[..., Serving]
OWNER, STAND_BY = "owner", "stand-by"
VAULTS = ("Home", "Work")
NOTES = "=== Note.md\nin NAME\n"
STATELESS = "2026-07-28"


def role(server: Serving) -> str:
    answer: dict[str, str] = server.request("GET", "/ready").json
    return answer["role"] if answer["status"] == "ok" else ""


def wait_for(is_so: Callable[[], object]) -> None:
    """Ask until it is so; the test's own time limit ends what never is."""
    pause = threading.Event()
    while not is_so():
        pause.wait(0.05)


def issue(name: str, url: str) -> str:
    """Return a new key in a database."""
    done = run_command("keys", "issue", name, "--database", url)
    assert done.returncode == 0, done
    return done.stdout.split()[-1]


def write(server: Serving, name: str) -> Reply:
    return server.call("write_note", {"path": f"{name}.md", "content": f"by {name}"})


def text_of(reply: Reply) -> str:
    assert reply.status == 200, reply
    return "".join(part["text"] for part in reply.json["content"])


@contextmanager
def two_vaults(folder: Path, url: str, text: str = NOTES) -> Iterator[Start]:
    """Yield what starts a server of two vaults, with a state folder of its own, as on another machine.

    ``text`` describes the notes of each (``write_vault``), with the vault's name as NAME, or LOWER.
    """
    folders = [write_vault(folder / name, text.replace("NAME", name).replace("LOWER", name.lower())) for name in VAULTS]
    numbers = itertools.count(1)
    with ExitStack() as running:

        def begin(*options: str, command: Sequence[str] | None = None) -> Serving:
            home = folder / f"machine{next(numbers)}"
            places = {"VAULTWIRE_STATE": str(home / "state"), "VAULTWIRE_CACHE": str(home / "cache")}
            shared = ("--vault", str(folders[1]), "--database", url, "--lease-seconds", "3")
            server = Serving(folders[0], *shared, *options, command=command, **{**os.environ, **places})
            return running.enter_context(server)

        yield begin


def count(server: Serving) -> int:
    """Return how many vaults a server owns."""
    return int(server.request("GET", "/health").json["vaults"])


def two_owners(start: Start, database: Database, *options: str, **more: Any) -> tuple[Serving, Serving]:
    """Return two servers that own one vault each: that of Home, and that of Work."""
    first, second = start(*options, **more), start(*options, **more)
    spread(database, first, second)
    addresses = {owner.vault: owner.address for owner in owners(database)}
    by_address = {server.url: server for server in (first, second)}
    # Both have noted who owns what when both answer for both, be it that they have no such tool.
    calls = [(server, {"vault": vault}) for server in (first, second) for vault in VAULTS]
    wait_for(
        lambda: all(
            server.call("list_notes", about).status != HTTPStatus.SERVICE_UNAVAILABLE for server, about in calls
        )
    )
    return by_address[addresses["Home"]], by_address[addresses["Work"]]


@contextmanager
def owners_for_many_tests(
    folder: Path, postgres: PostgresServer, text: str = NOTES, *options: str
) -> Iterator[tuple[Serving, Serving]]:
    """Yield ``two_owners`` with a database of their own, for all tests of a module that leave them as they are."""
    url = postgres.new_database()
    with closing(Database(url)) as database, two_vaults(folder, url, text) as start:
        database.upgrade()
        yield two_owners(start, database, *options)


def spread(database: Database, *servers: Serving, vaults: int = len(VAULTS)) -> None:
    """Have each of these servers own its share, as a person does: a newcomer gets it only after the time of a lease."""
    share = -(-vaults // len(servers))

    def is_spread() -> bool:
        counts = [*map(count, servers)]
        if max(counts) > share:
            ask_back(database, owners(database)[-1].vault)
        return sum(counts) == vaults and max(counts) <= share

    wait_for(is_spread)


def stateless(
    server: Serving, method: str, params: dict[str, Any], *, extensions: Sequence[str] = (), **headers: str
) -> Reply:
    """Send a request of the revision without sessions. ``headers`` are those that repeat a part of the body."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"extensions": {name: {} for name in extensions}},
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
    usual = {"content_type": "application/json", "accept": "application/json, text/event-stream"}
    about = {"mcp_protocol_version": STATELESS, "mcp_method": method}
    return server.request("POST", "/mcp", json.dumps(body).encode(), **usual, **about, **headers)


def uri(vault: str) -> str:
    """Return the URI of the note of a vault."""
    return f"obsidian://vault/{vault}/Note.md"


class Client:
    """An MCP client of the handshake era, whose every request may go to another server."""

    def __init__(
        self, server: Serving, key: str | None = None, revision: str = "2025-06-18", **capabilities: Any
    ) -> None:
        self._numbers = itertools.count(1)
        self.last_id = 0
        """The id of the latest request that was answered with a stream."""
        self._headers = {"content_type": "application/json", "accept": "application/json, text/event-stream"}
        if key is not None:
            self.use_key(key)
        about = {
            "protocolVersion": revision,
            "capabilities": capabilities,
            "clientInfo": {"name": "t", "version": "1"},
        }
        answer = self.post(server, "initialize", about)
        self._headers |= {"mcp_session_id": answer.headers["mcp-session-id"], "mcp_protocol_version": revision}
        assert self.send(server, {"jsonrpc": "2.0", "method": "notifications/initialized"}).status == 202

    def use_key(self, key: str) -> None:
        self._headers["x_api_key"] = key

    def request(self, server: Serving, method: str, body: bytes | None = None) -> Reply:
        return server.request(method, "/mcp", body, **self._headers)

    def send(self, server: Serving, message: Any) -> Reply:
        return self.request(server, "POST", json.dumps(message).encode())

    def post(self, server: Serving, method: str, params: dict[str, Any]) -> Reply:
        return self.send(server, {"jsonrpc": "2.0", "id": next(self._numbers), "method": method, "params": params})

    def listen(self, server: Serving, *headers: str) -> Generator[str]:
        """Yield the lines of the stream that a GET opens."""
        return self._lines(server, "GET", b"", headers)

    def stream(self, server: Serving, method: str, params: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the messages that answer a request as a stream, until it ends."""
        self.last_id = next(self._numbers)
        body = {"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params}
        for line in self._lines(server, "POST", json.dumps(body).encode(), ("Connection: close",)):
            if line.startswith("data: {"):
                yield json.loads(line.removeprefix("data: "))

    def _lines(self, server: Serving, method: str, body: bytes, headers: Sequence[str]) -> Generator[str]:
        lines = [f"{name.replace('_', '-')}: {value}" for name, value in self._headers.items()]
        head = "\r\n".join(
            [f"{method} /mcp HTTP/1.1", "Host: localhost", *lines, f"Content-Length: {len(body)}", *headers]
        )
        with server.connect() as connection:
            connection.sendall(head.encode() + b"\r\n\r\n" + body)
            with connection.makefile("r", encoding="utf-8") as stream:
                yield from stream
