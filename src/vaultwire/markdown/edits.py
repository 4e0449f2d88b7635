"""Edits of a note's text: (text, edit) → text. Every character outside the edited span stays the same.

Text here is the file's own: ``\\r\\n`` where the file has it. What the caller adds may use either line end and gets the
note's own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from vaultwire.markdown.diffs import Difference, common_ends, lines_of
from vaultwire.markdown.properties import parse_frontmatter

# Without the look-behind, a run of \r that no \n follows would be tried from each of its characters.
_LINE_END = re.compile(r"(?<!\r)\r+\n")


class Change(NamedTuple):
    """A replacement for the characters ``start`` to ``end`` of a file's text; an insertion if both are equal.

    ``whole_lines``: the new text begins on a line of its own and ends one. A text without a final line end gets one only
    if it is in the text inserted there.
    """

    start: int
    end: int
    new: str
    whole_lines: bool = False


def line_end(text: str) -> str:
    """Return the line end that most lines of the text have; ``\\n`` if both are as frequent."""
    windows = text.count("\r\n")
    return "\r\n" if windows > text.count("\n") - windows else "\n"


def to_plain(text: str) -> str:
    """Return the text with ``\\n`` line ends, as callers see it. A carriage return elsewhere stays."""
    if "\r" not in text:
        return text
    if "\r\r\n" in text:  # a file converted twice; the plain text must not hold \r\n again
        return _LINE_END.sub("\n", text)
    return text.replace("\r\n", "\n")


class MixedLineEndsError(ValueError):
    """A text has line ends of Windows and of other systems. The message follows "Note.md …"."""


def edited_plain(text: str, edit: Callable[[str], str]) -> str:
    """Return a text with an edit made of it with ``\n`` line ends; its own line ends stay.

    Raises MixedLineEndsError for a text that mixes line ends, if the edit changes it.
    """
    plain = to_plain(text)
    after = edit(plain)
    if after == plain:
        return text
    if plain == text:
        return after
    if plain.replace("\n", "\r\n") != text:
        raise MixedLineEndsError("mixes line ends of Windows and of other systems")
    return after.replace("\n", "\r\n")


def append(text: str, addition: str) -> str:
    """Return the text with ``addition`` as new lines after the last. A text that ended with a line end still does."""
    if not text or not addition:
        return text + to_plain(addition)
    ending = line_end(text)
    added = to_plain(_ended(addition) if text.endswith("\n") else addition).replace("\n", ending)
    return text + ("" if text.endswith("\n") else ending) + added


def prepend(text: str, addition: str) -> str:
    """Return the text with ``addition`` as new lines before the first, frontmatter staying on top."""
    if not addition:
        return text
    ending = line_end(text)
    top = parse_frontmatter(to_plain(text)).end
    head = _prefix_of_plain(text, top)
    added = to_plain(_ended(addition)).replace("\n", ending)
    rest = text[len(head) :]
    if head and not head.endswith("\n"):  # the closing mark is the last line and has no line end
        head += ending
    return head + added + rest


def rewrite(text: str, new: str) -> str:
    """Return ``new`` in place of ``text``: lines that stay keep their own line ends, the others get the text's usual one.

    Lines are compared from both ends; all between the first and the last difference counts as new. A text that ended with
    a line end still does.
    """
    return _written_over(text, to_plain(_ended(new) if text.endswith("\n") else new), line_end(text))


def replace_spans(text: str, changes: list[Change]) -> str:
    """Return the text with all changes made. Their offsets are those of ``text``, in order and not overlapping.

    New text gets the note's line ends, except for lines that a span and its replacement share at either end. Insertions at
    one offset keep their order.
    """
    ending = line_end(text)
    pieces: list[str] = []
    position = 0
    for start, end, new, whole_lines in changes:
        if start == end and not new:
            continue
        if start > position:
            pieces.append(text[position:start])
        position = end
        new_text = to_plain(new)
        if whole_lines and new_text:
            if end < len(text) or text.endswith("\n"):
                new_text = _ended(new_text)
            elif start < end and new_text != "\n":
                new_text = new_text.removesuffix("\n")
            if pieces and not pieces[-1].endswith("\n"):
                pieces.append(ending)
        if written := _written_over(text[start:end], new_text, ending):
            pieces.append(written)
    pieces.append(text[position:])
    return "".join(pieces)


def _written_over(old: str, new: str, ending: str) -> str:
    """Return the plain text ``new`` with the line ends of ``old`` where both agree, and with ``ending`` elsewhere."""
    old_lines = old.split("\n")
    new_lines = new.split("\n")
    # The last piece of a split has no line end and is never shared.
    head, tail = common_ends([line.rstrip("\r") for line in old_lines[:-1]], new_lines[:-1])
    if old_lines[-1] != new_lines[-1]:
        tail = 0
    carriage = "\r" if ending == "\r\n" else ""
    middle = [line + carriage for line in new_lines[head : len(new_lines) - 1 - tail]]
    kept_tail = old_lines[len(old_lines) - 1 - tail : -1]
    return "\n".join([*old_lines[:head], *middle, *kept_tail, new_lines[-1]])


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"


def _prefix_of_plain(text: str, plain_length: int) -> str:
    """Return the beginning of ``text`` that has ``plain_length`` characters as plain text."""
    plain = to_plain(text)[:plain_length]
    if "\r\n" not in text:
        return text[:plain_length]
    position = 0
    for _ in range(plain.count("\n")):
        position = text.index("\n", position) + 1
    rest = plain_length - (plain.rfind("\n") + 1)
    return text[: position + rest]


# The application of a unified diff to a text.
#
# A diff that a model writes is often not exact: counts and line numbers may be wrong. But its old lines must be lines of the
# text, in one place only.

# Line numbers in a message: more do not help to choose.
_MAX_PLACES = 20

# Only the first number of a header is used: models get counts wrong, and they are not needed.
_HEADER = re.compile(r"@@ -(\d{1,9})")
_MARKS = (" ", "+", "-")
_FILE_MARKS = ("--- ", "+++ ", "diff ")


class DiffError(ValueError):
    """The text is not a unified diff of one file, or contradicts itself."""


class NoPlaceError(DiffError):
    """The old lines of a hunk are not in the text."""


class AmbiguousPlaceError(DiffError):
    """The old lines of a hunk are in the text several times: from each of ``lines`` on."""

    def __init__(self, message: str, lines: list[int]) -> None:
        super().__init__(message)
        self.lines = lines


class _Hunk(NamedTuple):
    """One hunk: the line that its header names (0: none), the line of the diff that it begins on, and its lines."""

    start: int
    number: int
    lines: list[tuple[str, str]]  # mark and text
    unended: set[int]  # indexes of lines that have no line end

    @property
    def old(self) -> list[str]:
        return [text for mark, text in self.lines if mark != "+"]


def apply_diff(text: str, diff: str, check: Callable[[], None] = lambda: None) -> str:
    """Return the file's text with a unified diff applied. Added lines get the note's line ends; the rest stays.

    A hunk's old lines must be in the text exactly. If they are not at the line that its header names, or it names none
    (``@@``), they must be in one place only. Three mistakes are accepted: wrong counts in a header, a blank line without
    its leading space, and a missing "No newline" line. ``check`` is called before each hunk and may raise to stop.

    Raises NoPlaceError, AmbiguousPlaceError, or DiffError if it is not a diff or its hunks change the same lines.
    """
    lines = lines_of(text)
    bare = [to_plain(line).removesuffix("\n") for line in lines]
    ending = line_end(text)
    changes: list[tuple[Difference, list[str], _Hunk]] = []
    for hunk in _parsed(diff):
        check()
        changes += _placed(hunk, _place(hunk, bare, is_ended=text.endswith("\n")), ending)
    changes.sort(key=lambda each: each[0][:2])
    result: list[str] = []
    position = 0
    for place, added, hunk in changes:
        if place.start < position:
            raise DiffError(
                f"the hunk in line {hunk.number} changes what another one changes (line {place.start + 1})."
            )
        result += lines[position : place.start]
        result += added
        position = place.end
    if changes and text and position == len(lines) and not text.endswith("\n"):
        _, added, hunk = changes[-1]
        if added and not hunk.unended:  # a diff that does not mention the last line end leaves it as it is
            result[-1] = result[-1].removesuffix(ending)
    result += lines[position:]
    # A line that had no line end, or should have none, may have lines behind it now.
    return "".join([line if line.endswith("\n") else line + ending for line in result[:-1]] + result[-1:])


def _placed(hunk: _Hunk, position: int, ending: str) -> Iterator[tuple[Difference, list[str], _Hunk]]:
    """Yield the changes of a hunk whose first line is line ``position`` of the text, from 0."""
    start, added = position, list[str]()
    for index, (mark, text) in enumerate([*hunk.lines, (" ", "")]):
        if mark == "+":
            added.append(text if index in hunk.unended else text + ending)
        elif mark == "-":
            position += 1
        else:
            if added or position > start:
                yield Difference(start, position, 0, 0), added, hunk
            position += 1
            start, added = position, []


def _place(hunk: _Hunk, lines: list[str], *, is_ended: bool) -> int:
    """Return the line at which the hunk's old lines begin, from 0."""
    old = hunk.old
    if not old:
        if lines:
            raise DiffError(
                f"the hunk in line {hunk.number} has only added lines: give some of the lines around them, with a space "
                "in front of each."
            )
        return 0
    # Only the last line of the text can have no line end.
    old_unended = any(hunk.lines[index][0] != "+" for index in hunk.unended)
    first = len(lines) - len(old)
    if old_unended:
        places = [first] if first >= 0 and not is_ended and lines[first:] == old else []
    elif 0 <= hunk.start - 1 <= first and lines[hunk.start - 1 : hunk.start - 1 + len(old)] == old:
        return hunk.start - 1
    else:
        places = _places_of(old, lines)
    if not places:
        raise NoPlaceError(
            f"the lines of the hunk in line {hunk.number} are not in the text, beginning with {_clipped(old[0])!r}. "
            "Lines without + must be as they are in the text."
        )
    if len(places) > 1:
        numbers = [place + 1 for place in places[:_MAX_PLACES]]
        or_more = " or more" if len(places) > _MAX_PLACES else ""
        raise AmbiguousPlaceError(
            f"the lines of the hunk in line {hunk.number} are in the text {len(numbers)} times{or_more}: from line "
            f"{', '.join(map(str, numbers))} on. Give the right number in its header, or more lines around the change.",
            numbers,
        )
    return places[0]


