"""The proposals of one vault: changes that wait for the person. On disk, so that any process can make and decide them.

A proposal is two files: one with its steps, written before its asker is answered, and one with the decision. Both are made
under a lock between processes and get their name by one rename: no proposal is decided twice, whatever the file system can.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from typing import NamedTuple

from vaultwire.vault.changes.change import Author, Step, Write
from vaultwire.vault.changes.journal_segments import KEEP, Retention
from vaultwire.vault.disk.file_operations import make_private, remove_quietly
from vaultwire.vault.disk.process_lock import ProcessLock
from vaultwire.vault.errors import TOO_MANY_WAITING, VaultError
from vaultwire.vault.holding.proposal_files import (
    DECIDED,
    PREFIX,
    TEMPORARY,
    DamagedProposal,
    Kind,
    Proposal,
    State,
    read_decision,
    read_proposal,
    write_decision,
    write_proposal,
)
from vaultwire.vault.value_types import NO_PROGRESS

__all__ = ["Kind", "Proposal", "ProposalStore", "State"]

# Steps of proposals that are kept in memory, about 1 KB each. Beyond, the oldest decided ones are read again when needed.
_MOST_STEPS = 30_000
_NS_PER_DAY = 86_400 * 1_000_000_000
# Old proposals are looked for when a process adds its first one, and then after so many: it is a look at each file.
_ADDED_BETWEEN = 200
_LOG = "log"


class Room(NamedTuple):
    """How many proposals may wait, and how many bytes their files may have together."""

    number: int
    size: int


ROOM_OF_CLIENT = Room(200, 100_000_000)
"""For each client: more than a person decides in a week. One write of the largest note takes 20 MB."""
ROOM = Room(1_000, 300_000_000)
"""For all clients together, because a client without a key can give itself any name."""


class ProposalStore:
    """The proposals in one folder, which need not exist yet. Safe to use from several threads and processes."""

    def __init__(
        self,
        folder: str,
        retention: Retention = KEEP,
        *,
        of_client: Room = ROOM_OF_CLIENT,
        of_all: Room = ROOM,
        made_of: Callable[[Collection[int]], Mapping[int, int]] = lambda _: {},
        highest_made: Callable[[], int] = lambda: 0,
    ) -> None:
        """``made_of`` returns the changes on record that were made of these proposals, by the proposals' numbers.

        A process may be killed after an accepted proposal was executed and before that is written here: the journal knows.
        ``of_client``, ``of_all``: how much may wait, of one client and together.
        ``highest_made``: no change on record was made of a proposal with a higher number, so new ones get higher numbers.
        """
        self._folder = folder
        self._retention = retention
        self._of_client, self._of_all = of_client, of_all
        self._made_of = made_of
        self._highest_made = highest_made
        self._known: dict[int, Proposal] = {}
        self._steps = 0
        self._damaged: set[int] = set()
        self._reading = threading.RLock()
        self._writing = threading.Lock()
        self._process_lock = ProcessLock(os.path.join(folder, "lock"), "another process decides", needed=True)
        self._until_cleaning = 0
        self._listed: tuple[Hashable, list[int], set[int]] | None = None

    # ------------------------------------------------------------------ writing

    def add(
        self,
        kind: Kind,
        author: Author,
        steps: Sequence[Step],
        label: str = "",
        outside: str = "",
        undoes: tuple[int, ...] = (),
        time_ns: int = 0,
    ) -> Proposal:
        """Add a proposal; it is on the disk, with all its bytes, when this returns. ``time_ns``: when it was made, if it
        is what a person has left of an earlier one, whose room it takes.

        Raises OSError, and VaultError: STALE_EDIT if the notes are not what the steps were made from any more,
        TOO_MANY_WAITING.
        """
        with self._locked():
            self._clean_up()
            if not time_ns:
                self._check_room(author.client, steps)
            number = max((*self._list()[0], self._highest_made()), default=0) + 1
            time_ns = time_ns or time.time_ns()
            made = Proposal(number, time_ns, kind, author, label, tuple(steps), outside=outside, undoes=undoes)
            write_proposal(self._path(number), made)
            self._log(number)
        return self.get(number) or made

    def decide(
        self,
        number: int,
        state: State,
        *,
        reason: str = "",
        change: int | None = None,
        is_edited: bool = False,
        edited_text: str | None = None,
    ) -> bool:
        """Decide a proposal; False if it is decided already, or gone. Raises OSError."""
        if self.get(number) is None:
            return False
        with self._locked():
            path = self._path(number) + DECIDED
            if os.path.exists(path):
                return False
            fields = {"state": state, "reason": reason, "change": change, "is_edited": is_edited}
            if edited_text is not None:
                fields["edited_text"] = edited_text
            write_decision(path, {**fields, "decided_ns": time.time_ns()})
            self._log(number)
        return True

    def used_room(self) -> dict[str, Room]:
        """Return what waits of each client: how many proposals, and the bytes of their files. Raises as ``all`` does."""
        used: dict[str, Room] = {}
        for each in self.waiting():
            number, size = used.get(each.author.client, Room(0, 0))
            with contextlib.suppress(FileNotFoundError):  # decided and removed by another process meanwhile
                used[each.author.client] = Room(number + 1, size + os.stat(self._path(each.id)).st_size)
        return used

    def _check_room(self, client: str, steps: Sequence[Step]) -> None:
        """Raise VaultError (TOO_MANY_WAITING) if no more of this client, or of all, may wait. Under the lock."""
        used = self.used_room()
        contents = [content for step in steps if isinstance(step, Write) for content in (step.old, step.new)]
        size = sum(content.size for content in contents if content is not None)
        own = used.get(client, Room(0, 0))
        together = Room(sum(each.number for each in used.values()), sum(each.size for each in used.values()))
        for room, most, whose in ((own, self._of_client, "of yours"), (together, self._of_all, "of all clients")):
            if room.number >= most.number or room.size + size > most.size:
                raise VaultError(
                    TOO_MANY_WAITING,
                    f"This change must wait for the person, but {room.number} changes {whose} wait already, with "
                    f"{room.size / 1e6:.1f} MB; this has {size / 1e6:.1f} MB. At most {most.number} may wait, with "
                    f"{most.size // 1_000_000} MB. Nothing was written. The person has to decide some at the desk first, "
                    "or withdraw some of yours with pending_changes.",
                    waiting=room.number,
                    bytes=room.size,
                )

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        make_private(self._folder)
        with self._writing, self._process_lock.held(NO_PROGRESS):
            yield

    def _log(self, number: int) -> None:
        """Make ``stamp`` differ, also on a file system whose times are coarse."""
        with open(os.path.join(self._folder, _LOG), "ab") as file:
            file.write(b"%d\n" % number)

    def _clean_up(self) -> None:
        """Remove what killed processes left half written, and old decided proposals. Under the lock.

        A proposal that waits is never removed, and neither is the last one: its number must not be given twice.
        """
        self._until_cleaning -= 1
        if self._until_cleaning >= 0:
            return
        self._until_cleaning = _ADDED_BETWEEN
        numbers, decided = self._list()
        with os.scandir(self._folder) as entries:
            stats = {entry.name: entry.stat() for entry in entries if entry.is_file()}
        for name in stats:
            if name.endswith(TEMPORARY):
                remove_quietly(os.path.join(self._folder, name))
        total, oldest = 0, time.time_ns() - self._retention.days * _NS_PER_DAY
        for number in sorted(decided & set(numbers[:-1]), reverse=True):
            name = _name(number)
            total += stats[name].st_size if name in stats else 0
            when = stats[name + DECIDED].st_mtime_ns if name + DECIDED in stats else oldest
            if when < oldest or total > self._retention.total_bytes:
                # In this order: without its decision it would wait again.
                remove_quietly(self._path(number))
                self._forget(number)
        for number in decided - set(self._list()[0]):
            remove_quietly(self._path(number) + DECIDED)

    # ------------------------------------------------------------------ reading

    def all(self) -> list[Proposal]:
        """Return the proposals, the oldest first. Those that are known are not read again. Raises OSError, VaultError."""
        numbers, decided = self._names()
        with self._reading:
            self._damaged &= set(numbers)
            for number in self._known.keys() - set(numbers):
                self._forget(number)
            found = [each for number in numbers if (each := self._read(number, number in decided)) is not None]
        return self._with_made(found)

    def waiting(self) -> list[Proposal]:
        """Return the proposals that wait, the oldest first; reads no others. Raises as ``all`` does."""
        numbers, decided = self._names()
        with self._reading:
            open_ones = [each for number in numbers if number not in decided and (each := self._read(number, False))]
        return [each for each in self._with_made(open_ones) if each.state == "waiting"]

    def get(self, number: int) -> Proposal | None:
        """Return one proposal, None if there is none of this number, or it cannot be read. Raises as ``all`` does."""
        with self._reading:
            is_decided = os.path.exists(self._path(number) + DECIDED)
            found = self._read(number, is_decided)
        return None if found is None else self._with_made([found])[0]

    def unreadable(self) -> list[str]:
        """Return the paths of the files that ``all`` could not read: they are kept, and the person is told."""
        return [self._path(number) for number in sorted(self._damaged)]

    def stamp(self) -> Hashable:
        """Return a value that differs once a proposal was added or decided, by any process."""
        try:
            # The folder's time also tells of a process that was killed before it wrote the log.
            return os.stat(self._folder).st_mtime_ns, os.stat(os.path.join(self._folder, _LOG)).st_size
        except FileNotFoundError:
            return None

    def _read(self, number: int, is_decided: bool) -> Proposal | None:
        known = self._known.get(number)
        if known is None:
            try:
                known = read_proposal(self._path(number))
            except DamagedProposal:
                self._damaged.add(number)
                return None
            if known is None:
                return None
            self._damaged.discard(number)
            self._keep(known)
        if is_decided and known.state == "waiting":
            fields = read_decision(self._path(number) + DECIDED)
            if fields is not None:
                known = known._replace(**fields)
                if number in self._known:
                    self._known[number] = known
        return known

    def _keep(self, proposal: Proposal) -> None:
        self._known[proposal.id] = proposal
        self._steps += len(proposal.steps)
        while self._steps > _MOST_STEPS and len(self._known) > 1:
            self._forget(next(iter(self._known)))

    def _forget(self, number: int) -> None:
        with self._reading:
            known = self._known.pop(number, None)
            if known is not None:
                self._steps -= len(known.steps)

    def _with_made(self, proposals: list[Proposal]) -> list[Proposal]:
        """Say of proposals without a decision on disk that they were accepted, if the journal has the change."""
        undecided = [each.id for each in proposals if _may_be_made(each)]
        made = self._made_of(undecided) if undecided else {}
        if not made:
            return proposals
        return [
            each._replace(state="accepted", reason="", change=made[each.id])
            if each.id in made and _may_be_made(each)
            else each
            for each in proposals
        ]

    def _names(self) -> tuple[list[int], set[int]]:
        """Return the numbers there are in their order, and which of them are decided. Looks again if ``stamp`` differs."""
        stamp = self.stamp()  # before the look: what comes later makes it differ
        listed = self._listed
        if stamp is None or listed is None or listed[0] != stamp:
            listed = self._listed = stamp, *self._list()
        return listed[1], listed[2]

    def _list(self) -> tuple[list[int], set[int]]:
        """Look at the folder. What writes must not rely on ``stamp``: a killed process may have left it as it was."""
        try:
            names = os.listdir(self._folder)
        except FileNotFoundError:
            return [], set()
        numbers, decided = [], set()
        for name in names:
            digits = name.removeprefix(PREFIX)
            if digits.isdecimal() and name != digits:
                numbers.append(int(digits))
            elif digits.endswith(DECIDED) and digits.removesuffix(DECIDED).isdecimal():
                decided.add(int(digits.removesuffix(DECIDED)))
        return sorted(numbers), decided

    def _path(self, number: int) -> str:
        return os.path.join(self._folder, _name(number))


def _may_be_made(proposal: Proposal) -> bool:
    """Tell whether only the journal knows how it was decided: there is no decision, or it is damaged."""
    return proposal.state == "waiting" or (proposal.state == "refused" and not proposal.decided_ns)


def _name(number: int) -> str:
    return f"{PREFIX}{number:08d}"
