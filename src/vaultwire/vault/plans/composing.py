"""Plans for making one note of two, and for moving a part of a note into one of its own, with every link that is concerned.

As Obsidian's Note composer does it. A heading goes with its section and keeps its level; templates have no part in it. What
the other links say then is ``relinking``'s matter, which lines a section has ``sections``'. Plans are steps; nothing is
written here. A plan is refused rather than made where the text would not mean what it meant: each is read again, and must
have the headings, links, tags, tasks and block ids that were there before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple, TypeAlias

from vaultwire.markdown import edits
from vaultwire.markdown.block_edits import in_shape, set_apart
from vaultwire.markdown.block_patterns import ATX_HEADING
from vaultwire.markdown.link_spans import LinkSpan, NewLink, Rewriting, UnwritableLinkError, rewrite_links
from vaultwire.markdown.merging import (
    Where,
    body_of,
    content_of,
    joined,
    new_block_ids,
    with_block_ids,
    with_properties,
)
from vaultwire.markdown.offsets import apply_replacements
from vaultwire.markdown.parse import parse_note
from vaultwire.markdown.parsed_note import Span
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.markdown.property_edits import PropertyEditError
from vaultwire.vault.changes.change import Move, Step, Write
from vaultwire.vault.disk.files import Files, check_size
from vaultwire.vault.disk.paths import check_new_names, is_note, parse_note_path
from vaultwire.vault.errors import INVALID_ARGUMENTS, NOTE_EXISTS, VaultError
from vaultwire.vault.index.port import Index
from vaultwire.vault.links.graph import structure
from vaultwire.vault.links.resolution import names_led_to
from vaultwire.vault.links.sections import Sections, line_count, line_span, section_span
from vaultwire.vault.model import Problem, Progress, VaultPath, asking
from vaultwire.vault.plans.linktexts import link_to
from vaultwire.vault.plans.rejoining import Extraction, Merging
from vaultwire.vault.plans.relinking import LinkChange, Moves, is_looked_into, rewrite_by_kind
from vaultwire.vault.plans.templates import BOM, read_text
from vaultwire.vault.settings.obsidian_settings import Settings

_BLANK_LINES = re.compile(r"\A(?:[ \t]*+\r*+\n)++")
_BOX = re.compile(r"\A([ \t>]*+(?:[-*+]|\d{1,9}[.)])[ \t]++)\[.\][ \t]++")

__all__ = ["ExtractPlan", "Leave", "MergePlan", "Where", "plan_extract", "plan_merge"]

Leave: TypeAlias = Literal["link", "embed", "nothing"]


class MergePlan(NamedTuple):
    """What a merge does, in steps: links elsewhere, the target, the source into the trash.

    ``links`` are told by where they stood. ``headings`` are in both notes: links to them lead to the first of the two.
    ``block_ids`` were in both: those of the source have new names. ``kept`` are properties of which the target's value
    stayed though the source had another. ``gained`` are links that led nowhere and lead to a file then (the file they
    stand in then, what they say, where they lead); ``left`` files whose links could not be looked at.
    """

    source: VaultPath
    target: VaultPath
    trash_path: VaultPath
    steps: list[Step]
    links: list[LinkChange]
    headings: list[str]
    block_ids: dict[str, str]
    kept: list[str]
    gained: list[tuple[VaultPath, str, VaultPath]]
    left: list[Problem]


class ExtractPlan(NamedTuple):
    """What an extraction does, in steps: the new note, the old one, links elsewhere.

    ``lines`` of the old note go. ``links`` are told by where they stood. ``gained`` are links that led nowhere and lead to
    a file then (the file they stand in then, what they say, where they lead); ``left`` files whose links could not be
    looked at.
    """

    path: VaultPath
    new_path: VaultPath
    lines: Span
    steps: list[Step]
    links: list[LinkChange]
    gained: list[tuple[VaultPath, str, VaultPath]]
    left: list[Problem]


def plan_merge(
    files: Files,
    index: Index,
    settings: Settings,
    source: VaultPath,
    target: VaultPath,
    trash: Callable[[VaultPath], VaultPath],
    progress: Progress,
    where: Where = "end",
) -> MergePlan:
    """Return how a note becomes part of another: its text comes last or first there, its properties fill in what lacks.

    The target's own values stay, lists are united. Every link to the source leads to the target, and to the same heading
    or block there. ``trash`` says where the source goes. Raises VaultError: INVALID_ARGUMENTS for a note with itself,
    broken frontmatter and notes whose texts cannot be joined, NOT_UTF8, TOO_LARGE, and those of reading a file.
    """
    if source == target or not (is_note(source) and is_note(target)):
        raise VaultError(
            INVALID_ARGUMENTS, f"{source!r} cannot be merged into {target!r}; name two notes.", path=source
        )
    source_text = read_text(files, source)[1]
    target_data, target_text = read_text(files, target)
    ids = new_block_ids(edits.to_plain(source_text), edits.to_plain(target_text))
    paths = {*index.paths(progress), source, target}
    moves = Merging(paths, source, target, settings.new_link_format, ids, progress)
    changes: list[LinkChange] = []
    source_text = with_block_ids(source_text, ids)
    source_text = apply_replacements(source_text, _rewriting(source_text, source, moves.decide(source), changes).edits)
    target_text = apply_replacements(target_text, _rewriting(target_text, target, moves.decide(target), changes).edits)
    texts = [edits.to_plain(target_text), edits.to_plain(source_text)]
    try:
        merged, kept = with_properties(target_text, texts[1])
    except PropertyEditError as error:
        broken = source if parse_frontmatter(texts[1]).problems else target
        raise VaultError(INVALID_ARGUMENTS, f"{broken!r}: {error}.", path=broken) from None
    merged = joined(merged, body_of(texts[1]), where)
    _check_content([body_of(text) for text in texts], [body_of(edits.to_plain(merged))], target)
    data = _encoded(target_data, merged)
    check_size(target, len(data), files.max_bytes)
    led = index.links_asking({*names_led_to(source), *names_led_to(target)}, [], progress)
    concerned = [(note, text) for note, text in led if note not in (source, target) and moves.concerns(note, text)]
    writes, left = _rewritten(files, paths, concerned, moves, changes, progress)
    built = Sections(structure(target, texts[0]))
    headings = [each.text for each in asking(progress, parse_note(texts[1]).headings) if _has_section(built, each.text)]
    trash_path = trash(source)
    steps = [*writes, Write(target, target_data, data), Move(source, trash_path)]
    gained = sorted(_gained(moves, [*led, *((source, each.linktext) for each in parse_note(texts[1]).links)]))
    return MergePlan(source, target, trash_path, steps, sorted(changes), headings, ids, kept, gained, left)


def plan_extract(  # noqa: PLR0913 - what goes is named in one of two ways
    files: Files,
    index: Index,
    settings: Settings,
    path: VaultPath,
    new_path: VaultPath,
    progress: Progress,
    *,
    section: str = "",
    lines: str = "",
    leave: Leave = "link",
) -> ExtractPlan:
    """Return how a section, block or range of lines becomes a note of its own; blank lines around it stay.

    What goes is a ``section`` (``Heading``, ``Heading#Sub``) or block (``^id``), or ``lines`` (``10-20``). The heading is
    the new note's first line. Links within lead where they led, and links to headings and blocks in it to the new note.
    ``leave`` is what takes its place: a link or an embed, in the form the vault's settings ask for. Raises VaultError:
    NOTE_EXISTS, INVALID_ARGUMENTS for a name that does not travel or that no link can name, and for lines that cannot be
    taken out of the rest; SECTION_NOT_FOUND, NOT_UTF8, and those of reading a file.
    """
    new_path = _free_path(files, new_path)
    data, text = read_text(files, path)
    plain = edits.to_plain(text)
    span = _span(path, plain, section, lines)
    starts = [0, *(found.end() for found in re.finditer("\n", text)), len(text)]
    first, last = starts[span.first - 1], starts[span.last]
    part_plain = "\n".join(plain.split("\n")[span.first - 1 : span.last])
    # Behind a blank line, so that a rule at its start opens no frontmatter.
    built = structure(path, plain), structure(new_path, "\n" + part_plain)
    paths = [*index.paths(progress)]
    moves = Extraction(paths, path, new_path, settings.new_link_format, built, span, progress)
    changes: list[LinkChange] = []
    outside = moves.decide(path)
    rewriting = _rewriting(
        text, path, lambda link: (moves.decide_in_part if first <= link.start < last else outside)(link), changes
    )
    new_text = _dedented(apply_replacements(text, rewriting.edits, first, last))
    above, below = apply_replacements(text, rewriting.edits, 0, first), apply_replacements(text, rewriting.edits, last)
    link = (
        "" if leave == "nothing" else link_to(path, new_path, [*paths, new_path], settings, is_embed=leave == "embed")
    )
    if link and not any(moves.leads(each.linktext) for each in parse_note(link).links):
        raise VaultError(INVALID_ARGUMENTS, f"No link can lead to {new_path!r}; choose another name.", path=new_path)
    ending = edits.line_end(text)
    content = _shaped(link, part_plain.split("\n", 1)[0])
    rest = _with_link(above, below, link, content, ending if new_text.endswith("\n") else "")
    if parse_frontmatter(edits.to_plain(new_text)).end:
        new_text = ending + new_text
    before = body_of(edits.to_plain(apply_replacements(text, rewriting.edits)))
    _check_content([before, link], [body_of(edits.to_plain(rest)), edits.to_plain(new_text)], path)
    led = index.links_asking({*names_led_to(path), *names_led_to(new_path)}, [], progress)
    concerned = [(note, linktext) for note, linktext in led if note != path and moves.concerns(note, linktext)]
    writes, left = _rewritten(files, paths, concerned, moves, changes, progress)
    own = built[0].parsed.links
    inside = [each.linktext for each in own if span.first <= each.line <= span.last]
    outside_part = [(path, each.linktext) for each in own if not span.first <= each.line <= span.last]
    elsewhere = [*outside_part, *(each for each in led if each[0] != path)]
    gained = sorted({*_gained(moves, elsewhere), *moves.gained_in_part(inside)})
    steps = [Write(new_path, None, _encoded(b"", new_text)), Write(path, data, _encoded(data, rest)), *writes]
    return ExtractPlan(path, new_path, span, steps, sorted(changes), gained, left)


# ---------------------------------------------------------------------- links


def _rewriting(
    text: str,
    path: VaultPath,
    decide: Callable[[LinkSpan], NewLink | None],
    changes: list[LinkChange],
) -> Rewriting:
    """Return the edits of a note's links, which are put to ``changes``. Raises VaultError."""
    try:
        rewriting = rewrite_links(text, decide)
    except UnwritableLinkError as error:
        raise VaultError(INVALID_ARGUMENTS, f"{path!r}, {error}.", path=path, line=error.span.line) from None
    changes += [LinkChange(path, link.line, link.old, link.new) for link in rewriting.links]
    return rewriting


def _rewritten(
    files: Files,
    paths: Iterable[VaultPath],
    concerned: list[tuple[VaultPath, str]],
    moves: Moves,
    changes: list[LinkChange],
    progress: Progress,
) -> tuple[list[Step], list[Problem]]:
    """Return the steps for links in other files, and what was left: the links given of notes, canvases and bases all."""
    left: list[Problem] = []
    steps: list[Step] = []
    linktexts = {linktext for _, linktext in concerned}
    for path in sorted({note for note, _ in concerned} | {path for path in paths if is_looked_into(path)}):
        progress.check()
        write = rewrite_by_kind(files, path, moves, linktexts, changes, left)
        if write is not None:
            steps.append(write)
    return steps, left


def _gained(moves: Moves, links: Iterable[tuple[VaultPath, str]]) -> set[tuple[VaultPath, str, VaultPath]]:
    return {(moves.place(note), text, found) for note, text in links if (found := moves.gained(note, text)) is not None}


# ---------------------------------------------------------------------- texts


def _encoded(data: bytes, text: str) -> bytes:
    """Return a note's text as bytes, with the BOM that ``data`` has."""
    bom = BOM.encode()
    return (bom if data.startswith(bom) else b"") + text.encode("utf-8")


def _check_content(before: list[str], after: list[str], path: VaultPath) -> None:
    """Raise VaultError if the texts do not hold in all what they held before."""
    if content_of(before) != content_of(after):
        raise VaultError(
            INVALID_ARGUMENTS,
            f"{path!r}: the text would not mean the same: something that is open there, such as a code block, a comment or "
            "HTML, would take in the lines behind it, or be cut in two. Close it first, or choose other lines.",
            path=path,
        )


def _has_section(note: Sections, text: str) -> bool:
    try:
        return bool(note.headings(text))
    except VaultError:
        return False


# ---------------------------------------------------------------------- extracting


def _free_path(files: Files, wanted: VaultPath) -> VaultPath:
    path, exists = files.spell(parse_note_path(wanted))
    if exists or files.is_folder(path):
        raise VaultError(NOTE_EXISTS, f"{path!r} exists already; give the new note another name.", path=path)
    folder, _, name = path.rpartition("/")
    check_new_names([name] if not folder or files.is_folder(VaultPath(folder)) else path.split("/"))
    return path


def _span(path: VaultPath, plain: str, section: str, lines: str) -> Span:
    """Return the lines that are meant, without blank ones at their ends."""
    if bool(section) == bool(lines):
        raise VaultError(INVALID_ARGUMENTS, "Say which part goes: a section or block, or lines.", argument="section")
    span = (
        section_span(structure(path, plain), section, plain) if section else line_span(path, line_count(plain), lines)
    )
    top = plain.count("\n", 0, parse_frontmatter(plain).end)
    rows = plain.split("\n")
    first, last = max(span.first, 1), span.last
    while first <= last and not rows[first - 1].strip():
        first += 1
    while last > first and not rows[last - 1].strip():
        last -= 1
    if first > last:
        raise VaultError(INVALID_ARGUMENTS, f"{path!r}: those lines are blank; nothing is there to extract.", path=path)
    if first <= top:
        raise VaultError(
            INVALID_ARGUMENTS, f"{path!r}: its properties stay; the text begins in line {top + 1}.", path=path
        )
    return Span(first, last)


def _dedented(part: str) -> str:
    """Return lines without the indentation they share with the first: nested list items, which would become code."""
    margin = part[: len(part) - len(part.lstrip(" \t"))]
    rows = part.split("\n")
    if not margin or not all(row.startswith(margin) or not row.strip() for row in rows):
        return part
    return "\n".join(row.removeprefix(margin) for row in rows)


def _shaped(link: str, first_line: str) -> str:
    """Return the link as what the part was: a list item, but no task, or a quote."""
    return link if not link or ATX_HEADING.match(first_line) else in_shape(link, _BOX.sub(r"\1", first_line))


def _with_link(above: str, below: str, link: str, content: str, ending: str) -> str:
    """Return what is left of a note, with the link's line where the part was; without one, a blank line less."""
    if not link:
        is_apart = not above or not above.removesuffix("\n").rpartition("\n")[2].strip()
        return above + (_BLANK_LINES.sub("", below) if is_apart else below)
    rest = edits.to_plain(above + below)
    set_off = set_apart(rest.split("\n"), parse_note(rest).blocks, above.count("\n"), content, is_block=content == link)
    return above + set_off.replace("\n", edits.line_end(above + below + ending)) + ending + below
