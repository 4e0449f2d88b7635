"""``vaultwire obsidian``: outputs of Obsidian's own command as they were recorded, and its documentation's examples."""

from __future__ import annotations

import json
import os
import random
import re
import shlex
import subprocess
from datetime import date
from pathlib import Path

import pytest

from support.command_line import run_command
from support.obsidian_app import Computer
from support.vaults import snapshot, write_vault
from vaultwire.obsidian.command import is_shim
from vaultwire.obsidian_cli.commands import APP, COMMANDS, FILES, GROUPS, NOWHERE, Line

DOCS = Path(__file__).resolve().parents[2] / "docs"

VAULT = """
=== Alpha.md
---
tags: [foo, bar]
aliases: [A1, Shared]
status: draft
count: 2
empty:
---
# Alpha
#foo #baz

[[Note]] [[Note]] [[Missing]]
=== Beta.md
---
tags:
  - foo
aliases: Shared
done: false
---
body #qux #Baz

[[Note]] [[Missing]] [[Ghost#Part]]
=== Doc.md
# A
## B
### C
## D
# E
=== Folder/Nested/Deep.md
deep!
=== Folder/Sub.md
sub
=== Lists.md
- [ ] Water the tomatoes
- [x] Buy seeds
  - [-] Sow
=== Note.md
hello world
=== Pic.png
no picture
=== Books.base
views:
  - type: table
    name: All
    filters: 'file.hasTag("foo")'
    order: [file.name, status]
=== One/Same.md
one
=== Two/Other/Same.md
two
=== Templates/Trip.md
# {{title}}

Went there.
=== .obsidian/templates.json
{"folder": "Templates"}
=== .obsidian/daily-notes.json
{"folder": "Daily"}
=== .obsidian/bookmarks.json
{"items": [{"type": "file", "path": "Note.md", "title": "Start"}, {"type": "search", "query": "hello"}]}
"""

TODAY = f"{date.today():%Y-%m-%d}"  # noqa: DTZ011 - the day that the person's clock shows
NO_ACTIVE = "Error: No active file. Use file=<name> or path=<path> to specify a file."

