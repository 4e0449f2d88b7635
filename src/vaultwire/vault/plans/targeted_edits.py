"""Targeted edits of one note's text: each names a section, block, lines or text, and all are made at once. Pure.

``Edit`` says what every action means for every target. All targets are found in the text as it was, so edits do not shift one
another; if two would change the same characters, none is made. Properties are changed by ``property_edits``.
"""

from __future__ import annotations

import itertools
import re
import textwrap
from bisect import bisect_right
from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias, TypeVar

from vaultwire.markdown.block_tree import BlockTree, delete_block, insert_beside, replace_block, set_apart
from vaultwire.markdown.diffs import hint_at
from vaultwire.markdown.edits import Change, replace_spans, to_plain
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.vault.errors import AMBIGUOUS_TARGET, INVALID_ARGUMENTS, TEXT_NOT_FOUND, VaultError
from vaultwire.vault.links.sections import Sections, line_span, parse_structure
from vaultwire.vault.value_types import NO_PROGRESS, OutlineEntry, Progress, Structure, VaultPath, asking

Action: TypeAlias = Literal["append", "prepend", "replace", "delete"]
_ACTIONS = ("append", "prepend", "replace", "delete")
_TARGETS = ("section", "lines", "text", "property")

# The most places that one edit may change; each costs 200 bytes of memory.
_MOST_PLACES = 100_000
# How many places an error lists for the caller to choose from, and how many characters of each line.
MAX_PLACES = 20
_MAX_SHOWN = 80


class Edit(NamedTuple):
    """One edit: an action, one target, and the content it brings. Without a target, lines are added to the body.

    - ``body`` (all after the frontmatter): append and prepend add lines at its end and start, replace rewrites it, delete
      empties it.
    - ``section`` with a heading (``Heading``, ``Heading#Sub``): it reaches to the next heading of its level or above, and
      includes the headings below it. Append adds lines after its last line that is not blank, prepend right below the
      heading; replace changes all below the heading but the blank lines at either end, unless the content brings its own
      there (a first line that repeats the heading is ignored); delete removes the heading too, and the blank lines before
      the next.
    - ``section`` with a block id (``^id``): append and prepend add lines after and before the block, in the list, table or
      quote that it stands in; replace changes its text and keeps the id, a list item's mark and nested items, a quote's
      mark; delete removes all of these.
    - ``lines`` (``10-20``, ``10-``, ``10``): append and prepend add lines after and before them, as they are.
    - ``text``: exactly these characters, over several lines if need be; append and prepend add lines after and before
      them where they are whole lines, and else right after and before them, within the line.
    - ``property``: the caller of ``apply_edits`` decides.

    Lines added beside those of a section or block are set apart by an empty line if they would become part of them.
    If several sections, blocks or texts match, ``occurrence`` says which, counted from 1; ``every`` means all texts.
    """

    action: Action
    content: str | None = None
    section: str | None = None
    lines: str | None = None
    text: str | None = None
    property: str | None = None
    body: bool = False
    occurrence: int = 0
    every: bool = False


class _Note(NamedTuple):
    """A note's text as plain lines, and the position in the file's own text where each line starts."""

    structure: Structure
    sections: Sections
    plain: str
    lines: list[str]
    starts: list[int]  # one more than lines: the last is the text's end
    top: int  # lines of frontmatter


class _Planned(NamedTuple):
    """A change, the number of its edit, and the position of the heading whose section it edits (-1 for none)."""

    change: Change
    number: int
    heading_start: int


def apply_edits(
    path: VaultPath,
    text: str,
    edits: list[Edit],
    change_property: Callable[[str, Edit], str] | None = None,
    progress: Progress = NO_PROGRESS,
    notices: list[str] | None = None,
) -> str:
    """Return the text with all the edits made. Raises VaultError if one cannot be made.

    ``text`` is the file's own, without BOM. Text outside the edits' spans stays as it is; new text gets the note's line
    ends. ``change_property`` makes the edits of properties, after all others and in their order. ``notices`` gets a line for
    each edit that adds text beside another: on lines of its own, or within the line.

    Raises VaultError: INVALID_ARGUMENTS (also for edits that overlap), SECTION_NOT_FOUND, TEXT_NOT_FOUND,
    AMBIGUOUS_TARGET; ``edit`` in its details is the number of the wrong edit.
    """
    if not edits:
        raise VaultError(INVALID_ARGUMENTS, "edits: give at least one.", argument="edits")
    note = _read(path, text)
    planned: list[_Planned] = []
    for number, edit in enumerate(asking(progress, edits), 1):
        try:
            _check(edit, can_change_properties=change_property is not None)
            changes = _changes(note, edit)
            planned += [_Planned(change, number, heading_start) for change, heading_start in changes]
            if notices is not None and edit.text and edit.action in ("append", "prepend"):
                notices.append(_where_added(edit, [change for change, _ in changes]))
        except VaultError as error:
            which = f"Edit {number} of {len(edits)}: " if len(edits) > 1 else ""
            raise VaultError(error.code, which + error.message, **{**error.details, "edit": number}) from None
    planned.sort(key=lambda each: each.change[:2])
    _check_overlaps(note, edits, planned)
    result = replace_spans(text, [each.change for each in planned])
    for edit in asking(progress, edits):
        if edit.property and change_property is not None:
            result = change_property(result, edit)
    return result


