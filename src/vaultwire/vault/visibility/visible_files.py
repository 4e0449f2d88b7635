"""The files and settings of a vault that one run may see. For its callers, hidden files do not exist.

All code that reads, lists or looks at files uses ``Files``; this is a ``Files`` that leaves out. The rules say which paths are
hidden, ``PrivacyRules`` which texts. The code that carries changes out uses absolute paths and sees everything, so that it
overwrites nothing; ``check_change`` decides beforehand whether it may begin.
"""

from __future__ import annotations

import json
import os
import re
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from vaultwire.vault.days import days_around
from vaultwire.vault.disk.files import FileBytes, Files
from vaultwire.vault.disk.paths import (
    TRASH,
    fold,
    folder_of_setting,
    is_canvas,
    is_note,
    lies_in,
    parse_note_path,
    parse_path,
)
from vaultwire.vault.disk.walk import has_entry, is_dataless, walk_folders
from vaultwire.vault.errors import FILE_NOT_FOUND, POLICY_DENIED, TOO_LARGE, VaultError
from vaultwire.vault.settings.obsidian_settings import CachedSettings, PeriodicNotes, Settings, periodic_note_path
from vaultwire.vault.value_types import NoteStat, Problem, VaultPath

if TYPE_CHECKING:
    from vaultwire.markdown.yaml_core import PropertyValue


# Which notes are private by their own text: by a tag or a property. Pure; the caller decides what follows from it.
#
# Where it is doubtful by Obsidian's rules whether a word is a tag, it counts as one: a note is rather hidden than shown.

_CLOSING = re.compile(r"\n---[ \t]*+(?:\n|\Z)")

# The values of a property that mean "no". Any other value means "yes".
_NO: tuple[PropertyValue, ...] = (None, False, 0, "", [], {}, "false", "no", "off", "0")


def can_be_private(path: str) -> bool:
    """Tell whether a file of this path can be private by its text: notes can, and canvases by their cards."""
    return is_note(path) or is_canvas(path)


class PrivacyRules:
    """The tags and properties that make a note private. ``#a/b`` counts as ``#a``. Names are compared without case."""

    def __init__(self, tags: Iterable[str] = (), properties: Mapping[str, str | None] | None = None) -> None:
        """``properties``: by the property's name the value that makes a note private; None for any value that means "yes"."""
        self._tags = frozenset(fold(tag.strip().removeprefix("#").strip("/")) for tag in tags)
        self._properties = {
            fold(name): None if value is None else fold(value) for name, value in (properties or {}).items()
        }
        self._names = (*self._properties, *self._tags)

    def to_json(self) -> str:
        """Return the same text for the same tags and properties."""
        return json.dumps([sorted(self._tags), self._properties])

    def is_private_note(self, data: bytes) -> bool:
        """Tell whether a note of these bytes is private."""
        has_properties = data.startswith((b"---", b"\xef\xbb\xbf---"))
        has_fields = bool(self._properties) and b"::" in data
        if not has_properties and not has_fields and not (self._tags and b"#" in data):
            return False
        from vaultwire.vault.disk.contents import plain_text  # noqa: PLC0415 - a policy is read before the first answer

        text = plain_text(data)
        if has_fields and self._has_private_field(text):
            return True
        closing = _CLOSING.search(text, 3) if has_properties else None
        head = fold(text[: closing.start()] if closing else text) if has_properties else ""
        is_named = any(name in head for name in self._names)
        # Most notes mention no private name, and are not parsed: that saves about a millisecond for each note of the vault.
        # YAML can spell any character as an escape, so a backslash may hide a name.
        if not is_named and "\\" not in head:
            if not self._tags:
                return False
            folded = fold(text)
            if "#" not in folded or not any(tag in folded for tag in self._tags):
                return False
        return self._is_private_text(text, is_named=is_named)

    def is_private_file(self, path: str, data: bytes) -> bool:
        """Tell whether a file of these bytes is private: a note, or a canvas with a card that would make a note private.

        Obsidian does not count tags in canvases, but a person who writes a private tag there means it.
        """
        if not is_canvas(path):
            return is_note(path) and self.is_private_note(data)
        from vaultwire.markdown.canvas import cards  # noqa: PLC0415 - as below
        from vaultwire.vault.disk.contents import plain_text  # noqa: PLC0415

        return any(self.is_private_note(card.encode()) for _, card in cards(plain_text(data)))

    def _is_private_text(self, text: str, *, is_named: bool) -> bool:
        """Tell whether a text is private; ``is_named``: its frontmatter mentions one of the names."""
        from vaultwire.markdown.parse import parse_note  # noqa: PLC0415 - as above
        from vaultwire.markdown.tag_spans import tag_candidates  # noqa: PLC0415 - as above

        parsed = parse_note(text)
        broken = parsed.frontmatter.problems
        has_unread = len(parsed.problems) > len(broken)  # a note is parsed up to a bound
        if (is_named and broken) or (self._tags and has_unread):
            return True  # it may be private by a part that cannot be read
        for name, value in parsed.frontmatter.values.items():
            folded = fold(name)
            if folded in self._properties and _matches(value, self._properties[folded]):
                return True
        return bool(self._tags) and any(self._is_private_tag(fold(tag)) for tag in tag_candidates(text, parsed))

    def _has_private_field(self, text: str) -> bool:
        """Tell whether an inline field (``private:: true``) says what a property would: a person who writes it means it."""
        folded = fold(text)
        if not any(name in folded for name in self._properties):
            return False
        from vaultwire.dataview.fields import inline_fields  # noqa: PLC0415 - few notes have such a field

        return any(
            (name := fold(field.name)) in self._properties and _matches(field.value, self._properties[name])
            for field in inline_fields(text)
        )

    def _is_private_tag(self, tag: str) -> bool:
        return tag in self._tags or any(tag.startswith(f"{own}/") for own in self._tags)


