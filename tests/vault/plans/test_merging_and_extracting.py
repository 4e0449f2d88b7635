"""Two notes made one, and a part of one made a note: what the files hold then, and that every link leads where it led."""

from __future__ import annotations

import itertools
import json
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.memory_text import MemoryText
from support.refusals import refusal
from support.stores import open_stored
from support.vaults import snapshot, write_vault
from vaultwire.markdown.edits import to_plain
from vaultwire.markdown.merging import Where
from vaultwire.markdown.parse import parse_note
from vaultwire.vault.changes.change import Move, Step
from vaultwire.vault.disk.files import Files
from vaultwire.vault.errors import INVALID_ARGUMENTS, NOT_UTF8, NOTE_EXISTS, SECTION_NOT_FOUND
from vaultwire.vault.index.index import Index
from vaultwire.vault.links.link_resolver import LinkResolver
from vaultwire.vault.plans.composing import ExtractPlan, Leave, MergePlan, Part, plan_extract, plan_merge
from vaultwire.vault.plans.context import PlanContext
from vaultwire.vault.settings.obsidian_settings import Settings
from vaultwire.vault.value_types import VaultPath

DEFAULT = Settings()


def open_files(root: Path) -> tuple[Files, Index]:
    """Return a vault's files and the plainest index of them: hundreds of vaults are looked into."""
    return Files(str(root), 400_000), open_stored(root, None, MemoryText)[1]


def merge(root: Path, source: str, target: str, where: Where = "end", settings: Settings = DEFAULT) -> MergePlan:
    files, index = open_files(root)

    trash_path = VaultPath(f".trash/{source.rpartition('/')[2]}")
    return plan_merge(PlanContext(files, index, settings), VaultPath(source), VaultPath(target), trash_path, where)


def extract(
    root: Path, path: str, part: Part, new_path: str, leave: Leave = "link", settings: Settings = DEFAULT
) -> ExtractPlan:
    files, index = open_files(root)
    return plan_extract(PlanContext(files, index, settings), VaultPath(path), VaultPath(new_path), part, leave)


def execute(root: Path, steps: list[Step]) -> None:
    """Take the steps in order, each from exactly what it says was there."""
    for step in steps:
        if isinstance(step, Move):
            (root / step.target).parent.mkdir(parents=True, exist_ok=True)
            assert not (root / step.target).exists()
            (root / step.source).rename(root / step.target)
            continue
        place = root / step.path
        assert (place.read_bytes() if place.exists() else None) == step.before
        assert step.after is not None
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(step.after)


def texts(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): path.read_bytes().decode() for path in sorted(root.rglob("*")) if path.is_file()
    }


def after(root: Path, steps: list[Step]) -> dict[str, str]:
    """Return the files that are others once the steps are taken."""
    before = texts(root)
    execute(root, steps)
    now = texts(root)
    return {path: text for path, text in now.items() if before.get(path) != text}


# ---------------------------------------------------------------------- merging

