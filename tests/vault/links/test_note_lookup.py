"""Which note a name means, asked of real files: spellings on disk are what makes this hard."""

from __future__ import annotations

import re
import tempfile
import unicodedata
from difflib import get_close_matches
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.vaults import open_vault, write_vault
from vaultwire.vault.errors import AMBIGUOUS_NAME, FILE_NOT_FOUND, VaultError
from vaultwire.vault.links.note_lookup import resolve_name
from vaultwire.vault.value_types import VaultPath

VAULT = """
=== Note.md
root
=== Projects/Plan.md
plan
=== Projects/Alpha/Ideas.md
ideas
=== Archive/Alpha/Ideas.md
old ideas
=== Archive/Note.md
old
=== b/Deep.md
b
=== a/b/Deep.md
a b
=== C# notes.md
sharp
=== C.md
plain
=== v1.2.md
version
=== v1.2 release.md
release
=== Node.js.md
node
=== UPPER.MD
upper
=== twice.md.md
twice
=== picture.png
no note
"""

NAMES = [
    # by path
    ("Note.md", "Note.md"),
    ("Projects/Plan.md", "Projects/Plan.md"),
    ("Projects\\Plan.md", "Projects/Plan.md"),
    ("./Projects//Plan.md", "Projects/Plan.md"),
    # by name
    ("Plan", "Projects/Plan.md"),
    ("Plan.md", "Projects/Plan.md"),
    ("Note", "Note.md"),  # the whole path wins over Archive/Note.md
    # by the end of the path
    ("Alpha/Ideas", None),
    ("Projects/Alpha/Ideas", "Projects/Alpha/Ideas.md"),
    ("b/Deep", "b/Deep.md"),  # the whole path wins over a/b/Deep.md
    ("a/b/Deep", "a/b/Deep.md"),
    ("lan", ""),  # a part of a name is no name
    ("rojects/Plan", ""),
    # any case
    ("note", "Note.md"),
    ("PROJECTS/plan.MD", "Projects/Plan.md"),
    ("upper", "UPPER.MD"),
    ("plan", "Projects/Plan.md"),
    # wikilink text
    ("[[Plan]]", "Projects/Plan.md"),
    ("![[Plan]]", "Projects/Plan.md"),
    ("[[Plan|the plan]]", "Projects/Plan.md"),
    ("[[Plan#Goals]]", "Projects/Plan.md"),
    ("[[Plan#^block|shown]]", "Projects/Plan.md"),
    ("[[Projects/Plan.md]]", "Projects/Plan.md"),
    ("Plan#Goals", "Projects/Plan.md"),
    ("Plan|shown", "Projects/Plan.md"),
    (" Plan ", "Projects/Plan.md"),
    # names that look like something else
    ("C# notes", "C# notes.md"),
    ("C# notes.md", "C# notes.md"),
    ("[[C# notes]]", "C.md"),  # Obsidian: a heading of C
    ("C#", "C.md"),
    ("C# notes#Goals", "C# notes.md"),
    ("[[Plan#and/../or]]", "Projects/Plan.md"),
    ("Plan#and/../or", "Projects/Plan.md"),  # only a path may not leave the vault
    ("v1.2", "v1.2.md"),
    ("v1.2 release", "v1.2 release.md"),
    ("Node.js", "Node.js.md"),
    ("twice.md", "twice.md.md"),
    ("twice", ""),
    # right in the vault's own folder
    ("/Note", "Note.md"),
    ("[[/Note#A]]", "Note.md"),
    ("/Note.md", "Note.md"),
    ("/Plan", ""),  # that is Projects/Plan.md
    # no note
    ("picture.png", ""),
    ("Projects", ""),
    ("[[#Goals]]", ""),
    ("nowhere", ""),
]


@pytest.mark.parametrize(("name", "path"), NAMES, ids=[case[0] for case in NAMES])
def test_a_name_means_one_note(tmp_path: Path, name: str, path: str | None) -> None:
    vault = open_vault(write_vault(tmp_path, VAULT))
    if path:
        assert vault.locate(name) == path
        return
    with pytest.raises(VaultError) as caught:
        vault.locate(name)
    assert caught.value.code == (AMBIGUOUS_NAME if path is None else FILE_NOT_FOUND)


def test_an_ambiguous_name_lists_its_candidates(tmp_path: Path) -> None:
    with pytest.raises(VaultError) as caught:
        open_vault(write_vault(tmp_path, VAULT)).locate("Ideas")
    assert caught.value.code == AMBIGUOUS_NAME
    assert caught.value.details["candidates"] == ["Archive/Alpha/Ideas.md", "Projects/Alpha/Ideas.md"]
    assert "Archive/Alpha/Ideas.md" in caught.value.message


def test_of_many_candidates_twenty_are_listed_and_all_are_counted(tmp_path: Path) -> None:
    write_vault(tmp_path, "".join(f"=== {number:02}/same.md\nx\n" for number in range(30)))
    with pytest.raises(VaultError) as caught:
        open_vault(tmp_path).locate("same")
    assert len(caught.value.details["candidates"]) == 20
    assert "30 notes" in caught.value.message
    assert "10 more" in caught.value.message


@pytest.mark.parametrize("name", ["Plans", "Pla", "projects plan", "[[Plam]]", "the Plan"])
def test_a_name_that_is_not_there_is_told_with_names_that_come_close(tmp_path: Path, name: str) -> None:
    with pytest.raises(VaultError) as caught:
        open_vault(write_vault(tmp_path, VAULT)).locate(name)
    assert caught.value.code == FILE_NOT_FOUND
    if "Plam" not in name:
        assert "Projects/Plan.md" in caught.value.details["near"]
        assert "Projects/Plan.md" in caught.value.message


