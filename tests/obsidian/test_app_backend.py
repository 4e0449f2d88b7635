"""What the app is told, and what becomes of what it says: errors, half-done work, answers of other versions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.obsidian_app import Computer
from support.vaults import open_vault, snapshot
from vaultwire.obsidian.app_backend import AppBackend
from vaultwire.obsidian.app_vault import AppVault
from vaultwire.obsidian.backends import Backends, Choice
from vaultwire.obsidian.command import NOT_RUNNING, Command
from vaultwire.obsidian.files_backend import FilesBackend
from vaultwire.toolkit.registry import invoke
from vaultwire.toolkit.schema import describe
from vaultwire.tools.obsidian_cli.family import make_family
from vaultwire.trust.policy_rules import PathRules, Rule
from vaultwire.vault.errors import (
    AMBIGUOUS_NAME,
    FILE_NOT_FOUND,
    NOT_READ,
    NOT_UTF8,
    OBSIDIAN_FAILED,
    OBSIDIAN_NOT_RUNNING,
    POLICY_DENIED,
    TIMEOUT,
    VAULT_NOT_FOUND,
    WRITE_FAILED,
    VaultError,
)
from vaultwire.vault.value_types import NO_PROGRESS, VaultPath

HOME = VaultPath("Home.md")
ID = "vault=00000000000000ab"


@pytest.fixture
def app(running: Computer, notes: Path) -> AppBackend:
    return AppBackend(open_vault(notes), AppVault(Command(running.command), str(notes)))


def refused(call: Callable[..., Any], *arguments: Any, **options: Any) -> VaultError:
    with pytest.raises(VaultError) as caught:
        call(*arguments, NO_PROGRESS, **options)
    return caught.value


# ---------------------------------------------------------------------- what it is told


def test_the_vault_is_made_sure_of_once_and_comes_first(app: AppBackend, running: Computer) -> None:
    app.read(HOME, NO_PROGRESS)
    app.open(HOME, NO_PROGRESS, newtab=True)
    assert running.calls() == [
        [ID, "vault", "info=path"],
        [ID, "read", "path=Home.md"],
        [ID, "open", "path=Home.md", "newtab"],
    ]


def test_a_note_is_always_named_by_its_path(app: AppBackend, running: Computer) -> None:
    path = app.target("[[garden]]", "", NO_PROGRESS)
    app.add(path, "--copy open\nvault=other", "append", NO_PROGRESS)
    app.move(path, "Projects", NO_PROGRESS)
    app.rename(VaultPath("Projects/Garden.md"), "v1.2", NO_PROGRESS)
    app.delete(VaultPath("Projects/v1.2.md"), NO_PROGRESS, permanent=True)
    assert running.calls()[1:] == [
        [ID, "append", "path=Ideas/Garden.md", "content=--copy open\\nvault=other\\n", "inline"],
        [ID, "move", "path=Ideas/Garden.md", "to=Projects/Garden.md"],
        [ID, "rename", "path=Projects/Garden.md", "name=v1.2.md"],
        [ID, "delete", "path=Projects/v1.2.md", "permanent"],
    ]


def test_what_the_command_has_no_words_for_is_written_by_us(app: AppBackend, running: Computer, notes: Path) -> None:
    app.create("Formula", "$\\nu$", "", NO_PROGRESS, overwrite=False)
    app.add(VaultPath("Formula.md"), "$\\tau$", "append", NO_PROGRESS)
    assert (notes / "Formula.md").read_text() == "$\\nu$\n$\\tau$"
    assert running.calls() == []


def test_line_ends_and_byte_order_marks_stay(app: AppBackend, notes: Path) -> None:
    (notes / "Windows.md").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    app.add(VaultPath("Windows.md"), "three", "append", NO_PROGRESS)
    app.add(VaultPath("Windows.md"), "zero", "prepend", NO_PROGRESS)
    app.create("Windows", "zero\none\nfour", "", NO_PROGRESS, overwrite=True)
    assert (notes / "Windows.md").read_bytes() == b"\xef\xbb\xbfzero\r\none\r\nfour\r\n"
    assert app.read(VaultPath("Windows.md"), NO_PROGRESS) == "zero\none\nfour\n"


# ---------------------------------------------------------------------- whether it may


def test_an_app_that_does_not_run_is_not_started(computer: Computer, notes: Path) -> None:
    computer.know(notes)
    app = AppBackend(open_vault(notes), AppVault(Command(computer.command), str(notes)))
    error = refused(app.read, HOME)
    assert (error.code, error.message) == (OBSIDIAN_NOT_RUNNING, NOT_RUNNING)
    assert computer.calls() == []


def test_an_app_that_ends_meanwhile_is_said_not_to_run(app: AppBackend, running: Computer) -> None:
    running.behave("not-running")
    assert refused(app.read, HOME).code == OBSIDIAN_NOT_RUNNING


def test_a_vault_the_app_does_not_know_is_not_touched(computer: Computer, notes: Path, tmp_path: Path) -> None:
    (tmp_path / "Other").mkdir()
    computer.know(tmp_path / "Other")
    computer.start_app()
    app = AppBackend(open_vault(notes), AppVault(Command(computer.command), str(notes)))
    assert refused(app.add, HOME, "text", "append").code == VAULT_NOT_FOUND
    assert computer.calls() == [["version"]]


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
    assert refused(AppBackend(open_vault(notes), app).add, HOME, "text", "append").code == VAULT_NOT_FOUND
    assert running.calls() == [[ID, "vault", "info=path"]]


def test_who_must_read_first_must_do_so_through_the_app_too(running: Computer, notes: Path) -> None:
    before = snapshot(notes)
    app = AppBackend(open_vault(notes, read_first=True), AppVault(Command(running.command), str(notes)))
    for call, arguments, options in (
        (app.add, (HOME, "text", "append"), {}),
        (app.create, ("Home", "text", ""), {"overwrite": True}),
        (app.delete, (HOME,), {"permanent": False}),
        (app.set_property, (HOME, "a", "b", "text"), {}),
        (app.remove_property, (HOME, "rating"), {}),
    ):
        assert refused(call, *arguments, **options).code == NOT_READ
    assert snapshot(notes) == before
    assert running.calls() == []
    app.read(HOME, NO_PROGRESS)
    app.add(HOME, "text", "append", NO_PROGRESS)


def test_a_note_that_is_not_utf_8_is_not_edited_but_can_be_deleted(
    app: AppBackend, running: Computer, notes: Path
) -> None:
    (notes / "Latin.md").write_bytes(b"gr\xfc\xdfe")
    assert refused(app.add, VaultPath("Latin.md"), "text", "append").code == NOT_UTF8
    assert running.calls() == []
    app.delete(VaultPath("Latin.md"), NO_PROGRESS, permanent=False)
    assert not (notes / "Latin.md").exists()


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
def test_an_error_with_exit_code_0_is_an_error(app: AppBackend, running: Computer, how: str, code: str) -> None:
    running.behave(how)
    error = refused(app.outline, HOME)
    assert error.code == code
    if code == AMBIGUOUS_NAME:
        assert error.details["candidates"] == ["Ideas/Plan.md", "Projects/Plan.md"]


def test_a_note_that_went_missing_in_the_app_is_not_found(app: AppBackend) -> None:
    assert refused(app.outline, VaultPath("Gone.md")).code == FILE_NOT_FOUND


def test_a_note_whose_text_is_an_error_is_a_note(app: AppBackend, running: Computer, notes: Path) -> None:
    for text in ("Error: it says so itself.", "Error: two\nlines.\n", "Vault not founded yet.\n"):
        (notes / "Odd.md").write_text(text)
        assert app.read(VaultPath("Odd.md"), NO_PROGRESS) == text
    running.behave("error")
    assert refused(app.read, VaultPath("Odd.md")).code == OBSIDIAN_FAILED


def test_a_text_that_arrives_cut_is_not_called_written(app: AppBackend, running: Computer) -> None:
    running.behave("truncates")
    assert refused(app.create, "Letter", "one\ntwo", "", overwrite=False).code == WRITE_FAILED


def test_properties_are_understood_in_yaml_as_early_versions_have_them(app: AppBackend, running: Computer) -> None:
    in_json = app.properties(HOME, NO_PROGRESS)
    running.behave("yaml")
    assert (
        app.properties(HOME, NO_PROGRESS)
        == in_json
        == [
            ("tags", ["area/home", "start"]),
            ("rating", ["4"]),
            ("done", ["false"]),
            ("aliases", ["Start", "Begin"]),
        ]
    )


def test_what_an_app_with_an_old_installer_says_first_is_no_part_of_its_answer(
    app: AppBackend, running: Computer, notes: Path
) -> None:
    home, outline = app.read(HOME, NO_PROGRESS), app.outline(HOME, NO_PROGRESS)
    running.behave("old-installer")
    assert app.read(HOME, NO_PROGRESS) == home
    assert app.outline(HOME, NO_PROGRESS) == outline
    running.behave("")
    text = "Your Obsidian installer is out of date, I read.\nSo what?\n"
    (notes / "Quote.md").write_text(text)
    assert app.read(VaultPath("Quote.md"), NO_PROGRESS) == text


def test_the_command_has_a_deadline_of_its_own(running: Computer, notes: Path) -> None:
    running.behave("slow")
    app = AppBackend(open_vault(notes), AppVault(Command(running.command, seconds=0.3), str(notes)))
    assert refused(app.outline, HOME).code == TIMEOUT


def test_what_only_the_app_has(app: AppBackend) -> None:
    assert app.commands("app:", NO_PROGRESS) == ["app:go-back", "app:reload"]
    assert app.workspace(NO_PROGRESS).startswith("main\n└── tabs")
    assert app.evaluate("1 +\n1", NO_PROGRESS) == "1 +\n1"
    columns, rows = app.base_rows("Books.base", "", NO_PROGRESS)
    assert columns == ["path", "file name"]
    assert ["Ideas/Empty.md", "Empty"] in rows
    assert app.history(HOME, NO_PROGRESS) == []
    app.add(HOME, "x", "append", NO_PROGRESS)
    assert app.history(HOME, NO_PROGRESS) == [(1, "2026-01-01 12:00:00 218 B")]


# ---------------------------------------------------------------------- which backend


@pytest.mark.parametrize(
    ("choice", "runs", "kind"),
    [
        ("files", True, FilesBackend),
        ("app", True, AppBackend),
        ("app", False, AppBackend),
        ("auto", True, AppBackend),
        ("auto", False, FilesBackend),
    ],
)
def test_auto_takes_the_app_when_it_runs(
    computer: Computer, notes: Path, choice: Choice, runs: bool, kind: type[FilesBackend]
) -> None:
    computer.know(notes)
    if runs:
        computer.start_app()
    backends = Backends(choice, Command(computer.command))
    vault = open_vault(notes)
    assert type(backends.backend_of(vault)) is kind
    if choice == "auto" and runs:
        computer.know()
        assert type(backends.backend_of(vault)) is FilesBackend  # it runs, and does not know the vault any more
        computer.know(notes)
        assert type(backends.backend_of(vault)) is AppBackend
        settings = computer.settings / "obsidian.json"
        settings.write_text(settings.read_text().replace("true", "false"))
        assert type(backends.backend_of(vault)) is FilesBackend  # it runs, and its command is turned off


@pytest.mark.parametrize("choice", ["files", "auto"])
def test_what_only_the_app_can_do_says_that_it_does_not_run(computer: Computer, notes: Path, choice: Choice) -> None:
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
def test_a_hidden_note_is_in_no_answer_though_the_app_knows_it(running: Computer, notes: Path, choice: Choice) -> None:
    family = {tool.name: tool for tool in make_family(Backends(choice, Command(running.command)).backend_of)}
    vault = open_vault(notes, rules=HIDDEN)
    for name, tool in family.items():
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
            said = str(invoke(tool, describe(tool), arguments, vault, NO_PROGRESS))
            for given in map(str, arguments.values()):
                said = said.replace(given, "")
            assert "thread" not in said, (name, arguments)
            assert "Garden" not in said.replace("[[Ideas/Garden]]", "").replace("'Ideas/Garden'", ""), (name, arguments)
            assert "Empty" not in said, (name, arguments)
            assert "Present" not in said, (name, arguments)
    assert {call[1] for call in running.calls()} <= {"vault", "open"}
    assert "thread" in (notes / "Ideas" / "Garden.md").read_text()


def test_a_note_that_may_be_seen_is_shown_beside_hidden_ones(running: Computer, notes: Path) -> None:
    backend = Backends("app", Command(running.command)).backend_of(open_vault(notes, rules=HIDDEN))
    backend.open(backend.target("Home", "", NO_PROGRESS), NO_PROGRESS, newtab=False)
    assert running.calls()[-1] == [ID, "open", "path=Home.md"]
    assert refused(backend.target, "Garden", "").code == FILE_NOT_FOUND
    assert refused(backend.workspace).code == POLICY_DENIED


def test_a_note_that_may_not_be_changed_is_not_changed_through_the_app(running: Computer, notes: Path) -> None:
    before = snapshot(notes)
    rules = PathRules(write=(Rule("write", "Projects/", 1),))
    vault = open_vault(notes, rules=rules)
    app = AppBackend(vault, AppVault(Command(running.command), str(notes)))
    for call, arguments, options in (
        (app.create, ("New", "text", ""), {"overwrite": False}),
        (app.create, ("Home", "text", ""), {"overwrite": True}),
        (app.add, (HOME, "text", "append"), {}),
        (app.move, (HOME, "Projects"), {}),
        (app.rename, (HOME, "House"), {}),
        (app.delete, (HOME,), {"permanent": True}),
        (app.set_property, (HOME, "a", "b", "text"), {}),
        (app.remove_property, (HOME, "rating"), {}),
        (app.add_daily, ("text", "append"), {}),
        (app.set_task, (HOME, 15, "x"), {}),
    ):
        assert refused(call, *arguments, **options).code == POLICY_DENIED
    assert snapshot(notes) == before
    assert {call[1] for call in running.calls()} <= {"vault", "daily:path"}
