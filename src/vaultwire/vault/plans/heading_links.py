"""Plans for renaming a heading or block, and what links to headings and blocks say then.

The links are in notes, properties, canvases and bases. A link still leads to the same heading or block. One that does so as
it is stays as it is. Nothing is written here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from types import MappingProxyType
from typing import TypeAlias

from vaultwire.markdown.canvas import FileNode
from vaultwire.markdown.link_spans import Kind, LinkSpan, NewLink
from vaultwire.markdown.patterns import ATX_HEADING, SETEXT_UNDERLINE
from vaultwire.vault.changes.change import Write
from vaultwire.vault.disk.contents import edited_bytes, plain_text
from vaultwire.vault.disk.paths import fold, is_note
from vaultwire.vault.errors import INVALID_ARGUMENTS, SECTION_NOT_FOUND, VaultError
from vaultwire.vault.links.link_resolver import LinkResolver, file_names_for, link_names_to, linkpath_of
from vaultwire.vault.links.sections import Sections, parse_structure, section_span
from vaultwire.vault.plans.context import LinkChange, Plan, PlanContext
from vaultwire.vault.plans.link_rewriting import rewrite_files
from vaultwire.vault.value_types import OutlineEntry, Structure, VaultPath

NewSubpath: TypeAlias = Callable[[str], str | None]
"""A function from a link's subpath (the part after ``#``) to the new one; None if the subpath may stay."""

# A link to a heading that stands in a heading that is linked in a heading, and so on.
_MOST_ROUNDS = 10
# What Obsidian leaves out of a link to a heading (engine facts 2.1, stripHeadingForLink).
_NOT_IN_LINKS = re.compile(r"(?:[:#|^\\\r\n]|%%|\[\[|\]\]|\s)+")


def new_heading_subpaths(
    before: Structure, after: Structure, ambiguous: Callable[[int, str], VaultError]
) -> NewSubpath:
    """Return the function for links to a note's headings, which are the same in the same order before and after.

    Links get the text as Obsidian writes it there, without ``: # | ^ \\ %% [[ ]]``. Where that would lead to another
    heading, they get the chain of the headings above it. Where no link can lead to a heading any more, the error that
    ``ambiguous`` makes of the heading's line before and the link's subpath is raised.
    """
    old, new = _Headings(before), _Headings(after)

    def new_subpath(subpath: str) -> str | None:
        if subpath.startswith("^") or not subpath:
            return None
        number = old.number(subpath)
        if number is None or new.number(subpath) == number:
            return None
        line = after.outline[number].line if number < len(after.outline) else 0
        chain = [each for each in after.outline if each.line <= line <= each.last_line]
        for form in _forms(subpath, old, new, chain):
            if new.number(form) == number:
                return form
        raise ambiguous(before.outline[number].line, subpath)

    return new_subpath


def changed_headings(
    path: VaultPath, before: str, after: str, ambiguous: Callable[[int, str], VaultError]
) -> NewSubpath | None:
    """Return the new subpaths of links to a note's headings after an edit; None if it renames none of them."""
    old, new = parse_structure(path, before), parse_structure(path, after)
    texts = [[heading.text for heading in note.outline] for note in (old, new)]
    return None if texts[0] == texts[1] else new_heading_subpaths(old, new, ambiguous)


def follow_headings(
    context: PlanContext,
    plan: Plan,
    renamed: Mapping[VaultPath, NewSubpath],
    moved: Mapping[VaultPath, VaultPath] = MappingProxyType({}),
) -> None:
    """Add to a plan every link in the vault to a heading or block that it renames, then those to headings that hold such
    links, and so on. Notes that the vault's rules exclude are rewritten as well.

    ``renamed`` has the new subpaths for each edited note that needs some, by its path after the move. ``moved``: the new
    paths of files that move.
    """
    paths = context.index.paths(context.progress) if renamed else []
    for _ in range(_MOST_ROUNDS):
        if not renamed:
            break
        before = {write.path: write for write in plan.writes}
        rules = _HeadingLinks(context, paths, renamed, moved)
        this_round = Plan(steps=plan.steps)
        rewrite_files(context, rules, dict.fromkeys(rules.sources()), paths, this_round)
        renamed = renamed_by_links(plan, this_round.links, before)
        plan.links = _joined(plan.links, this_round.links)
        plan.skipped = [*dict.fromkeys([*plan.skipped, *this_round.skipped])]
    plan.links.sort()


