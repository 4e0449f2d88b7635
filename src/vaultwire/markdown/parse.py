"""The parser of a whole note: all that a reader, a search or an index wants to know, in one pass.

``block_parser`` finds the lines of prose, ``inline`` reads them. Line numbers count from 1 in the whole note.
"""

from __future__ import annotations

import re
from itertools import pairwise

from vaultwire.markdown.block_parser import BlockParser, TextLine, read_body
from vaultwire.markdown.inline import RawLink, line_block_id, line_tags, read_inline
from vaultwire.markdown.offsets import bounded_tags, end_of_reading, unread_problem
from vaultwire.markdown.parsed_note import BlockId, Link, ParsedNote, Span, Task
from vaultwire.markdown.properties import Frontmatter, parse_frontmatter

_CONFLICT_MARK = re.compile(r"(<{7}|>{7}|\|{7}|={7})(?= |\r?\Z)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
# The text of a link to the web, in prose: its address is dots already.
_SHOWN_OF_LINK = re.compile(r"\[[^\[\]]*\](?=\.\.)")
_NOT_LINE_END = re.compile(r"[^\n]")
_TASK = re.compile(r"\[(.)\](?=[ \t]|\Z)")


def parse_note(text: str) -> ParsedNote:
    """Return the structure of a note whose line ends are ``\\n``. Never fails; what is odd is in ``problems``."""
    frontmatter = parse_frontmatter(text)
    tags = {tag.casefold(): tag for tag in reversed(_frontmatter_tags(frontmatter))}
    tags = dict(reversed(tags.items()))
    links = [
        Link(link[0], link[1], number, link[2], link[3]) for link, _, number in frontmatter_links(frontmatter, text)
    ]
    block_ids: list[BlockId] = []
    tasks: list[Task] = []
    end = end_of_reading(text, frontmatter.end)
    body = read_body(text[frontmatter.end : end], text.count("\n", 0, frontmatter.end) + 1)
    for line in body.lines:
        number, prose = line.number, line.prose
        if not line.is_heading and "^" in prose and (name := line_block_id(prose)):  # a heading has its text for a name
            block_ids.append(BlockId(name, number))
        if "#" in prose:
            for tag in line_tags(prose):
                tags.setdefault(tag.casefold(), tag)
        if line.links:
            links += [Link(link[0], link[1], number, link[2], link[3]) for link in line.links]
        # Obsidian's own cache has links and tags from comments, but no tasks and no headings.
        if line.is_item and not (line.is_heading or line.is_comment) and (task := _TASK.match(line.text, line.content)):
            tasks.append(Task(task[1], line.text[task.end() :].strip(), number))
    problems = frontmatter.problems if end == len(text) else [*frontmatter.problems, unread_problem(text, end)]
    found = bounded_tags(tags.values())
    conflicts = tuple(span.first for span, _, _ in conflict_blocks(text))
    return ParsedNote(frontmatter, body.headings, found, links, block_ids, tasks, body.blocks, problems, conflicts)


def conflict_blocks(text: str) -> list[tuple[Span, int | None, int]]:
    """Return the conflicts that Git left in a text: the lines of each, with both marks, then the line of the mark before the
    base, if it is there (``merge.conflictStyle diff3``), and of the one between the two versions.

    A code block shows such lines and has no conflict, unless the conflict holds all of the block.
    """
    if "<<<<<<<" not in text or ">>>>>>>" not in text:
        return []
    blocks: list[tuple[Span, int | None, int]] = []
    first, base, middle = 0, None, 0
    fence = ""
    for number, line in enumerate(text.split("\n"), 1):
        mark = _CONFLICT_MARK.match(line)
        if not first and (fenced := _FENCE.match(line)) is not None:
            fence = "" if fence and fenced[1].startswith(fence) else fence or fenced[1]
        if mark is None or fence:
            continue
        match mark[1][0]:
            case "<":
                first, base, middle = number, None, 0
            case "|" if first and not middle:
                base = number
            case "=" if first and not middle:
                middle = number
            case ">" if middle:
                blocks.append((Span(first, number), base, middle))
                first, base, middle = 0, None, 0
    return blocks


def has_tag(tags: list[str], name: str) -> bool:
    """Tell whether one of the tags is ``name`` or lies below it (``a/b`` below ``a``), in any case of letters."""
    key = name.removeprefix("#").strip("/").casefold()
    return any(tag.casefold() == key or tag.casefold().startswith(key + "/") for tag in tags)


def _frontmatter_tags(frontmatter: Frontmatter) -> list[str]:
    """Return the tags of a ``tags`` property: its text, or each text of its list, with or without ``#``. A text with spaces
    or commas is no tag, nor is a value that is no text (engine facts §2.2). ``tag`` is a property like any other.

    Since Obsidian 1.9.2 a text with commas is not several tags any more (obsidian-tasks' copies of its cache,
    ``yaml_tags_with_two_values_on_one_line``).
    """
    value = frontmatter.value("tags")
    values = value if isinstance(value, list) else [value]
    return [tag for each in values if isinstance(each, str) and (tag := property_tag(each))]


def property_tag(text: str) -> str:
    """Return the tag that a text of a ``tags`` property names, without ``#``; empty if it is no tag."""
    tag = text.strip().removeprefix("#").strip("/")
    return "" if tag.split() != [tag] or "," in tag or tag.isdecimal() else tag


def frontmatter_links(frontmatter: Frontmatter, text: str) -> list[tuple[RawLink, str, int]]:
    """Return the links of properties, each with the text that holds it and its line.

    A text, also within lists and maps, is a link if it holds one link and nothing else: wikilinks since Obsidian 1.4,
    Markdown links since 1.11 (engine facts §2.1). A link within other text is plain text there
    (mnaoumov/obsidian-frontmatter-markdown-links#13).
    """
    end = frontmatter.end
    if text.find("[[", 0, end) < 0 and text.find("](", 0, end) < 0:
        return []
    links: list[tuple[RawLink, str, int]] = []
    for name, texts in frontmatter.written.items():
        for item, number in zip(texts, frontmatter.lines[name], strict=True):
            if "[[" not in item and "](" not in item:
                continue
            found = read_inline(item)[1]
            if len(found) == 1 and found[0].start == found[0].is_embed and found[0].end == len(item):
                links.append((found[0], item, number))
    return links


# ---------------------------------------------------------------------- prose


class _ProseReader(BlockParser):
    """Reads a body and keeps the lines in which something can be written: no code, math, HTML, comments and headings."""

    def __init__(self, body: str, first_line: int) -> None:
        super().__init__(body, first_line)
        self.prose: dict[int, str] = {}

    def read_text(self, lines: list[TextLine]) -> None:
        """Keep the prose of the lines of a paragraph or table."""
        if self.leaf == "heading":
            return
        prose, links = read_inline("\n".join([line.text[line.content :] for line in lines]))
        for link in links:
            prose = f"{prose[: link.start]}{'.' * (link.end - link.start)}{prose[link.end :]}"
        prose = _SHOWN_OF_LINK.sub(lambda shown: _NOT_LINE_END.sub(".", shown[0]), prose)
        ends = [0]
        for line in lines:
            ends.append(ends[-1] + len(line.text) - line.content + 1)
        for line, (start, end) in zip(lines, pairwise(ends), strict=True):
            if not line.is_comment:
                self.prose[line.number] = " " * line.content + prose[start : end - 1]


def prose_lines(text: str) -> dict[int, str]:
    """Return the lines of a note in which a link could be written, by their numbers: paragraphs, lists, quotes, tables.

    They have the length that they have in the note; dots and hard spaces stand for links, inline code, math, HTML.
    """
    start = parse_frontmatter(text).end
    reader = _ProseReader(text[start : end_of_reading(text, start)], text.count("\n", 0, start) + 1)
    reader.run()
    return reader.prose