def _read(path: VaultPath, text: str) -> _Note:
    plain = to_plain(text)
    starts = [0, *(found.end() for found in re.finditer("\n", text))]
    if not text or starts[-1] < len(text):
        starts.append(len(text))
    end = parse_frontmatter(plain).end
    top = plain.count("\n", 0, end) + (1 if end and plain[end - 1] != "\n" else 0)
    built = parse_structure(path, plain)
    return _Note(built, Sections(built, suggests=True), plain, plain.split("\n")[: len(starts) - 1], starts, top)


def _check(edit: Edit, *, can_change_properties: bool) -> None:
    """Refuse an edit with a missing, superfluous or contradictory argument."""
    targets = [name for name in _TARGETS if getattr(edit, name) is not None] + ["body"] * edit.body
    target = getattr(edit, targets[0]) if targets else True
    is_empty = not (target.strip() if isinstance(target, str) and edit.text is None else target)
    action = edit.action
    faults = (
        (action not in _ACTIONS, f"action: expected one of {', '.join(_ACTIONS)}, got {action!r}."),
        (len(targets) > 1, f"{' and '.join(targets)}: an edit has one target."),
        # If the target was forgotten, the whole text would be lost.
        (
            not targets and action in ("replace", "delete"),
            f"{action} needs a target: {', '.join(_TARGETS)}, or body for all after the frontmatter.",
        ),
        (is_empty, f"{''.join(targets)}: it is empty."),
        (action == "delete" and edit.content, "content: delete takes none; use replace to put other text there."),
        (action != "delete" and edit.content is None, f"content: {action} needs it; '' is nothing."),
        (
            edit.occurrence and edit.section is None and edit.text is None,
            "occurrence: counts sections, blocks or texts; give section or text.",
        ),
        (edit.occurrence < 0 or (edit.occurrence and edit.every), "occurrence: counts from 1, and goes without every."),
        (edit.every and edit.text is None, "every: means every place of a text; give text."),
        (edit.property is not None and not can_change_properties, "property: properties cannot be changed here."),
    )
    fault = next((message for is_fault, message in faults if is_fault), None)
    if fault is not None:
        raise VaultError(INVALID_ARGUMENTS, fault)


def _check_overlaps(note: _Note, edits: list[Edit], planned: list[_Planned]) -> None:
    """Refuse edits that would change the same characters, or add lines to a section that is deleted.

    An insertion at either end of a changed span does not overlap it.
    """
    start, reach, holder = 0, 0, 0
    for change, number, heading_start in planned:
        if change.start < reach or (change.start == reach and start <= heading_start < reach):
            line = _line_of(note, change.start)
            fault = f"overlap at line {line}. Make them one edit, or two calls."
            raise _clash(edits, holder, number, fault)
        if change.end > reach:
            start, reach, holder = change.start, change.end, number
    with_property = next((number for number, edit in enumerate(edits, 1) if edit.property), 0)
    if with_property and planned and planned[0].change.start < note.starts[note.top]:
        raise _clash(edits, planned[0].number, with_property, "both change the frontmatter. Make them two calls.")


def _clash(edits: list[Edit], one: int, other: int, fault: str) -> VaultError:
    names = " and ".join(f"{number} ({_named(edits[number - 1])})" for number in (one, other))
    return VaultError(INVALID_ARGUMENTS, f"Edits {names} {fault}", edits=[one, other])


def _named(edit: Edit) -> str:
    """Return a short description of an edit."""
    target = next((name for name in _TARGETS if getattr(edit, name)), "")
    return f"{edit.action} {target} {shortened(getattr(edit, target))!r}" if target else f"{edit.action} the body"


