"""The command line as a person and a shell see it: exit codes, one-line errors, what lands on stdout."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.command_line import run_command as run
from support.vaults import open_vault, snapshot, write_vault
from vaultwire import __version__
from vaultwire.cli.demo import StdioClient
from vaultwire.client_setup.clients import CLIENTS
from vaultwire.vault.changes.change import Author, Write
from vaultwire.vault.holding.proposals import ROOM_OF_CLIENT
from vaultwire.vault.value_types import VaultPath

VAULT = """
=== Home.md
# Home
Tomatoes and basil. #garden
=== Projects/Shelf.md
Oak.
"""


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "my vault", VAULT)


@pytest.mark.parametrize("command", ["stdio", "check", "client-config cursor"])
def test_a_vault_that_is_not_named_is_one_clear_line_and_exit_code_2(command: str) -> None:
    finished = run(*command.split())
    assert finished.returncode == 2
    assert finished.stdout == ""
    assert finished.stderr.count("\n") == 1
    assert "--vault PATH" in finished.stderr
    assert "VAULTWIRE_VAULT" in finished.stderr


@pytest.mark.parametrize("command", ["stdio", "doctor", "demo", "client-config codex"])
def test_a_vault_that_is_not_there_is_one_clear_line_and_exit_code_2(command: str, tmp_path: Path) -> None:
    finished = run(*command.split(), "--vault", str(tmp_path / "nowhere"))
    assert finished.returncode == 2
    assert finished.stderr.count("\n") == 1
    assert "nowhere does not exist" in finished.stderr


def test_doctor_without_a_vault_checks_the_computer() -> None:
    finished = run("doctor")
    assert (finished.returncode, finished.stderr) == (0, "")
    assert finished.stdout.startswith("Environment\n")
    assert "Vault\n" not in finished.stdout
    assert json.loads(run("doctor", "--json").stdout)["healthy"] is True


@pytest.mark.parametrize(
    "arguments",
    [
        ["search", "Home", "--vault", "VAULT", "x"],
        ["search", "--vault", "VAULT", "Home", "--json", "x"],
        ["--vault", "VAULT", "search", "Home", "x", "--json"],
        ["--json", "--vault", "VAULT", "search", "Home", "x"],
        ["--vault=VAULT", "search", "-n", "3", "Home", "x"],
        ["search", "--vault", "VAULT", "--", "Home", "x"],
        ["call", "search_notes", "--vault", "VAULT", "query=Home x"],
        ["--vault", "VAULT", "call", "--json", "search_notes", "query=Home x"],
    ],
    ids=" ".join,
)
def test_options_may_stand_anywhere(arguments: list[str], tmp_path: Path) -> None:
    vault = write_vault(tmp_path / "Notes", "=== Home.md\nHome x\n")
    finished = run(*(word.replace("VAULT", str(vault)) for word in arguments))
    assert (finished.returncode, finished.stderr) == (0, "")
    assert "Home" in finished.stdout


def test_a_vault_may_have_the_name_of_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_vault(tmp_path / "search", "=== Home.md\nHome x\n")
    monkeypatch.chdir(tmp_path)
    assert run("--vault", "search", "search", "Home", "x").stdout == "Home.md:1:Home x\n"


@pytest.mark.parametrize(
    ("words", "same"),
    [
        (["help"], []),
        (["help", "search"], ["search", "--help"]),
        (["help", "keys", "issue"], ["keys", "issue", "--help"]),
    ],
)
def test_help_describes_a_command(words: list[str], same: list[str]) -> None:
    assert (run(*words).returncode, run(*words).stdout) == (0, run(*same).stdout)
    assert "Did you mean search" in run("help", "serach").stderr


def test_a_file_is_no_vault(vault: Path) -> None:
    finished = run("stdio", "--vault", str(vault / "Home.md"))
    assert finished.returncode == 2
    assert "is a file" in finished.stderr


def test_the_environment_names_the_vault(vault: Path) -> None:
    finished = run("client-config", "cursor", VAULTWIRE_VAULT=str(vault))
    assert finished.returncode == 0
    assert str(vault) in finished.stdout


def test_version_and_help_are_said() -> None:
    assert run("--version").stdout == f"vaultwire {__version__}\n"
    text = run("--help").stdout
    assert all(command in text for command in ("stdio", "demo", "doctor", "client-config"))


@pytest.mark.parametrize("arguments", [["serve-me"], ["stdio", "--valut", "x"], ["stdio", "--vault"]])
def test_a_command_line_nobody_can_mean_is_exit_code_2_and_says_what_is_right(arguments: list[str]) -> None:
    finished = run(*arguments)
    assert finished.returncode == 2
    assert finished.stdout == ""
    assert "usage: vaultwire" in finished.stderr


@pytest.mark.parametrize(
    "options", [["--vault={}"], ["--read-only", "--vault", "{}"], ["--vault", "{}", "--read-only"]]
)
def test_stdio_takes_its_options_in_every_spelling(options: list[str], vault: Path) -> None:
    command = [sys.executable, "-m", "vaultwire", "stdio", *(option.format(vault) for option in options)]
    assert subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode == 0


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_gets_an_entry_it_can_paste_and_that_starts_a_server(client: str, vault: Path) -> None:
    finished = run("client-config", client, "--vault", str(vault), "--read-only")
    assert finished.returncode == 0
    assert "Then: " in finished.stderr
    readers: dict[str, Callable[[str], Any]] = {"codex": tomllib.loads, "goose": yaml.safe_load}
    (servers,) = readers.get(client, json.loads)(finished.stdout).values()
    server = servers["vaultwire"]
    command = server["command"] if client == "opencode" else [server.get("command") or server["cmd"], *server["args"]]
    assert command[-4:] == ["stdio", "--vault", str(vault), "--read-only"]
    assert server.get("type", "stdio") in ("stdio", "local")
    hello = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    answer = subprocess.run(command, input=json.dumps(hello), capture_output=True, text=True, check=True)
    assert json.loads(answer.stdout) == {"jsonrpc": "2.0", "id": 1, "result": {}}


def test_the_demo_plays_search_read_write_read_delete() -> None:
    finished = run("demo")
    assert finished.returncode == 0, finished.stderr
    order = [
        "initialize",
        "tools/list",
        "search_notes",
        "read_notes",
        "edit_note",
        "read_notes",
        "delete_note",
        "Done.",
    ]
    position = 0
    for step in order:
        position = finished.stdout.index(step, position) + 1
    assert "- [ ] water the tomatoes" in finished.stdout.split("edit_note(")[-1]
    assert "\x1b[" not in finished.stdout  # no terminal, no colours
    folder = finished.stdout.split(" notes in ")[1].split("\n")[0]
    assert not Path(folder).exists()


def test_the_demo_on_a_vault_of_ones_own_leaves_every_byte(vault: Path) -> None:
    before = snapshot(vault)
    finished = run("demo", "--vault", str(vault))
    assert finished.returncode == 0, finished.stderr
    assert "POLICY_DENIED" in finished.stdout
    assert "Nothing changed: 2 files" in finished.stdout
    assert snapshot(vault) == before


def test_the_demo_on_an_empty_vault_is_no_crash(tmp_path: Path) -> None:
    assert run("demo", "--vault", str(tmp_path)).returncode == 0


def test_the_sample_vault_can_be_kept_and_never_lands_among_other_files(tmp_path: Path, vault: Path) -> None:
    finished = run("demo", "--keep", "~/Practice", HOME=str(tmp_path), USERPROFILE=str(tmp_path))
    assert finished.returncode == 0, finished.stderr
    assert str(tmp_path / "Practice") in finished.stdout
    assert "- [ ] buy seeds" in (tmp_path / "Practice" / "Projects" / "Garden plan.md").read_text(encoding="utf-8")
    before = snapshot(vault)
    for folder in (vault, vault / "Home.md", vault / "Home.md" / "below"):
        refused = run("demo", "--keep", str(folder))
        assert (refused.returncode, refused.stderr.count("\n")) == (2, 1), refused.stderr
    assert run("demo", "--keep", str(tmp_path / "New"), "--vault", str(vault)).returncode == 2
    assert snapshot(vault) == before


def test_doctor_finds_a_healthy_vault_healthy(vault: Path) -> None:
    finished = run("doctor", "--vault", str(vault))
    assert finished.returncode == 0, finished.stdout
    assert "2 notes" in finished.stdout
    assert "spawn to initialize" in finished.stdout
    assert "  ! " not in finished.stdout
    is_slow = "  ~ spawn to initialize" in finished.stdout  # where the computer has much to do
    assert finished.stdout.endswith("say what could be better.\n" if is_slow else "All is well.\n")


def test_doctor_says_what_waits_and_of_whom_hardly_any_more_can(vault: Path, tmp_path: Path) -> None:
    holding = open_vault(vault, state=tmp_path / "state").holding
    for number in range(round(0.9 * ROOM_OF_CLIENT.number)):
        holding.hold("write", Author("claude", "write_note"), [Write(VaultPath(f"{number}.md"), None, b"x")])
    holding.hold("write", Author("codex", "write_note"), [Write(VaultPath("N.md"), None, b"x")])
    told = run("doctor", "--vault", str(vault), VAULTWIRE_STATE=str(tmp_path / "state")).stdout
    assert "181 changes wait for you" in told
    assert "  ~ 180 changes of claude wait" in told
    assert "of codex" not in told


def test_doctor_says_what_each_extra_does_and_how_to_add_it(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "vaultwire-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.4\nName: vaultwire\nVersion: 1\nProvides-Extra: pdf\nProvides-Extra: web\n"
        "Requires-Dist: pypdf<8,>=7.1; extra == 'pdf'\nRequires-Dist: not-here-at-all>=1; extra == 'web'\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    finished = run("doctor", "--vault", str(vault))
    assert "pdf (reads the text of PDFs, and searches it): installed\n" in finished.stdout
    command = shlex.join([sys.executable, "-m", "pip", "install", "not-here-at-all>=1"])
    assert f"web (searches the web): not installed. To add it: {command}\n" in finished.stdout


def test_doctor_calls_nothing_well_beside_what_it_lists(vault: Path, tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path), "VAULTWIRE_CACHE": str(tmp_path / "cache")}
    (tmp_path / "cache").write_text("a file, so no folder for the index")
    finished = run("doctor", "--vault", str(vault), **environment)
    assert (finished.returncode, "  ~ kept in memory" in finished.stdout) == (0, True)
    assert finished.stdout.endswith("It works. The lines marked ~ above say what could be better.\n")
    (tmp_path / ".claude" / "ide").mkdir(parents=True)
    for number in (1, 2):
        lock = {"pid": os.getpid(), "workspaceFolders": [str(vault)], "ideName": f"Editor {number}"}
        (tmp_path / ".claude" / "ide" / f"{number}.lock").write_text(json.dumps(lock))
    finished = run("doctor", "--vault", str(vault), **environment)
    assert (finished.returncode, "  ! there are several, so claude --ide connects to none" in finished.stdout) == (
        1,
        True,
    )
    assert finished.stdout.endswith("Something needs your attention: see the lines marked ! above.\n")
    report = json.loads(run("doctor", "--json", "--vault", str(vault), **environment).stdout)
    assert (report["healthy"], len(report["problems"])) == (False, 1)
    assert any(remark.startswith("kept in memory") for remark in report["remarks"])


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="the system lets root write anywhere")
def test_doctor_finds_a_vault_that_cannot_be_written_to(vault: Path) -> None:
    vault.chmod(0o500)
    finished = run("doctor", "--vault", str(vault))
    vault.chmod(0o700)
    assert (finished.returncode, "  ! the vault's folder is not writable" in finished.stdout) == (1, True)


def test_doctor_says_where_changes_are_on_record_and_how_many(vault: Path, tmp_path: Path) -> None:
    write_vault(vault, "=== New.md\n")
    open_vault(vault, state=tmp_path / "state").writing.write("New", "text", "append")
    environment = {**os.environ, "VAULTWIRE_STATE": str(tmp_path / "state")}
    command = [sys.executable, "-m", "vaultwire", "doctor", "--vault", str(vault), "--json"]
    report = json.loads(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)
    assert report["journal"]["changes"] == 1
    assert Path(report["journal"]["folder"]).parent == tmp_path / "state"


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="the system lets root write anywhere")
def test_doctor_finds_a_journal_that_cannot_be_kept(vault: Path, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    environment = {**os.environ, "VAULTWIRE_STATE": str(tmp_path / "state")}
    command = [sys.executable, "-m", "vaultwire", "doctor", "--vault", str(vault)]
    finished = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    tmp_path.chmod(0o700)
    assert finished.returncode == 1
    assert "changes cannot be recorded" in finished.stdout


def test_doctor_names_every_problem_of_a_vault(vault: Path, tmp_path: Path) -> None:
    (vault / "Latin.md").write_bytes(b"caf\xe9\n")
    (vault / "Broken.md").write_text("---\ntags: a\nnonsense\n---\n")
    (vault / "Huge.md").write_bytes(b"x" * (10 * 1024 * 1024 + 1))
    (vault / "home.md").write_text("the same name in another case\n")
    (vault / ".vaultwire-1f-00ff.tmp").write_text("half a note")
    (vault / ".obsidian").mkdir(exist_ok=True)
    (vault / ".obsidian" / "app.json").write_text("{broken")
    (tmp_path / "secret.md").write_text("outside")
    (vault / "Leak.md").symlink_to(tmp_path / "secret.md")
    finished = run("doctor", "--vault", str(vault), "--json")
    assert finished.returncode == 1
    report = json.loads(finished.stdout)
    assert not report["healthy"]
    problems = "\n".join(report["vault"]["problems"])
    for name in ("Latin.md", "Broken.md", "Huge.md", "home.md", ".vaultwire-1f-00ff.tmp", "Leak.md", "app.json"):
        assert f"{name}: " in problems
    assert os.path.isdir(report["index"]["folder"])
    assert report["index"]["watched"] or report["index"]["not_watched_because"]
    assert report["start"]["median_ms"] > 0


def test_output_cut_off_by_its_reader_is_no_traceback(vault: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "vaultwire", "doctor", "--vault", str(vault)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 1


def test_the_demo_passes_over_what_a_server_says_before_it_answers() -> None:
    """A vault that changes meanwhile is told of by notifications."""
    server = (
        "import json; json.loads(input());"
        'print(json.dumps({"jsonrpc": "2.0", "method": "notifications/resources/list_changed"}));'
        'print(json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"tools": []}}))'
    )
    with StdioClient([sys.executable, "-c", server]) as client:
        assert client.request("tools/list", {})[0] == {"tools": []}
