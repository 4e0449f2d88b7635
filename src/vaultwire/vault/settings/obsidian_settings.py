"""Obsidian's settings for a vault, read from the JSON files of its config folder, and read again when they change.

Nothing here raises: a broken file, or a value that Obsidian does not write, counts as not set and is reported by
``doctor``. The modules that use a setting say what it means (``visibility.excludes``, ``periodic_notes``). Nothing is ever
written here.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias, TypeGuard

from vaultwire.bases.moment_format import MONTHS, WEEKDAYS, WRITERS, Piece, format_moment, split_format, sunday_based
from vaultwire.vault.days import Days, days_around
from vaultwire.vault.disk.paths import (
    NOTE_SUFFIX,
    check_new_names,
    compose,
    fold,
    folder_of_setting,
    is_note,
    parse_note_path,
    parse_path,
)
from vaultwire.vault.disk.walk import stamp_of
from vaultwire.vault.errors import VaultError
from vaultwire.vault.value_types import Problem, VaultPath

# Dates in the formats of Moment.js, read back from text: the opposite of ``moment_format``.

# A text can be read in several ways where numbers without leading zeros follow one another. People's formats allow one
# way or two. A format that allows more than this does not say which day it means.
_MOST_READINGS = 1000


def parse_moment(form: str, text: str, period: str = "day") -> date | None:
    """Return the day that the text means in this format; None if it is no such text, or could mean several days.

    With a longer ``period`` (``vault.days``), the first day of the week, month, quarter or year that the text means.

    The text must be what ``format_moment`` writes, but for case and Unicode form, as names of notes are compared. A year of
    two digits lies between 1969 and 2068. Seconds count from 1970. The day of the week must be right.
    """
    days: set[date] = set()
    for reading in _readings(split_format(form), fold(text)):
        days.update(day for day in _days(_with_first_day(reading.values, period)) if reading.is_of(day))
    return days.pop() if len(days) == 1 else None


class _Reading(NamedTuple):
    """One way to read a text up to ``end``: the numbers by field, and the text read for each token of a date."""

    end: int
    values: dict[str, int]
    written: tuple[tuple[str, str], ...]

    def is_of(self, day: date) -> bool:
        """Tell whether this day gives the same text for each token."""
        moment = datetime.combine(day, datetime.min.time())
        return all(WRITERS[token](moment).lower() == text for token, text in self.written)


def _readings(pieces: tuple[Piece, ...], text: str) -> list[_Reading]:
    """Return every way to read the whole folded text; none if there are too many."""
    readings = [_Reading(0, {}, ())]
    for piece in pieces:
        if piece.is_literal:
            literal = fold(piece.text)
            readings = [
                _Reading(end + len(literal), values, written)
                for end, values, written in readings
                if text.startswith(literal, end)
            ]
        else:
            readings = [longer for reading in readings for longer in _read_on(reading, piece.text, text)]
        if not 0 < len(readings) <= _MOST_READINGS:
            return []
    return [reading for reading in readings if reading.end == len(text)]


def _read_on(reading: _Reading, token: str, text: str) -> Iterator[_Reading]:
    """Yield the reading with one more token, in each way that the text allows."""
    field, ways = _ways(token, text, reading.end)
    for value, end in ways:
        if reading.values.get(field, value) != value:
            continue
        least, most = _TIMES.get(field, (0, value))
        if least <= value <= most:
            written = reading.written
            if field not in _TIMES:
                written += ((token, text[reading.end : end]),)
            yield _Reading(end, {**reading.values, field: value}, written)


def _ways(token: str, text: str, start: int) -> tuple[str, list[tuple[int, int]]]:
    """Return the field that a token fills, and the numbers that the text may have for it, each with its end."""
    if token in _NAMES:
        field, names = _NAMES[token]
        found = ((number, start + len(name)) for number, name in enumerate(names) if text.startswith(name, start))
        return field, list(found)
    if token in _DIGITS:
        field, least, most = _DIGITS[token]
        suffix = 2 if token.endswith("o") else 0  # "st", "nd", "rd" or "th"; ``is_of`` checks that it is the right one
        digits = [text[start : start + length] for length in range(least, most + 1) if start + length <= len(text)]
        return field, [
            (int(piece), start + len(piece) + suffix) for piece in digits if piece.isascii() and piece.isdigit()
        ]
    zone = _ZONE.match(text, start) if token in ("Z", "ZZ") else None
    return "zone", [(0, zone.end())] if zone else []


def _days(values: dict[str, int]) -> Iterator[date]:
    """Yield the days that the numbers may mean. Some are wrong: ``_Reading.is_of`` tells."""
    if "X" in values or "x" in values:
        milliseconds = values["x"] if "x" in values else values["X"] * 1000
        try:
            yield (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)).astimezone().date()
        except (OverflowError, OSError, ValueError):  # a year that the system does not know
            pass
        return
    years = {values[field] for field in ("Y", "g", "G") if field in values}
    # As in Moment.js, 68 is 2068 and 69 is 1969.
    years |= {
        values[field] + (2000 if values[field] <= 68 else 1900)  # noqa: PLR2004
        for field in ("YY", "gg", "GG")
        if field in values
    }
    if not values.keys() >= {"Y", "M", "D"}:  # a week's year may differ by one from the year of its days
        years = {year + beside for year in years for beside in (-1, 0, 1)}
    for year in years:
        try:
            day = _day_of(year, values)
        except (ValueError, OverflowError):  # that year has no such day
            continue
        if day is not None:
            yield day


def _with_first_day(values: dict[str, int], period: str) -> dict[str, int]:
    """Return the numbers, with those of the period's first day where the text has none."""
    if period == "day":
        return values
    if period == "week":
        return {**({"E": 1} if "W" in values else {"d": 0} if "w" in values else {}), **values}
    month = {"M": 1} if period == "year" else {"M": 3 * values["Q"] - 2} if "Q" in values else {}
    return {**month, "D": 1, **values}


