"""``vaultwire install``, ``--undo`` and ``client-config``: what a person sees, and what is in a client's file then."""

from __future__ import annotations

import base64
import json
import os
import stat
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
import yaml

from vaultwire.__main__ import main
from vaultwire.client_setup.clients import CLIENTS

KEY = "vw_" + "k" * 40
ADDRESS = "https://notes.example.org"
WRITABLE = [name for name, client in CLIENTS.items() if client.is_written]
# As Claude Code writes it: two spaces, no line end at the end, its own history beside the servers.
CLAUDE_CODE = """{
  "numStartups": 12,
  "tipsHistory": {},
  "projects": {
    "/home/ana/site": {
      "allowedTools": [],
      "mcpServers": {},
      "history": [{"display": "what is \\"mcpServers\\": {?"}]
    }
  },
  "mcpServers": {
    "github": {
      "type": "http",
      "url": "https://api.example.com/mcp",
      "headers": {"Authorization": "Bearer ghp_secret"}
    }
  },
  "userID": "0123"
}"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home in which every client was started once, and a vault."""
    home = tmp_path / "home"
    for variable in (
        "XDG_CONFIG_HOME",
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "COPILOT_HOME",
        "CLINE_DIR",
        "VAULTWIRE_VAULT",
    ):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("VAULTWIRE_STATE", str(tmp_path / "state"))
    (home / "Notes").mkdir(parents=True)
    monkeypatch.chdir(home)
    for client in CLIENTS.values():
        for sign in client.signs.linux:
            if not sign.endswith(".json"):
                os.makedirs(
                    sign.replace("{XDG_CONFIG_HOME:~/.config}", "~/.config")
                    .split(":")[-1]
                    .rstrip("}")
                    .replace("~", str(home)),
                    exist_ok=True,
                )
    return home


def install(client: str, *options: str) -> int:
    return main(["install", client, "--vault", "Notes", *options])


def file_of(client: str, home: Path) -> Path:
    from vaultwire.cli.clients import this_system  # noqa: PLC0415
    from vaultwire.client_setup.clients import find_file  # noqa: PLC0415

    return Path(find_file(CLIENTS[client], "user", this_system()).path)


def servers(client: str, text: str) -> dict[str, Any]:
    """Return the entries in a client's file."""
    form = CLIENTS[client].form
    data = tomllib.loads(text) if form == "toml" else json.loads(text)
    found: dict[str, Any] = data[CLIENTS[client].keys[0]]
    return found


def started_by(entry: dict[str, Any]) -> list[str]:
    command = entry["cmd"] if "cmd" in entry else entry["command"]
    return command if isinstance(command, list) else [command, *entry["args"]]


