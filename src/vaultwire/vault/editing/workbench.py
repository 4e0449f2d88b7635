"""The one way from a plan to a change, for one caller: the vault's parts, its lock, and the conditions on every edit.

Plans are made in ``plans``; ``Changes`` executes them. The workbench stands between and checks what the caller has read,
and which changes a person must agree to.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from vaultwire.markdown.diffs import unified
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.vault.caller import Caller, RememberedFacts, RememberedResults
from vaultwire.vault.changes.change import Author, Change, Move, Step, Write, files_of, follow, paths_of
from vaultwire.vault.changes.executor import Changes
from vaultwire.vault.changes.projected_tree import MovePaths, simplified
from vaultwire.vault.disk.contents import etag_of, plain_text, whole_etag
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import TRASH, fold, is_note, lies_in
from vaultwire.vault.errors import (
    FILE_NOT_FOUND,
    INVALID_ARGUMENTS,
    JOURNAL_FAILED,
    NOT_READ,
    POLICY_DENIED,
    STALE_EDIT,
    TOO_MANY_WAITING,
    VaultError,
)
from vaultwire.vault.guides import NAMES, find_guide, quoted_head
from vaultwire.vault.holding.delayed_writes import TEXT_TOOLS, DelayedWrites
from vaultwire.vault.holding.holding import Holding
from vaultwire.vault.holding.review_mode import (
    Held,
    Mode,
    PlannedChange,
    ReviewRules,
    places_of,
    real_folders,
    written_by,
)
from vaultwire.vault.holding.sessions import OwnProposals, expect_news
from vaultwire.vault.holding.words import named
from vaultwire.vault.index.index import Index
from vaultwire.vault.plans.context import BOM, PlanContext
from vaultwire.vault.settings.obsidian_settings import CachedSettings
from vaultwire.vault.value_types import ByMeaning, Confirmation, NoteStat, Progress, VaultPath

if TYPE_CHECKING:
    from vaultwire.vault.attachment_texts.attachment_texts import AttachmentTexts

# Which changes a person must agree to first, and what the question says. Not how it is asked: see ``Progress.confirm``.

MAX_UNASKED_NOTES = 25
"""A change of more notes than this is asked about.

