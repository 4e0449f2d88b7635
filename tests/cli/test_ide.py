"""``vaultwire ide`` and ``serve --ide`` as processes: what is printed, what clients find, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from websockets.sync.client import ClientConnection, connect

from support.at_the_desk import Desk
from support.companion_client import CompanionClient
from support.vaults import write_vault
from vaultwire.transports.editor_socket import TOKEN_HEADER


@pytest.fixture
def vaults(tmp_path: Path) -> tuple[Path, Path]:
    return write_vault(tmp_path / "one", "=== A.md\n[[Nowhere]]\n"), write_vault(tmp_path / "two", "=== B.md\ntext\n")


@contextmanager
def running(
    tmp_path: Path, *arguments: str, files: int = 0, stderr: int | None = None
) -> Iterator[subprocess.Popen[str]]:
    """Run a command, with that many open files at most if any are named."""
    environment = {
        **os.environ,
        "CLAUDE_CONFIG_DIR": str(tmp_path / "claude"),
        "QWEN_HOME": str(tmp_path / "qwen"),
        **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(tmp_path / "files")),
        "VAULTWIRE_STATE": str(tmp_path / "state"),
        "VAULTWIRE_CACHE": str(tmp_path / "cache"),
    }
    limit = ["/bin/sh", "-c", f'ulimit -n {files}; exec "$@"', "sh"] if files else []
    command = [*limit, sys.executable, "-m", "vaultwire", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True, env=environment) as process:
        try:
            yield process
        finally:
            process.kill()


def locks(tmp_path: Path) -> dict[str, Path]:
    """Return the lock files there are, by the vault each is for."""
    found = (tmp_path / "claude" / "ide").glob("*.lock")
    return {json.loads(lock.read_text())["workspaceFolders"][0]: lock for lock in found}


def found(tmp_path: Path) -> list[Path]:
    """Return the files by which Gemini CLI and Qwen Code find an editor."""
    return [*(tmp_path / "files").glob("gemini/ide/*"), *(tmp_path / "qwen").glob("ide/*")]


def read_until(process: subprocess.Popen[str], words: str) -> str:
    assert process.stdout is not None
    return next(line for line in process.stdout if words in line)


def test_every_vault_is_an_editor_of_its_own_and_all_end_with_a_signal(
    tmp_path: Path, vaults: tuple[Path, Path]
) -> None:
    one, two = vaults
    with running(tmp_path, "ide", "--no-browser", "--vault", f"One={one}", "--vault", f"Two={two}") as process:
        for vault in (one, two):
            assert str(vault) in read_until(process, "/ide list")
            assert "http://127.0.0.1:" in read_until(process, "Open the desk")
        assert set(locks(tmp_path)) == {str(one), str(two)}
        ports = {lock.stem for lock in locks(tmp_path).values()}
        for lock in locks(tmp_path).values():
            ask(lock)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0
    assert locks(tmp_path) == {}
    # Who starts again soon after is the same to clients.
    with running(tmp_path, "ide", "--no-browser", "--vault", f"One={one}", "--vault", f"Two={two}") as process:
        read_until(process, str(two))
        read_until(process, "Open the desk")
        assert {lock.stem for lock in locks(tmp_path).values()} == ports
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0


def ask(lock: Path) -> None:
    """Come with the token that a lock file holds, and be answered."""
    headers = {TOKEN_HEADER: json.loads(lock.read_text())["authToken"]}
    with connect(f"ws://127.0.0.1:{lock.stem}/", additional_headers=headers, proxy=None, open_timeout=30) as client:
        client.send('{"jsonrpc":"2.0","id":0,"method":"ping"}')
        assert json.loads(client.recv(timeout=20))["result"] == {}


@pytest.mark.skipif(os.name == "nt", reason="there is no limit of files there")
@pytest.mark.parametrize("command", [["ide", "--no-browser"], ["serve", "--ide", "--port", "0"]])
def test_connections_that_say_nothing_keep_no_client_out(
    tmp_path: Path, vaults: tuple[Path, Path], command: list[str]
) -> None:
    with running(tmp_path, *command, "--vault", str(vaults[0]), files=128) as process:
        read_until(process, "Open the desk")
        (lock,) = locks(tmp_path).values()
        with ExitStack() as silent:
            for _ in range(200):
                silent.enter_context(socket.create_connection(("127.0.0.1", int(lock.stem)), 30))
            ask(lock)
        ask(lock)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0


@pytest.mark.parametrize("command", [["ide", "--no-browser"], ["serve", "--ide", "--port", "0"]])
def test_a_second_bridge_of_a_vault_says_that_one_runs_and_leaves_it_as_it_is(
    tmp_path: Path, vaults: tuple[Path, Path], command: list[str]
) -> None:
    one, two = vaults
    (tmp_path / "link").symlink_to(one)
    with running(tmp_path, "ide", "--no-browser", "--vault", str(one)) as first:
        read_until(first, "Open the desk")
        (lock,) = locks(tmp_path).values()
        kept = sorted(os.listdir(tmp_path / "state" / "editor"))
        with running(tmp_path, *command, "--vault", str(tmp_path / "link")) as second:
            read_until(second, "is in Claude Code's /ide list already: its bridge runs")
            if command[0] == "serve":  # it is a server without being the bridge
                read_until(second, "vaultwire serves")
                second.send_signal(signal.SIGTERM)
            assert second.wait(timeout=60) == 0
        assert list(locks(tmp_path).values()) == [lock]
        assert sorted(os.listdir(tmp_path / "state" / "editor")) == kept
        ask(lock)
        with running(tmp_path, "ide", "--no-browser", "--vault", str(two)) as other:
            read_until(other, "Open the desk")
        first.kill()  # what it held is free, however it ended
        first.wait()
    with running(tmp_path, *command, "--vault", str(one)) as again:
        read_until(again, "Open the desk")


def test_a_second_bridge_for_a_client_that_the_first_does_not_know_says_what_to_do(
    tmp_path: Path, vaults: tuple[Path, Path]
) -> None:
    command = ("ide", "--no-browser", "--vault", str(vaults[0]))
    with running(tmp_path, *command) as first:
        read_until(first, "Open the desk")
        with running(tmp_path, *command, "--gemini", stderr=subprocess.PIPE) as second:
            assert second.wait(timeout=30) == 2
            assert second.stderr is not None
            assert "runs already, without --gemini. End it, then start this again" in second.stderr.read()
        both = [option for vault in vaults for option in ("--vault", str(vault))]
        with running(tmp_path, "ide", "--no-browser", *both) as other:  # the bridge of the other vault
            read_until(other, "its bridge runs")
            read_until(other, "Open the desk")
            assert set(locks(tmp_path)) == set(map(str, vaults))


def test_a_port_that_is_somebody_elses_by_now_is_given_up_with_its_token(
    tmp_path: Path, vaults: tuple[Path, Path]
) -> None:
    found = []
    with ExitStack() as opened:
        for _ in range(2):
            with running(tmp_path, "ide", "--no-browser", "--vault", str(vaults[0])) as process:
                read_until(process, "Open the desk")
                (lock,) = locks(tmp_path).values()
                found.append((lock.stem, json.loads(lock.read_text())["authToken"]))
                process.send_signal(signal.SIGTERM)
                assert process.wait(timeout=30) == 0
            opened.enter_context(socket.create_server(("127.0.0.1", int(lock.stem))))
    (port, token), (new_port, new_token) = found
    assert port != new_port
    assert token != new_token


def test_a_folder_that_cannot_be_used_ends_all_of_it(tmp_path: Path, vaults: tuple[Path, Path]) -> None:
    (tmp_path / "claude").write_text("a file\n")
    both = [option for vault in vaults for option in ("--vault", str(vault))]
    with running(tmp_path, "ide", "--no-browser", *both, stderr=subprocess.PIPE) as process:
        assert process.wait(timeout=30) == 2
        assert process.stderr is not None
        assert "cannot use the folder" in process.stderr.read()


def test_serve_is_an_editor_too_when_asked(tmp_path: Path, vaults: tuple[Path, Path]) -> None:
    with running(tmp_path, "serve", "--ide", "--port", "0", "--vault", str(vaults[0])) as process:
        read_until(process, "vaultwire serves")
        read_until(process, "Open the desk")
        assert set(locks(tmp_path)) == {str(vaults[0])}
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0
    assert locks(tmp_path) == {}


@pytest.mark.parametrize("command", [["ide", "--no-browser"], ["serve", "--ide", "--port", "0"]])
def test_gemini_cli_and_qwen_code_find_a_vault_where_that_is_asked_for(
    tmp_path: Path, vaults: tuple[Path, Path], command: list[str]
) -> None:
    one, two = vaults
    (tmp_path / "files").mkdir()
    asked = ["--gemini", "--qwen", "--vault", f"One={one}", "--vault", f"Two={two}"]
    with running(tmp_path, *command, *asked) as process:
        for vault in vaults:
            assert str(vault) in read_until(process, "/ide list")
            assert "Gemini CLI and Qwen Code" in read_until(process, "/ide enable")
        read_until(process, "Open the desk")
        assert [file.name.split("-")[3] for file in found(tmp_path)[:2]] == [str(process.pid)] * 2
        contents = [json.loads(file.read_text()) for file in found(tmp_path)]
        assert sorted(content["workspacePath"] for content in contents) == sorted([str(one), str(two)] * 2)
        for content in contents:
            with CompanionClient(content["port"], content["authToken"]) as client:
                assert [tool["name"] for tool in client.request("tools/list")["tools"]] == ["openDiff", "closeDiff"]
        ours = next(content for content in contents if content["workspacePath"] == str(one))
        with CompanionClient(ours["port"], ours["authToken"]) as client:
            assert client.context() == []
            path = str(one / "A.md")
            with running(tmp_path, "select", "A", "--vault", str(one)) as select:
                assert "Selected A.md" in read_until(select, "A.md")
            assert [file["path"] for file in client.context()] == [path]
            with running(tmp_path, "mention", "A", "--vault", str(one)) as mention:
                assert mention.wait(timeout=30) == 1  # these clients know no mentions
            assert client.call("openDiff", filePath=path, newContent="x") == {"content": []}
            process.send_signal(signal.SIGTERM)
            assert client.hear() == ("ide/diffRejected", {"filePath": path})
            assert client.hear() is None
        assert process.wait(timeout=60) == 0
    assert found(tmp_path) == []
    assert (one / "A.md").read_text() == "[[Nowhere]]\n"


def test_nothing_is_put_where_they_look_unless_that_is_asked_for(tmp_path: Path, vaults: tuple[Path, Path]) -> None:
    (tmp_path / "files").mkdir()
    with running(tmp_path, "ide", "--no-browser", "--vault", str(vaults[0])) as process:
        read_until(process, "Open the desk")
        assert list((tmp_path / "files").iterdir()) == []
        assert not (tmp_path / "qwen").exists()
    with running(tmp_path, "ide", "--no-browser", "--qwen", "--vault", str(vaults[0])) as process:
        assert "Qwen Code, started" in read_until(process, "/ide enable")
        assert list((tmp_path / "files").iterdir()) == []
        assert len(found(tmp_path)) == 1


def test_serve_is_no_editor_to_them_alone(tmp_path: Path, vaults: tuple[Path, Path]) -> None:
    with running(tmp_path, "serve", "--gemini", "--port", "0", "--vault", str(vaults[0])) as process:
        assert process.wait(timeout=30) == 2


def test_doctor_says_what_they_find(tmp_path: Path, vaults: tuple[Path, Path]) -> None:
    (tmp_path / "files").mkdir()
    with running(tmp_path, "ide", "--no-browser", "--gemini", "--vault", str(vaults[0])) as process:
        read_until(process, "Open the desk")
        with running(tmp_path, "doctor", "--vault", str(vaults[0])) as doctor:
            assert "Gemini CLI finds Obsidian (port " in read_until(doctor, "Gemini CLI finds")
            assert str(tmp_path / "qwen") in read_until(doctor, "no vaultwire ide --qwen")


@contextmanager
def open_diff(lock: Path, path: Path) -> Iterator[ClientConnection]:
    """Lay a change of a file before the person, as Claude Code does."""
    headers = {TOKEN_HEADER: json.loads(lock.read_text())["authToken"]}
    call = {"name": "openDiff", "arguments": {"new_file_path": str(path), "new_file_contents": "x\n", "tab_name": "x"}}
    with connect(f"ws://127.0.0.1:{lock.stem}/", additional_headers=headers, proxy=None) as client:
        client.send(json.dumps({"jsonrpc": "2.0", "id": 0, "method": "tools/call", "params": call}))
        yield client


@pytest.mark.skipif(os.name == "nt", reason="a browser there is none of ours to name")
def test_a_change_that_waits_is_said_and_the_browser_opened(
    tmp_path: Path, vaults: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" >> "{tmp_path}/opened"\necho opened\n')
    browser.chmod(0o700)
    monkeypatch.setenv("BROWSER", str(browser))
    with running(tmp_path, "ide", "--vault", str(vaults[0])) as process:
        read_until(process, "Open the desk")
        (lock,) = locks(tmp_path).values()
        with open_diff(lock, vaults[0] / "A.md") as client:
            links = [read_until(process, "A change to A.md waits for you").split(": ")[1]]
            read_until(process, "opened")
            client.send('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"closeAllDiffTabs"}}')
            assert "DIFF_REJECTED" in str(client.recv(timeout=20))
        with open_diff(lock, vaults[0] / "New.md"):
            links.append(read_until(process, "A change to New.md waits for you").split(": ")[1])
            read_until(process, "opened")
    assert (tmp_path / "opened").read_text() == "".join(links)


@pytest.mark.parametrize("command", [["ide", "--no-browser"], ["serve", "--ide", "--port", "0"]])
def test_a_diff_is_accepted_at_the_desk_written_by_the_client_on_record_and_undone(
    tmp_path: Path, vaults: tuple[Path, Path], command: list[str]
) -> None:
    note = vaults[0] / "A.md"
    old = note.read_bytes()
    with running(tmp_path, *command, "--vault", str(vaults[0])) as process:
        desk = Desk(read_until(process, "Open the desk").split(": ")[1])
        (lock,) = locks(tmp_path).values()
        with open_diff(lock, note) as client:
            items = desk.wait_for(lambda item: item["state"] == "waiting")
            assert [(item["id"], item["kind"], item["state"]) for item in items] == [("p1", "diff", "waiting")]
            vault = items[0]["vault"]
            assert "error" not in desk.decide(vault=vault, id="p1", action="accept")
            assert "FILE_SAVED" in str(client.recv(timeout=20))
            assert note.read_bytes() == old
            note.write_text("x\n")
            [item] = desk.wait_for(lambda item: item["change"] or item["kind"] == "change")
        result = desk.decide(vault=vault, id=item["id"], action="undo")
        assert "error" not in result, (item, result)
        assert note.read_bytes() == old


def test_a_bridge_shows_the_link_of_the_desk_that_runs_already(tmp_path: Path, vaults: tuple[Path, Path]) -> None:
    with running(tmp_path, "serve", "--port", "0", "--vault", str(vaults[0])) as server:
        at = read_until(server, "vaultwire serves").rsplit(" ", 1)[1].strip().removesuffix("/mcp")
        with running(tmp_path, "ide", "--no-browser", "--vault", str(vaults[0])) as process:
            assert read_until(process, "Open the desk").split(": ")[1].startswith(f"{at}/desk/enter?code=")


@pytest.mark.skipif(sys.platform in {"win32", "darwin"}, reason="there is always a screen there")
def test_without_a_screen_no_browser_takes_the_terminal(
    tmp_path: Path, vaults: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("www-browser", "xdg-open"):
        browser = tmp_path / "bin" / name
        browser.parent.mkdir(exist_ok=True)
        browser.write_text("#!/bin/sh\necho taken\n")
        browser.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    with running(tmp_path, "ide", "--vault", str(vaults[0])) as process:
        read_until(process, "Open the desk")
        (lock,) = locks(tmp_path).values()
        with open_diff(lock, vaults[0] / "A.md"):
            read_until(process, "waits for you")
        process.send_signal(signal.SIGTERM)
        assert process.stdout is not None
        assert process.stdout.read() == ""


def test_doctor_says_what_claude_code_lists(
    tmp_path: Path, vaults: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    with running(tmp_path, "doctor", "--vault", str(vaults[0])) as doctor:
        read_until(doctor, "/ide does not list this vault")
        named = read_until(doctor, "looked for in")
        assert str(tmp_path / "claude" / "ide") in named
        assert str(tmp_path / ".claude" / "ide") in named
    (tmp_path / ".claude" / "ide").mkdir(parents=True)
    other = {"pid": os.getpid(), "workspaceFolders": [str(tmp_path)], "ideName": "Other editor"}
    (tmp_path / ".claude" / "ide" / "1.lock").write_text(json.dumps(other))
    with running(tmp_path, "ide", "--no-browser", "--vault", str(vaults[0])) as process:
        read_until(process, "Open the desk")
        with running(tmp_path, "doctor", "--vault", str(vaults[0])) as doctor:
            read_until(doctor, "/ide lists Obsidian (port ")
            read_until(doctor, "/ide lists Other editor (port 1)")
            read_until(doctor, "claude --ide connects to none by itself")


def test_check_prints_a_line_for_each_fault(tmp_path: Path, vaults: tuple[Path, Path]) -> None:
    with running(tmp_path, "check", "--vault", str(vaults[0])) as process:
        assert process.stdout is not None
        assert process.stdout.read().splitlines() == [
            "A.md:1:1: unresolved-link: [[Nowhere]] leads nowhere: there is no file 'Nowhere'",
            "1 problem in 1 file: 0 errors, 1 warning",
        ]
        assert process.wait(timeout=30) == 1
    with running(tmp_path, "check", "--json", "B", "--vault", str(vaults[1])) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.read()) == []
        assert process.wait(timeout=30) == 0


# A real signal at the very moment a module is looked for: what a person's Ctrl-C meets is decided by nobody's clock.
INTERRUPTED = """
import os, signal, sys

signal.signal(signal.SIGINT, signal.default_int_handler)  # as at a terminal: whatever starts the tests may ignore it
awaited = sys.argv.pop(1)

class Interrupting:
    def find_spec(self, name, *_):
        if name == awaited:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
from vaultwire.__main__ import main
sys.exit(main())
"""


@pytest.mark.skipif(os.name == "nt", reason="a process cannot send itself Ctrl-C there")
@pytest.mark.parametrize(
    "module", ["vaultwire.cli", "vaultwire.config", "vaultwire.cli.commands", "vaultwire.app.editors"]
)
def test_ctrl_c_prints_no_traceback_however_soon_it_comes(
    tmp_path: Path, vaults: tuple[Path, Path], module: str
) -> None:
    command = [sys.executable, "-c", INTERRUPTED, module, "ide", "--no-browser", "--vault", str(vaults[0])]
    environment = {**os.environ, "CLAUDE_CONFIG_DIR": str(tmp_path), "VAULTWIRE_STATE": str(tmp_path / "state")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
