"""How sync programs name the copy of a file that was changed on two devices: one table, with the source of each name.

Pure: it reads names only. Names that people give, too (``Plan 2``, ``Plan (1)``, ``Plan-Anna``), count only where the vault
lies in the folder of the program that names so, and then only as possible: their texts must be alike (``is_version_of``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from vaultwire.markdown.patterns import compile_pattern
from vaultwire.vault.disk.paths import fold, original_of_rescued
from vaultwire.vault.value_types import VaultPath


class Rule(NamedTuple):
    """How a program names its copies: ``ending`` is what it adds to the name, before the extension; groups: date, device.

    ``folders``: parts of the path of the program's own folder, for a name that people give, too. ``source``: who says so.
    """

    program: str
    ending: re.Pattern[str]
    source: str
    folders: tuple[str, ...] = ()


_DAY = r"\d{4}-\d\d-\d\d"
_ICLOUD = ("mobile documents", "icloud drive", "iclouddrive", "com~apple~clouddocs", "icloud~md~obsidian")
_GOOGLE = ("google drive", "googledrive-", "drivefs", "my drive")
_ONEDRIVE = ("onedrive",)

RULES = (
    Rule(
        "Obsidian Sync",
        compile_pattern(r" \(Conflicted copy (?P<device>.+) (?P<date>\d{12})\)"),
        "github.com/obsidianmd/obsidian-help issue 1056",
    ),
    Rule(
        "Syncthing",  # Obsidian's help named Obsidian Sync's copies so, too, without a device
        compile_pattern(r"\.sync-conflict-(?P<date>\d{8}-\d{6})(?:-(?P<device>[A-Z0-9]{7}))?"),
        "docs.syncthing.net/users/syncing.html, conflicting changes",
    ),
    Rule(
        "Nextcloud",  # and ownCloud, OpenCloud; the device is a user's name, if it is there
        compile_pattern(r" \(conflicted copy (?:(?P<device>[^()]+) )?(?P<date>" + _DAY + r" \d{6})\)"),
        "docs.nextcloud.com, desktop client, conflicts",
    ),
    Rule(
        "Nextcloud",
        compile_pattern(r"_conflict-(?:(?P<device>[^/]+)-)?(?P<date>\d{8}-\d{6})"),
        "ownCloud's client up to 2.4, makeConflictFileName",
    ),
    Rule(
        "Dropbox",  # Maestral, a client of Dropbox, says "conflicting"
        compile_pattern(
            r" \((?:(?P<device>[^()]+?)(?:['\u2019]s?)? +)?conflict(?:ed|ing) copy(?: (?P<date>"
            + _DAY
            + r"))?(?: \(?\d+\)?)?\)(?: \(\d+\))?",
        ),
        "help.dropbox.com, conflicted copy; github.com/samschott/maestral pull request 862",
    ),
    Rule(
        "Resilio Sync",
        compile_pattern(r"\.Conflict\d*"),
        "help.resilio.com article 204753629",
    ),
    Rule(
        "OneDrive",  # the names that Windows gives a computer
        compile_pattern(r"-(?P<device>(?:DESKTOP-[A-Z0-9]{7}|LAPTOP-[A-Z0-9]{8}|WIN-[A-Z0-9]{11}))(?:-\d{1,3})?"),
        "github.com/JeffSteinbok/obsidian-onedrive issue 128",
    ),
    Rule(
        "OneDrive",  # the client for Linux
        compile_pattern(r"-(?P<device>[^/]+)-safeBackup-\d{4}"),
        "github.com/abraunegg/onedrive, usage.md",
    ),
    Rule(
        "OneDrive",  # its plugin for Obsidian
        compile_pattern(r" \(conflict (?P<date>" + _DAY + r" \d\d-\d\d-\d\d)\)"),
        "github.com/JeffSteinbok/obsidian-onedrive pull request 131",
    ),
    Rule(
        "Git",  # what git mergetool leaves beside the file
        compile_pattern(r"_(?:BACKUP|BASE|LOCAL|REMOTE)_\d+"),
        "git-scm.com/docs/git-mergetool",
    ),
    Rule(
        "OneDrive",  # another computer's name
        compile_pattern(
            r"-(?P<device>[^/]*(?:MacBook|iMac|Mac ?mini|Mac Studio|ThinkPad|Surface|Laptop|Desktop|\bPC\b)[^/]*?)"
            r"(?:-\d{1,3})?",
            re.IGNORECASE,
        ),
        "github.com/JeffSteinbok/obsidian-onedrive issue 128",
        _ONEDRIVE,
    ),
    Rule(
        "iCloud",
        compile_pattern(r" [2-9]"),
        "discussions of iCloud Drive: a space and a number, from 2",
        _ICLOUD,
    ),
    Rule(
        "Google Drive",
        compile_pattern(r" \(\d\)"),
        "discussions of Drive for desktop: a number in brackets, from 1",
        _GOOGLE,
    ),
)
"""Self-hosted LiveSync is not here: it keeps both versions in its database, and no file in the vault says so."""

GIT_BACKUP = "orig"
"""``git mergetool`` keeps ``Plan.md`` as it was with the conflict in ``Plan.md.orig`` (mergetool.keepBackup)."""

_OURS = "vaultwire"
# Where an ending begins.
_BEGINNINGS = frozenset(" .-_")
_DATES = {
    8: ("%Y%m%d", "%Y-%m-%d"),
    12: ("%Y%m%d%H%M", "%Y-%m-%d %H:%M"),
    14: ("%Y%m%d%H%M%S", "%Y-%m-%d %H:%M:%S"),
}
_LEAST_LINES = 3

# A name without any of these needs no look at the table.
_HINT = compile_pattern(
    r"conflict|\.orig\Z|-safebackup-|_(?:backup|base|local|remote)_|\(saved meanwhile|-(?:desktop|laptop|win)-",
    re.IGNORECASE,
)
_PLAIN_HINT = compile_pattern(r"(?: [2-9]| \(\d\)|-[^/]+)(?:\.[^./]*)?\Z")
# Copies of copies of copies: each program adds its own ending.
_MOST_ENDINGS = 5


class ConflictCopy(NamedTuple):
    """A copy that a sync program made of a file because it was changed on two devices.

    ``original``: the file that it is a copy of; if that is not there, the path where it would be, and only for a name with a
    date, which no person gives. ``date``: local time, such
    as ``2026-03-12 11:29``; empty where the name has none, as is ``device``. ``is_certain``: nobody else names so.
    """

    path: VaultPath
    original: VaultPath
    program: str
    date: str
    device: str
    has_original: bool
    is_certain: bool

    @property
    def made(self) -> str:
        """Who made it, and when."""
        when = f" on {self.date}" if self.date else ""
        who = f", device or person {self.device}" if self.device else ""
        return f"a copy that {self.program} made{when}{who}"

    @property
    def words(self) -> str:
        """What it is, in a sentence for a person."""
        if self.has_original:
            return f"{self.made}: {self.original!r} was changed in two places. resolve_conflicts joins them"
        return f"{self.made} of {self.original!r}, which is not there any more: it was moved or deleted"


def conflict_copies(
    paths: Iterable[VaultPath], root: str = "", of: Iterable[VaultPath] | None = None
) -> list[ConflictCopy]:
    """Return the conflict copies among all files of a vault, in the order of ``paths``; or those ``of`` some of the files.

    ``root``: the vault's folder on the disk; it tells in which sync program's folder the vault lies.
    """
    known = list(paths)
    home = root.replace("\\", "/").casefold() + "/"
    is_synced = any(folder in home for rule in RULES for folder in rule.folders)
    asked = known if of is None else of
    candidates = [
        path for path in asked if _HINT.search(path.rpartition("/")[2]) or (is_synced and _PLAIN_HINT.search(path))
    ]
    if not candidates:
        return []
    there = _Names(known)
    return [copy for path in candidates if (copy := _read(path, there, home)) is not None]


class _Names:
    """The files that are there, by their exact paths and, only if that does not do, in any case."""

    def __init__(self, paths: list[VaultPath]) -> None:
        self._paths = paths
        self._exact = set(paths)
        self._folded: dict[str, VaultPath] = {}

    def find(self, path: str, but: VaultPath) -> VaultPath | None:
        if path in self._exact:
            return VaultPath(path)
        if not self._folded:
            self._folded = {fold(each): each for each in self._paths}
        there = self._folded.get(fold(path))
        return None if there == but else there


class _Reading(NamedTuple):
    original: str
    program: str
    date: str = ""
    device: str = ""
    is_certain: bool = True


def _read(path: VaultPath, there: _Names, home: str) -> ConflictCopy | None:
    """Return what the name of a file says; None if it is no copy's."""
    missing: ConflictCopy | None = None
    for reading in _readings(path, home):
        original: str | None = reading.original
        for _ in range(_MOST_ENDINGS):
            found = None if original is None else there.find(original, path)
            if found is not None:
                return ConflictCopy(path, found, *reading[1:4], has_original=True, is_certain=reading.is_certain)
            original = next((each.original for each in _readings(original or "", "")), None)
        if missing is None and (reading.date or reading.program == _OURS):
            missing = ConflictCopy(
                path, VaultPath(reading.original), *reading[1:4], has_original=False, is_certain=True
            )
    return missing


