"""The family on the files: its answers are those of the app's own command, as recorded in ``answers.json``."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from scripts.pages.schema import describe

from support.schemas import hold_to
from support.vaults import open_vault, write_vault
from vaultwire.obsidian import command
from vaultwire.toolkit.registry import AnyTool, Failure, Outcome, invoke
from vaultwire.tools.obsidian_cli.family import make_family
from vaultwire.tools.obsidian_cli.notes import Obsidian
from vaultwire.vault.value_types import NO_PROGRESS
from vaultwire.vault.vault import Vault

TODAY = date(2026, 3, 31)
ANSWERS = json.loads(Path(__file__).with_name("answers.json").read_text(encoding="utf-8"))


class Backend(NamedTuple):
    """The family over one backend, and the vault's folder."""

    vault: Vault
    root: Path
    tools: dict[str, tuple[AnyTool, dict[str, Any]]]

    def call(self, tool: str, **arguments: Any) -> Any:
        """Return a tool's data, or the code of its failure."""
        outcome = invoke(*self.tools[tool], arguments, self.vault, NO_PROGRESS)
        if isinstance(outcome, Failure):
            assert outcome.message
            return outcome.code
        hold_to(outcome.data, self.tools[tool][1]["outputSchema"])
        assert isinstance(outcome, Outcome)
        assert outcome.texts
        for text in outcome.texts:
            assert text.strip()
            assert not text.startswith(("{", "["))
        return outcome.data

    def notes(self) -> dict[str, str]:
        """Return every file's text, the trash's excepted: each backend has its own."""
        return {
            path.relative_to(self.root).as_posix(): path.read_bytes().decode()
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and ".trash" not in path.parts
        }


def make_backend(root: Path, obsidian_of: Callable[[Vault], Obsidian]) -> Backend:
    family = make_family(obsidian_of)
    vault = open_vault(root, today=lambda: TODAY)
    return Backend(vault, root, {tool.name: (tool, describe(tool)) for tool in family})


@pytest.fixture
def files(notes: Path, tmp_path: Path) -> Backend:
    shutil.copytree(notes, tmp_path / "Copy")
    return make_backend(tmp_path / "Copy", command.Backend)


Calls = list[tuple[str, dict[str, Any]]]

