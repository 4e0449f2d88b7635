"""Remembers, recalls and forgets in one vault, as one caller: over the engine's own reading, editing and search by meaning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias, TypeVar

from vaultwire.memory import entries as form
from vaultwire.memory.entries import Entry, Subject
from vaultwire.memory.ranking import Ranked, rank, says_the_same, subject_named, words_in
from vaultwire.vault.editing.workbench import Done
from vaultwire.vault.errors import (
    AMBIGUOUS_NAME,
    FILE_NOT_FOUND,
    INVALID_ARGUMENTS,
    NOTE_EXISTS,
    STALE_EDIT,
    VaultError,
)
from vaultwire.vault.plans.creating import NewNote
from vaultwire.vault.plans.targeted_edits import Edit
from vaultwire.vault.search.questions import bare
from vaultwire.vault.value_types import Progress, VaultPath
from vaultwire.vault.vault import Vault

How: TypeAlias = Literal["auto", "extend", "new"]
"""What becomes of a fact that memory has nearly already: nothing yet, one more entry beside it, or an entry of its own."""

NEAREST = 3
"""So many entries are shown before one is written."""
# Another client may write into the same note between our reading and our edit.
_ATTEMPTS = 4
# A text without a subject goes to that of the nearest entry if it has so much of the text's words.
_LEAST_SHARE = 0.5
_LEAST_WORDS = 2
_WORDS_OF_NAME = 7

_Result = TypeVar("_Result")


class Fact(NamedTuple):
    """What a caller wants to be remembered.

    ``subject``: of its note; empty for that of the nearest entry, or a new one named by the text. A name that is nearly that of
    a subject means this one. ``source``: a note, an address, or words. ``replaces`` names an entry that is wrong now: it is
    marked as superseded.
    """

    text: str
    subject: str = ""
    source: str = ""
    how: How = "auto"
    replaces: str = ""


class Remembered(NamedTuple):
    """What became of a fact. ``entry``: it as it was written; or, with no ``done``, what memory has of it already.

    ``is_new``: its subject is new. ``nearest``: what memory had before, the nearest first.
    """

    entry: Entry
    nearest: Sequence[Ranked]
    is_new: bool = False
    replaced: Entry | None = None
    done: Done | None = None


class Forgotten(NamedTuple):
    """What was forgotten: one entry, or a subject with all its entries, which is in the trash now."""

    path: VaultPath
    entries: Sequence[Entry]
    trash_path: VaultPath | None
    done: Done


class Memory:
    """The memory of one vault, as one call sees it."""

    def __init__(self, vault: Vault, folder: str, progress: Progress) -> None:
        """``folder``: of memory, with ``/`` between its parts."""
        self._vault = vault
        self._folder = folder
        self._progress = progress
        self._today = vault.overview.parse_days("today").first

    @cached_property
    def subjects(self) -> list[Subject]:
        """The notes of memory that this caller may see, in path order. What cannot be read is left out."""
        subjects: list[Subject] = []
        for path in self._vault.overview.paths(self._progress):
            if form.is_below(path, self._folder):
                self._progress.check()
                try:
                    subjects.append(form.read_subject(path, self._vault.read(path, self._progress).text))
                except VaultError:
                    continue
        return subjects

    @property
    def entries(self) -> list[Entry]:
        """All entries, in path and line order."""
        return form.entries_of(self.subjects)

    # ------------------------------------------------------------------ recalling

    def recall(self, query: str) -> list[Ranked]:
        """Return the entries that a text is about, best first; the latest ones for an empty text.

        What a later entry has corrected is left out. A subject that the text names has all of its entries in the result.
        """
        entries = [entry for entry in self.entries if not entry.superseded]
        if not query.strip():
            latest = sorted(entries, key=lambda entry: (entry.day is not None, entry.day or self._today), reverse=True)
            return [Ranked(entry, 0.0) for entry in latest]
        ranked = rank(query, entries, self._today, self._near(query, entries))
        named, _ = subject_named(query.strip(), self.subjects)
        if named is not None:
            first = [each for each in ranked if each.entry.path == named.path]
            others = [each for each in ranked if each.entry.path != named.path]
            there = {each.entry for each in first}
            rest = [each for each in reversed(named.entries) if each not in there and not each.superseded]
            ranked = [*first, *(Ranked(entry, 0.0) for entry in rest), *others]
        return ranked

    def _near(self, query: str, entries: Sequence[Entry]) -> dict[str, float]:
        """Return the likeness in meaning of entries, by address; nothing where there is no model."""
        if self._vault.meaning is None or not entries:
            return {}
        near = self._vault.near(query, self._folder, self._progress, only=False)
        parts = {hit.path: hit for hit in (near.hits if near else ())}
        return {
            entry.address: part.likeness
            for entry in entries
            if (part := parts.get(entry.path)) and part.first <= entry.last_line and entry.first_line <= part.last
        }

    # ------------------------------------------------------------------ remembering

    def remember(self, fact: Fact, *, dry_run: bool) -> Remembered:
        """Write one fact as an entry, unless memory has it, or has nearly the same and ``how`` is ``auto``.

        Raises VaultError: INVALID_ARGUMENTS, FILE_NOT_FOUND for what it ``replaces``, and those of the engine's edits.
        """
        form.to_line(fact.text, self._today, "", fact.source, 1)  # refuses a bad text before anything else
        if fact.subject and not _subject_name(fact.subject):
            message = f"subject: {fact.subject!r} has no character that a note's name can have."
            raise VaultError(INVALID_ARGUMENTS, message, argument="subject")
        return self._tried_again(lambda: self._remember(fact, dry_run=dry_run))

    def _remember(self, fact: Fact, *, dry_run: bool) -> Remembered:
        current = [entry for entry in self.entries if not entry.superseded]
        replaced = self.find(fact.replaces)[1] if fact.replaces else None
        if fact.replaces and replaced is None:
            message = f"replaces: {fact.replaces!r} is a subject. Name the entry, as recall shows it."
            raise VaultError(INVALID_ARGUMENTS, message, argument="replaces")
        words = f"{fact.subject} {fact.text}"
        nearest = rank(words, current, self._today, self._near(words, current))[:NEAREST]
        same = next((entry for entry in current if bare(entry.text) == bare(form.one_line(fact.text))), None)
        alike = same or next((entry for entry in current if says_the_same(entry.text, fact.text)), None)
        if replaced is not None:
            return self._extend(self._subject_of(replaced), fact, nearest, replaced, dry_run=dry_run)
        if alike is not None and (same is not None or fact.how == "auto"):
            return Remembered(alike, nearest)
        target = self._target(fact, nearest, alike)
        if target is None:
            return self._new(fact, nearest, dry_run=dry_run)
        return self._extend(target, fact, nearest, None, dry_run=dry_run)

    def _target(self, fact: Fact, nearest: Sequence[Ranked], alike: Entry | None) -> Subject | None:
        """Return the subject that a fact belongs to, None for a new one."""
        if fact.subject:
            return subject_named(_subject_name(fact.subject), self.subjects)[0]
        if fact.how == "extend" and (alike or nearest):
            return self._subject_of(alike or nearest[0].entry)
        own = subject_named(_name_of(fact.text), self.subjects)[0]
        if own is not None or fact.how == "new":
            return own
        said = f" {' '.join(word.bare for word in words_in(fact.text))} "
        named = [
            (len(name), each.path, each)
            for each in self.subjects
            for name in (" ".join(word.bare for word in words_in(known)) for known in each.names)
            if name and f" {name} " in said
        ]
        if named:
            return max(named)[2]
        words = len(words_in(fact.text))
        if nearest and words - len(nearest[0].missing) >= max(_LEAST_WORDS, words * _LEAST_SHARE):
            return self._subject_of(nearest[0].entry)
        return None

    def _subject_of(self, entry: Entry) -> Subject:
        return next(each for each in self.subjects if each.path == entry.path)

    def _author(self) -> str:
        """Return who says it, as the journal has it."""
        return self._vault.caller.client or "unknown"

    def _source(self, source: str) -> str:
        """Return where a fact is from: a note of the vault as a link, all else as it is given."""
        source = form.one_line(source)
        if not source or "://" in source or "[[" in source:
            return source
        try:
            path = self._vault.locate(source, self._progress)
        except VaultError:
            return source
        return f"[[{path.removesuffix('.md')}]]"

    def _new(self, fact: Fact, nearest: Sequence[Ranked], *, dry_run: bool) -> Remembered:
        name = _subject_name(fact.subject) or _name_of(fact.text)
        line = form.to_line(fact.text, self._today, self._author(), self._source(fact.source), 1)
        new = NewNote(f"{self._folder}/{name}.md", f"{line}\n")
        made = self._vault.writing.create(new, self._progress, dry_run=dry_run, may_have_namesake=True)
        (entry,) = form.read_subject(made.path, f"{line}\n").entries
        return Remembered(entry, nearest, is_new=True, done=made.done)

    def _extend(
        self, subject: Subject, fact: Fact, nearest: Sequence[Ranked], replaced: Entry | None, *, dry_run: bool
    ) -> Remembered:
        note = self._vault.read(subject.path, self._progress)
        number = form.next_number(note.text)
        line = form.to_line(fact.text, self._today, self._author(), self._source(fact.source), number)
        edits = [Edit("append", line)]
        if replaced is not None:
            last = note.text.split("\n")[replaced.last_line - 1]
            at = str(replaced.last_line)
            edits.insert(0, Edit("replace", form.with_superseded(last, self._today), lines=f"{at}-{at}"))
        revised = self._vault.revising.edit(subject.path, edits, "", note.etag, self._progress, dry_run=dry_run)
        (entry,) = form.read_subject(revised.path, line).entries
        return Remembered(entry, nearest, replaced=replaced, done=revised.done)

    # ------------------------------------------------------------------ forgetting

    def forget(self, name: str, *, dry_run: bool) -> Forgotten:
        """Forget one entry, or a subject: its note goes to the trash. One undo brings it back.

        Raises VaultError as ``find`` does, and those of the engine's edits.
        """
        return self._tried_again(lambda: self._forget(name, dry_run=dry_run))

    def _forget(self, name: str, *, dry_run: bool) -> Forgotten:
        subject, entry = self.find(name)
        note = self._vault.read(subject.path, self._progress)
        if entry is None or len(subject.entries) == 1:
            deleted = self._vault.writing.delete(
                subject.path, permanent=False, if_match=note.etag, progress=self._progress, dry_run=dry_run
            )
            return Forgotten(deleted.path, subject.entries, deleted.trash_path, deleted.done)
        edits = [Edit("delete", lines=f"{entry.first_line}-{entry.last_line}")]
        revised = self._vault.revising.edit(subject.path, edits, "", note.etag, self._progress, dry_run=dry_run)
        return Forgotten(revised.path, [entry], None, revised.done)

    def find(self, name: str) -> tuple[Subject, Entry | None]:
        """Return the subject and the entry that a name means; no entry if it means the whole subject.

        An entry is named by its address (``Tea#^m7``, as recalled) or its text, a subject by its name, path or alias.
        Raises VaultError: FILE_NOT_FOUND with what is near, AMBIGUOUS_NAME for a text that several entries have.
        """
        written = name.strip().removeprefix("!").removeprefix("[[").removesuffix("]]").partition("|")[0]
        note, mark, part = written.partition("#")
        subject = self._named(note)
        if subject is not None:
            if not mark:
                return subject, None
            for entry in subject.entries:
                if part.strip() == entry.address.partition("#")[2]:
                    return subject, entry
        sought = bare(form.one_line(name))
        entries = [entry for entry in self.entries if bare(entry.text) == sought]
        if len(entries) == 1:
            return self._subject_of(entries[0]), entries[0]
        near = [each.address for each in entries] or [each.entry.address for each in self.recall(name)[:NEAREST]]
        if entries:
            message = f"{name!r} is the text of {len(entries)} entries: {', '.join(near)}. Name one of them."
            raise VaultError(AMBIGUOUS_NAME, message, name=name, candidates=near)
        hint = f" Near are {', '.join(near)}." if near else ""
        message = f"Memory has no entry and no subject {name!r}.{hint} recall shows what there is, with the names."
        raise VaultError(FILE_NOT_FOUND, message, path=name, candidates=near)

    def _named(self, name: str) -> Subject | None:
        """Return the subject that is named so, but for case, signs and accents: what is only like it is not meant."""
        path = name.strip().removesuffix(".md").casefold()
        for subject in self.subjects:
            if subject.path.removesuffix(".md").casefold() == path:
                return subject
        if "/" in path:
            return None
        subjects = [each for each in self.subjects if path in [bare(known) for known in each.names]]
        return subjects[0] if len(subjects) == 1 else None

    def _tried_again(self, work: Callable[[], _Result]) -> _Result:
        """Return what the work returns; after another client's write in between, read memory once more and try again."""
        for attempt in range(_ATTEMPTS):
            try:
                return work()
            except VaultError as error:
                if error.code not in (STALE_EDIT, NOTE_EXISTS) or attempt == _ATTEMPTS - 1:
                    raise
                vars(self).pop("subjects", None)
        raise AssertionError


def _subject_name(written: str) -> str:
    """Return the name of a subject as a caller writes it: a name, the note's path, or a link to it."""
    link = written.strip().removeprefix("[[").removesuffix("]]").partition("|")[0].partition("#")[0]
    return form.to_name(link.removesuffix(".md").rpartition("/")[2])


def _name_of(text: str) -> str:
    """Return the name of a subject that nobody has named: the first words of what is said of it."""
    name = form.to_name(" ".join(form.to_name(text).split(". ")[0].split()[:_WORDS_OF_NAME]))
    return name.rstrip(",;!") or "Things"