# Command line and answer. Forms and error texts are those recorded of the app's command, where there is a recording.
READING = {
    "files folder=Folder": "Folder/Nested/Deep.md\nFolder/Sub.md",
    "files folder=Folder/ ext=.md total": "2",
    "files ext=png": "Pic.png",
    "files folder=Nope": 'Error: Folder "Nope" not found.',
    "folders folder=Folder": "Folder\nFolder/Nested",
    "folders total": "7",
    "folder path=Folder": "path\tFolder\nfiles\t2\nfolders\t1\nsize\t10",
    "folder path=Folder info=size": "10",
    "folder path=Nope": 'Error: Folder "Nope" not found.',
    "folder path=Folder/Sub.md": 'Error: "Folder/Sub.md" is a file, not a folder.',
    "read file=Note": "hello world\n",
    "read path=Folder/Sub.md": "sub\n",
    "read path=Books.base": "views:\n  - type: table\n    name: All\n    filters: 'file.hasTag(\"foo\")'\n"
    "    order: [file.name, status]\n",
    "read path=Nope.md": 'Error: File "Nope.md" not found.',
    "read path=../Nope.md": 'Error: File "../Nope.md" not found.',
    "read path=Folder": 'Error: "Folder" is a folder, not a file.',
    "read file=Ghost": 'Error: File "Ghost" not found.',
    "read file=Same": "one\n",  # as a link: the shortest path
    "read": NO_ACTIVE,
    "tags": "#bar\n#baz\n#foo\n#qux",
    "tags counts": "#bar\t1\n#baz\t2\n#foo\t3\n#qux\t1",
    "tags counts sort=count": "#foo\t3\n#baz\t2\n#bar\t1\n#qux\t1",
    "tags total": "4",
    "tags counts format=csv": "#bar,1\n#baz,2\n#foo,3\n#qux,1",
    "tags path=Alpha.md counts": "#bar\t1\n#baz\t1\n#foo\t2",
    "tags file=Note": "No tags found.",
    "tags active": NO_ACTIVE,
    "tag name=foo": "Alpha.md\nBeta.md",
    "tag name=#bar": "Alpha.md",
    "tag name=foo total": "3",
    "tag name=foo verbose": "#foo\t3\nAlpha.md\nBeta.md",
    "tag name=nope": 'Error: Tag "#nope" not found.',
    "properties": "aliases\ncount\ndone\nempty\nstatus\ntags",
    "properties counts": "aliases\t2\ncount\t1\ndone\t1\nempty\t1\nstatus\t1\ntags\t2",
    "properties total": "6",
    "properties name=Status": "1",
    "properties name=zzz": 'Error: Property "zzz" not found.',
    "properties file=Alpha": "tags: [foo, bar]\naliases: [A1, Shared]\nstatus: draft\ncount: 2\nempty:",
    "properties file=Alpha format=tsv": "tags\tfoo, bar\naliases\tA1, Shared\nstatus\tdraft\ncount\t2",
    "properties file=Note": "No frontmatter found.",
    "property:read name=status path=Alpha.md": "draft",
    "property:read name=count path=Alpha.md": "2",
    "property:read name=done path=Beta.md": "false",
    "property:read name=aliases path=Alpha.md": "A1\nShared",
    "property:read name=empty path=Alpha.md": "(empty)",
    "property:read name=nope path=Alpha.md": 'Error: Property "nope" not found.',
    "aliases": "A1\nShared",
    "aliases verbose": "A1\tAlpha.md\nShared\tAlpha.md, Beta.md",
    "aliases file=Beta total": "1",
    "aliases file=Note": "No aliases found.",
    "backlinks path=Note.md": "Alpha.md\nBeta.md",
    "backlinks path=Note.md counts": "Alpha.md\t2\nBeta.md\t1",
    "backlinks path=Note.md total": "3",
    "backlinks path=Alpha.md": "No backlinks found.",
    "backlinks path=Note.md counts format=csv": "Alpha.md,2\nBeta.md,1",
    "backlinks path=Note.md counts format=xml": "Alpha.md\t2\nBeta.md\t1",
    "links path=Beta.md": "Ghost (unresolved)\nMissing (unresolved)\nNote.md",
    "links path=Beta.md total": "3",
    "links path=Note.md": "No links found.",
    "unresolved": "Ghost\nMissing",
    "unresolved counts": "Ghost\t1\nMissing\t2",
    "unresolved verbose": "Ghost\t1\tBeta.md\nMissing\t2\tAlpha.md, Beta.md",
    "unresolved verbose format=csv": 'Ghost,1,Beta.md\nMissing,2,"Alpha.md, Beta.md"',
    "unresolved total": "2",
    "orphans total": "11",
    "deadends total": "10",
    "outline path=Doc.md": "├── A\n│   ├── B\n│   │   └── C\n│   └── D\n└── E",
    "outline path=Doc.md format=garbage": "├── A\n│   ├── B\n│   │   └── C\n│   └── D\n└── E",
    "outline path=Doc.md format=md": "# A\n## B\n### C\n## D\n# E",
    "outline path=Doc.md total": "5",
    "outline path=Note.md total": "No headings found.",
    "outline path=Pic.png": "Error: File is not a markdown file.",
    "wordcount path=Note.md": "words: 2\ncharacters: 11",
    "wordcount path=Note.md words": "2",
    "wordcount path=Note.md words characters": "words: 2\ncharacters: 11",
    "wordcount path=Pic.png": "Error: Word count is only available for markdown files.",
    "search query=hello": "Note.md",
    "search query=hello total": "1",
    "search query=hello total format=json": '{"total":1}',
    "search query=zzzz format=json": "No matches found.",
    "search query=HELLO case": "No matches found.",
    "search query=sub path=Folder": "Folder/Sub.md",
    "search query=sub path=Nope": "No matches found.",
    "search query=e limit=1 format=json": '["Alpha.md"]',
    "search:context query=tomatoes": "Lists.md:1: - [ ] Water the tomatoes",
    "search:context query=file:Doc": "Doc.md",
    "search:context query=hello format=json": '[{"file":"Note.md","matches":[{"line":1,"text":"hello world"}]}]',
    "search query=": "Error: Missing required parameter: query\nUsage: search query=<text> [path=<folder>] [limit=<n>] "
    "[format=text|json] [total] [case]",
    "tasks": "- [ ] Water the tomatoes\n- [x] Buy seeds\n- [-] Sow",
    "tasks todo": "- [ ] Water the tomatoes",
    "tasks done total": "2",
    "tasks status=-": "- [-] Sow",
    "tasks file=Lists verbose": "Lists.md\n1\t- [ ] Water the tomatoes\n2\t- [x] Buy seeds\n3\t- [-] Sow",
    "tasks file=Note": "No tasks found.",
    "tasks format=csv done": "x,Buy seeds,Lists.md,2\n-,Sow,Lists.md,3",
    "task ref=Lists.md:2": "Lists.md:2\t- [x] Buy seeds",
    "task file=Lists line=9": "Error: No task found at line 9 of Lists.md.",
    "templates": "Trip",
    "templates total": "1",
    "template:read name=trip": "# {{title}}\n\nWent there.\n",
    "template:read name=Trip.md title=Rome resolve": "# Rome\n\nWent there.\n",
    "template:read name=Nope": 'Error: Template "Nope" not found.',
    "daily:path": f"Daily/{TODAY}.md",
    "daily:read": f'Error: File "Daily/{TODAY}.md" not found.',
    "tasks daily": f'Error: File "Daily/{TODAY}.md" not found.',
    "bases": "Books.base",
    "base:views file=Books": "All\ttable",
    "base:query file=Books format=tsv": "path\tfile name\tstatus\nAlpha.md\tAlpha\tdraft\nBeta.md\tBeta\t",
    "base:query path=Books.base view=All format=paths": "Alpha.md\nBeta.md",
    "base:query path=Note.md": "Error: File is not a base file.",
    "bookmarks": "Note.md\nhello",
    "bookmarks verbose": "Note.md\tfile\nhello\tsearch",
    "bookmarks total": "2",
    "history path=Note.md": "No history found.",
    "history:list": "No history found.",
    "history:read path=Note.md": "Error: Version 1 not found.",
    "random:read folder=Folder/Nested": "Folder/Nested/Deep.md\n\ndeep!\n",
    "random:read folder=Nope": "No markdown files found.",
    "vault info=files": "12",
    "vault info=folders": "6",
    "fils": 'Error: Command "fils" not found. Did you mean: files, file?',
    "zzzzzz": 'Error: Command "zzzzzz" not found. It may require a plugin to be enabled.',
    "append path=Note.md": "Error: Missing required parameter: content=<text>\n"
    "Usage: append [file=<name>] [path=<path>] content=<text> [inline]",
    "append path=Note.md content=": "Error: Missing required parameter: content\n"
    "Usage: append [file=<name>] [path=<path>] content=<text> [inline]",
    "move path=Note.md": "Error: Missing required parameter: to=<path>\nUsage: move [file=<name>] [path=<path>] to=<path>",
    "rename path=Note.md": "Error: Missing required parameter: name=<name>\n"
    "Usage: rename [file=<name>] [path=<path>] name=<name>",
}