JOINED = [
    ("B\n", "A\n", "end", "B\n\nA\n"),
    ("B\n", "A\n", "start", "A\n\nB\n"),
    ("B", "A", "end", "B\n\nA"),
    ("B", "A", "start", "A\n\nB"),
    ("B\r\n", "A\nA\n", "end", "B\r\n\r\nA\r\nA\r\n"),
    ("B\r\n", "A\nA\n", "start", "A\r\nA\r\n\r\nB\r\n"),
    ("B\n\n", "\n\nA\n", "end", "B\n\nA\n"),
    ("", "A\n", "end", "A\n"),
    ("", "---\n---\n---\nx\n---\n", "end", "\n---\nx\n---\n"),  # a rule at the top is no frontmatter
    ("B\n", "", "end", "B\n"),
    ("---\nx: 1\n---\nB\n", "---\n---\nA\n", "start", "---\nx: 1\n---\nA\n\nB\n"),
    ("---\nx: 1\n---\n", "A\n", "end", "---\nx: 1\n---\nA\n"),
    # properties: own values stay, lists are united, what lacks is added
    ("---\nx: 1 # c\n---\nB\n", "---\nx: 2\ny: [a]\n---\nA\n", "end", "---\nx: 1 # c\ny: [a]\n---\nB\n\nA\n"),
    ("---\ntags: [a, B]\n---\n", "---\nTags:\n  - b\n  - c\n---\n", "end", "---\ntags: [a, B, c]\n---\n"),
    # a text with commas or spaces is no tag: it stays one text
    ("---\ntags: a, b\n---\n", "---\ntags: a, b\n---\n", "end", "---\ntags: a, b\n---\n"),
    ("B\n", "---\ntags: a, b\n---\nA\n", "end", "---\ntags: a, b\n---\nB\n\nA\n"),
    ("---\ntags: [x]\n---\n", "---\ntags: a, b\n---\n", "end", '---\ntags: [x, "a, b"]\n---\n'),
    ("---\ntags: a,b\n---\n", "---\ntags: [x]\n---\n", "end", "---\ntags:\n  - a,b\n  - x\n---\n"),
    ("---\ntags: a b\n---\n", "---\ntags: x\n---\n", "end", "---\ntags:\n  - a b\n  - x\n---\n"),
    ("---\ntags: a\n---\n", "---\ntags: ['#A']\n---\n", "end", "---\ntags: a\n---\n"),
    ("---\ntags: a\n---\n", "---\ntags: b\n---\n", "end", "---\ntags:\n  - a\n  - b\n---\n"),
    ("---\naliases:\n  - X\n---\n", "---\naliases: Y\n---\n", "end", "---\naliases:\n  - X\n  - Y\n---\n"),
    ("---\nx:\ny: 1\n---\n", "---\nx: 5\n---\n", "end", "---\nx: 5\ny: 1\n---\n"),
    ("---\nx: 1\n---\n", "---\nx:\n---\n", "end", "---\nx: 1\n---\n"),
    ("B\n", "---\nx: 1\n---\nA\n", "end", "---\nx: 1\n---\nB\n\nA\n"),
    ("---\nx: [a: b\n---\nB\n", "A\n", "end", "---\nx: [a: b\n---\nB\n\nA\n"),  # nothing to add: not touched
]  # fmt: skip


@pytest.mark.parametrize(("target", "source", "where", "expected"), JOINED)
def test_the_merged_note_has_both_texts(tmp_path: Path, target: str, source: str, where: Where, expected: str) -> None:
    (tmp_path / "A.md").write_bytes(source.encode())
    (tmp_path / "B.md").write_bytes(target.encode())
    steps = merge(tmp_path, "A.md", "B.md", where).steps
    execute(tmp_path, steps)
    assert texts(tmp_path) == {"B.md": expected, ".trash/A.md": source}


def test_a_merge_changes_nothing_before_it_is_carried_out_and_keeps_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "A.md").write_bytes(b"\xef\xbb\xbfA\n")
    (tmp_path / "B.md").write_bytes(b"\xef\xbb\xbfB\n")
    before = snapshot(tmp_path)
    plan = merge(tmp_path, "A.md", "B.md")
    assert snapshot(tmp_path) == before
    execute(tmp_path, plan.steps)
    assert (tmp_path / "B.md").read_bytes() == b"\xef\xbb\xbfB\n\nA\n"


