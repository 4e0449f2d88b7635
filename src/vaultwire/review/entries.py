"""The list of changes and proposals by time: its entries, each with its state, its words and its dict."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from datetime import datetime
from itertools import groupby, islice
from typing import Any, NamedTuple

from vaultwire.review.diff.parts import counted, visible
from vaultwire.vault.changes.change import Author, Change, FileChange, Write, files_of
from vaultwire.vault.changes.projected_tree import Rebased
from vaultwire.vault.disk.contents import plain_text
from vaultwire.vault.disk.paths import TRASH, lies_in
from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS, VaultError
from vaultwire.vault.holding.proposals import Decision, DecisionLog, Proposal
from vaultwire.vault.vault import Vault

# What the person has decided about changes, as the log of decisions says: which are kept, and which parts were undone.


class UndonePart(NamedTuple):
    """A part of a change that was undone, by another change: one file, or one hunk of it."""

    file: int
    hunk: int | None
    by: int


class Kept:
    """Which parts of one change are kept. A later decision about a larger part replaces those about its parts."""

    def __init__(self) -> None:
        self._whole = False
        self._parts: dict[tuple[int, int | None], bool] = {}

    def set(self, file: int | None, hunk: int | None, *, is_kept: bool) -> None:
        """Keep a part, or keep it no longer; ``file`` None: all of the change."""
        if file is None:
            self._whole = is_kept
            self._parts.clear()
            return
        if hunk is None:
            self._parts = {part: kept for part, kept in self._parts.items() if part[0] != file}
        self._parts[file, hunk] = is_kept

    def has(self, file: int, hunk: int | None) -> bool:
        """Tell whether a part is kept."""
        return self._parts.get((file, hunk), self._parts.get((file, None), self._whole))

    @property
    def is_whole(self) -> bool:
        """Whether all of the change is kept."""
        return self._whole and all(self._parts.values())


class Marks:
    """The decisions of one vault, read on as they are added. For one thread at a time."""

    def __init__(self, log: DecisionLog) -> None:
        self._log = log
        self._position = 0
        self._kept: dict[int, Kept] = defaultdict(Kept)
        self._undone: dict[int, list[UndonePart]] = {}
        self._of_part: dict[int, int] = {}
        self._nothing_kept = Kept()

    def read_on(self) -> None:
        """Read the decisions that were added. Raises OSError."""
        found, self._position = self._log.since(self._position)
        for decision in found:
            self._add(decision)

    def _add(self, decision: Decision) -> None:
        if decision.change is None:
            return
        if decision.kind in ("kept", "unkept"):
            self._kept[decision.change].set(decision.file, decision.hunk, is_kept=decision.kind == "kept")
        elif decision.kind == "undone" and decision.file is not None and decision.by is not None:
            part = UndonePart(decision.file, decision.hunk, decision.by)
            self._undone.setdefault(decision.change, []).append(part)
            self._of_part[decision.by] = decision.change

    def kept(self, change: int) -> Kept:
        """Return which parts of a change are kept."""
        return self._kept.get(change, self._nothing_kept)

    def undone(self, change: int) -> list[UndonePart]:
        """Return the parts of a change that were undone, whether their undo still holds or not."""
        return self._undone.get(change, [])

    def undid_part_of(self, change: int) -> int | None:
        """Return the change of which this one undid a part, None if it did not."""
        return self._of_part.get(change)


# Changes and proposals in plain words.

_DONE = {"create": "created", "edit": "edited", "remove": "removed", "move": "moved"}
_WANTED = {"create": "create", "edit": "edit", "remove": "remove", "move": "move"}


def moment(time_ns: int) -> str:
    """Return a time as ISO 8601 with the person's time zone."""
    return datetime.fromtimestamp(time_ns / 1_000_000_000).astimezone().isoformat(timespec="seconds")


def summary(files: Sequence[FileChange], *, is_wish: bool = False) -> str:
    """Return what a change did to its files: "edited Plan.md and 2 more". ``is_wish``: what a proposal would do."""
    if not files:
        return "change nothing" if is_wish else "changed nothing"
    verbs = _WANTED if is_wish else _DONE
    first = files[0]
    words = _one(first, verbs)
    same = sum(_kind(each) == _kind(first) for each in files) - 1
    others = len(files) - 1 - same
    if same:
        words += f" and {same} more"
    if others:
        kinds = {_kind(each) for each in files} - {_kind(first)}
        verb = verbs[kinds.pop()] if len(kinds) == 1 else "changed" if not is_wish else "change"
        words += f", {verb} {counted(others, 'other file' if same == 0 else 'file')}"
    return words


