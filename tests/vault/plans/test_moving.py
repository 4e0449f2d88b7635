"""Moves and renames: what every form of link says afterwards, each with where the rule comes from."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from support.memory_text import MemoryText
from support.odd_names import ODD_NAMES
from support.stores import open_stored
from support.vaults import write_vault
from vaultwire.markdown.link_spans import link_spans
from vaultwire.trust.limits import MAX_NOTE_BYTES
from vaultwire.vault.changes.change import Move, Step, Write
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import fold, is_note
from vaultwire.vault.errors import VaultError
from vaultwire.vault.links.link_resolver import LinkResolver, linkpath_of
from vaultwire.vault.plans.context import PlanContext
from vaultwire.vault.plans.link_rewriting import link_to
from vaultwire.vault.plans.moving import MovePlan, plan_moves
from vaultwire.vault.settings.obsidian_settings import Settings
from vaultwire.vault.value_types import VaultPath

FORMATS = ["shortest", "relative", "absolute"]


def plan(root: Path, source: str, target: str, link_format: str = "shortest") -> MovePlan:
    """Return the plan of a move, as the program itself makes it."""
    return plan_all(root, [(source, target)], link_format)


def plan_all(root: Path, wanted: list[tuple[str, str]], link_format: str = "shortest") -> MovePlan:
    """Return the plan of several moves at once."""
    files = Files(str(root), MAX_NOTE_BYTES)
    index = open_stored(root, None, MemoryText)[1]  # the words of notes do not matter here
    try:
        context = PlanContext(files, index, Settings(new_link_format=link_format))
        return plan_moves(context, [Move(VaultPath(source), VaultPath(target)) for source, target in wanted])
    finally:
        index.close()


def execute(root: Path, steps: list[Step]) -> None:
    """Take the steps of a plan, holding each to what it says of the file before."""
    contents = [(None, None) if isinstance(step, Move) else (step.before, step.after) for step in steps]
    for step, (before, after) in zip(steps, contents, strict=True):
        if isinstance(step, Move):
            (root / step.target).parent.mkdir(parents=True, exist_ok=True)
            os.rename(root / step.source, root / step.target)
        else:
            place = root / step.path
            assert place.read_bytes() == before
            assert after is not None
            place.write_bytes(after)


def moved(root: Path, source: str, target: str, link_format: str = "shortest") -> MovePlan:
    """Plan a move and carry it out."""
    made = plan(root, source, target, link_format)
    execute(root, made.steps)
    return made


FACTS = "engine facts "
RESOLUTION, FRONTMATTER, REWRITES, FORMS = FACTS + "2.1", FACTS + "2.1 frontmatter", FACTS + "2.4", FACTS + "2.4 form"

# What stands in In.md, at the root, before and after Sub/Old.md is Sub/New name.md; shortest, then relative and absolute.
RENAMES = [
    ("[[Old]]", "[[New name]]", "[[Sub/New name]]", "[[Sub/New name]]", FORMS),
    ("![[Old]]", "![[New name]]", "![[Sub/New name]]", "![[Sub/New name]]", REWRITES),
    ("[[old]]", "[[New name]]", "[[Sub/New name]]", "[[Sub/New name]]", RESOLUTION + " case"),
    ("[[Old.md]]", "[[New name.md]]", "[[Sub/New name.md]]", "[[Sub/New name.md]]", REWRITES + " .md kept"),
    ("[[Sub/Old]]", "[[New name]]", "[[Sub/New name]]", "[[Sub/New name]]", FORMS),
    ("[[/Sub/Old]]", "[[New name]]", "[[Sub/New name]]", "[[Sub/New name]]", RESOLUTION + " /"),
    ("[[./Sub/Old]]", "[[New name]]", "[[Sub/New name]]", "[[Sub/New name]]", RESOLUTION + " ./"),
    ("[[Old#A#B]]", "[[New name#A#B]]", "[[Sub/New name#A#B]]", "[[Sub/New name#A#B]]", RESOLUTION + " subpath"),
    ("![[Old#^id]]", "![[New name#^id]]", "![[Sub/New name#^id]]", "![[Sub/New name#^id]]", RESOLUTION + " block"),
    ("[[Old|x]]", "[[New name|x]]", "[[Sub/New name|x]]", "[[Sub/New name|x]]", REWRITES),
    (
        "[[Old|Old]]",
        "[[New name|New name]]",
        "[[Sub/New name|New name]]",
        "[[Sub/New name|New name]]",
        REWRITES + " alias 1.2.1",
    ),
    (
        "| a |\n|---|\n| [[Old\\|x]] |",
        "| a |\n|---|\n| [[New name\\|x]] |",
        "| a |\n|---|\n| [[Sub/New name\\|x]] |",
        "| a |\n|---|\n| [[Sub/New name\\|x]] |",
        REWRITES + " table 1.6.4",
    ),
    ("[x](Old.md)", "[x](New%20name.md)", "[x](Sub/New%20name.md)", "[x](Sub/New%20name.md)", FORMS + " blanks"),
    ("[x](Old)", "[x](New%20name)", "[x](Sub/New%20name)", "[x](Sub/New%20name)", REWRITES + " .md kept"),
    ("[x](Sub/Old.md#A%20b)", "[x](New%20name.md#A%20b)", *["[x](Sub/New%20name.md#A%20b)"] * 2, FORMS),
    ("[Old](Old.md)", "[New name](New%20name.md)", *["[New name](Sub/New%20name.md)"] * 2, REWRITES + " 0.9.18"),
    ("[x](<Sub/Old.md>)", "[x](<New name.md>)", "[x](<Sub/New name.md>)", "[x](<Sub/New name.md>)", REWRITES + " 1.7.0"),
    ('[x](Old.md "t")', '[x](New%20name.md "t")', '[x](Sub/New%20name.md "t")', '[x](Sub/New%20name.md "t")', REWRITES),
    ('---\nup: "[[Old]]"\n---', '---\nup: "[[New name]]"\n---', *['---\nup: "[[Sub/New name]]"\n---'] * 2, REWRITES + " 1.5.7"),
    (
        "---\nup:\n  - '[x](Old.md)'\n---",
        "---\nup:\n  - '[x](New%20name.md)'\n---",
        *["---\nup:\n  - '[x](Sub/New%20name.md)'\n---"] * 2,
        REWRITES + " 1.11",
    ),
    ("[Old](\nOld.md)", "[New name](\nNew%20name.md)", *["[New name](\nSub/New%20name.md)"] * 2, "CommonMark 0.31, Links"),
    (
        "> - [the\n>   note](\n>   <Sub/Old.md>)",
        "> - [the\n>   note](\n>   <New name.md>)",
        *["> - [the\n>   note](\n>   <Sub/New name.md>)"] * 2,
        "CommonMark 0.31, Links",
    ),
    ("a $$ b\n[[Old]]", "a $$ b\n[[New name]]", *["a $$ b\n[[Sub/New name]]"] * 2, "a stray mark of math"),
    ("- ```\n\n[[Old]]", "- ```\n\n[[New name]]", *["- ```\n\n[[Sub/New name]]"] * 2, "code ends with its item"),
    ("%% [[Old]] %%", "%% [[New name]] %%", "%% [[Sub/New name]] %%", "%% [[Sub/New name]] %%", RESOLUTION + " comments count"),
    *[
        (kept, kept, kept, kept, source)
        for kept, source in [
            ("`[[Old]]`", RESOLUTION + " code"),
            ("```\n[[Old]]\n```", RESOLUTION + " code"),
            ("$$\n[[Old]]\n$$", RESOLUTION + " math"),
            ("<!-- [[Old]] -->", RESOLUTION + " HTML"),
            ("[[Other]] [[Older]] [[#Old]]", RESOLUTION),
            ("[[AL]] https://x/Old.md [x](https://x/Old.md)", RESOLUTION + " aliases never resolve"),
            ("---\nup: text [[Old]]\n---", FRONTMATTER),
            ("Old.md Sub/Old", "text is text"),
        ]
    ],
]  # fmt: skip


@pytest.mark.parametrize("link_format", FORMATS)
@pytest.mark.parametrize(
    ("before", "shortest", "relative", "absolute"),
    [row[:4] for row in RENAMES],
    ids=[f"{row[0]} {row[4]}".replace("\n", "/") for row in RENAMES],
)
def test_a_note_is_renamed(
    tmp_path: Path, before: str, shortest: str, relative: str, absolute: str, link_format: str
) -> None:
    write_vault(tmp_path, "=== Sub/Old.md\n---\naliases: [AL]\n---\ntext\n=== Other.md\n")
    (tmp_path / "In.md").write_bytes(f"{before}\r\nlast".encode())
    made = moved(tmp_path, "Sub/Old.md", "Sub/New name.md", link_format)
    expected = {"shortest": shortest, "relative": relative, "absolute": absolute}[link_format]
    assert (tmp_path / "In.md").read_bytes().decode() == f"{expected}\r\nlast"
    assert len(made.links) == (before != expected)


# A vault, a move, and the lines of one file afterwards under each format.
VAULTS = [
    (
        "links from another folder are relative to it",
        "=== A/Old.md\n=== B/C/In.md\n[[Old]] [x](Old.md) [[../../A/Old]]\n",
        ("A/Old.md", "A/New.md"),
        "B/C/In.md",
        (
            "[[New]] [x](New.md) [[New]]",
            "[[../../A/New]] [x](../../A/New.md) [[../../A/New]]",
            "[[A/New]] [x](A/New.md) [[A/New]]",
        ),
        FORMS,
    ),
    (
        "a note that moves keeps leading where it led",
        "=== A/Old.md\n[[./x]] [[../In]] [[y]] [[Old]] [[#h]] [p](x.md)\n=== A/x.md\n=== In.md\n=== y.md\n",
        ("A/Old.md", "B/Old.md"),
        "B/Old.md",
        (
            "[[x]] [[../In]] [[y]] [[Old]] [[#h]] [p](x.md)",
            "[[../A/x]] [[../In]] [[y]] [[Old]] [[#h]] [p](x.md)",
            "[[A/x]] [[../In]] [[y]] [[Old]] [[#h]] [p](x.md)",
        ),
        RESOLUTION + " ./ ../",
    ),
    (
        "its own folder comes first, so a note that leaves it names it",
        "=== A/Old.md\n[[x]]\n=== A/x.md\n=== B/x.md\n",
        ("A/Old.md", "B/Old.md"),
        "B/Old.md",
        ("[[A/x]]", "[[../A/x]]", "[[A/x]]"),
        RESOLUTION + " own folder",
    ),
    (
        "a name that becomes ambiguous gets the whole path",
        "=== A/New.md\n=== B/Old.md\n=== In.md\n[[New]] [[Old]] [[A/New]]\n",
        ("B/Old.md", "B/New.md"),
        "In.md",
        ("[[A/New]] [[B/New]] [[A/New]]",) * 3,
        REWRITES + " 0.8.3",
    ),
    (
        "a name that is no longer ambiguous stays as written",
        "=== A/x.md\n=== B/x.md\n=== In.md\n[[A/x]] [[B/x]]\n",
        ("B/x.md", "B/y.md"),
        "In.md",
        ("[[A/x]] [[y]]", "[[A/x]] [[B/y]]", "[[A/x]] [[B/y]]"),
        FORMS,
    ),
    (
        "the root comes first, so a note that moves there takes no links",
        "=== A/x.md\n=== B/x.md\n=== In.md\n[[x]] [[B/x]]\n",
        ("B/x.md", "x.md"),
        "In.md",
        ("[[A/x]] [[x]]",) * 3,
        RESOLUTION + " exact path",
    ),
    (
        "links to itself by name follow a rename",
        "=== Old.md\n[[Old]] [[#h]] [[Old#h]]\n",
        ("Old.md", "New.md"),
        "New.md",
        ("[[New]] [[#h]] [[New#h]]",) * 3,
        REWRITES,
    ),
    (
        "an attachment is renamed",
        "=== A/fig.png\n=== In.md\n![[fig.png|100x145]] ![a](A/fig.png) [[fig.png]] [fig.png](fig.png) [[fig]]\n",
        ("A/fig.png", "A/my pic.png"),
        "In.md",
        (
            "![[my pic.png|100x145]] ![a](my%20pic.png) [[my pic.png]] [my pic.png](my%20pic.png) [[fig]]",
            *["![[A/my pic.png|100x145]] ![a](A/my%20pic.png) [[A/my pic.png]] [my pic.png](A/my%20pic.png) [[fig]]"] * 2,
        ),
        REWRITES,
    ),
    (
        "a PDF's page and a base's view stay",
        "=== A/b.base\n=== In.md\n![[b.base#View]]\n",
        ("A/b.base", "A/c.base"),
        "In.md",
        ("![[c.base#View]]", "![[A/c.base#View]]", "![[A/c.base#View]]"),
        REWRITES + " 1.10.2",
    ),
    (
        "a folder is renamed",
        "=== A/x.md\n=== A/Deep/y.md\n=== A/p.png\n=== In.md\n[[x]] [[A/x]] [[A/Deep/y#h|s]] ![](A/p.png) [[A/z]]\n",
        ("A", "B c"),
        "In.md",
        ("[[x]] [[x]] [[y#h|s]] ![](p.png) [[A/z]]", *["[[x]] [[B c/x]] [[B c/Deep/y#h|s]] ![](B%20c/p.png) [[A/z]]"] * 2),
        REWRITES,
    ),
    (
        "within a folder that moves as a whole relative links stay",
        "=== A/x.md\n[[./y]] [[../In]] [[A/y]] [[y]]\n=== A/y.md\n=== In.md\n=== Z/In.md\n",
        ("A", "C/D"),
        "C/D/x.md",
        ("[[./y]] [[In]] [[y]] [[y]]", "[[./y]] [[../../In]] [[y]] [[y]]", "[[./y]] [[In]] [[C/D/y]] [[y]]"),
        RESOLUTION,
    ),
    (
        "only the case of a name changes",
        "=== note.md\n=== In.md\n[[note]] [[NOTE|note]]\n",
        ("note.md", "Note.md"),
        "In.md",
        ("[[note]] [[NOTE|note]]",) * 3,
        "ours: a link that still leads there stays",
    ),
]  # fmt: skip


@pytest.mark.parametrize("number", [0, 1, 2], ids=["shortest", "relative", "absolute"])
@pytest.mark.parametrize(
    ("vault", "move", "path", "lines"), [row[1:5] for row in VAULTS], ids=[f"{row[0]} ({row[5]})" for row in VAULTS]
)
def test_a_move_keeps_every_link(
    tmp_path: Path, vault: str, move: tuple[str, str], path: str, lines: tuple[str, str, str], number: int
) -> None:
    write_vault(tmp_path, vault)
    moved(tmp_path, *move, FORMATS[number])
    assert (tmp_path / path).read_text("utf-8").split("\n")[0] == lines[number]


# ---------------------------------------------------------------------- canvases and bases


CANVAS = """{
\t"nodes":[
\t\t{"id":"1","type":"file","file":"Sub/Old.md","subpath":"#A b","x":0, "unknown": [1, {"file": "Sub/Old.md"}]},
\t\t{"id":"2","type":"text","text":"# \\u00e9 \U0001f642 \\ud83d\\ude42\\n[[Old|\\"x\\"]] `[[Old]]` [y](Old.md)"},
\t\t{"id":"3","type":"group","label":"Sub/Old.md","background":"Sub/Old.md"},
\t\t{"file":"Sub/Other.md"}, {"id":"4","type":"link","url":"Sub/Old.md"}
\t],
\t"edges":[], "more": {"nodes": [{"file": "Sub/Old.md"}]}
}"""
CANVAS_AFTER = """{
\t"nodes":[
\t\t{"id":"1","type":"file","file":"Sub/New é.md","subpath":"#A b","x":0, "unknown": [1, {"file": "Sub/Old.md"}]},
\t\t{"id":"2","type":"text","text":"# \\u00e9 \U0001f642 \\ud83d\\ude42\\n[[New é|\\"x\\"]] `[[Old]]` [y](New%20é.md)"},
\t\t{"id":"3","type":"group","label":"Sub/Old.md","background":"Sub/New é.md"},
\t\t{"file":"Sub/Other.md"}, {"id":"4","type":"link","url":"Sub/Old.md"}
\t],
\t"edges":[], "more": {"nodes": [{"file": "Sub/Old.md"}]}
}"""


def test_a_canvas_changes_in_its_file_nodes_and_cards_only(tmp_path: Path) -> None:
    write_vault(tmp_path, "=== Sub/Old.md\n=== Sub/Other.md\n")
    (tmp_path / "c.canvas").write_bytes(CANVAS.encode())
    made = moved(tmp_path, "Sub/Old.md", "Sub/New é.md")
    assert (tmp_path / "c.canvas").read_bytes().decode() == CANVAS_AFTER
    assert [(link.line, link.old) for link in made.links] == [
        (3, "Sub/Old.md#A b"), (4, '[[Old|"x"]]'), (4, "[y](Old.md)"), (5, "Sub/Old.md"),
    ]  # fmt: skip


def test_a_canvas_that_moves_keeps_what_its_cards_lead_to(tmp_path: Path) -> None:
    write_vault(tmp_path, "=== A/x.md\n=== B/x.md\n")
    (tmp_path / "B" / "c.canvas").write_text('{"nodes":[{"text":"[[x]] [[./x]]"}]}')
    moved(tmp_path, "B/c.canvas", "A/c.canvas")
    assert (tmp_path / "A" / "c.canvas").read_text() == '{"nodes":[{"text":"[[B/x]] [[B/x]]"}]}'


@pytest.mark.parametrize("text", ['{"nodes":[{"file":"Old.md"}', "[]", '{"nodes":{}}', "\x00", '{"nodes":' * 100_000])
def test_a_broken_canvas_is_left_alone_and_told_of(tmp_path: Path, text: str) -> None:
    write_vault(tmp_path, "=== Old.md\n")
    (tmp_path / "c.canvas").write_text(text)
    made = moved(tmp_path, "Old.md", "New.md")
    assert (tmp_path / "c.canvas").read_text() == text
    assert [problem.path for problem in made.skipped] == ["c.canvas"]


def test_an_empty_canvas_is_nothing_to_tell_of(tmp_path: Path) -> None:
    write_vault(tmp_path, "=== Old.md\n=== c.canvas\n")
    assert moved(tmp_path, "Old.md", "New.md").skipped == []


# Of a base's YAML each line, before and after A/Old.md is A/it's new.md; what is no name stays.
BASE = [
    ('file.hasLink("Old")', """file.hasLink("it's new")"""),
    ("link('Old', 'Old')", None),
    ('link( "A/Old.md", "Old")', """link( "A/it's new.md", "Old")"""),
    ('file("A/Old")', """file("A/it's new")"""),
    ('file(link("[[Old|x]]"))', """file(link("[[it's new|x]]"))"""),
    ('file.path == "A/Old.md"', """file.path == "A/it's new.md\""""),
    ('file.path != "A/older.md"', 'file.path != "A/older.md"'),
    ('y == 1 && "A/Old.md" == file.path', """y == 1 && "A/it's new.md" == file.path"""),
    ('"A/Old.md" == file.pathology', '"A/Old.md" == file.pathology'),
    ('note.up == "Old"', 'note.up == "Old"'),
    ('file.inFolder("A")', 'file.inFolder("A")'),
    ('link("https://x/Old.md")', 'link("https://x/Old.md")'),
]


