"""What everything that changes notes works with, and the one way from a plan to a change. One for each caller.

Plans are made elsewhere; ``Changes`` carries them out. Between them stand the conditions a caller may set, or be held to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from datetime import datetime
from typing import NamedTuple

from vaultwire.markdown.diffs import unified
from vaultwire.vault.caller import Caller
from vaultwire.vault.changes.change import Author, Change, Move, Step, Write, follow, paths_of
from vaultwire.vault.changes.changing import Changes
from vaultwire.vault.changes.foresight import tidied
from vaultwire.vault.disk.etags import etag_of, whole_etag
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import is_note
from vaultwire.vault.disk.plain import plain_text
from vaultwire.vault.editing.confirmation import confirmation_of_many
from vaultwire.vault.errors import NOT_READ, STALE_EDIT, VaultError
from vaultwire.vault.index.port import Index
from vaultwire.vault.model import Confirmation, Progress, VaultPath
from vaultwire.vault.settings.obsidian_settings import KeptSettings

# A difference is for a caller to see whether its edit still makes sense; a longer one says "read it again".
_MAX_SHOWN_DIFF = 4_000
# So many notes are named in an error; a rename may touch thousands.
_MAX_NAMED = 20


class Done(NamedTuple):
    """What a plan came to. ``change`` is what was carried out: None for a dry run, with the id 0 if nothing was to do.

    ``steps`` are those that change something, ``notices`` what the caller should know besides.
    """

    change: Change | None
    steps: list[Step]
    notices: list[str]

    def edited_besides(self, path: VaultPath) -> list[VaultPath]:
        """Return the files that are edited besides the one at a path."""
        edits = (step for step in self.steps if isinstance(step, Write) and step.before is not None)
        return [step.path for step in edits if step.path != path]


class Workbench:
    """The parts of one vault, in the hands of one caller."""

    def __init__(
        self,
        files: Files,
        index: Index,
        settings: KeptSettings,
        changes: Changes,
        *,
        now: Callable[[], datetime],
        max_attachment_bytes: int,
        read_first: bool,
    ) -> None:
        """``now`` is the person's local time. ``read_first``: a note is edited only by who has read it."""
        self.files = files
        self.index = index
        self.settings = settings
        self.changes = changes
        self.now = now
        self.max_attachment_bytes = max_attachment_bytes
        self.caller = Caller()
        self._read_first = read_first
        self._tool = ""

    def used_by(self, caller: Caller, tool: str) -> Workbench:
        """Return the same in the hands of a caller that uses a tool."""
        mine = object.__new__(Workbench)  # part by part, at every call: a copy of all at once takes longer
        mine.files = self.files
        mine.index = self.index
        mine.settings = self.settings
        mine.changes = self.changes
        mine.now = self.now
        mine.max_attachment_bytes = self.max_attachment_bytes
        mine._read_first = self._read_first
        mine.caller = caller
        mine._tool = tool
        return mine

    def held(self, progress: Progress) -> AbstractContextManager[None]:
        """Be the only one who changes the vault. See ``Changes.held``."""
        return self.changes.held(progress)

    def finish(
        self,
        steps: Iterable[Step],
        notices: Iterable[str],
        progress: Progress,
        *,
        dry_run: bool,
        undoes: int | None = None,
        confirmation: Confirmation | None = None,
    ) -> Done:
        """Carry the steps out, inside ``held``; with ``dry_run`` only say what they are. See ``Changes.carry_out``.

        A person is asked first for the ``confirmation``, or for one of their own if the steps change many notes. Raises
        VaultError (NOT_READ) if the caller must have read every note that is edited, and has not; and what
        ``Progress.confirm`` raises.
        """
        wanted = tidied(list(steps))
        self._check_read(wanted)
        question = confirmation or confirmation_of_many(self.files, wanted, self._tool)
        if dry_run or question is not None:
            for step in wanted:
                for path in paths_of(step):
                    self.files.check_change(path)
        if dry_run:
            return Done(None, wanted, list(notices))
        if question is not None:
            progress.confirm(question)
        change = self.changes.carry_out(wanted, Author(self.caller.client, self._tool), progress, undoes)
        for step in wanted:
            if not isinstance(step, Write):
                self.caller.moved(step.source, step.target)
            elif step.after is not None:
                self.caller.saw(step.path, etag_of(step.after), step.after)
        return Done(change, wanted, list(notices))

    def check(self, path: VaultPath, data: bytes, if_match: str | None, *, is_overwritten: bool = False) -> None:
        """Check that a note of these bytes may be edited by this caller; ``is_overwritten``: all of its text is new then.

        Raises VaultError: STALE_EDIT if it is not what ``if_match`` says, with what has changed if that is known;
        NOT_READ if the caller must have read it, and has not, or writes over what it has seen a part of.
        """
        now = etag_of(data)
        given = if_match
        if_match, is_part = (None, False) if if_match is None else whole_etag(if_match)
        if is_part and is_overwritten:
            raise VaultError(
                NOT_READ,
                f"This etag of {path!r} came with a part of it, so the rest would be lost unseen. Read the whole note, or "
                "change parts of it with edit_note.",
                path=path,
            )
        if if_match is not None and now != if_match:
            raise VaultError(
                STALE_EDIT,
                f"{path!r} is not what was read any more (its etag is {now!r}, not {if_match!r}). "
                f"Read it again, then edit.{self._what_changed(path, if_match, data)}",
                path=path,
                etag=now,
            )
        if self._read_first and if_match is None and not self.caller.has_read(path):
            raise VaultError(
                NOT_READ,
                f"{path!r} was not read in this session, and this server edits only notes that were. "
                "Read it with read_note first.",
                path=path,
            )
        if given is not None:
            self.caller.saw(path, now, data)  # who has its etag has read it, if perhaps in another session

    def _check_read(self, steps: list[Step]) -> None:
        """Refuse to edit notes that the caller must have read and has not: also those where only links change."""
        if not self._read_first:
            return
        moves: list[Move] = []
        unread: list[VaultPath] = []
        for step in steps:
            if isinstance(step, Move):
                moves.append(step)
            elif step.before is not None:
                path = step.path
                for move in reversed(moves):
                    path = follow(path, move.target, move.source)
                if is_note(path) and not self.caller.has_read(path):
                    unread.append(path)
        if unread:
            more = f" and {len(unread) - _MAX_NAMED} more" if len(unread) > _MAX_NAMED else ""
            raise VaultError(
                NOT_READ,
                f"This would edit {', '.join(map(repr, unread[:_MAX_NAMED]))}{more}, not read in this session, and this "
                "server edits only notes that were. Read them with read_note first.",
                path=unread[0],
                candidates=unread[:_MAX_NAMED],
            )

    def _what_changed(self, path: VaultPath, etag: str, data: bytes) -> str:
        before = self.caller.text_of(path, etag)
        if before is None:
            return ""
        diff = unified(plain_text(before), plain_text(data), path)
        return f" Since it was read:\n{diff}" if diff and len(diff) <= _MAX_SHOWN_DIFF else ""