# Command lines in their order, the answer of the last, a file, and what it holds then (None: it is gone).
CHANGING: list[tuple[list[str], str, str, str | None]] = [
    (["create"], "Created: Untitled.md", "Untitled.md", ""),
    (["create name=Fresh content='a\\nb\\tc'"], "Created: Fresh.md", "Fresh.md", "a\nb\tc"),
    (["create path=Folder/ name=New"], "Created: Folder/New.md", "Folder/New.md", ""),
    (["create path=Far/Away/Leaf content=x"], "Created: Far/Away/Leaf.md", "Far/Away/Leaf.md", "x"),
    (["create name=Note content=x"], "Created: Note 1.md", "Note.md", "hello world\n"),
    (["create name=Note overwrite content=new"], "Overwrote: Note.md", "Note.md", "new\n"),
    (["create name=Solo overwrite"], "Created: Solo.md", "Solo.md", ""),
    (
        ["create name='Trip to Paris' template=Trip"],
        "Created: Trip to Paris.md",
        "Trip to Paris.md",
        "# Trip to Paris\n\nWent there.\n",
    ),
    (["create path=Far/Board.canvas content={}"], "Created: Far/Board.canvas", "Far/Board.canvas", "{}"),
    (["create name=Empty.canvas"], "Created: Empty.canvas", "Empty.canvas", ""),
    (["create path=Books.base content='views: []'"], "Created: Books 1.base", "Books 1.base", "views: []"),
    (["create path=Books.base overwrite content='views: []'"], "Overwrote: Books.base", "Books.base", "views: []"),
    (["create name=New.base overwrite content=x"], "Created: New.base", "New.base", "x"),
    (["create path=../out.canvas"], "", "../out.canvas", None),
    (["create name=a/b"], 'Error: name cannot contain "/". Use path for a full file path.', "a/b.md", None),
    (["create name=T template=Nope"], 'Error: Template "Nope" not found.', "T.md", None),
    (["create path=../out"], "", "../out.md", None),
    (["append path=Note.md content=more"], "Appended to: Note.md", "Note.md", "hello world\nmore\n"),
    (["append file=Note content=! inline"], "Appended to: Note.md", "Note.md", "hello world\n!\n"),
    (
        ["append file=Same content=x"],
        'Error: "Same" matches several files: One/Same.md, Two/Other/Same.md. Use path=<path>.',
        "One/Same.md",
        "one\n",
    ),
    (["prepend path=Note.md content=top"], "Prepended to: Note.md", "Note.md", "top\nhello world\n"),
    (["prepend path=Note.md content=> inline"], "Prepended to: Note.md", "Note.md", ">hello world\n"),
    (["move path=Note.md to=Folder"], "Moved: Note.md -> Folder/Note.md", "Folder/Note.md", "hello world\n"),
    (["move path=Folder/Sub.md to=/"], "Moved: Folder/Sub.md -> Sub.md", "Sub.md", "sub\n"),
    (["move path=Note.md to=Folder/New.md"], "Moved: Note.md -> Folder/New.md", "Note.md", None),
    (["rename path=Folder/Sub.md name=New"], "Renamed: Folder/Sub.md -> Folder/New.md", "Folder/New.md", "sub\n"),
    (["delete path=Note.md"], "Moved to trash: Note.md", ".trash/Note.md", "hello world\n"),
    (["delete path=Note.md permanent=false"], "Moved to trash: Note.md", ".trash/Note.md", "hello world\n"),
    (["delete file=Note permanent"], "Deleted permanently: Note.md", "Note.md", None),
    (["delete"], NO_ACTIVE, "Note.md", "hello world\n"),
    (
        ["property:set name=status value=final path=Note.md"],
        "Set status: final",
        "Note.md",
        "---\nstatus: final\n---\nhello world\n",
    ),
    (
        ["property:set name=n value=abc type=number path=Note.md"],
        "Error: Invalid number: abc",
        "Note.md",
        "hello world\n",
    ),
    (
        ["property:set name=d value=nope type=date path=Note.md"],
        "Error: Invalid date format. Use YYYY-MM-DD",
        "Note.md",
        "hello world\n",
    ),
    (
        ["property:set name=flag value=1 type=checkbox path=Note.md"],
        "Set flag: 1",
        "Note.md",
        "---\nflag: true\n---\nhello world\n",
    ),
    (
        ["property:set name=l value='a, b' type=list path=Note.md", "property:read name=l path=Note.md"],
        "a\nb",
        "Note.md",
        "---\nl:\n  - a\n  - b\n---\nhello world\n",
    ),
    (
        ["property:remove name=done path=Beta.md", "property:remove name=ghost path=Beta.md"],
        "Removed: ghost",
        "Pic.png",
        "no picture\n",
    ),
    (
        ["task ref=Lists.md:1 toggle"],
        "Lists.md:1\t- [x] Water the tomatoes",
        "Lists.md",
        "- [x] Water the tomatoes\n- [x] Buy seeds\n  - [-] Sow\n",
    ),
    (
        ["task file=Lists line=2 todo"],
        "Lists.md:2\t- [ ] Buy seeds",
        "Lists.md",
        "- [ ] Water the tomatoes\n- [ ] Buy seeds\n  - [-] Sow\n",
    ),
    (
        ["task file=Lists line=3 status=?"],
        "Lists.md:3\t- [?] Sow",
        "Lists.md",
        "- [ ] Water the tomatoes\n- [x] Buy seeds\n  - [?] Sow\n",
    ),
    (
        ["daily:append content='- [ ] Buy groceries'", "tasks daily"],
        "- [ ] Buy groceries",
        f"Daily/{TODAY}.md",
        "- [ ] Buy groceries",
    ),
    (
        ["daily:append content=one", "daily:prepend content=two"],
        f"Prepended to: Daily/{TODAY}.md",
        f"Daily/{TODAY}.md",
        "two\none",
    ),
    (["base:create file=Books name=Dune"], "Created: Dune.md", "Dune.md", "---\ntags:\n  - foo\n---\n"),
    (
        ["append path=Note.md content=two", "history:read path=Note.md"],
        "hello world\n",
        "Note.md",
        "hello world\ntwo\n",
    ),
    (
        ["append path=Note.md content=two", "history:restore path=Note.md version=1"],
        "Restored: Note.md (version 1)",
        "Note.md",
        "hello world\n",
    ),
    (["append path=Note.md content=two", "history:list"], "Note.md", "Note.md", "hello world\ntwo\n"),
    (
        ["append path=Note.md content=two", "diff path=Note.md from=1"],
        "--- a/Note.md\n+++ b/Note.md\n@@ -1 +1,2 @@\n hello world\n+two",
        "Note.md",
        "hello world\ntwo\n",
    ),
]


