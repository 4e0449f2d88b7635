"""What is wrong in notes and canvases: each kind of finding, where it stands, and what is none."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.vaults import open_vault, write_vault
from vaultwire.markdown.parsed_note import ParsedNote
from vaultwire.vault.disk.files import FileBytes, Files
from vaultwire.vault.disk.paths import is_canvas, is_note
from vaultwire.vault.links.faults import NOTE_CHECKS, Finding, note_check
from vaultwire.vault.value_types import VaultPath
from vaultwire.vault.vault import Vault

TYPES = '=== .obsidian/types.json\n{"types": {"due": "date", "done": "checkbox", "rating": "number", "Crew": "multitext"}}\n'
TARGET = """=== Target.md
# Top
## Sub
Text ^block
=== picture.png
not really
"""


def findings(root: Path, text: str, path: str = "Note.md", more: str = "") -> list[Finding]:
    write_vault(root, f"{TYPES}{TARGET}{more}")
    (root / path).write_bytes(text.encode())
    found, result = open_vault(root).check(path)
    assert found == path
    return result


WRONG = [
    ("[[Nowhere]]", "unresolved-link", (1, 1, 12), "there is no file 'Nowhere'"),
    ("a\n\nsee ![[gone.png]]!", "unresolved-embed", (3, 5, 18), "there is no file 'gone.png'"),
    ("[x](No%20way.md)", "unresolved-link", (1, 1, 17), "[x](No%20way.md) leads nowhere: there is no file 'No way.md'"),
    ("ä [[Target#Other]]", "missing-heading", (1, 3, 19), "Its headings are: 'Top', 'Sub'"),
    ("[[Target#Sub#Top]]", "missing-heading", (1, 1, 19), "no section"),
    ("[[#Here]]", "missing-heading", (1, 1, 10), "It has no headings"),
    ("[[Target#^other]]", "missing-block", (1, 1, 18), "Its blocks are: ^block"),
    ("---\na: [1\n---\n", "broken-frontmatter", (2, 1, 1), ""),
    ("---\na: 1\n", "broken-frontmatter", (1, 1, 1), "never closed"),
    ("---\nx: 1\nrating: high\n---\n", "wrong-property", (3, 1, 1), "should be a number, and is text"),
    ("---\nDone: 1\n---\n", "wrong-property", (2, 1, 1), "'Done' should be true or false, and is a number"),
    ("---\ndue: soon\n---\n", "wrong-property", (2, 1, 1), "should be a date such as"),
    ("---\ncrew:\n  a: 1\n---\n", "wrong-property", None, "should be a list, and is a map"),
    ("---\nx: 1\nTags: a, b\n---\n", "not-a-tag", (3, 1, 1), "'a, b' is no tag: a tag has no spaces"),
    ("---\ntags: '#a b'\n---\n", "not-a-tag", (2, 1, 1), "For several tags write a list, such as [a, b]"),
    ("---\ntags:\n  - c\n  - a b\n---\n", "not-a-tag", (4, 1, 1), "'a b' is no tag"),
    ("a ^one\n\nb ^ONE\n", "duplicate-block", (3, 1, 1), "on line 1 too"),
    ('---\nup: "[[Nowhere]]"\n---\n', "unresolved-link", (2, 6, 17), "there is no file 'Nowhere'"),
]


@pytest.mark.parametrize(("text", "kind", "place", "message"), WRONG, ids=[str(number) for number in range(len(WRONG))])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_fault_is_found_where_it_is(
    tmp_path: Path, text: str, kind: str, place: tuple[int, int, int] | None, message: str, line_end: str
) -> None:
    (found,) = findings(tmp_path, text.replace("\n", line_end))
    assert found.kind == kind
    assert place is None or found[2:5] == place
    assert message in found.message


def test_a_long_text_of_tags_is_told_of_in_short(tmp_path: Path) -> None:
    (found,) = findings(tmp_path, "---\ntags: " + "word " * 10_000 + "\n---\n")
    assert found.kind == "not-a-tag"
    assert not found.is_error
    assert len(found.message) < 400


RIGHT = [
    *["[[Target]] [[target#sub]] [[Target#Top#Sub]] [[Target#^BLOCK]] ![[picture.png|100]] [[Target#]]"],
    *["[site](https://example.org) <https://example.org> [mail](mailto:a@b.c) `[[Nowhere]]`", "```\n[[Nowhere]]\n```"],
    *["---\nrating: 4.5\ndone: true\ndue: 2026-03-31\ncrew: Ann\n---\n", "---\nrating:\ndone:\ndue:\ncrew:\n---\n"],
    *["---\ntags: a\n---\n", "---\ntags: [a, '#b/c']\n---\n", "---\ntags: ' a '\n---\n", "---\ntags:\n---\n"],
    *["---\ntags: ','\n---\n", "---\nTag: a, b\ntags: ''\n---\n"],
    *["---\ndue: 2026-03-31T09:00\ncrew: [a, b]\n---\n", "", "![[picture.png#page=2]]", "# Here\n[[#here]]"],
]


@pytest.mark.parametrize("text", RIGHT, ids=[str(number) for number in range(len(RIGHT))])
def test_what_is_right_is_not_reported(tmp_path: Path, text: str) -> None:
    assert findings(tmp_path, text) == []


CANVASES = [
    ("{", "broken-canvas", 1, "is not JSON"),
    ("[]", "broken-canvas", 1, "no list of nodes"),
    ('{"nodes": [\n{"type": "file", "file": "Gone.md"}]}', "unresolved-embed", 2, "there is no file 'Gone.md'"),
    ('{"nodes": [{"type": "file", "file": "Target.md", "subpath": "#No"}]}', "missing-heading", 1, "no section"),
]


@pytest.mark.parametrize(("text", "kind", "line", "message"), CANVASES, ids=["cut", "list", "gone", "subpath"])
def test_a_canvas_is_checked(tmp_path: Path, text: str, kind: str, line: int, message: str) -> None:
    (found,) = findings(tmp_path, text, "Board.canvas")
    assert (found.kind, found.line) == (kind, line)
    assert message in found.message


def test_a_canvas_that_is_whole_has_no_faults(tmp_path: Path) -> None:
    text = '{"nodes": [{"type": "file", "file": "Target.md", "subpath": "#Sub"}, {"type": "text", "text": "x"}], "edges": []}'
    assert findings(tmp_path, text, "Board.canvas") == []
    assert findings(tmp_path, "", "New.canvas") == []


def test_a_note_that_cannot_be_read_is_an_error_of_its_own(tmp_path: Path) -> None:
    write_vault(tmp_path, "=== Big.md\n" + "x" * 2000)
    (found,) = open_vault(tmp_path, max_bytes=1000).check("Big.md")[1]
    assert (found.kind, found.is_error) == ("unreadable", True)


def test_the_whole_vault_is_looked_through_in_parts(tmp_path: Path) -> None:
    notes = "".join(
        f"=== {folder}/n{number}.md\n[[gone {number}]] [[gone]]\n" for folder in "ab" for number in range(3)
    )
    write_vault(tmp_path, f"{notes}=== .vaultwireignore\nb/n2.md\n=== a/x.canvas\n{{\n=== c/fine.md\n[[n0]]\n")
    vault = open_vault(tmp_path)
    whole = vault.check_all(vault.files_to_check(""), 0, 1000)
    assert [path for path, _ in whole.found] == ["a/n0.md", "a/n1.md", "a/n2.md", "a/x.canvas", "b/n0.md", "b/n1.md"]
    assert (whole.position, whole.total) == (7, 7)
    parts, position = [], 0
    while position < whole.total:
        part = vault.check_all(vault.files_to_check(""), position, 3)
        assert sum(len(found) for _, found in part.found) >= 3 or part.position == part.total
        parts += part.found
        position = part.position
    assert parts == whole.found
    assert [path for path, _ in vault.check_all(vault.files_to_check("b"), 0, 1000).found] == ["b/n0.md", "b/n1.md"]


def test_one_note_and_the_whole_vault_agree(tmp_path: Path) -> None:
    texts = "".join(f"=== n{number}.md\n{text}\n" for number, (text, *_) in enumerate(WRONG))
    write_vault(tmp_path, TYPES + TARGET + texts)
    vault = open_vault(tmp_path)
    assert dict(vault.check_all(vault.files_to_check(""), 0, 1000).found) == each_alone(vault)


def each_alone(vault: Vault) -> dict[VaultPath, list[Finding]]:
    """Return the faults of every file, checked one by one."""
    files = [path for path in vault.overview.paths() if is_note(path) or is_canvas(path)]
    return {path: found for path in files if (found := vault.check(path, exactly=True)[1])}


PARTS = (
    [text for text, *_ in WRONG]
    + RIGHT
    + ["[[Other]]", "[[Other#Here]]", "# Here\n", "Rating: 1", "para ^a\n\npara ^A\n"]
)
# Links to parts, and what they lead to or miss: levels, chains, signs, underlined headings, ids in any case.
PARTS += [
    "[[A#Here#There: now!]]",
    "[[#there now#deep]]",
    "[[Other#^B1|x]]",
    "![[C#^b1]]",
    "[[A# ]]",
    "[[A#Deep#Here]]",
]
PARTS += ["## There (now)\n", "Here\n====\n\n#### Deep\n", "Two\nlines\n---\n", "- item ^b1\n", "[[Other#Two lines]]"]
PARTS += ["---\nDue: 2026-01-01\ndue: never\n---\n", "---\nTags: a b\n---\n", "---\ntags: [a, 'b, c']\n---\n"]


@pytest.mark.parametrize("seed", range(4))
def test_whatever_changes_all_faults_are_found(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    write_vault(tmp_path, TYPES + TARGET)
    vault = open_vault(tmp_path)
    for _ in range(12):
        for _ in range(3):
            path = tmp_path / chance.choice(["Other.md", "Sub/Other.md", "A.md", "Target.md", "B.canvas", "Sub/C.md"])
            path.parent.mkdir(exist_ok=True)
            if path.exists() and chance.random() < 0.3:
                path.unlink()
            elif path.suffix == ".canvas":
                path.write_text(chance.choice([text for text, *_ in CANVASES]))
            else:
                path.write_text("\n".join(chance.choices(PARTS, k=chance.randrange(1, 4))))
        assert dict(vault.check_all(vault.files_to_check(""), 0, 10_000).found) == each_alone(vault)


def test_only_suspects_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    links = (f"[[n{number + 1}#Top#sub]] [[n{number}#^A]]" for number in range(20))
    notes = (f"=== n{number}.md\n{link}\n# Top\n## Sub\ntext ^a\n" for number, link in enumerate(links))
    write_vault(tmp_path, "".join(notes))
    for note in tmp_path.iterdir():
        os.utime(note, (1_700_000_000, 1_700_000_000))  # what changed just now is read again
    vault = open_vault(tmp_path)
    suspects = vault.files_to_check("")
    read: list[str] = []
    original = Files.read

    def counted(files: Files, path: VaultPath, max_bytes: int | None = None) -> FileBytes:
        read.append(path)
        return original(files, path, max_bytes)

    monkeypatch.setattr(Files, "read", counted)
    found = vault.check_all(suspects, 0, 100)
    assert [path for path, _ in found.found] == ["n19.md"]
    assert (found.position, found.total, {*read}) == (20, 20, {"n19.md"})


def test_one_declaration_is_all_that_a_check_needs(tmp_path: Path) -> None:
    @note_check
    def _no_heading(parsed: ParsedNote) -> Iterator[Finding]:
        if not parsed.headings:
            yield Finding("no-heading", "the note has no heading", 1)

    try:
        write_vault(tmp_path, "=== a.md\n# A\n=== b.md\nplain\n")
        vault = open_vault(tmp_path)
        found = vault.check_all(vault.files_to_check(""), 0, 100).found
    finally:
        NOTE_CHECKS.remove(_no_heading)
    assert [(path, [finding.kind for finding in findings]) for path, findings in found] == [("b.md", ["no-heading"])]


def test_the_manual_has_the_faults_it_has() -> None:
    """Looked at by eye: six links of a page that shows how links are written, a missing video, a block without its blank."""
    manual = Path(__file__).parents[4] / "shared" / "vaults" / "obsidian-help"
    if not manual.is_dir():
        pytest.skip("the manual's vault is not here")
    vault = open_vault(manual)
    found = [
        finding.kind for _, findings in vault.check_all(vault.files_to_check(""), 0, 1000).found for finding in findings
    ]
    assert {kind: found.count(kind) for kind in set(found)} == {
        "unresolved-link": 6,
        "unresolved-embed": 1,
        "missing-block": 1,
    }


def test_of_very_many_faults_of_a_note_so_many_are_told_and_that_there_are_more(tmp_path: Path) -> None:
    write_vault(tmp_path, "=== n.md\n" + "[[Nowhere]]\n" * 1500)
    found = open_vault(tmp_path).check("n.md")[1]
    assert len(found) == 1001
    assert "more than 1,000 faults" in found[-1].message