A person can check so many notes afterwards: their names fill one screen. The usual moves and renames touch fewer; more is
mostly a tag, a property or a whole folder.
"""

_NAMED = 5  # notes named in the question


def confirmation_of_many(files: Files, steps: Sequence[Step], tool: str) -> Confirmation | None:
    """Return what a person is asked before these steps, None where they change few notes."""
    notes = notes_of(files, steps)
    if len(notes) <= MAX_UNASKED_NOTES:
        return None
    return confirmation_of(files, steps, tool)


def confirmation_of(files: Files, steps: Sequence[Step], tool: str) -> Confirmation:
    """Return what a person is asked before these steps."""
    notes = notes_of(files, steps)
    if len(notes) <= _NAMED:
        paths = [path for step in steps for path in paths_of(step)]
        named = ", ".join(map(repr, paths[:_NAMED])) + (
            f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
        )
        message = (
            f"{tool} would change {named} in the vault {files.name!r}. It can be undone with undo_changes. "
            "Make this change?"
        )
        return Confirmation(_key_of(steps), message)
    named = ", ".join(repr(path) for path in notes[:_NAMED])
    message = (
        f"{tool} would change {len(notes)} notes in the vault {files.name!r}: {named} and {len(notes) - _NAMED} more. "
        "It can be undone with undo_changes. Make this change?"
    )
    return Confirmation(_key_of(steps), message)


def asks_person(progress: Progress) -> bool:
    """Tell whether ``Progress.confirm`` asks a person; else it returns at once."""
    return bool(getattr(progress, "asks_person", False))


def confirmation_of_removal(vault: str, path: VaultPath, data: bytes) -> Confirmation:
    """Return what a person is asked before the note at ``path`` in a vault, of these bytes, is deleted permanently."""
    thing = "note" if is_note(path) else "file"
    message = f"Delete the {thing} {path!r} in the vault {vault!r} permanently? It would not go to the trash."
    return Confirmation(_key_of([Write(path, data, None)]), message)


def notes_of(files: Files, steps: Sequence[Step]) -> list[VaultPath]:
    """Return the notes that the steps change, by the paths that they have afterwards, in the order of the steps."""
    return [path for path in changed_files(files, steps) if is_note(path)]


def changed_files(files: Files, steps: Sequence[Step]) -> list[VaultPath]:
    """Return the notes and other files that the steps change, as ``notes_of``."""
    changed: dict[VaultPath, None] = {}
    for step in steps:
        if isinstance(step, Write):
            moved = [step.path]
        elif not files.is_link(step.source) and files.is_folder(step.source):  # a link is moved by itself
            moved = [follow(note.path, step.source, step.target) for note in files.walk(step.source, attachments=True)]
        else:
            moved = [step.target]
        changed |= dict.fromkeys(moved)
    return list(changed)


def _key_of(steps: Sequence[Step]) -> str:
    """Return a key that only these very steps have: what is done is what the person agreed to."""
    digest = hashlib.sha256()
    for step in steps:
        digest.update(repr(step).encode("utf-8", "surrogatepass"))  # of contents it has the digests
    return f"confirm-{digest.hexdigest()}"


# The guides of folders (``vault.guides``), told with the answer to a caller's first change there.

# Of one answer. A rename may edit notes in hundreds of folders, and nobody writes into these on purpose.
_MOST_GUIDES = 2
_MOST_FILES = 20
_FOLDED = {fold(name) for name in NAMES}


def guides_for(files: Files, caller: Caller, steps: Iterable[Step]) -> list[str]:
    """Return the guides of folders in which the caller has changed something for the first time, as notices.

    It never fails: the change is made by now.
    """
    guides: list[str] = []
    for folder in _folders(steps):
        if len(guides) == _MOST_GUIDES:
            break
        if caller.begins_in(folder) and (guide := find_guide(files, folder)) is not None:
            guides.append(quoted_head(*guide))
    return guides


def _folders(steps: Iterable[Step]) -> Iterator[str]:
    """Yield each folder that now has a new or changed file, and those around it, but not the vault itself."""
    paths = [path for path in map(_written, steps) if path is not None][:_MOST_FILES]
    seen: set[str] = set()
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder and folder not in seen and not lies_in(folder, TRASH):
            seen.add(folder)
            yield folder
            folder = folder.rpartition("/")[0]


def _written(step: Step) -> VaultPath | None:
    if isinstance(step, Move):
        return step.target
    is_guide = fold(step.path.rpartition("/")[2]) in _FOLDED
    return None if step.new is None or is_guide else step.path


# The end of a call whose change waits for the person, and what a caller is told of others that wait.


def hold(
    holding: Holding,
    author: Author,
    steps: list[Step],
    files: Files,
    undoes: tuple[int, ...],
    notices: Sequence[str],
) -> Held:
    """Keep a change as a proposal; return what ends the call. ``files``: as the caller sees them, with others that wait.

    Raises VaultError: as ``Holding.hold``.
    """
    also = waiting_on(holding, steps, files)
    proposal = holding.hold("write", author, steps, undoes)
    words = (
        f"This waits for the person: proposal {proposal.id} ({named(files_of(proposal.steps))}). Nothing was written yet. "
        "Do not write it again; pending_changes shows what waits."
    )
    return Held("\n".join([" ".join([words, *also]), *notices]))


def waiting_on(holding: Holding, steps: list[Step], files: Files | None = None) -> list[str]:
    """Return what a caller is told of proposals that wait and concern a file of these steps: a sentence or two at most."""
    paths = [path for step in steps for path in paths_of(step)]
    below = [] if files is None else [held for path in paths if (held := files.pending_at(path)) is not None]
    built_on = sorted({number for held in below for number in held.proposals})
    folded = {fold(path) for path in paths}
    try:
        others = [
            proposal.id
            for proposal in holding.visible(holding.waiting())
            if proposal.id not in built_on
            and not folded.isdisjoint(fold(path) for step in proposal.steps for path in paths_of(step))
        ]
    except (OSError, VaultError):  # only a hint
        others = []
    sentences = []
    if built_on:
        sentences.append(f"It builds on your {_numbered(built_on)}.")
    if others:
        sentences.append(
            f"On the same file, {_numbered(others)} wait{'s' if len(others) == 1 else ''} for the person, too; "
            "this was made without."
        )
    return sentences


def _numbered(proposals: list[int]) -> str:
    more = f" and {len(proposals) - _NAMED} more" if len(proposals) > _NAMED else ""
    return f"proposal{'' if len(proposals) == 1 else 's'} {', '.join(map(str, proposals[:_NAMED]))}{more}"


# The difference shows a caller whether its edit still makes sense; instead of a longer one, it should read the note again.
_MAX_SHOWN_DIFF = 4_000
# What a merge brings in is shown whole, so that the caller knows the text whose etag it gets. A dry run shows as much.
_MAX_MERGED_DIFF = 20_000
# The latest changes of a file whose texts are looked through for an earlier one.
_MOST_CHANGES = 100
# How many notes an error names; a rename may edit thousands.
_MAX_NAMED = 20

_KEPT_BACK = (
    "It is kept in the journal and written to the file with your next edits of this note, as one change, {:g} s after the last "
    "of them. You read it as it will be."
)

OTHER_LINKS = "links in it use that name for another note and would lead to the new one"
"""Why a file is edited when a new note is made. See ``Asked``."""


class Done(NamedTuple):
    """A finished plan. ``change`` is the change that was made: None for a dry run, with the id 0 if there was nothing to do, or
    if it is kept back (``holding.delayed_writes``).

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


