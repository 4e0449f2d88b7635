"""Plans for renaming a heading or a block id within a note: its own line, then every link that leads there.

A link still leads to the same heading or block afterwards; one that would do so as it is stays as it is. Plans are steps;
nothing is written here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from vaultwire.markdown.canvas import FileNode, canvas_edits
from vaultwire.markdown.link_spans import LinkSpan, NewLink, rewrite_links
from vaultwire.markdown.marks import HEADING
from vaultwire.vault.changes.change import Step
from vaultwire.vault.errors import INVALID_ARGUMENTS, SECTION_NOT_FOUND, VaultError
from vaultwire.vault.files import Files
from vaultwire.vault.graph import structure
from vaultwire.vault.index import Index
from vaultwire.vault.links import LinkTargets, linkpath_of, names_led_to, names_sought
from vaultwire.vault.model import OutlineEntry, Problem, Progress, Structure, VaultPath
from vaultwire.vault.paths import fold
from vaultwire.vault.plain import plain_text
from vaultwire.vault.plans.relinking import CANVAS_SUFFIX, LinkChange, rewrite_file, rewrite_other
from vaultwire.vault.sections import Sections, section_span

# What Obsidian leaves out of a link to a heading (engine facts 2.1, stripHeadingForLink).
_NOT_IN_LINKS = re.compile(r"(?:[:#|^\\\r\n]|%%|\[\[|\]\]|\s)+")
_BLOCK_ID = re.compile(r"[A-Za-z0-9-]+")


class RenamePlan(NamedTuple):
    """What a rename within a note does: its line as it was and as it is then, the steps, and the links written anew.

    ``left`` are files whose links could not be looked at.
    """

    path: VaultPath
    line: int
    old: str
    new: str
    steps: list[Step]
    links: list[LinkChange]
    left: list[Problem]


def plan_rename_heading(
    files: Files, index: Index, path: VaultPath, subpath: str, text: str, progress: Progress
) -> RenamePlan:
    """Return how a heading (``Heading``, ``Parent#Heading``; of several the first) gets another text; its level stays.

    Links get the text as Obsidian writes it there, without ``: # | ^ \\ %% [[ ]]``; where that would lead to another
    heading, the chain of those above it. Raises VaultError: SECTION_NOT_FOUND; INVALID_ARGUMENTS for a text that is no
    heading's, or that leaves a link without a way to tell its heading from another; those of reading a file.
    """
    plain = plain_text(files.read(path).data)
    before = structure(path, plain)
    old_sections = Sections(before)
    if subpath.strip().removeprefix("#").startswith("^"):
        raise VaultError(INVALID_ARGUMENTS, f"{subpath!r} is a block, not a heading.", path=path)
    heading = _one_line_heading(old_sections, path, subpath)
    number = heading.line
    text = text.strip()

    def renamed(line: str) -> str:
        return _with_text(line, text, is_underlined=heading.more > 0)

    after = structure(path, _with_line(plain, number, renamed))
    expected = [each._replace(text=text) if each.line == number else each for each in before.parsed.headings]
    is_heading = len(text.splitlines()) == 1 and after.parsed.headings == expected
    if not is_heading or _others(before, number) != _others(after, number):
        raise VaultError(
            INVALID_ARGUMENTS,
            f"A heading cannot have the text {text!r}: give one line that ends in no '#'.",
            path=path,
        )

    new_sections, chains = Sections(after), _chains(after.outline)

    def new_subpath(old: str) -> str | None:
        if old.startswith("^") or not old:
            return None
        line = _heading_line(old_sections, old)
        if line is None or _heading_line(new_sections, old) == line:
            return None
        parts = old.split("#")
        led = [_heading_line(old_sections, "#".join(parts[: depth + 1])) for depth in range(len(parts))]
        same = [_linkable(text) if led[depth] == number else part for depth, part in enumerate(parts)]
        chain = [_linkable(entry.text) for entry in chains[line]]
        forms = ["#".join(same), *("#".join(chain[start:]) for start in range(len(chain) - 1, -1, -1))]
        for form in forms:
            if _heading_line(new_sections, form) == line:
                return form
        raise VaultError(
            INVALID_ARGUMENTS,
            f"With the heading renamed to {text!r}, no link could tell line {line} of {path!r} from another heading, and "
            f"there is a link to it ({'#' + old!r}). Choose another text.",
            path=path,
        )

    return _plan(files, index, path, plain, number, renamed, new_subpath, progress)


def plan_rename_block(
    files: Files, index: Index, path: VaultPath, old: str, new: str, progress: Progress
) -> RenamePlan:
    """Return how a block gets another id; both ids without ``^`` or with it. Of several blocks of that id the first is meant.

    Raises VaultError: SECTION_NOT_FOUND; INVALID_ARGUMENTS for an id that is taken in the note or is none (Latin letters,
    digits and dashes, engine facts 2.1); those of reading a file.
    """
    old, new = old.strip().removeprefix("#").removeprefix("^"), new.strip().removeprefix("#").removeprefix("^")
    plain = plain_text(files.read(path).data)
    before = structure(path, plain)
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

    return _plan(files, index, path, plain, block.line, renamed, new_subpath, progress)


def _plan(
    files: Files,
    index: Index,
    path: VaultPath,
    plain: str,
    number: int,
    renamed: Callable[[str], str],
    new_subpath: Callable[[str], str | None],
    progress: Progress,
) -> RenamePlan:
    names = names_led_to(path)
    paths = index.paths(progress)
    sought = {file for name in names for file in names_sought(name)}
    targets = LinkTargets([other for other in paths if fold(other.rpartition("/")[2]) in sought])
    kept: dict[str, str | None] = {}

    def renamed_subpath(subpath: str) -> str | None:
        subpath = subpath.strip()
        if subpath not in kept:
            kept[subpath] = new_subpath(subpath)
        return kept[subpath]

    def decide(source: VaultPath) -> Callable[[LinkSpan], NewLink | None]:
        def new_link(span: LinkSpan) -> NewLink | None:
            progress.check()
            linkpath, mark, subpath = span.linktext.partition("#")
            if not mark or targets.resolve(source, linkpath) != path:
                return None
            new = renamed_subpath(subpath)
            return None if new is None else NewLink(f"{linkpath}#{new}")

        return new_link

    def node(shown: FileNode) -> FileNode | None:
        new = renamed_subpath(shown.subpath.removeprefix("#")) if fold(shown.file) == fold(path) else None
        return None if new is None else shown._replace(subpath=f"#{new}")

    changes: list[LinkChange] = []
    left: list[Problem] = []
    own_links = partial(rewrite_links, decide=decide(path))
    steps = [rewrite_file(files, path, path, own_links, changes, lambda text: _with_line(text, number, renamed))]
    sources = {
        source
        for source, text in index.links_asking(names, [], progress)
        if source != path and "#" in text and targets.resolve(source, linkpath_of(text)) == path
    }
    for source in sorted(sources):
        progress.check()
        steps.append(rewrite_file(files, source, source, partial(rewrite_links, decide=decide(source)), changes))
    for canvas in (other for other in paths if other.lower().endswith(CANVAS_SUFFIX)):
        progress.check()
        rewrite = partial(canvas_edits, of_node=node, of_link=decide(canvas))
        steps.append(rewrite_other(files, canvas, canvas, rewrite, changes, left))
    line = plain.split("\n")[number - 1]
    return RenamePlan(path, number, line, renamed(line), [step for step in steps if step], sorted(changes), left)


def _with_line(text: str, number: int, renamed: Callable[[str], str]) -> str:
    """Return the text with one line in other words; every other character stays, the line's end too."""
    lines = text.split("\n")
    lines[number - 1] = renamed(lines[number - 1])
    return "\n".join(lines)


def _one_line_heading(sections: Sections, path: VaultPath, subpath: str) -> OutlineEntry:
    """Return the first heading a subpath fits. Raises VaultError for one whose text goes over several lines."""
    heading = sections.headings(subpath)[0]
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
    opening = None if is_underlined else HEADING.match(line)
    start = opening.end() if opening else 0
    bare = line[start:].strip()
    blanks = line[start : line.index(bare, start)] if bare else ""
    if is_underlined:
        return blanks + text + line[len(line.rstrip()) :]
    return f"{line[:start]}{blanks or ' '}{text}{_closing(line[start:])}"


def _closing(text: str) -> str:
    """Return what follows a heading's own text: its closing run of ``#`` and blanks."""
    own = text.rstrip()
    bare = own.rstrip("#")
    if not bare or bare[-1] in " \t":
        own = bare.rstrip()
    return text[len(own) :]


def _others(note: Structure, number: int) -> tuple[object, ...]:
    """Return what the other lines of a note hold."""
    parsed = note.parsed
    return parsed.blocks, parsed.block_ids, parsed.tasks, [link for link in parsed.links if link.line != number]


def _heading_line(note: Sections, subpath: str) -> int | None:
    try:
        return note.span(subpath).first
    except VaultError as error:
        if error.code != SECTION_NOT_FOUND:
            raise
        return None


def _chains(outline: list[OutlineEntry]) -> dict[int, list[OutlineEntry]]:
    """Return by the line of each heading those whose sections it lies in, outermost first; its own is the last."""
    chains: dict[int, list[OutlineEntry]] = {}
    open_ones: list[OutlineEntry] = []
    for entry in outline:
        while open_ones and open_ones[-1].last_line < entry.line:
            open_ones.pop()
        open_ones.append(entry)
        chains[entry.line] = [*open_ones]
    return chains


def _linkable(heading: str) -> str:
    return _NOT_IN_LINKS.sub(" ", heading).strip()
