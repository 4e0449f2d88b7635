"""A second process reads what this one would have read; whatever becomes of it, nothing else does of the index."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.stores import answers, answers_of_new, difference, open_stored
from support.vaults import write_vault
from vaultwire.vault.disk.files import Files
from vaultwire.vault.errors import Stopped
from vaultwire.vault.index.store import reading_ahead, upkeep
from vaultwire.vault.index.store.grams import Grams
from vaultwire.vault.index.store.reading import Reading, ToRead, read_note
from vaultwire.vault.index.store.reading_ahead import read_all
from vaultwire.vault.model import NoProgress, VaultPath
from vaultwire.vault.visibility.privacy import Privacy
from vaultwire.vault.visibility.visible_files import OnlyPrivacy, VisibleFiles

CHUNK = 10
NOTES = 6 * CHUNK + 3
MAX_BYTES = 2_000_000
GRAMS = Grams("a app e zz")
# Far above what is measured (0.1 s).
PATIENCE = 20.0
# Programs in the second process's place: each gets notes to read and does not.
FAILING = {
    "ends at once": "",
    "is killed": "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "says something else": "print('nonsense' * 100_000)",
    "says nothing sensible": "import sys; sys.stdout.buffer.write(bytes(8) + b'x')",
    "promises too much": "import sys; sys.stdout.buffer.write((1 << 29).to_bytes(8, 'big') + b'x')",
    "answers what is no list": "import sys; sys.stdout.buffer.write((1).to_bytes(8, 'big') + b'N')",
    "answers with too few": r"import sys; sys.stdout.buffer.write((5).to_bytes(8, 'big') + b'[\0\0\0\0')",
    "answers with other things": (
        "import sys, marshal; a = marshal.dumps([(1,)] * 5); sys.stdout.buffer.write(len(a).to_bytes(8, 'big') + a)"
    ),
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    text = "".join(
        f"=== sub/{number:03}.md\n---\ntags: [fruit]\n---\n# Red\nred apple [[{number + 1}]] #n{number}\n"
        for number in range(NOTES - 3)
    )
    root = write_vault(
        tmp_path / "vault", f"{text}=== Caf\u00e9.md\n\u65e5\u672c\u8a9e cre\u0300me\n=== picture.png\nx\n"
    )
    (root / "sub" / "endless.md").write_text("a" * 20_000)
    (root / "big.md").write_bytes(b"x " * MAX_BYTES)
    for path in root.rglob("*.*"):
        os.utime(path, (1, 1))  # one that has just been changed is read twice
    return root


@pytest.fixture(autouse=True)
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Have few notes be many, and return the processes started."""
    monkeypatch.setattr(reading_ahead, "_MANY", CHUNK)
    monkeypatch.setattr(reading_ahead, "_LATE_SHARE", 0.5)
    monkeypatch.setattr(reading_ahead, "_FIRST_SHARE", 0.5)
    monkeypatch.setattr(upkeep, "_BATCH", 7)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    start, processes = reading_ahead._start, []

    def kept() -> subprocess.Popen[bytes] | None:
        process = start()
        if process is not None:
            processes.append(process)
        return process

    monkeypatch.setattr(reading_ahead, "_start", kept)
    yield processes
    assert [process for process in processes if process.returncode is None] == []


def wanted(root: Path) -> list[ToRead]:
    notes = sorted(Files(str(root), MAX_BYTES).walk())
    assert len(notes) == NOTES
    return [ToRead(note.path, note.modified_ns, None, note.path != "sub/007.md") for note in notes]


def second_that_reads_all(files: Files, monkeypatch: pytest.MonkeyPatch) -> reading_ahead.Second:
    """Return a second process that is given all of the first chunk."""
    monkeypatch.setattr(reading_ahead, "_LATE_SHARE", 1.0)
    second = reading_ahead.Second(files)
    second.expect(NOTES)
    return second