def renamed_by_links(
    plan: Plan, links: Iterable[LinkChange] | None = None, before: Mapping[VaultPath, Write] = MappingProxyType({})
) -> dict[VaultPath, NewSubpath]:
    """Return the new subpaths of the notes in which rewritten links stand in headings.

    ``## Notes on [[Old]]`` is another heading once it says ``[[New]]``. ``links`` are those of the plan that count,
    ``before`` the writes before they were rewritten.
    """
    lines: dict[VaultPath, set[int]] = {}
    for link in plan.links if links is None else links:
        if is_note(link.path):
            lines.setdefault(link.path, set()).add(link.line)
    renamed: dict[VaultPath, NewSubpath] = {}
    for write in plan.writes:
        if write.path not in lines or write.old is None or write.new is None:
            continue
        earlier = before[write.path].after if write.path in before else write.before
        text = plain_text(earlier or b"")
        if not _may_be_in_heading(text, lines[write.path]):
            continue
        new_subpath = changed_headings(write.path, text, plain_text(write.after or b""), _ambiguous_at(write.path))
        if new_subpath is not None:
            renamed[write.path] = new_subpath
    return renamed


def _may_be_in_heading(text: str, numbers: set[int]) -> bool:
    """Tell whether one of the lines may be that of a heading. Parsing the note would take a hundred times as long."""
    is_below = False  # below one of the lines, in the same paragraph
    for number, line in enumerate(text.split("\n"), 1):
        if is_below and SETEXT_UNDERLINE.match(line):
            return True
        if number in numbers:
            if ATX_HEADING.match(line):
                return True
            is_below = True
        elif not line.strip(" \t"):
            is_below = False
    return False


def _ambiguous_at(path: VaultPath) -> Callable[[int, str], VaultError]:
    def ambiguous(line: int, linked: str) -> VaultError:
        return VaultError(
            INVALID_ARGUMENTS,
            f"The heading on line {line} of {path!r} holds a link that would change, and no link could tell it from another "
            f"heading then; there is a link to it ({'#' + linked!r}). Rename that heading first.",
            path=path,
            line=line,
        )

    return ambiguous


def _joined(first: Iterable[LinkChange], then: Iterable[LinkChange]) -> list[LinkChange]:
    """Return all changes of links; two of one link, one after the other, are one."""
    links = [*first]
    places: dict[tuple[VaultPath, int, str], list[int]] = {}
    for number, link in enumerate(links):
        places.setdefault((link.path, link.line, link.new), []).append(number)
    for link in then:
        numbers = places.get((link.path, link.line, link.old))
        if numbers:
            number = numbers.pop(0)
            links[number] = links[number]._replace(new=link.new)
        else:
            links.append(link)
    return links


