"""Claude Code at the editors' door: the program itself, in a terminal, over a scripted model. ``make claude-code``; no test.

What is looked at is what it asks the door, what it tells its model and what it writes, not its screen. ``VAULTWIRE_CLAUDE``
names the folder npm has installed it in, in the version of ``claude-code/package-lock.json``. Nothing leaves this computer.
"""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from support.at_the_desk import Desk
from support.vaults import write_vault
from vaultwire.skills import bundled_skills

MODULES = Path(os.environ["VAULTWIRE_CLAUDE"]).resolve()
KEY = "sk-ant-" + "0" * 40
PATIENCE = 60.0
NOTE = "# Garden\n\nSee [[Shelf]].\nSee [[Gone]].\nOak.\n"
NAME = "My garden.md"  # a blank, as in most names


class Model:
    """The API, with a model that says what it is told to: each prompt's answers, one for each request."""

    def __init__(self) -> None:
        self.scripts: dict[str, list[list[dict[str, Any]]]] = {}
        self.requests: list[dict[str, Any]] = []
        self.without_tools: list[dict[str, Any]] = []
        self._heard = threading.Condition()
        model = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's name
                pass

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                answer = model._answer(body) if self.path.startswith("/v1/messages?") else None
                self.send_response(404 if answer is None else 200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                for event in [] if answer is None else answer:
                    self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        said: list[dict[str, Any]] = [{"type": "text", "text": "Well."}]
        if not body.get("tools"):
            self.without_tools.append(body)
        else:
            with self._heard:
                self.requests.append(body)
                self._heard.notify_all()
            prompts = [(at, text) for at, message in enumerate(body["messages"]) for text in prompts_of(message)]
            for at, text in prompts:
                script = next((script for name, script in self.scripts.items() if name in text), None)
                done = sum(message["role"] == "assistant" for message in body["messages"][at:])
                if script is not None and done < len(script):
                    said = script[done]
        return list(events(said))

    def wait_for(self, words: str) -> str:
        """Wait for a request with these words; return it as text, "" if it does not come."""

        def look() -> str:
            texts = (json.dumps(request, ensure_ascii=False) for request in self.requests)
            return next((text for text in texts if words in text), "")

        with self._heard:
            return self._heard.wait_for(look, PATIENCE)


def prompts_of(message: dict[str, Any]) -> list[str]:
    content = message["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return [part["text"] for part in parts if message["role"] == "user" and part["type"] == "text"]


def events(said: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield an answer as the API streams it."""
    usage = {"input_tokens": 1, "output_tokens": 1}
    about = {
        "id": f"msg_{os.urandom(8).hex()}",
        "type": "message",
        "role": "assistant",
        "model": "model",
        "content": [],
    }
    yield {"type": "message_start", "message": {**about, "stop_reason": None, "stop_sequence": None, "usage": usage}}
    for index, block in enumerate(said):
        is_text = block["type"] == "text"
        start = (
            {"type": "text", "text": ""} if is_text else {**block, "id": f"toolu_{os.urandom(8).hex()}", "input": {}}
        )
        delta = (
            {"type": "text_delta", "text": block["text"]}
            if is_text
            else {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        )
        yield {"type": "content_block_start", "index": index, "content_block": start}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    reason = "end_turn" if said[-1]["type"] == "text" else "tool_use"
    yield {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}
    yield {"type": "message_stop"}


def tool(name: str, **arguments: Any) -> list[dict[str, Any]]:
    return [{"type": "tool_use", "name": name, "input": arguments}]


class Door:
    """``vaultwire ide``, and the lines it says."""

    def __init__(self, vault: Path, environment: dict[str, str]) -> None:
        self.lines: list[str] = []
        self._said = threading.Condition()
        command = [sys.executable, "-m", "vaultwire", "ide", "--no-browser", "--debug", "--vault", str(vault)]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as stream:
            for line in stream:
                with self._said:
                    self.lines.append(line.rstrip("\n"))
                    self._said.notify_all()

    def wait_for(self, words: str, after: int = 0) -> str | None:
        """Wait for a line with these words; None if it does not come."""
        with self._said:
            return self._said.wait_for(lambda: next((x for x in self.lines[after:] if words in x), None), PATIENCE)

    def end(self, number: int) -> int:
        """Send it a signal; return its exit code."""
        self.process.send_signal(number)
        self._reader.join()
        return self.process.wait(timeout=PATIENCE)


class Terminal:
    """Claude Code in a terminal whose screen nobody reads."""

    def __init__(self, command: list[str], folder: Path, environment: dict[str, str]) -> None:
        self._master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (50, 160))
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, cwd=folder, env=environment, start_new_session=True
        )
        os.close(slave)
        self.shown = b""
        self._news = threading.Condition()
        self._drain = threading.Thread(target=self._read)
        self._drain.start()

    def _read(self) -> None:
        """Read what it shows, or it would wait; keep the end, for a failure's report."""
        while True:
            try:
                shown = os.read(self._master, 65_536)
            except OSError:  # it has ended
                return
            with self._news:
                self.shown = (self.shown + shown)[-10_000:]
                self._news.notify_all()

    def wait_for(self, word: bytes) -> bool:
        """Wait until a word is on the screen."""
        with self._news:
            return self._news.wait_for(lambda: word in self.shown, PATIENCE)

    def submit(self, prompt: str) -> None:
        """Type a prompt, and press Enter once it is there to be seen: before, that would be taken for a part of it."""
        word = prompt.rsplit(maxsplit=1)[-1].encode()
        with self._news:
            self.shown = b""
            os.write(self._master, prompt.encode())
            assert self._news.wait_for(lambda: word in self.shown, PATIENCE), self.shown
        os.write(self._master, b"\r")

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self._drain.join()
        os.close(self._master)


@contextmanager
def claude(vault: Path, home: Path, environment: dict[str, str]) -> Iterator[Terminal]:
    (program,) = MODULES.glob("@anthropic-ai/claude-code-*/claude*")
    project = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    known = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
        "projects": {str(vault): project},
    }
    (home / ".claude").mkdir(exist_ok=True)
    (home / ".claude" / ".claude.json").write_text(json.dumps(known))
    terminal = Terminal([str(program), "--ide", "--permission-mode", "default"], vault, environment)
    try:
        yield terminal
    finally:
        terminal.end()


def decide(link: str, new: str | None) -> Desk:
    """Accept or refuse what waits, as the person does at the desk."""
    desk = Desk(link)
    [item] = desk.wait_for(lambda item: item["state"] == "waiting")
    assert [file["path"] for file in item["files"]] == [NAME]
    what = {"action": "refuse"} if new is None else {"action": "accept", "edited": {"0": new}}
    assert "error" not in desk.decide(vault=item["vault"], id=item["id"], **what)
    return desk


def private_environment(tmp_path: Path, home: Path, model: Model) -> dict[str, str]:
    """Return the environment of a client that knows nobody but the scripted model."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("CLAUDE", "ANTHROPIC"))}
    return environment | {
        "HOME": str(home),
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        "ANTHROPIC_API_KEY": KEY,
        "ANTHROPIC_BASE_URL": model.url,
        "TERM": "xterm-256color",
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
        **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9"),
        **dict.fromkeys(("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER"), "1"),
        "VAULTWIRE_STATE": str(tmp_path / "state"),
        "VAULTWIRE_CACHE": str(tmp_path / "cache"),
    }


def test_it_sees_the_vault_asks_for_changes_hears_of_faults_and_comes_back(tmp_path: Path) -> None:
    home, vault = tmp_path / "home", write_vault(tmp_path / "vault", f"=== {NAME}\n{NOTE}=== Shelf.md\nOak.\n")
    home.mkdir()
    model = Model()
    environment = private_environment(tmp_path, home, model)
    note = vault / NAME

    def edit(old: str, new: str) -> list[list[dict[str, Any]]]:
        changes = tool("Edit", file_path=str(note), old_string=old, new_string=new)
        return [tool("Read", file_path=str(note)), changes, [{"type": "text", "text": "Done."}]]

    model.scripts = {
        "mend the link": edit("See [[Shelf]]", "New line.\n\nSee [[Nowhere]]"),
        "cut the oak": edit("Oak.", "Cut."),
    }
    door = Door(vault, environment)
    try:
        assert door.wait_for("Open the desk")
        with claude(vault, home, environment) as terminal:
            assert door.wait_for("Parsed message: ide_connected"), terminal.shown[-3000:]
            assert door.wait_for("Parsed message: tools/list")

            for command in (["select", f"{NAME}#L3-L4"], ["mention", f"{NAME}#L5"]):
                subprocess.run(
                    [sys.executable, "-m", "vaultwire", *command, "--vault", str(vault)], env=environment, check=True
                )
            assert door.wait_for("Sent at-mention")
            assert terminal.wait_for(b"selected"), terminal.shown
            assert terminal.wait_for(b"#L5"), terminal.shown  # else the prompt could be typed before the mention
            terminal.submit(" mend the link")
            first = model.wait_for("mend the link")
            assert f"The user selected the lines 3 to 4 from {note}" in first
            assert r"5\tOak." in first  # the line that was mentioned, and none besides
            assert r"1\t# Garden" not in first

            page = str(door.wait_for("waits for you")).split(": ")[1]
            edited = NOTE.replace("See [[Shelf]]", "Mine.\n\nSee [[Nowhere]]")
            desk = decide(page, edited)
            told = model.wait_for("<new-diagnostics>")
            assert note.read_text() == edited
            assert "The user modified your proposed changes" in told
            news = told.split("<new-diagnostics>")[1].split("</new-diagnostics>")[0]
            assert "[Line 5:5] [[Nowhere]] leads nowhere" in news
            assert "[[Gone]]" not in news  # it was there before, on another line

            [made] = desk.wait_for(lambda item: item["change"] or item["kind"] == "change")
            assert (made["client"], made["tool"]) == ("claude-code", "openDiff")

            so_far = len(door.lines)
            terminal.submit("cut the oak")
            page = str(door.wait_for("A change to", so_far)).split(": ")[1]
            decide(page, None)
            assert door.wait_for("call close_tab", so_far)
            assert note.read_text() == edited

            assert door.end(signal.SIGTERM) == 0
            assert list((home / ".claude" / "ide").iterdir()) == []
            door = Door(vault, environment)
            assert door.wait_for("Parsed message: ide_connected")
            terminal.submit("still there?")
            assert model.wait_for("still there?"), terminal.shown
    finally:
        door.end(signal.SIGKILL)
        model.close()


def results_of(request: dict[str, Any]) -> list[str]:
    """Return what the model is told of its calls, each as one text."""
    found: list[str] = []
    for message in request["messages"]:
        for part in message["content"] if isinstance(message["content"], list) else []:
            if part["type"] == "tool_result":
                content = part["content"]
                found.append(content if isinstance(content, str) else "\n".join(each["text"] for each in content))
    return found


def test_its_model_gets_our_text_of_a_note_a_list_and_an_error(tmp_path: Path) -> None:
    home, vault = tmp_path / "home", write_vault(tmp_path / "vault", f"=== {NAME}\n{NOTE}=== Shelf.md\nOak.\n")
    home.mkdir()
    model = Model()
    (program,) = MODULES.glob("@anthropic-ai/claude-code-*/claude*")
    server = {"command": sys.executable, "args": ["-m", "vaultwire", "stdio", "--vault", str(vault)]}
    config = tmp_path / "servers.json"
    config.write_text(json.dumps({"mcpServers": {"notes": server}}))
    calls: tuple[tuple[str, dict[str, Any]], ...] = (
        ("read_notes", {"paths": ["My garden"]}),
        ("read_note", {"path": "My garden"}),
        ("find_notes", {}),
        ("read_notes", {"paths": ["Nowhere"]}),
    )
    script = [tool(f"mcp__notes__{name}", **arguments) for name, arguments in calls]
    model.scripts = {"read my notes": [*script, [{"type": "text", "text": "Done."}]]}
    command = [str(program), "-p", "read my notes", "--mcp-config", str(config), "--strict-mcp-config"]
    environment = private_environment(tmp_path, home, model)
    try:
        ended = subprocess.run(
            [*command, "--allowedTools", "mcp__notes", "--tools", ""],
            env=environment | {"ENABLE_TOOL_SEARCH": "false"},
            cwd=vault,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=2 * PATIENCE,
            check=False,
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
        note, unlisted, listed, missing = results_of(model.requests[-1])
        assert note.startswith(NOTE)  # as it is, and not in JSON
        assert "etag " in note
        assert "No such tool" in unlisted  # the client calls what is listed; the others are run by more_tools
        assert listed.startswith("2 notes found:")
        assert "FILE_NOT_FOUND: " in missing
    finally:
        model.close()


def test_it_finds_the_skills_that_are_installed_and_its_model_reads_one(tmp_path: Path) -> None:
    home, vault = tmp_path / "home", write_vault(tmp_path / "vault", "=== Shelf.md\nOak.\n")
    (home / ".claude").mkdir(parents=True)
    model = Model()
    environment = private_environment(tmp_path, home, model)
    install = [sys.executable, "-m", "vaultwire", "install", "claude-code", "--skills"]
    subprocess.run(install, env=environment, cwd=vault, stdout=subprocess.DEVNULL, check=True)
    (program,) = MODULES.glob("@anthropic-ai/claude-code-*/claude*")
    model.scripts = {"tidy my notes": [tool("Skill", skill="vaultwire-tidy"), [{"type": "text", "text": "Done."}]]}
    try:
        ended = subprocess.run(
            [str(program), "-p", "tidy my notes", "--allowedTools", "Skill"],
            env=environment,
            cwd=vault,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=2 * PATIENCE,
            check=False,
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
        first, last = (json.dumps(model.requests[at], ensure_ascii=False) for at in (0, -1))
        for skill in bundled_skills():
            assert f"{skill.name}: {str(skill.frontmatter['description'])[:40]}" in first
        assert "# Tidy links and tags" not in first
        assert "# Tidy links and tags" in last
    finally:
        model.close()


def test_its_sessions_begin_with_memory_and_end_with_an_offer(tmp_path: Path) -> None:
    home = tmp_path / "home"
    vault = write_vault(tmp_path / "vault", "=== Memory/shop.md\n- 2026-01-02 The database is at port 5433. ^m1\n")
    (home / ".claude").mkdir(parents=True)
    folder = tmp_path / "shop"
    folder.mkdir()
    model = Model()
    environment = private_environment(tmp_path, home, model)
    install = [sys.executable, "-m", "vaultwire", "install", "claude-code", "--hooks", "--vault", str(vault)]
    subprocess.run(install, env=environment, cwd=vault, stdout=subprocess.DEVNULL, check=True)
    (program,) = MODULES.glob("@anthropic-ai/claude-code-*/claude*")

    def ask(*words: str) -> None:
        ended = subprocess.run(
            [str(program), "-p", *words],
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=2 * PATIENCE,
            check=False,
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr

    try:
        ask("From now on, run the linter first.")
        first, last = (json.dumps(model.requests[at], ensure_ascii=False) for at in (0, -1))
        assert "- shop (2026-01-02): The database is at port 5433." in first
        assert "Call remember for what should last" not in first
        assert "Call remember for what should last" in last
        assert len(model.requests) == 2  # offered once, and then the turn ends

        ask("--continue", "/compact")
        asked = [json.dumps(request["messages"][-1]) for request in (*model.requests[2:], *model.without_tools)]
        kept = json.dumps("in the summary:\n- From now on, run the linter first.")[1:-1]
        assert any(kept in text for text in asked)

        ask("--continue", "And now?")
        assert "The database is at port 5433." in json.dumps(model.requests[-1])
        told = json.dumps(model.requests[-1])
        assert "Said before the conversation was compacted, and not in memory yet" in told
    finally:
        model.close()
