"""A log that shows what was done to it: every line follows the one before, whoever writes and wherever files end."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultwire.trust.audit import FIRST, ChainedLog, files, records, verify
from vaultwire.vault.disk.process_lock import ProcessLock
from vaultwire.vault.value_types import NO_PROGRESS

WRITER = """
import sys
from vaultwire.trust.audit import ChainedLog
log = ChainedLog(sys.argv[1], max_bytes=int(sys.argv[3]))
for number in range(int(sys.argv[4])):
    log.append({"who": sys.argv[2], "number": number})
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


def write(path: Path, count: int, start: int = 0) -> None:
    log = ChainedLog(str(path))
    for number in range(start, start + count):
        log.append({"number": number})


def numbers(path: Path) -> list[int]:
    return [record["number"] for record in records(str(path))]


def test_lines_are_json_and_each_holds_the_hash_of_the_one_before(path: Path) -> None:
    write(path, 3)
    lines = path.read_bytes().splitlines()
    assert [json.loads(line)["number"] for line in lines] == [0, 1, 2]
    expected = [FIRST, *(hashlib.sha256(line).hexdigest() for line in lines)]
    assert [json.loads(line)["prev"] for line in lines] == expected[:3]
    report = verify(str(path))
    assert (report.lines, report.last, report.problems) == (3, expected[3], [])


def test_a_process_that_comes_later_continues_the_chain(path: Path) -> None:
    write(path, 2)
    write(path, 2, start=2)
    assert numbers(path) == [0, 1, 2, 3]
    assert verify(str(path)).problems == []


def test_two_that_write_by_turns_make_one_chain(path: Path) -> None:
    one, other = ChainedLog(str(path)), ChainedLog(str(path))
    for number in range(10):
        (one, other)[number % 2].append({"number": number})
    assert numbers(path) == list(range(10))
    assert verify(str(path)).problems == []


@pytest.mark.parametrize("full", [10_000_000, 500])
def test_processes_and_threads_that_write_at_once_lose_no_line(path: Path, full: int) -> None:
    command = [sys.executable, "-c", WRITER, str(path)]
    writers = [subprocess.Popen([*command, name, str(full), "40"]) for name in ("a", "b", "c")]
    log = ChainedLog(str(path), max_bytes=full, max_files=1000)

    def write_all(name: str) -> None:
        for number in range(40):
            log.append({"who": name, "number": number})

    threads = [threading.Thread(target=write_all, args=(name,)) for name in ("d", "e")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    report = verify(str(path))
    assert report.problems == []
    if full > 500:  # there, the other processes keep 50 files
        assert report.lines == 200
        for who in "abcde":
            assert [each["number"] for each in records(str(path)) if each["who"] == who] == list(range(40))
    else:
        assert report.files > 10


def test_a_full_file_gets_a_number_and_the_chain_goes_on(path: Path) -> None:
    log = ChainedLog(str(path), max_bytes=300)
    for number in range(20):
        log.append({"number": number})
    assert len(files(str(path))) > 3
    assert numbers(path) == list(range(20))
    report = verify(str(path))
    assert (report.lines, report.problems, report.is_complete) == (20, [], True)


def test_of_full_files_so_many_are_kept_and_the_report_says_that_some_are_gone(path: Path) -> None:
    log = ChainedLog(str(path), max_bytes=1, max_files=2)
    for number in range(10):
        log.append({"number": number})
    assert [Path(each).name for each in files(str(path))] == [
        "audit.jsonl.000008",
        "audit.jsonl.000009",
        "audit.jsonl",
    ]
    report = verify(str(path))
    assert (report.problems, report.is_complete) == ([], False)
    told = [number for record in records(str(path)) for number in record.get("removed", ())]
    assert told == ["5", "6", "7"]


@pytest.mark.parametrize("kept", [50, 4], ids=["none was removed before", "some were removed by the log itself"])
@pytest.mark.parametrize("gone", [1, 2, 3])
def test_files_that_somebody_else_removed_show(path: Path, kept: int, gone: int) -> None:
    log = ChainedLog(str(path), max_bytes=300, max_files=kept)
    for number in range(40):
        log.append({"number": number})
    assert verify(str(path)).problems == []
    *oldest, _ = files(str(path))
    for name in oldest[:gone]:
        os.unlink(name)
    (problem, *_) = verify(str(path)).problems
    assert problem == (oldest[gone], 1, "follows a file that is missing and that the log did not remove itself")


@pytest.mark.parametrize("left", [0, 1, 2, 3])
def test_a_removal_that_was_cut_short_is_no_tampering(path: Path, left: int) -> None:
    """The line is there, and of the files that are too many the newest are still there, all or some."""
    log = ChainedLog(str(path), max_bytes=300)
    for number in range(30):
        log.append({"number": number})
    kept = {name: Path(name).read_bytes() for name in files(str(path))}
    few = ChainedLog(str(path), max_bytes=300, max_files=4)
    while not any("removed" in record for record in records(str(path))):
        few.append({"number": 0})
    gone = [name for name in kept if not os.path.exists(name)]
    assert len(gone) > 3
    for name in gone[len(gone) - left :]:
        Path(name).write_bytes(kept[name])
    assert verify(str(path)).problems == []
    for _ in range(30):
        few.append({"number": 0})
    assert verify(str(path)).problems == []
    assert len(files(str(path))) == 5


# Each does something to the lines of a log, and the number of the line at which that has to show, from 1.
TAMPERED: dict[str, tuple[Callable[[list[bytes]], list[bytes]], int]] = {
    "a line changed": (lambda lines: [*lines[:2], lines[2].replace(b"2", b"7", 1), *lines[3:]], 4),
    "a line removed": (lambda lines: [*lines[:2], *lines[3:]], 3),
    "the first line removed": (lambda lines: lines[1:], 1),
    "a line put in": (lambda lines: [*lines[:2], b'{"number": 9, "prev": "x"}\n', *lines[2:]], 3),
    "lines swapped": (lambda lines: [lines[0], lines[2], lines[1], *lines[3:]], 2),
    "a line twice": (lambda lines: [*lines[:2], *lines[1:]], 3),
    "half a line": (lambda lines: [*lines[:2], lines[2][:20] + b"\n", *lines[3:]], 3),
    "a line that is no object": (lambda lines: [*lines[:2], b"[]\n", *lines[2:]], 3),
}


@pytest.mark.parametrize("what", TAMPERED)
def test_tampering_shows_where_it_was_done(path: Path, what: str) -> None:
    write(path, 6)
    change, expected = TAMPERED[what]
    path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))
    problems = verify(str(path)).problems
    assert problems[0].line == expected
    assert problems[0].file == str(path)