@pytest.mark.parametrize("quoted", ["{}", "'{}'"])
@pytest.mark.parametrize(("before", "after"), [row for row in BASE if row[1]])
def test_a_base_changes_where_it_names_the_file(tmp_path: Path, before: str, after: str, quoted: str) -> None:
    doubled = after.replace("'", "''") if quoted != "{}" else after
    write_vault(tmp_path, "=== A/Old.md\n=== A/older.md\n")
    text = "filters:\r\n  and:\r\n    - {}  # keep\r\nviews:\r\n  - type: table\r\n"
    (tmp_path / "b.base").write_bytes(text.format(quoted.format(before)).encode())
    moved(tmp_path, "A/Old.md", "A/it's new.md")
    assert (tmp_path / "b.base").read_bytes().decode() == text.format(quoted.format(doubled))


@pytest.mark.parametrize(
    ("link_format", "there", "back"),
    [
        ("relative", "../New (folder) [x]/[1]", "Old"),
        ("absolute", "New (folder) [x]/[1]", "B/Old"),
        ("shortest", "New (folder) [x]/[1]", "B/Old"),
    ],
)
def test_a_base_follows_a_file_through_names_with_brackets(
    tmp_path: Path, link_format: str, there: str, back: str
) -> None:
    write_vault(tmp_path, '=== A/Old.md\n=== B/b.base\nf: \'link("[[Old]]") + link("[[Old|x]]") + [[Old#h]]\'\n')
    moved(tmp_path, "A/Old.md", "New (folder) [x]/[1].md", link_format)
    assert (tmp_path / "B/b.base").read_text() == (
        f'f: \'link("[[{there}.md]]") + link("[[{there}.md|x]]") + [[{there}#h]]\'\n'
    )
    moved(tmp_path, "New (folder) [x]/[1].md", "B/Old.md", link_format)
    assert [part.partition("]]")[0] for part in (tmp_path / "B/b.base").read_text().split("[[")[1:]] == [
        f"{back}.md", f"{back}.md|x", f"{back}#h",
    ]  # fmt: skip


