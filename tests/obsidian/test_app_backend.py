"""What the app is asked, what becomes of what it says, and that all else is done on the files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scripts.pages.schema import describe

from support.obsidian_app import Computer
from support.vaults import open_vault
from vaultwire.obsidian.command import NOT_RUNNING, AppVault, Backend, BackendName, Backends, Command
from vaultwire.toolkit.registry import AnyTool, Failure, Outcome, invoke
from vaultwire.tools.obsidian_cli.family import make_family
from vaultwire.trust.policy_rules import PathRules, Rule
from vaultwire.vault.errors import (
    AMBIGUOUS_NAME,
    FILE_NOT_FOUND,
    OBSIDIAN_FAILED,
    OBSIDIAN_NOT_RUNNING,
    POLICY_DENIED,
    TIMEOUT,
    VAULT_NOT_FOUND,
    VaultError,
)
from vaultwire.vault.value_types import NO_PROGRESS, VaultPath
from vaultwire.vault.vault import Vault

HOME = VaultPath("Home.md")
ID = "vault=00000000000000ab"


@pytest.fixture
def app(running: Computer, notes: Path) -> Backend:
    return Backend(open_vault(notes), AppVault(Command(running.command), str(notes)))


def family_of(backends: Backends) -> dict[str, AnyTool]:
    return {tool.name: tool for tool in make_family(backends.backend_of)}


def ask(family: dict[str, AnyTool], vault: Vault, tool: str, **arguments: str) -> Outcome[Any] | Failure:
    return invoke(family[tool], describe(family[tool]), arguments, vault, NO_PROGRESS)


def refused(call: Callable[..., Any], *arguments: Any, **options: Any) -> VaultError:
    with pytest.raises(VaultError) as caught:
        call(*arguments, NO_PROGRESS, **options)
    return caught.value


# ---------------------------------------------------------------------- what it is told


def test_the_vault_is_made_sure_of_once_and_comes_first(app: Backend, running: Computer) -> None:
    app.open(HOME, NO_PROGRESS, newtab=False)
    app.open(HOME, NO_PROGRESS, newtab=True)
    assert running.calls() == [
        [ID, "vault", "info=path"],
        [ID, "open", "path=Home.md"],
        [ID, "open", "path=Home.md", "newtab"],
    ]


def test_what_the_files_say_is_not_asked_of_the_app_and_can_be_undone(running: Computer, notes: Path) -> None:
    before = (notes / "Home.md").read_bytes()
    vault = open_vault(notes)
    family = family_of(Backends("app", Command(running.command)))
    assert isinstance(ask(family, vault, "obsidian_append_note", file="home", content="$\\nu$"), Outcome)
    read = ask(family, vault, "obsidian_read_note", file="home")
    assert isinstance(read, Outcome)
    assert read.data["content"].endswith("$\\nu$\n")
    (change,) = vault.history.latest("", 9, None)
    vault.history.undo([change.id], "", NO_PROGRESS, dry_run=False)
    assert (notes / "Home.md").read_bytes() == before
    assert running.calls() == []


# ---------------------------------------------------------------------- whether it may


def test_an_app_that_does_not_run_is_not_started(computer: Computer, notes: Path) -> None:
    computer.know(notes)
    vault = open_vault(notes)
    error = refused(Backend(vault, AppVault(Command(computer.command), str(notes))).open, HOME, newtab=False)
    assert (error.code, error.message) == (OBSIDIAN_NOT_RUNNING, NOT_RUNNING)
    with pytest.raises(VaultError) as every_call:
        Backends("app", Command(computer.command)).backend_of(vault)
    assert (every_call.value.code, every_call.value.message) == (OBSIDIAN_NOT_RUNNING, NOT_RUNNING)
    assert computer.calls() == []


def test_an_app_that_ends_meanwhile_is_said_not_to_run(app: Backend, running: Computer) -> None:
    running.behave("not-running")
    assert refused(app.workspace).code == OBSIDIAN_NOT_RUNNING


def test_a_vault_the_app_does_not_know_is_not_touched(computer: Computer, notes: Path, tmp_path: Path) -> None:
    (tmp_path / "Other").mkdir()
    computer.know(tmp_path / "Other")
    computer.start_app()
    vault = open_vault(notes)
    app = Backend(vault, AppVault(Command(computer.command), str(notes)))
    assert refused(app.open, HOME, newtab=False).code == VAULT_NOT_FOUND
    with pytest.raises(VaultError) as every_call:
        Backends("app", Command(computer.command)).backend_of(vault)
    assert every_call.value.code == VAULT_NOT_FOUND
    assert computer.calls() == []


def test_an_id_that_leads_to_another_vault_is_not_used(running: Computer, notes: Path, tmp_path: Path) -> None:
    (tmp_path / "Other").mkdir()
    app = AppVault(Command(running.command), str(notes))
    settings = running.settings / "obsidian.json"
    known = settings.read_text()
    real = Command.run

    class Misled(Command):
        """The app has it otherwise than its file says."""

        def run(self, arguments: Any, progress: Any) -> Any:
            settings.write_text(known.replace(str(notes), str(tmp_path / "Other")))
            try:
                return real(self, arguments, progress)
            finally:
                settings.write_text(known)

    app._command = Misled(running.command)
    assert refused(Backend(open_vault(notes), app).workspace).code == VAULT_NOT_FOUND
    assert running.calls() == [[ID, "vault", "info=path"]]


# ---------------------------------------------------------------------- what it says


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ("error", OBSIDIAN_FAILED),
        ("ambiguous", AMBIGUOUS_NAME),
        ("unknown-vault", VAULT_NOT_FOUND),
        ("not-running", OBSIDIAN_NOT_RUNNING),
        ("turned-off", OBSIDIAN_FAILED),
    ],
)
def test_an_error_with_exit_code_0_is_an_error(app: Backend, running: Computer, how: str, code: str) -> None:
    running.behave(how)
    error = refused(app.workspace)
    assert error.code == code
    if code == AMBIGUOUS_NAME:
        assert error.details["candidates"] == ["Ideas/Plan.md", "Projects/Plan.md"]


def test_a_note_that_went_missing_in_the_app_is_not_found(app: Backend) -> None:
    assert refused(app.open, VaultPath("Gone.md"), newtab=False).code == FILE_NOT_FOUND


def test_what_an_app_with_an_old_installer_says_first_is_no_part_of_its_answer(app: Backend, running: Computer) -> None:
    workspace = app.workspace(NO_PROGRESS)
    running.behave("old-installer")
    assert app.workspace(NO_PROGRESS) == workspace


def test_the_command_has_a_deadline_of_its_own(running: Computer, notes: Path) -> None:
    running.behave("slow")
    app = Backend(open_vault(notes), AppVault(Command(running.command, seconds=0.3), str(notes)))
    assert refused(app.workspace).code == TIMEOUT


def test_what_only_the_app_has(app: Backend, running: Computer) -> None:
    assert app.commands("app:", NO_PROGRESS) == ["app:go-back", "app:reload"]
    assert app.workspace(NO_PROGRESS).startswith("main\n└── tabs")
    assert app.evaluate("1 +\n1", NO_PROGRESS) == "1 +\n1"
    assert app.history(HOME, NO_PROGRESS) == []
    (running.settings / f"recovery-{ID.removeprefix('vault=')}.json").write_text('{"Home.md": ["newer", "older"]}')
    assert app.history(HOME, NO_PROGRESS) == [(1, "2026-01-01 12:00:00 5 B"), (2, "2026-01-01 12:00:00 5 B")]
    assert app.version(HOME, 2, NO_PROGRESS) == "older"


# ---------------------------------------------------------------------- which backend


@pytest.mark.parametrize(
    ("choice", "runs", "is_asked"),
    [("files", True, False), ("app", True, True), ("auto", True, True), ("auto", False, False)],
)
def test_auto_takes_the_app_when_it_runs(
    computer: Computer, notes: Path, choice: BackendName, runs: bool, is_asked: bool
) -> None:
    computer.know(notes)
    if runs:
        computer.start_app()
    backends = Backends(choice, Command(computer.command))
    vault = open_vault(notes)
    assert (backends.backend_of(vault).app is not None) is is_asked
    if choice == "auto" and runs:
        computer.know()
        assert backends.backend_of(vault).app is None  # it runs, and does not know the vault any more
        computer.know(notes)
        assert backends.backend_of(vault).app is not None
        settings = computer.settings / "obsidian.json"
        settings.write_text(settings.read_text().replace("true", "false"))
        assert backends.backend_of(vault).app is None  # it runs, and its command is turned off


@pytest.mark.parametrize("choice", ["files", "auto"])
def test_what_only_the_app_can_do_says_that_it_does_not_run(
    computer: Computer, notes: Path, choice: BackendName
) -> None:
    computer.know(notes)
    files = Backends(choice, Command(computer.command)).backend_of(open_vault(notes))
    for error in (
        refused(files.open, HOME, newtab=False),
        refused(files.commands, ""),
        refused(files.workspace),
        refused(files.evaluate, "1"),
    ):
        assert error.code == OBSIDIAN_NOT_RUNNING
        assert error.message.startswith(NOT_RUNNING)
    assert computer.calls() == []


# ---------------------------------------------------------------------- with notes that may not be seen

HIDDEN = PathRules(deny=(Rule("deny", "Ideas/", 1), Rule("deny", "Templates/", 2)))


@pytest.mark.parametrize("choice", ["app", "auto", "files"])
def test_a_hidden_note_is_in_no_answer_though_the_app_knows_it(
    running: Computer, notes: Path, choice: BackendName
) -> None:
    family = family_of(Backends(choice, Command(running.command)))
    vault = open_vault(notes, rules=HIDDEN)
    for name in family:
        for arguments in (
            {"file": "Garden"},
            {"path": "Ideas/Garden.md"},
            {"file": "Home"},
            {"query": "needle"},
            {"name": "Meeting"},
            {"name": "start"},
            {"path": "Books.base"},
            {"code": "app"},
            {"content": "text"},
            {},
        ):
            said = str(ask(family, vault, name, **arguments))
            for given in map(str, arguments.values()):
                said = said.replace(given, "")
            assert "thread" not in said, (name, arguments)
            assert "Garden" not in said.replace("[[Ideas/Garden]]", "").replace("'Ideas/Garden'", ""), (name, arguments)
            assert "Empty" not in said, (name, arguments)
            assert "Present" not in said, (name, arguments)
    assert {call[1] for call in running.calls()} <= {"vault", "open"}
    assert "thread" in (notes / "Ideas" / "Garden.md").read_text()


def test_a_note_that_may_be_seen_is_shown_beside_hidden_ones(running: Computer, notes: Path) -> None:
    vault = open_vault(notes, rules=HIDDEN)
    family = family_of(Backends("app", Command(running.command)))
    assert isinstance(ask(family, vault, "obsidian_open_note", file="Home"), Outcome)
    assert running.calls()[-1] == [ID, "open", "path=Home.md"]
    for tool, arguments, code in (
        ("obsidian_open_note", {"file": "Garden"}, FILE_NOT_FOUND),
        ("obsidian_workspace", {}, POLICY_DENIED),
    ):
        refusal = ask(family, vault, tool, **arguments)
        assert isinstance(refusal, Failure)
        assert refusal.code == code
