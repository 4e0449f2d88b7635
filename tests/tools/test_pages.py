"""Pages of every list: they hold each entry once and leave none out, whatever is written between two pages."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.calls import attempt, call
from support.vaults import open_vault, write_vault
from vaultwire.toolkit.registry import Failure
from vaultwire.vault.disk.files import FileBytes, Files
from vaultwire.vault.errors import CURSOR_EXPIRED, INVALID_ARGUMENTS
from vaultwire.vault.value_types import VaultPath
from vaultwire.vault.vault import Vault

NOTES = 24
FOLDERS = ["", "Area/", "Area/Deep/", "Late/"]


def text_of(number: int, chance: random.Random) -> str:
    links = " ".join(f"[[Note {chance.randrange(NOTES):02}]]" for _ in range(3))
    return (
        f"---\naliases: [Other {number}]\nrank: {number}\nstate: open\nkey{number % 7}: x\n---\n"
        f"{links} [[Missing {number}]] [[Missing {number % 5}]] [[Hub]]\n#all #tag{number} #tag/t{number % 6}\n"
        f"- [ ] first {number}\n- [x] done {number}\n- [ ] second {number}\n"
    )


@pytest.fixture
def root(tmp_path: Path) -> Path:
    chance = random.Random(7)
    for number in range(NOTES):
        path = tmp_path / f"{FOLDERS[number % 4]}Note {number:02}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text_of(number, chance))
    (tmp_path / "Hub.md").write_text("".join(f"[[Note {number:02}]]\n" for number in range(0, NOTES, 2)) + "#all\n")
    return tmp_path


def write_something(root: Path, chance: random.Random) -> None:
    """Do what people and other programs do: write, create, delete and rename notes, and whole folders."""
    for _ in range(3):
        notes = sorted(root.rglob("Note *.md"))
        note = chance.choice(notes)
        act = chance.randrange(5)
        if act == 0:
            note.write_text("# New\n" + text_of(chance.randrange(100), chance))
        elif act == 1:
            note.unlink()
        elif act == 2:
            note.rename(note.with_name(f"Note {chance.choice('0159')} renamed {chance.randrange(10**9)}.md"))
        elif act == 3:
            number = chance.randrange(10**9)
            (root / chance.choice(FOLDERS) / f"Note {chance.randrange(30):02} {number}.md").write_text(
                text_of(number, chance)
            )
        else:
            with (root / "Hub.md").open("a") as hub:
                hub.write(f"[[Note {chance.randrange(NOTES):02}]] - [ ] more\n")


Key = Callable[[dict[str, Any]], Any]


def path_of(entry: dict[str, Any]) -> Any:
    return entry["path"]


def place_of(entry: dict[str, Any]) -> Any:
    return entry["path"], entry["line"]


# The tool, its arguments, the list in its data, and what names an entry.
LISTS: list[tuple[str, dict[str, Any], str, Key]] = [
    ("list_notes", {}, "notes", path_of),
    ("list_notes", {"folder": "Area"}, "notes", path_of),
    ("find_notes", {}, "notes", path_of),
    ("find_notes", {"sort": "modified"}, "notes", path_of),
    ("find_notes", {"sort": "size", "tags": ["all"]}, "notes", path_of),
    ("find_notes", {"name": "note"}, "notes", path_of),
    ("find_notes", {"name": "other", "sort": "name"}, "notes", path_of),
    ("find_notes", {"properties": ["rank>3"]}, "notes", path_of),
    ("search_by_tags", {"tags": ["all", "tag"], "match": "any"}, "notes", path_of),
    ("list_tasks", {}, "tasks", place_of),
    ("list_tasks", {"status": "any", "text": "o"}, "tasks", place_of),
    ("vault_overview", {"what": "tags"}, "tags", lambda entry: entry["tag"]),
    ("vault_overview", {"what": "properties"}, "properties", lambda entry: entry["name"]),
    ("vault_overview", {"what": "values", "name": "rank"}, "values", lambda entry: entry["value"]),
    ("list_links", {"path": "Hub"}, "links", lambda entry: entry["line"]),
    ("list_links", {"path": "Hub", "what": "in"}, "backlinks", place_of),
    ("list_links", {"what": "neighbours", "path": "Hub", "depth": 3}, "files", path_of),
    ("list_links", {"what": "orphans"}, "files", path_of),
    ("list_links", {"what": "hubs"}, "files", path_of),
    ("list_links", {"what": "dead_ends"}, "files", path_of),
    ("list_links", {"what": "unresolved"}, "names", lambda entry: entry["name"]),
]


@pytest.mark.parametrize(
    ("tool", "arguments", "key", "name_of"), LISTS, ids=[f"{tool} {arguments}" for tool, arguments, *_ in LISTS]
)
def test_pages_show_one_state_of_the_vault(
    root: Path, tool: str, arguments: dict[str, Any], key: str, name_of: Key
) -> None:
    for seed in range(3):
        chance = random.Random(f"{tool} {arguments} {seed}")
        vault = open_vault(root)
        before = call(vault, tool, **arguments, limit=1000).data
        whole = [name_of(entry) for entry in before[key]]
        texts = {note.relative_to(root).as_posix(): note.read_text() for note in root.rglob("*.md")}
        seen: list[Any] = []
        cursor: dict[str, str] = {}
        while True:
            data = call(vault, tool, **arguments, **cursor, limit=3).data
            assert data["total"] == before["total"]
            seen += [name_of(entry) for entry in data[key]]
            if "next_cursor" not in data:
                break
            cursor = {"cursor": data["next_cursor"]}
            write_something(root, chance)
        assert len(seen) == len(set(seen))
        assert seen == [name for name in whole if name in set(seen)], "in the order of the first page's state"
        for name in set(whole) - set(seen):  # only what is really gone
            path = name[0] if isinstance(name, tuple) else name
            assert not (root / path).is_file() or (isinstance(name, tuple) and (root / path).read_text() != texts[path])


def test_pages_of_a_check_hold_every_file_once(root: Path) -> None:
    chance = random.Random(3)
    vault = open_vault(root)
    whole = list(dict.fromkeys(fault["path"] for fault in call(vault, "check_notes", limit=1000).data["faults"]))
    seen: list[str] = []
    checked = 0
    cursor: dict[str, str] = {}
    while True:
        data = call(vault, "check_notes", **cursor, limit=4).data
        seen += dict.fromkeys(fault["path"] for fault in data["faults"])
        checked += data["files_checked"]
        if "next_cursor" not in data:
            break
        cursor = {"cursor": data["next_cursor"]}
        write_something(root, chance)
    assert checked == data["files_total"] == NOTES + 1
    assert seen == [path for path in whole if path in seen]
    assert len(seen) == len(set(seen))
    assert {path for path in whole if (root / path).is_file()} <= set(seen)


def test_pages_of_a_check_tell_faults_from_files(tmp_path: Path) -> None:
    vault = open_vault(write_vault(tmp_path, "=== A.md\n[[x]] [[y]]\n=== B.md\n[[z]]\n=== C.md\n[[w]]\n=== D.md\n"))
    first = call(vault, "check_notes", limit=2)
    cursor = first.data["next_cursor"]
    lines = first.texts[0].split("\n")
    assert lines[0] == "First 2 faults (1 of 4 files checked):"
    assert lines[-1] == f"To check the other 3 files pass cursor {cursor!r}."
    following = call(vault, "check_notes", limit=1, cursor=cursor)
    assert following.texts[0].startswith("Next 1 fault (2 of 4 files checked):")
    last = call(vault, "check_notes", cursor=following.data["next_cursor"]).texts[0]
    assert last.startswith("Last 1 fault (4 of 4 files checked):")
    assert call(vault, "check_notes").texts[0].startswith("4 faults in 3 of 4 files:")


@pytest.fixture
def vault(root: Path) -> Vault:
    return open_vault(root)


@pytest.mark.parametrize(
    ("tool", "arguments", "key", "_"), LISTS, ids=[f"{tool} {arguments}" for tool, arguments, *_ in LISTS]
)
def test_a_cursor_says_why_it_cannot_be_used(
    vault: Vault, tool: str, arguments: dict[str, Any], key: str, _: Key
) -> None:
    first = call(vault, tool, **arguments, limit=2).data
    for number in range(20):  # more lists than are kept for one caller
        call(vault, "find_notes", name=f"note {number % 4}", sort="path", limit=1)
    expired = attempt(vault, tool, **arguments, limit=2, cursor=first.get("next_cursor", "00000000.2"))
    assert isinstance(expired, Failure)
    assert (expired.code, "without a cursor" in expired.message) == (CURSOR_EXPIRED, True)
    other = call(vault, "vault_overview", what="tags", folder="Area", limit=1).data["next_cursor"]
    for wrong in (other, "2", "x.1", "0123456.1", "é"):
        failure = attempt(vault, tool, **arguments, limit=2, cursor=wrong)
        assert isinstance(failure, Failure)
        assert failure.code == INVALID_ARGUMENTS


def test_a_page_reads_only_its_own_notes(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for note in root.rglob("*.md"):
        os.utime(note, (1_700_000_000, 1_700_000_000))  # what changed just now is read again
    vault = open_vault(root)
    first = call(vault, "list_links", path="Hub", limit=3, what="in").data
    read: list[str] = []
    original = Files.read

    def counted(files: Files, path: VaultPath, max_bytes: int | None = None) -> FileBytes:
        read.append(path)
        return original(files, path, max_bytes)

    monkeypatch.setattr(Files, "read", counted)
    page = call(vault, "list_links", path="Hub", limit=3, cursor=first["next_cursor"], what="in").data
    assert read == [entry["path"] for entry in page["backlinks"]]