def test_every_link_to_the_source_leads_to_the_target(tmp_path: Path) -> None:
    write_vault(
        tmp_path,
        """
=== old/Source.md
---
up: "[[x/Other]]"
---
# Head
[[#Head]] [[Source]] [[Target#Own]] [[../pic.png]] [z](../x/Other.md)
=== Target.md
# Own
[[Source]] ![[Source#Head|there]] [s](old/Source.md#Head) [[#Own]]
=== x/Other.md
[[Source]] [[old/Source#Head|Source]] ![[Source.md#^id]] `[[Source]]`
[Source](old/Source.md) [s](<../old/Source.md#Head>)
=== pic.png
=== c.canvas
{"nodes":[{"id":"1","type":"file","file":"old/Source.md","subpath":"#Head"},{"id":"2","type":"text","text":"[[Source]]"}]}
""",
    )
    plan = merge(tmp_path, "old/Source.md", "Target.md")
    changed = after(tmp_path, plan.steps)
    canvas = json.loads(changed.pop("c.canvas"))
    assert [node.get("file", node.get("text")) for node in canvas["nodes"]] == ["Target.md", "[[Target]]"]
    assert canvas["nodes"][0]["subpath"] == "#Head"
    del changed[".trash/Source.md"]
    assert changed == {
        "Target.md": '---\nup: "[[x/Other]]"\n---\n'
        "# Own\n[[Target]] ![[Target#Head|there]] [s](Target.md#Head) [[#Own]]\n\n"
        "# Head\n[[#Head]] [[Target]] [[Target#Own]] [[pic.png]] [z](Other.md)\n",
        "x/Other.md": "[[Target]] [[Target#Head|Target]] ![[Target.md#^id]] `[[Source]]`\n"
        "[Target](Target.md) [s](<Target.md#Head>)\n",
    }
    assert plan.skipped == []
    assert len(plan.links) == 13


def test_a_block_id_of_both_notes_gets_a_new_name_and_its_links_follow(tmp_path: Path) -> None:
    write_vault(
        tmp_path,
        """
=== a/Note.md
one ^id
- two ^Own
[[#^id]] [[#^own]]
=== b/Note.md
other ^ID

x ^id-2
[[#^id]]
=== c/X.md
[[a/Note#^id]] [[b/Note#^id]] [[Note#^id]]
=== c.canvas
{"nodes":[{"id":"1","type":"file","file":"a/Note.md","subpath":"#^id"}]}
""",
    )
    plan = merge(tmp_path, "a/Note.md", "b/Note.md")
    assert plan.block_ids == {"id": "id-3"}
    changed = after(tmp_path, plan.steps)
    assert changed["b/Note.md"] == ("other ^ID\n\nx ^id-2\n[[#^id]]\n\none ^id-3\n- two ^Own\n[[#^id-3]] [[#^own]]\n")
    assert changed["c/X.md"] == "[[Note#^id-3]] [[b/Note#^id]] [[Note#^id-3]]\n"
    assert json.loads(changed["c.canvas"])["nodes"][0]["subpath"] == "#^id-3"


def test_what_both_notes_have_is_told(tmp_path: Path) -> None:
    write_vault(
        tmp_path,
        "=== A.md\n---\nx: 1\ny: 2\nz: [a]\n---\n# Same\n# Own\n=== B.md\n---\nX: 2\ny: 2\nz: b\n---\n## same\n",
    )
    plan = merge(tmp_path, "A.md", "B.md")
    assert plan.headings == ["Same"]
    assert plan.kept_properties == ["x"]


@pytest.mark.parametrize(
    ("source", "target", "words"),
    [
        ("A [[x]]\n", "```\nnever closed\n", "would not mean the same"),
        ("#tag\n", "<!-- open\n", "would not mean the same"),
        ("---\nx: a: b\n---\n", "B\n", "must be fixed"),
        ("---\ny: 1\n---\n", "---\nx: a: b\n---\n", "broken"),
    ],
)
def test_notes_that_cannot_be_joined_are_refused(tmp_path: Path, source: str, target: str, words: str) -> None:
    (tmp_path / "A.md").write_text(source)
    (tmp_path / "B.md").write_text(target)
    error = refusal(merge, tmp_path, "A.md", "B.md")
    assert error.code == INVALID_ARGUMENTS
    assert words in error.message


def test_a_note_with_itself_and_one_that_is_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "A.md").write_bytes(b"\xff")
    (tmp_path / "B.md").write_bytes(b"B\n")
    assert refusal(merge, tmp_path, "B.md", "B.md").code == INVALID_ARGUMENTS
    assert refusal(merge, tmp_path, "x.canvas", "B.md").code == INVALID_ARGUMENTS
    assert refusal(merge, tmp_path, "A.md", "B.md").code == NOT_UTF8
    assert refusal(merge, tmp_path, "B.md", "A.md").code == NOT_UTF8


