"""What a reader should know of a file's difference beside its words: hidden characters, line ends, spaces, in counts.

Lines that did not change are not counted. Usual characters are none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.review.diff.parts import MarkKind, counted, hidden_in, lookalikes_in, may_hide, swapped_words
from vaultwire.review.diff.rows import Texts, uses_other_indentation

Notice = dict[str, Any]
_BOM = b"\xef\xbb\xbf"
# Names of different characters in one sentence.
_MOST_NAMED = 5
_MEANINGS: dict[MarkKind, tuple[str, str]] = {
    "direction": ("character that changes the direction of writing", "the text can look other than it is"),
    "zero-width": ("character without width", "a reader sees nothing there, and a search does not find the word"),
    "invisible": ("other invisible character", "a reader sees nothing there"),
    "space": ("unusual space", "Markdown and searches do not take that for a space"),
    "lookalike": ("letter that looks like another one", "the word is not what it looks like"),
}
_PLURALS = {
    "character that changes the direction of writing": "characters that change the direction of writing",
    "character without width": "characters without width",
    "letter that looks like another one": "letters that look like others",
}


def notice(what: str, count: int, words: str) -> Notice:
    """Return a notice."""
    return {"what": what, "count": count, "words": words}


def notices_of(texts: Texts, before: bytes | None, after: bytes | None, *, is_note: bool) -> list[Notice]:
    """Return the notices of a text file; what it is to be removed has none of its characters."""
    notices = _not_utf8(before, after)
    if before is not None and after is not None:
        notices += _of_bytes(before, after)
    notices += _of_characters(texts, is_removal=after is None)
    if after is not None:
        notices += _of_blanks(texts, is_note=is_note)
    if is_note and after is not None:
        problems = parse_frontmatter("\n".join(texts.new)).problems
        if problems:
            notices.append(
                notice("properties", len(problems), f"The properties cannot be read as they are: {problems[0]}.")
            )
    return notices


# ------------------------------------------------------------------ bytes


def _not_utf8(before: bytes | None, after: bytes | None) -> list[Notice]:
    counts = [_invalid(data) for data in (before, after)]
    if not any(counts):
        return []
    if after is None or not counts[1]:
        return [notice("not-utf-8", counts[0], f"{_bytes(counts[0])} before, shown as �.")]
    told = (
        "" if counts[0] == counts[1] or before is None else f", {counts[0]:,} before" if counts[0] else ", none before"
    )
    return [notice("not-utf-8", counts[1], f"{_bytes(counts[1])}{told}: each is shown as �, and the file keeps it.")]


def _bytes(count: int) -> str:
    return f"{counted(count, 'piece')} of the file {'is' if count == 1 else 'are'} no text in UTF-8"


def _invalid(data: bytes | None) -> int:
    """Return how many replacement characters stand for bytes that are not UTF-8."""
    if data is None:
        return 0
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace").count("\ufffd") - data.count("\ufffd".encode())
    return 0


def _of_bytes(before: bytes, after: bytes) -> list[Notice]:
    notices: list[Notice] = []
    ends = [_line_ends(data) for data in (before, after)]
    if ends[0] and ends[1] and ends[0] != ends[1]:
        notices.append(
            notice(
                "line-ends",
                after.count(b"\n"),
                f"The line ends are {ends[1]} now; they were {ends[0]} before. No word changes.",
            )
        )
    if before.startswith(_BOM) != after.startswith(_BOM):
        is_there = after.startswith(_BOM)
        change = (
            "begins with a byte order mark (U+FEFF) now" if is_there else "has no byte order mark (U+FEFF) any more"
        )
        notices.append(notice("bom", 1, f"The file {change}."))
    if before and after and before.endswith(b"\n") != after.endswith(b"\n"):
        change = "with a line end now" if after.endswith(b"\n") else "without a line end now"
        notices.append(notice("final-newline", 1, f"The last line ends {change}."))
    return notices


def _line_ends(data: bytes) -> str:
    """Return the line ends of a file in words; empty if it has none."""
    windows, total = data.count(b"\r\n"), data.count(b"\n")
    if not total:
        return ""
    if not windows:
        return "those of Linux and macOS (LF)"
    return "those of Windows (CRLF)" if windows == total else "mixed (CRLF and LF)"


# ------------------------------------------------------------------ characters


class _Counts(NamedTuple):
    """How many marks of each kind there are, and how often each name is among them."""

    kinds: Counter[MarkKind]
    names: dict[MarkKind, Counter[str]]


def _of_characters(texts: Texts, *, is_removal: bool) -> list[Notice]:
    old, new = _Counts(Counter(), {}), _Counts(Counter(), {})
    for hunk in texts.hunks:
        removed, added = texts.old[hunk.start : hunk.end], texts.new[hunk.new_start : hunk.new_end]
        if all(line.isascii() and line.isprintable() for line in removed + added):  # most text, at no cost
            swapped = swapped_words(removed, added)
            if not swapped:
                continue
        else:
            swapped = swapped_words(removed, added)
        _count(removed, swapped, old)
        _count(added, swapped, new)
    notices: list[Notice] = []
    for kind, (name, meaning) in _MEANINGS.items():
        before, after = old.kinds[kind], new.kinds[kind]
        if is_removal or not before + after or (kind == "space" and before == after):
            continue  # pasted text is full of no-break spaces: those that stay are no news
        counts = new if after else old
        names = [
            each if count == 1 else f"{each} ({count:,} times)"
            for each, count in counts.names[kind].most_common(_MOST_NAMED)
        ]
        more = len(counts.names[kind]) - len(names)
        named = ", ".join(names) + (f" and {more:,} others" if more else "")
        if after:
            told = f", {before:,} of them there before" if before and before <= after else ""
            words = f"{_counted(after, name)} in changed lines{told}: {named}; {meaning}."
        else:
            words = f"{_counted(before, name)} removed: {named}."
        notices.append(notice(kind, after, words[0].upper() + words[1:]))
    return notices


def _counted(count: int, name: str) -> str:
    return f"{count:,} {_PLURALS.get(name, name + 's')}" if count > 1 else f"1 {name}"


def _count(lines: Iterable[str], swapped: dict[str, list[int]], counts: _Counts) -> None:
    for line in lines:
        marks = list(hidden_in(line)) if may_hide(line) else []
        if swapped or not line.isascii():
            marks += lookalikes_in(line, swapped)
        for mark in marks:
            counts.kinds[mark.kind] += 1
            counts.names.setdefault(mark.kind, Counter())[mark.name] += 1


# ------------------------------------------------------------------ spaces and tabs


def _of_blanks(texts: Texts, *, is_note: bool) -> list[Notice]:
    ending = gone = breaks = 0
    to_tabs = to_spaces = 0
    for hunk in texts.hunks:
        removed, added = texts.old[hunk.start : hunk.end], texts.new[hunk.new_start : hunk.new_end]
        trailing = [line for line in added if line[-1:] in (" ", "\t")]
        ending += len(trailing)
        breaks += sum(line.endswith("  ") and bool(line.strip()) for line in trailing)
        gone += sum(line[-1:] in (" ", "\t") for line in removed)
        indented = {line.lstrip(" \t"): line for line in removed if line[:1] in (" ", "\t")}
        for line in added if indented else ():
            bare = line.lstrip(" \t")
            other = indented.get(bare) if bare else None
            if other is not None and uses_other_indentation(other[: -len(bare)], line[: -len(bare)]):
                is_tab = "\t" in line[: -len(bare)]
                to_tabs += is_tab
                to_spaces += not is_tab
    notices: list[Notice] = []
    if ending > gone:
        means = (
            f"; two spaces there are a line break in Markdown ({counted(breaks, 'line')})" if is_note and breaks else ""
        )
        verb = "ends" if ending == 1 else "end"
        notices.append(
            notice("trailing-spaces", ending, f"{counted(ending, 'changed line')} {verb} with spaces or tabs{means}.")
        )
    elif ending < gone:
        notices.append(
            notice("trailing-spaces", ending, f"The spaces at the end of {counted(gone - ending, 'line')} are gone.")
        )
    for count, now, then in ((to_tabs, "tabs", "spaces"), (to_spaces, "spaces", "tabs")):
        if count:
            verb = "is" if count == 1 else "are"
            notices.append(
                notice("tabs", count, f"{counted(count, 'line')} {verb} indented with {now} now, with {then} before.")
            )
    return notices