def _kind(file: FileChange) -> str:
    return "remove" if file.target is not None and lies_in(file.target, TRASH) else file.kind


def _one(file: FileChange, verbs: dict[str, str]) -> str:
    kind = _kind(file)
    if kind == "move":
        return f"{verbs['move']} {visible(file.path)} to {visible(file.target or '')}"
    return f"{verbs[kind]} {visible(file.path)}"


PERSON, DESK = "you", "desk"
"""The client and the tool that the journal names for what the person does at the desk."""

_MAX_FILES, _MAX_ID = 20, 20
_KINDS = {"write": "held", "diff": "diff"}
_LETTERS = {"c": "change", "p": "proposal"}


class Entry(NamedTuple):
    """A change, a proposal, or both. ``parts`` were undone, and their undo holds. ``undid_part_of``: a change."""

    change: Change | None
    proposal: Proposal | None
    parts: tuple[UndonePart, ...] = ()
    is_kept: bool = False
    undid_part_of: int | None = None

    @property
    def id(self) -> str:
        """The item's id. A proposal keeps its own when it is accepted, so that it stays where it is in the list."""
        return f"p{self.proposal.id}" if self.proposal is not None else f"c{self.number}"

    @property
    def number(self) -> int:
        """The number of its change; 0 for none."""
        return 0 if self.change is None else self.change.id

    @property
    def key(self) -> tuple[int, int]:
        """Where it is in the list, the oldest first."""
        if self.proposal is not None:
            return self.proposal.time_ns, -self.proposal.id
        return (self.change.time_ns, self.change.id) if self.change is not None else (0, 0)

    @property
    def author(self) -> Author:
        """Who asked for it."""
        return (self.proposal or self.change).author  # type: ignore[union-attr]  # one of them is there

    @property
    def files(self) -> tuple[FileChange, ...]:
        """What it does to each file."""
        if self.change is not None:
            return self.change.files
        return files_of(self.proposal.steps) if self.proposal is not None else ()

    @property
    def kind(self) -> str:
        """Its kind in the list."""
        return "change" if self.proposal is None else _KINDS[self.proposal.kind]

    @property
    def state(self) -> str:
        """Its state; whether a proposal is stale, the disk tells."""
        if self.change is not None:
            if self.change.undone_by is not None:
                return "undone"
            if self.parts:
                return "undone in part"
            if self.change.unrestored:
                return "made"
        if self.proposal is None:
            return "made"
        if self.change is not None and self.proposal.state == "waiting":
            return "accepted"  # its change is on record, and a kill came before the decision was
        if self.proposal.state == "accepted" and self.proposal.is_edited:
            return "accepted as edited"
        return self.proposal.state

    @property
    def waits(self) -> bool:
        """Whether it waits for the person."""
        return self.change is None and self.proposal is not None and self.proposal.state == "waiting"

    @property
    def is_reviewed(self) -> bool:
        """Whether the person has decided about all of it, or made it."""
        if self.proposal is not None:
            return not self.waits
        return self.is_kept or self.state == "undone" or is_by_person(self.author)


def is_by_person(author: Author) -> bool:
    """Tell whether the person did it at the desk. A client can choose any name, but no tool of this name."""
    return author.client == PERSON and author.tool == DESK


def entry_of(change: Change, proposal: Proposal | None, marks: Marks, holds: Callable[[int], bool]) -> Entry:
    """Return the entry of a change. ``holds`` tells whether a change is on record and not undone."""
    undone = marks.undone(change.id)
    parts = tuple(part for part in undone if holds(part.by)) if undone else ()
    return Entry(change, proposal, parts, marks.kept(change.id).is_whole, marks.undid_part_of(change.id))


def item_of(entry: Entry, vault: str, *, is_stale: bool) -> dict[str, Any]:
    """Return the dict of an entry, without its bytes."""
    change, proposal, files = entry.change, entry.proposal, entry.files
    words = summary(files, is_wish=change is None)
    if change is not None and change.undoes:
        named = ", ".join(map(str, change.undoes))
        words = f"undid change{'s' if len(change.undoes) > 1 else ''} {named}: {words}"
    elif entry.undid_part_of is not None:
        words = f"undid a part of change {entry.undid_part_of}: {words}"
    return {
        "id": entry.id,
        "vault": vault,
        "time": moment(entry.key[0]),
        "kind": entry.kind,
        "client": entry.author.client,
        "session": entry.author.session,
        "tool": entry.author.tool,
        "label": proposal.label if proposal is not None else "",
        "state": "stale" if is_stale else entry.state,
        "is_reviewed": entry.is_reviewed,
        "undoes": [f"c{each}" for each in (change or proposal).undoes],  # type: ignore[union-attr]  # one is there
        "undone_by": change.undone_by if change is not None else None,
        "change": change.id if change is not None and proposal is not None else None,
        "reason": proposal.reason if proposal is not None else "",
        "summary": words,
        "files": file_dicts(files[:_MAX_FILES]),
        "file_count": len(files),
    }


