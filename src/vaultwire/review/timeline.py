"""The list of changes and proposals, the latest first, with filters, pages and counts.

What was read stays in memory: while nothing is added to the journal, the proposals or the log of decisions, a call costs a
few looks at the disk.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Hashable, Iterator
from itertools import groupby, islice
from typing import Any, NamedTuple

from vaultwire.review.entries import Entry, Marks, UndonePart, entry_of, item_of, moment, not_there, parse_id, summary
from vaultwire.vault.changes.change import Change, Write
from vaultwire.vault.changes.rebasing import Rebased
from vaultwire.vault.disk.contents import plain_text
from vaultwire.vault.disk.paths import lies_in
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.holding.proposals import Proposal
from vaultwire.vault.vault import Vault

_MAX_PAGE = 500
# In so many of the latest changes their lines are searched, too; of older ones only paths and words.
_MAX_SEARCHED = 200
_MAX_SEARCHED_BYTES = 100_000
# So many equal changes are one row.
_MIN_SAME, _MAX_SAME = 3, 1000
_KINDS = ("change", "held", "diff")
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
        return self._vault.reviewing.stamp(), holding.proposals.stamp(), holding.decisions.stamp()

    # ------------------------------------------------------------------ reading on

    def read_on(self) -> None:
        """Read what was added since the last call. Raises VaultError (JOURNAL_FAILED), OSError."""
        with self._lock:
            stamp = self.stamp()
            journal = self._vault.reviewing.stamp()
            if stamp == self._stamp and journal is not None:
                return
            # The decisions first: those that are read name changes that are in the journal by then.
            touched = self._marks.read_on()
            holding = self._vault.holding
            proposals = {each.id: each for each in holding.visible(holding.proposals.all())}
            if journal is None or journal != self._changes_stamp:
                changes = self._vault.reviewing.changes()
            else:
                changes = [entry.change for entry in self._by_change.values() if entry.change is not None]
            self._join(changes, proposals, touched)
            self._stamp, self._changes_stamp = stamp, journal

    def _join(self, changes: list[Change], proposals: dict[int, Proposal], touched: set[int]) -> None:
        known = self._by_change
        in_effect = {change.id for change in changes if change.undone_by is None}
        for change in changes:
            before = known.get(change.id)
            if before is None or before.change != change:
                touched.add(self._marks.undid_part_of(change.id) or 0)
        joined: dict[int, Entry] = {}
        for change in changes:
            before = known.get(change.id)
            proposal = proposals.get(change.proposal) if change.proposal else None
            if before is None or change.id in touched or before.change != change or before.proposal != proposal:
                before = entry_of(change, proposal, self._marks, in_effect.__contains__)
            joined[change.id] = before
        self._by_change = joined
        made = {entry.proposal.id: entry for entry in joined.values() if entry.proposal is not None}
        self._by_proposal = {number: made.get(number) or Entry(None, each) for number, each in proposals.items()}
        entries = [entry for entry in joined.values() if entry.proposal is None]
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
        start = self._vault.reviewing.parse_time(filters.since) if filters.since else None
        entries = self.entries()
        found = [entry for entry in entries if _fits(entry, filters, start)]
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
            for detailed in self._vault.reviewing.detailed(missing):
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
    paths = (each for file in entry.files for each in (file.path, file.target) if each is not None)
    return "\n".join([summary(entry.files), label, entry.author.client, *paths]).casefold()


def _check(filters: Filters, limit: int) -> None:
    if filters.kind and filters.kind not in _KINDS:
        raise VaultError(INVALID_ARGUMENTS, f"{filters.kind!r} is no kind: give {', '.join(_KINDS)}.", argument="kind")
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
    for entry in entries:
        author = entry.author
        clients[author.client] = clients.get(author.client, 0) + 1
        if author.session:
            known = sessions.setdefault(author.session, [author.client, entry.key[0], entry.key[0], 0])
            known[1] = entry.key[0]
            known[3] += 1
    return {
        "waiting": sum(entry.waits for entry in entries),
        "unreviewed": sum(not entry.is_reviewed and not entry.waits for entry in entries),
        "clients": [{"name": name, "count": clients[name]} for name in sorted(clients)],
        "sessions": [
            {"id": name, "client": client, "first": moment(first), "last": moment(last), "count": count}
            for name, (client, first, last, count) in sessions.items()
        ],
    }
