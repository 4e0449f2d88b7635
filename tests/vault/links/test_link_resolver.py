"""Where links lead: Obsidian's rules as observed, each case with the rule it shows."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.vaults import open_vault, write_vault
from vaultwire.vault.links.link_resolver import LinkResolver
from vaultwire.vault.value_types import VaultPath

# (rule, paths of the vault, note the link stands in, linkpath, where it leads)
CASES = [
    ("a name without .md", "Note.md", "a.md", "Note", "Note.md"),
    (".md may be written", "Note.md", "a.md", "Note.md", "Note.md"),
    ("other files need their extension", "Figure 1.png", "a.md", "Figure 1.png", "Figure 1.png"),
    ("other files need their extension", "Figure 1.png", "a.md", "Figure 1", None),
    ("the extension's case does not matter", "Ext.md", "a.md", "Ext.MD", "Ext.md"),
    ("nor does the name's", "Log.md", "a.md", "LOG", "Log.md"),
    ("in any script", "ΟΔΟΣ.md", "a.md", "οδος", "ΟΔΟΣ.md"),
    ("a name with a dot is a note's all the same", "v1.2.md", "a.md", "v1.2", "v1.2.md"),
    ("the exact path wins from every folder", "Note.md b/Note.md", "b/x.md", "Note", "Note.md"),
    ("the exact path wins over a longer one", "b/Note.md a/b/Note.md", "a/x.md", "b/Note", "b/Note.md"),
    ("then the note's own folder", "a/Note.md bb/Note.md", "bb/x.md", "Note", "bb/Note.md"),
    ("a folder above counts for nothing", "a/Note.md bb/Note.md", "bb/deep/x.md", "Note", "a/Note.md"),
    (
        "then the shortest path as a string, not the fewest parts",
        "zzzz/Note.md a/b/Note.md",
        "x.md",
        "Note",
        "a/b/Note.md",
    ),
    ("of two as short the first in order", "b/Note.md a/Note.md", "x.md", "Note", "a/Note.md"),
    ("the end of a path", "a/b/Note.md", "x.md", "b/Note", "a/b/Note.md"),
    ("the end of a path begins at a folder", "a/bb/Note.md", "x.md", "b/Note", None),
    ("../ is relative to the note", "y.md a/x.md", "a/x.md", "../y", "y.md"),
    ("./ is relative to the note", "a/y.md y.md", "a/x.md", "./y", "a/y.md"),
    ("../ does not leave the vault", "y.md", "a/x.md", "../../y", None),
    ("a leading / is the root, with no second try", "a/Note.md", "x.md", "/Note", None),
    ("a leading / is the root", "Note.md a/Note.md", "a/x.md", "/Note", "Note.md"),
    ("an empty path is the note itself", "a.md", "a.md", "", "a.md"),
    ("a web address in brackets is a note's name", "a.md", "a.md", "https://x", None),
]


@pytest.mark.parametrize(("rule", "paths", "source", "linkpath", "target"), CASES)
def test_a_link_leads_where_obsidian_leads_it(
    rule: str, paths: str, source: str, linkpath: str, target: str | None
) -> None:
    # "Figure 1.png" is the one path with a blank in it.
    listed = ["Figure 1.png"] if paths == "Figure 1.png" else paths.split()
    targets = LinkResolver(VaultPath(path) for path in listed)
    assert targets.resolve(VaultPath(source), linkpath) == target, rule


@pytest.mark.parametrize("on_disk", ["NFC", "NFD"])
@pytest.mark.parametrize("in_link", ["NFC", "NFD"])
def test_the_unicode_form_of_a_name_does_not_matter(on_disk: str, in_link: str) -> None:
    path = VaultPath(unicodedata.normalize(on_disk, "Café.md"))  # type: ignore[arg-type]
    targets = LinkResolver([path])
    assert targets.resolve(VaultPath("a.md"), unicodedata.normalize(in_link, "café")) == path  # type: ignore[arg-type]


def test_of_two_names_that_differ_in_case_the_one_spelt_so_is_meant() -> None:
    targets = LinkResolver([VaultPath("note.md"), VaultPath("Note.md")])
    assert targets.resolve(VaultPath("a.md"), "note") == "note.md"
    assert targets.resolve(VaultPath("a.md"), "Note") == "Note.md"


VAULT = """
=== Home.md
---
related: "[[Garden]]"
---
See [[Garden|my garden]] and ![[plan.png]].
- [[Nowhere]]
- [[#Below]] `[[Garden]]`
[form](Projects/Garden%20log.md)
## Below
=== Garden.md
Back [[home#Below]].
=== Projects/Garden log.md
[[Garden]] %%[[Garden]]%%
=== plan.png
"""


def test_the_links_of_a_note_are_listed_with_what_they_lead_to(tmp_path: Path) -> None:
    path, links = open_vault(write_vault(tmp_path, VAULT)).links("Home")
    assert path == "Home.md"
    assert [(link.line, link.linktext, link.target, link.is_embed) for link in links] == [
        (2, "Garden", "Garden.md", False),
        (4, "Garden", "Garden.md", False),
        (4, "plan.png", "plan.png", True),
        (5, "Nowhere", None, False),
        (6, "#Below", "Home.md", False),
        (7, "Projects/Garden log.md", "Projects/Garden log.md", False),
    ]
    assert links[1].display == "my garden"


def test_the_links_to_a_note_are_listed_with_their_lines(tmp_path: Path) -> None:
    backlinks = open_vault(write_vault(tmp_path, VAULT)).backlinks("garden")
    assert backlinks.facts == "Garden.md"
    assert [(link.source, link.line, link.text) for link in backlinks.all()] == [
        ("Home.md", 2, 'related: "[[Garden]]"'),
        ("Home.md", 4, "See [[Garden|my garden]] and ![[plan.png]]."),
        ("Projects/Garden log.md", 1, "[[Garden]] %%[[Garden]]%%"),
        ("Projects/Garden log.md", 1, "[[Garden]] %%[[Garden]]%%"),
    ]


def test_a_note_linking_to_itself_is_no_backlink(tmp_path: Path) -> None:
    assert open_vault(write_vault(tmp_path, "=== A.md\n[[A]] [[#x]]\n")).backlinks("A").all() == []


def test_sections_end_before_the_next_heading_of_their_level_or_above(tmp_path: Path) -> None:
    vault = open_vault(write_vault(tmp_path, "=== A.md\n# One\ntext\n## Two\n\n### Three\n## Four\nend\n# Five\n"))
    built = vault.structure("A")
    assert built.lines == 8
    assert [(entry.text, entry.line, entry.last_line) for entry in built.outline] == [
        ("One", 1, 7),
        ("Two", 3, 5),
        ("Three", 5, 5),
        ("Four", 6, 7),
        ("Five", 8, 8),
    ]


def test_a_tag_counts_the_notes_of_the_tags_below_it_once(tmp_path: Path) -> None:
    vault = open_vault(write_vault(tmp_path, "=== A.md\n#a/b #a/c #Z\n=== B.md\n#A #z\n=== C.md\nnone\n"))
    assert [(tag.tag, tag.notes) for tag in vault.overview.count_tags("")] == [
        ("a", 2),
        ("Z", 2),
        ("a/b", 1),
        ("a/c", 1),
    ]


NAMES = st.sampled_from(["a.md", "A.md", "b.md", "a", "b.png", "a.b.md"])
PATHS = st.lists(st.sampled_from(["", "x/", "X/", "x/y/", "z/x/"]), min_size=1, max_size=1).flatmap(
    lambda folder: NAMES.map(lambda name: VaultPath(folder[0] + name))
)
LINKPATHS = st.sampled_from(
    ["a", "A", " a ", "a.md", "b", "b.png", "a.b", "x/a", "y/a", "/a", "./a", "../a", "/x/a", "", "c"]
)


@given(st.sets(PATHS, max_size=6), st.lists(st.tuples(PATHS, LINKPATHS), max_size=12))
def test_where_a_link_leads_does_not_depend_on_what_was_asked_before(
    paths: set[VaultPath], asked: list[tuple[VaultPath, str]]
) -> None:
    kept = LinkResolver(paths)
    for source, linkpath in asked:
        assert kept.resolve(source, linkpath) == LinkResolver(paths).resolve(source, linkpath)
