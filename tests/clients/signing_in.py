"""Clients that people use sign in by themselves: no header, no key; the person is a real browser. ``make clients``.

They are given nothing but the address of ``/mcp``. Each opens the page of sign-in; a headless Chromium goes there, types
name and password and allows it, and is led back to the port at which the client waits. ``VAULTWIRE_NODE_MODULES`` is as
for ``real_clients``. claude.ai, ChatGPT and the apps on phones cannot come here: they reach public addresses only, and
``services`` stands in for them.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from support.chromium import in_browser, open_tab
from support.serving import Serving
from support.sign_in import PASSWORD
from support.vaults import write_vault
from vaultwire.remote import people
from vaultwire.remote.store import Store

MODULES = Path(os.environ["VAULTWIRE_NODE_MODULES"]).resolve()
NODE = str(MODULES / ".bin" / "node")
INSPECTOR = str(MODULES / "@modelcontextprotocol" / "inspector" / "clients" / "launcher" / "build" / "index.js")
REMOTE = str(MODULES / "mcp-remote" / "dist" / "proxy.js")
PATIENCE = 60
TEXT = "the secret text\n"

pytestmark = in_browser


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    state = tmp_path_factory.mktemp("state")
    store = Store(str(state / "sign-in"))
    people.add(store, "Ana", PASSWORD)
    store.close()
    return state


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, state: Path) -> Iterator[Serving]:
    """A server whose public URL is where it listens."""
    vault = write_vault(tmp_path_factory.mktemp("vault"), f"=== Note.md\n{TEXT}")
    port = free_port()
    options = ("--port", str(port), "--public-url", f"http://127.0.0.1:{port}")
    with Serving(vault, *options, VAULTWIRE_STATE=str(state)) as started:
        yield started


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where clients keep what they know of servers; and a computer on which they can open no browser themselves."""
    for name in ("HOME", "MCP_REMOTE_CONFIG_DIR", "MCP_STORAGE_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("MCP_INSPECTOR_SECRET_STORE", "file")
    monkeypatch.setenv("BROWSER", "true")
    monkeypatch.setenv("MCP_AUTO_OPEN_ENABLED", "true")  # else the Inspector asks nobody without a terminal
    return tmp_path


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


def allow(address: str, access: str) -> str:
    """Be the person: type the password, choose, allow; return what the client's own page says in the end."""
    with open_tab() as tab:
        tab.go(address)
        tab.click("input[name=name]")
        tab.type("Ana")
        tab.click("input[name=password]")
        tab.type(PASSWORD)
        tab.click("button", "Sign in")
        tab.wait_for("document.querySelector('select[name=days]')")
        tab.click(f"input[value={access}]")
        tab.click("button", "Allow")
        tab.wait_for("location.pathname.includes('callback') && document.readyState === 'complete'")
        return str(tab.evaluate("document.body.innerText"))


class Program:
    """A running client, whose stderr is read all the time."""

    def __init__(self, command: Sequence[str]) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, encoding="utf-8")
        self.log: list[str] = []
        self._address = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log.append(line)
            if "/authorize?" in line:
                self._address.set()
        self._address.set()

    def address(self) -> str:
        """Return the address that the person is to open."""
        assert self._address.wait(PATIENCE)
        address = re.search(r"http://127\.0\.0\.1:\d+/authorize\?\S+", "".join(self.log))
        assert address is not None, self.log
        return address[0]

    def end(self) -> str:
        try:
            output, _ = self.process.communicate(timeout=PATIENCE)
        finally:
            self.process.kill()
        assert self.process.returncode == 0, self.log
        return output


def test_the_inspector_signs_in(server: Serving, home: Path, state: Path) -> None:
    port = free_port()
    callback = ("--callback-url", f"http://127.0.0.1:{port}/oauth/callback")
    read = ("--method", "tools/call", "--tool-name", "read_notes", "--tool-arg", 'paths=["Note"]', "--format", "json")
    command = (NODE, INSPECTOR, "--cli", f"{server.url}/mcp", "--transport", "http", *callback)
    client = Program([*command, *read])
    allow(client.address(), "read")
    assert json.loads(client.end())["result"]["content"][0]["text"] == TEXT
    again = Program([*command, "--method", "tools/list", "--format", "json"])  # with the token that it has
    tools = {tool["name"] for tool in json.loads(again.end())["result"]["tools"]}
    assert "read_notes" in tools
    assert "edit_note" not in tools
    assert "Ana through localhost (read only)" in names_of_grants(state)


def test_mcp_remote_signs_in(server: Serving, home: Path, state: Path) -> None:
    client = Program([NODE, REMOTE, f"{server.url}/mcp", "--allow-http", "--host", "127.0.0.1"])
    stdin, stdout = client.process.stdin, client.process.stdout
    assert stdin is not None
    assert stdout is not None

    def ask(number: int, method: str, params: dict[str, Any]) -> Any:
        stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n")
        stdin.flush()
        return json.loads(stdout.readline())["result"]

    allow(client.address(), "write")
    identity = {"name": "tests", "version": "0"}
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": identity}
    assert ask(1, "initialize", hello)["serverInfo"]["name"] == "vaultwire"
    read = ask(2, "tools/call", {"name": "read_notes", "arguments": {"paths": ["Note"]}})
    assert read["content"][0]["text"] == TEXT
    created = ask(3, "tools/call", {"name": "create_note", "arguments": {"path": "New", "content": "- seen\n"}})
    assert not created.get("isError")
    client.end()
    assert "Ana through localhost" in names_of_grants(state)


def names_of_grants(state: Path) -> set[str]:
    store = Store(str(state / "sign-in"))
    try:
        return {grant.name for grant in store.grants()}
    finally:
        store.close()
