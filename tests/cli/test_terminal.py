"""Names from a vault, from clients and from servers reach the terminal as text: they move no cursor and give it no orders."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import connect

from support.command_line import run_command
from support.wire import Server
from vaultwire.cli.terminal import plain, plain_data, say

if os.name == "nt":
    pytest.skip("no file can have such a name there", allow_module_level=True)

# Sets the title, clears the screen, rings, goes back to the line's beginning, begins a line of its own; C1's own CSI and
# OSC; letters that turn the direction of what follows; a byte that is no UTF-8.
CONTROLS = (*range(0x20), *range(0x7F, 0xA0))
EVIL = "A\x1b]0;x\x07\x1b[2J\rB\nAll is well.\x9b2J\x9d0;y\x9c\u202eC\u2066\x7f"
NOTE = os.fsencode(EVIL) + b"\xff.md"


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / "Good.md").write_text(f"[[No {EVIL}]] and [[Else\x1b[2J]]\n\n# X\n\n[](\x9b2J.md)\n")
    try:
        (folder / f"{EVIL}.md").write_text("[[Nowhere]]\n---\n")
        with open(os.path.join(os.fsencode(folder), NOTE), "w") as file:
            file.write("text")
    except OSError:
        pytest.skip("this file system has no such names")
    return folder


def run(*arguments: str, **environment: str) -> tuple[int, str]:
    """Return the exit code and all that was printed, which must be plain."""
    finished = run_command(*arguments, **environment)
    for output in (finished.stdout, finished.stderr):
        assert_plain(output)
    return finished.returncode, finished.stdout


def run_process(*arguments: str, **environment: str) -> tuple[int, str]:
    """Do the same in a process of its own, whose streams have the encoding that the environment says."""
    finished = subprocess.run(
        [sys.executable, "-m", "vaultwire", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env={**os.environ, "PYTHONUTF8": "1", **environment},
        check=False,
        timeout=120,
    )
    for output in (finished.stdout, finished.stderr):
        assert_plain(output.decode())
    return finished.returncode, finished.stdout.decode()


def assert_plain(text: str) -> None:
    assert [line for line in text.split("\n") if not line.isprintable()] == []


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_check_says_names_as_text(vault: Path, encoding: str) -> None:
    code, said = run_process("check", "--vault", str(vault), PYTHONIOENCODING=encoding)
    assert code == 1
    assert r"A\x1b]0;x\x07\x1b[2J\rB\nAll is well.\x9b2J" in said
    assert "\nAll is well." not in said
    code, said = run("check", "--json", "--vault", str(vault))
    assert any(EVIL in fault["path"] for fault in json.loads(said))


def test_check_of_a_note_that_is_not_there_says_its_name_as_text(vault: Path) -> None:
    assert run("check", "\x1b[2J\x9b2J", "--vault", str(vault))[0] == 1


def test_doctor_says_names_as_text(vault: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / ".claude" / "ide").mkdir(parents=True)
    lock = {"pid": os.getpid(), "workspaceFolders": [str(vault)], "ideName": EVIL}
    (home / ".claude" / "ide" / "1.lock").write_text(json.dumps(lock))
    (home / ".config" / "obsidian").mkdir(parents=True)
    known = {"vaults": {"1": {"path": str(home / EVIL), "ts": 1}}}
    (home / ".config" / "obsidian" / "obsidian.json").write_text(json.dumps(known))
    environment = {"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config")}
    code, said = run("doctor", "--vault", str(vault), **environment)
    assert code == 1
    assert "\nAll is well." not in said
    assert r"/ide lists A\x1b]0;x\x07" in said
    _, said = run("doctor", "--json", "--vault", str(vault), **environment)
    assert EVIL in json.loads(said)["editors"]["listed"][0]["name"]
    run("vaults", **environment)


def test_demo_says_names_as_text(vault: Path) -> None:
    os.unlink(os.path.join(os.fsencode(vault), NOTE))
    (vault / "Good.md").unlink()
    assert r"A\x1b" in run("demo", "--vault", str(vault))[1]


def test_a_vault_of_such_a_name_is_said_as_text(tmp_path: Path) -> None:
    folder = tmp_path / EVIL
    (folder / ".obsidian").mkdir(parents=True)
    for command in (["check"], ["doctor"], ["plugin", "install"], ["plugin", "remove"], ["mention", "A"]):
        run(*command, "--vault", str(folder))
    for client in ("cursor", "codex", "claude-code", "goose"):
        assert run("client-config", client, "--vault", str(folder))[0] == 0
    run("check", "--vault", str(folder / "none"))
    (folder / "policy.toml").write_text('"\\u001b[2J" = 1\n[clients."\\u001b[2J\\u009b"]\ndeny = ["list_links"]')
    run("policy", "check", str(folder / "policy.toml"))
    (folder / "policy.toml").write_text('[clients."\\u001b[2J\\u009b"]\ndeny = ["list_links"]')
    assert r"\x1b[2J" in run("policy", "check", str(folder / "policy.toml"))[1]
    run(
        "policy",
        "explain",
        "list_links",
        "\x9bA.md",
        "--policy",
        str(folder / "policy.toml"),
        "--client",
        "\x1b[2J\x9b",
    )


def test_the_audit_log_says_what_clients_sent_as_text(vault: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with Server(vault, "--audit", str(log)) as server:
        info = {"name": EVIL, "version": "1"}
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
        server.request("initialize", params)
        server.request("tools/call", {"name": "read_note", "arguments": {"path": EVIL}})
        server.request("tools/call", {"name": EVIL, "arguments": {EVIL: 1}})
    for action in (["tail"], ["grep", "."], ["tail", "--json"], ["verify"]):
        assert run("audit", *action, str(log))[0] == 0
    log.write_text(log.read_text().replace("request", "\x1b[2J\x9b", 1))
    assert run("audit", "verify", str(log))[0] == 1
    run("audit", "tail", str(log))


def test_ide_says_what_clients_sent_as_text(vault: Path, tmp_path: Path) -> None:
    environment = {"CLAUDE_CONFIG_DIR": str(tmp_path / "claude"), "VAULTWIRE_STATE": str(tmp_path / "state")}
    with subprocess.Popen(
        [sys.executable, "-m", "vaultwire", "ide", "--no-browser", "--debug", "--vault", str(vault)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "PYTHONUTF8": "1", **environment},
    ) as process:
        assert process.stdout is not None
        said = b""
        while b"Open the desk" not in said:
            said += process.stdout.readline()
        (lock,) = (tmp_path / "claude" / "ide").glob("*.lock")
        headers = {"x-claude-code-ide-authorization": json.loads(lock.read_text())["authToken"]}
        with connect(f"ws://127.0.0.1:{lock.stem}/", additional_headers=headers, proxy=None) as client:
            # A name with control characters is refused before anybody is shown it; what turns text around is not.
            path = str(vault / ("".join(each for each in EVIL if ord(each) not in CONTROLS) + ".md"))
            given: dict[str, Any] = {"new_file_path": path, "new_file_contents": "x\n", "tab_name": "x"}
            client.send(json.dumps({"jsonrpc": "2.0", "id": 0, "method": EVIL, "params": {}}))
            client.recv(timeout=60)
            params = {"name": "openDiff", "arguments": given}
            client.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))
            while b"waits for you" not in said:
                said += process.stdout.readline()
        process.terminate()
        said += process.stdout.read()
    assert_plain(said.decode())


@pytest.mark.parametrize(
    "asked", ["show 1", "undo 1", "call read_notes paths=New", "call list_changes change=1", "search All"]
)
def test_a_pipe_may_lead_to_a_terminal(vault: Path, tmp_path: Path, asked: str) -> None:
    where = ["--vault", str(vault)]
    state = {"VAULTWIRE_STATE": str(tmp_path / "state")}
    assert run("call", "write_note", "path=New", f"content=All {EVIL}", *where, **state)[0] == 0
    assert run(*asked.split(" "), *where, **state)[0] == 0


def test_what_people_write_stays_as_it_is() -> None:
    for text in (
        "Größe",
        "庭の本",
        "a\u3000b",
        "👩\u200d👩\u200d👧 ❤\ufe0f",
        "tab\tbed",
        "C:\\x1b",
        "שלום",
        "a\u00a0b",
    ):
        assert plain(text) == text
    assert plain("\x1b\x00\x85\u2028\udcff\u200f") == r"\x1b\x00\x85\u2028\udcff\u200f"
    assert json.loads(plain_data(json.dumps(EVIL, ensure_ascii=False))) == EVIL


def test_nothing_is_said_where_nobody_can_hear(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    monkeypatch.setattr(sys, "stdout", None)
    say("nothing")
    say("nothing", to_stderr=True)
