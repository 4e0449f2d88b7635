"""The tool that reads one note or several, by name or by day. Docstrings here are product text: a model reads them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, NamedTuple

from vaultwire.toolkit.argument_types import Name
from vaultwire.toolkit.phrases import counted
from vaultwire.toolkit.registry import Bounds, Outcome, tool
from vaultwire.tools.attachments import MOST_SHOWN_BYTES
from vaultwire.tools.daily import daily_note
from vaultwire.tools.reading import (
    DEFAULT_TOKENS,
    MaxTokens,
    OneOfMany,
    Part,
    ReadMany,
    headline,
    read_many,
    read_note,
)
from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS, TOO_LARGE, VaultError
from vaultwire.vault.settings.obsidian_settings import ADJECTIVES
from vaultwire.vault.value_types import Progress, VaultPath
from vaultwire.vault.vault import Vault

# The least that is shown of each of several notes.
_LEAST_TOKENS = 250
# Two months of daily notes.
_MAX_NOTES = 62
_MAX_DAYS_NAMED = 10


@tool(title="Read notes", time_class="search", read_only=True)
def read_notes(
    vault: Vault,
    progress: Progress,
    /,
    paths: Annotated[list[Name], Bounds(1, 50)],
    section: Annotated[str | None, Bounds(1, 1000)] = None,
    lines: Annotated[str | None, Bounds(1, 30)] = None,
    part: Part = "all",
    max_tokens: MaxTokens = DEFAULT_TOKENS,
) -> Outcome[ReadMany]:
    """Read notes, or a part of them; each comes with its etag.

    A long note is cut, and the result says how to go on. Before a long note, read its outline, then the section needed.

    Args:
        paths: Notes ("Note#Heading" for a part), pictures, PDFs, or days: "today", "2026-03-31", "last 7 days".
        section: Heading ("Plan#Next") or block ("^id").
        lines: "10-20", "10-" or "10".
        part: "outline" has headings with their lines, tags, numbers of links and tasks.
        max_tokens: Read at most this much of all together, roughly counted.
    """
    paths, days = _with_days(vault, progress, paths)
    if days:
        read = _read_all(vault, progress, paths, section, lines, part, max_tokens) if paths else _nothing()
        return Outcome([*read.texts, *days], read.data)
    return _read_all(vault, progress, paths, section, lines, part, max_tokens)


def _nothing() -> Outcome[ReadMany]:
    return Outcome([], ReadMany(notes=[], read=0, cut=0))


class _Range(NamedTuple):
    """Days that are asked for, each with its note, and the period that they are; ``own`` is the note of that period."""

    days: list[tuple[date, VaultPath | None]]
    period: str = ""
    own: VaultPath | None = None

    def notes(self) -> list[VaultPath]:
        """Return the note of the period, then those of its days. Of very many days only the former, if there is one."""
        daily = [note for _, note in self.days if note is not None]
        if self.own is None:
            return daily
        return [self.own, *daily] if len(daily) < _MAX_NOTES else [self.own]

    def said(self, asked: str) -> str:
        """Return which of the notes there are."""
        missing = [day.isoformat() for day, note in self.days if note is None]
        there = len(self.days) - len(missing)
        adjective = ADJECTIVES.get(self.period, "")
        if not there and self.own is None:
            none = f", and no {adjective} note" if adjective else ""
            return f"No daily notes from {self.days[0][0]} to {self.days[-1][0]}{none}."
        own = f"the {adjective} note and " if self.own is not None else ""
        if own and there >= _MAX_NOTES:
            return f"{asked}: {own}{there} daily notes, which are not shown. Ask for fewer days to read these."
        if not there:
            return f"{asked}: {own}no daily notes."
        more = f" and {len(missing) - _MAX_DAYS_NAMED} more days" if len(missing) > _MAX_DAYS_NAMED else ""
        lacking = f" None for {', '.join(missing[:_MAX_DAYS_NAMED])}{more}." if missing else ""
        return f"{asked}: {own}{counted(there, 'daily note')} of {counted(len(self.days), 'day')}.{lacking}"


def _with_days(vault: Vault, progress: Progress, paths: list[str]) -> tuple[list[str], list[str]]:
    """Return the paths with notes in place of ranges of days, and what is said of each range."""
    found: list[str] = []
    said: list[str] = []
    for path in paths:
        days = _range(vault, progress, path)
        if days is None:
            found.append(path)
            continue
        found += days.notes()
        said.append(days.said(path))
    if len(found) > _MAX_NOTES and said:
        raise VaultError(
            INVALID_ARGUMENTS,
            f"These are {len(found)} notes; at most {_MAX_NOTES} are read at once. Ask for fewer days.",
            argument="paths",
        )
    return found, said


def _range(vault: Vault, progress: Progress, path: str) -> _Range | None:
    """Return the days of a range and their notes; None if the text is no range, or names a note."""
    try:
        days = vault.overview.daily_notes(path, progress)
    except VaultError as error:
        if error.code != INVALID_ARGUMENTS or "most" in error.details:
            raise
        return None
    if len(days) == 1:
        return None
    try:
        vault.locate(path, progress)
    except VaultError:
        pass
    else:
        return None
    try:
        own = vault.overview.periodic_note(path, progress)
    except VaultError:  # it is of no one period, such as the last 7 days
        return _Range(days)
    return _Range(days, own.period, own.path if own.exists else None)


def _read_all(
    vault: Vault,
    progress: Progress,
    paths: list[str],
    section: str | None,
    lines: str | None,
    part: Part,
    max_tokens: int,
) -> Outcome[ReadMany]:
    if len(paths) == 1:
        outcome = _read(vault, progress, paths[0], section, lines, part, max_tokens)
        return Outcome(outcome.texts, ReadMany(notes=[_one(paths[0], outcome.data)], read=1, cut=0), outcome.more)
    is_whole = part == "all" and not section and not lines
    if is_whole and not any(_is_attachment(vault, progress, path) for path in paths):
        return read_many(vault, progress, [_day_or_name(vault, progress, path) for path in paths], max_tokens)
    limit = max(max_tokens // len(paths), _LEAST_TOKENS)
    notes: list[OneOfMany] = []
    texts: list[str] = []
    more: list[Mapping[str, Any]] = []
    for number, path in enumerate(paths):
        progress.check()
        progress.report(number, len(paths), "notes read")
        try:
            outcome = _read(vault, progress, path, section, lines, part, limit)
            _check_size(path, [*more, *outcome.more])
        except VaultError as error:
            if error.code == INVALID_ARGUMENTS:
                raise
            error = vault.history.with_new_name(error)
            notes.append(OneOfMany(name=path, error=error.code, message=error.message))
            texts.append(f"({path!r}: {error.code}: {error.message})")
        else:
            notes.append(_one(path, outcome.data))
            texts += outcome.texts
            more += outcome.more
    data = ReadMany(notes=notes, read=sum("error" not in one for one in notes), cut=0)
    return Outcome([headline(data), *texts], data, more)


def _is_attachment(vault: Vault, progress: Progress, path: str) -> bool:
    try:
        return vault.find_attachment(path, progress) is not None
    except VaultError:
        return False


def _check_size(path: str, blocks: list[Mapping[str, Any]]) -> None:
    """Refuse one picture or recording more than fits into an answer. The first one always does."""
    if len(blocks) > 1 and sum(len(block["data"]) for block in blocks) > MOST_SHOWN_BYTES * 4 / 3:
        raise VaultError(TOO_LARGE, f"There is no room for {path!r} besides the others: read it alone.", path=path)


def _read(
    vault: Vault, progress: Progress, path: str, section: str | None, lines: str | None, part: Part, limit: int
) -> Outcome[Any]:
    """Read one note; if there is none of this name, the note of the day that it says."""
    try:
        return read_note(vault, progress, path, section, lines, part, limit)
    except VaultError as error:
        if error.code != FILE_NOT_FOUND:
            raise
        day = _daily(vault, progress, path)
        if day is None:
            raise
        if not day.data["exists"] or (part == "all" and not section and not lines):
            return daily_note(vault, progress, path, limit)
        return read_note(vault, progress, day.data["path"], section, lines, part, limit)


def _day_or_name(vault: Vault, progress: Progress, path: str) -> str:
    """Return the path of the day's note for a day that is no note's name; any other name as it is."""
    try:
        vault.locate(path, progress)
    except VaultError as error:
        day = _daily(vault, progress, path) if error.code == FILE_NOT_FOUND else None
        if day is not None:
            return str(day.data["path"])
    return path


def _daily(vault: Vault, progress: Progress, day: str) -> Outcome[Any] | None:
    """Return the note of a day; None if the text is not a day."""
    try:
        return daily_note(vault, progress, day)
    except VaultError as error:
        if error.code != INVALID_ARGUMENTS:
            raise
        return None


def _one(name: str, read: Any) -> OneOfMany:
    one = OneOfMany(name=name, path=read["path"])
    if not read.get("exists", True):
        one["error"] = FILE_NOT_FOUND
        one["message"] = "There is no note of this day yet: append_daily_note makes it."
    if "content" in read:
        one["content"], one["etag"] = read["content"], read["etag"]
    if "last_line" in read:
        one["last_line"] = read["last_line"]
    if "total_lines" in read:
        one["total_lines"] = read["total_lines"]
    return one