def test_a_base_follows_a_folder(tmp_path: Path) -> None:
    write_vault(
        tmp_path,
        """
=== A/Deep/x.md
=== AB/x.md
=== b.base
filters: 'file.inFolder("A") || file.folder == "A/Deep" || file.inFolder("AB") || file.inFolder("A/")'
formulas:
  f: "file.inFolder(\\"A/Deep\\") && file.hasLink(\\"A/Deep/x\\")"
  g: '"A" != file.folder || ("AB" == file.folder)'
""",
    )
    moved(tmp_path, "A", "B c")
    assert (tmp_path / "b.base").read_text() == (
        'filters: \'file.inFolder("B c") || file.folder == "B c/Deep" || file.inFolder("AB") || file.inFolder("B c/")\'\n'
        'formulas:\n  f: "file.inFolder(\\"B c/Deep\\") && file.hasLink(\\"B c/Deep/x\\")"\n'
        '  g: \'"B c" != file.folder || ("AB" == file.folder)\'\n'
    )


@pytest.mark.parametrize("text", ['a: link("Old"\n b: [', "a: link('Old')\n\tb: 1\n"])
def test_a_broken_base_is_left_alone_and_told_of(tmp_path: Path, text: str) -> None:
    write_vault(tmp_path, "=== Old.md\n")
    (tmp_path / "b.base").write_text(text + 'c: link("Old")')
    made = moved(tmp_path, "Old.md", "New.md")
    assert [problem.path for problem in made.skipped] == ["b.base"]
    assert (tmp_path / "b.base").read_text() == text + 'c: link("Old")'


