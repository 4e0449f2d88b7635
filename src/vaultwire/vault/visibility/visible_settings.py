"""Obsidian's settings for a run that may not see the whole vault: names of hidden folders and notes are replaced.

Settings appear in messages, and name folders and notes. The replacement cannot be a path: code that uses it reports that,
and puts nothing into another folder instead.
"""

from __future__ import annotations

from datetime import date
from typing import Any

from vaultwire.vault.days import days_around
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import folder_of_setting, parse_note_path, parse_path
from vaultwire.vault.errors import VaultError
from vaultwire.vault.settings.obsidian_settings import CachedSettings, PeriodicNotes, Settings, periodic_note_path

HIDDEN = ".not allowed by the policy"
"""In place of a name that is hidden."""
_ANY_DAY = date(2000, 1, 1)


class VisibleSettings(CachedSettings):
    """The settings of one vault without the names of what is hidden."""

    def __init__(self, files: Files) -> None:
        super().__init__(files.root)
        self._visible = files

    def get(self) -> Settings:
        """See ``CachedSettings.get``."""
        settings = super().get()
        hidden: dict[str, Any] = {
            field: HIDDEN
            for field in ("daily_folder", "template_folder", "attachment_folder", "new_file_folder")
            if self._hides_folder(getattr(settings, field))
        }
        if self._hides_note(settings.daily_template):
            hidden["daily_template"] = HIDDEN
        # What the plugin says of daily notes is looked at below. What the core says counts only where the plugin says nothing.
        if self._hides_notes(settings._replace(periodic_notes={}), "day"):
            hidden |= {"daily_folder": HIDDEN, "daily_format": ""}
        if settings.periodic_notes:
            hidden["periodic_notes"] = {
                period: self._visible_notes(settings, period, notes)
                for period, notes in settings.periodic_notes.items()
            }
        return settings._replace(**hidden) if hidden else settings

    def _visible_notes(self, settings: Settings, period: str, notes: PeriodicNotes) -> PeriodicNotes:
        if self._hides_note(notes.template):
            notes = notes._replace(template=HIDDEN)
        if self._hides_folder(notes.folder):
            notes = notes._replace(folder=HIDDEN)
        return notes._replace(folder=HIDDEN, format="") if self._hides_notes(settings, period) else notes

    # What cannot be a path counts as hidden too: a message about it would repeat it.

    def _hides_folder(self, written: str) -> bool:
        named = folder_of_setting(written)
        try:
            return bool(named) and not self._visible.may_enter(parse_path(named))
        except VaultError:
            return True

    def _hides_note(self, written: str) -> bool:
        """Tell whether a note is hidden or not there: of a private note nobody should learn which."""
        named = written.strip().strip("/")
        try:
            return bool(named) and not self._visible.spell(parse_note_path(named))[1]
        except VaultError:
            return True

    def _hides_notes(self, settings: Settings, period: str) -> bool:
        """Tell whether the notes of a period are hidden: a date format may name folders too."""
        try:
            return not self._visible.may_be_seen(periodic_note_path(settings, days_around(period, _ANY_DAY)))
        except VaultError:
            return True