@pytest.mark.parametrize("client", WRITABLE)
def test_each_client_gets_an_entry_and_undo_leaves_nothing(
    client: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert install(client, "--dry-run") == 0
    assert not file_of(client, home).exists()
    assert install(client) == 0
    said = capsys.readouterr().out
    assert f"Written: {file_of(client, home)}" in said
    assert f"Undo: vaultwire install {client} --undo" in said
    assert CLIENTS[client].then in said
    entry = servers(client, file_of(client, home).read_text())["vaultwire"]
    assert started_by(entry)[-3:] == ["stdio", "--vault", str(home / "Notes")]
    assert main(["client-config", client, "--vault", "Notes"]) == 0
    assert servers(client, capsys.readouterr().out)["vaultwire"] == entry
    written = file_of(client, home).stat()
    assert install(client) == 0
    assert "Nothing to change" in capsys.readouterr().out
    assert file_of(client, home).stat().st_mtime_ns == written.st_mtime_ns
    assert main(["install", client, "--undo"]) == 0
    assert not file_of(client, home).exists()
    assert main(["install", client, "--undo"]) == 0
    assert "Nothing to undo" in capsys.readouterr().out


def test_the_entry_starts_a_server(home: Path) -> None:
    assert install("opencode") == 0
    command = started_by(servers("opencode", file_of("opencode", home).read_text())["vaultwire"])
    ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    answered = subprocess.run([*command], input=ping, capture_output=True, text=True, check=True)
    assert json.loads(answered.stdout) == {"jsonrpc": "2.0", "id": 1, "result": {}}


def test_claude_codes_own_file_keeps_every_other_byte(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = home / ".claude.json"
    path.write_text(CLAUDE_CODE)
    path.chmod(0o640)
    assert install("claude-code", "--read-only") == 0
    said = capsys.readouterr().out
    assert '+    "vaultwire": {' in said
    assert "ghp_secret" not in said
    new = path.read_text()
    before, _, after = CLAUDE_CODE.partition('    }\n  },\n  "userID"')
    assert new.startswith(before)
    assert new.endswith('  },\n  "userID"' + after)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert servers("claude-code", new).keys() == {"github", "vaultwire"}
    copy = Path(said.split("as it was before: ")[1].splitlines()[0])
    assert copy.read_text() == CLAUDE_CODE
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert main(["install", "claude-code", "--undo"]) == 0
    assert path.read_text() == CLAUDE_CODE
    assert not copy.exists()


def test_undo_after_later_changes_takes_out_only_our_entry(home: Path) -> None:
    path = home / ".claude.json"
    path.write_text(CLAUDE_CODE)
    assert install("claude-code") == 0
    path.write_text(path.read_text().replace('"numStartups": 12', '"numStartups": 13'))
    assert main(["install", "claude-code", "--undo"]) == 0
    assert path.read_text() == CLAUDE_CODE.replace('"numStartups": 12', '"numStartups": 13')


def test_undo_of_a_replaced_entry_brings_the_old_one_back(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = file_of("cursor", home)
    old = '{"mcpServers": {"vaultwire": {"command": "old", "disabled": true, "autoApprove": ["a"]}}}'
    path.write_text(old)
    assert install("cursor") == 0
    said = capsys.readouterr().out
    assert '\n-      "command": "old",' in said
    assert str(home / "Notes") in said
    entry = servers("cursor", path.read_text())["vaultwire"]
    assert (entry["disabled"], entry["autoApprove"]) == (True, ["a"])
    path.write_text(path.read_text() + "\n")
    assert main(["install", "cursor", "--undo"]) == 0
    assert json.loads(path.read_text()) == json.loads(old)


def test_of_a_file_of_one_line_only_our_entry_is_shown(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = '{"mcpServers":{"a":{"command":"x","env":{"TOKEN":"sk-quetzal"}}}}'
    file_of("cursor", home).write_text(text)
    assert install("cursor") == 0
    assert main(["install", "cursor", "--undo"]) == 0
    said = capsys.readouterr().out
    assert '\n+    "vaultwire": {' in said
    assert '\n-    "vaultwire": {' in said
    assert "sk-quetzal" not in said
    assert file_of("cursor", home).read_text() == text


SECRET = "quetzal-9"


@pytest.mark.parametrize(
    ("client", "text"),
    [
        # A comma comes behind the line of another server, or of another setting.
        ("cursor", '{\n  "mcpServers": {\n    "a": {"command": "x", "env": {"T": "%s"}}\n  }\n}\n'),
        ("cursor", '{\n  "token": "%s"\n}\n'),
        # What a person had put into the entry that is replaced.
        ("cursor", '{\n  "mcpServers": {\n    "vaultwire": {"command": "x", "env": {"T": "%s"}}\n  }\n}\n'),
        ("cursor", '{\n  "mcpServers": {\n    "vaultwire": {"url": "https://x/?key=%s"}\n  }\n}\n'),
        ("cursor", '{\n  "mcpServers": {\n    "vaultwire": {"url": "https://x", "headers": {"X-Key": "%s"}}\n  }\n}\n'),
        ("cursor", '{"mcpServers": {"vaultwire": {"command": "npx", "args": ["-H", "A: Bearer %s"]}}}'),
        ("codex", '[mcp_servers.vaultwire]\nurl="https://x"\nhttp_headers={K="%s"}\n'),
    ],
)
def test_no_secret_of_the_file_is_shown(client: str, text: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file_of(client, home).write_text(text % SECRET)
    for options in (["--vault", "Notes", "--dry-run"], ["--vault", "Notes"], ["--undo"]):
        assert main(["install", client, *options]) == 0
        said = capsys.readouterr()
        assert any(line[:1] in "+-" for line in said.out.splitlines())
        assert SECRET not in said.out + said.err
    assert file_of(client, home).read_text() == text % SECRET


def test_undo_keeps_the_copy_if_the_client_has_lost_its_file(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = file_of("cursor", home)
    path.write_text('{"mine": 1}')
    assert install("cursor") == 0
    path.write_text("{}")
    capsys.readouterr()
    assert main(["install", "cursor", "--undo"]) == 0
    said = capsys.readouterr().out
    assert "Nothing to undo" in said
    assert Path(said.split("before the installation: ")[1].strip()).read_text() == '{"mine": 1}'


def test_an_installation_waits_for_another_one(home: Path) -> None:
    from vaultwire.client_setup import installing  # noqa: PLC0415

    file_of("cursor", home).write_text("{}")
    command = [sys.executable, "-m", "vaultwire", "install", "cursor", "--vault", "Notes"]
    with installing.locked(str(home.parent / "state")):
        waiting = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert waiting.stdout is not None
        while '+      "command"' not in waiting.stdout.readline():
            assert waiting.poll() is None
        file_of("cursor", home).write_text('{"other": 1}')
    waiting.communicate()
    assert waiting.returncode == 1
    assert file_of("cursor", home).read_text() == '{"other": 1}'


@pytest.mark.skipif(sys.platform == "win32", reason="needs rights for links there")
def test_a_projects_link_out_of_the_project_is_refused(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "mine.json").write_text("{}")
    project = home / "project"
    project.mkdir()
    (project / ".mcp.json").symlink_to(home / "mine.json")
    os.chdir(project)
    assert main(["install", "claude-code", "--scope", "project", "--vault", str(home / "Notes")]) == 1
    assert "leads out of the project" in capsys.readouterr().err
    assert (home / "mine.json").read_text() == "{}"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_a_vault_whose_path_is_not_utf_8_is_refused(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    vault = os.fsdecode(os.fsencode(home) + b"/v\xff")
    os.mkdir(vault)
    for client in ("cursor", "codex", "goose"):
        assert main(["install", client, "--vault", vault]) == 1
        assert "is not UTF-8" in capsys.readouterr().err


def test_installations_are_undone_one_by_one(home: Path) -> None:
    path = file_of("codex", home)
    path.write_text('model = "x"')
    assert install("codex") == 0
    first = path.read_text()
    assert install("codex", "--read-only") == 0
    assert main(["install", "codex", "--undo"]) == 0
    assert path.read_text() == first
    assert main(["install", "codex", "--undo"]) == 0
    assert path.read_text() == 'model = "x"'


def test_a_link_of_a_dotfiles_folder_stays_a_link(home: Path) -> None:
    real = home / "dotfiles" / "mcp.json"
    real.parent.mkdir()
    real.write_bytes(b'\xef\xbb\xbf{\r\n\t"mcpServers": {}\r\n}')
    path = file_of("cursor", home)
    path.symlink_to(real)
    assert install("cursor") == 0
    assert path.is_symlink()
    new = real.read_bytes()
    assert new.startswith(b'\xef\xbb\xbf{\r\n\t"mcpServers": {\r\n\t\t"vaultwire": {\r\n\t\t\t"command"')
    assert b"\n" not in new.replace(b"\r\n", b"")
    assert os.listdir(path.parent) == ["mcp.json"]
    assert main(["install", "cursor", "--undo"]) == 0
    assert real.read_bytes() == b'\xef\xbb\xbf{\r\n\t"mcpServers": {}\r\n}'
    assert path.is_symlink()


@pytest.mark.parametrize(
    ("client", "data", "words"),
    [
        ("claude-desktop", b'{\n  "mcpServers": {},\n}', "is not valid JSON: line 3, column 1"),
        ("codex", b"[mcp_servers\n", "is not valid TOML: line 1, column 13"),
        ("cursor", b'{"a": "\xff"}', "is not text in UTF-8 (byte 8)"),
        ("cursor", '{"a": 1}'.encode("utf-16"), "is not text in UTF-8 (byte 1)"),
        ("cursor", b"[]", "must have names with values"),
        ("cursor", b'{"mcpServers": []}', "mcpServers must have names with values"),
        ("cursor", b'{"a": ' + b"9" * 5000 + b"}", "thousands of digits"),
        ("codex", b"a = " + b"9" * 5000, "thousands of digits"),
        ("codex", b"mcp_servers = { a = { command = 'x' } }", "only a person can put the entry in safely"),
    ],
)
def test_a_file_that_cannot_be_edited_is_left_alone(
    client: str, data: bytes, words: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = file_of(client, home)
    path.write_bytes(data)
    assert install(client) == 1
    said = capsys.readouterr()
    assert words in said.err
    assert said.err.count("\n") == 1
    assert path.read_bytes() == data
    assert os.listdir(path.parent) == [path.name]


def test_a_folder_in_place_of_the_file_is_refused(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file_of("cursor", home).mkdir()
    assert install("cursor") == 1
    assert "is a folder" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such pipes")
def test_a_pipe_or_a_link_to_itself_is_refused(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = file_of("cursor", home)
    os.mkfifo(path)
    assert install("cursor") == 1
    assert "is not a file" in capsys.readouterr().err
    path.unlink()
    path.symlink_to(path)
    assert install("cursor") == 1
    assert str(path) in capsys.readouterr().err


def test_a_file_that_is_too_large_is_refused(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with file_of("cursor", home).open("wb") as file:
        file.truncate(65 * 1024 * 1024)
    assert install("cursor") == 1
    assert "larger than 64 MiB" in capsys.readouterr().err


def test_a_place_that_cannot_be_written_is_refused(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if not os.path.isdir("/proc/self"):
        pytest.skip("needs a folder in which not even root can write")
    monkeypatch.setenv("CODEX_HOME", "/proc/self")
    assert install("codex") == 1
    assert "/proc/self/config.toml cannot be written" in capsys.readouterr().err
    assert not os.listdir(home.parent / "state" / "client-setup")


def test_a_client_that_is_not_here_is_said(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / ".cursor").rmdir()
    assert install("cursor") == 1
    assert "Cursor seems not to be installed here" in capsys.readouterr().err
    assert not (home / ".cursor").exists()
    assert install("cursor", "--force") == 0
    assert (home / ".cursor" / "mcp.json").exists()


def test_a_project_gets_a_file_of_its_own(home: Path) -> None:
    assert install("vscode", "--scope", "project", "--name", "my-notes") == 0
    assert json.loads((home / ".vscode" / "mcp.json").read_text())["servers"]["my-notes"]["type"] == "stdio"
    assert main(["install", "vscode", "--scope", "project", "--name", "my-notes", "--undo"]) == 0
    assert not (home / ".vscode" / "mcp.json").exists()


def test_a_client_whose_file_is_not_written_gets_what_to_paste(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for client, words, read in (
        ("jetbrains", "Model Context Protocol", json.loads),
        ("goose", "/.config/goose/config.yaml, beside the entries there", yaml.safe_load),
    ):
        assert install(client) == 1
        said = capsys.readouterr()
        assert words in said.err
        (entries,) = read(said.out).values()
        assert started_by(entries["vaultwire"])[-3:] == ["stdio", "--vault", str(home / "Notes")]
        assert main(["install", client, "--undo"]) == 1
        assert "take the entry out by hand" in capsys.readouterr().err


REFERENCES = {
    "claude-code": "${VW_KEY}",
    "cursor": "${env:VW_KEY}",
    "vscode": "${env:VW_KEY}",
    "gemini-cli": "${VW_KEY}",
    "windsurf": "${env:VW_KEY}",
    "opencode": "{env:VW_KEY}",
    "copilot-cli": "${VW_KEY}",
}


@pytest.mark.parametrize("client", WRITABLE)
def test_a_server_over_http_is_reached_with_the_key_in_a_variable(
    client: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["install", client, "--http", ADDRESS, "--key-env", "VW_KEY"])
    if client == "codex":
        entry = servers(client, file_of(client, home).read_text())["vaultwire"]
        assert entry == {"url": f"{ADDRESS}/mcp", "bearer_token_env_var": "VW_KEY"}
    elif client in REFERENCES:
        entry = servers(client, file_of(client, home).read_text())["vaultwire"]
        assert entry["headers"] == {"Authorization": f"Bearer {REFERENCES[client]}"}
        assert f"{ADDRESS}/mcp" in entry.values()
    else:
        assert code == 1
        assert "give --key-file FILE" in capsys.readouterr().err
        assert not file_of(client, home).exists()


@pytest.mark.parametrize("client", WRITABLE)
def test_a_key_in_a_file_is_shown_nowhere_and_read_by_nobody_else(
    client: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key_file = home / "my key"
    key_file.write_text(f"{KEY}\n")
    assert main(["install", client, "--http", f"{ADDRESS}/", "--key-file", "my key"]) == 0
    said = capsys.readouterr()
    assert KEY not in said.out + said.err
    path = file_of(client, home)
    entry = servers(client, path.read_text())["vaultwire"]
    if client == "claude-desktop":  # it starts all its servers itself
        assert entry["args"] == ["connect", f"{ADDRESS}/", "--key-file", str(key_file)]
        assert KEY not in path.read_text()
        return
    assert {"Authorization": f"Bearer {KEY}"} in entry.values()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "Only you can read it" in said.out
    key_file.write_text(KEY[::-1])
    assert main(["install", client, "--http", f"{ADDRESS}/", "--key-file", "my key"]) == 0
    assert "only a value that is not shown" in capsys.readouterr().out
    assert main(["install", client, "--undo"]) == 0
    assert main(["install", client, "--undo"]) == 0
    said = capsys.readouterr()
    assert KEY not in said.out + said.err + path.read_text()


def test_another_transport_replaces_the_members_of_the_first(home: Path) -> None:
    assert install("vscode") == 0
    assert main(["install", "vscode", "--http", "http://127.0.0.1:3000/mcp"]) == 0
    entry = servers("vscode", file_of("vscode", home).read_text())["vaultwire"]
    assert entry == {"type": "http", "url": "http://127.0.0.1:3000/mcp"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--http", ADDRESS, "--vault", "Notes"], "leave --vault out"),
        (["--http", ADDRESS, "--tools", "core"], "leave --tools out"),
        (["--http", "notes.example.org"], "not a URL of a server"),
        (["--http", "https://me:pw@notes.example.org"], "a password in a URL"),
        (["--key-env", "X", "--vault", "Notes"], "give --http URL"),
        (["--http", ADDRESS, "--key-env", f"{KEY}-x"], "takes the name of a variable"),
        (["--http", ADDRESS, "--key-env", "X", "--key-file", "x"], "not both"),
        (["--http", ADDRESS, "--key-file", "x"], "cannot read the key"),
        (["--http", ADDRESS, "--key-file", "key", "--scope", "project"], "use --key-env VARIABLE"),
        (["--vault", "Notes", "--name", "my notes"], "not a name that every client takes"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    options: list[str], words: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "key").write_text(KEY)
    assert main(["install", "cursor", *options]) in (1, 2)
    said = capsys.readouterr().err
    assert words in said
    assert KEY not in said
    assert not file_of("cursor", home).exists()


def link(client: str, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert main(["client-config", client, "--link", *options]) == 0
    return capsys.readouterr().out.strip()


def test_links_carry_the_entry(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    here = ["stdio", "--vault", str(home / "Notes")]
    for client, start in (
        ("cursor", "cursor://anysphere.cursor-deeplink/mcp/install"),
        ("lm-studio", "lmstudio://add_mcp"),
    ):
        made = link(client, capsys, "--vault", "Notes")
        assert made.startswith(f"{start}?name=vaultwire&config=")
        assert json.loads(base64.b64decode(parse_qs(urlsplit(made).query)["config"][0]))["args"] == here
    made = link("vscode", capsys, "--vault", "Notes")
    assert json.loads(unquote(made.removeprefix("vscode:mcp/install?")))["args"] == here
    assert json.loads(unquote(made.removeprefix("vscode:mcp/install?")))["name"] == "vaultwire"
    made = link("goose", capsys, "--http", ADDRESS)
    asked = parse_qs(urlsplit(made).query)
    assert (asked["url"], asked["type"]) == ([f"{ADDRESS}/mcp"], ["streamable_http"])


@pytest.mark.parametrize(
    ("client", "options", "words"),
    [
        ("zed", ["--vault", "Notes"], "has no one-click links"),
        ("goose", ["--vault", "Notes"], "goose takes links only for programs"),
        ("cursor", ["--http", ADDRESS, "--key-file", "key"], "gives the key to everybody"),
        ("goose", ["--http", ADDRESS, "--key-file", "key"], "gives the key to everybody"),
    ],
)
def test_links_that_would_not_work_are_refused(
    client: str, options: list[str], words: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "key").write_text(KEY)
    assert main(["client-config", client, "--link", *options]) == 1
    said = capsys.readouterr()
    assert words in said.err
    assert said.out == ""


def test_the_clients_of_this_computer_are_listed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / ".cursor").rmdir()
    assert install("zed") == 0
    capsys.readouterr()
    assert main(["install"]) == 0
    rows = {line.split("\t")[0]: line.split("\t")[1] for line in capsys.readouterr().out.splitlines()}
    assert rows.keys() == CLIENTS.keys()
    assert (rows["zed"], rows["cursor"], rows["vscode"]) == ("has vaultwire", "not found", "installed")


def test_opencode_keeps_the_form_of_its_file(home: Path) -> None:
    path = file_of("opencode", home)
    path.write_text(
        '{\n  // mine\n  "mcp": {\n    "servers": {\n      "a": {"type": "local", "command": ["x"]},\n    },\n  },\n}\n'
    )
    before = path.read_text()
    assert install("opencode") == 0
    assert '\n      "vaultwire": {\n        "type": "local",\n        "command": [\n' in path.read_text()
    assert main(["install", "opencode", "--undo"]) == 0
    assert path.read_text() == before


def test_a_file_that_changes_meanwhile_is_not_overwritten(home: Path) -> None:
    from vaultwire.client_setup import installing  # noqa: PLC0415
    from vaultwire.client_setup.clients import SetupError  # noqa: PLC0415

    path = file_of("cursor", home)
    path.write_text("{}")
    before = installing.read(str(path))
    path.write_text('{"a": 1}')
    with pytest.raises(SetupError, match="changed by another program just now"):
        installing.replace(str(path), before, b"{}")
    assert path.read_text() == '{"a": 1}'
    assert os.listdir(path.parent) == [path.name]


def test_only_the_copy_before_the_last_installation_is_kept(home: Path) -> None:
    kept = home.parent / "state" / "client-setup"
    for size in ("core", "all"):
        assert install("cursor", "--tools", size) == 0
    assert install("zed") == 0
    assert len(os.listdir(kept)) == 2
    assert main(["install", "cursor", "--undo"]) == 0
    assert '"core"' in file_of("cursor", home).read_text()
    assert len(os.listdir(kept)) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such bits")
def test_the_copies_are_for_this_person_only(home: Path) -> None:
    file_of("cursor", home).write_text("{}")
    assert install("cursor") == 0
    top = home.parent / "state" / "client-setup"
    assert [stat.S_IMODE(each.stat().st_mode) for each in (top, *top.iterdir())] == [0o700, 0o700]