# ---------------------------------------------------------------------- what is refused, and what is no hindrance


REFUSED = [
    ("None.md", "x.md", "FILE_NOT_FOUND"),
    ("None", "x", "FILE_NOT_FOUND"),
    ("a.md", "b.md", "NOTE_EXISTS"),
    ("a.md", "B.MD", "NOTE_EXISTS"),
    ("a.md", "a.md", "INVALID_ARGUMENTS"),
    ("A", "B", "NOTE_EXISTS"),
    ("A", "A/C", "INVALID_ARGUMENTS"),
    ("A", "a/C", "INVALID_ARGUMENTS"),
    ("a.md", "b.md/x.md", "INVALID_ARGUMENTS"),
    ("a.md", "x?.md", "INVALID_ARGUMENTS"),
    ("a.md", "new:/x.md", "INVALID_ARGUMENTS"),
    ("a.md", "x.png", "INVALID_ARGUMENTS"),
    ("a.md", "x#y.md", "INVALID_ARGUMENTS"),
    ("p.png", "p.md", "INVALID_ARGUMENTS"),
]


@pytest.mark.parametrize(("source", "target", "code"), REFUSED)
def test_a_move_that_makes_no_sense_is_refused(tmp_path: Path, source: str, target: str, code: str) -> None:
    write_vault(tmp_path, "=== a.md\n=== b.md\n[[a]]\n=== A/x.md\n=== B/x.md\n=== p.png\n")
    with pytest.raises(VaultError) as error:
        plan(tmp_path, source, target)
    assert error.value.code == code