def _day_of(year: int, values: dict[str, int]) -> date | None:
    if "M" in values and "D" in values:
        return date(year, values["M"], values["D"])
    if "DDD" in values:
        return date(year, 1, 1) + timedelta(values["DDD"] - 1)
    weekday = values.get("E", (values["d"] or 7) if "d" in values else None)  # from Monday, 1, to Sunday, 7
    if weekday is None:
        return None
    if "W" in values:
        return date.fromisocalendar(year, values["W"], weekday)
    if "w" in values:
        first = date(year, 1, 1)
        return first + timedelta(7 * (values["w"] - 1) + weekday % 7 - sunday_based(first))
    return None


_NAMES: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    # The first month is 1.
    "MMM": ("M", ("\0", *(fold(name[:3]) for name in MONTHS))),
    "MMMM": ("M", ("\0", *map(fold, MONTHS))),
    "dd": ("d", tuple(fold(name[:2]) for name in WEEKDAYS)),
    "ddd": ("d", tuple(fold(name[:3]) for name in WEEKDAYS)),
    "dddd": ("d", tuple(map(fold, WEEKDAYS))),
    "A": ("a", ("am", "pm")),
    "a": ("a", ("am", "pm")),
    "z": ("zone", ("",)),
    "zz": ("zone", ("",)),
}
"""Tokens that are words: the field of each, and its words, folded, counted from 0."""

_DIGITS: Final[dict[str, tuple[str, int, int]]] = {
    **dict.fromkeys(("YYYY", "Y", "yyyy"), ("Y", 4, 4)),
    "YY": ("YY", 2, 2),
    **dict.fromkeys(("Q", "Qo"), ("Q", 1, 1)),
    **dict.fromkeys(("M", "Mo"), ("M", 1, 2)),
    "MM": ("M", 2, 2),
    **dict.fromkeys(("D", "Do"), ("D", 1, 2)),
    "DD": ("D", 2, 2),
    **dict.fromkeys(("DDD", "DDDo"), ("DDD", 1, 3)),
    "DDDD": ("DDD", 3, 3),
    **dict.fromkeys(("d", "do", "e"), ("d", 1, 1)),
    "E": ("E", 1, 1),
    **dict.fromkeys(("w", "wo"), ("w", 1, 2)),
    "ww": ("w", 2, 2),
    **dict.fromkeys(("W", "Wo"), ("W", 1, 2)),
    "WW": ("W", 2, 2),
    "gg": ("gg", 2, 2),
    "gggg": ("g", 4, 4),
    "GG": ("GG", 2, 2),
    "GGGG": ("G", 4, 4),
    **{token: (token[0], 1, 2) for token in ("H", "h", "k", "m", "s")},
    **{token: (token[0], 2, 2) for token in ("HH", "hh", "kk", "mm", "ss")},
    **{"S" * digits: ("S" * digits, digits, digits) for digits in range(1, 10)},
    "X": ("X", 1, 12),  # up to the year 9999
    "x": ("x", 1, 15),
}
"""Tokens that are numbers: the field of each, and the least and most digits."""