def file_dicts(files: Sequence[FileChange]) -> list[dict[str, Any]]:
    """Return what was done to each file, as a dict."""
    return [{"action": file.kind, "path": file.path, "to": file.target} for file in files]


def parse_id(text: object) -> tuple[str, int]:
    """Return "c" or "p", and the number. Raises VaultError (INVALID_ARGUMENTS)."""
    if isinstance(text, str) and text[:1] in _LETTERS and text[1:].isascii() and text[1:].isdecimal():
        if len(text) <= _MAX_ID:  # Python refuses to read numbers of thousands of digits
            return text[0], int(text[1:])
        text = f"{text[:_MAX_ID]}…"
    raise VaultError(
        INVALID_ARGUMENTS, f"{text!r} is no id: give 'c57' for change 57, 'p12' for proposal 12.", argument="id"
    )


def not_there(id_: str) -> VaultError:
    """Return the error for an id that nothing has."""
    letter, number = parse_id(id_)
    return VaultError(FILE_NOT_FOUND, f"There is no {_LETTERS[letter]} {number} on record.", id=number)


# The list of changes and proposals, the latest first, with filters, pages and counts.
#
# What was read stays in memory: while nothing is added to the journal, the proposals or the log of decisions, a call costs a
# few looks at the disk.

_MAX_PAGE = 500
# In so many of the latest changes their lines are searched, too; of older ones only paths and words.
_MAX_SEARCHED = 200
_MAX_SEARCHED_BYTES = 100_000
# So many equal changes are one row.
_MIN_SAME, _MAX_SAME = 3, 1000
_ITEM_KINDS = ("change", "held", "diff")
_STATES = (
    "made",
    "undone",
    "undone in part",
    "open",
    "waiting",
    "stale",
    "accepted",
    "accepted as edited",
    "refused",
    "withdrawn",
)


class Filters(NamedTuple):
    """Which items are asked for; empty: all. The state "open": all that wait, stale or not."""

    client: str = ""
    session: str = ""
    folder: str = ""
    kind: str = ""
    state: str = ""
    text: str = ""
    since: str = ""


