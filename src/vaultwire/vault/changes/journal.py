"""The journal of one vault, a write-ahead log: the changes that were made, and the one that is open.

One process at a time writes it, under the vault's lock (``changes.executor``). Any process may read it at any time. The files
it consists of are ``journal_segments``' matter.
"""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Hashable, Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

from vaultwire.vault.changes.change import Change, DetailedChange, FileChange, Intent, PriorState, Step, Write
from vaultwire.vault.changes.journal_records import (
    author_in,
    files_in,
    frame,
    parse_intent,
    parse_steps,
    to_records,
    undone_in,
)
from vaultwire.vault.changes.journal_segments import Retention, Segment, remove_old, segment_numbers
from vaultwire.vault.disk.contents import Content
from vaultwire.vault.value_types import Stages, VaultPath


class Ending(NamedTuple):
    """How a change ended: done, or undone because it failed or was killed half-way. ``unrestored`` as in ``Change``."""

    is_undone: bool
    unrestored: tuple[VaultPath, ...] = ()


class Journal:
    """The journal in one folder, outside the vault. Safe to read from several threads.

    The methods up to ``end`` are for the holder of the vault's lock. All of them raise OSError.
    """

    def __init__(self, folder: str, vault: str, retention: Retention) -> None:
        """``vault`` is the vault's path, for a person who looks into the folder."""
        self._folder = folder
        self._vault = vault
        self._retention = retention
        self._lock = threading.RLock()
        self._segments: dict[int, Segment] = {}
        self._records: dict[int, tuple[Segment, tuple[int, ...]]] = {}  # the positions of a change's records
        self._changes: dict[int, Change] = {}
        self._listed: list[Change] | None = (
            None  # what ``changes`` returned last; None once a record was added or removed
        )
        self._of_proposals: dict[int, list[int]] = {}  # the changes that began for a proposal
        self._endings: dict[int, Ending] = {}
        self._last: Segment | None = None  # the one to append to, once it is known
        self._ready: set[int] = set()
        self._unrestored: dict[int, tuple[VaultPath, ...]] = {}  # of changes that are rolled back and not ended
        self._last_id = 0  # of the last change there was, whether its record is read or not
        self._floor = 0  # every new change gets a higher number than this

    # ------------------------------------------------------------------ writing, under the vault's lock

    def catch_up(self) -> Intent | None:
        """Read what other processes wrote, and return the change that one of them left open.

        Costs two looks at the disk if nothing has been written since.
        """
        with self._lock:
            if self._has_grown():
                self._find_last()
            number = self._last_id
            if number not in self._records or number in self._endings:  # only the last one can be open
                return None
            segment, positions = self._records[number]
            if segment.damaged_at > positions[-1]:  # perhaps its ending, or a later change, is lost in the damage
                self.end(number, Ending(is_undone=False))
                return None
            intent = self._intent(number)
            if intent is not None:
                return intent._replace(is_ready=number in self._ready, unrestored=self._unrestored.get(number))
            # It was torn before it was synced, so the change never began.
            self.end(number, Ending(is_undone=True))
            return None

    def next_id(self) -> int:
        """Return the number of the next change."""
        return self._highest_id() + 1

    def begin(self, intent: Intent, stages: Stages) -> None:
        """Record, synced to disk, that a change begins. From now on its contents are read from there."""
        with self._lock:
            is_first = self._last is None or not self._last.is_usable()
            if is_first:
                self._begin_segment()
            self._append(to_records(intent, stages), sync=True)
            if is_first:  # not before: a change may be what another one is undone with
                remove_old(self._folder, self._retention)
            segment, positions = self._records[intent.id]
        steps = zip(intent.steps, intent.priors, strict=True)
        for recorded in map(segment.recorded, positions):
            if recorded is None:
                raise OSError(errno.EIO, os.strerror(errno.EIO), self._folder)
            for there in parse_steps(recorded):
                for our, its in zip(_contents(*next(steps)), _contents(*there), strict=True):
                    if our is not None and its is not None:
                        our.keep_like(its)

    def add_made(self, intent: Intent, stages: Stages) -> None:
        """Record, synced to disk, a change that is made already, with its end."""
        with self._lock:
            if self._last is None or not self._last.is_usable():
                self._begin_segment()
            ending = frame({"kind": "done", "id": intent.id, "left": []})
            self._append(chain(to_records(intent, stages), [ending]), sync=True)

    def mark_ready(self, number: int) -> None:
        """Record that a change's first step is next. Not synced: after a power cut, the files themselves must tell."""
        self._append_header({"kind": "ready", "id": number})

    def mark_rolled_back(self, number: int, unrestored: tuple[VaultPath, ...]) -> None:
        """Record that all steps of a change are rolled back, but for the files ``unrestored``. Not synced."""
        self._append_header({"kind": "back", "id": number, "left": list(unrestored)})

    def end(self, number: int, ending: Ending) -> None:
        """Record how a change ended. Not synced: the files themselves tell how the last change ended."""
        kind = "undone" if ending.is_undone else "done"
        self._append_header({"kind": kind, "id": number, "left": list(ending.unrestored)})

    def _append_header(self, header: dict[str, Any]) -> None:
        with self._lock:
            if self._last is None or self._last.size() != self._last.end:  # a kill has torn its last record
                self._begin_segment()
            self._append([frame(header)], sync=False)

    def _append(self, records: Iterable[bytes], *, sync: bool) -> None:
        assert self._last is not None
        if self._last.end == 0:
            # The first record says what came before, so that the segments before need not be read.
            header = {"kind": "segment", "time": time.time_ns(), "last": self._last_id, "vault": self._vault}
            records = chain([frame({**header, "taken": self._floor})], records)
        self._last.append(records, sync=sync)
        self._read_new(self._last)

    def _highest_id(self) -> int:
        """Return the highest number ever given, perhaps to a change that cannot be read any more: none is given twice."""
        return max(self._floor, self._last_id + (0 if self._last is None else self._last.lost))

    def _begin_segment(self) -> None:
        self._floor = self._highest_id()
        number = 1 if self._last is None else self._last.number + 1
        self._last = self._segments[number] = Segment(self._folder, number)

    def _has_grown(self) -> bool:
        last = self._last
        return last is None or last.size() != last.end or os.path.exists(Segment(self._folder, last.number + 1).path)

    def _find_last(self) -> None:
        """Read segments, the last first, until the last change is known, and whether it is open: mostly one segment."""
        numbers = segment_numbers(self._folder)
        for number in reversed(numbers):
            segment = self._segment(number)
            self._read_new(segment)
            if number == numbers[-1]:
                self._last = segment
            if self._last_id in self._records or self._last_id in self._endings:
                break

    # ------------------------------------------------------------------ reading

    def stamp(self) -> Hashable:
        """Return a value that differs once a record was added or removed, by any process."""
        numbers = segment_numbers(self._folder)
        return (numbers[0], numbers[-1], Segment(self._folder, numbers[-1]).size()) if numbers else ()

    def changes(self) -> list[Change]:
        """Return the changes on record that left a trace in the vault, in the order of their ids."""
        with self._lock:
            self._read_all()
            if self._listed is None:  # 10,000 changes take 12 ms, and one look at the desk asks several times
                self._listed = self._ended_changes()
            return self._listed.copy()

    def made_of(self, proposals: Iterable[int]) -> dict[int, int]:
        """Return the changes that were made of these proposals, by the proposals' numbers; the open one is not yet made."""
        with self._lock:
            self._read_all()
            return {
                proposal: number
                for proposal in proposals
                for number in self._of_proposals.get(proposal, ())
                if number in self._changes and (ending := self._ending(number)) is not None and not ending.is_undone
            }

    def highest_proposal(self) -> int:
        """Return the highest number of a proposal for which a change on record began, 0 for none."""
        with self._lock:
            self._read_all()
            return max(self._of_proposals, default=0)

    def load(self, number: int) -> DetailedChange | None:
        """Return one of ``changes`` with its bytes, None if it is not on record any more."""
        return next(self.load_all([number]), None)

    def load_all(self, numbers: Iterable[int]) -> Iterator[DetailedChange]:
        """Yield those of ``changes`` with these numbers, with their bytes, without those that are not on record any more."""
        wanted = list(numbers)
        if not wanted:  # as of each change that undoes none: the list of 10,000 changes takes 10 ms
            return
        changes = {change.id: change for change in self.changes()}
        for number in wanted:
            with self._lock:
                intent = self._intent(number) if number in changes and number in self._records else None
            if intent is not None:
                contents = tuple(prior.content for prior in intent.priors)
                yield DetailedChange(changes[number], intent.steps, contents, intent.new_folders)

    def _intent(self, number: int) -> Intent | None:
        """Return the record of a change, None if any part of it is lost or damaged."""
        segment, positions = self._records[number]
        return parse_intent(segment.recorded(position) for position in positions)

    def _read_all(self) -> None:
        numbers = segment_numbers(self._folder)
        for number in self._segments.keys() - set(numbers):
            if self._last is None or number != self._last.number:
                self._forget(self._segments.pop(number))
        for number in numbers:
            self._read_new(self._segment(number))

    def _segment(self, number: int) -> Segment:
        return self._segments.setdefault(number, Segment(self._folder, number))

    def _read_new(self, segment: Segment) -> None:
        """Read the records that were added to a segment."""
        positions: list[int] = []  # of the parts of the change whose last record comes next
        files: list[FileChange] = []
        for record in segment.read_on():
            self._listed = None
            header = record.header
            number = header.get("id", 0)
            if header["kind"] == "segment":
                number = header["last"]
                self._floor = max(self._floor, header.get("taken", 0))
            elif header["kind"] == "part":
                positions.append(record.at)
                files += files_in(header)
                continue
            elif header["kind"] == "intent":
                self._records[number] = segment, (*positions, record.at)
                files += files_in(header)
                self._changes[number] = Change(
                    number,
                    header["time"],
                    author_in(header),
                    tuple(files),
                    undone_in(header),
                    proposal=header.get("proposal", 0),
                )
                if self._changes[number].proposal:
                    self._of_proposals.setdefault(self._changes[number].proposal, []).append(number)
            elif header["kind"] == "ready":
                self._ready.add(number)
            elif header["kind"] == "back":
                self._unrestored[number] = tuple(header["left"])
            else:
                self._ready.discard(number)
                self._unrestored.pop(number, None)
                self._endings[number] = Ending(header["kind"] == "undone", tuple(header["left"]))
            positions, files = [], []
            self._last_id = max(self._last_id, number)

    def _forget(self, segment: Segment) -> None:
        self._listed = None
        for number in [number for number, (its, _) in self._records.items() if its is segment]:
            del self._records[number], self._changes[number]
            self._endings.pop(number, None)

    def _ended_changes(self) -> list[Change]:
        """Return the changes in the order of their ids, without the open one and those that were wholly rolled back.

        Only the last change can be open: the ending of an earlier one was recorded. Where that record cannot be read any
        more, the change was most likely made.
        """
        found = []
        undone_by: dict[int, int] = {}
        for number in sorted(self._changes, reverse=True):
            change = self._changes[number]
            ending = self._ending(number)
            if ending is None or (ending.is_undone and not ending.unrestored):
                continue
            found.append(change._replace(undone_by=undone_by.get(number), unrestored=ending.unrestored))
            # An undo that was undone itself does not hold any more.
            if number not in undone_by and not ending.is_undone:
                undone_by |= dict.fromkeys(change.undoes, number)
        return found[::-1]

    def _ending(self, number: int) -> Ending | None:
        """Return how a change ended, None for the open one."""
        return self._endings.get(number) or (Ending(is_undone=False) if number < self._last_id else None)


def _contents(step: Step, prior: PriorState) -> tuple[Content | None, ...]:
    return (step.old, step.new) if isinstance(step, Write) else (prior.content,)