# ---------------------------------------------------------------------- extracting

NOTE = "---\nx: 1\n---\ntop\n## One\nfirst\n### Deep\nmore\n\n## Two\n- a\n  - b ^id\n  - [ ] c\n- d\n\n> q\n\nend"

EXTRACTED = [
    (Part("One"), "link", "## One\nfirst\n### Deep\nmore\n", "---\nx: 1\n---\ntop\n\n[[New]]\n\n## Two\n"),
    (Part("One"), "embed", "## One\nfirst\n### Deep\nmore\n", "---\nx: 1\n---\ntop\n\n![[New]]\n\n## Two\n"),
    (Part("One"), "nothing", "## One\nfirst\n### Deep\nmore\n", "---\nx: 1\n---\ntop\n\n## Two\n"),
    (Part("One#Deep"), "link", "### Deep\nmore\n", "first\n\n[[New]]\n\n## Two\n"),
    (Part("^id"), "link", "- b ^id\n", "- a\n  - [[New]]\n  - [ ] c\n"),
    (Part(lines="13"), "link", "- [ ] c\n", "  - b ^id\n  - [[New]]\n- d\n"),
    (Part(lines="11-14"), "link", "- a\n  - b ^id\n  - [ ] c\n- d\n", "## Two\n- [[New]]\n\n> q\n"),
    (Part(lines="16"), "embed", "> q\n", "- d\n\n> ![[New]]\n\nend"),
    (Part(lines="15-17"), "nothing", "> q\n", "- d\n\nend"),
    (Part(lines="18"), "link", "end", "> q\n\n[[New]]"),
    (Part(lines="4"), "nothing", "top\n", "---\nx: 1\n---\n## One\n"),
]  # fmt: skip


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize(("part", "leave", "new", "rest"), EXTRACTED)
def test_a_part_becomes_a_note_and_leaves_a_link(
    tmp_path: Path, part: Part, leave: Leave, new: str, rest: str, ending: str
) -> None:
    (tmp_path / "Note.md").write_bytes(b"\xef\xbb\xbf" + NOTE.replace("\n", ending).encode())
    plan = extract(tmp_path, "Note.md", part, "New.md", leave)
    execute(tmp_path, plan.steps)
    now = texts(tmp_path)
    assert now["New.md"] == new.replace("\n", ending)
    assert now["Note.md"].startswith("\ufeff")
    assert rest.replace("\n", ending) in now["Note.md"]
    left = to_plain(now["Note.md"]).count("\n") + to_plain(new).count("\n") - NOTE.count("\n")
    assert left in (-1, 0, 1, 2)  # the link's line, and blank ones around it


@pytest.mark.parametrize(
    ("settings", "link"),
    [
        (Settings(), "[[New note]]"),
        (Settings(new_link_format="absolute"), "[[b/New note]]"),
        (Settings(new_link_format="relative"), "[[../b/New note]]"),
        (Settings(use_markdown_links=True), "[New note](New%20note.md)"),
        (Settings(use_markdown_links=True, new_link_format="relative"), "[New note](../b/New%20note.md)"),
    ],
)
def test_the_link_left_behind_has_the_form_the_settings_say(tmp_path: Path, settings: Settings, link: str) -> None:
    write_vault(tmp_path, "=== a/Note.md\n# H\ntext\n")
    changed = after(tmp_path, extract(tmp_path, "a/Note.md", Part("H"), "b/New note", settings=settings).steps)
    assert changed == {"a/Note.md": link + "\n", "b/New note.md": "# H\ntext\n"}


