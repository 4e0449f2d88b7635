"""Obsidian's settings as a run may see them that may not see all of the vault: what they name that is hidden, they do not.

Settings go into messages, and name folders and notes. In the place of a hidden one stands what can be no path, so that
whoever would use it says that, and nothing goes to another folder instead.
"""

from __future__ import annotations

from datetime import date
from typing import Any

from vaultwire.vault.errors import VaultError
from vaultwire.vault.files import Files
from vaultwire.vault.paths import folder_of_setting, parse_note_path, parse_path
from vaultwire.vault.periodic import daily_note_path
from vaultwire.vault.settings import KeptSettings, Settings

_HIDDEN = ".not allowed by the policy"
_ANY_DAY = date(2000, 1, 1)


class VisibleSettings(KeptSettings):
    """The settings of one vault without the names of what is hidden."""

    def __init__(self, files: Files) -> None:
        super().__init__(files.root)
        self._visible = files

    def get(self) -> Settings:
        """See ``KeptSettings.get``."""
        settings = super().get()
        hidden: dict[str, Any] = {
            field: _HIDDEN
            for field in ("daily_folder", "template_folder", "attachment_folder", "new_file_folder")
            if self._hides_folder(getattr(settings, field))
        }
        if self._hides_note(settings.daily_template):
            hidden["daily_template"] = _HIDDEN
        try:  # a date format may name folders, too
            if not self._visible.may_be_seen(daily_note_path(settings, _ANY_DAY)):
                hidden |= {"daily_folder": _HIDDEN, "daily_format": ""}
        except VaultError:
            pass
        return settings._replace(**hidden) if hidden else settings

    def _hides_folder(self, written: str) -> bool:
        try:
            folder = parse_path(folder_of_setting(written))
        except VaultError:  # the vault itself, or no path
            return False
        return not self._visible.may_be_entered(folder)

    def _hides_note(self, written: str) -> bool:
        """Tell whether a note is hidden, or not there: of one that is private nobody should hear more."""
        if not written.strip().strip("/"):
            return False
        try:
            return not self._visible.spell(parse_note_path(written.strip().strip("/")))[1]
        except VaultError:
            return False