def test_extensions_stay_unless_given(tmp_path: Path) -> None:
    write_vault(tmp_path, "=== v1.2.md\n=== p.png\n=== in.md\n[[v1.2]] ![[p.png]]\n")
    assert plan(tmp_path, "v1.2.md", "v1.3").target == "v1.3.md"
    assert plan(tmp_path, "p.png", "q").target == "q.png"
    assert plan(tmp_path, "p.png", "q.jpeg").target == "q.jpeg"
    assert plan(tmp_path, "p.png", "q 1.2").target == "q 1.2.png"


def test_only_the_case_of_a_name_may_change(tmp_path: Path) -> None:
    write_vault(tmp_path, "=== A/note.md\n")
    assert plan(tmp_path, "A/note.md", "A/Note.md").target == "A/Note.md"
    assert plan(tmp_path, "A", "a").target == "a"


def test_links_that_led_nowhere_stay_and_are_told_of_where_a_file_now_has_their_name(tmp_path: Path) -> None:
    write_vault(tmp_path, "=== a.md\n=== b.md\n[[future]] [[never]]\n")
    made = moved(tmp_path, "a.md", "Future.md")
    assert made.newly_resolved == [("b.md", "future", "Future.md")]
    assert (tmp_path / "b.md").read_text() == "[[future]] [[never]]\n"


