"""Clients that people use, in conversation with a real server over stdio and HTTP. ``make clients``; no test by itself.

The TypeScript SDK in both generations, also through mcp-remote as assistants that know only stdio use it, and the
Inspector's command line. ``VAULTWIRE_NODE_MODULES`` names the folder npm has installed them in, in the versions of
``package-lock.json``. What the Python SDK sees is in ``tests/acceptance``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from support.serving import Serving
from support.vaults import write_vault
from vaultwire.toolkit.catalog import standard_set
from vaultwire.tools.prompts import OURS

LISTED = standard_set()
MODULES = Path(os.environ["VAULTWIRE_NODE_MODULES"]).resolve()
NODE = str(MODULES / ".bin" / "node")
DRIVER = str(Path(__file__).parent / "driver.cjs")
INSPECTOR = str(MODULES / "@modelcontextprotocol" / "inspector" / "clients" / "launcher" / "build" / "index.js")
REMOTE = str(MODULES / "mcp-remote" / "dist" / "proxy.js")
PATIENCE = 60
# So many, and so slow to match: a search through all of them takes far longer than its first progress does to come and
# to be answered with "enough".
MANY = 1000
SLOWLY = (
    "x" * 20
)  # for the pattern in driver.cjs: 5 ms a note, double with each two more; and nothing less than matching
# tells that it does not match, for all the pattern's letters are there.
ALPHA = "# Alpha\nThe fox. [[Beta]] #start\n"
ROOT = "obsidian://vault/vault/"
LATEST_HANDSHAKE, STATELESS = "2025-11-25", "2026-07-28"


class Ways(NamedTuple):
    """How a client reaches the same vault: the command of a server for it alone, the address of one for all."""

    vault: Path
    command: tuple[str, ...]
    url: str


@pytest.fixture(scope="module")
def ways(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ways]:
    root = tmp_path_factory.mktemp("clients")
    vault = write_vault(root / "vault", f"=== Alpha.md\n{ALPHA}=== Beta.md\nNothing.\n")
    write_vault(vault, "".join(f"=== Many/{number}.md\nA fly, a fox. {SLOWLY}\n" for number in range(MANY)))
    with Serving(vault) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("NODE_PATH", str(MODULES))
        patch.setenv("HOME", str(root))  # where clients keep what they know of servers
        patch.setenv("MCP_REMOTE_CONFIG_DIR", str(root / "mcp-remote"))
        patch.setenv("MCP_INSPECTOR_SECRET_STORE", "memory")
        stdio = (sys.executable, "-m", "vaultwire", "stdio", "--vault", str(vault))
        yield Ways(vault, stdio, f"{server.url}/mcp")


def run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False, encoding="utf-8")


class Speaking(NamedTuple):
    """A generation of the SDK, its mode, and the revision that comes of it."""

    generation: str
    mode: str
    revision: str


SPEAKING = (
    Speaking("sdk", "legacy", LATEST_HANDSHAKE),
    Speaking("client", "legacy", LATEST_HANDSHAKE),
    Speaking("client", "auto", STATELESS),
    Speaking("client", STATELESS, STATELESS),
)


def conversations() -> Iterator[Any]:
    """Yield a test's parameters: each way with all that can be spoken there."""
    for way in ("stdio", "http", "mcp-remote"):
        for speaking in SPEAKING:
            if way != "mcp-remote" or speaking.revision == LATEST_HANDSHAKE:  # it knows none without a handshake
                yield pytest.param(way, speaking, id=" ".join((way, *speaking)))


@pytest.mark.parametrize(("way", "speaking"), [*conversations()])
def test_the_typescript_sdk_has_a_whole_conversation(ways: Ways, way: str, speaking: Speaking) -> None:
    target = {"stdio": ways.command, "http": (ways.url,), "mcp-remote": (NODE, REMOTE, ways.url, "--allow-http")}[way]
    before = set(ways.vault.glob("By *.md"))
    ended = run([NODE, DRIVER, *speaking[:2], *target])
    assert ended.returncode == 0, ended.stderr
    seen = json.loads(ended.stdout)

    assert seen["server"]["name"] == "vaultwire"
    if speaking.generation == "client":  # the first one does not tell
        assert seen["revision"] == speaking.revision
    assert seen["session"] is (way == "http" and speaking.revision != STATELESS)
    assert seen["tools"] == LISTED
    check_tools(seen)
    (written,) = set(ways.vault.glob("By *.md")) - before
    assert written.read_bytes() == "Grüße 🗝\n".encode()
    check_offers(seen, speaking)

    progress = [step["progress"] for step in seen["progress"]]
    assert progress
    assert progress == sorted(set(progress))
    assert all(step["progress"] <= step["total"] for step in seen["progress"])
    assert "enough" in seen["cancelled"]["message"]
    assert seen["afterwards"]["content"][0]["text"] == ALPHA
    # Nothing came that nobody waited for, such as an answer to what was cancelled; only progress may have crossed that.
    assert [problem for problem in seen["problems"] if "progress notification" not in problem] == []


