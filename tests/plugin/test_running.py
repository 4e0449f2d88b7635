"""``vaultwire ide`` itself with an assistant, a plugin and commands, each by the file that tells it where to go."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from support.vaults import write_vault
from vaultwire.desk.plugin_endpoint import OBSIDIAN
from vaultwire.transports.editor_socket import TOKEN_HEADER
from vaultwire.transports.lock_file import read_endpoint

PATIENCE = 60.0


class Running(NamedTuple):
    vault: Path
    editor: Path  # the folder of link files
    assistant: Callable[[], ClientConnection]
    plugin: Callable[[], ClientConnection]
    command: Callable[..., subprocess.CompletedProcess[str]]
    process: subprocess.Popen[str]


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    vault = write_vault(tmp_path / "vault", "=== Plan.md\none\ntwo\n=== My Note.md\na\nb\n")
    environment = {
        **os.environ,
        "CLAUDE_CONFIG_DIR": str(tmp_path / "claude"),
        "VAULTWIRE_STATE": str(tmp_path / "state"),
        "VAULTWIRE_CACHE": str(tmp_path / "cache"),
    }
    command = [sys.executable, "-m", "vaultwire"]
    editor = tmp_path / "state" / "editor"
    with (
        subprocess.Popen(
            [*command, "ide", "--vault", str(vault), "--no-browser"], stdout=subprocess.PIPE, text=True, env=environment
        ) as process,
        ExitStack() as opened,
    ):
        assert process.stdout is not None
        assert "/ide list" in process.stdout.readline()

        def assistant() -> ClientConnection:
            (lock,) = (tmp_path / "claude" / "ide").glob("*.lock")
            token = json.loads(lock.read_text())["authToken"]
            made = opened.enter_context(
                connect(f"ws://127.0.0.1:{lock.stem}/", additional_headers={TOKEN_HEADER: token}, proxy=None)
            )
            initialize = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "claude-code"}}
            send(made, jsonrpc="2.0", id=0, method="initialize", params=initialize)
            send(made, jsonrpc="2.0", id=1, method="tools/list")
            hear(made, 0)
            hear(made, 1)
            return made

        def plugin() -> ClientConnection:
            link = read_endpoint(str(editor), "plugin", str(vault))
            assert link is not None
            made = opened.enter_context(
                connect(f"ws://127.0.0.1:{link.port}/plugin?key={link.token}", origin=Origin(OBSIDIAN), proxy=None)
            )
            assert hear(made)["answer"] == link.answer
            assert hear(made) == {"type": "items", "items": [], "waiting": 0}
            return made

        def run(*arguments: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                [*command, *arguments, "--vault", str(vault)],
                capture_output=True,
                text=True,
                env=environment,
                check=False,
            )

        yield Running(vault, editor, assistant, plugin, run, process)
        process.kill()


def send(to: ClientConnection, **message: Any) -> None:
    to.send(json.dumps(message))


def hear(of: ClientConnection, id_: int | None = None) -> Any:
    """Return the next message, but what a plugin is told of what is shared: that comes when it comes."""
    while (message := json.loads(of.recv(timeout=PATIENCE))).get("type") == "shared":
        continue
    assert message.get("id") == id_, message
    return message


@pytest.mark.skipif(os.name == "nt", reason="SIGTERM ends a process unasked there")
def test_assistant_plugin_and_commands_find_one_another(running: Running) -> None:
    nobody = running.command("mention", "Plan")
    assert (nobody.returncode, "no assistant is connected" in nobody.stderr) == (1, True)
    assistant, plugin = running.assistant(), running.plugin()
    send(plugin, type="state", path="Plan.md", text="two", start=[1, 0], end=[1, 3], tabs=["Plan.md"])
    told = hear(assistant)
    assert (told["method"], told["params"]["text"]) == ("selection_changed", "two")
    assert told["params"]["filePath"] == str(running.vault / "Plan.md")
    shared = {"type": "shared", "clients": ["Claude Code"], "path": "Plan.md"}
    while json.loads(plugin.recv(timeout=PATIENCE)) != shared:  # it is not said before the bridge has looked
        continue

    done = running.command("mention", "My Note#L1-L2")
    assert (done.returncode, done.stdout) == (0, "Mentioned My Note.md, lines 1 to 2\n"), done.stderr
    assert hear(assistant)["params"] == {"filePath": f'"{running.vault}/My Note.md#L1-2"'}
    send(plugin, type="mention", path="Plan.md", first=2, last=2)
    assert hear(plugin) == {"type": "mentioned", "outcome": "sent"}
    assert hear(assistant)["params"] == {"filePath": str(running.vault / "Plan.md"), "lineStart": 1, "lineEnd": 1}
    done = running.command("select", "My Note")
    assert (done.returncode, done.stdout) == (0, "Selected My Note.md\n"), done.stderr
    assert hear(assistant)["params"]["filePath"] == str(running.vault / "My Note.md")

    place = str(running.vault / "Plan.md")
    call = {"name": "openFile", "arguments": {"filePath": place, "startLine": 2}}
    send(assistant, jsonrpc="2.0", id=2, method="tools/call", params=call)
    assert hear(plugin) == {"type": "open", "path": "Plan.md", "line": 2}
    assert hear(assistant, 2)["result"]["content"][0]["text"] == f"Opened file: {place}"
    diff = {"old_file_path": place, "new_file_path": place, "new_file_contents": "one\n2\n", "tab_name": "tab"}
    send(assistant, jsonrpc="2.0", id=3, method="tools/call", params={"name": "openDiff", "arguments": diff})
    (change,) = hear(plugin)["items"]
    send(plugin, type="decide", id=change["id"], action="accept", edited={"0": "one\nzwei\n"})
    texts = [item["text"] for item in hear(assistant, 3)["result"]["content"]]
    assert texts == ["FILE_SAVED", "one\nzwei\n"]
    assert (running.vault / "Plan.md").read_text() == "one\ntwo\n"  # the assistant writes

    running.process.send_signal(signal.SIGTERM)
    assert running.process.wait(PATIENCE) == 0
    assert not [name for name in os.listdir(running.editor) if name.startswith(("plugin-", "commands-"))]
    assert running.command("mention", "Plan").returncode == 1