@pytest.fixture(scope="module")
def read_vault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_vault(tmp_path_factory.mktemp("read") / "Notes", VAULT)


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "Notes", VAULT)


def answer(vault: Path, line: str) -> str:
    """Return what a command prints: it ends with 0, as the app's command does also with its errors."""
    ended = run_command("obsidian", "--vault", str(vault), *shlex.split(line))
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout.removesuffix("\n")


@pytest.mark.parametrize("line", READING)
def test_what_reads_answers_as_recorded(read_vault: Path, line: str) -> None:
    before = snapshot(read_vault)
    assert answer(read_vault, line) == READING[line]
    assert snapshot(read_vault) == before


@pytest.mark.parametrize(("lines", "said", "path", "content"), CHANGING, ids=[each[0][0] for each in CHANGING])
def test_what_changes_answers_as_recorded_and_changes_just_that(
    vault: Path, lines: list[str], said: str, path: str, content: str | None
) -> None:
    endings = [run_command("obsidian", "--vault", str(vault), *shlex.split(line)) for line in lines]
    assert endings[-1].stdout.removesuffix("\n") == said
    assert endings[-1].returncode == (0 if said else 1), endings[-1].stderr
    there = vault / path
    assert (there.read_bytes().decode() if there.is_file() else None) == content


