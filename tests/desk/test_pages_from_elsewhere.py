"""A page from elsewhere in a real browser, which knows every secret and tries every door of the editors' socket."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from support.chromium import Tab, in_browser, open_tab
from support.editor_door import EditorDoor
from support.vaults import write_vault
from vaultwire.desk.plugin_endpoint import KEY_HEADER

pytestmark = in_browser

TRY_SOCKET = """new Promise((done) => {
  const socket = new WebSocket(%s, %s);
  socket.onopen = () => done("open");
  socket.onerror = () => done("refused");
})"""
TRY_FETCH = "fetch(%s, %s).then((answer) => answer.type + answer.status, () => 'refused')"


class Blank(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Say nothing."""


@pytest.fixture
def elsewhere() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Blank) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.fixture
def tab(elsewhere: str, tmp_path: Path) -> Iterator[Tab]:
    with open_tab() as opened:
        opened.go(elsewhere)
        yield opened


def try_socket(tab: Tab, url: str, *protocols: str) -> object:
    return tab.evaluate(TRY_SOCKET % (json.dumps(url), json.dumps(protocols)))


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "vault", "=== Plan.md\none\n")


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_no_page_from_elsewhere_comes_in_whatever_it_knows(tab: Tab, vault: Path, name: str) -> None:
    door = EditorDoor(vault)
    door.join()
    try:
        here = f"{name}:{door.port}"
        for path in (
            "/",
            "/mcp",
            f"/plugin?key={door.plugin.token}",
            f"/command?do=mention&note=Plan&key={door.commands.token}",
        ):
            assert try_socket(tab, f"ws://{here}{path}") == "refused"
            assert try_socket(tab, f"ws://{here}{path}", "mcp") == "refused"
        command = json.dumps(f"http://{here}/command?do=mention&note=Plan")
        header = {"headers": {KEY_HEADER: door.commands.token}}
        assert tab.evaluate(TRY_FETCH % (command, json.dumps(header))) == "refused"
        assert (
            tab.evaluate(TRY_FETCH % (command, json.dumps({"mode": "no-cors"}))) == "opaque0"
        )  # sent, and of no effect
        assert (door.mentions, door.selections, door.link.is_open) == ([], [], False)
        assert len(door.bridge.peers) == 1
    finally:
        door.close()


def test_the_same_page_comes_in_once_its_origin_may(tab: Tab, vault: Path, elsewhere: str) -> None:
    door = EditorDoor(vault, elsewhere)
    try:
        assert try_socket(tab, f"ws://127.0.0.1:{door.port}/plugin?key={door.plugin.token}") == "open"
    finally:
        door.close()