def test_links_follow_what_they_lead_to(tmp_path: Path) -> None:
    write_vault(
        tmp_path,
        """
=== a/Note.md
# Stays
[[#Goes]] [[Note#Top#Goes]] [m](#Goes) [[#Stays]] [[#^in]] [[#^out]] [[Note]]
para ^out
# Top
## Goes
[[#Goes]] [[#Sub]] [[#Top#Goes#Sub]] [[#Stays]] [[#^in]] [[#^out]] [[Note]] [m](#Stays) [[Other]] [[../b/Other]] ![[p.png]]
### Sub
text ^in
# Last
=== a/Other.md
=== b/Other.md
[[Note#Goes]] [[Note#Goes|g]] [[Note#Top#Goes]] [[Note#Top]] [[Note#^in]] [[Note]] [g](../a/Note.md#Goes) [[Goes]] [[New]]
=== a/p.png
=== b/p.png
=== c.canvas
{"nodes":[{"id":"1","type":"file","file":"a/Note.md","subpath":"#Goes"},{"id":"2","type":"file","file":"a/Note.md"}]}
""",
    )
    plan = extract(tmp_path, "a/Note.md", Part("Top#Goes"), "c/New.md")
    changed = after(tmp_path, plan.steps)
    canvas = json.loads(changed.pop("c.canvas"))
    assert [node["file"] + node.get("subpath", "") for node in canvas["nodes"]] == ["c/New.md#Goes", "a/Note.md"]
    assert changed == {
        "a/Note.md": "# Stays\n[[New#Goes]] [[New#Goes]] [m](New.md#Goes) [[#Stays]] [[New#^in]] [[#^out]] [[Note]]\n"
        "para ^out\n# Top\n[[New]]\n# Last\n",
        "c/New.md": "## Goes\n[[#Goes]] [[#Sub]] [[#Goes#Sub]] [[Note#Stays]] [[#^in]] [[Note#^out]] [[Note]] "
        "[m](Note.md#Stays) [[a/Other]] [[../b/Other]] ![[a/p.png]]\n### Sub\ntext ^in\n",
        "b/Other.md": "[[New#Goes]] [[New#Goes|g]] [[New#Goes]] [[Note#Top]] [[New#^in]] [[Note]] [g](New.md#Goes) "
        "[[Goes]] [[New]]\n",
    }
    assert plan.newly_resolved == [("b/Other.md", "New", "c/New.md")]


def test_a_new_name_that_makes_short_links_ambiguous_makes_them_longer(tmp_path: Path) -> None:
    write_vault(tmp_path, "=== a/New.md\n=== x/N.md\n[[New]]\n# H\n[[New]]\n=== x/M.md\n[[New]] [[New#x]]\n")
    changed = after(tmp_path, extract(tmp_path, "x/N.md", Part("H"), "New.md").steps)
    assert changed == {
        "x/N.md": "[[a/New]]\n\n[[New]]\n",
        "New.md": "# H\n[[a/New]]\n",
        "x/M.md": "[[a/New]] [[a/New#x]]\n",
    }


@pytest.mark.parametrize(
    ("part", "new_path", "code"),
    [
        (Part("Nowhere"), "New.md", SECTION_NOT_FOUND),
        (Part("^nowhere"), "New.md", SECTION_NOT_FOUND),
        (Part(), "New.md", INVALID_ARGUMENTS),
        (Part("H", "1"), "New.md", INVALID_ARGUMENTS),
        (Part(lines="1-9"), "New.md", INVALID_ARGUMENTS),  # with properties
        (Part(lines="4"), "New.md", INVALID_ARGUMENTS),  # blank
        (Part(lines="99"), "New.md", INVALID_ARGUMENTS),
        (Part(lines="7"), "New.md", INVALID_ARGUMENTS),  # opens a code block that a later line closes
        (Part("H"), "Note.md", NOTE_EXISTS),
        (Part("H"), "note", NOTE_EXISTS),
        (Part("H"), "a?.md", INVALID_ARGUMENTS),
        (Part("H"), "C# notes.md", INVALID_ARGUMENTS),  # no link can name it
    ],
)
def test_what_cannot_be_extracted_is_refused(tmp_path: Path, part: Part, new_path: str, code: str) -> None:
    write_vault(tmp_path, "=== Note.md\n---\nx: 1\n---\n\n# H\ntext\n```\n[[no link]]\n```\n#tag\n")
    before = snapshot(tmp_path)
    assert refusal(extract, tmp_path, "Note.md", part, new_path).code == code
    assert snapshot(tmp_path) == before


