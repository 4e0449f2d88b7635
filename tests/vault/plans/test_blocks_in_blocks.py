"""Blocks with an id in lists, quotes and callouts: what is read, replaced, added beside them, deleted and extracted.

Every kind of block in every container, and in containers of containers. Notes, and what must become of them, are put together
here from lines that are known; nothing of the program says what is right.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from support.memory_text import MemoryText
from support.stores import open_stored
from vaultwire.vault.changes.change import Write
from vaultwire.vault.disk.files import Files
from vaultwire.vault.links.sections import parse_structure, section_span
from vaultwire.vault.plans.composing import Part, plan_extract
from vaultwire.vault.plans.context import PlanContext
from vaultwire.vault.plans.targeted_edits import Edit, apply_edits
from vaultwire.vault.settings.obsidian_settings import Settings
from vaultwire.vault.value_types import VaultPath

PATH = VaultPath("Note.md")
Lines = list[str]


def indented(outer: str, margin: str) -> Callable[[Lines], Lines]:
    """Return what makes lines a part of the first of two list items."""

    def inside(lines: Lines) -> Lines:
        tight = lines[0].lstrip()[:1] in tuple("-12")
        return [outer, *[""] * (not tight), *(margin + line if line else "" for line in lines), "", outer]

    return inside


def quoted(mark: str, *title: str) -> Callable[[Lines], Lines]:
    def inside(lines: Lines) -> Lines:
        marks = [mark.rstrip() if not line else "> " if line[0] == " " else mark for line in lines]
        return [*title, *map("".join, zip(marks, lines, strict=True)), "", "last"]

    return inside


CONTAINERS = {
    "two spaces": indented("- outer", "  "),
    "four spaces": indented("- outer", "    "),
    "tab": indented("- [ ] outer", "\t"),
    "number": indented("1. outer", "   "),
    "quote": quoted("> "),
    "quote without spaces": quoted(">"),
    "callout": quoted("> ", "> [!note]- Title"),
}


class Kind(NamedTuple):
    """A block between two others, and what becomes of it: by the text that is given, and what takes its place."""

    above: Lines
    block: Lines
    below: Lines
    replaced: dict[str, Lines]
    beside: dict[str, Lines]  # what is put in after it, as it stands alone
    link: Lines
    gaps: tuple[int, int] = (0, 0)  # empty lines between it and what is put before and after it


def item(marks: str, *more: str, new: str = "", other: str = "- one") -> Kind:
    text, kid = f"{marks}old", ["    - kid"]
    begin = marks.partition("[")[0]
    replaced = {"NEW": [f"{marks}NEW ^x"], f"{begin}NEW": [f"{begin}NEW ^x"], "NEW\nmore": [f"{marks}NEW", "  more ^x"]}
    body = [text, *more] if more else [f"{text} ^x"]
    if more == ("  ^x",):
        replaced = {"NEW": [f"{marks}NEW", "  ^x"]}
    return Kind(
        [other],
        [*body, *kid],
        [other],
        {content: [*lines, *kid] for content, lines in replaced.items()},
        {"NEW": [new or f"{marks}NEW"], "- [x] NEW\n    - sub": ["- [x] NEW", "    - sub"]},
        [f"{begin}[[New]]"],
    )


def apart(*block: str, replaced: dict[str, Lines], link: str = "[[New]]") -> Kind:
    before = 0 if block[0][0] in ">-" else 1  # an item and a quote begin behind any text
    return Kind(["one", ""], [*block], ["", "two"], replaced, {"NEW\nmore": ["NEW", "more"]}, [link], (before, 1))


ID = ["", "^x"]
CODE = ["```py", "if x:", "    NEW", "```"]
KINDS = {
    "item": item("- "),
    "star": item("* ", other="* one"),
    "task": item("- [ ] "),
    "done task": item("- [x] ", new="- [ ] NEW"),
    "item of two lines": item("- ", "  more ^x"),
    "item with its id below": item("- ", "  ^x"),
    "item with code": item("- ", "  ```", "  code", "  ```", "", "  more", new="- NEW")._replace(
        block=["- old ^x", "  ```", "  code", "  ```", "    - kid"]
    ),
    "paragraph": apart("old ^x", replaced={"NEW": ["NEW ^x"], "NEW\nmore": ["NEW", "more ^x"], "\n".join(CODE): [*CODE, *ID]}),
    "paragraph of two lines": apart("old", "more ^x", replaced={"NEW": ["NEW ^x"]}),
    "paragraph with its id below": apart("old", "^x", replaced={"NEW": ["NEW", "^x"], "\n".join(CODE): [*CODE, *ID]}),
    "row": Kind(
        ["| a | b |", "| - | - |", "| 1 | 2 |"],
        ["| old | 3 | ^x"],
        ["| 4 | 5 |"],
        {"| NEW | 6 |": ["| NEW | 6 | ^x"], "NEW": ["| NEW | ^x"]},
        {"| NEW | 6 |": ["| NEW | 6 |"], "NEW": ["| NEW |"]},
        ["| [[New]] |"],
    ),
    "table": apart("| old |", "| - |", *ID, replaced={"NEW": ["NEW", *ID], "| NEW |\n| - |": ["| NEW |", "| - |", *ID]}),
    "code": apart("```", "old", "", "```", *ID, replaced={"NEW": ["NEW", *ID], "\n".join(CODE): [*CODE, *ID]}),
    "math": apart("$$", "old", "$$", *ID, replaced={"$$\nNEW\n$$": ["$$", "NEW", "$$", *ID]}),
    "quote": apart("> old", "> more", *ID, replaced={"NEW": ["> NEW", *ID]}, link="> [[New]]"),
    "callout": apart("> [!tip] old", "> more", *ID, replaced={"NEW\n\nmore": ["> NEW", ">", "> more", *ID]}, link="> [[New]]"),
    "list": apart("- old", "    - kid", "- older", *ID, replaced={"- NEW\n- n": ["- NEW", "- n", *ID]}, link="- [[New]]"),
}  # fmt: skip

CHAINS = [(), *itertools.product(CONTAINERS), *itertools.product(CONTAINERS, repeat=2)]


def placed(chain: tuple[str, ...], *lines: str) -> Lines:
    """Return lines as they stand in containers, the innermost named first."""
    inside = [*lines]
    for container in chain:
        inside = CONTAINERS[container](inside)
    return inside


def note(lines: Lines) -> str:
    return "\n".join(lines) + "\n"


def edited(text: str, action: str, content: str | None = None) -> str:
    return apply_edits(PATH, text, [Edit(action, content, section="^x")])  # type: ignore[arg-type]


def lines_of_block(chain: tuple[str, ...], kind: Kind) -> Lines:
    """Return the block's lines as they stand in the note: those that differ when it has other lines."""
    whole = placed(chain, *kind.above, *kind.block, *kind.below)
    marked = placed(chain, *kind.above, *(f"{line}~" if line else "~" for line in kind.block), *kind.below)
    return [line for line, other in zip(whole, marked, strict=True) if line != other]


