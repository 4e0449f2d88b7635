"""The journal of one vault: which changes there were, and which one is open. Two of a kind: in a folder, and in memory.

Written under the vault's lock (``changes.changing``), one process at a time; read by anybody at any time.
"""

from __future__ import annotations

import os
import threading
import time
from typing import Any, NamedTuple, Protocol

from vaultwire.vault.changes.change import Change, Detailed, Intent, files_of
from vaultwire.vault.changes.records import frame, parse_intent, to_record
from vaultwire.vault.changes.segments import Record, Retention, Segment, remove_old, segment_numbers
from vaultwire.vault.value_types import VaultPath


class Ending(NamedTuple):
    """What became of a change: taken back because it failed or was killed half-way, or done. ``left`` as in ``Change``."""

    is_undone: bool
    left: tuple[VaultPath, ...] = ()


class Journal(Protocol):
    """What a journal answers. The first six are for whoever holds the vault's lock; they raise OSError."""

    def catch_up(self) -> Intent | None:
        """Take up what other processes wrote, and return the change that one of them left open."""

    def next_id(self) -> int:
        """Return the number of the next change."""

    def begin(self, intent: Intent) -> None:
        """Write down, synced, that a change begins."""

    def ready(self, number: int) -> None:
        """Write down that its first step is next."""

    def back(self, number: int, left: tuple[VaultPath, ...]) -> None:
        """Write down that all its steps have been taken back, but for the files ``left``."""

    def end(self, number: int, ending: Ending) -> None:
        """Write down what became of it."""

    def changes(self) -> list[Change]:
        """Return the changes on record that left a trace in the vault, in the order of their ids."""

    def load(self, number: int) -> Detailed | None:
        """Return one of them with its bytes, None if it is not on record any more."""


class MemoryJournal:
    """A journal that ends with the process: for tests of what does not need one."""

    def __init__(self) -> None:
        self._intents: dict[int, Intent] = {}
        self._endings: dict[int, Ending] = {}

    def catch_up(self) -> Intent | None:
        """See ``Journal``."""
        last = self._intents.get(len(self._intents))
        return last if last and last.id not in self._endings else None

    def next_id(self) -> int:
        """See ``Journal``."""
        return len(self._intents) + 1

    def begin(self, intent: Intent) -> None:
        """See ``Journal``."""
        self._intents[intent.id] = intent

    def ready(self, number: int) -> None:
        """See ``Journal``."""
        self._intents[number] = self._intents[number]._replace(is_ready=True)

    def back(self, number: int, left: tuple[VaultPath, ...]) -> None:
        """See ``Journal``."""
        self._intents[number] = self._intents[number]._replace(left=left)

    def end(self, number: int, ending: Ending) -> None:
        """See ``Journal``."""
        self._endings[number] = ending

    def changes(self) -> list[Change]:
        """See ``Journal``."""
        changes = [_to_change(intent) for intent in self._intents.values()]
        return _to_changes(changes, self._endings, len(changes))

    def load(self, number: int) -> Detailed | None:
        """See ``Journal``."""
        change = next((change for change in self.changes() if change.id == number), None)
        return _detailed(change, self._intents[number]) if change else None