# ---------------------------------------------------------------------- any vault

PATHS = ["A.md", "b/A.md", "b/N.md", "c d/N.md", "c d/x (1).md"]
SUBPATHS = [""] + [f"#H{number}" for number in range(10)] + [f"#^i{number}" for number in range(10)]
FORMATS = st.builds(
    lambda form, is_markdown: Settings(new_link_format=form, use_markdown_links=is_markdown),
    st.sampled_from(["shortest", "relative", "absolute"]),
    st.booleans(),
)


LINKPATHS = ["", *PATHS, *(path.removesuffix(".md") for path in PATHS), "A", "N", "../b/A", "./N", "/A", "x (1)", "New"]
LINKS = st.builds(
    lambda linkpath, subpath, form: form.format(linkpath + subpath, (linkpath + subpath).replace(" ", "%20")),
    st.sampled_from(LINKPATHS),
    st.sampled_from(SUBPATHS),
    st.sampled_from(["[[{0}]]", "![[{0}]]", "[[{0}|shown]]", "[m]({1})", "[m](<{0}>)", "`[[{0}]]`"]),
)
LINES = st.lists(LINKS, max_size=2).map(" ".join)


@st.composite
def vaults(draw: st.DrawFn) -> dict[str, str]:
    """Notes whose headings and block ids are unlike any other's, two each, with links of all forms to all of them."""
    lines = iter(draw(st.lists(LINES, min_size=20, max_size=20)))
    tops = iter(draw(st.lists(st.none() | LINKS, min_size=5, max_size=5)))
    levels = iter(draw(st.lists(st.sampled_from(["#", "##"]), min_size=10, max_size=10)))
    endings = iter(draw(st.lists(st.sampled_from(["\n", "\r\n"]), min_size=5, max_size=5)))
    notes = {}
    for number, path in enumerate(PATHS):
        top = next(tops)
        text = "" if top is None else f'---\nlink: "{top}"\n---\n'
        for heading in (number * 2, number * 2 + 1):
            text += f"{next(lines)}\n{next(levels)} H{heading}\n{next(lines)}\ntext ^i{heading}\n\n"
        notes[path] = text.replace("\n", next(endings))
    return notes


def write_notes(root: Path, notes: dict[str, str]) -> None:
    for path, text in notes.items():
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_bytes(text.encode())


def where_links_lead(root: Path) -> Counter[tuple[str, str, str]]:
    """Return of every link in the vault's notes: its display text, the file it leads to, and the heading or block there.

    A heading or block that the file does not have is none.
    """
    found = {}
    for place in root.rglob("*.md"):
        name = VaultPath(place.relative_to(root).as_posix())
        if not name.startswith("."):
            found[name] = parse_note(to_plain(place.read_bytes().decode()))
    targets = LinkResolver(found)
    leads: Counter[tuple[str, str, str]] = Counter()
    for path, note in found.items():
        for link in note.links:
            linkpath, _, subpath = link.linktext.partition("#")
            target = targets.resolve(path, linkpath)
            if target is not None:
                there = {heading.text for heading in found[target].headings}
                there |= {f"^{block_id.name}" for block_id in found[target].block_ids}
                leads[link.display, target, subpath if subpath in there else ""] += 1
    return leads


def with_place(leads: Counter[tuple[str, str, str]]) -> Counter[tuple[str, str, str]]:
    """Return the links that lead to a heading or block. One that asked in vain may find what the other note has."""
    return Counter({each: times for each, times in leads.items() if each[2]})


def by_file(leads: Counter[tuple[str, str, str]]) -> Counter[tuple[str, str]]:
    files: Counter[tuple[str, str]] = Counter()
    for (display, target, _), times in leads.items():
        files[display, target] += times
    return files


