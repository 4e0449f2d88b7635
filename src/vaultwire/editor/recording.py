"""Records in the journal what clients have written after their diff was accepted. It writes no file of the vault.

An editor's client writes the file itself, a moment after it is answered. The bytes before are those that its proposal was made
from, so the record can be made, also by the next process, as soon as the file holds the new text.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from vaultwire.vault.disk.note_text import plain_text
from vaultwire.vault.errors import STALE_EDIT, VaultError
from vaultwire.vault.holding.holding import Holding, diff_of
from vaultwire.vault.holding.proposals import Proposal

# A client writes within a second of the answer. One that was suspended, or asks the person again, may take longer.
_SECONDS = 180.0
# Of a diff that is closed without an answer from here. The person may have accepted it in the terminal.
_TERMINAL_SECONDS = 30.0
# A file is not read half-written: another text than the accepted one must stay for so long.
_SETTLED_SECONDS = 1.0
# Another text that comes later than this is not the client's: the person may have edited the note.
_OTHER_SECONDS = 10.0
_NS = 1_000_000_000
_BOM = b"\xef\xbb\xbf"


class _Expected(NamedTuple):
    """A write that may come since the moment ``began``: ``text`` without BOM and with ``\\n``. ``until`` it is waited for.

    ``other`` is a text that was found instead of it, since ``since``.
    """

    proposal: Proposal
    text: str
    began: float
    until: float
    other: bytes | None = None
    since: float = 0.0


class Recorder:
    """The writes that are waited for. Safe to use from several threads."""

    def __init__(self, holding: Callable[[], Holding]) -> None:
        self._holding = holding
        self._lock = threading.Lock()
        self._expected: dict[int, _Expected] = {}

    def expect(self, proposal: Proposal, seconds: float | None = None) -> None:
        """Wait for the write of a diff that was accepted, or that was withdrawn because it was answered in the terminal."""
        if proposal.outside:  # its content must not be read
            return
        step = diff_of(proposal)
        data = (step.after or b"") if proposal.edited_text is None else proposal.edited_text.encode("utf-8", "replace")
        now = time.monotonic()
        if seconds is None:
            seconds = _SECONDS if proposal.state == "accepted" else _TERMINAL_SECONDS
        expected = _Expected(proposal, plain_text(data), now, now + seconds)
        if step.before is not None and plain_text(step.before) == expected.text:
            return
        with self._lock:
            self._expected[proposal.id] = expected

    def resume(self, proposal: Proposal) -> None:
        """Wait for the write of a diff that was accepted a short time ago, while another process was the bridge."""
        left = _SECONDS - (time.time_ns() - proposal.decided_ns) / _NS
        if 0 < left <= _SECONDS and not self._holding().is_recorded(proposal.id):
            self.expect(proposal, left)

    def look(self, *, is_last: bool = False) -> None:
        """Record the writes that have been made. ``is_last``: nobody looks again, so nothing is waited for."""
        with self._lock:
            waiting = list(self._expected.values())[::-1]
        # The latest first: one write is recorded once, for the proposal that was answered last.
        for expected in waiting:
            if expected.proposal.id not in self._expected:
                continue
            after = self._look_at(expected, is_last=is_last)
            with self._lock:
                if after is None:
                    self._expected.pop(expected.proposal.id, None)
                elif self._expected.get(expected.proposal.id) is expected:
                    self._expected[expected.proposal.id] = after

    def _look_at(self, expected: _Expected, *, is_last: bool) -> _Expected | None:
        """Return what to wait for from now on, None for nothing."""
        step = diff_of(expected.proposal)
        now = time.monotonic()
        try:
            data = self._holding().bytes_at(step.path)
            if data is not None and data != step.before:
                if plain_text(data) == expected.text:
                    self._record(expected, data)
                    return None
                is_client = expected.proposal.state == "accepted" and now - expected.began <= _OTHER_SECONDS
                if expected.other != data:
                    expected = expected._replace(other=data, since=now)
                elif is_client and now - expected.since >= _SETTLED_SECONDS:
                    self._record(expected, data)
                    return None
        except VaultError as error:
            # Else it may not be read any more, or the journal cannot be written: nothing can be recorded.
            if error.code != STALE_EDIT:
                return None
        return expected if now < expected.until and not is_last else None

    def _record(self, expected: _Expected, data: bytes) -> None:
        self._holding().record(expected.proposal, data)
        path = diff_of(expected.proposal).path
        with self._lock:  # a write that comes later is of a diff that comes later
            self._expected = {n: each for n, each in self._expected.items() if diff_of(each.proposal).path != path}


def restyled(text: str, before: bytes | None) -> str:
    """Return a client's text with the BOM and the line ends of the file: clients send ``\\n`` for any."""
    if before is None:
        return text
    if before.startswith(_BOM) and not text.startswith("\ufeff"):
        text = f"\ufeff{text}"
    elif not before.startswith(_BOM):
        text = text.removeprefix("\ufeff")
    crlf = before.count(b"\r\n")
    return text.replace("\n", "\r\n") if "\r" not in text and crlf and crlf * 2 > before.count(b"\n") else text
