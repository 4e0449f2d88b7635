"""The one way from a plan to a change, for one caller: the vault's parts, its lock, and the conditions on every edit.

Plans are made in ``plans``; ``Changes`` executes them. The workbench stands between and checks what the caller has read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from datetime import datetime
from typing import NamedTuple

from vaultwire.markdown.diffs import unified
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.vault.base_queries.bases import RememberedResults
from vaultwire.vault.caller import Caller
from vaultwire.vault.changes.change import Author, Change, Move, Step, Write, paths_of
from vaultwire.vault.changes.executor import Changes
from vaultwire.vault.changes.move_paths import MovePaths
from vaultwire.vault.changes.projected_tree import simplified
from vaultwire.vault.disk.contents import etag_of, plain_text, whole_etag
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import is_note
from vaultwire.vault.editing.confirmation import (
    MAX_UNASKED_NOTES,
    asks_person,
    changed_files,
    confirmation_of,
    confirmation_of_many,
)
from vaultwire.vault.editing.guides import guides_for
from vaultwire.vault.editing.held import hold, waiting_on
from vaultwire.vault.errors import INVALID_ARGUMENTS, NOT_READ, POLICY_DENIED, STALE_EDIT, VaultError
from vaultwire.vault.holding.feedback import expect_news
from vaultwire.vault.holding.holding import Holding
from vaultwire.vault.holding.own_proposals import OwnProposals
from vaultwire.vault.holding.review_mode import (
    Mode,
    PlannedChange,
    ReviewRules,
    places_of,
    real_folders,
    written_by,
)
from vaultwire.vault.index.port import Index
from vaultwire.vault.plans.context import PlanContext
from vaultwire.vault.plans.note_text import BOM
from vaultwire.vault.settings.obsidian_settings import CachedSettings
from vaultwire.vault.value_types import Confirmation, Progress, VaultPath

# The difference shows a caller whether its edit still makes sense; instead of a longer one, it should read the note again.
_MAX_SHOWN_DIFF = 4_000
# How many notes an error names; a rename may edit thousands.
_MAX_NAMED = 20

OTHER_LINKS = "links in it use that name for another note and would lead to the new one"
"""Why a file is edited when a new note is made. See ``Asked``."""


class Done(NamedTuple):
    """A finished plan. ``change`` is the change that was made: None for a dry run, with the id 0 if there was nothing to do.

    ``steps`` are those that change something, ``notices`` what the caller should know. ``unread`` is how many files more a
    dry run would change.
    """

    change: Change | None
    steps: list[Step]
    notices: list[str]
    unread: int = 0

    def other_edits(self, path: VaultPath) -> list[VaultPath]:
        """Return the files that are edited, without the one at ``path``."""
        edits = (step for step in self.steps if isinstance(step, Write) and step.old is not None)
        return [step.path for step in edits if step.path != path]


class Asked(NamedTuple):
    """What a caller asked for, beside the steps: it explains why files are edited that the caller has not named.

    ``what`` is the start of a sentence, such as "Moving 'A.md' to 'B.md'"; it also identifies the change from its dry run to
    the change itself. ``named`` are the notes that the caller wants edited, and ``why`` says what any other has to do with it.
    A person is asked for the ``confirmation``. ``undoes`` are the numbers of changes. With ``keeps_frontmatter``, no note
    may be left with frontmatter that cannot be read where it could be read before.
    """

    what: str = ""
    why: str = "links in it have to follow"
    named: tuple[VaultPath, ...] = ()
    confirmation: Confirmation | None = None
    undoes: tuple[int, ...] = ()
    keeps_frontmatter: bool = False

    @contextmanager
    def explaining(self, steps: Iterable[Step]) -> Iterator[None]:
        """Say in the error of a file that may not be changed why it would be, if the caller has not named that file."""
        try:
            yield
        except VaultError as error:
            path = error.details.get("path")
            edited = {step.path for step in steps if isinstance(step, Write) and step.old is not None}
            if error.code != POLICY_DENIED or not self.what or path in self.named or path not in edited:
                raise
            message = f"{self.what} also edits {path!r}, because {self.why}. {error.message} Nothing was changed."
            raise VaultError(error.code, message, **error.details) from None


_NOTHING_MORE = Asked()


def broken_by(steps: Iterable[Step], asked: Asked) -> list[str]:
    """Return notices of notes whose frontmatter cannot be read after the steps, for other reasons than before.

    Raises VaultError (INVALID_ARGUMENTS) if it could be read before, and must be so still.
    """
    notices: list[str] = []
    for step in steps:
        if not isinstance(step, Write) or not is_note(step.path) or step.after is None:
            continue
        problems, before = _frontmatter_problems(step.after), _frontmatter_problems(step.before or b"")
        if not problems or problems == before:
            continue
        if asked.keeps_frontmatter and step.before is not None and not before:
            raise VaultError(
                INVALID_ARGUMENTS,
                f"{step.path}: the properties could not be read any more: {problems[0]}. Nothing was changed. Correct the "
                "text, or give allow_broken to write it all the same.",
                path=step.path,
            )
        notices.append(f"The properties of {step.path} cannot be read: {problems[0]}.")
    return notices


def _frontmatter_problems(data: bytes) -> list[str]:
    return parse_frontmatter(plain_text(data)).problems if data.lstrip(BOM.encode()).startswith(b"---") else []


class Workbench:
    """The parts of one vault, used by one caller."""

    def __init__(
        self,
        files: Files,
        index: Index,
        settings: CachedSettings,
        changes: Changes,
        *,
        now: Callable[[], datetime],
        max_attachment_bytes: int,
        read_first: bool,
    ) -> None:
        """``now`` is the person's local time. ``read_first``: a caller may edit only notes that it has read."""
        self.files = files
        self.index = index
        self.settings = settings
        self.changes = changes
        self.now = now
        self.max_attachment_bytes = max_attachment_bytes
        self.holding = Holding(changes, os.path.join(changes.folder, "review"), files)
        self.base_results = RememberedResults()
        self.caller = Caller()
        self._read_first = read_first
        self.review: ReviewRules | None = None  # which changes the person wants to see first
        self.tool = ""
        self.also: tuple[str, ...] = ()

    def used_by(self, caller: Caller, tool: str, also: tuple[str, ...] = ()) -> Workbench:
        """Return the same parts for a caller that uses a tool; ``also``: tools whose work this call does, too."""
        bench = copy(self)
        bench.caller = caller
        bench.tool, bench.also = tool, also
        if self.review is not None and self.review.can_hold and not caller.is_person:
            bench.files = self.files.with_pending(OwnProposals(caller, self.holding, self.files))
        return bench

    @contextmanager
    def locked(self, progress: Progress, *, dry_run: bool = False) -> Iterator[PlanContext]:
        """Hold the vault's lock, and yield what a plan is made from. See ``Changes.locked``, ``PlanContext``."""
        with self.changes.locked(progress):
            yield PlanContext(self.files, self.index, self.settings.get(), progress, dry_run=dry_run)

    def finish(
        self,
        steps: Iterable[Step],
        notices: Iterable[str],
        progress: Progress,
        *,
        dry_run: bool,
        asked: Asked = _NOTHING_MORE,
    ) -> Done:
        """Execute a plan's steps, inside ``locked``; with ``dry_run`` only return them. See ``Changes.execute``.

        A person is asked first for the confirmation in ``asked``, or for one of their own if the steps change many notes.
        Raises VaultError (NOT_READ) if the caller must have read every note that is edited, and has not, nor seen a dry run
        of what it asked; and what ``Progress.confirm`` raises.
        """
        needed = simplified(list(steps))
        # What edits more notes writes no text of a caller's.
        notices = [*notices, *(broken_by(needed, asked) if len(needed) <= MAX_UNASKED_NOTES else ())]
        self._check_read(needed, asked, dry_run=dry_run)
        with asked.explaining(needed):
            change = self._change(needed, progress, asked, dry_run=dry_run)
        if change is None:
            return Done(None, needed, notices)
        self._remember(needed, {file.path for file in change.files})  # a note under its second name is not written
        also = [] if self.review is None else waiting_on(self.holding, needed)
        guides = guides_for(self.files, self.caller, needed) if self.caller.may_read_notes else []
        return Done(change, needed, [*notices, *also, *guides])

    def _remember(self, steps: list[Step], written: Collection[str]) -> None:
        """Remember what the caller knows now: what it has written itself."""
        # So many texts would drive out those that the caller has read.
        texts = written if len(steps) <= MAX_UNASKED_NOTES else ()
        for step in steps:
            if not isinstance(step, Write):
                self.caller.moved(step.source, step.target)
            elif step.new is not None:
                self.caller.saw(step.path, step.new.digest.hex(), step.new.data if step.path in texts else None)

    def _change(self, steps: list[Step], progress: Progress, asked: Asked, *, dry_run: bool) -> Change | None:
        """Execute the steps, after a person was asked if they must be; with ``dry_run`` only check them, and return None."""
        question = asked.confirmation or confirmation_of_many(self.files, steps, self.tool)
        mode = "record" if dry_run else self._mode(steps)
        if dry_run or question is not None or mode != "record":
            for step in steps:
                for path in paths_of(step):
                    self.files.check_change(path)
        if dry_run:
            if asked.what:
                self.caller.show(asked.what)
            return None
        expect_news(self.caller, self.holding)
        author = Author(self.caller.client, self.tool, self.caller.session)
        if mode == "ask" and asks_person(progress):
            question = question or confirmation_of(self.files, steps, self.tool)
        elif mode != "record":
            held = hold(self.holding, author, steps, self.files.pending, asked.undoes)
            self._remember(steps, {path for step in steps for path in paths_of(step)})
            raise held
        if question is not None:
            progress.confirm(question)
        return self.changes.execute(steps, author, progress, asked.undoes)

    def _mode(self, steps: list[Step]) -> Mode:
        """Return what the person's rules say of these steps."""
        if self.review is None or self.caller.is_person or not steps:
            return "record"
        if not self.files.pending.keys().isdisjoint(path for step in steps for path in paths_of(step)):
            return "hold"  # it builds on what waits
        planned = PlannedChange(
            *self.caller.names,
            self.tool,
            self.also,
            places_of(self.files, steps),
            len(changed_files(self.files, steps)),
            written_by(steps),
            real_folders(self.files, self.review.folders),
        )
        return self.review.mode(planned)

    def read(self, path: VaultPath, if_match: str | None, *, is_overwritten: bool = False) -> bytes:
        """Return a note's bytes for an edit, after checking that this caller may edit it.

        With ``is_overwritten`` all of its text will be new. Raises VaultError: STALE_EDIT if the note is not what
        ``if_match`` says, with the difference if that is known; NOT_READ if the caller must have read it and has not, or
        would overwrite a note of which it has seen only a part; those of ``Files.read``.
        """
        data = self.files.read(path).data
        now = etag_of(data)
        expected, is_part = (None, False) if if_match is None else whole_etag(if_match)
        if is_part and is_overwritten:
            raise VaultError(
                NOT_READ,
                f"This etag of {path!r} came with a part of it, so the rest would be lost. Read the whole note, or "
                "change parts of it with edit_note.",
                path=path,
            )
        if expected is not None and now != expected:
            raise VaultError(
                STALE_EDIT,
                f"{path!r} has changed since you read it (its etag is {now!r}, not {expected!r}). "
                f"Read it again, then edit.{self._what_changed(path, expected, data)}",
                path=path,
                etag=now,
            )
        if self._read_first and expected is None and not self.caller.has_read(path):
            raise VaultError(
                NOT_READ,
                f"{path!r} was not read in this session, and this server edits only notes that were. "
                "Read it with read_notes first.",
                path=path,
            )
        if if_match is not None:
            self.caller.saw(path, now, data)  # a caller with its etag has read it, perhaps in another session
        return data

    def _check_read(self, steps: list[Step], asked: Asked, *, dry_run: bool) -> None:
        """Refuse to edit notes that the caller must have read and has not, also where only links change.

        What a dry run of the same change has shown counts as read: nobody could read all notes that link to a folder.
        """
        if not self._read_first or (asked.what and (dry_run or self.caller.was_shown(asked.what))):
            return
        moves = MovePaths()
        unread: list[VaultPath] = []
        for number, step in enumerate(steps):
            if isinstance(step, Move):
                moves.add(number, step)
            elif step.old is not None:
                path = moves.before(step.path)  # the one under which the caller has read it
                if is_note(path) and not self.caller.has_read(path):
                    unread.append(path)
        if not unread:
            return
        named = ", ".join(map(repr, unread[:_MAX_NAMED]))
        more = f" and {len(unread) - _MAX_NAMED} more" if len(unread) > _MAX_NAMED else ""
        also = f"{asked.what} also edits" if asked.what else "This would edit"
        why = f", because {asked.why}" if asked.what else ""
        or_show = ", or make the same call with dry_run first, which shows what would be edited" if asked.what else ""
        raise VaultError(
            NOT_READ,
            f"{also} {named}{more}, not read in this session{why}. This server edits only notes that were. "
            f"Read them with read_notes first{or_show}.",
            path=unread[0],
            candidates=unread[:_MAX_NAMED],
        )

    def _what_changed(self, path: VaultPath, etag: str, data: bytes) -> str:
        before = self.caller.text_of(path, etag)
        if before is None or not self.caller.may_read_notes:
            return ""
        diff = unified(plain_text(before), plain_text(data), path)
        return f" Since it was read:\n{diff}" if diff and len(diff) <= _MAX_SHOWN_DIFF else ""