def _changes(note: _Note, edit: Edit) -> list[tuple[Change, int]]:
    """Return the changes of an edit, at positions of the text as it was, each with its ``heading_start``."""
    if edit.property:
        return []
    if edit.text:
        return [(change, -1) for change in _text_changes(note, edit)]
    content = to_plain(edit.content or "")
    if edit.lines:
        return [(_line_change(note, edit, content), -1)]
    if not edit.section:
        return [(_body_change(note, edit, content), -1)]
    if edit.section.strip().removeprefix("#").startswith("^"):
        return [(_block_change(note, edit, content), -1)]
    headings = note.sections.headings(edit.section)

    def chain(line: int) -> str:  # the heading's name behind those of the headings above it
        return "#".join(entry.text for entry in note.structure.outline if entry.line <= line <= entry.last_line)

    section = _chosen(note, edit, headings, [entry.line for entry in headings], "sections", chain)
    return [(_section_change(note, edit, section, content), note.starts[section.line - 1])]


def _replacement(note: _Note, first: int, last: int, content: str) -> Change:
    """Return the change that replaces whole lines; with ``last`` before ``first``, it inserts before ``first``."""
    return Change(note.starts[first - 1], note.starts[last], content, whole_lines=True)


def _body_change(note: _Note, edit: Edit, content: str) -> Change:
    total = len(note.lines)
    if edit.action == "append":
        return Change(note.starts[total], note.starts[total], content, whole_lines=True)
    if note.top and edit.action in ("replace", "prepend") and parse_frontmatter(content).values:
        raise VaultError(
            INVALID_ARGUMENTS,
            "content: it begins with frontmatter, but the note's own stays. Leave it out, or change properties or lines.",
        )
    if edit.action == "prepend":
        ended = content if not content or content.endswith("\n") else content + "\n"
        return _replacement(note, note.top + 1, note.top, ended)
    return _replacement(note, note.top + 1, total, content)


def _line_change(note: _Note, edit: Edit, content: str) -> Change:
    path, total = note.structure.path, len(note.lines)
    lines = edit.lines or ""
    span = line_span(path, total, lines)
    last = lines.strip().rpartition("-")[2]
    if last and int(last) > total:  # a reader may ask for more lines than there are, an editor may not
        raise VaultError(INVALID_ARGUMENTS, f"lines: {path} has lines 1 to {total}, got {lines!r}.", argument="lines")
    if edit.action == "append":
        return _replacement(note, span.last + 1, span.last, content)
    return _replacement(note, span.first, span.first - 1 if edit.action == "prepend" else span.last, content)


def _section_change(note: _Note, edit: Edit, section: OutlineEntry, content: str) -> Change:
    if edit.action == "delete":
        return _replacement(note, section.line, section.last_line, "")
    heading_last = section.line + section.more
    first, last = heading_last + 1, _last_line_with_text(note, heading_last, section.last_line)
    if edit.action == "append":
        return _insertion(note, last, content)
    if edit.action == "prepend":
        return _insertion(note, heading_last, content)
    lines = content.split("\n")
    heading = [line.rstrip() for line in note.lines[section.line - 1 : heading_last]]
    if [line.rstrip() for line in lines[: len(heading)]] == heading:  # the content repeats the heading as it was read
        lines = lines[len(heading) :]
    if lines and lines[0].strip():
        while first < last and not note.lines[first - 1].strip():
            first += 1
    # A line end at the end of the content belongs to its last line; it is no blank line.
    if len(lines) > 1 and not (lines[-1] or lines[-2].strip()):
        last = section.last_line
    return _replacement(note, first, last, "\n".join(lines))


def _insertion(note: _Note, after: int, content: str) -> Change:
    """Return the change that inserts lines after line ``after``, set apart from the blocks around them."""
    content = set_apart(note.lines, note.structure.parsed.blocks, after, content, is_block=False)
    return _replacement(note, after + 1, after, content)


def _last_line_with_text(note: _Note, first: int, last: int) -> int:
    while last > first and not note.lines[last - 1].strip(" \t"):
        last -= 1
    return last


def _block_change(note: _Note, edit: Edit, content: str) -> Change:
    block_ids = note.sections.block_ids(edit.section or "")
    chosen = _chosen(
        note, edit, block_ids, [block_id.line for block_id in block_ids], "blocks", lambda line: note.lines[line - 1]
    )
    tree = BlockTree(note.plain)
    block = tree.named(chosen.line)
    if edit.action == "delete":
        return _replacement(note, *delete_block(tree, block))
    if edit.action != "replace":
        return _replacement(note, *insert_beside(tree, block, content, is_after=edit.action == "append"))
    if not content.strip():
        raise VaultError(
            INVALID_ARGUMENTS, f"content: a block without text keeps no id; use delete for '^{chosen.name}'."
        )
    return _replacement(note, *replace_block(tree, block, content, chosen.name, chosen.line))