@pytest.mark.parametrize(
    ("asked", "near"),
    [
        ("Website relaunch plan", ["Website relaunch.md"]),
        ("Websiet relanch", ["Website relaunch.md"]),
        ("car", ["Cars.md"]),
        ("Ca rs", ["Cars.md"]),  # A is a part of it, but not a word
        ("a new horse", []),  # A is a word of it, but a small part
        ("zzz", []),
    ],
)
def test_near_names_are_whole_words_and_a_good_part_or_misspelt(tmp_path: Path, asked: str, near: list[str]) -> None:
    vault = open_vault(write_vault(tmp_path, "=== Inbox/A.md\nx\n=== Website relaunch.md\nx\n=== Cars.md\nx\n"))
    with pytest.raises(VaultError) as caught:
        vault.locate(asked)
    assert sorted(caught.value.details["near"]) == sorted(near)


_LIKE = st.text("abeö漢1 ", min_size=6, max_size=12).map(str.strip).filter(lambda name: len(name) > 3)


@settings(max_examples=20)
@given(st.lists(_LIKE, min_size=1, max_size=30, unique=True), st.lists(_LIKE, min_size=5, max_size=5))
def test_misspelt_names_are_those_that_a_comparison_of_all_names_finds(names: list[str], asked: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        vault = open_vault(write_vault(Path(folder), "".join(f"=== {name}.md\nx\n" for name in names)))
        for name in set(asked) - set(names):
            with pytest.raises(VaultError) as caught:
                vault.locate(name)
            contained = [other for other in names if name in other or re.search(rf"\b{re.escape(other)}\b", name)]
            if not contained:
                # Of a typing error the length is nearly right.
                long_enough = [other for other in names if 0.75 * len(name) <= len(other) <= 1.25 * len(name)]
                near = [f"{other}.md" for other in get_close_matches(name, long_enough, 5, 0.75)]
                assert caught.value.details["near"] == near


NFC, NFD = "Caf\u00e9", "Cafe\u0301"


@pytest.mark.parametrize(("stored", "asked"), [(NFC, NFD), (NFD, NFC), (NFC, NFC), (NFD, NFD)])
@pytest.mark.parametrize("form", ["{}.md", "{}", "[[{}]]", "{}/in.md", "in {}"])
def test_unicode_forms_find_each_other(tmp_path: Path, stored: str, asked: str, form: str) -> None:
    write_vault(tmp_path, f"=== {stored}.md\nroot\n=== {stored}/in.md\ninner\n=== x/in {stored}.md\nend\n")
    found = open_vault(tmp_path).locate(form.format(asked))
    expected = {"{}/in.md": f"{stored}/in.md", "in {}": f"x/in {stored}.md"}.get(form, f"{stored}.md")
    assert unicodedata.normalize("NFC", found) == unicodedata.normalize("NFC", expected)
    assert (tmp_path / found).is_file()


@pytest.mark.parametrize("asked", ["CAF\u00c9", "CAFE\u0301", "caf\u00e9"])
def test_case_and_unicode_form_may_differ_at_once(tmp_path: Path, asked: str) -> None:
    write_vault(tmp_path, f"=== {NFD}.md\nx\n")
    assert open_vault(tmp_path).read(asked).text == "x\n"


def test_sigma_is_lowered_as_unicode_does(tmp_path: Path) -> None:
    write_vault(tmp_path, "=== ΣΟΦΟΣ.md\nx\n")
    assert open_vault(tmp_path).read("σοφος").text == "x\n"
    assert open_vault(tmp_path).read("σοφοσ").text == "x\n"


def _both(root: Path, first: str, second: str) -> bool:
    """Write two notes whose names only this kind of disk can tell apart; say whether it can."""
    (root / first).write_text("first")
    (root / second).write_text("second")
    return (root / first).read_text() == "first"


@pytest.mark.parametrize(("first", "second"), [(f"{NFC}.md", f"{NFD}.md"), ("Note.md", "note.md")])
def test_two_notes_told_apart_by_form_or_case_alone_are_each_reached_by_their_exact_name(
    tmp_path: Path, first: str, second: str
) -> None:
    if not _both(tmp_path, first, second):
        pytest.skip("this file system cannot hold both")
    vault = open_vault(tmp_path)
    assert vault.read(first).text == "first"
    assert vault.read(second).text == "second"
    assert {note.path for note in vault.overview.list_notes("").all()} == {first, second}
    vault.writing.write(second, "more", "append")
    assert (tmp_path / first).read_text() == "first"
    vault.writing.delete(second, permanent=True)
    assert (tmp_path / first).read_text() == "first"
    assert not (tmp_path / second).exists()


def test_a_spelling_that_fits_two_notes_is_ambiguous(tmp_path: Path) -> None:
    if not _both(tmp_path, "Note.md", "note.md"):
        pytest.skip("this file system cannot hold both")
    with pytest.raises(VaultError) as caught:
        open_vault(tmp_path).locate("NOTE")
    assert caught.value.code == AMBIGUOUS_NAME
    assert caught.value.details["candidates"] == ["Note.md", "note.md"]


@pytest.mark.parametrize(
    ("name", "paths", "expected"),
    [
        ("note.md", ["Note.md", "note.md"], "note.md"),
        ("Note", ["Note.md", "note.md"], "Note.md"),
        (f"{NFD}.md", [f"{NFC}.md", f"{NFD}.md"], f"{NFD}.md"),
        ("x/note", ["a/X/note.md", "x/Note.md"], "x/Note.md"),
        ("x/note", ["a/X/note.md", "ax/note.md"], "a/X/note.md"),
    ],
)
def test_among_paths_the_exact_one_wins_then_the_whole_one_then_its_end(
    name: str, paths: list[str], expected: str
) -> None:
    assert resolve_name(name, map(VaultPath, paths)) == expected
