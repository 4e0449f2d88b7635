"""Renames as a kind: every place that can name a thing, and every kind of rename. All still leads to the same afterwards."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.calls import call
from support.vaults import open_vault, write_vault
from vaultwire.markdown.canvas import cards, file_nodes
from vaultwire.markdown.inline import parse_linktext
from vaultwire.markdown.parse import parse_note
from vaultwire.vault.errors import VaultError
from vaultwire.vault.links.link_resolver import LinkResolver
from vaultwire.vault.links.sections import Sections, parse_structure
from vaultwire.vault.value_types import VaultPath

VAULT = """
=== .obsidian/app.json
{"userIgnoreFilters": ["Hidden/"]}
=== Work/Plan.md
# Top
## Notes on [[Other]]
text ^b1

Under
=====
=== Work/Sub/Other.md
# About [[Plan#Top|it]] and [[Plan#Notes on Other]]
#topic
=== Far/Plan B.md
# Top
x
=== pic.png
"""
TARGETS = {
    "Work/Plan.md": ["", "#Top", "#Notes on Other", "#Top#Notes on Other", "#^b1", "#Under"],
    "Work/Sub/Other.md": ["", "#About Plan Top it and Plan Notes on Other"],
    "Far/Plan B.md": ["", "#Top"],
    "pic.png": [""],
}
# In a note: a link's text, or its path with blanks encoded.
IN_NOTES = [
    "[[{link}]]",
    "![[{link}|shown]]",
    "| a |\n|---|\n| [[{link}\\|x]] |",
    "[x]({encoded})",
    "- > [x](<{link}> 'title')",
    "see [x][n]\n\n[n]: {encoded}",
    '> [n]: <{link}> "title"\n> [m]: {encoded}',
    "## See [[{link}|so]] and more\n[[#See {link} so and more]]",
    "Under [[{link}]]\n===",
    "See [[{link}|so]]\n\u00a0\n and last\n---\n[[#See {link} so and last]]",
    '```base\nfilters: file.hasLink(link("{link}"))\n```',
    '> ```base\n> filters:\n>   and:\n>     - \'file.path != "{path}"\'\n>     - file.inFolder("{folder}")\n> ```',
]
IN_CARDS = ["[[{link}]]", 'é "\u2028" [[{link}]]\n' + IN_NOTES[-2] + "\n\\", IN_NOTES[-1]]
FRONTMATTER = ['up: "[[{link}]]"', "up:\n  - '[x]({encoded})'"]
BASES = ['filters: file.hasLink(link("{link}"))', "formulas: {{a: '[[{link}]]', b: 'file.path == \"{path}\"'}}"]
RENAMES: list[tuple[str, dict[str, Any]]] = [
    ("move_notes", {"paths": ["Work/Plan"], "to": "Project"}),
    ("move_notes", {"paths": ["Work/Plan"], "to": "Deep/Down/Project one"}),
    ("move_notes", {"paths": ["Work/Plan"], "to": "Far/Plan B 2"}),
    ("move_notes", {"paths": ["Work/Sub/Other"], "to": "/Another"}),
    ("move_notes", {"paths": ["Work/Sub/Other"], "to": "./Plan"}),
    ("move_notes", {"paths": ["pic.png"], "to": "Work/figure 1.png"}),
    ("move_notes", {"paths": ["Work"], "to": "Old work"}),
    ("move_notes", {"paths": ["Work/"], "to": "Far/"}),
    ("move_notes", {"paths": ["Work/Plan", "Far/Plan B", "pic.png"], "to": "All"}),
    ("rename", {"what": "heading", "path": "Work/Plan", "old": "Top", "new": "Up: there"}),
    ("rename", {"what": "heading", "path": "Work/Plan", "old": "Notes on Other", "new": "What [[Other|it]] says"}),
    ("rename", {"what": "block", "path": "Work/Plan", "old": "b1", "new": "c-2"}),
]
NAMED_IN_BASES = re.compile(r'\blink\("([^"]*)"\)|inFolder\("([^"]*)"\)|file\.path [!=]= "([^"]*)"')


class Leads(NamedTuple):
    """A name in a file: in which file, the how manyth, to which file or folder it leads, and to which heading or block."""

    source: str
    number: int
    target: str | None
    part: int | str


def all_names(root: Path) -> list[Leads]:
    """Return what every name in every file leads to."""
    paths = [VaultPath(path.relative_to(root).as_posix()) for path in root.rglob("*") if path.is_file()]
    paths = sorted(path for path in paths if not path.startswith("."))
    resolver = LinkResolver(paths)
    found: list[Leads] = []
    for source in paths:
        text = (root / source).read_text(encoding="utf-8", errors="replace")
        texts = [link.linktext for link in parse_note(text).links] if source.endswith(".md") else []
        if source.endswith(".canvas"):
            texts = [node.file + node.subpath for node, _ in file_nodes(text)]
            texts += [link.linktext for _, card in cards(text) for link in parse_note(card).links]
        in_base = [*NAMED_IN_BASES.finditer(text)]
        texts += [each[1] for each in in_base if each[1]]
        if source.endswith(".base"):
            texts += re.findall(r"\[\[([^\]]+)\]\]", text)
        for number, linktext in enumerate(texts):
            linkpath, subpath, _ = parse_linktext(linktext)
            target = resolver.resolve(source, linkpath) if linkpath else source
            assert target is not None, (source, linktext)
            found.append(Leads(source, number, target, part_of(root, target, subpath)))
        others = [each[2] or each[3] for each in in_base if not each[1]]
        found += [Leads(source, 1000 + number, name, "") for number, name in enumerate(others)]
    return found


def part_of(root: Path, path: str, subpath: str) -> int | str:
    """Return the number of the heading that a subpath leads to, or the number of the line of a block."""
    if not subpath:
        return ""
    note = parse_structure(VaultPath(path), (root / path).read_text(encoding="utf-8"))
    try:
        found = Sections(note).span(subpath).first
    except VaultError as error:
        return f"nowhere: {error.message}"
    return next((number for number, entry in enumerate(note.outline) if entry.line == found), f"line {found}")


PLACES = st.sampled_from(["note", "property", "canvas", "card", "base"])


@st.composite
def sources(draw: st.DrawFn) -> str:
    """Return some files that name others."""
    files = []
    for number in range(draw(st.integers(1, 4))):
        folder = draw(st.sampled_from(["", "Work/", "Far/", "Hidden/"]))
        target = draw(st.sampled_from([*TARGETS]))
        subpath = draw(st.sampled_from(TARGETS[target]))
        bare = target.removesuffix(".md")
        name = draw(st.sampled_from([bare.rpartition("/")[2], bare, target]))
        values = {
            "link": name + subpath,
            "encoded": (target + subpath).replace(" ", "%20"),
            "path": target,
            "folder": target.rpartition("/")[0] or "Work/Sub",
        }
        place = draw(PLACES)
        source = f"{folder}S{number}"
        if place == "note":
            texts = draw(st.lists(st.sampled_from(IN_NOTES), min_size=1, max_size=3))
            files.append(f"=== {source}.md\n" + "\n\n".join(text.format(**values) for text in texts) + "\n")
        elif place == "property":
            files.append(f"=== {source}.md\n---\n{draw(st.sampled_from(FRONTMATTER)).format(**values)}\n---\n")
        elif place == "base":
            files.append(f"=== {source}.base\n{draw(st.sampled_from(BASES)).format(**values)}\n")
        else:
            card = draw(st.sampled_from(IN_CARDS)).format(**values)
            node = {"id": "1", "type": "text", "text": card, "x": 0, "y": 0, "width": 1, "height": 1}
            if place == "canvas":
                node |= {"type": "file", "file": target, "subpath": subpath}
                del node["text"]
                if not subpath:
                    del node["subpath"]
            files.append(f"=== {source}.canvas\n{json.dumps({'nodes': [node], 'edges': []})}\n")
    return "".join(files)


@settings(max_examples=40)  # each makes a vault
@given(sources(), st.sampled_from(RENAMES))
def test_every_name_leads_to_the_same_after_a_rename(
    tmp_path_factory: pytest.TempPathFactory, files: str, rename: tuple[str, dict[str, Any]]
) -> None:
    root = write_vault(tmp_path_factory.mktemp("vault"), VAULT + files)
    before = all_names(root)
    assert not [each for each in before if str(each.part).startswith("nowhere")]
    vault = open_vault(root)
    done = call(vault, rename[0], **rename[1])
    moves = [(file["path"], file["to"]) for file in done.data["files"] if file["action"] == "move"]

    def after(path: str | None) -> str | None:
        for old, new in moves:
            if path == old or (path or "").startswith(f"{old}/"):
                return f"{new}{(path or '')[len(old) :]}"
        return path

    expected = sorted(
        Leads(after(source) or "", number, after(target), part) for source, number, target, part in before
    )
    assert sorted(all_names(root)) == expected
    call(vault, "undo_changes", changes=[done.data["change"]])
    assert all_names(root) == before


@pytest.mark.parametrize("spaces", ["and more", "\u00a0", "\u2003"])
def test_a_link_in_the_first_line_of_an_underlined_heading_renames_it(tmp_path: Path, spaces: str) -> None:
    """A line of odd spaces is not empty: the heading goes on."""
    heading = f"About [[Old]]\n{spaces}\nlast\n---\n"
    root = write_vault(tmp_path, f"=== Old.md\nx\n=== In.md\n---\na: 1\n---\n{heading}")
    note = parse_structure(VaultPath("In.md"), (root / "In.md").read_text(encoding="utf-8"))
    (root / "Far.md").write_text(f"[[In#{note.outline[0].text}]]\n".replace("[[Old]]", "Old"), encoding="utf-8")
    call(open_vault(root), "move_notes", paths=["Old"], to="New")
    assert "About New" in (root / "Far.md").read_text(encoding="utf-8")
    assert part_of(root, "In.md", (root / "Far.md").read_text(encoding="utf-8").strip("[]\n").partition("#")[2]) == 0


QUERIES = """
=== Work/Q.md
```dataview
LIST FROM #topic or "Work/Sub" WHERE status = "x" AND contains(up, [[Other]])
```
> ~~~tasks
> path includes Work/Sub/Other
> ~~~
=== Hidden/Q.md
```query
tag:#topic/sub path:"Work/Plan" [status:open]
```
=== Other words.md
---
status: open
---
```dataview
LIST FROM #topical or "Workshop" WHERE substatus AND [[Other one]]
```
`#topic` "Work/Plan" status
"""


@pytest.mark.parametrize(
    ("rename", "lines"),
    [
        (("rename", {"what": "tag", "old": "topic", "new": "theme"}), ["Hidden/Q.md 2 #topic", "Work/Q.md 2 #topic"]),
        (
            ("rename", {"what": "property", "old": "status", "new": "state"}),
            ["Hidden/Q.md 2 status", "Work/Q.md 2 status"],
        ),
        (("move_notes", {"paths": ["Work/Plan"], "to": "Project"}), ["Hidden/Q.md 2 Work/Plan"]),
        (
            ("move_notes", {"paths": ["Work/Sub/Other"], "to": "Else"}),
            ["Work/Q.md 2 Other", "Work/Q.md 5 Work/Sub/Other"],
        ),
        (("move_notes", {"paths": ["Work/Sub/"], "to": "Down"}), ["Work/Q.md 2 Work/Sub", "Work/Q.md 5 Work/Sub"]),
    ],
)
def test_a_query_that_keeps_an_old_name_is_named(
    tmp_path: Path, rename: tuple[str, dict[str, Any]], lines: list[str]
) -> None:
    vault = open_vault(write_vault(tmp_path, VAULT + QUERIES))
    notices = call(vault, rename[0], **rename[1]).data["notices"]
    found = [
        re.match(r"(.*) keeps the old name: the query on line (\d+) says '(.*)' and stays", each) for each in notices
    ]
    assert sorted(" ".join(each.groups()) for each in found if each) == lines
