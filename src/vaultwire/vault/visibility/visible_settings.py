"""Obsidian's settings as a run may see them that may not see all of the vault: what they name that is hidden, they do not.

Settings go into messages, and name folders and notes. In the place of a hidden one stands what can be no path, so that
whoever would use it says that, and nothing goes to another folder instead.
"""

from __future__ import annotations

from datetime import date
from typing import Any

from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import folder_of_setting, parse_note_path, parse_path
from vaultwire.vault.errors import VaultError
from vaultwire.vault.settings.daily_notes import daily_note_path
from vaultwire.vault.settings.obsidian_settings import CachedSettings, Settings

_HIDDEN = ".not allowed by the policy"
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
            field: _HIDDEN
            for field in ("daily_folder", "template_folder", "attachment_folder", "new_file_folder")
            if self._hides_folder(getattr(settings, field))
        }
        if self._hides_note(settings.daily_template):
            hidden["daily_template"] = _HIDDEN
        if self._hides_days(settings):
            hidden |= {"daily_folder": _HIDDEN, "daily_format": ""}
        return settings._replace(**hidden) if hidden else settings

    # What could be no path is hidden, too: the message that says so would repeat it.

    def _hides_folder(self, written: str) -> bool:
        named = folder_of_setting(written)
        try:
            return bool(named) and not self._visible.may_be_entered(parse_path(named))
        except VaultError:
            return True

    def _hides_note(self, written: str) -> bool:
        """Tell whether a note is hidden, or not there: of one that is private nobody should hear more."""
        named = written.strip().strip("/")
        try:
            return bool(named) and not self._visible.spell(parse_note_path(named))[1]
        except VaultError:
            return True

    def _hides_days(self, settings: Settings) -> bool:
        """Tell whether daily notes are: a date format may name folders, too."""
        try:
            return not self._visible.may_be_seen(daily_note_path(settings, _ANY_DAY))
        except VaultError:
            return True