def _readings(path: str, home: str) -> Iterator[_Reading]:
    """Yield what the name of a file may say, the surest first. ``home``: the vault's folder, with ``/`` at its end."""
    folder, slash, name = path.rpartition("/")
    stem, dot, extension = name.rpartition(".")
    if not stem:
        stem, dot, extension = name, "", ""
    if extension.casefold() == GIT_BACKUP and "." in stem:
        yield _Reading(f"{folder}{slash}{stem}", "Git")
    if (rescued := original_of_rescued(path)) is not None:
        yield _Reading(rescued, _OURS)  # another program saved the file while it was changed
    starts = [place for place in range(len(stem) - 1, 0, -1) if stem[place] in _BEGINNINGS]
    for rule in RULES:
        if rule.folders and not any(each in home for each in rule.folders):
            continue
        for start in starts:  # the longest name first: hyphens may be the note's or the device's
            if (match := rule.ending.fullmatch(stem, start)) is not None:
                groups = match.groupdict()
                original = f"{folder}{slash}{stem[:start]}{dot}{extension}"
                date, device = _to_date(groups.get("date") or ""), groups.get("device") or ""
                yield _Reading(original, rule.program, date, device, not rule.folders)


def _to_date(text: str) -> str:
    """Return a date in a name, with its time if there is one, as ISO 8601 with a space; empty if it is none."""
    digits = re.sub(r"\D", "", text)
    form, shown = _DATES.get(len(digits), ("", ""))
    try:
        return datetime.strptime(digits, form).strftime(shown) if form else ""  # noqa: DTZ007 - the device's local time
    except ValueError:
        return ""


# ---------------------------------------------------------------------- alike


def is_version_of(copy: str, original: str) -> bool:
    """Tell whether two texts are likely versions of one: half of the lines of the shorter one stand in the other, too.

    For names that people give, too. Two short texts of one or two lines must be equal or one the beginning of the other.
    """
    one, other = (Counter(line for line in map(str.strip, text.split("\n")) if line) for text in (copy, original))
    shorter = min(one.total(), other.total())
    if shorter < _LEAST_LINES:
        return copy.strip() == original.strip() or (shorter > 0 and (one <= other or other <= one))
    return 2 * (one & other).total() >= shorter
