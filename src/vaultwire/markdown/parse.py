"""One pass over a note: all that a reader, a search or an index wants to know of it.

Which lines are prose is ``lines``' matter, what one of them says ``inline``'s. Line numbers count from 1 in the whole note.
"""

from __future__ import annotations

import re

from vaultwire.markdown.bounds import bounded_tags, end_of_reading, unread_problem
from vaultwire.markdown.inline import RawLink, line_block_id, line_tags, read_line
from vaultwire.markdown.lines import HEADING, read_lines
from vaultwire.markdown.model import BlockId, Heading, Link, ParsedNote, Task
from vaultwire.markdown.properties import Frontmatter, parse_frontmatter

_BETWEEN_TAGS = re.compile(r"[,\s]+")
_TASK = re.compile(r"[ \t>]*+(?:(?:[-*+]|\d{1,9}[.)])[ \t]++)++\[(.)\](?=[ \t]|\Z)")


def parse_note(text: str) -> ParsedNote:
    """Return the structure of a note whose line ends are ``\\n``. Never fails; what is odd is in ``problems``."""
    frontmatter = parse_frontmatter(text)
    tags = {tag.casefold(): tag for tag in reversed(_frontmatter_tags(frontmatter))}
    tags = dict(reversed(tags.items()))
    headings: list[Heading] = []
    links = [
        Link(link[0], link[1], number, link[2], link[3]) for link, _, number in frontmatter_links(frontmatter, text)
    ]
    block_ids: list[BlockId] = []
    tasks: list[Task] = []
    end = end_of_reading(text, frontmatter.end)
    lines, blocks = read_lines(text[frontmatter.end : end], text.count("\n", 0, frontmatter.end) + 1)
    for number, line, first, prose, line_links in lines:
        heading = HEADING.match(line) if first == "#" else None
        if heading is not None:
            headings.append(Heading(len(heading[1]), _heading_text(line[heading.end() :]), number))
        elif "^" in prose and (name := line_block_id(prose)):  # a heading has its text for a name
            block_ids.append(BlockId(name, number))
        if "#" in (prose if heading is None else prose[heading.end() :]):
            for tag in line_tags(prose):
                tags.setdefault(tag.casefold(), tag)
        if line_links:
            links += [Link(link[0], link[1], number, link[2], link[3]) for link in line_links]
        if "[" in prose and first in "-*+0123456789" and (task := _TASK.match(line)):
            tasks.append(Task(task[1], line[task.end() :].strip(), number))
    problems = frontmatter.problems if end == len(text) else [*frontmatter.problems, unread_problem(text, end)]
    return ParsedNote(frontmatter, headings, bounded_tags(tags.values()), links, block_ids, tasks, blocks, problems)


def has_tag(tags: list[str], wanted: str) -> bool:
    """Tell whether one of the tags is ``wanted`` or lies below it (``a`` has ``a/b``), whatever the case."""
    key = wanted.removeprefix("#").strip("/").casefold()
    return any(tag.casefold() == key or tag.casefold().startswith(key + "/") for tag in tags)


def _heading_text(text: str) -> str:
    """Return a heading's text without the closing run of ``#``."""
    text = text.strip()
    bare = text.rstrip("#")
    return bare.rstrip() if not bare or bare[-1] in " \t" else text


def _frontmatter_tags(frontmatter: Frontmatter) -> list[str]:
    """Return the tags a ``tags`` property gives: ``#`` is optional; a text with blanks or commas is several, a list's
    element with blanks is none, nor is what is not text (engine facts §2.2). ``tag`` is a property like any other.
    """
    value = frontmatter.value("tags")
    values = value if isinstance(value, list) else _BETWEEN_TAGS.split(value) if isinstance(value, str) else []
    cleaned = [text.strip().removeprefix("#").strip("/") for text in values if isinstance(text, str)]
    return [tag for tag in cleaned if tag.split() == [tag] and not tag.isdecimal()]


def frontmatter_links(frontmatter: Frontmatter, text: str) -> list[tuple[RawLink, str, int]]:
    """Return the links of properties, each with the text it was read from and its line.

    They are texts, also within lists and maps, that are one link and nothing besides: wikilinks since Obsidian 1.4,
    Markdown links since 1.11 (engine facts §2.1). A link amid other text is plain text there
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
            prose, found, _ = read_line(item)
            if len(found) != 1:
                continue
            link = found[0]
            if item.removeprefix("!").startswith(f"[{link.display}](") if link.is_markdown else prose in (".", "!."):
                links.append((link, item, number))
    return links