def in_chains(kind: Kind) -> Iterator[tuple[tuple[str, ...], Callable[[Lines], str], str]]:
    for chain in CHAINS:

        def around(lines: Lines, chain: tuple[str, ...] = chain) -> str:
            return note(placed(chain, *kind.above, *lines, *kind.below))

        yield chain, around, around(kind.block)


@pytest.mark.parametrize("name", KINDS)
def test_a_block_is_read_where_it_stands(name: str) -> None:
    kind = KINDS[name]
    for chain, _, text in in_chains(kind):
        first, last = section_span(parse_structure(PATH, text), "^x", text)
        assert text.split("\n")[first - 1 : last] == lines_of_block(chain, kind), chain


@pytest.mark.parametrize("name", KINDS)
def test_a_block_is_replaced_where_it_stands(name: str) -> None:
    kind = KINDS[name]
    for chain, around, text in in_chains(kind):
        for content, lines in kind.replaced.items():
            assert edited(text, "replace", content) == around(lines), (chain, content)
        if "kid" in text:
            continue
        read = lines_of_block(chain, kind)  # a caller may give the lines as they were read
        while read[-1].strip(" >\t") in ("", "^x"):
            read.pop()
        assert edited(text, "replace", note(read).replace("old", "NEW")) == text.replace("old", "NEW"), chain


@pytest.mark.parametrize("name", KINDS)
def test_what_is_put_beside_a_block_stands_with_it(name: str) -> None:
    kind = KINDS[name]
    above, below = ([""] * count for count in kind.gaps)
    for chain, around, text in in_chains(kind):
        for content, lines in kind.beside.items():
            assert edited(text, "append", content) == around([*kind.block, *below, *lines]), (chain, content)
            assert edited(text, "prepend", content) == around([*lines, *above, *kind.block]), (chain, content)


@pytest.mark.parametrize("name", KINDS)
def test_a_block_is_deleted_and_nothing_else(name: str) -> None:
    for chain, around, text in in_chains(KINDS[name]):
        assert edited(text, "delete") == around([]), chain


@pytest.mark.parametrize("name", KINDS)
def test_a_block_becomes_a_note_and_leaves_a_link_of_its_form(tmp_path: Path, name: str) -> None:
    kind = KINDS[name]
    for chain, around, text in itertools.islice(in_chains(kind), 1 + len(CONTAINERS)):
        (tmp_path / PATH).write_text(text)
        context = PlanContext(Files(str(tmp_path), 400_000), open_stored(tmp_path, None, MemoryText)[1], Settings())
        plan = plan_extract(context, PATH, VaultPath("New.md"), Part("^x"))
        new, rest = (step.after.decode() for step in plan.steps if isinstance(step, Write) and step.after is not None)
        assert new == note(kind.block), chain
        assert rest == around(kind.link), chain