_TIMES: Final[dict[str, tuple[int, int]]] = {
    "H": (0, 23),
    "h": (1, 12),
    "k": (1, 24),
    "m": (0, 59),
    "s": (0, 59),
    "a": (0, 1),
    "zone": (0, 0),
    **{"S" * digits: (0, 999_999_999) for digits in range(1, 10)},
    "X": (0, 253_402_300_799),  # the end of 9999
    "x": (0, 253_402_300_799_999),
}
"""The fields that do not say a day, and the least and greatest number of each."""

_ZONE: Final = re.compile(r"[+-]\d\d:?\d\d", re.ASCII)


CONFIG_FOLDER = ".obsidian"  # Obsidian's "Override config folder" may name another, which must start with a dot too

# A thousand times what Obsidian itself writes. The limit keeps a wrong file from filling the memory on every call.
MAX_SETTINGS_BYTES = 1 << 20

# A file changed this recently may change again and keep its time: clocks of file systems tick every 4 ms (ext4) to 2 s
# (FAT). The content of such a file is used once and not cached.
_CLOCK_TICK_NS = 2_000_000_000


class PeriodicNotes(NamedTuple):
    """Where the notes of days, weeks, months, quarters or years are, as written: as for ``daily_folder`` and those after it."""

    folder: str = ""
    format: str = ""
    template: str = ""


class TaskStatus(NamedTuple):
    """What a mark in a task's box means to the Tasks plugin: its type, such as ``DONE``, and the mark that comes next."""

    type: str
    next: str


TASK_STATUSES: Final[Mapping[str, TaskStatus]] = MappingProxyType(
    {
        " ": TaskStatus("TODO", "x"),
        "x": TaskStatus("DONE", " "),
        "X": TaskStatus("DONE", " "),
        "/": TaskStatus("IN_PROGRESS", "x"),
        "-": TaskStatus("CANCELLED", " "),
    }
)
"""The statuses of the plugin before the person changes them, and the mark that Obsidian itself takes for done, too."""


class Settings(NamedTuple):
    """The settings, named as in Obsidian's files. The defaults are Obsidian's, whose files hold only what was changed.

    Folders are as written, unchecked: ``""`` and ``/`` mean the vault itself; ``./`` in ``attachment_folder`` means the
    note's folder. A format of ``""`` means Obsidian's own. ``property_types`` has folded names, because a property's type
    does not depend on the case of its name. ``periodic_notes`` has those that are switched on in the community plugin Periodic
    Notes, by their period (``vault.days``). ``tasks_…`` are those of the community plugin Tasks: ``tasks_next_below`` puts the
    next one of a task that repeats below it; with ``tasks_day_of_name`` a task without dates is scheduled for the day in its
    note's name, in the folders of ``tasks_name_folders`` (none: everywhere). ``dataview_…`` are those of the community plugin
    Dataview for texts: formats of Luxon, what stands for null, names of columns, what begins an inline query.
    """

    user_ignore_filters: tuple[str, ...] = ()
    attachment_folder: str = "/"
    new_link_format: str = "shortest"
    use_markdown_links: bool = False
    new_file_location: str = "root"
    new_file_folder: str = ""
    daily_folder: str = ""
    daily_format: str = ""
    daily_template: str = ""
    template_folder: str = ""
    template_date_format: str = ""
    template_time_format: str = ""
    property_types: Mapping[str, str] = MappingProxyType({})
    periodic_notes: Mapping[str, PeriodicNotes] = MappingProxyType({})
    community_plugins: tuple[str, ...] = ()
    tasks_format: str = ""
    tasks_filter: str = ""
    tasks_set_done_date: bool = True
    tasks_set_cancelled_date: bool = True
    tasks_set_created_date: bool = False
    tasks_next_below: bool = False
    tasks_remove_scheduled_date: bool = False
    tasks_day_of_name: bool = False
    tasks_name_format: str = ""
    tasks_name_folders: tuple[str, ...] = ()
    tasks_statuses: Mapping[str, TaskStatus] = TASK_STATUSES
    dataview_date: str = ""
    dataview_time: str = ""
    dataview_nothing: str | None = None
    dataview_file: str = ""
    dataview_group: str = ""
    dataview_inline: str = "="
    problems: tuple[Problem, ...] = ()