def _text_changes(note: _Note, edit: Edit) -> list[Change]:
    text = to_plain(edit.text or "")
    step = len(text) if edit.every else 1
    places: list[int] = []
    position = note.plain.find(text)
    while position >= 0 and len(places) <= _MOST_PLACES:
        places.append(position)
        position = note.plain.find(text, position + step)
    if not places:
        raise VaultError(
            TEXT_NOT_FOUND,
            f"{note.structure.path} has no text {shortened(text)!r}.{hint_at(text, note.lines)}",
            path=note.structure.path,
        )
    if len(places) > _MOST_PLACES:
        fault = f"text: {shortened(text)!r} is in more than {_MOST_PLACES:,} places; give a longer one."
        raise VaultError(INVALID_ARGUMENTS, fault, argument="text")
    starts = [0, *itertools.accumulate(len(line) + 1 for line in note.lines)]
    if not edit.every:
        lines = [bisect_right(starts, position) for position in places]
        places = [_chosen(note, edit, places, lines, "texts", lambda line: note.lines[line - 1])]
    changes = []
    for position in places:
        start, end = (_in_file(note, starts, place) for place in (position, position + len(text)))
        if edit.action == "append":
            start = end
        elif edit.action == "prepend":
            end = start
        beside = _beside_lines(note, starts, edit, position, text) if start == end else None
        changes.append(beside or Change(start, end, edit.content or ""))
    return changes


def _beside_lines(note: _Note, starts: list[int], edit: Edit, position: int, text: str) -> Change | None:
    """Return the change that adds lines after or before the text at a position; None if that is not all of its lines."""
    start, end = position + len(text) - len(text.lstrip("\n")), position + len(text.rstrip("\n"))
    if start >= end:
        return None
    first, last = bisect_right(starts, start) - 1, bisect_right(starts, end - 1) - 1
    if "\n".join(note.lines[first : last + 1]).strip() != text.strip():
        return None
    content = to_plain(edit.content or "")
    if edit.action == "append" and content.strip("\n"):  # the line end before it is there already
        content = content.removeprefix("\n")
    if content[:1] not in (" ", "\t"):  # where the text was given without its indentation, so was the content
        content = textwrap.indent(content, note.plain[starts[first] : start])
    after = last + 1 if edit.action == "append" else first
    return _replacement(note, after + 1, after, content)


def _where_added(edit: Edit, changes: list[Change]) -> str:
    """Return words about where text was added beside another one."""
    side = "after" if edit.action == "append" else "before"
    of_lines = sum(change.whole_lines for change in changes)
    places = ((of_lines, "on a line of its own"), (len(changes) - of_lines, f"within the line, right {side} the text"))
    phrases = (where + (f" ({count} times)" if count > 1 else "") for count, where in places if count)
    return f"Added {' and '.join(phrases)}."


def _in_file(note: _Note, plain_starts: list[int], position: int) -> int:
    """Return the position in the file's text of a position in the plain text: the same column of the same line."""
    line = bisect_right(plain_starts, position) - 1
    return note.starts[line] + position - plain_starts[line]


_Match = TypeVar("_Match")


def _chosen(
    note: _Note, edit: Edit, candidates: list[_Match], lines: list[int], what: str, say: Callable[[int], str]
) -> _Match:
    """Return the match that the edit means. The matches begin at ``lines``; ``say`` describes one for an error."""
    count = len(candidates)
    if count == 1 and edit.occurrence <= 1:
        return candidates[0]
    if 1 <= edit.occurrence <= count:
        return candidates[edit.occurrence - 1]
    places = ", ".join(
        f"{number}. line {line}: {shortened(say(line))!r}" for number, line in enumerate(lines[:MAX_PLACES], 1)
    )
    more = f" and {count - MAX_PLACES} more" if count > MAX_PLACES else ""
    target = shortened(edit.section or edit.text or "")
    if edit.occurrence:
        raise VaultError(
            INVALID_ARGUMENTS,
            f"occurrence: {note.structure.path} has {count} {what} {target!r}, got {edit.occurrence}. They are {places}{more}.",
            argument="occurrence",
        )
    raise VaultError(
        AMBIGUOUS_TARGET,
        f"{note.structure.path} has {count} {what} {target!r}: {places}{more}. Say which with occurrence (1 to {count})"
        f"{', with more of the text around it, or all with every' if edit.text else ', or lines'}.",
        path=note.structure.path,
        lines=lines[:MAX_PLACES],
    )


def _line_of(note: _Note, position: int) -> int:
    return min(bisect_right(note.starts, position), len(note.lines))


def shortened(text: str) -> str:
    """Return a text as an error shows it."""
    return text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "…"