def test_a_relative_link_that_left_the_vault_may_lead_somewhere_from_a_new_place(tmp_path: Path) -> None:
    write_vault(tmp_path, "=== a.md\n[[../x]]\n=== x.md\n")
    assert moved(tmp_path, "a.md", "A/a.md").newly_resolved == [("A/a.md", "../x", "x.md")]


def test_bytes_that_are_no_text_go_through(tmp_path: Path) -> None:
    write_vault(tmp_path, "=== Old.md\n")
    (tmp_path / "in.md").write_bytes(b"\xef\xbb\xbfcaf\xe9 [[Old#caf\xe9]]\r\n\xff[[Old]]")
    moved(tmp_path, "Old.md", "New.md")
    assert (tmp_path / "in.md").read_bytes() == b"\xef\xbb\xbfcaf\xe9 [[New#caf\xe9]]\r\n\xff[[New]]"


def test_notes_the_vault_hides_are_rewritten_too(tmp_path: Path) -> None:
    write_vault(
        tmp_path, '=== .obsidian/app.json\n{"userIgnoreFilters": ["Hidden/"]}\n=== Old.md\n=== Hidden/in.md\n[[Old]]\n'
    )
    moved(tmp_path, "Old.md", "New.md")
    assert (tmp_path / "Hidden/in.md").read_text() == "[[New]]\n"


def test_a_name_that_would_end_a_link_is_written_in_a_form_that_does_not(tmp_path: Path) -> None:
    write_vault(tmp_path, "=== Old.md\n=== in.md\n[[Old]] [[Old#h]] [[Old|x]] [y](Old.md)\n")
    moved(tmp_path, "Old.md", "a [b].md")
    assert (tmp_path / "in.md").read_text() == "[[a [b].md]] [[a [b]#h]] [[a [b]|x]] [y](a%20[b].md)\n"
    moved(tmp_path, "a [b].md", "[c] (d.md")
    assert (tmp_path / "in.md").read_text() == "[[/[c] (d.md]] [[/[c] (d#h]] [[/[c] (d|x]] [y]([c]%20%28d.md)\n"


# ---------------------------------------------------------------------- at random


# Few names, so that most links lead somewhere and many could lead elsewhere.
FOLDERS = st.sampled_from(["", "", "A/", "A/", "B/", "A/B/"])
NAMES = st.sampled_from(["x", "x", "x", "y", "y", "X", "v1.2", "p [q]", "it's"])
FILES = st.tuples(FOLDERS, NAMES, st.sampled_from([".md", ".md", ".md", ".md", ".png"])).map("".join)
LINKPATHS = st.one_of(
    NAMES,
    NAMES,
    st.tuples(st.sampled_from(["./", "../", "/", "A/", "b/", "A/B/"]), NAMES, st.sampled_from(["", ".md"])).map(
        "".join
    ),
    st.just("x.png"),
    st.just(""),
)
FORMS_OF_LINKS = st.sampled_from([
    "[[{}]]", "[[{}]]", "![[{}]]", "[[{}|x]]", "[[{}|{}]]", "[a](<{}>)", "![]({})", "[x]({} 'y')", "| [[{}\\|x]] |", "`[[{}]]`",
    "```\n[[{}]]\n```", "> [[{}]] [[{}]]",
])  # fmt: skip
PROPERTIES = st.sampled_from(['k: "[[{}]]"', "k: ['[[{}]]', z]", "k:\n  - '![[{}|y]]'"])


@st.composite
def notes(draw: st.DrawFn) -> bytes:
    """Draw a note of links in all forms."""
    subpaths = st.sampled_from(["", "", "#h", "#h#i", "#^b"])

    def link(form: str) -> str:
        linktext = draw(LINKPATHS) + draw(subpaths)
        return form.replace("{}", linktext.replace(" ", "%20") if "](" in form and "<" not in form else linktext)

    text = "\n\n".join(link(form) for form in draw(st.lists(FORMS_OF_LINKS, min_size=2, max_size=8)))
    if draw(st.booleans()):
        properties = link(draw(PROPERTIES)).replace("it's", "its")
        text = f"---\n{properties}\n---\n{text}"
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"]))).encode()


VAULT = st.dictionaries(FILES, notes(), min_size=4, max_size=9)
NEW_FOLDERS = st.sampled_from(["A", "B", "C", "C/D", "A/C", "B/A"])


def where_links_lead(root: Path, renamed: dict[str, str]) -> dict[str, list[tuple[str | None, str]]]:
    """Return of each note, by the path it has in the end, where its links lead by then, and their subpaths."""
    paths = [VaultPath(path.relative_to(root).as_posix()) for path in root.rglob("*") if path.is_file()]
    targets = LinkResolver(paths)
    led: dict[str, list[tuple[str | None, str]]] = {}
    for path in filter(is_note, paths):
        found = led[renamed.get(path, path)] = []
        for span in link_spans((root / path).read_bytes().decode()):
            target = targets.resolve(path, linkpath_of(span.linktext))
            found.append((target and renamed.get(target, target), span.linktext.partition("#")[2]))
    return led


