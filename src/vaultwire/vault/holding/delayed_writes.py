"""Writes of one session to one note in quick succession, kept together into one write to the disk.

A policy asks for it (``write_quiet_seconds``), so that a sync program does not upload a note after each of an agent's edits.
A write that is kept back is in the store, as a proposal is, before its caller is answered: a killed process loses nothing. But
nobody decides about it. It is written when its note was quiet for so long, at the end of the program, and before anything
else changes the vault or its session asks for more than the text of a note. What another program has saved meanwhile is merged
(``projected_tree.rebase``). Where both changed the same, the write becomes a proposal: nothing is overwritten, nothing dropped.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from vaultwire.vault.changes.change import Author, Change, Step, Write, files_of, paths_of
from vaultwire.vault.changes.executor import Changes
from vaultwire.vault.changes.projected_tree import simplified
from vaultwire.vault.disk.paths import is_note
from vaultwire.vault.errors import JOURNAL_FAILED, POLICY_DENIED, STALE_EDIT, WRITE_FAILED, Stopped, VaultError
from vaultwire.vault.holding.holding import Holding
from vaultwire.vault.holding.proposals import Decision, Proposal
from vaultwire.vault.holding.sessions import is_of
from vaultwire.vault.holding.words import named
from vaultwire.vault.value_types import NoProgress

if TYPE_CHECKING:
    from vaultwire.vault.caller import Caller

TEXT_TOOLS = frozenset({"read_notes", "read_note", "edit_note", "write_note", "set_properties", "set_task"})
"""Tools that ask for nothing but the text of notes that they name. All others need what is on the disk and in the index."""

# A note that is edited all the time is written all the same after so many quiet times.
_MOST_TIMES = 10
# Another program may save the note between the look and the write.
_ATTEMPTS = 3
# How long the end of the program waits for another process that changes the vault. What stays is written by the next one.
_CLOSING_SECONDS = 5.0
# The disk is full, or this run may not write there: it stays, for a later attempt or another process.
_LATER = {JOURNAL_FAILED, WRITE_FAILED, POLICY_DENIED}


class _Until(NoProgress):
    """Stops work that waits beyond a moment."""

    def __init__(self, moment: float) -> None:
        self._moment = moment

    def check(self) -> None:
        """Raise Stopped after the moment."""
        if time.monotonic() > self._moment:
            raise Stopped


class DelayedWrites:
    """The writes of one vault that are kept back, of any process. Safe to use from several threads."""

    def __init__(self, changes: Changes, holding: Holding, quiet_seconds: float = 0) -> None:
        """``quiet_seconds``: how long a note must be quiet before it is written; 0 to keep nothing back."""
        self._changes = changes
        self._holding = holding
        self._proposals = holding.proposals
        self.quiet_seconds = quiet_seconds
        self._woken = threading.Condition()
        self._due: dict[
            int, tuple[float, float]
        ] = {}  # by the row: when it was first kept back, and when it is written
        self._is_running = False

    @property
    def is_on(self) -> bool:
        """Whether writes are kept back: the policy asks for it, and a thread is there that writes them."""
        return self._is_running and self.quiet_seconds > 0

    def may_keep(self, steps: Sequence[Step]) -> bool:
        """Tell whether these steps are an edit of one note, which is what is kept back."""
        return self.is_on and len(steps) == 1 and _is_edit(steps[0])

    # ------------------------------------------------------------------ under the vault's lock

    def keep(self, caller: Caller, author: Author, step: Write) -> Change:
        """Keep an edit back, together with those of this session before it; return the change, with the id 0.

        Raises VaultError: STALE_EDIT if it was not made from what the session sees, TOO_MANY_WAITING, JOURNAL_FAILED.
        """
        earlier: Proposal | None = None
        steps: list[Step] = [step]
        for row in self.rows_of(caller):
            if [step.path] == [path for each in row.steps for path in paths_of(each)]:
                now = self._holding.rebased(row)
                if now.overlaps:  # the session does not see it any more
                    self._offer(row)
                    continue
                earlier, steps = row, simplified([*now.steps, step])
        if len(steps) > 1:
            raise VaultError(STALE_EDIT, f"{step.path!r} was changed by another program meanwhile.", path=step.path)
        now_ns = time.time_ns()
        if steps:
            try:
                if earlier is None:
                    row = self._proposals.add("delayed", author, steps, author.tool)
                else:
                    row = self._proposals.replace(earlier, "delayed", author, steps)
            except OSError as error:
                raise VaultError(
                    JOURNAL_FAILED, f"The change cannot be recorded ({error.strerror or error})."
                ) from error
            self._expect(row.id, None if earlier is None else earlier.id)
        elif earlier is not None:  # together they change nothing
            self._remove(earlier)
        return Change(0, now_ns, author, files_of((step,)))

    def rows_of(self, caller: Caller) -> list[Proposal]:
        """Return what is kept back of a session."""
        return [row for row in self._rows() if is_of(row.author, caller)]

    def write_out(self, but_of: Caller | None = None, only: Sequence[int] | None = None) -> None:
        """Write what is kept back, of any process; not of the session ``but_of``; ``only`` these rows.

        What cannot be written now stays, or becomes a proposal.
        """
        for row in self._rows():
            if (but_of is None or not is_of(row.author, but_of)) and (only is None or row.id in only):
                self._write(row)

    def _rows(self) -> list[Proposal]:
        """Return what is kept back and may be seen by this run, the oldest first; nothing where the store cannot be read."""
        try:
            return self._holding.visible(self._proposals.delayed())
        except (OSError, VaultError):
            return []

    def _write(self, row: Proposal) -> None:
        """Write a row to its note, merged with what is there."""
        if row.state == "accepted":  # a process was killed after it had written it
            self._remove(row)
            return
        for _ in range(_ATTEMPTS):
            try:
                now = self._holding.rebased(row)
                if not now.overlaps:
                    self._changes.execute(now.steps, row.author, proposal=row.id)
                    self._remove(row)
                    return
            except VaultError as error:
                if error.code in _LATER:
                    return
            except OSError:
                return
        self._offer(row)

    def _offer(self, row: Proposal) -> None:
        """Make a proposal of a row, for the person, and tell its session."""
        with suppress(OSError, VaultError):  # else it stays a row
            proposal = self._proposals.replace(row, "write", row.author, row.steps)
            text = (
                f"Not written: {named(files_of(row.steps))}. The same place was changed by another program in the seconds "
                f"after your call. Your version waits for the person as proposal {proposal.id}. Read the note again before you "
                "edit it."
            )
            author = row.author
            self._holding.decisions.add(
                Decision("offered", author.session, author.client, proposal=proposal.id, text=text)
            )
        self._forget(row.id)

    def _remove(self, row: Proposal) -> None:
        with suppress(OSError):  # a full disk: the journal says that it is made, so it is not made again
            self._proposals.remove(row.id)
        self._forget(row.id)

    # ------------------------------------------------------------------ when

    def write_all(self, only: Sequence[int] | None = None, seconds: float = _CLOSING_SECONDS) -> None:
        """Write what is kept back, as ``write_out``, taking the vault's lock, for which it waits so long."""
        if self._rows():
            with suppress(VaultError, Stopped), self._changes.locked(_Until(time.monotonic() + seconds)):
                self.write_out(only=only)

    def write_own(self, caller: Caller) -> None:
        """Write what is kept back of a session, taking the vault's lock."""
        rows = [row.id for row in self.rows_of(caller)]
        if rows:
            self.write_all(rows)

    def run_beside(self, watch: Callable[[], None]) -> None:
        """Run the watch loop of the index; meanwhile write what is due, on a thread of its own, and in the end all."""
        if self._changes.recovers:
            self.write_all()  # what a killed process has left
        if not self.quiet_seconds:
            watch()
            return
        self._is_running = True
        writer = threading.Thread(target=self._run, name="vaultwire-delayed-writes")
        writer.start()
        try:
            watch()
        finally:
            self.close()
            writer.join()

    def close(self) -> None:
        """Write all, and keep nothing back any more. Safe from any thread."""
        with self._woken:
            is_running, self._is_running = self._is_running, False
            self._woken.notify_all()
        if is_running:
            self.write_all()

    def _run(self) -> None:
        while (rows := self._wait()) is not None:
            self.write_all(rows, self.quiet_seconds)
            stays = {row.id for row in self._rows()}
            moment = time.monotonic() + self.quiet_seconds
            with self._woken:
                for row in rows:
                    first, _ = self._due.pop(row, (moment, moment))
                    if row in stays:  # it is tried again
                        self._due[row] = first, moment

    def _wait(self) -> list[int] | None:
        """Wait until something is due; return its rows, None at the end."""
        with self._woken:
            while self._is_running:
                now = time.monotonic()
                if rows := [row for row, (_, moment) in self._due.items() if moment <= now]:
                    return rows
                self._woken.wait(min((moment - now for _, moment in self._due.values()), default=None))
        return None

    def _expect(self, row: int, earlier: int | None) -> None:
        now = time.monotonic()
        with self._woken:
            first, _ = self._due.pop(earlier or 0, (now, now))
            self._due[row] = first, min(now + self.quiet_seconds, first + _MOST_TIMES * self.quiet_seconds)
            self._woken.notify_all()

    def _forget(self, row: int) -> None:
        with self._woken:
            self._due.pop(row, None)


def _is_edit(step: Step) -> bool:
    return isinstance(step, Write) and step.old is not None and step.new is not None and is_note(step.path)
