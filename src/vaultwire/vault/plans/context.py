"""A plan, and what it is made from: one vault as it is now, and whether the caller still waits.

Also what several plans need: the check of a new path, and a note's bytes as text for an edit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from vaultwire.markdown.merging import content_of
from vaultwire.vault.changes.change import Step, Write
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import check_new_names
from vaultwire.vault.errors import INVALID_ARGUMENTS, NOT_UTF8, VaultError
from vaultwire.vault.index.index import Index
from vaultwire.vault.links.note_lookup import locate, locate_file, subpath_of
from vaultwire.vault.settings.obsidian_settings import Settings
from vaultwire.vault.value_types import NO_PROGRESS, Problem, Progress, VaultPath

SAMPLE = 500
"""Of how many files a dry run shows what would change: more than anybody reads, and read within a second."""

_NO_FILE = VaultPath("")
_Item = TypeVar("_Item")


class LinkChange(NamedTuple):
    """A link that is rewritten: the file it stands in, its line, and the whole link before and after."""

    path: VaultPath
    line: int
    old: str
    new: str


class ResolvedLink(NamedTuple):
    """A link that led nowhere before a change and leads to ``target`` after it; ``path`` is the file it stands in then."""

    path: VaultPath
    linktext: str
    target: VaultPath


@dataclass(kw_only=True)
class Plan:
    """A change as it is planned: its steps, the links that they rewrite, and what the caller should know.

    ``source`` and ``target`` are the file that the change is about, before and after. ``newly_resolved`` are links that led
    nowhere before. ``skipped`` are files whose links could not be read, ``kept`` those with a base or another query that
    keeps an old name. A change of which a caller is told more has a subclass.
    """

    source: VaultPath = _NO_FILE
    target: VaultPath = _NO_FILE
    steps: list[Step] = field(default_factory=list)
    links: list[LinkChange] = field(default_factory=list)
    newly_resolved: list[ResolvedLink] = field(default_factory=list)
    skipped: list[Problem] = field(default_factory=list)
    kept: list[Problem] = field(default_factory=list)

    @property
    def writes(self) -> list[Write]:
        """The steps that write a file."""
        return [step for step in self.steps if isinstance(step, Write)]


class PlanContext:
    """The vault's files, the index over them, and the person's settings in Obsidian.

    A plan is made and executed under the vault's lock, so the files do not change in between by this program.
    ``progress`` says whether the caller still waits. With ``dry_run`` the plan is not executed: it has the first steps, and
    counts the others.
    """

    def __init__(
        self,
        files: Files,
        index: Index,
        settings: Settings,
        progress: Progress = NO_PROGRESS,
        *,
        dry_run: bool = False,
    ) -> None:
        self.files = files
        self.index = index
        self.settings = settings
        self.progress = progress
        self._dry_run = dry_run
        self.unread = 0
        """How many files would be changed and were not read, because they are not in the sample of a dry run."""

    def sample(self, items: Sequence[_Item]) -> Sequence[_Item]:
        """Return the files that are read for the plan: of a dry run the first ones; the others are counted as unread."""
        if not self._dry_run or len(items) <= SAMPLE:
            return items
        self.unread += len(items) - SAMPLE
        return items[:SAMPLE]

    def locate(self, name: str, *, may_name_part: bool = False) -> VaultPath:
        """Return the path of the note that ``name`` means. See ``note_lookup.locate``, also for what it raises.

        A name with a heading or block is refused unless it ``may_name_part``: the caller would change the whole note.
        """
        path = locate(self.files, self.index, name, self.progress)
        if not may_name_part:
            _refuse_part(name, path)
        return path

    def locate_file(self, name: str) -> VaultPath:
        """Return the path of the note or attachment that ``name`` means. See ``locate``, ``note_lookup.locate_file``."""
        path = locate_file(self.files, self.index, name, self.progress)
        _refuse_part(name, path)
        return path


def _refuse_part(name: str, path: VaultPath) -> None:
    part = subpath_of(name, path) if "#" in name else ""
    if part:
        raise VaultError(
            INVALID_ARGUMENTS,
            f"{name!r} names the part {part!r} of {path!r}, but this changes the note. Give {path!r}, and a part by an "
            "argument of its own, such as section.",
            path=path,
        )


def check_new_path(files: Files, path: VaultPath) -> None:
    """Raise VaultError for a new file if its name, or that of a folder to make for it, is none for every system."""
    folder, _, name = path.rpartition("/")
    check_new_names([name] if not folder or files.is_folder(VaultPath(folder)) else path.split("/"))


# A note's bytes as text for an edit, and back: its byte order mark (BOM) stays, and bytes that are not UTF-8 are refused.
#
# What is read only, for a search or a preview, is in ``disk.contents``.

BOM = "\ufeff"


def read_text(files: Files, path: VaultPath) -> tuple[bytes, str]:
    """Return a note's bytes and its text, as ``decode_note`` does. Raises VaultError as ``Files.read`` does, and NOT_UTF8."""
    data = files.read(path).data
    return data, decode_note(path, data)


def decode_note(path: VaultPath, data: bytes) -> str:
    """Return a note's text with its own line ends and without BOM. Raises VaultError (NOT_UTF8)."""
    try:
        return data.decode("utf-8").removeprefix(BOM)
    except UnicodeDecodeError as error:
        raise VaultError(
            NOT_UTF8,
            f"{path!r} is not UTF-8 (byte {error.start}), so an edit could destroy text. Convert it to UTF-8 first.",
            path=path,
        ) from None


def with_bom(data: bytes, before: bytes) -> bytes:
    """Return a note's new bytes with a BOM if the note had one ``before``."""
    bom = BOM.encode()
    return bom + data if before.startswith(bom) else data


def check_same_content(before: list[str], after: list[str], path: VaultPath) -> None:
    """Check that texts hold the same headings, links, tags, tasks and block ids in all. Raises VaultError."""
    if content_of(before) != content_of(after):
        raise VaultError(
            INVALID_ARGUMENTS,
            f"{path!r}: the text would not mean the same: something that is open there, such as a code block, a comment or "
            "HTML, would take in the lines behind it, or be cut in two. Close it first, or choose other lines.",
            path=path,
        )
