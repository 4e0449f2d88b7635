"""Parsing never fails, whatever a note holds, and takes time in proportion to its length."""

from __future__ import annotations

import os
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultwire.markdown import edits
from vaultwire.markdown.inline import parse_linktext
from vaultwire.markdown.parse import has_tag, parse_note
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.vault.search.matching import Matcher
from vaultwire.vault.search.query import parse_query

# Pieces that mean something to the scanner, so that random texts reach its corners.
PIECES = st.sampled_from([
    "---", "\n", "\n\n", "#a", "# ", "##", "`", "```", "~~~", "$", "$$", "<!--", "-->", "<div>", "<pre", "</pre>", "[[", "]]",
    "](", ")", "> ", "- ", "1. ", "\t", "    ", "|", "_", "\\", "/", "tags:", " [", "]", '"', "'", ",", ": ", "x", "\r", "\r\n",
    "\u00a0", "\ud800", "[[a]]", "![[b|c]]", "[d](e%20f.md)", "[", "(", "<", ">", "|\n|-|\n", " ^id", "^", "- [ ] ",
    "- [x] y\n", "***\n", "%%", "a",
    "===\n", "---\n", "\n%%\n", "\n$$\n", "[a\nb](c)", "(\nc)",
])  # fmt: skip
TEXTS = st.one_of(st.text(), st.lists(PIECES, max_size=40).map("".join))


@given(TEXTS)
def test_parsing_any_text_gives_a_structure_that_lies_in_it(text: str) -> None:
    note = parse_note(text)
    frontmatter = parse_frontmatter(text)
    assert 0 <= frontmatter.end <= len(text)
    lines = text.split("\n")
    for heading in note.headings:
        assert 1 <= heading.level <= 6
        first, *_, last = [line.strip(" \t") for line in lines[heading.line - 1 :][: heading.more + 1]] * 2
        if heading.more:
            assert heading.text.startswith(first)
            assert set(last) == {"=-"[heading.level - 1]}
        else:
            assert heading.text in first
            assert first.startswith("#" * heading.level)
    assert len({tag.casefold() for tag in note.tags}) == len(note.tags)
    for tag in note.tags:
        assert tag in text.replace("\\", "") or "tags" in text.casefold()
        assert tag
        assert not any(character.isspace() for character in tag)
        assert has_tag(note.tags, tag)


@given(TEXTS)
def test_what_is_found_in_any_text_stands_on_the_line_told(text: str) -> None:
    note = parse_note(text)
    lines = text.split("\n")
    top = text.count("\n", 0, note.frontmatter.end)
    for link in note.links:
        line = lines[link.line - 1]
        rest = "\n".join(lines[link.line - 1 :]) if link.is_markdown else line  # which may go on in the next lines
        assert link.linktext.strip("# \t")
        if link.line > top and "%" not in rest and "\\" not in rest:  # nothing encoded or escaped
            opening = ("!" if link.is_embed else "") + "["
            assert opening in line
            assert link.linktext in rest
            assert all(word in rest for word in link.display.split())
            assert link.is_markdown or (opening + "[" in line and "]]" in line)
    for block_id in note.block_ids:
        assert lines[block_id.line - 1].rstrip(" \t").endswith("^" + block_id.name)
    for task in note.tasks:
        assert f"[{task.mark}]" in lines[task.line - 1]
        assert lines[task.line - 1].rstrip().endswith(task.text)
    # Those of the frontmatter come property by property, and a name that is there twice is read from its last place.
    for found in (
        [link.line for link in note.links if link.line > top],
        [block_id.line for block_id in note.block_ids],
        [task.line for task in note.tasks],
    ):
        assert found == sorted(found)
        assert all(1 <= number <= len(lines) for number in found)


@given(TEXTS)
def test_blocks_of_any_text_are_in_order_and_share_no_line(text: str) -> None:
    note = parse_note(text)
    lines = text.split("\n")
    end = text.count("\n", 0, note.frontmatter.end)
    for span in note.blocks:
        assert end < span.first <= span.last <= len(lines)
        assert lines[span.first - 1].strip(" \t")
        assert lines[span.last - 1].strip(" \t")
        end = span.last
    held = {number for span in note.blocks for number in range(span.first, span.last + 1)}
    assert held >= {heading.line for heading in note.headings} | {task.line for task in note.tasks}


