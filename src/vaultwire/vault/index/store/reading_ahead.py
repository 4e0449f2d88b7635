"""NoteContent very many notes with the help of a second process: reading and parsing them is more than half of a first build.

The two share the notes of each chunk: this process reads the first ones, the other meanwhile the last ones, so many that
neither waits for long. They take turns at the pipes, nothing is written to one that does not read, so they cannot wait
for each other. If the second process fails in any way, this one reads what is left: the same comes of it, only later.
"""

from __future__ import annotations

import contextlib
import gc
import marshal
import os
import sys
import time
from collections.abc import Generator, Sequence
from typing import IO, TYPE_CHECKING, Any

from vaultwire.vault.disk.files import Files
from vaultwire.vault.index.store.ngrams import NgramFilter
from vaultwire.vault.index.store.note_reader import NoteContent, NoteToRead, read_note
from vaultwire.vault.index.store.search_plan import BODY
from vaultwire.vault.visibility.visible_files import open_files

if TYPE_CHECKING:
    from subprocess import Popen

# A second process takes 0.1 to 0.2 s to start; alone, this one takes up so many in 0.4 to 1 s. Of 1,000 notes the build
# takes a sixth less with it.
_MANY = 800
# The second process's share of a chunk: of the first, for which it is late, of the next, as measured on two processors,
# and by what it changes at each sign of waiting.
_LATE_SHARE, _FIRST_SHARE, _STEP = 0.4, 0.7, 0.03
# Fetching the head of an answer that is there takes less, in seconds.
_NO_WAIT = 0.001
# So many characters of notes' text make an answer that leaves out the rest: hundreds of notes of 10 MB are too much for
# the memory.
_MOST_TEXT = 4_000_000
_ROW = 40
# Before each message stands its length; one above any there can be is nonsense.
_HEAD_BYTES = 8
_MOST_BYTES = 1 << 30
# Python looks through new objects for cycles at every 700, which takes a seventh of the time where nearly all of them are
# rows that wait to be written. A chunk's are 50,000.
_OBJECTS = 100_000
_USUAL = gc.get_threshold()[0]
# Modules come from where they came from here, and not from the folder this happens to run in, nor is anything loaded
# that is there for every start of Python.
_PROGRAM = f"import sys; sys.path[:] = sys.argv[1:]; from {__name__} import answer; answer()"


def read_all(
    files: Files, wanted: Sequence[NoteToRead], chunk: int, ngrams: NgramFilter, second: Second | None = None
) -> Generator[NoteContent | str, None, None]:
    """Yield what each of the notes holds, or why it cannot be read. To be closed, if it is not read to its end.

    The caller works on as many as ``chunk`` at a time: so the second process's share suits each chunk's work. ``ngrams``
    are those of the text index. ``second``: one that may have been told before how many there will be.
    """
    second = second or Second(files)
    second.expect(len(wanted))
    usual = gc.get_threshold()
    if len(wanted) > _MANY:
        gc.set_threshold(_OBJECTS, *usual[1:])
    try:
        second.exchange(wanted[:chunk], ngrams)
        for start in range(0, len(wanted), chunk):
            end = min(start + chunk, len(wanted))
            own = end - second.given
            for each in wanted[start:own]:
                yield read_note(files, each, ngrams)
            for each, reading in zip(wanted[own:end], second.exchange(wanted[end : end + chunk], ngrams), strict=True):
                yield read_note(files, each, ngrams) if reading is None else reading
    finally:
        if len(wanted) > _MANY:  # whoever reads another vault meanwhile may have found it raised
            gc.set_threshold(_USUAL if usual[0] == _OBJECTS else usual[0], *usual[1:])
        second.close()