def _matches(value: PropertyValue, private_value: str | None) -> bool:
    """Tell whether a property's value, or one in its list, equals ``private_value``; for None, whether it means "yes"."""
    if isinstance(value, list):
        return any(_matches(each, private_value) for each in value)
    if private_value is None:
        return (fold(value.strip()) if isinstance(value, str) else value) not in _NO
    text = {True: "true", False: "false", None: ""}.get(value) if isinstance(value, bool | None) else str(value)
    return text is not None and fold(text.strip()) == private_value


# A file changed this recently may change again and keep its time: clocks of file systems tick every 4 ms (ext4) to 2 s
# (FAT). Whether such a note is private is found out again each time.
_CLOCK_TICK_NS = 2_000_000_000


class VisibilityRules(Protocol):
    """What a run may see and change, by path.

    ``stamp`` is a text that is equal for equal rules about seeing, in any process. ``follows_links``: the files that links
    lead to can be seen. ``privacy`` is None where no text makes a note private.
    """

    stamp: str
    follows_links: bool
    privacy: PrivacyRules | None

    def sees(self, path: str) -> bool:
        """Tell whether a file of this path may be seen."""

    def sees_folder(self, folder: str) -> bool | None:
        """Tell whether the folder may be seen; None if that depends on the files in it."""

    def may_change(self, path: str) -> bool:
        """Tell whether a file of this path may be made, changed, moved or deleted."""


class _Verdict(NamedTuple):
    """Whether a note of this size, time and stamp was private."""

    size: int
    modified_ns: int
    stamp: int
    is_private: bool


