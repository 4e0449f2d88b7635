"""The parts of a parsed note. Line numbers count from 1 in the whole note; spans include both ends."""

from __future__ import annotations

from typing import NamedTuple

from vaultwire.markdown.properties import Frontmatter


class Heading(NamedTuple):
    """A heading: its level (1 to 6), text and line. ``more``: its further lines; an underlined one has at least one."""

    level: int
    text: str
    line: int
    more: int = 0


class Link(NamedTuple):
    """A link or embed, wikilink or Markdown form.

    ``linktext`` is linkpath and subpath (``Note#Heading``), with the percent signs of the Markdown form decoded;
    ``display`` is what a reader sees instead, empty if there is none.
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
    """A task: the mark in its box (a space: to do, ``x``: done), its text and line."""

    mark: str
    text: str
    line: int


class Span(NamedTuple):
    """The lines of a block: a paragraph, list item, heading, code block, table or quote."""

    first: int
    last: int


class ParsedNote(NamedTuple):
    """A parsed note. ``tags`` are as written, without ``#``, in order of appearance; two that differ only in case are one.

    ``conflicts``: the lines where a conflict begins that Git left in the text (``parse.conflict_blocks``).
    """

    frontmatter: Frontmatter
    headings: list[Heading]
    tags: list[str]
    links: list[Link]
    block_ids: list[BlockId]
    tasks: list[Task]
    blocks: list[Span]
    problems: list[str]
    conflicts: tuple[int, ...] = ()