@pytest.mark.parametrize(
    ("line", "data"),
    [
        (
            "tags file=Beta counts format=json",
            [{"tag": "#Baz", "count": "1"}, {"tag": "#foo", "count": "1"}, {"tag": "#qux", "count": "1"}],
        ),
        ("backlinks path=Note.md counts json", [{"file": "Alpha.md", "count": "2"}, {"file": "Beta.md", "count": "1"}]),
        ("unresolved --json", [{"link": "Ghost"}, {"link": "Missing"}]),
        ("properties file=Beta format=json", {"tags": ["foo"], "aliases": "Shared", "done": False}),
        (
            "outline path=Doc.md json",
            [
                {"level": 1, "heading": "A", "line": 1},
                {"level": 2, "heading": "B", "line": 2},
                {"level": 3, "heading": "C", "line": 3},
                {"level": 2, "heading": "D", "line": 4},
                {"level": 1, "heading": "E", "line": 5},
            ],
        ),
        (
            "base:query file=Books",
            [
                {"path": "Alpha.md", "file name": "Alpha", "status": "draft"},
                {"path": "Beta.md", "file name": "Beta", "status": ""},
            ],
        ),
    ],
)
def test_json_is_what_programs_expect(read_vault: Path, line: str, data: object) -> None:
    assert json.loads(answer(read_vault, line)) == data


