"""``vaultwire demo``: show what a client and a server say to each other. Also the client, which ``doctor`` uses, too.

Without options it uses a sample vault in a temporary folder. On the person's own vault it only reads, tries a write that
must be refused, and proves that not a byte changed.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import IO, Any, Self

from vaultwire import __version__
from vaultwire.app import engine
from vaultwire.cli.command import SETTING_UP, command
from vaultwire.cli.terminal import say, say_styled
from vaultwire.config import CACHE_VARIABLE, STATE_VARIABLE, Config, ConfigError, make_config
from vaultwire.installation import running_command

# ---------------------------------------------------------------------- the client
#
# A small MCP client: it starts a real stdio server and measures its answers, for ``demo`` and ``doctor``.

# The newest revision with a handshake, which most clients use today.
REVISION = "2025-11-25"


class ServerEndedError(Exception):
    """The server ended before it answered; ``exit_code`` and its stderr say why."""

    def __init__(self, exit_code: int, errors: str) -> None:
        super().__init__(f"the server ended with exit code {exit_code}: {errors or '(no output on stderr)'}")
        self.exit_code = exit_code


class StdioClient:
    """One server process. A context manager: at its end the server ends normally."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        """``environment`` is added to this process's own."""
        self._started = time.perf_counter()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **(environment or {})},
        )
        self._ids = itertools.count(1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def kill(self) -> None:
        """End the server at once; a signal to end would have it finish loading first."""
        self._process.kill()

    def initialize(self) -> tuple[dict[str, Any], float]:
        """Do the handshake; return its result, and the milliseconds from spawn to that answer."""
        client = {"name": "vaultwire", "version": __version__}
        result = self._request("initialize", {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": client})
        milliseconds = (time.perf_counter() - self._started) * 1000
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return result, milliseconds

    def request(self, method: str, params: dict[str, Any]) -> tuple[dict[str, Any], float]:
        """Send a request; return its result and the milliseconds it took. Raises ServerEndedError."""
        started = time.perf_counter()
        result = self._request(method, params)
        return result, (time.perf_counter() - started) * 1000

    def call(self, tool: str, arguments: dict[str, Any]) -> tuple[dict[str, Any], float]:
        """Call a tool; return what ``request`` returns."""
        return self.request("tools/call", {"name": tool, "arguments": arguments})

    def _request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        id_ = next(self._ids)
        self._send({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})
        answer: dict[str, Any] = {}
        while answer.get("id") != id_:  # notifications may come before the answer
            line = _pipe(self._process.stdout).readline()
            if not line:
                self._fail()
            answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        result: dict[str, Any] = answer["result"]
        return result

    def _send(self, message: dict[str, Any]) -> None:
        pipe = _pipe(self._process.stdin)
        try:
            pipe.write(json.dumps(message).encode() + b"\n")
            pipe.flush()
        except OSError:
            self._fail()

    def _fail(self) -> None:
        _, errors = self._process.communicate()
        raise ServerEndedError(self._process.returncode, errors.decode(errors="replace").strip())


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None  # Popen was asked for it
    return pipe


# Of a long answer only so many lines and characters are shown.
_MAX_LINES = 16
_MAX_WIDTH = 100

_SAMPLE = {
    "Home.md": "# Home\n\nWhat I am up to: [[Garden plan]] and [[Reading list]]. #home\n",
    "Projects/Garden plan.md": "---\ntags: [project, garden]\nstatus: growing\n---\n# Garden plan\n\n"
    "Tomatoes go to the south wall; they need sun.\nBasil beside the tomatoes, mint far away from everything.\n\n"
    "## Next\n- [ ] buy seeds\n- [x] build the raised bed\n",
    "Projects/Kitchen shelf.md": "---\ntags: [project]\n---\n# Kitchen shelf\n\nOak, 120 cm. Ask Ana for her drill.\n",
    "Journal/2026-05-02.md": "Planted the first tomatoes. Ana came by with basil. #garden/log\n",
    "Journal/2026-05-03.md": "Rain all day. Read two chapters.\n",
    "Reading list.md": "# Reading list\n\n- The Garden Against Time\n- 庭の本\n",
}


_EDIT = {"action": "append", "section": "Next", "content": "- [ ] water the tomatoes"}


def _add_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--vault", metavar="PATH", help="talk about this vault instead, read-only")
    group.add_argument(
        "--keep", metavar="FOLDER", help="only write the sample vault into this new folder, to practise with"
    )


@command(
    "demo",
    SETTING_UP,
    "see a client and a server talk about a sample vault",
    "vaultwire demo",
    "vaultwire demo --vault ~/Notes",
    "vaultwire demo --keep ~/Practice",
    options=_add_options,
)
def run(options: argparse.Namespace) -> int:
    """Run the demo and return the exit code. Raises ConfigError."""
    if options.keep:
        return _keep(options.keep)
    if options.vault:
        return _on_own_vault(make_config(options.vault, read_only=True))
    with tempfile.TemporaryDirectory(prefix="vaultwire-demo-") as folder:
        vault = os.path.join(folder, "vault")
        write_sample(vault)
        say(f"A sample vault of {len(_SAMPLE)} notes in {vault}")
        # The index and the journal are removed with the sample.
        kept = {CACHE_VARIABLE: os.path.join(folder, "cache"), STATE_VARIABLE: os.path.join(folder, "state")}
        with _start_client("--vault", vault, environment=kept) as client:
            _open(client)
            _call(client, "search_notes", query="tomatoes")
            _call(client, "read_notes", paths=["[[Garden plan]]"])
            _call(client, "edit_note", path="Garden plan", edits=[_EDIT])
            _call(client, "read_notes", paths=["Garden plan"], section="Next")
            _call(client, "move_notes", paths=["Garden plan"], to="Archive/Garden 2026")
            _call(client, "read_notes", paths=["Home"])
            _call(client, "delete_note", path="Kitchen shelf")
            changes = _call(client, "list_changes")["structuredContent"]["changes"]
            _call(client, "undo_changes", changes=[changes[0]["change"]])
            _call(client, "read_notes", paths=["Kitchen shelf"])
        say("", "Done. Every change was recorded and could be undone; the sample vault is removed now.")
    say("Next: vaultwire install claude-desktop --vault PATH puts vaultwire into your client's settings.")
    return 0


def _keep(given: str) -> int:
    """Write the sample vault into a new or empty folder, and return the exit code. Raises ConfigError."""
    folder = os.path.abspath(os.path.expanduser(given))
    try:
        if os.path.lexists(folder) and (not os.path.isdir(folder) or os.listdir(folder)):
            raise ConfigError(f"{folder!r} is there and is not an empty folder; name a new one")
        write_sample(folder)
    except OSError as error:
        raise ConfigError(f"cannot write the sample vault: {error}") from None
    say(
        f"A sample vault of {len(_SAMPLE)} notes is in {folder}. Try anything with it; delete the folder when you are done."
    )
    return 0


def write_sample(folder: str) -> None:
    """Write the sample vault into an empty folder."""
    for path, text in _SAMPLE.items():
        target = os.path.join(folder, *path.split("/"))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "x", encoding="utf-8", newline="\n") as file:
            file.write(text)


def _on_own_vault(config: Config) -> int:
    before = engine.fingerprint_vault(config)
    say(f"Your vault {config.vault}: {before.files} files. Read-only: nothing in it will change.")
    with _start_client("--vault", config.vault, "--read-only") as client:
        _open(client)
        listing = _call(client, "find_notes", limit=1000)
        notes = [note["path"] for note in listing["structuredContent"]["notes"]]
        if notes:
            path = notes[len(notes) // 2]
            name = path.rpartition("/")[2].removesuffix(".md")
            _call(client, "search_notes", query=max(name.replace('"', " ").split() or [name], key=len), limit=3)
            _call(client, "read_notes", paths=[path])
            # This call must fail: a model cannot change a vault that is read-only.
            _call(client, "create_note", path=path, content="This must never be written.", if_exists="overwrite")
    after = engine.fingerprint_vault(config)
    say("")
    if before != after:
        say(
            f"The vault CHANGED during the demo: {before.files} files before, {after.files} after. Did another program write?"
        )
        return 1
    say(f"Nothing changed: {after.files} files, the same fingerprint before and after ({after.digest}).")
    return 0


def _start_client(*options: str, environment: dict[str, str] | None = None) -> StdioClient:
    return StdioClient([*running_command(), "stdio", "--structured", *options], environment)


def _open(client: StdioClient) -> None:
    hello, milliseconds = client.initialize()
    server = hello["serverInfo"]
    _show_request("initialize", milliseconds, "from spawn to answer")
    _show_answer(f"{server['name']} {server['version']}, protocol {hello['protocolVersion']}")
    tools, milliseconds = client.request("tools/list", {})
    _show_request("tools/list", milliseconds)
    _show_answer(", ".join(tool["name"] for tool in tools["tools"]))


def _call(client: StdioClient, tool: str, **arguments: Any) -> dict[str, Any]:
    result, milliseconds = client.call(tool, arguments)
    shown = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    _show_request(f"{tool}({shown})", milliseconds)
    _show_answer("\n".join(block["text"] for block in result["content"]), failed=result.get("isError", False))
    return result


def _show_request(text: str, milliseconds: float, remark: str = "") -> None:
    time = f"{milliseconds:.1f} ms"
    say("")
    say_styled((f"→ {text}", "1"), ("  ", ""), (f"{time} {remark}".strip(), "2"))


def _show_answer(text: str, *, failed: bool = False) -> None:
    lines = text.strip("\n").split("\n")
    if len(lines) > _MAX_LINES:
        left_out = len(lines) - _MAX_LINES + 1
        lines = [*lines[: _MAX_LINES - 2], f"… {left_out} lines …", lines[-1]]
    for line in lines:
        short = line if len(line) <= _MAX_WIDTH else line[: _MAX_WIDTH - 1] + "…"
        say_styled(("  ", ""), ("│ ", "2"), (short, "31" if failed else ""))
