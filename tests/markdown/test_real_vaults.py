"""Cases of notes that people wrote, each with what it holds: seen on vaults nobody here had a hand in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pytest

from support.links import replace_links
from vaultwire.markdown.link_spans import NewLink
from vaultwire.markdown.parse import parse_note
from vaultwire.markdown.parsed_note import BlockId, Heading, Span, Task
from vaultwire.markdown.tag_spans import rename_tag

COMMONMARK = "CommonMark 0.31"
CACHE = "obsidian-tasks, tests/Obsidian/__test_data__/comments_markdown_style: a copy of Obsidian's cache"
CODE = "cyanheads/obsidian-mcp-server#139, Obsidian 1.13.7"
STRAY = "CommonMark 0.31: a block ends with the list item or quote it stands in, inline text with its paragraph"


class Held(NamedTuple):
    """What a note holds."""

    headings: Sequence[tuple[int, str, int, int]] = ()
    links: Sequence[str] = ()
    tags: Sequence[str] = ()
    tasks: Sequence[tuple[str, str, int]] = ()
    ids: Sequence[str] = ()


NOTES = [
    # underlined headings
    ("Title\n=====\ntext", Held([(1, "Title", 1, 1)]), COMMONMARK),
    ("Title #a\n---\ntext", Held([(2, "Title #a", 1, 1)], tags=["a"]), COMMONMARK),
    ("two\n  lines\n-\n# next", Held([(2, "two lines", 1, 2), (1, "next", 4, 0)]), COMMONMARK),
    ("See [[Note]]\n   ===  ", Held([(1, "See [[Note]]", 1, 1)], ["Note"]), COMMONMARK),
    ("x\n\n---\n\ny\n\n===", Held(), COMMONMARK),  # a rule, and text
    ("- item\n---\n> quote\n---", Held(), COMMONMARK),  # rules end them
    ("> quote\n===\n- item\n===", Held(), COMMONMARK),  # text that goes on
    ("> Title\n> ===", Held(), "obsidian: the outline has no headings of quotes"),
    ("a | b\n--- | ---\nc\n---", Held([]), "GFM 0.29, Tables"),
    ("[x]: y.md\n===\n\n[^1]: note\n---", Held(links=["y.md"]), "CommonMark 0.31, Link reference definitions"),
    ("[x]: y.md\nTitle\n===", Held([(1, "Title", 2, 1)], ["y.md"]), "CommonMark 0.31, Link reference definitions"),
    ("---\na: b\n---\nTitle\n---", Held([(2, "Title", 4, 1)]), COMMONMARK),
    ("```\nTitle\n===\n```", Held(), COMMONMARK),
    ("<!-- x -->\n---\n<!-- y --> #a\n===", Held(tags=["a"]), COMMONMARK),
    ("<!-- x -->\nTitle\n---", Held([(2, "Title", 2, 1)]), COMMONMARK),
    ("Title ^id\n===", Held([(1, "Title ^id", 1, 1)]), "as of other headings: the text is the name"),
    # what is not closed ends with its block
    ("price $$ each [[a]]\n[[b]]\n\n[[c]] #d\n# e", Held([(1, "e", 5, 0)], ["a", "b", "c"], ["d"]), STRAY),
    ("$$ open\n[[a]]\n\n[[b]]", Held(links=["a", "b"]), "what nothing ends begins nothing"),
    ("- $$\n  x [[a]]\n- [[b]]\n\n$$\nx\n$$", Held(links=["b"]), STRAY),
    ("> $$\n> x [[a]]\n\n[[b]]\n$$\nx\n$$", Held(links=["b"]), STRAY),
    ("- ```\n  [[a]]\n\n[[b]]", Held(links=["b"]), STRAY),
    ("- x\n  ```\n  [[a]]\n- [[b]]", Held(links=["b"]), STRAY),
    ("> ```\n> [[a]]\n\n[[b]]", Held(links=["b"]), STRAY),
    ("- <!-- x\n  [[a]]\n\n[[b]]", Held(links=["b"]), STRAY),
    ("> <!-- x\n> [[a]]\n\n[[b]]", Held(links=["b"]), STRAY),
    ("- %% x\n\n# h", Held([(1, "h", 3, 0)]), STRAY),
    ("text <!-- x [[a]]\n\n[[b]]", Held(links=["a", "b"]), COMMONMARK),
    ("a $$x\ny$$ [[b]]", Held(links=["b"]), "math within one paragraph"),
    ("a $$x\n$$ [[b]]\n\n$$\ny [[c]]\n$$\n[[d]]", Held(links=["b", "d"]), "math within one paragraph, then a block"),
    # comments
    (
        "%%\n# h\n- [ ] t #a\n\nTitle\n---\n[[b]] ^id\n%%\n# x\n- [ ] y",
        Held([(1, "x", 9, 0)], ["b"], ["a"], [(" ", "y", 10)], ["id"]),
        CACHE,
    ),
    ("text\n%%\n- [ ] #t in\n%%\n- [ ] out", Held(tags=["t"], tasks=[(" ", "out", 5)]), CACHE),
    ("- [ ] t %% #a %%", Held(tags=["a"], tasks=[(" ", "t %% #a %%", 1)]), CACHE),
    ("%% one %%\n# h", Held([(1, "h", 2, 0)]), CACHE),
    ("%%\n# h", Held([(1, "h", 2, 0)]), "what nothing ends begins nothing"),
    ("100 %% sure\n# h\n%% x %%", Held([(1, "h", 2, 0)]), "a comment block begins its line"),
    (
        "# Excalidraw Data\n%%\n## Text Elements\nx ^a1\n\n```json\n{}\n```\n# Drawing\n%%",
        Held([(1, "Excalidraw Data", 1, 0)], ids=["a1"]),
        "zsviczian/obsidian-excalidraw-plugin",
    ),
    # a Markdown link that goes on in the next line
    ("see [the\nnote](Note.md) #a", Held(links=["Note.md"], tags=["a"]), COMMONMARK),
    ("see [x](\n#my-head)", Held(links=["#my-head"]), COMMONMARK),
    ('see [x](Note.md#my-head\n"title #b") #c', Held(links=["Note.md#my-head"], tags=["c"]), COMMONMARK),
    ("> see [the\n> note](Note.md)\n> #a", Held(links=["Note.md"], tags=["a"]), COMMONMARK),
    ("- see [the\n  note](\n  <My Note.md>)", Held(links=["My Note.md"]), COMMONMARK),
    ("[x\n\n](Note.md)", Held(), COMMONMARK),
    ("[x](\n\nNote.md)", Held(), COMMONMARK),
    ("[[a\nb]]", Held(), "engine facts: a line's end ends a wikilink"),
    # code
    ("\\`[[a]] `[[b]]`", Held(links=["a"]), COMMONMARK),
    ("\\``[[a]]` [[b]]", Held(links=["b"]), COMMONMARK),
    ("`\\`[[a]]`", Held(links=["a"]), COMMONMARK),
    ("`[[a]]\n[[b]]` [[c]]", Held(links=["c"]), COMMONMARK),
    ("# h\n    [[a]] #b\n[[c]]", Held([(1, "h", 1, 0)], ["c"]), CODE),
    ("Title\n===\n    #b", Held([(1, "Title", 1, 1)]), CODE),
    ("text\n    [[a]]", Held(links=["a"]), CODE),
    ("***\n    [[a]]", Held(), CODE),
    ("- x\n\n      [[a]]\n\n  [[b]]", Held(links=["b"]), CODE),
]


@pytest.mark.parametrize(("text", "held", "source"), NOTES, ids=[repr(case[0]) for case in NOTES])
def test_a_note_holds_what_its_reader_sees(text: str, held: Held, source: str) -> None:
    note = parse_note(text)
    assert note.headings == [Heading(*each) for each in held.headings], source
    assert [link.linktext for link in note.links] == list(held.links), source
    assert note.tags == list(held.tags), source
    assert note.tasks == [Task(*each) for each in held.tasks], source
    assert [block_id.name for block_id in note.block_ids] == list(held.ids), source


def test_an_underlined_heading_is_a_block_and_what_is_below_another() -> None:
    assert parse_note("Title\n===\ntext\n\n> q\n\n^id").blocks == [Span(1, 2), Span(3, 3), Span(5, 7)]
    assert parse_note("Title\n===\ntext\n\n> q\n\n^id").block_ids == [BlockId("id", 7)]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("see [the\nnote](Old.md) #x", "see [the\nnote](New%20name) #x"),
        ("> see [the\n> note](\n> Old.md 't') x", "> see [the\n> note](\n> New%20name 't') x"),
        ("- a [x](\r\n  <Old.md>\r\n  )", "- a [x](\r\n  <New name>\r\n  )"),
        ("a $$ b [[Old]]\n\n- ```\n  [[Old]]\n\n[[Old]]", "a $$ b [[New name]]\n\n- ```\n  [[Old]]\n\n[[New name]]"),
    ],
)
def test_a_link_over_several_lines_is_rewritten_in_place(before: str, after: str) -> None:
    assert replace_links(before, lambda span: NewLink("New name") if span.linktext.startswith("Old") else None) == after


def test_a_display_text_over_several_lines_is_replaced_as_a_whole() -> None:
    before = "> [Old\n> name](Old.md)"
    assert parse_note(before).links[0].display == "Old name"
    assert replace_links(before, lambda _: NewLink("New.md", "New")) == "> [New](New.md)"


def test_a_place_in_a_note_is_no_tag_to_be_renamed() -> None:
    text = "see [x](\n#my-head) #my-head [y](N.md\n'#my-head')"
    assert rename_tag(text, "my-head", "new") == "see [x](\n#my-head) #new [y](N.md\n'#my-head')"
    assert rename_tag("**#a** ==#a== [#a](#a) <b>#a</b>", "a", "b") == "**#b** ==#b== [#b](#a) <b>#b</b>"
