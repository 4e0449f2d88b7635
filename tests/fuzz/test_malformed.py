"""Malformed frames, paths and arguments by the thousand at real servers: they go on, hang on nothing, and touch nothing
outside the vault.

What is sent is made from valid requests, by the run's seed: bytes changed, cut and doubled, values exchanged for
odd ones, paths that would lead out. ``make soak`` sends 100,000 to each door.
"""

from __future__ import annotations

import json
import os
import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

import pytest

from support.serving import Serving
from support.vaults import write_vault
from support.wire import Server, envelope
from vaultwire.toolkit.catalog import load_catalog

IS_SOAK = os.environ.get("HYPOTHESIS_PROFILE") == "soak"
FRAMES = 100_000 if IS_SOAK else 1_500
# So many are sent before it is asked whether the server still lives.
ROUND = 250
# A server that needs longer for a round hangs.
PATIENCE = 120

PATHS = [
    *[
        "Note.md",
        "Folder/Other",
        "[[Note]]",
        "",
        ".",
        "..",
        "/",
        "../outside.md",
        "../../outside/secret.md",
        "Folder/../../x",
    ],
    *[
        "/etc/passwd",
        "C:\\Windows\\win.ini",
        "\\\\host\\share",
        "link/secret.md",
        "linked.md",
        ".obsidian/app.json",
        "a\0b",
    ],
    *["..\\outside.md", "%2e%2e/outside.md", "~/x", "con.md", "a" * 5000, "\ud800", "ﾃ.md", "e\u0301.md", "Note.md/x"],
]
ODD: list[Any] = [
    *[
        None,
        True,
        False,
        0,
        -1,
        1 << 63,
        1e308,
        "",
        "\0",
        "\ud800",
        [],
        {},
        [[]],
        {"": None},
        ["x"] * 50,
        {"a": {"a": {}}},
    ],
    *[
        "needle",
        "/(a+)+$/",
        "[x:",
        "-" * 500,
        "((((",
        'line:"',
        "tag:#",
        "^",
        "#",
        "2026-13-45",
        "obsidian://vault/x/../y",
    ],
]


def fuzzed_values(chance: random.Random, schema: dict[str, Any]) -> Any:
    """Return a value that fits the schema, nearly, or something else."""
    roll = chance.random()
    if roll < 0.3:
        return chance.choice([*ODD, *PATHS])
    match schema.get("type"):
        case "string":
            return chance.choice(schema["enum"]) if "enum" in schema and roll < 0.8 else chance.choice(PATHS)
        case "integer":
            return chance.choice([0, 1, 2, 10, -5, 1 << 40])
        case "boolean":
            return chance.random() < 0.5
        case "array":
            return [fuzzed_values(chance, schema.get("items", {})) for _ in range(chance.randrange(4))]
        case "object":
            return {name: fuzzed_values(chance, its) for name, its in schema.get("properties", {}).items()}
    return chance.choice(ODD)


def fuzzed_request(chance: random.Random, tools: list[dict[str, Any]], number: int) -> dict[str, Any]:
    """Return a request of a kind there is, with what may be wrong with it."""
    method = chance.choice(
        ["tools/call"] * 6 + ["resources/read", "prompts/get", "completion/complete", "tools/list", "x/y"]
    )
    params: Any = {}
    if method == "tools/call":
        tool = chance.choice(tools)
        properties = tool["inputSchema"]["properties"]
        arguments: Any = {name: fuzzed_values(chance, its) for name, its in properties.items() if chance.random() < 0.6}
        if chance.random() < 0.1:
            arguments[chance.choice(["extra", "", "path", "vault"])] = chance.choice(ODD)
        params = {"name": tool["name"] if chance.random() < 0.95 else chance.choice(PATHS), "arguments": arguments}
    elif method == "resources/read":
        params = {
            "uri": "obsidian://vault/vault/" + chance.choice(PATHS) if chance.random() < 0.7 else chance.choice(ODD)
        }
    elif method == "completion/complete":
        params = {"ref": chance.choice([{"type": "ref/resource", "uri": "x"}, *ODD]), "argument": chance.choice(ODD)}
    elif method == "prompts/get":
        params = {
            "name": chance.choice(["summarize_note", *PATHS]),
            "arguments": chance.choice([{"path": "Note"}, *ODD]),
        }
    if chance.random() < 0.05:
        params = chance.choice(ODD)
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": f"fuzz-{number}", "method": method, "params": params}
    if chance.random() < 0.05:
        message[chance.choice(["jsonrpc", "id", "method", "params", "extra"])] = chance.choice(ODD)
    return message


def damaged(chance: random.Random, frame: bytes) -> bytes:
    """Return the bytes with some changed, cut out or doubled; never a line end, which would make two frames of one."""
    data = bytearray(frame)
    for _ in range(chance.randrange(1, 6)):
        at = chance.randrange(len(data) or 1)
        match chance.randrange(4):
            case 0 if data:
                data[at] = chance.randrange(256)
            case 1:
                del data[at : at + chance.randrange(1, 20)]
            case 2:
                data[at:at] = chance.choice(
                    [b'"', b"{", b"[", b"\\u0000", b"\xff\xfe", b"\xc3", b"null", b"1e999", b","]
                )
            case _:
                data += data[at : at + 30]
    return bytes(data).replace(b"\n", b" ").replace(b"\r", b" ")