def test_facts_of_a_file_have_times_in_milliseconds(read_vault: Path) -> None:
    facts = dict(line.split("\t") for line in answer(read_vault, "file path=Folder/Sub.md").split("\n"))
    modified = os.stat(read_vault / "Folder/Sub.md").st_mtime_ns // 1_000_000
    made = int(facts.pop("created"))
    assert facts == {"path": "Folder/Sub.md", "name": "Sub", "extension": "md", "size": "4", "modified": str(modified)}
    assert made <= modified


def test_a_unique_note_begins_with_the_time(vault: Path) -> None:
    made = answer(vault, "unique name=Idea content=x")
    assert re.fullmatch(r"Created: \d{12} Idea\.md", made)
    assert (vault / made.removeprefix("Created: ")).read_text() == "x"


def test_every_change_can_be_undone(vault: Path) -> None:
    before = snapshot(vault)
    for line in (
        "append file=Note content=x",
        "move path=Note.md to=Folder",
        "property:set name=a value=b file=Doc",
        "delete file=Beta",
        "delete path=One/Same.md permanent",
    ):
        answer(vault, line)
    assert snapshot(vault) != before
    ended = run_command("undo", *"12345", "--vault", str(vault), "--yes")
    assert ended.returncode == 0, ended.stderr
    assert {path: each for path, each in snapshot(vault).items() if not path.startswith(".trash")} == before


# ---------------------------------------------------------------------- the table and the documentation


def test_the_page_lists_every_command_with_who_answers_it() -> None:
    rows = re.findall(r"^\| `([a-z:]+)[^`]*` \| (yes|app|no) \|", (DOCS / "obsidian-cli.md").read_text(), re.MULTILINE)
    answered = {FILES: "yes", APP: "app", NOWHERE: "no"}
    assert dict(rows) == {name: answered[command.where] for name, command in COMMANDS.items()}
    assert len(rows) == len(COMMANDS) == 115


def test_every_command_is_answered_by_a_function_or_the_app(read_vault: Path) -> None:
    for command in COMMANDS.values():
        given = [f"{name}=1" for name, (_, is_required) in command.takes.items() if is_required]
        ended = run_command("obsidian", "--vault", str(read_vault), command.name, *given)
        assert "Traceback" not in ended.stderr
        assert (ended.returncode == 1 and ended.stderr.count("\n") == 1) if command.where != FILES else ended.stdout, (
            command.name
        )


# The command lines in the documentation of the command, and whether the app must run for them.
EXAMPLES = """
help
daily !
daily:append content="- [ ] Buy groceries"
search query="meeting notes"
read
tasks daily
create name="Trip to Paris" template=Trip
tags counts
diff file=README from=1 to=3
devtools !
plugin:reload id=my-plugin !
dev:screenshot path=screenshot.png !
eval code="app.vault.getFiles().length" !
create
create name=Note content="Hello world"
create name=Note content="Hello" open overwrite
create name=Note content="# Title\\n\\nBody text"
vault=Notes daily !
vault="Notes" search query="test"
read file=Recipe
read path="Templates/Recipe.md"
read --copy
search query="TODO" --copy
diff
diff file=Recipe
diff file=Recipe from=1
diff file=Recipe from=2 to=1
diff filter=sync !
tasks
tasks todo
tasks file=Recipe done
tasks daily total
tasks verbose
tasks 'status=?'
task file=Recipe line=8
task ref="Recipe.md:8"
task ref="Recipe.md:8" toggle
task daily line=3 toggle
task file=Recipe line=8 done
task file=Recipe line=8 status=-
"""