def without_targets(data: bytes) -> str:
    """Return a note's text without what its links say."""
    text = data.decode()
    places = {place for span in link_spans(text) for place in (span.target, span.display_place) if place}
    for start, end in sorted(places, reverse=True):
        text = text[:start] + text[end:]
    return text


def moved_right(root: Path, source: str, target: str, link_format: str) -> MovePlan | None:
    """Move, and hold all links and texts to those before; return the plan, None if the move is refused."""
    return all_moved_right(root, [(source, target)], link_format)


def all_moved_right(root: Path, wanted: list[tuple[str, str]], link_format: str) -> MovePlan | None:
    """Do the same with several moves at once."""
    try:
        made = plan_all(root, wanted, link_format)
    except VaultError as error:  # taken, a folder into itself, or a name that no link could say
        event(error.code)
        return None
    event(f"{len(made.links) > 0} links")
    files = [path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()]
    renamed = {
        path: target + path[len(source) :]
        for source, target in made.moves
        for path in files
        if path == source or path.startswith(f"{source}/")
    }
    before = where_links_lead(root, renamed)
    texts = {path: (root / path).read_bytes() for path in files if is_note(path)}
    execute(root, made.steps)
    after = where_links_lead(root, {})
    gained = {(path, found) for path, _, found in made.newly_resolved}
    for path, links in before.items():
        assert len(after[path]) == len(links)
        for (old, old_subpath), (new, subpath) in zip(links, after[path], strict=True):
            assert subpath == old_subpath
            assert new == old or (old is None and (path, new) in gained)
    for path, content in texts.items():
        assert without_targets((root / renamed.get(path, path)).read_bytes()) == without_targets(content)
    assert after.keys() == before.keys()
    assert len([step for step in made.steps if isinstance(step, Write)]) == len({link.path for link in made.links})
    return made


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(VAULT, st.data(), st.sampled_from(FORMATS))
def test_whatever_moves_every_link_leads_where_it_led_and_nothing_else_changes(
    tmp_path_factory: pytest.TempPathFactory, vault: dict[str, bytes], data: st.DataObject, link_format: str
) -> None:
    root = tmp_path_factory.mktemp("vault")
    for path, content in vault.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    folders = {path.rpartition("/")[0] for path in vault} - {""}
    source = data.draw(st.sampled_from(sorted([*vault, *folders])))
    target = data.draw(NEW_FOLDERS if source in folders else FOLDERS) + (
        "" if source in folders else data.draw(NAMES) + source[source.rindex(".") :]
    )
    moved_right(root, source, target, link_format)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(VAULT, st.data(), st.sampled_from(FORMATS))
def test_whatever_moves_together_every_link_leads_where_it_led_and_nothing_else_changes(
    tmp_path_factory: pytest.TempPathFactory, vault: dict[str, bytes], data: st.DataObject, link_format: str
) -> None:
    root = tmp_path_factory.mktemp("vault")
    for path, content in vault.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    folders = {path.rpartition("/")[0] for path in vault} - {""}
    sources = data.draw(st.lists(st.sampled_from(sorted([*vault, *folders])), min_size=2, max_size=4, unique=True))
    folder = data.draw(NEW_FOLDERS)
    all_moved_right(root, [(source, f"{folder}/{source.rpartition('/')[2]}") for source in sources], link_format)


FORMS_OF_PLACES = ["{}", "{} and {}", "> {}", "- [ ] {}", "| {} | x |", "([{}])", "%% {} %%", "**{}**, ({})"]


@st.composite
def linked_vaults(draw: st.DrawFn) -> dict[str, bytes]:
    """Draw a vault of odd names whose links are those the program itself would write, in any of its settings."""
    names = [*draw(st.lists(ODD_NAMES, min_size=3, max_size=5, unique_by=fold)), "x"]
    folders = ["", "", *(f"{draw(st.sampled_from(names))}/" for _ in range(2))]
    folders.append(draw(st.sampled_from(folders)) + names[0] + "/")
    parts = st.tuples(st.sampled_from(folders), st.sampled_from(names), st.sampled_from([".md", ".md", ".md", ".png"]))
    paths = draw(st.lists(parts.map("".join).map(VaultPath), min_size=3, max_size=7, unique_by=fold))

    def link(path: VaultPath) -> str:
        form = Settings(new_link_format=draw(st.sampled_from(FORMATS)), use_markdown_links=draw(st.booleans()))
        display = draw(st.sampled_from(["", "", "d", "[d]"]))
        return link_to(path, draw(st.sampled_from(paths)), paths, form, is_embed=draw(st.booleans()), display=display)

    vault: dict[str, bytes] = dict.fromkeys(paths, b"")
    for path in filter(is_note, paths):
        forms = draw(st.lists(st.sampled_from(FORMS_OF_PLACES), min_size=1, max_size=4))
        lines = [form.replace("{}", link(path), 1).replace("{}", link(path)) for form in forms]
        top = link(path)
        if draw(st.booleans()) and "'" not in top:
            lines.insert(0, f"---\nk: ['{top}']\n---")
        vault[path] = "\n\n".join(lines).encode()
    return vault


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None)
@given(linked_vaults(), st.data())
def test_whatever_names_files_and_folders_have_links_follow_them(
    tmp_path_factory: pytest.TempPathFactory, vault: dict[str, bytes], data: st.DataObject
) -> None:
    root = tmp_path_factory.mktemp("vault")
    for path, content in vault.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    for _ in range(3):
        files = sorted(path.relative_to(root).as_posix() for path in root.rglob("*"))
        source = data.draw(st.sampled_from(files))
        suffix = "" if (root / source).is_dir() else source[source.rindex(".") :]
        folder = data.draw(
            st.one_of(st.just(""), ODD_NAMES.map("{}/".format), st.just(f"{source.rpartition('/')[0]}/"))
        )
        moved_right(
            root, source, folder.lstrip("/") + data.draw(ODD_NAMES) + suffix, data.draw(st.sampled_from(FORMATS))
        )