EDGES = [
    ("- a\n\t- b ^x\n\t\t- cc\n- c\n", "replace", "NEW", "- a\n\t- NEW ^x\n\t\t- cc\n- c\n"),
    ("- a\n\t- b ^x\n", "replace", "- NEW\n\t- sub", "- a\n\t- NEW ^x\n\t\t- sub\n"),
    ("- a\n  - b ^x\n", "replace", "- NEW\n\t- sub", "- a\n  - NEW ^x\n      - sub\n"),  # a tab would be too narrow
    ("- a\n    - b ^x\n", "append", "    - NEW", "- a\n    - b ^x\n    - NEW\n"),
    ("2. a ^x\n3. b\n", "append", "NEW", "2. a ^x\n3. NEW\n3. b\n"),
    # a second paragraph of an item is a block of its own
    ("- a\n\n  b ^x\n\n  c\n", "replace", "NEW", "- a\n\n  NEW ^x\n\n  c\n"),
    ("- a\n\n  b ^x\n- c\n", "append", "NEW", "- a\n\n  b ^x\n\n  NEW\n- c\n"),
    # an id alone where its block begins, right below one of another kind
    ("# H\n^x\nb\n", "replace", "NEW", "# H\nNEW ^x\n"),
    ("# H\n^x\n\nb\n", "replace", "NEW", "# H\nNEW ^x\n\nb\n"),
    ("> ***\n> ^x\n", "replace", "NEW", "> ***\n> NEW ^x\n"),
    ("# H\n^x\nb\n", "delete", None, "# H\n"),
    # a list in a list, named behind it
    ("- a\n  - b\n  - c\n\n  ^x\n- d\n", "delete", None, "- a\n- d\n"),
    # the title of a callout, and its text right below
    ("> [!note]- T ^x\n> b\n", "replace", "NEW", "> [!note]- NEW ^x\n> b\n"),
    ("> [!note] T ^x\n> b\n", "replace", "> [!tip] NEW", "> [!tip] NEW ^x\n> b\n"),
    ("a\n\n> [!note] T ^x\n> b\n", "delete", None, "a\n\n"),
    ("> [!note] T\n> b ^x\n", "replace", "NEW", "> [!note] T\n> NEW ^x\n"),
    ("> [!note] T\n> b ^x\n", "delete", None, "> [!note] T\n"),
    ("> [!note] T\n> b\n\n^x\n", "replace", "> [!tip] NEW", "> [!tip] NEW\n\n^x\n"),
    # a table by an id in its last row or its header
    ("| a |\n| - |\n| b |\n^x\n", "replace", "| N |\n| - |", "| N |\n| - |\n\n^x\n"),
    ("a | b ^x\n- | -\nc | d\n", "replace", "e | f", "e | f ^x\n- | -\nc | d\n"),
    ("a | b ^x\n- | -\nc | d\n", "delete", None, ""),
    ("t\na | b\n- | -\nc | d ^x\ne | f\n", "append", "NEW", "t\na | b\n- | -\nc | d ^x\n| NEW |\ne | f\n"),
    # a block on the line of the item that it begins
    ("- > q ^x\n\n  t\n", "replace", "NEW\nmore", "- > NEW\n  > more ^x\n\n  t\n"),
    ("- > q ^x\n\n  t\n", "delete", None, "-\n  t\n"),
    ("- a\n- > q ^x\n- b\n", "delete", None, "- a\n- b\n"),
    ("- - a ^x\n  - b\n", "prepend", "NEW", "- - NEW\n  - a ^x\n  - b\n"),
    ("- - a ^x\n  - b\n", "append", "NEW", "- - a ^x\n  - NEW\n  - b\n"),
    # lines that go on without their marks, marks without a space
    ("> a\nb ^x\n", "replace", "NEW", "> NEW ^x\n"),
    (">a ^x\n>\n>b\n", "replace", "NEW", ">NEW ^x\n>\n>b\n"),
    # what is left does not run together
    ("p\n- a ^x\n2. b\n", "delete", None, "p\n\n2. b\n"),
    # code by indentation
    ("a\n\n    code\n\n^x\n", "replace", "NEW", "a\n\nNEW\n\n^x\n"),
]


@pytest.mark.parametrize(("text", "action", "content", "expected"), EDGES)
def test_at_the_edges_of_blocks(text: str, action: str, content: str | None, expected: str) -> None:
    assert edited(text, action, content) == expected
    assert edited(text.replace("\n", "\r\n"), action, content) == expected.replace("\n", "\r\n")