def test_the_second_process_reads_what_this_one_would(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files, notes = Files(str(root), MAX_BYTES), wanted(root)
    known = read_note(files, notes[9], GRAMS)
    assert isinstance(known, Reading)
    notes[9] = notes[9]._replace(known=known.digest)
    alone = [read_note(files, each, GRAMS) for each in notes]
    second = second_that_reads_all(files, monkeypatch)
    assert second.exchange(notes, GRAMS) == []
    assert second.given == NOTES
    read = second.exchange([], GRAMS)
    second.close()
    assert isinstance(alone[1], str), "the file that is too big"
    assert alone[9] == known._replace(state=1, problem=None, facts=None, fields=None)
    assert [path for path, reading in zip(notes, read, strict=True) if reading is None] == [notes[1]]
    assert [own if isinstance(own, str) else other for own, other in zip(alone, read, strict=True)] == alone
    assert list(read_all(files, notes, CHUNK, GRAMS)) == alone


def test_nobody_reads_in_the_list_of_processes_what_is_private(
    root: Path, started: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "Diary.md").write_text("#sorrow\n")
    privacy = Privacy(["sorrow"], {"illness": "yes"})
    files = VisibleFiles(str(root), MAX_BYTES, OnlyPrivacy(privacy))
    notes = [ToRead(VaultPath("Diary.md"), 1, None, True), ToRead(VaultPath("sub/001.md"), 1, None, True)]
    second = second_that_reads_all(files, monkeypatch)
    second.exchange(notes, GRAMS)
    read = second.exchange([], GRAMS)
    (process,) = started
    arguments = [str(each) for each in process.args]  # type: ignore[union-attr]
    if sys.platform == "linux":
        shown = Path(f"/proc/{process.pid}/cmdline").read_bytes().split(b"\0")
        assert len(shown) >= len(arguments)
        arguments += [os.fsdecode(each) for each in shown]
    second.close()
    assert [reading is None for reading in read] == [True, False], "the marks have reached it"
    assert not any(mark in each for each in arguments for mark in ("sorrow", "illness", "Diary", str(root)))


@pytest.mark.parametrize("text", ["word " * 300_000, "[[n]]\n" * 35_000], ids=["text", "links"])
def test_of_too_much_at_once_the_rest_is_left_to_this_process(
    root: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = Files(str(root), MAX_BYTES)
    for number in range(6):
        (root / f"{number}.md").write_text(text)
        os.utime(root / f"{number}.md", (1, 1))
    notes = [ToRead(note.path, note.modified_ns, None, True) for note in files.walk() if note.path[0] in "012345"]
    second = second_that_reads_all(files, monkeypatch)
    second.exchange(notes, GRAMS)
    read = second.exchange([], GRAMS)
    second.close()
    assert [reading is None for reading in read] == [False, False, False, True, True, True]
    assert list(read_all(files, notes * 2, CHUNK, GRAMS)) == [read_note(files, each, GRAMS) for each in notes] * 2


def test_few_notes_and_one_processor_start_no_second_process(
    root: Path, started: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    files = Files(str(root), MAX_BYTES)
    assert len(list(read_all(files, wanted(root)[:CHUNK], CHUNK, GRAMS))) == CHUNK
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    assert len(list(read_all(files, wanted(root), CHUNK, GRAMS))) == NOTES
    assert started == []


@pytest.mark.parametrize("program", FAILING.values(), ids=FAILING)
def test_a_second_process_that_fails_costs_nothing(root: Path, program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading_ahead, "_PROGRAM", program)
    files, notes = Files(str(root), MAX_BYTES), wanted(root)
    assert list(read_all(files, notes, CHUNK, GRAMS)) == [read_note(files, each, GRAMS) for each in notes]


def test_one_that_cannot_be_started_costs_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files, notes = Files(str(root), MAX_BYTES), wanted(root)
    for executable in (str(root / "nothing"), str(root), "", None):
        monkeypatch.setattr(sys, "executable", executable)
        assert list(read_all(files, notes, CHUNK, GRAMS)) == [read_note(files, each, GRAMS) for each in notes]


def test_one_killed_at_any_moment_costs_nothing(root: Path, started: list[subprocess.Popen[bytes]]) -> None:
    files, notes = Files(str(root), MAX_BYTES), wanted(root)
    alone = [read_note(files, each, GRAMS) for each in notes]
    for moment in range(0, 3 * CHUNK, 4):
        read = []
        for number, reading in enumerate(read_all(files, notes, CHUNK, GRAMS)):
            read.append(reading)
            if number == moment:
                started[-1].kill()
        assert read == alone, moment
    assert len(started) == len(range(0, 3 * CHUNK, 4))


class _AtNote(NoProgress):
    """Progress that does something when so many notes were taken up."""

    def __init__(self, number: int, processes: list[subprocess.Popen[bytes]], *, stops: bool) -> None:
        self._left, self._processes, self._stops = number, processes, stops

    def check(self) -> None:
        self._left -= 1
        if self._left == 0:
            if self._stops:
                raise Stopped
            self._processes[-1].kill()

    def report(self, done: int, total: int, message: str) -> None:
        """Nobody listens."""


@pytest.mark.parametrize(("many", "readings"), [(CHUNK, 1), (NOTES + 9, 2)], ids=["on the way", "in the end"])
def test_an_index_built_by_two_is_the_one_built_by_one(
    root: Path,
    tmp_path: Path,
    started: list[subprocess.Popen[bytes]],
    monkeypatch: pytest.MonkeyPatch,
    many: int,
    readings: int,
) -> None:
    """Whether the text index takes the notes up on the way or, reading them again, in the end."""
    monkeypatch.setattr(upkeep, "_MANY", many)
    with monkeypatch.context() as alone:
        alone.setattr(os, "cpu_count", lambda: 1)
        expected = answers_of_new(root)
    assert started == []
    orders = []
    for moment in (0, 15, 40):
        _, index, _ = open_stored(root, tmp_path / f"cache{moment}")
        index.notes(None, _AtNote(moment, started, stops=False))
        assert difference(answers(index), expected) == {}, moment
        orders.append(index._parts.catalog.rows("SELECT id, path FROM files ORDER BY id"))
        index.close()
    assert orders[0] == orders[1] == orders[2]
    assert len(started) == 3 * readings


def test_work_that_is_stopped_ends_the_second_process(
    root: Path, tmp_path: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    _, index, _ = open_stored(root, tmp_path / "cache")
    with pytest.raises(Stopped):
        index.notes(None, _AtNote(25, started, stops=True))
    assert [process.returncode is None for process in started] == [False]
    assert difference(answers(index), answers_of_new(root)) == {}
    index.close()


# Starts a second process, has it begin, says which it is, and waits for ever.
CHILD = """
import os, sys
from vaultwire.vault.disk.files import Files
from vaultwire.vault.index.store import reading_ahead
from vaultwire.vault.index.store.grams import Grams
from vaultwire.vault.index.store.reading import ToRead
if __name__ == "__main__":
    files = Files(sys.argv[1], 10**6)
    os.cpu_count = lambda: 2
    second = reading_ahead.Second(files)
    second.expect(10**6)
    notes = [ToRead(note.path, note.modified_ns, None, True) for note in files.walk()] * int(sys.argv[2])
    reading_ahead._LATE_SHARE = 1.0
    second.exchange(notes, Grams())
    if len(notes) < 100:
        second._process.stdout.peek(1)
    print(second._process.pid, flush=True)
    sys.stdin.read()
"""


def is_there(pid: int) -> bool:
    """Tell whether the process is there, and not just its name for somebody who might ask how it ended."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return state.strip()[:1] not in ("", "Z")


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")
@pytest.mark.parametrize("times", [1, 10], ids=["that waits", "that works"])
def test_a_second_process_ends_with_the_first_however_that_ends(root: Path, times: int) -> None:
    command = [sys.executable, "-c", CHILD, str(root), str(times)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as first:
        assert first.stdout is not None
        second = int(first.stdout.readline())
        assert is_there(second)
        first.send_signal(signal.SIGKILL)
    until = time.monotonic() + PATIENCE
    while is_there(second):
        assert time.monotonic() < until


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_second_process_has_nothing_of_the_first_ones_but_its_own_pipes(root: Path) -> None:
    """The first one's input and output are those of a client, who waits for their end."""
    command = [sys.executable, "-c", CHILD, str(root), "1"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as first:
        assert first.stdout is not None
        second = int(first.stdout.readline())
        theirs = {os.readlink(f"/proc/{first.pid}/fd/{number}") for number in (0, 1)}
        own = {number: os.readlink(f"/proc/{second}/fd/{number}") for number in os.listdir(f"/proc/{second}/fd")}
        first.kill()
    assert set(own) == {"0", "1", "2"}
    assert own["2"] == os.devnull
    assert not theirs & set(own.values())