@pytest.fixture
def around(tmp_path: Path) -> Path:
    """A folder with a vault in it, and beside the vault what nobody may touch; links lead from one to the other."""
    root = tmp_path / "around"
    vault = write_vault(root / "vault", "=== Note.md\n# One\nneedle #tag [[Other]]\n=== Folder/Other.md\ntext ^block\n")
    (root / "outside").mkdir()
    (root / "outside" / "secret.md").write_text("canary-text")
    (root / "outside.md").write_text("canary-text")
    (vault / ".obsidian").mkdir()
    (vault / ".obsidian" / "app.json").write_text("{}")
    (vault / "link").symlink_to(root / "outside")
    (vault / "linked.md").symlink_to(root / "outside.md")
    return root


def canaries(root: Path) -> list[tuple[str, bytes, int]]:
    """Return all that is outside the vault, and what is hidden in it."""
    watched = [path for path in root.rglob("*") if path.is_file() and not path.is_relative_to(root / "vault")]
    watched.append(root / "vault" / ".obsidian" / "app.json")
    return sorted((str(path), path.read_bytes(), path.stat().st_mtime_ns) for path in watched)


def frames(
    chance: random.Random, wrap: Callable[[dict[str, Any]], dict[str, Any]]
) -> Iterator[tuple[dict[str, Any], bytes]]:
    tools = [*load_catalog()]
    for number in range(FRAMES):
        message = wrap(fuzzed_request(chance, tools, number))
        frame = json.dumps(message).encode()
        yield message, damaged(chance, frame) if chance.random() < 0.4 else frame


class Log:
    """What a server says on stderr, read as it comes: a pipe that nobody reads would stop it."""

    def __init__(self, stream: IO[bytes] | None) -> None:
        assert stream is not None
        self._stream = stream
        self._text = b""
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        for line in self._stream:
            self._text = (self._text + line)[-1_000_000:]

    def check(self) -> None:
        """Hold it to having told of no crash, once the server has ended."""
        self._thread.join(PATIENCE)
        assert b"Traceback" not in self._text, self._text[-5000:].decode()


def chance_of(request: pytest.FixtureRequest) -> random.Random:
    """Return what is random in this run: by the seed that the run prints."""
    return random.Random(int(request.config.getoption("hypothesis_seed")))


def check_answer(line: bytes) -> None:
    assert b"Traceback" not in line, line[:2000]
    assert b"canary-text" not in line, line[:2000]


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_stdio_survives(around: Path, revision: str, request: pytest.FixtureRequest) -> None:
    chance = chance_of(request)
    before = canaries(around)
    heard = threading.Semaphore(0)
    odd: list[bytes] = []

    def wrap(message: dict[str, Any]) -> dict[str, Any]:
        if revision == "2026-07-28" and isinstance(message["params"], dict):
            message["params"]["_meta"] = envelope()
        return message

    def listen() -> None:
        assert server.process.stdout is not None
        for line in server.process.stdout:
            try:
                check_answer(line)
                if json.loads(line).get("id") == "still there":
                    heard.release()
            except (AssertionError, ValueError, AttributeError):
                odd.append(line)

    with Server(around / "vault") as server:
        server.open(revision)
        log = Log(server.process.stderr)
        listening = threading.Thread(target=listen)
        listening.start()
        ping: dict[str, Any] = {"jsonrpc": "2.0", "id": "still there", "method": "ping"}
        if revision == "2026-07-28":
            ping |= {"method": "tools/list", "params": {"_meta": envelope()}}
        for number, (_, frame) in enumerate(frames(chance, wrap)):
            server.send_line(frame)
            if number % ROUND == ROUND - 1:
                server.send(ping)
                assert heard.acquire(timeout=PATIENCE), f"no answer after frame {number}"
        server.send({"jsonrpc": "2.0", "method": "exit"})
        listening.join(PATIENCE)
        assert server.process.wait(timeout=PATIENCE) == 0
        log.check()
    assert odd == []
    assert canaries(around) == before


@pytest.mark.timeout(3600)
def test_http_survives(around: Path, request: pytest.FixtureRequest) -> None:
    chance = chance_of(request)
    before = canaries(around)
    with Serving(around / "vault") as server:
        log = Log(server.process.stderr)
        for number, (message, frame) in enumerate(frames(chance, lambda message: message)):
            if chance.random() < 0.5:
                reply = server.request("POST", "/mcp", frame)
            else:
                params = message["params"] if isinstance(message["params"], dict) else {}
                name = params.get("name") if isinstance(params.get("name"), str) else "read_note"
                body = json.dumps({"arguments": params.get("arguments")}).encode()
                sent = damaged(chance, body) if chance.random() < 0.4 else body
                reply = server.request(
                    "POST", f"/bridge/v1/tools/{quote(str(name).encode('utf-8', 'replace'), safe='')}/call", sent
                )
            assert reply.status < 500 or reply.status == 504, (number, reply)
            check_answer(reply.body)
            if number % ROUND == ROUND - 1:
                assert server.request("GET", "/health").status == 200
        server.process.terminate()
        assert server.process.wait(timeout=PATIENCE) == 0
        log.check()
    assert canaries(around) == before