class Timeline:
    """The list of one vault. Safe to use from several threads."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self._marks = Marks(vault.holding.decisions)
        self._lock = threading.Lock()
        self._stamp: Hashable = object()
        self._changes_stamp: Hashable = object()
        self._by_change: dict[int, Entry] = {}
        self._by_proposal: dict[int, Entry] = {}
        self._ordered: list[Entry] = []
        self._facts: dict[str, Any] = {}
        self._texts: dict[int, str] = {}

    def stamp(self) -> Hashable:
        """Return a value that differs once the list may differ. Cheap."""
        holding = self._vault.holding
        return self._vault.history.stamp(), holding.proposals.stamp(), holding.decisions.stamp()

    # ------------------------------------------------------------------ reading on

    def read_on(self) -> None:
        """Read what was added since the last call. Raises VaultError (JOURNAL_FAILED), OSError."""
        with self._lock:
            stamp = self.stamp()
            journal = self._vault.history.stamp()
            if stamp == self._stamp and journal is not None:
                return
            # The decisions first: those that are read name changes that are in the journal by then.
            self._marks.read_on()
            holding = self._vault.holding
            proposals = {each.id: each for each in holding.visible(holding.proposals.all())}
            if journal is None or journal != self._changes_stamp:
                changes = self._vault.history.changes()
            else:
                changes = [entry.change for entry in self._by_change.values() if entry.change is not None]
            self._join(changes, proposals)
            self._stamp, self._changes_stamp = stamp, journal

    def _join(self, changes: list[Change], proposals: dict[int, Proposal]) -> None:
        in_effect = {change.id for change in changes if change.undone_by is None}
        self._by_change = {
            change.id: entry_of(change, proposals.get(change.proposal or 0), self._marks, in_effect.__contains__)
            for change in changes
        }
        made = {entry.proposal.id: entry for entry in self._by_change.values() if entry.proposal is not None}
        self._by_proposal = {number: made.get(number) or Entry(None, each) for number, each in proposals.items()}
        entries = [entry for entry in self._by_change.values() if entry.proposal is None]
        self._ordered = sorted([*entries, *self._by_proposal.values()], key=lambda entry: entry.key, reverse=True)
        self._facts = _facts_of(self._ordered)

    # ------------------------------------------------------------------ looking

    def entry(self, id_: str) -> Entry:
        """Return one entry; an accepted proposal also by the id of its change. Raises VaultError (FILE_NOT_FOUND)."""
        letter, number = parse_id(id_)
        self.read_on()
        with self._lock:
            found = (self._by_change if letter == "c" else self._by_proposal).get(number)
        if found is None:
            raise not_there(id_)
        return found

    def entries(self) -> list[Entry]:
        """Return all entries, the latest first."""
        self.read_on()
        with self._lock:
            return self._ordered

    def kept(self, change: int, file: int, hunk: int | None) -> bool:
        """Tell whether a part of a change is kept."""
        with self._lock:
            return self._marks.kept(change).has(file, hunk)

    def parts_left(self, number: int, undone: Collection[int]) -> list[UndonePart]:
        """Return the parts of a change whose undo holds once the changes ``undone`` are undone."""
        self.read_on()
        with self._lock:
            parts = [(part, self._by_change.get(part.by)) for part in self._marks.undone(number)]
        return [
            part
            for part, by in parts
            if by is not None
            and by.change is not None
            and part.by not in undone
            and (by.change.undone_by is None or by.change.undone_by in undone)
        ]

    def counts(self) -> dict[str, int]:
        """Return how many items wait, and how many changes the person has not looked at."""
        self.read_on()
        with self._lock:
            return {name: self._facts[name] for name in ("waiting", "unreviewed")}

    def item(self, entry: Entry) -> dict[str, Any]:
        """Return the dict of an entry."""
        return item_of(entry, self._vault.name, is_stale=self.is_stale(entry))

    def rebased(self, entry: Entry) -> Rebased | None:
        """Return what accepting a proposal that waits would do to the files as they are now; None for other entries."""
        proposal = entry.proposal
        if not entry.waits or proposal is None or proposal.outside:
            return None
        return self._vault.holding.rebased(proposal)

    def is_stale(self, entry: Entry) -> bool:
        """Tell whether a proposal waits that cannot be accepted as it is."""
        now = self.rebased(entry)
        return (
            now is not None and entry.proposal is not None and bool(self._vault.holding.obstacle(entry.proposal, now))
        )

    def page(self, filters: Filters, before: str, limit: int, *, folds: bool = False) -> dict[str, Any]:
        """Return a page of the items. Raises VaultError for a filter that is none, and a ``before`` that is not there.

        ``folds``: changes that follow each other and did the same to the same files are one item, the latest, with ``same``:
        the ids and times of the others.
        """
        _check(filters, limit)
        start = self._vault.history.parse_time(filters.since) if filters.since else None
        entries = self.entries()
        found = [entry for entry in entries if _fits(entry, filters, start)] if any(filters) else entries
        if filters.state in ("waiting", "stale"):
            found = [entry for entry in found if self.is_stale(entry) is (filters.state == "stale")]
        if filters.text:
            found = self._with_text(found, filters.text.casefold())
        total, is_open = len(found), sum(entry.waits for entry in found)
        if before:
            key = self.entry(before).key
            found = [entry for entry in found if entry.key < key]
        with self._lock:
            facts = self._facts
        items: list[dict[str, Any]] = []
        for run in _runs(found) if folds else ([entry] for entry in found):
            if len(items) == limit:
                break
            item = {**self.item(run[0]), "same": [[entry.id, moment(entry.key[0])] for entry in run[1:]]}
            items.append(item)
        shown = sum(1 + len(item["same"]) for item in items)
        return {"items": items, "has_more": len(found) > shown, "total": total, "open": is_open, **facts}

    def _with_text(self, entries: list[Entry], text: str) -> list[Entry]:
        found = {entry.id for entry in entries if text in _words_of(entry)}
        rest = [entry for entry in entries if entry.id not in found][:_MAX_SEARCHED]
        self._read_texts([entry.change.id for entry in rest if entry.change is not None])
        for entry in rest:
            if entry.change is not None:
                lines = self._texts.get(entry.change.id, "")
            else:
                lines = _changed_text(entry.proposal.steps if entry.proposal is not None else ())
            if text in lines:
                found.add(entry.id)
        return [entry for entry in entries if entry.id in found]

    def _read_texts(self, numbers: list[int]) -> None:
        missing = [number for number in numbers if number not in self._texts]
        if len(self._texts) > 10 * _MAX_SEARCHED:
            self._texts = {}
        try:
            for detailed in self._vault.history.detailed(missing):
                self._texts[detailed.change.id] = _changed_text(detailed.steps)
        except VaultError:  # one of them is damaged or gone: those that are read are searched
            pass


def _changed_text(steps: object) -> str:
    """Return the lines that steps remove or add, without case, of 100 files and 100 KB each at most."""
    lines: list[str] = []
    for step in list(steps)[:100]:  # type: ignore[call-overload]
        if not isinstance(step, Write):
            continue
        sides = [each for each in (step.old, step.new) if each is not None]
        if any(each.size > _MAX_SEARCHED_BYTES for each in sides):
            continue
        texts = [plain_text(each.data).split("\n") for each in sides]
        common = set(texts[0]).intersection(*texts[1:]) if len(texts) > 1 else set()
        lines += [line for text in texts for line in text if line not in common]
    return "\n".join(lines).casefold()


def _words_of(entry: Entry) -> str:
    label = entry.proposal.label if entry.proposal is not None else ""
    return "\n".join([summary(entry.files), label, entry.author.client, *_paths(entry)]).casefold()


def _check(filters: Filters, limit: int) -> None:
    if filters.kind and filters.kind not in _ITEM_KINDS:
        raise VaultError(
            INVALID_ARGUMENTS, f"{filters.kind!r} is no kind: give {', '.join(_ITEM_KINDS)}.", argument="kind"
        )
    if filters.state and filters.state not in _STATES:
        raise VaultError(
            INVALID_ARGUMENTS, f"{filters.state!r} is no state: give {', '.join(_STATES)}.", argument="state"
        )
    if not 1 <= limit <= _MAX_PAGE:
        raise VaultError(INVALID_ARGUMENTS, f"A page has 1 to {_MAX_PAGE} items, not {limit}.", argument="limit")


def _fits(entry: Entry, filters: Filters, start: int | None) -> bool:
    if filters.client and entry.author.client != filters.client:
        return False
    if filters.session and entry.author.session != filters.session:
        return False
    if filters.kind and entry.kind != filters.kind:
        return False
    if filters.state and entry.state != ("waiting" if filters.state in ("open", "stale") else filters.state):
        return False
    if start is not None and entry.key[0] < start:
        return False
    folder = filters.folder.strip("/")
    return not folder or any(lies_in(path, folder) for path in _paths(entry))


def _runs(entries: list[Entry]) -> Iterator[list[Entry]]:
    """Yield the entries, those together that look the same in the list, one after the other."""
    for (_, waits), run in groupby(entries, key=lambda entry: (_look_of(entry), entry.waits)):
        if waits:
            yield from ([entry] for entry in run)
        else:
            while part := list(islice(run, _MAX_SAME)):
                yield from [part] if len(part) >= _MIN_SAME else ([entry] for entry in part)


def _look_of(entry: Entry) -> Hashable:
    day = time.localtime(entry.key[0] // 1_000_000_000)[:3]
    undoes = () if entry.change is None else entry.change.undoes
    return entry.author, entry.state, entry.is_reviewed, entry.kind, undoes, entry.undid_part_of, day, entry.files


def _paths(entry: Entry) -> Iterator[str]:
    for file in entry.files:
        yield file.path
        if file.target is not None:
            yield file.target


def _facts_of(entries: list[Entry]) -> dict[str, Any]:
    """Return the counts over all entries, which come the latest first."""
    clients: dict[str, int] = {}
    sessions: dict[str, list[Any]] = {}
    waiting = unreviewed = 0
    for entry in entries:
        waits, author = entry.waits, entry.author
        waiting += waits
        unreviewed += not waits and not entry.is_reviewed
        clients[author.client] = clients.get(author.client, 0) + 1
        if author.session:
            at = entry.key[0]
            known = sessions.setdefault(author.session, [author.client, at, at, 0])
            known[1] = at
            known[3] += 1
    return {
        "waiting": waiting,
        "unreviewed": unreviewed,
        "clients": [{"name": name, "count": clients[name]} for name in sorted(clients)],
        "sessions": [
            {"id": name, "client": client, "first": moment(first), "last": moment(last), "count": count}
            for name, (client, first, last, count) in sessions.items()
        ],
    }