@given(TEXTS)
def test_each_property_has_a_line_for_each_of_its_texts(text: str) -> None:
    frontmatter = parse_frontmatter(text)
    count = text.count("\n", 0, frontmatter.end) + 1
    assert frontmatter.lines.keys() == frontmatter.values.keys()
    for name, value in frontmatter.values.items():
        texts = value if isinstance(value, list) else [] if value is None else [value]
        assert len(frontmatter.lines[name]) == len(texts)
        assert all(2 <= line <= count for line in frontmatter.lines[name])


@given(TEXTS)
def test_link_text_of_any_text_is_taken_apart(text: str) -> None:
    parts = parse_linktext(text)
    assert "#" not in parts.linkpath
    assert "|" not in parts.linkpath + parts.subpath


REPEATED = [
    "#a", "$", "$$", "[[", "]]", "[[#a]]", "<!--", "-->", "`", "``a", "`a``", "](", "(](", "#", "*- ", "> ", "\\$", '"',
    "'", "- ", "a: [", "[", "{", 'a: "', '\\"', "\t", "\u00a0", "#a/", "//", "___", "_#a", "|#a", "$#a ", "<a", "<div ",
    "~~~", "1. ", "a:", "\r", "<a ", "<!", " $", "$ ", "#a<", "---\n", "a: b\n", "- a\n", "```\n", "> ```\n", "<pre>\n",
    "\n", "@\n", "\r\r\n", "[", "]", "![", "[a](", "[a](b)", "](<", "](a(", '](a "', "](a 'b", "](((", "\\", "[[a]",
    "[[a|", "[a](b) ", "![[a]]", "%20", "](%E6", "^", " ^a", "^a\n\n", "- [ ] ", "- [ ] a\n", "> a\n", ">", "|", "|-",
    "|-\n", "a\n|-\n", "***", "- -", "* ", "_ ", "***\n", "$$\n", "<!--\n", "-->\n", "    a\n", "<div>\n", "\t- a\n",
    "1. ", "[](", "$$a", '"[[a]]",', "a\n===\n", "[a]: b\n===\n",
    "===\n", "%%\n", "%%\n#a\n", "x $$\n$$\n", "[a\n](b)\n", "[a](\n",
    "> - ", "`a\n", "\\`", "<a b='", "<a b=c ", "[[`]]", "| [[a]] |\n", "a\n|-|\n",
]  # fmt: skip
FRAMES = [
    "- - - - > > > > {}", "{}", "---\n{}\n---\n", "---\na: {}\n---\n", "---\na: [{}", "---\na: [{}]\n---\n", "- {}",
    "x #a{}", "# {}", "[[{}",
    "[x]({}", "[{}](b)", "a\n{}", "x[]({}[[a]] ^b", "x\n\n- [ ] {}",
]  # fmt: skip


# All pairs take most of a minute: soak runs have them. Others have each piece in two frames, in which is up to the run's seed.
STEP = 1 if os.environ.get("HYPOTHESIS_PROFILE") == "soak" else 8


@pytest.mark.parametrize("number", range(len(FRAMES)), ids=FRAMES)
def test_a_long_line_of_anything_is_read_in_linear_time(number: int) -> None:
    """100 KB each: one quadratic pattern among them would take minutes, and the test's own time limit ends it."""
    matcher = Matcher(parse_query('"a b" c'))
    first = random.Random(os.environ["VAULTWIRE_SEED"]).randrange(STEP)
    for piece in REPEATED[(first + number) % STEP :: STEP]:
        text = FRAMES[number].format(piece * (100_000 // len(piece)))
        parse_note(text)
        edits.rewrite(text, text + "x")
        edits.prepend(text, "x")
        edits.to_plain(text)
        matcher.match("x.md", text)


@pytest.mark.parametrize(
    "text",
    [
        "- " * 50_000 + "\n" * 50_000,
        "> " * 50_000 + ">\n" * 50_000,
        "".join("  " * depth + "- #a\n" for depth in range(400)),
        "".join("\t" * depth + "- #a\n" for depth in range(500)),
        "> - " * 100 + "#a\n" * 25_000,
        "![" * 25_000 + "](a)" * 25_000,
        "![" * 25_000 + "![b](c)](a)" * 25_000,
    ],
    ids=["items, then empty lines", "quotes", "items in items", "tabs", "lazy lines", "images", "images beside images"],
)
def test_what_is_within_each_other_takes_time_and_room_in_proportion_to_its_length(text: str) -> None:
    """How deep they go is bounded: else each line, or each text, would cost as much as there is around it."""
    assert sum(len(link.display) for link in parse_note(text).links) < 200 * len(text)