@pytest.mark.parametrize("example", EXAMPLES.strip().splitlines())
def test_the_examples_of_the_documentation_are_understood(vault: Path, example: str) -> None:
    line = example.removesuffix(" !")
    ended = run_command("obsidian", "--vault", str(vault), *shlex.split(line))
    lines = ended.stderr.splitlines()
    if example.endswith("!"):
        assert (ended.returncode, ended.stdout, len(lines)) == (1, "", 1)
        assert "needs the Obsidian app" in lines[0]
    else:
        assert ended.returncode == 0, ended.stderr
        assert ended.stdout


def test_help_names_every_command_and_says_how_one_is_used() -> None:
    text = run_command("obsidian", "help").stdout
    assert all(re.search(rf"^  {name}[ *]", text, re.MULTILINE) for name in COMMANDS)
    assert all(f"\n{heading}:\n" in text for heading in GROUPS)
    assert run_command("obsidian", "--help").stdout == run_command("obsidian").stdout == text
    assert run_command("obsidian", "help", "daily").stdout.count("daily:") == 4
    assert run_command("obsidian", "help", "nope").stdout.startswith('Error: Command "nope" not found.')


# ---------------------------------------------------------------------- which vault


def test_a_vault_is_found_by_its_name_its_id_or_the_folder(
    computer: Computer, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    computer.know(notes)
    monkeypatch.delenv("VAULTWIRE_VAULT", raising=False)
    monkeypatch.chdir(computer.folder)
    for name in ("notes", f"{0xAB:016x}", str(notes)):
        assert run_command("obsidian", f"vault={name}", "vault", "info=path").stdout == f"{notes}\n"
    assert run_command("obsidian", "vault=Nope", "files").stdout == "Vault not found.\n"
    assert run_command("obsidian", "vaults", "verbose").stdout == f"Notes\t{notes}\n"
    ended = run_command("obsidian", "files")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "which vault?" in ended.stderr
    monkeypatch.chdir(notes / "Projects")
    assert run_command("obsidian", "vault", "info=path").stdout == f"{notes}\n"


def test_the_vault_that_is_open_in_the_app_is_the_usual_one(
    computer: Computer, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VAULTWIRE_VAULT", raising=False)
    monkeypatch.chdir(computer.folder)
    known = {"1": {"path": str(notes), "open": True}, "2": {"path": str(computer.folder)}}
    (computer.settings / "obsidian.json").write_text(json.dumps({"vaults": known}))
    assert run_command("obsidian", "vault", "info=name").stdout == "Notes\n"


# ---------------------------------------------------------------------- the policy


def test_a_policy_holds(vault: Path, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(
        '[tools]\ndeny = ["edit_note", "delete_note", "append_daily_note"]\n[paths]\ndeny = ["/Folder/"]\n'
    )
    run = ["obsidian", "--vault", str(vault), "--policy", str(policy)]
    before = snapshot(vault)
    for line in (
        "append file=Note content=x",
        "prepend file=Note content=x",
        "delete file=Note",
        "daily:prepend content=x",
        "eval code=1",
    ):
        ended = run_command(*run, *shlex.split(line))
        assert (ended.returncode, ended.stdout) == (1, ""), line
        assert "policy" in ended.stderr
    assert snapshot(vault) == before
    assert "Folder" not in run_command(*run, "files").stdout
    assert run_command(*run, "read", "path=Folder/Sub.md").stdout == 'Error: File "Folder/Sub.md" not found.\n'
    assert run_command(*run, "read", "file=Sub").stdout == 'Error: File "Sub" not found.\n'


# ---------------------------------------------------------------------- with the app


def test_what_only_the_app_can_do_goes_to_it_where_it_runs(running: Computer, notes: Path) -> None:
    run = ["obsidian", "--vault", str(notes)]
    where = {"VAULTWIRE_OBSIDIAN": running.command}
    assert run_command(*run, "open", "path=Home.md", "newtab", **where).stdout == "Opened: Home.md\n"
    assert running.calls()[-1][1:] == ["open", "path=Home.md", "newtab"]
    assert run_command(*run, "eval", "code=1 + 1", **where).stdout == "=> 1 + 1\n"
    assert run_command(*run, "web", "url=x", **where).stdout.startswith('Error: Command "web" not found.')
    assert run_command(*run, "create", "name=Shown", "open", **where).stdout == "Created: Shown.md\n"
    assert running.calls()[-1][1:] == ["open", "path=Shown.md"]
    assert run_command(*run, "read", "path=Home.md", **where).stdout.startswith("---\n")
    assert running.calls()[-1][1] == "open"  # what can be read from the files is


def test_the_app_is_not_asked_where_notes_are_hidden(running: Computer, notes: Path, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('[paths]\ndeny = ["/Ideas/"]\n')
    ended = run_command(
        "obsidian", "--vault", str(notes), "--policy", str(policy), "workspace", VAULTWIRE_OBSIDIAN=running.command
    )
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "policy" in ended.stderr
    assert not [call for call in running.calls() if "workspace" in call]


# ---------------------------------------------------------------------- the program named obsidian


@pytest.mark.skipif(os.name == "nt", reason="a shell script")
def test_a_program_named_obsidian_is_put_on_the_path_and_removed(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    (folder / "vaultwire").write_text("#!/bin/sh\n")
    (folder / "vaultwire").chmod(0o755)
    assert run_command("obsidian", "--install-shim").returncode == 0
    place = folder / "obsidian"
    assert is_shim(str(place))
    ended = subprocess.run([place, "read", "file=Note"], capture_output=True, text=True, check=True, cwd=vault)
    assert ended.stdout == "hello world\n\n"
    assert run_command("obsidian", "--install-shim").returncode == 0  # again, for a program that has moved
    assert run_command("obsidian", "--remove-shim").returncode == 0
    assert not place.exists()
    assert run_command("obsidian", "--remove-shim").returncode == 1

    place.write_text("#!/bin/sh\necho the app\n")
    place.chmod(0o755)
    ended = run_command("obsidian", "--install-shim")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert str(place) in ended.stderr
    assert run_command("obsidian", "--remove-shim").returncode == 1
    assert place.read_text() == "#!/bin/sh\necho the app\n"


# ---------------------------------------------------------------------- anything


def test_no_command_line_raises(vault: Path) -> None:
    seed = int(os.environ["VAULTWIRE_SEED"]) if os.environ["VAULTWIRE_SEED"].isdecimal() else 0
    chance = random.Random(seed)
    texts = [
        "",
        "Note",
        "Note.md",
        "Folder",
        "/",
        "..",
        "../x",
        "-1",
        "3",
        "0",
        "[[Same]]",
        "a\\nb",
        "\0",
        "é",
        "#foo",
        "x" * 300,
        "json",
        "*",
        "(",
        "]",
    ]
    names = [name for name, command in COMMANDS.items() if command.where == FILES]
    for _ in range(400):
        name = chance.choice(names)
        words = []
        for key, (value, is_required) in COMMANDS[name].takes.items():
            if is_required or chance.random() < 0.4:
                words.append(f"{key}={chance.choice(texts)}" if value or chance.random() < 0.1 else key)
        words += [chance.choice(["--x", "nonsense", "=", "vault=Notes"])] * (chance.random() < 0.1)
        ended = run_command("obsidian", "--vault", str(vault), name, *words)
        assert ended.returncode in (0, 1), (seed, name, words, ended.stderr)
        assert bool(ended.stderr) == (ended.returncode == 1), (seed, name, words, ended.stderr)


@pytest.mark.parametrize("words", [["help"], ["--copy", "tags"], ["vault=x", "tags", "vault=y"], ["tags", "vault=x"]])
def test_a_vault_may_be_named_anywhere_and_flags_of_others_are_ignored(words: list[str]) -> None:
    line = Line(words)
    assert line.command.name in ("help", "tags")
    assert line.vault in (None, "x")
    assert line.given == {}