def _places_of(old: list[str], lines: list[str]) -> list[int]:
    """Return where the old lines occur in the text, the first places only."""
    text, sought = ("\n".join(["", *some, ""]) for some in (lines, old))
    places: list[int] = []
    at = -1
    while len(places) <= _MAX_PLACES and (at := text.find(sought, at + 1)) >= 0:
        places.append(text.count("\n", 0, at))
    return places


def _clipped(line: str) -> str:
    return line if len(line) <= 80 else line[:80] + "…"  # noqa: PLR2004 - a screen's width


def _parsed(diff: str) -> list[_Hunk]:
    lines = to_plain(diff).split("\n")
    while lines and not lines[-1]:
        lines.pop()
    position = next((place for place, line in enumerate(lines) if line.startswith("@@")), len(lines))
    for number, line in enumerate(lines[:position], 1):
        if line.strip() and line[0] in _MARKS and not line.startswith(_FILE_MARKS):
            raise DiffError(f"line {number} of the diff stands before the first hunk; put a line @@ above it.")
    hunks: list[_Hunk] = []
    while position < len(lines):
        header = _HEADER.match(lines[position])
        end = _hunk_end(lines, position + 1)
        hunks.append(_hunk(lines, position, end, int(header[1]) if header else 0))
        position = _next_header(lines, end)
    if not any(mark != " " for hunk in hunks for mark, _ in hunk.lines):
        raise DiffError(
            "it changes nothing: a hunk is a line @@ and then lines of the text, each behind a space, removed ones behind - "
            "and added ones behind +."
        )
    return hunks


