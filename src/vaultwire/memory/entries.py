"""The form of memory: one note a subject, one line an entry. Pure text, read from notes and written into them.

An entry is an item of a list at the top level:

    - 2026-05-04 Ana takes tea without milk. [by:: claude-code] [from:: [[Breakfast]]] ^m7

First the day, then one fact, then inline fields as the Dataview plugin reads them: who said it (the author as in the journal
of changes), where it is from, and ``[superseded:: DAY]`` once a later entry corrects it. The block id names it in links. All
but the text may be missing: what a person writes into such a note by hand is an entry, too, a paragraph as well as an item.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date
from typing import NamedTuple

from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.vault.disk.contents import plain_text
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import stem
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.value_types import VaultPath

MOST_CHARACTERS = 2_000
"""Of one entry. What is longer is a note of its own, to which an entry can link."""

# A note of memory that somebody filled with other things is read so far, and a folder so many notes deep.
_MOST_BYTES, _MOST_NOTES, _MOST_ENTRIES = 400_000, 5_000, 20_000

_DAY = re.compile(r"(?:\[\[)?(\d{4}-\d\d-\d\d)(?:\]\])?:?(?:\s+|$)")
_ITEM = re.compile(r"[-*+] (?:\[.\] )?")
_BLOCK = re.compile(r"(?:^|\s)\^([A-Za-z0-9-]{1,100})$")
_NUMBER = re.compile(r"\^m(\d{1,9})\b")
_LINK = re.compile(r"!?\[\[([^\[\]|#\n]+)")
_HEADING = re.compile(r"#{1,6}\s+(.*?)[\s#]*$")
# How lines begin that are no text: headings and tags alone, rules, comments.
_NO_TEXT = ("#", "---", "***", "%%", "<!--")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
# What would end a line, or is shown by nothing, is a space in an entry.
_UNPRINTED = re.compile(r"[\x00-\x20\x7f-\xa0\u2028\u2029\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]+")
_BAD_IN_NAMES = re.compile(r'[\[\]#^|\\/:*?"<>%\x00-\x1f\x7f]+')
# A field of ours at the end of a text, as ``dataview.fields`` reads it, which takes 40 ms to load: a hook must be quicker.
_FIELD = re.compile(r"\[(by|from|superseded):: ?((?:[^\[\]]|\[\[[^\[\]]*\]\]|\[[^\[\]]*\])*)\]$")


class Entry(NamedTuple):
    """One entry: the subject's note, its lines there (from 1), and what it says. ``day``: None if it has no date.

    ``block``: its block id, without ``^``. ``by``, ``source``, ``superseded`` and ``block`` are empty where there is none.
    """

    path: VaultPath
    first_line: int
    last_line: int
    text: str
    day: date | None = None
    by: str = ""
    source: str = ""
    superseded: str = ""
    block: str = ""

    @property
    def subject(self) -> str:
        """The name of its subject."""
        return stem(self.path)

    @property
    def address(self) -> str:
        """What names it to tools and in links: its note, and its block id or else its line."""
        return f"{self.path.removesuffix('.md')}#" + (f"^{self.block}" if self.block else f"line {self.first_line}")

    @property
    def links(self) -> list[str]:
        """The linkpaths that its text and its source have."""
        return [match[1].strip() for match in _LINK.finditer(f"{self.text} {self.source}")]


class Subject(NamedTuple):
    """One note of memory. ``names`` are its name and its aliases; ``is_always``: recalled at the start of every session."""

    path: VaultPath
    names: tuple[str, ...]
    is_always: bool
    entries: tuple[Entry, ...]

    @property
    def name(self) -> str:
        """Its name."""
        return self.names[0]


def read_subject(path: VaultPath, text: str) -> Subject:
    """Return a note of memory with its entries. ``text`` has the line ends of ``Note.text``. Never fails."""
    text = text[:_MOST_BYTES]
    properties = parse_frontmatter(text)
    aliases = [*dict.fromkeys(alias for alias in properties.texts("aliases") if alias.strip())]
    is_always = properties.value("recall") == "always"
    return Subject(path, (stem(path), *aliases), is_always, tuple(_entries(path, text, properties.end)))


def _entries(path: VaultPath, text: str, start: int) -> Iterator[Entry]:
    return (_to_entry(path, block.first_line, block.lines) for block in blocks(text, start))


class Block(NamedTuple):
    """An item of a list at the top level, or a paragraph: its first line (from 1), all its lines, and the heading above it."""

    first_line: int
    lines: list[str]
    heading: str


def blocks(text: str, start: int) -> Iterator[Block]:
    """Yield the items of lists and the paragraphs from an offset on, with all of their lines; no rules and no code."""
    number = text.count("\n", 0, start)
    heading, fence = "", ""
    block = Block(0, [], "")
    for line in [*text[start:].split("\n"), ""]:
        number += 1
        mark = match[1] if (match := _FENCE.match(line)) else ""
        if fence:
            fence = "" if mark[: len(fence)] == fence and not line.strip(" `~") else fence
            continue
        is_over = bool(mark) or not line.strip() or line.startswith(_NO_TEXT)
        if block.lines and (is_over or _ITEM.match(line)):
            yield block
            block = Block(0, [], "")
        fence = mark
        if match := _HEADING.match(line):
            heading = match[1]
        if not is_over:
            block = Block(block.first_line or number, [*block.lines, line], heading)


def _to_entry(path: VaultPath, first: int, lines: list[str]) -> Entry:
    # A nested item is a part of its entry, as a line of it.
    text = one_line(" ".join(lines))
    text = text[match.end() :] if (match := _ITEM.match(text)) else text
    block, day = "", None
    if match := _BLOCK.search(text):
        text, block = text[: match.start()].rstrip(), match[1]
    if match := _DAY.match(text):
        day = _parse_day(match[1])
        text = text if day is None else text[match.end() :]
    said: dict[str, str] = {}
    # Only what stands at the end is about the entry; the last one of a name is ours, whatever the text before it says.
    while (match := _FIELD.search(text)) and match[1] not in said:
        said[match[1]] = match[2].strip()
        text = text[: match.start()].rstrip()
    by, source, superseded = (said.get(name, "") for name in ("by", "from", "superseded"))
    return Entry(path, first, first + len(lines) - 1, text, day, by, source, superseded, block)


def _parse_day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def one_line(text: str) -> str:
    """Return a text as one line: line ends and what nobody sees become single spaces."""
    return _UNPRINTED.sub(" ", text).strip()


def to_line(text: str, day: date, by: str, source: str, number: int) -> str:
    """Return the line of a new entry. ``number``: of its block id.

    Raises VaultError (INVALID_ARGUMENTS) for a text that is empty or too long.
    """
    text, source = one_line(text), one_line(source)
    if not text:
        raise VaultError(INVALID_ARGUMENTS, "text: say the fact to remember in a sentence.", argument="text")
    if len(text) > MOST_CHARACTERS:
        message = (
            f"text: an entry is one fact, of at most {MOST_CHARACTERS:,} characters; this has {len(text):,}. Remember its "
            "facts one by one, or put it into a note of its own and remember a link to it."
        )
        raise VaultError(INVALID_ARGUMENTS, message, argument="text")
    # A date at the beginning would be taken for the entry's own, and a block id at the end, too.
    fields = [f"[{name}:: {_in_field(value)}]" for name, value in (("by", by), ("from", source)) if value]
    return " ".join([f"- {day.isoformat()}", text, *fields, f"^m{number}"])


def _in_field(value: str) -> str:
    """Return a value that ends with its field: brackets that are not in pairs become round ones."""
    value, depth = one_line(value), 0
    for sign in value:
        depth += (sign == "[") - (sign == "]")
        if depth < 0:
            break
    return value if depth == 0 and "\\" not in value else value.translate(str.maketrans("[]\\", "()/"))


def with_superseded(line: str, day: date) -> str:
    """Return the last line of an entry with the day on which a later one corrected it."""
    mark = f"[superseded:: {day.isoformat()}]"
    match = _BLOCK.search(line.rstrip())
    return f"{line.rstrip()} {mark}" if match is None else f"{line[: match.start()].rstrip()} {mark} ^{match[1]}"


def next_number(text: str) -> int:
    """Return the number of the next block id in a note: no number comes twice, also where entries were forgotten last."""
    return 1 + max((int(match[1]) for match in _NUMBER.finditer(text)), default=0)


def to_name(text: str) -> str:
    """Return a name that a note can have, from a subject as somebody wrote it. Empty if nothing of it can be kept."""
    name = " ".join(_BAD_IN_NAMES.sub(" ", one_line(text)).split()).strip(". ")
    while len(name.encode()) > 100:  # noqa: PLR2004 - bytes; names of files have an end, and long ones help nobody
        name = name.rpartition(" ")[0] or name[:-1]
    return name.strip(". ")


def is_below(path: str, folder: str) -> bool:
    """Tell whether a note is in the folder of memory. Their case does not count, as on most disks."""
    return path.casefold().startswith(f"{folder.casefold()}/") and path.endswith(".md")


def read_folder(files: Files, folder: str) -> list[Subject]:
    """Return the notes of memory, by the files alone: for a program that must answer before an index could be opened.

    What cannot be read is left out.
    """
    subjects: list[Subject] = []
    try:
        place, _ = files.spell(VaultPath(folder))
    except VaultError:
        return []
    if not files.is_folder(place):
        return []
    for number, note in enumerate(files.walk(place)):
        if number >= _MOST_NOTES:
            break
        try:
            if not files.is_dataless(note.path):
                subjects.append(read_subject(note.path, plain_text(files.read(note.path).data)))
        except VaultError:
            continue
    return subjects


def entries_of(subjects: Iterable[Subject]) -> list[Entry]:
    """Return all entries, as many as are looked at."""
    entries: list[Entry] = []
    for subject in subjects:
        entries += subject.entries
        if len(entries) >= _MOST_ENTRIES:
            break
    return entries[:_MOST_ENTRIES]