@given(st.data())
def test_any_byte_that_is_changed_but_in_the_last_line_shows(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("log") / "audit.jsonl"
    write(path, 3)
    text = path.read_bytes()
    end = text.rindex(b"\n", 0, -1)
    where = data.draw(st.integers(0, end - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda each: each != text[where]))
    path.write_bytes(text[:where] + bytes([byte]) + text[where + 1 :])
    assert verify(str(path)).problems


def test_the_end_cut_off_shows_to_whoever_kept_a_hash(path: Path) -> None:
    write(path, 3)
    kept = verify(str(path)).last
    assert verify(str(path), kept).has_expected
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:2]))
    report = verify(str(path), kept)
    assert (report.problems, report.has_expected) == ([], False)


@pytest.mark.parametrize("left", ["", "first line", "another's log"])
def test_what_is_done_to_the_file_of_a_running_server_shows(path: Path, tmp_path: Path, left: str) -> None:
    log = ChainedLog(str(path))
    for number in range(3):
        log.append({"number": number})
    lines = path.read_bytes().splitlines(keepends=True)
    if left == "":
        path.unlink()
    elif left == "first line":
        path.write_bytes(lines[0])
    else:
        write(tmp_path / "other", 5)
        os.replace(tmp_path / "other", path)
    log.append({"number": 3})
    assert verify(str(path)).problems


def test_a_line_that_was_never_finished_is_ended_and_stays_in_the_chain(path: Path) -> None:
    write(path, 2)
    with path.open("ab") as file:
        file.write(b'{"number": 2, "pre')
    assert numbers(path) == [0, 1]
    write(path, 2, start=3)
    assert numbers(path) == [0, 1, 3, 4]
    problems = verify(str(path)).problems
    assert [(problem.line, problem.what.partition(":")[0]) for problem in problems] == [(3, "is not whole")]


def test_a_torn_file_that_is_full_is_ended_before_it_gets_a_number(path: Path) -> None:
    path.write_bytes(b"x" * 50)
    log = ChainedLog(str(path), max_bytes=50)
    log.append({"number": 0})
    log.append({"number": 1})
    assert numbers(path) == [0, 1]
    assert len(verify(str(path)).problems) == 1


def test_very_long_lines_are_found_again(path: Path) -> None:
    for _ in range(2):
        ChainedLog(str(path)).append({"text": "x" * 200_000})
    assert verify(str(path)).problems == []


@pytest.mark.skipif(sys.platform == "win32", reason="limits of file sizes are POSIX")
def test_a_write_that_fails_half_way_leaves_no_half_line(path: Path) -> None:
    program = """
import resource, signal, sys
from vaultwire.trust.audit import ChainedLog
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))
log = ChainedLog(sys.argv[1])
try:
    for number in range(9):
        log.append({"number": number})
except OSError as error:
    print(error.errno)
"""
    told = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    assert told.stdout.split() == [str(errno.EFBIG)]
    write(path, 1, start=9)
    report = verify(str(path))
    assert (report.problems, report.lines) == ([], 3 + 1)


def test_a_log_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        ChainedLog(str(tmp_path / "nowhere" / "audit.jsonl")).append({})
    with pytest.raises(FileNotFoundError):
        verify(str(tmp_path / "audit.jsonl"))


@pytest.mark.skipif(sys.platform == "win32", reason="locks of whole files are POSIX")
def test_a_process_that_holds_on_to_the_log_does_not_hold_up_everybody(path: Path) -> None:
    import fcntl  # noqa: PLC0415 - not on Windows

    with open(f"{path}.lock", "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(BlockingIOError):
            ChainedLog(str(path)).append({})
    ChainedLog(str(path)).append({})
    assert verify(str(path)).lines == 1


@pytest.mark.skipif(sys.platform == "win32", reason="modes are POSIX")
def test_nobody_else_may_read_it(path: Path) -> None:
    write(path, 1)
    assert path.stat().st_mode & 0o777 == 0o600


def test_other_files_beside_it_are_none_of_its(path: Path) -> None:
    write(path, 1)
    path.with_name("audit.jsonl.bak").write_text("x")
    path.with_name("audit.jsonl.²").write_text("x")
    assert files(str(path)) == [str(path)]


def test_a_line_waits_for_a_process_that_holds_the_log_for_a_moment(path: Path) -> None:
    ChainedLog(str(path)).append({"n": 1})
    with ThreadPoolExecutor(1) as pool:
        with ProcessLock(f"{path}.lock", "", needed=True).held(NO_PROGRESS):
            second = pool.submit(ChainedLog(str(path)).append, {"n": 2})
            with pytest.raises(TimeoutError):
                second.result(timeout=0.1)
        assert second.result() is None
    assert [record["n"] for record in records(str(path))] == [1, 2]