class FileContent(NamedTuple):
    """A settings file's text, None if there is none; ``problem`` says what is wrong with the file, if anything is."""

    text: str | None
    problem: str | None = None


_MISSING: Final = FileContent(None)
_Check: TypeAlias = Callable[[Any], Any]


class CachedFile:
    """A small text file that is asked for often. It is read again only when its size, time or stamp has changed.

    Links are followed, also out of the vault: in this way people share one config folder between vaults.
    """

    def __init__(self, place: str) -> None:
        self._place = place
        self._cached: tuple[tuple[int, int, int] | None, FileContent] = (None, _MISSING)

    def content(self) -> FileContent:
        """Return the file's content. Never raises."""
        try:
            status = os.stat(self._place)
            if not stat.S_ISREG(status.st_mode):  # checked first: opening a FIFO would wait for its other end
                return FileContent(None, "is not a regular file")
            key, content = self._cached
            if key == _identity(status):
                return content
            with open(self._place, "rb") as file:
                status = os.fstat(file.fileno())
                data = file.read(MAX_SETTINGS_BYTES + 1)
        except (FileNotFoundError, NotADirectoryError):
            return _MISSING
        except OSError as error:
            return FileContent(None, f"cannot be read: {error.strerror}")
        content = _decode(data)
        if time.time_ns() - status.st_mtime_ns > _CLOCK_TICK_NS:
            self._cached = (_identity(status), content)
        return content


