"""Periodic notes: the note of a day, week, month, quarter or year, and the day, week … that a note is of.

One rule for all: Obsidian's core plugin has the settings of daily notes, the community plugin Periodic Notes those of all
periods, and these win where they are switched on (obsidian-daily-notes-interface reads them so). Pure: whether such a note
exists is not known here. How days are written is in ``vault.settings.moment_format``.
"""

from __future__ import annotations

from typing import Final

from vaultwire.bases.moment_format import format_moment, split_format
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
from vaultwire.vault.errors import VaultError
from vaultwire.vault.settings.moment_parse import parse_moment
from vaultwire.vault.settings.obsidian_settings import PeriodicNotes, Settings
from vaultwire.vault.value_types import VaultPath

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