SAME: dict[str, Calls] = {
    "create": [
        ("obsidian_create_note", {"name": "Meeting Notes", "content": "# Meeting Notes\n\n- Agenda item 1"}),
        ("obsidian_create_note", {"name": "New/Deep/Note", "content": "tab\there\nand an end\n"}),
        ("obsidian_create_note", {"name": "Bare"}),
        ("obsidian_read_note", {"file": "Meeting Notes"}),
    ],
    "create what is there": [
        ("obsidian_create_note", {"name": "Home", "content": "no"}),
        ("obsidian_create_note", {"name": "Home", "content": "one\ntwo\n", "overwrite": True}),
        ("obsidian_create_note", {"name": "Ideas/Empty", "content": "new", "overwrite": True}),
        ("obsidian_create_note", {"name": "Home", "template": "Meeting", "overwrite": True}),
    ],
    "create from a template": [
        ("obsidian_create_note", {"name": "Monday", "template": "Meeting"}),
        ("obsidian_create_note", {"name": "Tuesday", "template": "Meeting", "content": "Me"}),
        ("obsidian_create_note", {"name": "Wednesday", "template": "Nothing"}),
    ],
    "create what cannot be": [
        ("obsidian_create_note", {"name": "../outside"}),
        ("obsidian_create_note", {"name": ".hidden"}),
        ("obsidian_create_note", {"name": "a:b"}),
        ("obsidian_create_note", {"content": "no name"}),
    ],
    "content with backslashes": [
        ("obsidian_create_note", {"name": "Formula", "content": "$\\nu \\times \\theta$ and a \\\\n"}),
        ("obsidian_append_note", {"file": "Formula", "content": "$\\tau$"}),
        ("obsidian_prepend_note", {"file": "Formula", "content": "\\new"}),
        ("obsidian_create_note", {"name": "Formula", "content": "\\t", "overwrite": True}),
    ],
    "read": [
        ("obsidian_read_note", {"file": "home"}),
        ("obsidian_read_note", {"path": "Ideas/Garden.md"}),
        ("obsidian_read_note", {"file": "Empty"}),
        ("obsidian_read_note", {"file": "[[Plan#Next]]"}),
    ],
    "which note": [
        ("obsidian_read_note", {"file": "Nowhere"}),
        ("obsidian_read_note", {"file": "Same"}),
        ("obsidian_read_note", {"path": "Garden.md"}),
        ("obsidian_read_note", {"path": "../outside.md"}),
        ("obsidian_read_note", {"file": "Home", "path": "Home.md"}),
        ("obsidian_read_note", {}),
        ("obsidian_open_note", {"file": "Nowhere"}),
        ("obsidian_delete_note", {"file": "Same"}),
    ],
    "append": [
        ("obsidian_append_note", {"file": "Garden", "content": "More\nand more"}),
        ("obsidian_append_note", {"path": "Ideas/Empty.md", "content": "First"}),
        ("obsidian_append_note", {"path": "Ideas/Empty.md", "content": "Second\n"}),
        ("obsidian_append_note", {"file": "Garden", "content": ""}),
    ],
    "prepend": [
        ("obsidian_prepend_note", {"file": "Home", "content": "Below the properties"}),
        ("obsidian_prepend_note", {"file": "Garden", "content": "On top\n"}),
        ("obsidian_prepend_note", {"file": "Empty", "content": "Alone"}),
    ],
    "move": [
        ("obsidian_move_note", {"file": "Garden", "to": "Projects"}),
        ("obsidian_move_note", {"path": "Projects/Garden.md", "to": "New/Folder/"}),
        ("obsidian_move_note", {"file": "Garden", "to": "Projects/Herbs.md"}),
        ("obsidian_move_note", {"file": "Herbs", "to": "/"}),
        ("obsidian_move_note", {"file": "Herbs", "to": "Home.md"}),
        ("obsidian_move_note", {"file": "Herbs", "to": "../out.md"}),
        ("obsidian_backlinks", {"file": "Home"}),
    ],
    "rename": [
        ("obsidian_rename_note", {"file": "Plan", "name": "Roadmap"}),
        ("obsidian_rename_note", {"file": "Roadmap", "name": "v1.2 plan"}),
        ("obsidian_rename_note", {"file": "Garden", "name": "a/b"}),
        ("obsidian_links", {"file": "Home"}),
    ],
    "delete": [
        ("obsidian_delete_note", {"file": "Garden"}),
        ("obsidian_delete_note", {"path": "Ideas/Empty.md", "permanent": True}),
        ("obsidian_read_note", {"file": "Garden"}),
    ],
    "daily": [
        ("obsidian_read_daily", {}),
        ("obsidian_append_daily", {"content": "- [ ] Buy groceries"}),
        ("obsidian_prepend_daily", {"content": "# Today"}),
        ("obsidian_append_daily", {"content": "Late"}),
        ("obsidian_read_daily", {}),
    ],
    "daily prepended": [("obsidian_prepend_daily", {"content": "# Today"})],
    "search": [
        ("obsidian_search", {"query": "needle"}),
        ("obsidian_search", {"query": "needle", "limit": 1}),
        ("obsidian_search", {"query": "needle", "case": True}),
        ("obsidian_search", {"query": "needle", "path": "Ideas"}),
        ("obsidian_search", {"query": "garden"}),
        ("obsidian_search", {"query": "no such word"}),
    ],
    "tags": [
        ("obsidian_tags", {}),
        ("obsidian_tags", {"file": "Home"}),
        ("obsidian_tags", {"file": "Garden"}),
        ("obsidian_tag", {"name": "work"}),
        ("obsidian_tag", {"name": "#START"}),
        ("obsidian_tag", {"name": "nothing"}),
    ],
    "properties": [
        ("obsidian_properties", {}),
        ("obsidian_note_properties", {"file": "Home"}),
        ("obsidian_note_properties", {"file": "Garden"}),
        ("obsidian_set_property", {"name": "status", "value": "draft: 1", "file": "Garden", "type": "text"}),
        ("obsidian_set_property", {"name": "rating", "value": "5", "type": "number", "file": "Home"}),
        ("obsidian_set_property", {"name": "done", "value": "true", "type": "checkbox", "file": "Home"}),
        ("obsidian_set_property", {"name": "people", "value": "Ann, Bob", "type": "list", "file": "Home"}),
        ("obsidian_set_property", {"name": "people", "value": '["Cleo"]', "file": "Home"}),
        ("obsidian_set_property", {"name": "due", "value": "2026-01-31", "type": "date", "file": "Home"}),
        ("obsidian_remove_property", {"name": "rating", "file": "Home"}),
        ("obsidian_remove_property", {"name": "rating", "file": "Home"}),
        ("obsidian_properties", {}),
    ],
    "links": [
        ("obsidian_links", {"file": "Home"}),
        ("obsidian_links", {"file": "Plan"}),
        ("obsidian_backlinks", {"file": "Plan"}),
        ("obsidian_backlinks", {"file": "Home"}),
        ("obsidian_backlinks", {"file": "Empty"}),
    ],
    "outline": [("obsidian_outline", {"file": "Home"}), ("obsidian_outline", {"file": "Garden"})],
    "tasks": [
        ("obsidian_tasks", {}),
        ("obsidian_tasks", {"status": "todo"}),
        ("obsidian_tasks", {"status": "done"}),
        ("obsidian_tasks", {"file": "Plan"}),
        ("obsidian_tasks", {"limit": 1}),
        ("obsidian_tasks", {"file": "Garden"}),
    ],
    "tasks set": [
        ("obsidian_set_task", {"file": "Home", "line": 15}),
        ("obsidian_set_task", {"file": "Home", "line": 15, "status": "x"}),
        ("obsidian_set_task", {"file": "Home", "line": 16, "status": " "}),
        ("obsidian_set_task", {"file": "Plan", "line": 7, "status": "/"}),
        ("obsidian_set_task", {"file": "Plan", "line": 1}),
        ("obsidian_set_task", {"file": "Plan", "line": 700}),
        ("obsidian_set_task", {"file": "Plan", "line": 7, "status": "]"}),
        ("obsidian_set_task", {"file": "Plan", "line": 7, "status": "ab"}),
        ("obsidian_tasks", {}),
    ],
    "templates": [
        ("obsidian_templates", {}),
        ("obsidian_read_template", {"name": "Meeting"}),
        ("obsidian_read_template", {"name": "Nothing"}),
    ],
    "bookmarks and bases": [
        ("obsidian_bookmarks", {}),
        ("obsidian_bases", {}),
        ("obsidian_query_base", {"path": "Home.md"}),
        ("obsidian_query_base", {"path": "Books.base"}),
        ("obsidian_create_in_base", {"path": "Books.base", "name": "Emma", "content": "One.\n"}),
        ("obsidian_create_in_base", {"path": "Books.base", "name": "Emma"}),
        ("obsidian_create_in_base", {"path": "Books.base", "name": "Emma", "view": "Nothing"}),
        ("obsidian_base_views", {"path": "Books.base"}),
        ("obsidian_base_views", {"path": "Nothing.base"}),
    ],
    "history": [
        ("obsidian_append_note", {"file": "Garden", "content": "one"}),
        ("obsidian_append_note", {"file": "Garden", "content": "two"}),
        ("obsidian_read_history", {"file": "Garden", "version": 1}),
        ("obsidian_read_history", {"file": "Garden", "version": 2}),
        ("obsidian_history", {"file": "Empty"}),
    ],
}