def _identity(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_size, status.st_mtime_ns, stamp_of(status)


def _decode(data: bytes) -> FileContent:
    if len(data) > MAX_SETTINGS_BYTES:
        return FileContent(None, f"has more than {MAX_SETTINGS_BYTES} bytes, so it was not read")
    try:
        return FileContent(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return FileContent(None, f"is not UTF-8 (byte {error.start}), so it was not read")


class CachedSettings:
    """The settings of one vault, always as they are now. Each question looks at eight files."""

    def __init__(self, root: str) -> None:
        self._files = {name: CachedFile(os.path.join(root, CONFIG_FOLDER, name)) for name in KEYS}
        self._cached: tuple[list[FileContent], Settings] = ([], Settings())

    def get(self) -> Settings:
        """Return the settings; the same object as long as no file's content changes. Never raises."""
        contents = [file.content() for file in self._files.values()]
        if contents != self._cached[0]:
            self._cached = (contents, self._parse(contents))
        return self._cached[1]

    def _parse(self, contents: list[FileContent]) -> Settings:
        values: dict[str, Any] = {}
        problems: list[Problem] = []
        for (name, keys), content in zip(KEYS.items(), contents, strict=True):
            path = f"{CONFIG_FOLDER}/{name}"
            if content.problem:
                problems.append(Problem(path, content.problem))
            if content.text is None:
                continue
            try:
                settings = json.loads(content.text)
            except (ValueError, RecursionError) as error:
                problems.append(Problem(path, f"is not JSON ({error}), so Obsidian's defaults are used"))
                continue
            if keys[0][0] == _WHOLE:
                settings = {_WHOLE: settings}
            elif not isinstance(settings, dict):
                problems.append(Problem(path, "is not a JSON object, so Obsidian's defaults are used"))
                continue
            found, wrong = _read_keys(keys, settings)
            values |= found
            problems += [Problem(path, text) for text in wrong]
        return Settings(**values, problems=tuple(problems))


def _read_keys(
    keys: tuple[tuple[str, str, _Check], ...], settings: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Return the values of the fields that a file sets, and what is wrong with it."""
    values: dict[str, Any] = {}
    wrong: list[str] = []
    for key, field, check in keys:
        value = settings.get(key)
        if value is None:
            continue
        try:
            values[field] = check(value)
        except _WrongError as error:
            wrong.append(f"{key!r} {error}" if key else str(error))
            if error.rest is not None:
                values[field] = error.rest
    return values, wrong


class _WrongError(Exception):
    """A value that Obsidian does not write. ``rest`` is the part of it that can be used."""

    def __init__(self, reason: str, rest: Any = None) -> None:
        super().__init__(reason)
        self.rest = rest


def _is_text(value: Any) -> TypeGuard[str]:
    """Tell whether the value is a text that can be stored and sent: JSON can spell half a surrogate pair."""
    return isinstance(value, str) and not any("\ud800" <= character <= "\udfff" for character in value)


def _text(value: Any) -> str:
    if not _is_text(value):
        raise _WrongError(f"must be a text, not {_shown(value)}; it is taken as not set")
    return str(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _WrongError(f"must be true or false, not {_shown(value)}; it is taken as not set")
    return value


def _one_of(*words: str) -> _Check:
    def check(value: Any) -> str:
        if value not in words:
            raise _WrongError(f"must be one of {', '.join(words)}, not {_shown(value)}; it is taken as not set")
        return str(value)

    return check


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise _WrongError(f"must be a list of texts, not {_shown(value)}; it is taken as not set")
    texts = tuple(item for item in value if _is_text(item))
    if len(texts) < len(value):
        raise _WrongError("has elements that are no texts; they are ignored", texts)
    return texts


def _types(value: Any) -> Mapping[str, str]:
    """Return the types by folded name. Plugins add types of their own, so any word is one."""
    if not isinstance(value, dict):
        raise _WrongError(f"must be an object of names and types, not {_shown(value)}; it is taken as not set")
    types = MappingProxyType({fold(name): kind for name, kind in value.items() if _is_text(name) and _is_text(kind)})
    if any(not (_is_text(name) and _is_text(kind)) for name, kind in value.items()):
        raise _WrongError("has names or types that are no texts; they are ignored", types)
    return types


def _statuses(value: Any) -> Mapping[str, TaskStatus]:
    """Return what each mark means: of two statuses with one mark the first counts, as to the plugin."""
    parts: list[Any] = (
        [value.get(key, []) for key in ("coreStatuses", "customStatuses")] if isinstance(value, dict) else [None]
    )
    if not all(isinstance(part, list) for part in parts):
        raise _WrongError(f"must be an object of lists of statuses, not {_shown(value)}; it is taken as not set")
    statuses: dict[str, TaskStatus] = {}
    for status in itertools.chain.from_iterable(parts):
        if isinstance(status, dict) and _is_mark(mark := status.get("symbol")):
            kind, follows = status.get("type"), status.get("nextStatusSymbol")
            default = TASK_STATUSES.get(mark, TASK_STATUSES[" "])
            meaning = TaskStatus(kind if _is_text(kind) else default.type, follows if _is_mark(follows) else "x")
            statuses.setdefault(mark, meaning)
    core = {mark: TASK_STATUSES[mark] for mark in (" ", "x", "X") if mark not in statuses}
    return MappingProxyType({**core, **statuses}) if statuses else TASK_STATUSES


def _is_mark(value: Any) -> TypeGuard[str]:
    return _is_text(value) and len(value) == 1 and value.isprintable() and value not in "[]"


_PERIODS = {"daily": "day", "weekly": "week", "monthly": "month", "quarterly": "quarter", "yearly": "year"}


def _periodic_notes(value: Any) -> Mapping[str, PeriodicNotes]:
    """Return the periods that are switched on. The plugin writes all keys of one, with ``enabled`` only once it was used."""
    if not isinstance(value, dict):
        raise _WrongError("is not a JSON object, so it is taken as not set")
    on = {
        period: entry
        for key, period in _PERIODS.items()
        if isinstance(entry := value.get(key), dict) and entry.get("enabled") is True
    }
    notes = {
        period: PeriodicNotes(*(text if _is_text(text := entry.get(key, "")) else "" for key in PeriodicNotes._fields))
        for period, entry in on.items()
    }
    if any(not _is_text(entry.get(key, "")) for entry in on.values() for key in PeriodicNotes._fields):
        raise _WrongError("has a folder, format or template that is no text; it is taken as not set", notes)
    return MappingProxyType(notes)


_SHOWN = 40  # characters of a wrong value, enough to recognise it


def _shown(value: Any) -> str:
    shown = ascii(value)
    return shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "…"


_WHOLE = ""
"""The key of a file that is one setting."""

KEYS: Final[Mapping[str, tuple[tuple[str, str, _Check], ...]]] = {
    "app.json": (
        ("userIgnoreFilters", "user_ignore_filters", _texts),
        ("attachmentFolderPath", "attachment_folder", _text),
        ("newLinkFormat", "new_link_format", _one_of("shortest", "relative", "absolute")),
        ("useMarkdownLinks", "use_markdown_links", _flag),
        ("newFileLocation", "new_file_location", _one_of("root", "current", "folder")),
        ("newFileFolderPath", "new_file_folder", _text),
    ),
    "daily-notes.json": (
        ("folder", "daily_folder", _text),
        ("format", "daily_format", _text),
        ("template", "daily_template", _text),
    ),
    "templates.json": (
        ("folder", "template_folder", _text),
        # No document says how Obsidian spells these two. Vaults have the second spelling (0xW1LD/0xw1ld.github.io,
        # Aeondromach/MTCHS-Notes-JUNIOR), an audit names the first. Where a file has both, the second wins.
        ("date_format", "template_date_format", _text),
        ("time_format", "template_time_format", _text),
        ("dateFormat", "template_date_format", _text),
        ("timeFormat", "template_time_format", _text),
    ),
    "types.json": (("types", "property_types", _types),),
    "community-plugins.json": ((_WHOLE, "community_plugins", _texts),),
    "plugins/periodic-notes/data.json": ((_WHOLE, "periodic_notes", _periodic_notes),),
    "plugins/obsidian-tasks-plugin/data.json": (
        ("taskFormat", "tasks_format", _one_of("tasksPluginEmoji", "dataview")),
        ("globalFilter", "tasks_filter", _text),
        ("setDoneDate", "tasks_set_done_date", _flag),
        ("setCancelledDate", "tasks_set_cancelled_date", _flag),
        ("setCreatedDate", "tasks_set_created_date", _flag),
        ("recurrenceOnNextLine", "tasks_next_below", _flag),
        ("removeScheduledDateOnRecurrence", "tasks_remove_scheduled_date", _flag),
        ("useFilenameAsScheduledDate", "tasks_day_of_name", _flag),
        ("filenameAsScheduledDateFormat", "tasks_name_format", _text),
        ("filenameAsDateFolders", "tasks_name_folders", _texts),
        ("statusSettings", "tasks_statuses", _statuses),
    ),
    "plugins/dataview/data.json": (
        ("defaultDateFormat", "dataview_date", _text),
        ("defaultDateTimeFormat", "dataview_time", _text),
        ("renderNullAs", "dataview_nothing", _text),
        ("tableIdColumnName", "dataview_file", _text),
        ("tableGroupColumnName", "dataview_group", _text),
        ("inlineQueryPrefix", "dataview_inline", _text),
    ),
}
"""Each file's keys, the fields of ``Settings`` they fill, and what their values must be."""


# Periodic notes: the note of a day, week, month, quarter or year, and the day, week … that a note is of.
#
# One rule for all: Obsidian's core plugin has the settings of daily notes, the community plugin Periodic Notes those of all
# periods, and these win where they are switched on (obsidian-daily-notes-interface reads them so). Pure: whether such a note
# exists is not known here. How days are written is in ``vault.settings.moment_format``.

ADJECTIVES: Final = {"day": "daily", "week": "weekly", "month": "monthly", "quarter": "quarterly", "year": "yearly"}
"""What the notes of each period are called."""

# Obsidian's help, "Daily notes"; Periodic Notes' README.
_DEFAULT_FORMATS: Final = {
    "day": "YYYY-MM-DD",
    "week": "gggg-[W]ww",
    "month": "YYYY-MM",
    "quarter": "YYYY-[Q]Q",
    "year": "YYYY",
}
# Without settings for weekly notes, weeks are those of ISO 8601, as in the names that people give them.
_ISO_WEEK_FORMAT: Final = "GGGG-[W]WW"


def is_set(settings: Settings, period: str) -> bool:
    """Tell whether the person has said where the notes of this period are. Daily notes always are somewhere."""
    return period == "day" or period in settings.periodic_notes


def notes_of(settings: Settings, period: str) -> PeriodicNotes:
    """Return where the notes of this period are, with the default format if none is set."""
    notes = settings.periodic_notes.get(period)
    if notes is None:
        if period == "day":
            notes = PeriodicNotes(settings.daily_folder, settings.daily_format, settings.daily_template)
        else:
            notes = PeriodicNotes(format=_ISO_WEEK_FORMAT if period == "week" else "")
    return notes._replace(format=notes.format.strip().strip("/") or _DEFAULT_FORMATS[period])


def has_iso_weeks(settings: Settings) -> bool:
    """Tell whether the vault's weeks are those of ISO 8601, from Monday: if the format of its weekly notes has ``W`` or ``G``.

    Other tokens count weeks as the language of Obsidian does, which is not in the vault: as in English, from Sunday.
    Without settings for weekly notes, weeks are those of ISO 8601.
    """
    tokens = {piece.text[0] for piece in split_format(notes_of(settings, "week").format) if not piece.is_literal}
    return bool(tokens & {"W", "G"}) and not tokens & {"w", "g"}


def periodic_note_path(settings: Settings, days: Days) -> VaultPath:
    """Return the path of the note of a day, week …, whether it exists or not. Its name has the first day, as the plugin's.

    Raises VaultError, which names the wrong setting, if the settings give no path for a note.
    """
    notes = notes_of(settings, days.period)
    written = format_moment(notes.format, days.first)
    try:
        # Obsidian ignores slashes at either end. A path is written with "/" on every system.
        path = parse_path(compose(f"{folder_of_setting(notes.folder)}/{written}{NOTE_SUFFIX}".lstrip("/")))
        check_new_names(path.split("/"))
    except VaultError as error:
        where = "daily-notes.json" if days.period not in settings.periodic_notes else "periodic-notes/data.json"
        raise VaultError(
            error.code,
            f"Obsidian's settings for {ADJECTIVES[days.period]} notes (folder {notes.folder!r}, date format {notes.format!r}) "
            f"give no path for a note: {error.message} Change them in Obsidian, or in {where}.",
        ) from None
    return path


def days_of_note(settings: Settings, period: str, path: VaultPath) -> Days | None:
    """Return the day, week … whose note has this path; None if it is no such note's, or could be several's."""
    if not is_note(path):
        return None
    notes = notes_of(settings, period)
    folder, name = folder_of_setting(notes.folder), path[: -len(NOTE_SUFFIX)]
    if folder:
        parts = name.split("/")
        depth = folder.count("/") + 1
        if fold("/".join(parts[:depth])) != fold(folder):
            return None
        name = "/".join(parts[depth:])
    first = parse_moment(notes.format, name, period)
    return None if first is None else days_around(period, first, iso_weeks=has_iso_weeks(settings))


def periodic_template_path(settings: Settings, period: str) -> VaultPath | None:
    """Return the path of the template for new notes of a period, whether it exists or not; None if the settings name none.

    Raises VaultError if the settings name something that cannot be a note.
    """
    named = notes_of(settings, period).template.strip().strip("/")
    return parse_note_path(named) if named else None