def test_a_note_that_names_itself_keeps_to_a_form_that_leads_to_it(tmp_path: Path) -> None:
    write_vault(tmp_path, "=== A/x.md\n[a](A/x.md#h)\n=== b.md\n")
    with pytest.raises(VaultError, match="links end a name at '#'"):
        plan(tmp_path, "A", "#", "absolute")
    moved(tmp_path, "A", "#", "relative")
    assert (tmp_path / "#/x.md").read_text() == "[a](x.md#h)\n"


def test_a_base_follows_a_file_whose_name_has_an_apostrophe(tmp_path: Path) -> None:
    write_vault(tmp_path, """=== It's.md\n=== b.base\nf: 'link("It''s")'\n""")
    moved(tmp_path, "It's.md", "New.md")
    assert (tmp_path / "b.base").read_text() == "f: 'link(\"New\")'\n"


# Of a base each expression before and after the folder A/Old is A/New; "" where it stays and is told of.
_PARTS_OF_PATHS = [
    ('file.folder.startsWith("A/Old")', 'file.folder.startsWith("A/New")'),
    ('file.path.startsWith("A/Old/")', 'file.path.startsWith("A/New/")'),
    ('file.path.startsWith("A/Old/Deep")', 'file.path.startsWith("A/New/Deep")'),
    ('!file.folder.contains("Old")', '!file.folder.contains("New")'),
    ('file.folder.endsWith("/Old/Deep")', 'file.folder.endsWith("/New/Deep")'),
    ("file.folder.contains('A/Old') && x == \"Old\"", "file.folder.contains('A/New') && x == \"Old\""),
    ('file.folder.startsWith("A")', 'file.folder.startsWith("A")'),
    ('file.folder.startsWith("B")', 'file.folder.startsWith("B")'),
    ('file.path.contains("Older")', 'file.path.contains("Older")'),
    ('file.name.contains("Old")', 'file.name.contains("Old")'),
    ('file.folder.startsWith("A/Ol")', ""),
    ('file.folder.split("/")[1] == "Old"', ""),
    ('["A/Old", "B"].contains(file.folder)', ""),
    ("/^A.Old/.matches(file.path)", ""),
    ('file.folder.containsAny("Old", "x")', ""),
]


@pytest.mark.parametrize(("before", "after"), _PARTS_OF_PATHS)
@pytest.mark.parametrize("form", ["file", "folded", "block", "quoted block", "card"])
def test_a_base_follows_a_folder_in_parts_of_paths(tmp_path: Path, before: str, after: str, form: str) -> None:
    """Where the meaning is certain: the same files are found after the move. What stays is told of."""
    write_vault(tmp_path, "=== A/Old/x.md\n=== A/Old/Deep/y.md\n=== A/z.md\n=== B/Older.md\n")
    said = "filters: " + (f">\n  {before}\n" if form == "folded" else "'" + before.replace("'", "''") + "'\n")
    name = {"file": "b.base", "folded": "b.base", "card": "c.canvas"}.get(form, "n.md")
    texts = {
        "block": f"x\n```base\n{said}```\n",
        "quoted block": f"> ```base\n> {said}> ```\n",
        "card": json.dumps({"nodes": [{"id": "1", "type": "text", "text": f"```base\n{said}```"}], "edges": []}),
    }
    text = texts.get(form, said)
    (tmp_path / name).write_bytes(text.encode())
    plan = moved(tmp_path, "A/Old", "A/New")
    spelt = [each.replace("'", "''") if form != "folded" else each for each in (before, after or before)]
    old, new = (json.dumps(each)[1:-1] if form == "card" else each for each in spelt)
    assert (tmp_path / name).read_bytes().decode() == text.replace(old, new)
    assert [problem.path for problem in plan.kept] == ([name] if not after else [])


def test_a_text_that_other_folders_begin_with_is_followed_only_where_it_is_certain(tmp_path: Path) -> None:
    """“Old” is the beginning of “Older”, too: no text finds the files of both after the move."""
    write_vault(
        tmp_path,
        "=== Old/x.md\n=== Older/y.md\n=== Newer/z.md\n"
        '=== b.base\nfilters: \'file.path.startsWith("Old")\'\nformulas:\n  a: file.path.startsWith("Old/")\n',
    )
    plan = moved(tmp_path, "Old", "New")
    assert (tmp_path / "b.base").read_text() == (
        'filters: \'file.path.startsWith("Old")\'\nformulas:\n  a: file.path.startsWith("New/")\n'
    )
    assert [(problem.path, "line 1" in problem.text, "Old" in problem.text) for problem in plan.kept] == [
        ("b.base", True, True)
    ]