class Second:
    """The second process as this one sees it: not there, where it is not worth while or has failed. To be closed."""

    def __init__(self, files: Files) -> None:
        self.given = 0  # notes that it has to read of the chunk in hand, the last ones
        self._files = files
        self._is_wanted = True  # until it has been started, once
        self._is_told = False  # which files they are
        self._share = _FIRST_SHARE
        self._process: Popen[bytes] | None = None

    def expect(self, total: int) -> None:
        """Start it, if so many notes are worth while: best as soon as there are so many."""
        if self._is_wanted and total > _MANY:
            self._process, self._is_wanted = _start(), False

    def exchange(self, following: Sequence[NoteToRead], ngrams: NgramFilter) -> list[NoteContent | None]:
        """Give it its share of the following chunk, and return what it has read of this one: None where it has not."""
        given, self.given = self.given, 0
        if self._process is None:
            return []
        try:
            if not self._is_told:
                # Not as arguments: all who use this computer can read those, and they would tell what marks a private note.
                _send(self._process.stdin, [self._files.root, self._files.max_bytes, self._files.private_marks])
                self._is_told = True
            answered = self._receive() if given else b""
            count = int((self._share if given else _LATE_SHARE) * len(following))
            _send(self._process.stdin, [ngrams.kept, *map(tuple, following[len(following) - count :])])
            readings = [each and NoteContent(*each) for each in marshal.loads(answered)] if given else []  # noqa: S302 - ours
            if len(readings) != given:
                raise EOFError  # noqa: TRY301
        except (OSError, EOFError, ValueError, TypeError, MemoryError):
            self.close()
            return [None] * given
        self.given = count
        return readings

    def _receive(self) -> bytes:
        """Return the next answer, and learn from how long it takes who has too much to do."""
        assert self._process is not None
        before = time.perf_counter()
        size = _receive_size(self._process.stdout)
        has_waited = time.perf_counter() - before > _NO_WAIT
        self._share = min(max(self._share + (-_STEP if has_waited else _STEP), _STEP), 1.0)
        return _receive_data(self._process.stdout, size)

    def close(self) -> None:
        """End it at once."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            # Closes the pipes too; what was not written any more does not matter.
            with contextlib.suppress(OSError), process:
                pass


def _start() -> Popen[bytes] | None:
    """Start a process that runs ``answer``; None where that cannot be."""
    if (os.cpu_count() or 1) == 1 or not sys.executable or getattr(sys, "frozen", False):
        return None
    import subprocess  # noqa: PLC0415 - 5 ms, for what happens once

    flags = ["-S", "-B", "-X", f"utf8={sys.flags.utf8_mode}"]  # file names must be read as they are here
    try:
        return subprocess.Popen(  # noqa: S603 - this very program
            [sys.executable, *flags, "-c", _PROGRAM, *filter(None, sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
    except (OSError, ValueError):
        return None


def answer() -> None:
    """Read what another process asks for at stdin and answer at stdout, until either ends: the second process's work."""
    asked, answers = sys.stdin.buffer, sys.stdout.buffer
    gc.set_threshold(_OBJECTS)
    ngrams = NgramFilter()
    with contextlib.suppress(EOFError, OSError):
        files = open_files(*_receive(asked))
        while True:
            left = _MOST_TEXT
            readings: list[tuple[Any, ...] | None] = []
            kept, *wanted = _receive(asked)
            if kept != ngrams.kept:
                ngrams = NgramFilter(kept)
            for each in wanted:
                reading = read_note(files, NoteToRead(*each), ngrams) if left > 0 else ""
                # What cannot be read the other process looks at itself.
                readings.append(None if isinstance(reading, str) else tuple(reading))
                if not isinstance(reading, str):
                    left -= _weight(reading)
            _send(answers, readings)


def _weight(reading: NoteContent) -> int:
    """Return how much of an answer a note takes, in characters of text: a row takes as much as some words."""
    text = 0 if reading.fields is None else len(reading.fields[0][BODY])
    return text + _ROW * sum(map(len, reading.facts or ()))


def _send(pipe: IO[bytes] | None, value: list[Any]) -> None:
    assert pipe is not None
    data = marshal.dumps(value)
    pipe.write(len(data).to_bytes(_HEAD_BYTES, "big"))
    pipe.write(data)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> list[Any]:
    value: list[Any] = marshal.loads(_receive_data(pipe, _receive_size(pipe)))  # noqa: S302 - this program's own
    return value


def _receive_size(pipe: IO[bytes] | None) -> int:
    assert pipe is not None
    size = int.from_bytes(pipe.read(_HEAD_BYTES), "big")
    if not 0 < size <= _MOST_BYTES:
        raise EOFError
    return size


def _receive_data(pipe: IO[bytes] | None, size: int) -> bytes:
    assert pipe is not None
    data = pipe.read(size)
    if len(data) < size:
        raise EOFError
    return data
