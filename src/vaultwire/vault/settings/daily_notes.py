"""Daily notes: the path of a day's note, the day of a note's path, and how a caller may name a day.

Pure: whether such a note exists is not known here. How days are written is in ``vault.settings.moment_format``.
"""

from __future__ import annotations

import re
from datetime import date, timedelta

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
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.settings.moment_format import format_moment
from vaultwire.vault.settings.moment_parse import parse_moment
from vaultwire.vault.settings.obsidian_settings import Settings
from vaultwire.vault.value_types import VaultPath

DEFAULT_FORMAT = "YYYY-MM-DD"  # Obsidian's help, "Daily notes"

_NAMED_DAYS = {"today": 0, "yesterday": -1, "tomorrow": 1}
_DAYS_FROM_TODAY = re.compile(r"[+-][0-9]{1,7}")  # seven digits lead out of the years there are


def daily_note_path(settings: Settings, day: date) -> VaultPath:
    """Return the path of the day's note, whether it exists or not.

    Raises VaultError, which names the wrong setting, if the settings give no path for a note.
    """
    written = format_moment(_format(settings), day)
    try:
        # Obsidian ignores slashes at either end. A path is written with "/" on every system.
        path = parse_path(compose(f"{folder_of_setting(settings.daily_folder)}/{written}{NOTE_SUFFIX}".lstrip("/")))
        check_new_names(path.split("/"))
    except VaultError as error:
        raise VaultError(
            error.code,
            f"Obsidian's settings for daily notes (folder {settings.daily_folder!r}, date format {_format(settings)!r}) "
            f"give no path for a note: {error.message} Change them in Obsidian, or in daily-notes.json.",
        ) from None
    return path


def daily_note_day(settings: Settings, path: VaultPath) -> date | None:
    """Return the day whose daily note has this path; None if it is no daily note's, or could be several days'."""
    if not is_note(path):
        return None
    folder, name = folder_of_setting(settings.daily_folder), path[: -len(NOTE_SUFFIX)]
    if folder:
        parts = name.split("/")
        depth = folder.count("/") + 1
        if fold("/".join(parts[:depth])) != fold(folder):
            return None
        name = "/".join(parts[depth:])
    return parse_moment(_format(settings), name)


def daily_template_path(settings: Settings) -> VaultPath | None:
    """Return the path of the template for new daily notes, whether it exists or not; None if the settings name none.

    Raises VaultError if the settings name something that cannot be a note.
    """
    named = settings.daily_template.strip().strip("/")
    return parse_note_path(named) if named else None


def parse_day(text: str, today: date) -> date:
    """Return the day that a caller means: ``today``, ``yesterday``, ``tomorrow``, ``+3`` or ``-1`` days from today, or a date.

    Raises VaultError (INVALID_ARGUMENTS).
    """
    word = text.strip().lower()
    try:
        if word in _NAMED_DAYS:
            return today + timedelta(_NAMED_DAYS[word])
        if _DAYS_FROM_TODAY.fullmatch(word):
            return today + timedelta(int(word))
        return date.fromisoformat(word.upper())
    except (ValueError, OverflowError):
        raise VaultError(
            INVALID_ARGUMENTS,
            f"{text!r} is no day. Give 'today', 'yesterday', 'tomorrow', a date such as '2024-01-31', or a number of days "
            "from today such as '+3' or '-1'.",
        ) from None


def _format(settings: Settings) -> str:
    return settings.daily_format.strip().strip("/") or DEFAULT_FORMAT