class VisibleFiles(Files):
    """The files of one vault that a run may see."""

    hides_some = True

    def __init__(self, root: str, max_bytes: int, rules: VisibilityRules) -> None:
        super().__init__(root, max_bytes)
        self._rules = rules
        self._privacy = rules.privacy
        # To read every note at each walk would take seconds.
        self._verdicts: dict[str, _Verdict] = {}
        self.stamp = rules.stamp
        self.hides_private_notes = rules.privacy is not None

    # ------------------------------------------------------------------ looking

    def walk_folders(
        self, folder: VaultPath | None = None, problems: list[Problem] | None = None, *, attachments: bool = True
    ) -> Iterator[tuple[str, list[NoteStat]]]:
        """See ``Files.walk_folders``. It does not enter folders that may not be seen."""
        if folder and not (self.may_enter(folder) and not self._has_hidden_link(folder)):
            return
        folders = walk_folders(
            self._root,
            folder,
            [] if problems is None else problems,
            attachments=attachments,
            visible=self,
        )
        for parent, files in folders:
            yield parent, [file for file in files if self._rules.sees(file.path) and not self._is_private_now(file)]

    def may_enter(self, folder: str) -> bool:
        """See ``Files.may_enter``."""
        if self._rules.sees_folder(folder) is False:
            return False
        # A junction of Windows looks like a folder, so the walk has not skipped it.
        return os.name != "nt" or not self._has_hidden_link(VaultPath(folder))

    def may_follow(self, path: str) -> bool:
        """Tell whether the link leads to a file that may be seen; the link's own path may be."""
        return self._rules.follows_links and self._sees_target(VaultPath(path))

    def look_at(self, path: VaultPath) -> NoteStat | None:
        """See ``Files.look_at``."""
        if not self._sees_path(path):
            return None
        found = super().look_at(path)
        return None if found is None or self._is_private_now(found) else found

    def created_ns(self, path: VaultPath) -> int | None:
        """See ``Files.created_ns``."""
        return None if self.look_at(path) is None else super().created_ns(path)

    def is_folder(self, path: VaultPath) -> bool:
        """See ``Files.is_folder``."""
        if self._has_hidden_link(path) or not super().is_folder(path):
            return False
        seen = self._rules.sees_folder(path)
        return any(files for _, files in self.walk_folders(path)) if seen is None else seen

    def is_taken(self, path: VaultPath) -> bool:
        """See ``Files.is_taken``. Anything in the trash counts."""
        if not super().is_taken(path):
            return False
        return lies_in(path, TRASH) or self.look_at(path) is not None or self.is_folder(path)

    def _entry_like(self, folder: str, part: str) -> str | None:
        path = f"{folder}/{part}" if folder else part
        if has_entry(os.path.join(self.root, folder), part) and self._sees_entry(path):
            return part
        return self._only_entry_like(folder, part)

    def _visible_names(self, folder: str, names: list[str]) -> list[str]:
        return [name for name in names if self._sees_entry(f"{folder}/{name}" if folder else name)]

    def _sees_entry(self, path: str) -> bool:
        """Tell whether the path, in a folder that may be seen, is a file or folder that may be seen too."""
        vault_path = VaultPath(path)
        try:
            mode = os.lstat(os.path.join(self.root, path)).st_mode
        except OSError:
            return False
        if stat.S_ISDIR(mode):
            seen = self._rules.sees_folder(path)
            return self.is_folder(vault_path) if seen is None else seen
        return self.look_at(vault_path) is not None or (stat.S_ISLNK(mode) and self.is_folder(vault_path))

    # ------------------------------------------------------------------ reading

    def read(self, path: VaultPath, max_bytes: int | None = None) -> FileBytes:
        """See ``Files.read``. A file that may not be seen is not there."""
        if self._sees_path(path):
            if self._privacy is None or not can_be_private(path):
                return super().read(path, max_bytes)
            try:
                file = super().read(path, max_bytes)
            except VaultError as error:
                # Nobody can tell whether it is private, so it is not listed either.
                if error.code == TOO_LARGE:
                    raise _not_there(path) from None
                raise
            if not self.is_private(path, file.data):
                return file
        raise _not_there(path)

    # ------------------------------------------------------------------ what this run may do

    def may_be_seen(self, path: VaultPath) -> bool:
        """See ``Files.may_be_seen``."""
        return self._rules.sees(path)

    def is_private(self, path: VaultPath, data: bytes) -> bool:
        """See ``Files.is_private``."""
        return self._privacy is not None and self._privacy.is_private_file(path, data)

    def check_change(self, path: VaultPath) -> None:
        """See ``Files.check_change``. The message is the same whether something is there or not."""
        if lies_in(path, TRASH):
            return
        if self._rules.may_change(path) and not self._has_hidden_link(path) and not self._is_hidden_file(path):
            return
        raise VaultError(POLICY_DENIED, f"The policy of this server does not allow to change {path!r}.", path=path)

    def _is_hidden_file(self, path: VaultPath) -> bool:
        """Tell whether a path that may be seen is a folder, or a file that may not be seen."""
        entry = self.entry_path(path)
        if not os.path.lexists(entry):
            return False
        # A change of a folder is a change of all that is in it, visible or not.
        return os.path.isdir(entry) or self.look_at(path) is None

    # ------------------------------------------------------------------ what the rules say

    def _sees_path(self, path: VaultPath) -> bool:
        """Tell whether a file may be seen, as far as its path and the links in it decide."""
        return self._rules.sees(path) and not self._has_hidden_link(path)

    def _has_hidden_link(self, path: VaultPath) -> bool:
        """Tell whether the path has a link that may not be followed, or leads to what may not be seen."""
        if not self._root.has_links(path) or (os.name == "nt" and not self._leads_elsewhere(path)):
            return False
        return not (self._rules.follows_links and self._sees_target(path))

    def _leads_elsewhere(self, path: VaultPath) -> bool:
        try:
            return fold(self._target_path(path)) != fold(path)
        except (VaultError, OSError):
            return True

    def _sees_target(self, path: VaultPath) -> bool:
        """Tell whether the path, all links followed, leads to a path that may be seen."""
        try:
            target = self._target_path(path)
        except (VaultError, OSError):
            return False
        is_folder = os.path.isdir(os.path.join(self.root, target))
        return self._rules.sees_folder(target) is not False if is_folder else self._rules.sees(target)

    def _target_path(self, path: VaultPath) -> str:
        """Return the vault path with all links followed. Raises VaultError if that is outside the vault."""
        return os.path.relpath(self._root.real_path(path), self.root).replace(os.sep, "/")

    # ------------------------------------------------------------------ what the notes say

    def _is_private_now(self, file: NoteStat) -> bool:
        """Tell whether a file is a note or canvas that its text makes private, or that cannot be read to find out."""
        privacy = self._privacy
        if privacy is None or not can_be_private(file.path):
            return False
        verdict = self._verdicts.get(file.path)
        if verdict is not None and verdict[:3] == file[1:]:
            return verdict.is_private
        now = time.time_ns()
        try:
            # A file that is only in a cloud would take seconds to fetch.
            if is_dataless(self._root, file.path):
                return True
            data, modified_ns, stamp = super().read(file.path)
        except VaultError:
            return True
        is_private = privacy.is_private_file(file.path, data)
        if now - modified_ns > _CLOCK_TICK_NS:
            self._verdicts[file.path] = _Verdict(len(data), modified_ns, stamp, is_private)
        return is_private


def _not_there(path: VaultPath) -> VaultError:
    return VaultError(FILE_NOT_FOUND, f"No note {path!r} is there to read.", path=path)


# Obsidian's settings for a run that may not see the whole vault: names of hidden folders and notes are replaced.
#
# Settings appear in messages, and name folders and notes. The replacement cannot be a path: code that uses it reports that,
# and puts nothing into another folder instead.

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