def check_tools(seen: dict[str, Any]) -> None:
    assert seen["read"]["content"][0] == {"type": "text", "text": ALPHA}
    assert "structuredContent" not in seen["read"]
    assert not seen["written"].get("isError")
    assert seen["missing"]["isError"] is True
    assert seen["missing"]["content"][0]["text"].startswith("FILE_NOT_FOUND: ")
    assert seen["unknown"]["code"] == -32602
    assert "Unknown tool: 'fly'" in seen["unknown"]["message"]


def check_offers(seen: dict[str, Any], speaking: Speaking) -> None:
    assert {ROOT + "Alpha.md", ROOT + "Beta.md"} <= set(seen["resources"])
    if speaking.generation == "client":  # it goes through all pages by itself
        assert len(seen["resources"]) > MANY
    assert seen["templates"] == [ROOT + "{+path}", ROOT + "{+base}{#view}"]
    assert seen["resource"]["contents"] == [{"uri": ROOT + "Alpha.md", "mimeType": "text/markdown", "text": ALPHA}]
    assert "Resource not found" in seen["noResource"]["message"]
    assert seen["prompts"] == [prompt.name for prompt in OURS]
    assert seen["prompt"]["messages"][1]["content"]["resource"]["text"] == ALPHA
    assert seen["completion"] == {"values": ["Alpha.md"], "total": 1, "hasMore": False}


@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("way", ["stdio", "http"])
def test_the_inspector_lists_calls_and_reads(ways: Ways, tmp_path: Path, way: str, era: str) -> None:
    kept = {name: value for name, value in os.environ.items() if name.startswith(("VAULTWIRE_", "PYTHON"))}
    reached: dict[str, Any] = (
        {"command": ways.command[0], "args": ways.command[1:], "env": kept}
        if way == "stdio"
        else {"type": "streamable-http", "url": ways.url}
    )
    servers = {"ours": {**reached, "protocolEra": era}}
    (tmp_path / "servers.json").write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")

    def inspect(method: str, *options: str, code: int = 0) -> Any:
        command = [NODE, INSPECTOR, "--cli", "--config", str(tmp_path / "servers.json"), "--server", "ours"]
        ended = run([*command, "--format", "json", "--method", method, *options])
        assert ended.returncode == code, ended.stderr
        return json.loads(ended.stdout)["result"]

    # "strict": fails where another assistant might not take a tool's schema.
    tools = {tool["name"]: tool for tool in inspect("tools/list", "--strict")["tools"]}
    assert list(tools) == LISTED
    read = inspect("tools/call", "--tool-name", "read_notes", "--tool-arg", 'paths=["Alpha"]')
    assert read["content"][0]["text"] == ALPHA
    assert "structuredContent" not in read
    append = ("--tool-name", "create_note", "--tool-arg", "path=Inspected", "if_exists=append", "content=- seen\\n")
    (ways.vault / "Inspected.md").write_text("")
    assert not inspect("tools/call", *append).get("isError")
    assert "- seen" in (ways.vault / "Inspected.md").read_text(encoding="utf-8")
    missing = inspect("tools/call", "--tool-name", "read_notes", "--tool-arg", 'paths=["Nowhere"]', code=5)
    assert missing["content"][0]["text"].startswith("FILE_NOT_FOUND: ")
    (contents,) = inspect("resources/read", "--uri", ROOT + "Alpha.md")["contents"]
    assert contents["text"] == ALPHA
    prompt = inspect("prompts/get", "--prompt-name", "summarize_note", "--prompt-args", "path=Alpha")
    assert prompt["messages"][1]["content"]["resource"]["text"] == ALPHA