class FolderJournal:
    """A journal in a folder of its own, outside the vault. Safe to read from several threads."""

    def __init__(self, folder: str, vault: str, retention: Retention) -> None:
        """``vault`` is the vault's path, for a person who looks into the folder."""
        self._folder = folder
        self._vault = vault
        self._retention = retention
        self._lock = threading.Lock()
        self._segments: dict[int, Segment] = {}
        self._records: dict[int, tuple[Segment, Record]] = {}
        self._changes: dict[int, Change] = {}
        self._endings: dict[int, Ending] = {}
        self._last: Segment | None = None  # the one to append to, once it is known
        self._ready: set[int] = set()
        self._left: dict[int, tuple[VaultPath, ...]] = {}
        self._last_id = 0  # of the last change there was, whether its record is read or not
        self._floor = 0  # no lower number, and not this one, is given to a change

    # ------------------------------------------------------------------ writing, under the vault's lock

    def catch_up(self) -> Intent | None:
        """See ``Journal``. Costs two looks at the disk if nothing has happened since."""
        with self._lock:
            if self._has_grown():
                self._find_last()
            number = self._last_id
            if number not in self._records or number in self._endings:  # only the last one can be open
                return None
            segment, record = self._records[number]
            if segment.damaged_at >= record.start:  # perhaps it is not the last one, and what became of it is lost
                self._end(number, Ending(is_undone=False))
                return None
            payload = segment.payload(record)
            if payload is not None:
                intent = parse_intent(record.header, payload)
                return intent._replace(is_ready=number in self._ready, left=self._left.get(number))
            # It was torn before it was synced, so the change never began.
            self._end(number, Ending(is_undone=True))
            return None

    def next_id(self) -> int:
        """See ``Journal``."""
        return self._taken() + 1

    def begin(self, intent: Intent) -> None:
        """See ``Journal``."""
        with self._lock:
            if self._last is None or not self._last.is_usable():
                self._begin_segment()
                remove_old(self._folder, self._retention)
            self._append(to_record(intent), sync=True)

    def ready(self, number: int) -> None:
        """See ``Journal``. Not synced: it tells of kills, and for power cuts the files themselves must do."""
        with self._lock:
            self._note({"kind": "ready", "id": number})

    def back(self, number: int, left: tuple[VaultPath, ...]) -> None:
        """See ``Journal``."""
        with self._lock:
            self._note({"kind": "back", "id": number, "left": list(left)})

    def end(self, number: int, ending: Ending) -> None:
        """See ``Journal``. Not synced: the files themselves show what became of the last change."""
        with self._lock:
            self._end(number, ending)

    def _end(self, number: int, ending: Ending) -> None:
        self._note({"kind": "undone" if ending.is_undone else "done", "id": number, "left": list(ending.left)})

    def _note(self, header: dict[str, Any]) -> None:
        if self._last is None or self._last.size() != self._last.end:  # torn by a kill
            self._begin_segment()
        self._append(frame(header), sync=False)

    def _append(self, data: bytes, *, sync: bool) -> None:
        assert self._last is not None
        if self._last.end == 0:
            # Says what came before, so that nobody need look there.
            header = {"kind": "segment", "time": time.time_ns(), "last": self._last_id, "vault": self._vault}
            data = frame({**header, "taken": self._floor}) + data
        self._last.append(data, sync=sync)
        self._take_up(self._last)

    def _taken(self) -> int:
        """Return the highest number that was given, perhaps to a change that cannot be read any more: none is given twice."""
        return max(self._floor, self._last_id + (0 if self._last is None else self._last.lost))

    def _begin_segment(self) -> None:
        self._floor = self._taken()
        number = 1 if self._last is None else self._last.number + 1
        self._last = self._segments[number] = Segment(self._folder, number)

    def _has_grown(self) -> bool:
        last = self._last
        return last is None or last.size() != last.end or os.path.exists(Segment(self._folder, last.number + 1).path)

    def _find_last(self) -> None:
        """Read as many of the last segments as it takes to know the last change, and whether it is open: mostly one."""
        numbers = segment_numbers(self._folder)
        for number in reversed(numbers):
            segment = self._segment(number)
            self._take_up(segment)
            if number == numbers[-1]:
                self._last = segment
            if self._last_id in self._records or self._last_id in self._endings:
                break

    # ------------------------------------------------------------------ reading

    def changes(self) -> list[Change]:
        """See ``Journal``."""
        with self._lock:
            self._read_all()
            return _to_changes(
                [self._changes[number] for number in sorted(self._changes)], self._endings, self._last_id
            )

    def load(self, number: int) -> Detailed | None:
        """See ``Journal``."""
        change = next((change for change in self.changes() if change.id == number), None)
        if change is None:
            return None
        with self._lock:
            segment, record = self._records[number]
            payload = segment.payload(record)
        return None if payload is None else _detailed(change, parse_intent(record.header, payload))

    def _read_all(self) -> None:
        numbers = segment_numbers(self._folder)
        for number in self._segments.keys() - set(numbers):
            if self._last is None or number != self._last.number:
                self._forget(self._segments.pop(number))
        for number in numbers:
            self._take_up(self._segment(number))

    def _segment(self, number: int) -> Segment:
        return self._segments.setdefault(number, Segment(self._folder, number))

    def _take_up(self, segment: Segment) -> None:
        for record in segment.read_on():
            header = record.header
            number = header.get("id", 0)
            if header["kind"] == "segment":
                number = header["last"]
                self._floor = max(self._floor, header.get("taken", 0))
            elif header["kind"] == "intent":
                self._records[number] = segment, record
                self._changes[number] = _to_change(parse_intent(header, None))
            elif header["kind"] == "ready":
                self._ready.add(number)
            elif header["kind"] == "back":
                self._left[number] = tuple(header["left"])
            else:
                self._ready.discard(number)
                self._left.pop(number, None)
                self._endings[number] = Ending(header["kind"] == "undone", tuple(header["left"]))
            self._last_id = max(self._last_id, number)

    def _forget(self, segment: Segment) -> None:
        for number in [number for number, (its, _) in self._records.items() if its is segment]:
            del self._records[number], self._changes[number]
            self._endings.pop(number, None)


def _to_change(intent: Intent) -> Change:
    return Change(intent.id, intent.time_ns, intent.author, files_of(intent.steps), intent.undoes)


def _detailed(change: Change, intent: Intent) -> Detailed:
    return Detailed(change, intent.steps, tuple(site.content for site in intent.sites), intent.made)


def _to_changes(begun: list[Change], endings: dict[int, Ending], last: int) -> list[Change]:
    """Return of the changes, given in the order of their ids, those that were not taken back as if they had not been.

    ``last`` is the last number given. Only that change can be open: what became of an earlier one was written down, and
    where it cannot be read any more, the change was most likely made.
    """
    found = []
    undone_by: dict[int, int] = {}
    for change in reversed(begun):
        ending = endings.get(change.id) or (Ending(is_undone=False) if change.id < last else None)
        if ending is None or (ending.is_undone and not ending.left):
            continue
        found.append(change._replace(undone_by=undone_by.get(change.id), left=ending.left))
        # An undoing that was undone itself does not hold any more.
        if change.undoes is not None and change.id not in undone_by and not ending.is_undone:
            undone_by[change.undoes] = change.id
    return found[::-1]
