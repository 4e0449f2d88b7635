"""Measures of changes of many notes: a folder with a tenth of them moves, a property and a tag in most of them are renamed.

Each change runs in a server of its own, whose memory is read afterwards, and is undone. Searches are made meanwhile. Then the
vault is compared with what it was: the figures of a change that did something else do not count.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.engine_corpus import Corpus, composed
from bench.engine_session import EngineSamples, Reply, Session
from bench.engine_vault import COMMON_PROPERTY, COMMON_TAG, MOVED_FOLDER

_MOST_SECONDS_DRY = 60.0
_MOST_SECONDS = 240.0  # of a change, and of its undo: 70,000 notes may take 3 ms each
_MOVED_TO, _NEW_TAG, _NEW_PROPERTY = "Xq moved", "xqeveryday", "xqreviewed"


class LargeChange(NamedTuple):
    """A change: its row, the call, and the number of places in a note's path and text that show it undone and done."""

    row: str
    tool: str
    arguments: dict[str, Any]
    before: Callable[[str, str], int]
    after: Callable[[str, str], int]


def _in_path(folder: str) -> Callable[[str, str], int]:
    return lambda path, _: path.startswith(f"{folder}/")


def _in_text(pattern: str) -> Callable[[str, str], int]:
    found = re.compile(pattern, re.MULTILINE).findall
    return lambda _, text: len(found(text))


CHANGES = [
    LargeChange(
        "a folder of a tenth of the notes moves",
        "move_notes",
        {"paths": [f"{MOVED_FOLDER}/"], "to": _MOVED_TO},
        _in_path(MOVED_FOLDER),
        _in_path(_MOVED_TO),
    ),
    LargeChange(
        "a property of 70 % of the notes is renamed",
        "rename",
        {"what": "property", "old": COMMON_PROPERTY, "new": _NEW_PROPERTY},
        _in_text(rf"^{COMMON_PROPERTY}: "),
        _in_text(rf"^{_NEW_PROPERTY}: "),
    ),
    LargeChange(
        "a tag of 70 % of the notes is renamed",
        "rename",
        {"what": "tag", "old": COMMON_TAG, "new": _NEW_TAG},
        _in_text(rf"^  - {COMMON_TAG}$"),
        _in_text(rf"^  - {_NEW_TAG}$"),
    ),
]


def measure_large_change(
    session: Session, change: LargeChange, corpus: Corpus, vault: Path, queries: Sequence[str], samples: EngineSamples
) -> None:
    """Measure dry run, change and undo."""
    row = change.row
    session.call("search_notes", {"query": queries[0]})
    expected = sum(change.before(note.path, note.text) for note in corpus.notes)
    dry = session.call(change.tool, {**change.arguments, "dry_run": True}, _MOST_SECONDS_DRY)
    samples.take("dry run s", row, dry.seconds)
    if dry.data is None:
        samples.fail(row, f"its dry run failed: {dry.error}")
    done = session.call_and_search(change.tool, change.arguments, queries, _MOST_SECONDS)
    files = _files(done.reply)
    samples.take("files changed", row, files)
    _take(row, "change", done.reply, files, samples)
    samples.take("progress reports", row, done.reports)
    for search in done.searches:
        samples.take("search meanwhile ms", row, search.seconds * 1e3)
        if search.data is None:
            samples.fail(row, f"a search meanwhile failed: {search.error}")
    if done.reply.data is None:
        samples.fail(row, f"failed: {done.reply.error}")
        _take_memory(session, row, samples)
        return
    if dry.data is not None and dry.data["file_count"] != done.reply.data["file_count"]:
        samples.fail(row, f"WRONG: its dry run said {dry.data['file_count']} files")
    left, made = _count(change, vault)
    if (left, made) != (0, expected):
        samples.fail(row, f"WRONG: {made} of {expected} places are changed, {left} are as before")
    undo = session.call_and_search("undo_changes", {"changes": [done.reply.data["change"]]}, queries, _MOST_SECONDS)
    _take(row, "undo", undo.reply, files, samples)
    if undo.reply.data is None:
        samples.fail(row, f"its undo failed: {undo.reply.error}")
    _take_memory(session, row, samples)


def check_restored(corpus: Corpus, vault: Path, samples: EngineSamples) -> None:
    """Check that the vault has its first notes again."""
    different = sum(not _is_restored(vault / note.path, note.text) for note in corpus.notes)
    more = sum(1 for _ in vault.rglob("*.md")) - len(corpus.notes)
    if different or more:
        samples.fail("large changes, undone", f"WRONG: {different} notes differ from the first ones, {more} are new")


def _is_restored(path: Path, text: str) -> bool:
    try:
        return composed(path.read_bytes().decode(errors="replace")) == text
    except OSError:
        return False


def _count(change: LargeChange, vault: Path) -> tuple[int, int]:
    """Return how many places of the vault are as before, and how many are changed."""
    left = made = 0
    for path in vault.rglob("*.md"):
        text = path.read_bytes().decode(errors="replace")
        within = path.relative_to(vault).as_posix()
        left += change.before(within, text)
        made += change.after(within, text)
    return left, made


def _files(reply: Reply) -> int:
    """Return how many files a change moved or edited; a moved folder counts as one of those edited."""
    data = reply.data or {}
    return int(data.get("moved_files", 0) + data.get("file_count", 0))


def _take(row: str, what: str, reply: Reply, files: int, samples: EngineSamples) -> None:
    samples.take(f"{what} s", row, reply.seconds)
    if reply.data is not None and files:
        samples.take(f"{what} ms a file", row, reply.seconds * 1e3 / files)


def _take_memory(session: Session, row: str, samples: EngineSamples) -> None:
    if "VmHWM" in session.memory():
        samples.take("change peak MiB", row, session.memory()["VmHWM"])
