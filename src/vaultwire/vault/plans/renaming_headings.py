"""Plans for renaming a heading or a block id within a note: its own line, then every link that leads there.

What those links say is decided by ``heading_links``. A plan is a list of steps; nothing is written here.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from vaultwire.markdown.patterns import ATX_HEADING
from vaultwire.vault.changes.change import Write
from vaultwire.vault.disk.contents import edited_bytes, plain_text
from vaultwire.vault.disk.paths import fold
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.links.sections import Sections, parse_structure, section_span
from vaultwire.vault.plans.context import Plan, PlanContext
from vaultwire.vault.plans.heading_links import NewSubpath, follow_headings, new_heading_subpaths
from vaultwire.vault.value_types import OutlineEntry, Structure, VaultPath

_BLOCK_ID = re.compile(r"[A-Za-z0-9-]+")


def plan_rename_heading(context: PlanContext, path: VaultPath, subpath: str, text: str) -> Plan:
    """Plan to give a heading (``Heading``, ``Parent#Heading``; of several the first) another text; its level stays.

    Links get the text as Obsidian writes it there, without ``: # | ^ \\ %% [[ ]]``; where that would lead to another
    heading, they get the chain of the headings above it. Raises VaultError: SECTION_NOT_FOUND; INVALID_ARGUMENTS for a text
    that no heading can have, or with which a link could not tell its heading from another; those of reading a file.
    """
    data = context.files.read(path).data
    plain = plain_text(data)
    before = parse_structure(path, plain)
    if subpath.strip().removeprefix("#").startswith("^"):
        raise VaultError(INVALID_ARGUMENTS, f"{subpath!r} is a block, not a heading.", path=path)
    heading = _one_line_heading(before, path, subpath)
    number = heading.line
    text = text.strip()

    def renamed(line: str) -> str:
        return _with_text(line, text, is_underlined=heading.more > 0)

    after = parse_structure(path, _with_line(plain, number, renamed))
    expected = [each._replace(text=text) if each.line == number else each for each in before.parsed.headings]
    is_heading = len(text.splitlines()) == 1 and after.parsed.headings == expected
    if not is_heading or _others(before, number) != _others(after, number):
        raise VaultError(
            INVALID_ARGUMENTS,
            f"A heading cannot have the text {text!r}: give one line that ends in no '#'.",
            path=path,
        )

    def ambiguous(line: int, linked: str) -> VaultError:
        return VaultError(
            INVALID_ARGUMENTS,
            f"With the heading renamed to {text!r}, no link could tell line {line} of {path!r} from another heading, and "
            f"there is a link to it ({'#' + linked!r}). Choose another text.",
            path=path,
        )

    return _plan(context, path, data, number, renamed, new_heading_subpaths(before, after, ambiguous))


def plan_rename_block(context: PlanContext, path: VaultPath, old: str, new: str) -> Plan:
    """Plan to give a block another id; both ids without ``^`` or with it. Of several blocks of that id the first is meant.

    Raises VaultError: SECTION_NOT_FOUND; INVALID_ARGUMENTS for an id that is taken in the note or is none (Latin letters,
    digits and dashes, engine facts 2.1); those of reading a file.
    """
    old, new = old.strip().removeprefix("#").removeprefix("^"), new.strip().removeprefix("#").removeprefix("^")
    data = context.files.read(path).data
    plain = plain_text(data)
    before = parse_structure(path, plain)
    section_span(before, f"^{old}")
    block = next(block for block in before.parsed.block_ids if fold(block.name) == fold(old))
    if not _BLOCK_ID.fullmatch(new):
        raise VaultError(
            INVALID_ARGUMENTS, f"A block id has Latin letters, digits and dashes only, not {new!r}.", path=path
        )
    if any(fold(other.name) == fold(new) and other != block for other in before.parsed.block_ids):
        raise VaultError(INVALID_ARGUMENTS, f"{path!r} has a block '^{new}' already. Choose another id.", path=path)

    def renamed(line: str) -> str:
        start, mark, rest = line.rpartition(f"^{block.name}")
        return f"{start}{mark and '^' + new}{rest}"

    def new_subpath(subpath: str) -> str | None:
        return f"^{new}" if subpath.startswith("^") and fold(subpath[1:]) == fold(old) != fold(new) else None

    return _plan(context, path, data, block.line, renamed, new_subpath)


def _plan(
    context: PlanContext,
    path: VaultPath,
    data: bytes,
    number: int,
    renamed: Callable[[str], str],
    new_subpath: NewSubpath,
) -> Plan:
    edit = Write(path, data, edited_bytes(data, lambda text: _with_line(text, number, renamed)))
    plan = Plan(source=path, target=path, steps=[edit])
    follow_headings(context, plan, {path: new_subpath})
    return plan


def _with_line(text: str, number: int, renamed: Callable[[str], str]) -> str:
    """Return the text with one line replaced; every other character stays, also the line's end."""
    lines = text.split("\n")
    lines[number - 1] = renamed(lines[number - 1])
    return "\n".join(lines)


def _one_line_heading(note: Structure, path: VaultPath, subpath: str) -> OutlineEntry:
    """Return the first heading a subpath fits. Raises VaultError for one whose text goes over several lines."""
    heading = Sections(note, suggests=True).headings(subpath)[0]
    if heading.more > 1:
        lines = f"{heading.line}-{heading.line + heading.more}"
        raise VaultError(
            INVALID_ARGUMENTS,
            f"The heading {heading.text!r} is written over several lines ({lines}) and cannot be renamed. Put its text on one "
            "line first.",
            path=path,
        )
    return heading


def _with_text(line: str, text: str, *, is_underlined: bool) -> str:
    """Return a heading's line with another text; its marks stay."""
    opening = None if is_underlined else ATX_HEADING.match(line)
    start = opening.end() if opening else 0
    bare = line[start:].strip()
    spaces = line[start : line.index(bare, start)] if bare else ""
    if is_underlined:
        return spaces + text + line[len(line.rstrip()) :]
    return f"{line[:start]}{spaces or ' '}{text}{_closing(line[start:])}"


def _closing(text: str) -> str:
    """Return what follows a heading's own text: its closing run of ``#`` and spaces."""
    own = text.rstrip()
    bare = own.rstrip("#")
    if not bare or bare[-1] in " \t":
        own = bare.rstrip()
    return text[len(own) :]


def _others(note: Structure, number: int) -> tuple[object, ...]:
    """Return what the other lines of a note hold."""
    parsed = note.parsed
    return parsed.blocks, parsed.block_ids, parsed.tasks, [link for link in parsed.links if link.line != number]