class _HeadingLinks:
    """What links to renamed headings and blocks say (``link_rewriting.LinkRules``)."""

    def __init__(
        self,
        context: PlanContext,
        paths: Iterable[VaultPath],
        renamed: Mapping[VaultPath, NewSubpath],
        moved: Mapping[VaultPath, VaultPath],
    ) -> None:
        """``paths`` are those before the move, ``renamed`` has paths after it."""
        self._context = context
        self._moved = moved
        # Where the notes with something renamed were before.
        self._before = {old: new for old, new in moved.items() if new in renamed}
        self._before |= {path: path for path in renamed if path not in moved}
        self._names = {name for pair in self._before.items() for path in pair for name in link_names_to(path)}
        sought = {file for name in self._names for file in file_names_for(name)}

        def with_name(paths: Iterable[VaultPath]) -> list[VaultPath]:
            return [path for path in paths if fold(path.rpartition("/")[2]) in sought]

        self._resolver_before = LinkResolver(with_name(paths))
        self._targets = (
            LinkResolver(with_name(moved.get(path, path) for path in paths)) if moved else self._resolver_before
        )
        # Thousands of links may lead to one heading.
        self._renamed = {path: cache(new_subpath) for path, new_subpath in renamed.items()}
        self._by_fold = {fold(path): path for path in renamed}

    def sources(self) -> set[VaultPath]:
        """Return the notes, by their paths before the move, that may have a link to something renamed."""
        links = self._context.index.links_asking(self._names, [], self._context.progress)
        return {*self._before} | {
            source
            for source, text in links
            if "#" in text and self._resolver_before.resolve(source, linkpath_of(text)) in self._before
        }

    def path_after(self, path: VaultPath) -> VaultPath:
        """See ``LinkRules``."""
        return self._moved.get(path, path)

    def decide(self, source: VaultPath) -> Callable[[LinkSpan], NewLink | None]:
        """See ``LinkRules``."""

        def new_link(span: LinkSpan) -> NewLink | None:
            new = self._new_linktext(source, span.linktext)
            return None if new is None else NewLink(new)

        return new_link

    def base_name(self, source: VaultPath) -> Callable[[Kind, str], str | None]:
        """See ``LinkRules``."""

        def new_name(kind: Kind, name: str) -> str | None:
            return self._new_linktext(source, name) if kind in ("link", "wiki") else None

        return new_name

    def node(self, node: FileNode) -> FileNode | None:
        """See ``LinkRules``."""
        new = self._new_subpath(self._by_fold.get(fold(node.file)), node.subpath.removeprefix("#"))
        return None if new is None else node._replace(subpath=f"#{new}")

    def _new_linktext(self, source: VaultPath, linktext: str) -> str | None:
        self._context.progress.check()
        linkpath, mark, subpath = linktext.partition("#")
        target = self._targets.resolve(self.path_after(source), linkpath) if mark else None
        new = self._new_subpath(target, subpath)
        return None if new is None else f"{linkpath}#{new}"

    def _new_subpath(self, path: VaultPath | None, subpath: str) -> str | None:
        new_subpath = None if path is None else self._renamed.get(path)
        return None if new_subpath is None else new_subpath(subpath.strip())


class _Headings:
    """The headings of a note by their numbers: lines above them may come and go."""

    def __init__(self, note: Structure) -> None:
        self._sections = Sections(note)
        self._numbers = {entry.line: number for number, entry in enumerate(note.outline)}
        self.texts = [entry.text for entry in note.outline]

    def number(self, subpath: str) -> int | None:
        """Return the number of the heading a subpath leads to, None if it leads to none."""
        try:
            return self._numbers[self._sections.headings(subpath)[0].line]
        except VaultError as error:
            if error.code != SECTION_NOT_FOUND:
                raise
            return None


def _forms(subpath: str, old: _Headings, new: _Headings, chain: list[OutlineEntry]) -> list[str]:
    """Return what a link to a heading may say, the best first: as it was written, then ever more of the headings above."""
    parts = subpath.split("#")
    written = []
    for depth, part in enumerate(parts):
        number = old.number("#".join(parts[: depth + 1]))
        is_same = number is None or number >= len(new.texts) or old.texts[number] == new.texts[number]
        written.append(part if is_same or number is None else _linkable(new.texts[number]))
    names = [_linkable(entry.text) for entry in chain]
    return ["#".join(written), *("#".join(names[start:]) for start in range(len(names) - 1, -1, -1))]


def _linkable(heading: str) -> str:
    return _NOT_IN_LINKS.sub(" ", heading).strip()


# Plans for renaming a heading or a block id within a note: its own line, then every link that leads there.

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
    expected = [other._replace(text=text) if other.line == number else other for other in before.parsed.headings]
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