@given(vaults(), st.sampled_from(list(itertools.permutations(PATHS, 2))), st.sampled_from(["end", "start"]), FORMATS)
def test_after_any_merge_every_link_leads_where_its_content_is(
    notes: dict[str, str], pair: tuple[str, str], where: Where, settings: Settings
) -> None:
    source, target = pair
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_notes(root, notes)
        before = where_links_lead(root)
        plan = merge(root, source, target, where, settings)
        execute(root, plan.steps)
        wanted = Counter({(display, target if path == source else path, place): 0 for display, path, place in before})
        for (display, path, place), times in before.items():
            wanted[display, target if path == source else path, place] += times
        found = where_links_lead(root)
        # Of two values of one property only the target's stays, and two that are the same are one.
        most = 1 if all("link:" in notes[path] for path in pair) else 0
        lost, files_lost = (with_place(wanted) - with_place(found)), (by_file(wanted) - by_file(found))
        assert max(lost.total(), files_lost.total()) <= most
        assert {target for _, target in by_file(found) - by_file(wanted)} <= {
            target for *_, target in plan.newly_resolved
        }
        assert (root / ".trash" / source.rpartition("/")[2]).read_bytes() == notes[source].encode()


@given(
    vaults(),
    st.sampled_from(range(10)),
    st.sampled_from(["New.md", "b/New.md", "A.md.md", "c d/A.md", "N.md"]),
    st.sampled_from(["link", "embed", "nothing"]),
    FORMATS,
)
def test_after_any_extraction_every_link_leads_where_its_content_is(
    notes: dict[str, str], heading: int, new_path: str, leave: Leave, settings: Settings
) -> None:
    path = PATHS[heading // 2]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_notes(root, notes)
        before = where_links_lead(root)
        plan = extract(root, path, Part(f"H{heading}"), new_path, leave, settings)
        execute(root, plan.steps)
        new = parse_note(to_plain((root / new_path).read_bytes().decode()))
        moved = {each.text for each in new.headings} | {"^" + each.name for each in new.block_ids}
        assert f"H{heading}" in moved
        wanted: Counter[tuple[str, str, str]] = Counter()
        for (display, target, place), times in before.items():
            wanted[display, new_path if place in moved else target, place] += times
        found = where_links_lead(root)
        assert with_place(wanted) <= with_place(found)
        assert by_file(wanted) <= by_file(found)
        more = by_file(found) - by_file(wanted)
        left = [] if leave == "nothing" else [new_path]
        assert {target for _, target in more} == {*left, *(target for *_, target in plan.newly_resolved)}
        assert plan.newly_resolved or more.total() == len(left)


def test_an_underlined_section_becomes_a_note_with_links_over_several_lines(tmp_path: Path) -> None:
    write_vault(
        tmp_path,
        "=== In.md\n[x](\nNote.md#Sub) [[Note#Top]]\n=== Note.md\nTop\n===\na\n\nSub\n---\n[b\nc](In.md)\n\nEnd\n===\n",
    )
    made = extract(tmp_path, "Note.md", Part(section="Sub"), "New.md")
    assert after(tmp_path, made.steps) == {
        "In.md": "[x](\nNew.md#Sub) [[Note#Top]]\n",
        "New.md": "Sub\n---\n[b\nc](In.md)\n",
        "Note.md": "Top\n===\na\n\n[[New]]\n\nEnd\n===\n",
    }


def test_a_link_in_a_part_that_goes_to_another_folder_says_which_file_of_a_name_it_means(tmp_path: Path) -> None:
    write_vault(tmp_path, "=== A/Note.md\n# Part\n[[Target]]\n=== B/Target.md\n=== C/Target.md\n")
    changed = after(tmp_path, extract(tmp_path, "A/Note.md", Part("Part"), "D/New.md").steps)
    assert "[[B/Target]]" in changed["D/New.md"]


def test_a_link_in_a_part_that_leads_somewhere_at_last_is_told_of_once(tmp_path: Path) -> None:
    write_vault(tmp_path, "=== Note.md\n# H\n[[New]]\n# Other\n")
    assert extract(tmp_path, "Note.md", Part("H"), "New.md").newly_resolved == [("New.md", "New", "New.md")]