@pytest.mark.parametrize("case", SAME)
def test_each_call_is_answered_as_recorded_and_leaves_the_notes_as_recorded(files: Backend, case: str) -> None:
    before = files.notes()
    answers = [files.call(tool, **arguments) for tool, arguments in SAME[case]]
    told = json.loads(re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ", "TIME", json.dumps(answers)))
    changed = {path: text for path, text in files.notes().items() if before.get(path) != text}
    assert told == ANSWERS[case]["answers"]
    assert changed == ANSWERS[case]["changed"]
    assert sorted(before.keys() - files.notes().keys()) == ANSWERS[case]["gone"]


def test_the_table_has_every_tool_but_those_only_the_app_has(files: Backend) -> None:
    called = {tool for calls in SAME.values() for tool, _ in calls}
    assert set(files.tools) - called == {"obsidian_commands", "obsidian_workspace", "obsidian_eval"}


def test_the_table_has_a_call_of_every_tool_that_succeeds(notes: Path, tmp_path: Path) -> None:
    succeeded: set[str] = set()
    for number, calls in enumerate(SAME.values()):
        shutil.copytree(notes, tmp_path / str(number))
        backend = make_backend(tmp_path / str(number), command.Backend)
        succeeded |= {tool for tool, arguments in calls if isinstance(backend.call(tool, **arguments), dict)}
    assert set(backend.tools) - succeeded == {
        "obsidian_open_note",
        "obsidian_commands",
        "obsidian_workspace",
        "obsidian_eval",
    }


@pytest.mark.parametrize(
    ("file", "path", "code"),
    [
        ("", "Garden.md", "FILE_NOT_FOUND"),  # there is one, elsewhere
        ("", "Same.md", "AMBIGUOUS_NAME"),
        ("", "../outside.md", "PATH_OUTSIDE_VAULT"),
        ("Nowhere", "", "FILE_NOT_FOUND"),
        ("Same", "", "AMBIGUOUS_NAME"),
        ("Home", "Home.md", "INVALID_ARGUMENTS"),
        ("", "", "INVALID_ARGUMENTS"),
        (" ", " ", "INVALID_ARGUMENTS"),
    ],
)
def test_a_note_is_named_by_one_of_name_and_exact_path(files: Backend, file: str, path: str, code: str) -> None:
    before = files.notes()
    for tool in ("obsidian_read_note", "obsidian_delete_note", "obsidian_outline"):
        assert files.call(tool, file=file, path=path) == code
    assert files.notes() == before


def test_a_second_note_of_a_name_is_made_and_the_answer_names_what_else_was_edited(files: Backend) -> None:
    (files.root / "Sub").mkdir()
    (files.root / "Sub/Twin.md").write_text("one")
    (files.root / "Uses.md").write_text("See [[Twin]]")
    made = files.call("obsidian_create_note", name="Twin", content="two", overwrite=True)
    assert (made["path"], made["created"]) == ("Twin.md", True)
    assert (made["also_edited"], made["also_edited_count"]) == (["Uses.md"], 1)
    assert files.notes()["Sub/Twin.md"] == "one"
    assert files.notes()["Uses.md"] == "See [[Sub/Twin]]"
    moved = files.call("obsidian_move_note", path="Sub/Twin.md", to="Other.md")
    assert (moved["path"], moved["also_edited"]) == ("Other.md", ["Uses.md"])


def test_without_the_app_a_view_gives_texts_and_no_cell_looks_like_two(tmp_path: Path) -> None:
    write_vault(
        tmp_path,
        '=== A.md\n---\npages: 42\nread: true\nsays: "one\\ttwo\\nthree"\n---\n'
        "=== Books.base\nfilters: pages > 1\nviews:\n  - {type: table, name: All, order: [file.name, pages, read, says]}\n",
    )
    backend = make_backend(tmp_path, command.Backend)
    rows = backend.call("obsidian_query_base", path="Books.base", view="All")
    assert rows["columns"] == ["path", "file name", "pages", "read", "says"]
    assert rows["rows"] == [
        {"path": "A.md", "file name": "A", "pages": "42", "read": "true", "says": "one\ttwo\nthree"}
    ]
    assert list(rows["rows"][0]) == rows["columns"]
    outcome = invoke(*backend.tools["obsidian_query_base"], {"path": "Books.base"}, backend.vault, NO_PROGRESS)
    assert isinstance(outcome, Outcome)
    assert outcome.texts[0].splitlines()[1:] == [
        "path\tfile name\tpages\tread\tsays",
        "A.md\tA\t42\ttrue\tone two three",
    ]
    assert backend.call("obsidian_query_base", path="Books.base", view="Nope") == "INVALID_ARGUMENTS"


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("json", '[\n  {\n    "path": "A.md",\n    "file name": "A",\n    "pages": "4|2"\n  }\n]'),
        ("csv", "path,file name,pages\nA.md,A,4|2"),
        ("tsv", "path\tfile name\tpages\nA.md\tA\t4|2"),
        ("md", "| path | file name | pages |\n|---|---|---|\n| A.md | A | 4\\|2 |"),
        ("paths", "A.md"),
    ],
)
def test_the_rows_of_a_view_in_each_format(tmp_path: Path, form: str, text: str) -> None:
    write_vault(
        tmp_path,
        '=== A.md\n---\npages: "4|2"\n---\n'
        "=== Books.base\nfilters: pages\nviews:\n  - {type: table, name: All, order: [file.name, pages]}\n",
    )
    backend = make_backend(tmp_path, command.Backend)
    asked = {"path": "Books.base", "format": form}
    outcome = invoke(*backend.tools["obsidian_query_base"], asked, backend.vault, NO_PROGRESS)
    assert isinstance(outcome, Outcome)
    assert outcome.texts == [f"1 row of Books.base\n{text}"]
    assert outcome.data["rows"] == [{"path": "A.md", "file name": "A", "pages": "4|2"}]


