"""Is a recorded history of reads and ``if_match`` writes of one note linearizable?

A history is linearizable if each call can be given one moment between its beginning and its end, so that the calls, done one
after another in that order, give the same answers (Herlihy and Wing, 1990). The search is Wing and Gong's with Lowe's memory
of what was tried (G. Lowe, "Testing for linearizability", 2017). A note is a register that is compared and set, so a call
that changes nothing may be placed as soon as it fits: only the order of writes is searched.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

NEVER = float("inf")


class Call(NamedTuple):
    """A call on the note. ``began`` and ``ended`` are moments of one clock; ``ended`` is NEVER if no answer came.

    A read has ``new`` None, and ``text`` is what it has read. A write puts ``new`` where the note is ``text``. ``done`` says
    whether it did; False means that the note was another. A write without an answer may be done at any time after its
    beginning, or never.
    """

    client: int
    began: float
    ended: float
    text: str
    new: str | None = None
    done: bool = True

    @property
    def has_no_effect(self) -> bool:
        """Whether it leaves the note as it is."""
        return self.new is None or not self.done

    def fits(self, note: str) -> bool:
        """Return whether its answer is right if the note is this."""
        return (note == self.text) == self.done


def misfit(history: Sequence[Call], first: str) -> str | None:
    """Return None if the history is linearizable from the text ``first`` on, else in words where every order ends."""
    heard = [call for call in history if call.ended != NEVER or call.new is not None]
    calls = sorted(heard, key=lambda call: call.began)
    owed = sum(1 << number for number, call in enumerate(calls) if call.ended != NEVER)
    tried: set[tuple[int, str]] = set()
    best: tuple[int, list[Call], str] = (-1, [], first)
    waiting = [(0, first)]
    while waiting:
        placed, note = waiting.pop()
        placed, candidates = _settle(calls, placed, note)
        if placed & owed == owed:
            return None
        if (placed, note) in tried:
            continue
        tried.add((placed, note))
        if placed.bit_count() > best[0]:
            best = placed.bit_count(), [calls[number] for number in candidates], note
        # The last one is tried first: the call that began first.
        for number in reversed(candidates):
            call = calls[number]
            if not call.has_no_effect and call.text == note and call.new is not None:
                waiting.append((placed | 1 << number, call.new))
    count, candidates_then, note = best
    return f"after {count} of {len(calls)} calls the note is {note!r}, and none of these can be next: {candidates_then}"


def _settle(calls: Sequence[Call], placed: int, note: str) -> tuple[int, list[int]]:
    """Place each call without effect that may be next and fits. Return what is placed then, and the calls that may be next."""
    while True:
        candidates, bound = [], NEVER
        for number, call in enumerate(calls):
            if call.began > bound:
                break
            if not placed >> number & 1:
                candidates.append(number)
                bound = min(bound, call.ended)
        # A candidate began before all others ended.
        candidates = [number for number in candidates if calls[number].began <= bound]
        quiet = [number for number in candidates if calls[number].has_no_effect and calls[number].fits(note)]
        if not quiet:
            return placed, candidates
        for number in quiet:
            placed |= 1 << number