class Mergeable(NamedTuple):
    """An etag for an edit that need not be refused if the file has changed since.

    The edit is made on the text of that etag, and joined with what has changed (``markdown.three_way``).
    """

    etag: str


Match: TypeAlias = str | Mergeable | None
"""The etag of the text that a caller edits; with None, it edits what is there."""


class Edited(NamedTuple):
    """A file's bytes as they are, and as they will be; ``notices`` tell of a merge."""

    before: bytes
    after: bytes
    notices: list[str]


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
        self.holding = Holding(changes, files)
        self.delayed = DelayedWrites(changes, self.holding)
        self.base_results: RememberedResults[Any] = RememberedResults()
        self.inline_fields = RememberedFacts()  # of the texts of notes, for queries of Dataview
        self.sketches: dict[VaultPath, tuple[NoteStat, array[int]]] = {}  # of the texts of notes (``insights.similar``)
        self.caller = Caller()
        self._read_first = read_first
        self._own: OwnProposals | None = None
        self.review: ReviewRules | None = None  # which changes the person wants to see first
        self.meaning: ByMeaning | None = None  # None where the person has named no model
        self.attachment_texts: AttachmentTexts | None = None  # where the text of attachments is searched
        self.memory_folder = "Memory"  # in which clients remember things (``vaultwire.memory``)
        self.tool = ""
        self.also: tuple[str, ...] = ()

    def used_by(self, caller: Caller, tool: str, also: tuple[str, ...] = ()) -> Workbench:
        """Return the same parts for a caller that uses a tool; ``also``: tools whose work this call does, too."""
        bench = copy(self)
        bench.caller = caller
        bench.tool, bench.also = tool, also
        if self.sees_own_writes and not caller.is_person:
            if tool not in TEXT_TOOLS:
                self.delayed.write_own(caller)
            bench._own = OwnProposals(caller, self.holding, self.files)  # noqa: SLF001 - of a copy
            bench.files = self.files.with_pending(bench._own)  # noqa: SLF001
        return bench

    @property
    def sees_own_writes(self) -> bool:
        """Whether a session may have written what is not on the disk yet, which it sees all the same."""
        return self.delayed.is_on or (self.review is not None and self.review.can_hold)

    @contextmanager
    def locked(self, progress: Progress, *, dry_run: bool = False) -> Iterator[PlanContext]:
        """Hold the vault's lock, and yield what a plan is made from. See ``Changes.locked``, ``PlanContext``."""
        with self.changes.locked(progress):
            self.delayed.write_out(but_of=self.caller if self.tool in TEXT_TOOLS else None)
            if self._own is not None:
                self._own.forget()
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
        if not (asked.what or asked.undoes) and len(needed) <= MAX_UNASKED_NOTES:
            notices += self._changed_since_read(needed)
        with asked.explaining(needed):
            change = self._change(needed, notices, progress, asked, dry_run=dry_run)
        if change is None:
            return Done(None, needed, notices)
        self._remember(needed, {file.path for file in change.files})  # a note under its second name is not written
        also = waiting_on(self.holding, needed) if self.sees_own_writes else []
        guides = guides_for(self.files, self.caller, needed) if self.caller.may_read_notes else []
        return Done(change, needed, [*notices, *also, *guides])

    def _changed_since_read(self, steps: list[Step]) -> list[str]:
        """Return a notice for each edited file that is not as the caller has seen it last: it was read again, and edited so."""
        edited = [step for step in steps if isinstance(step, Write) and step.old is not None and step.new is not None]
        return [
            f"{step.path!r} has changed since you read it. This was made on its text as it is now."
            for step in edited
            if step.old is not None and self.caller.etag_read(step.path) not in (None, step.old.digest.hex())
        ]

    def _remember(self, steps: list[Step], written: Collection[str]) -> None:
        """Remember what the caller knows now: what it has written itself."""
        # So many texts would drive out those that the caller has read.
        texts = written if len(steps) <= MAX_UNASKED_NOTES else ()
        for step in steps:
            if not isinstance(step, Write):
                self.caller.moved(step.source, step.target)
            elif step.new is not None:
                self.caller.saw(step.path, step.new.digest.hex(), step.new.data if step.path in texts else None)

    def _change(
        self, steps: list[Step], notices: list[str], progress: Progress, asked: Asked, *, dry_run: bool
    ) -> Change | None:
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
        if mode == "record" and question is None and not asked.undoes and self.tool in TEXT_TOOLS:
            change = self._kept_back(steps, author)
            if change is not None:
                notices.append(_KEPT_BACK.format(self.delayed.quiet_seconds))
                return change
        self.delayed.write_out()  # what this builds on
        if mode == "ask" and asks_person(progress):
            question = question or confirmation_of(self.files, steps, self.tool)
        elif mode != "record":
            shareable = notices if self.caller.may_read_notes else []  # one may quote a note
            held = hold(self.holding, author, steps, self.files, asked.undoes, shareable)
            self._remember(steps, {path for step in steps for path in paths_of(step)})
            raise held
        if question is not None:
            progress.confirm(question)
        return self.changes.execute(steps, author, progress, asked.undoes)

    def _kept_back(self, steps: list[Step], author: Author) -> Change | None:
        """Keep an edit of one note back, if the policy says so; None if it is to be made now."""
        step = steps[0] if self.delayed.may_keep(steps) else None
        if not isinstance(step, Write):
            return None
        self.files.check_change(step.path)
        try:
            return self.delayed.keep(self.caller, author, step)
        except VaultError as error:
            if error.code != TOO_MANY_WAITING:
                raise
            return None

    def _mode(self, steps: list[Step]) -> Mode:
        """Return what the person's rules say of these steps."""
        if self.review is None or self.caller.is_person or not steps:
            return "record"
        below = [self.files.pending_at(path) for step in steps for path in paths_of(step)]
        if any(held is not None and held.proposals for held in below):
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

    def edit(
        self,
        path: VaultPath,
        if_match: Match,
        change: Callable[[bytes], bytes],
        *,
        is_overwritten: bool = False,
    ) -> Edited:
        """Return a file's bytes for an edit, as ``read`` does, with the edit made. A notice shows what it was joined with.

        Raises VaultError: as ``read``; STALE_EDIT for a ``Mergeable`` where both change the same, where the text of that etag
        is not on record, and where too much has changed to be shown.
        """
        etag = if_match.etag if isinstance(if_match, Mergeable) else if_match
        try:
            before = self.read(path, etag, is_overwritten=is_overwritten)
        except VaultError as stale:
            if not isinstance(if_match, Mergeable) or stale.code != STALE_EDIT:
                raise
            return self._merged(path, whole_etag(if_match.etag)[0], change, stale)
        return Edited(before, change(before), [])

    def _merged(self, path: VaultPath, etag: str, change: Callable[[bytes], bytes], stale: VaultError) -> Edited:
        now, base = self.files.read(path).data, self._text_with(path, etag)
        if base is None:
            raise _not_merged(stale, "its text with your etag is not on record")
        edited = change(base)
        try:
            mine, before, theirs = (data.decode() for data in (now, base, edited))
        except UnicodeDecodeError:
            raise _not_merged(stale, "it is no UTF-8 text") from None
        diff = unified(plain_text(base), plain_text(now), path)
        if len(diff) > _MAX_MERGED_DIFF:
            raise _not_merged(stale, "too much of it has changed")
        from vaultwire.markdown.three_way import form_of, join  # noqa: PLC0415 - few commands change a file

        joined = join(before, mine, theirs, form_of(path))
        if joined.clashes:
            places = len(joined.clashes)
            raise _not_merged(stale, f"your edit and the later one differ in {places} place{'s' * (places > 1)}")
        self.caller.saw(path, etag_of(now), now)
        notice = f"{path!r} has changed since you read it. Your edit was merged with that change."
        if self.caller.may_read_notes:
            notice += f" Since it was read:\n{diff}"
        return Edited(now, joined.text.encode(), [notice])

    def _text_with(self, path: VaultPath, etag: str) -> bytes | None:
        """Return the bytes that a file had with an etag: of what this caller has read, or of the journal.

        Nobody knows the etag of a text that they have not seen, so this tells nothing new.
        """
        remembered = self.caller.text_of(path, etag)
        if remembered is not None:
            return remembered
        contents = (each for _, step in writes_of(self.changes, path) for each in (step.new, step.old))
        return next((each.data for each in contents if each is not None and each.digest.hex() == etag), None)

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


def writes_of(changes: Changes, path: VaultPath) -> Iterator[tuple[int, Write]]:
    """Yield the writes of a file that are on record, the latest first, each with the number of its change.

    It ends where the journal cannot be read.
    """
    try:
        numbers = [change.id for change in changes.latest(path, _MOST_CHANGES)]
        for detailed in changes.show_all(numbers):
            for step in reversed(detailed.steps):
                if isinstance(step, Write) and step.path == path:
                    yield detailed.change.id, step
    except VaultError as error:
        if error.code not in (JOURNAL_FAILED, FILE_NOT_FOUND):
            raise


def _not_merged(stale: VaultError, why: str) -> VaultError:
    return VaultError(STALE_EDIT, f"Not merged: {why}. {stale.message}", **stale.details)