def test_the_views_of_a_base_are_found_by_its_name(tmp_path: Path) -> None:
    write_vault(tmp_path, "=== Lists/Books.base\nviews: [{type: cards, name: All}]\n=== Home.md\n")
    backend = make_backend(tmp_path, command.Backend)
    assert backend.call("obsidian_base_views", path="Books")["views"] == [{"name": "All", "type": "cards"}]
    assert backend.call("obsidian_base_views", path="Home") == "INVALID_ARGUMENTS"
    assert backend.call("obsidian_base_views", path="Nothing") == "FILE_NOT_FOUND"


def test_columns_of_one_name_and_a_column_called_path_are_told_apart(tmp_path: Path) -> None:
    write_vault(
        tmp_path,
        "=== A.md\n---\nx: 1\ny: 2\npath: mine\n---\n"
        "=== B.base\nproperties: {x: {displayName: Same}, y: {displayName: Same}}\n"
        "filters: x\nviews: [{type: table, name: All, order: [x, y, path]}]\n",
    )
    shown = make_backend(tmp_path, command.Backend).call("obsidian_query_base", path="B.base")
    assert shown["columns"] == ["path", "Same", "Same 2", "path 2"]
    assert shown["rows"] == [{"path": "A.md", "Same": "1", "Same 2": "2", "path 2": "mine"}]