def _next_header(lines: list[str], position: int) -> int:
    """Return where the next hunk begins. Raises DiffError if there is anything but blank lines before it."""
    for place in range(position, len(lines)):
        line = lines[place]
        if line.startswith("@@"):
            return place
        if line.startswith(_FILE_MARKS):
            raise DiffError(f"line {place + 1} of the diff begins another file; give the diff of one.")
        if line and not (line.startswith("```") and place == len(lines) - 1):
            raise DiffError(f"line {place + 1} of the diff begins with neither a space, - nor +: {_clipped(line)!r}.")
    return len(lines)


def _hunk_end(lines: list[str], position: int) -> int:
    """Return where a hunk ends whose lines begin at ``position``: before the next, another file's, or at the end."""
    start = position
    while position < len(lines) and not lines[position].startswith(("@@", "diff ", "```")):
        following = [line[:3].strip() for line in lines[position + 1 : position + 3]]
        if lines[position].startswith("--- ") and following == ["+++", "@@"]:
            break
        position += 1
    while position > start and not lines[position - 1]:  # not context: blank lines between hunks
        position -= 1
    return position


def _hunk(lines: list[str], header: int, end: int, start: int) -> _Hunk:
    marked_lines: list[tuple[str, str]] = []
    unended: set[int] = set()
    for number in range(header + 1, end):
        line = lines[number]
        if line.startswith("\\") and marked_lines:
            unended.add(len(marked_lines) - 1)
        elif line[:1] in _MARKS:
            marked_lines.append((line[0], line[1:]))
        elif line:
            raise DiffError(f"line {number + 1} of the diff begins with neither a space, - nor +: {_clipped(line)!r}.")
        else:
            marked_lines.append((" ", ""))
    return _Hunk(start, header + 1, marked_lines, unended)
