"""What was read from each note, kept as long as its file does not change: tags and links, not the text."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

from vaultwire.markdown.model import Link
from vaultwire.markdown.parse import parse_note
from vaultwire.vault.model import NoteStat, VaultPath

# A file changed this recently may change again without a new time: clocks of file systems tick every 4 ms (ext4) to 2 s
# (FAT). What such a file held is used once and not kept.
_SETTLED_NS = 2_000_000_000


class Facts(NamedTuple):
    """A note's tags as written, without ``#``, and its links in line order."""

    tags: list[str]
    links: list[Link]


NO_FACTS = Facts([], [])


class KeptFacts:
    """The facts of the notes that were asked for, kept by size, time and inode. Safe to use from several threads."""

    def __init__(self, read: Callable[[VaultPath], str | None]) -> None:
        """``read`` returns a note's text, None if it cannot be read."""
        self._read = read
        self._kept: dict[VaultPath, tuple[NoteStat, Facts]] = {}
        self._lock = threading.Lock()

    def of(self, note: NoteStat) -> Facts:
        """Return the note's facts; none of a note that cannot be read."""
        with self._lock:
            kept = self._kept.get(note.path)
        if kept is not None and kept[0] == note:
            return kept[1]
        text = self._read(note.path)
        if text is None:
            return NO_FACTS
        parsed = parse_note(text)
        facts = Facts(parsed.tags, parsed.links)
        if time.time_ns() - note.modified_ns > _SETTLED_NS:
            with self._lock:
                self._kept[note.path] = (note, facts)
        return facts

    def keep_only(self, notes: Iterable[NoteStat]) -> None:
        """Forget every note that is not among these."""
        there = {note.path for note in notes}
        with self._lock:
            for path in self._kept.keys() - there:
                del self._kept[path]
