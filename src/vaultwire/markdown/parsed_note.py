"""What a note is made of. Line numbers count from 1 in the whole note, spans include both ends."""

from __future__ import annotations

from typing import NamedTuple

from vaultwire.markdown.properties import Frontmatter


class Heading(NamedTuple):
    """A heading's level (1 to 6), text and line, and how many lines more it has: an underlined one has one at least."""

    level: int
    text: str
    line: int
    more: int = 0


class Link(NamedTuple):
    """A link or embed, wikilink or Markdown form.

    ``linktext`` is linkpath and subpath (``Note#Heading``), percent signs of the Markdown form decoded; ``display`` is
    what a reader sees instead, empty if nothing was given.
    """

    linktext: str
    display: str
    line: int
    is_embed: bool
    is_markdown: bool


class BlockId(NamedTuple):
    """A block's id, without ``^``, and the line it stands on."""

    name: str
    line: int


class Task(NamedTuple):
    """A task: the mark in its box (a blank is to do, ``x`` done), its text and line."""

    mark: str
    text: str
    line: int


class Span(NamedTuple):
    """Lines of a block: a paragraph, a list item, a heading, a code block, a table or a quote."""

    first: int
    last: int


class ParsedNote(NamedTuple):
    """What a note holds. ``tags`` are as written, without ``#``, each once whatever its case, in order of appearance."""

    frontmatter: Frontmatter
    headings: list[Heading]
    tags: list[str]
    links: list[Link]
    block_ids: list[BlockId]
    tasks: list[Task]
    blocks: list[Span]
    problems: list[str]
