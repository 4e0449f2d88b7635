"""Measures of edits: an append to a note, and a rename of a note with many links, on a vault of any size."""

from __future__ import annotations

import os
import time
from pathlib import Path

from bench.client import Server
from bench.engine_vault import SCRATCH
from bench.measures import COMMAND, Samples

BACKLINKS = 500
_APPENDS = 60
_RENAMES = 5
_BODY = "A line of some words that a person has written down.\n" * 50  # 2.6 KB, as a note of the bench's vaults has


def measure_edits(server: Server, vault: Path, state: Path, samples: Samples) -> None:
    """Measure appends and renames, in notes of our own. Raises RuntimeError if one had no effect."""
    folder = vault / SCRATCH
    _measure_appends(server, folder, samples)
    _measure_syncs(folder, state, samples)
    _measure_renames(server, folder, samples)


def _measure_appends(server: Server, folder: Path, samples: Samples) -> None:
    path = f"{SCRATCH}/Appended.md"
    server.call("write_note", {"path": path, "content": _BODY})
    for number in range(_APPENDS):
        edit = {"action": "append", "content": f"entry {number}"}
        before = time.perf_counter()
        server.call("edit_note", {"path": path, "edits": [edit]})
        samples.take("append ms", COMMAND, (time.perf_counter() - before) * 1e3)
    text = (folder / "Appended.md").read_text(encoding="utf-8")
    if text != _BODY + "".join(f"entry {number}\n" for number in range(_APPENDS)):
        raise RuntimeError("the appended lines are not all there")


def _measure_syncs(folder: Path, state: Path, samples: Samples) -> None:
    """Measure the disk's own part of an edit: sync the journal and the note's new bytes, and rename them into place."""
    data = _BODY.encode()
    target = folder / "Synced.txt"
    target.write_bytes(data)
    for number in range(_APPENDS):
        kept, new = state / f".sync-{number}.tmp", folder / f".sync-{number}.tmp"
        before = time.perf_counter()
        for place in (kept, new):
            descriptor = os.open(place, os.O_WRONLY | os.O_CREAT, 0o600)
            os.write(descriptor, data)
            os.fsync(descriptor)
            os.close(descriptor)
        new.replace(target)
        samples.take("disk of an append ms", COMMAND, (time.perf_counter() - before) * 1e3)
        kept.unlink()


def _measure_renames(server: Server, folder: Path, samples: Samples) -> None:
    names = ("Xqtarget before", "Xqtarget after")
    (folder / f"{names[0]}.md").write_text(_BODY, encoding="utf-8")
    for number in range(BACKLINKS):
        (folder / f"Linking {number}.md").write_text(f"{_BODY}See [[{names[0]}]].\n", encoding="utf-8")
    deadline = time.monotonic() + 60
    while (
        server.call("list_links", {"path": f"{SCRATCH}/{names[0]}.md", "limit": 1, "what": "in"})["total"] < BACKLINKS
    ):
        if time.monotonic() > deadline:
            raise RuntimeError("the notes with links were not found")
    for number in range(_RENAMES):
        old, new = names[number % 2], names[1 - number % 2]
        arguments = {"paths": [f"{SCRATCH}/{old}.md"], "to": f"{SCRATCH}/{new}.md"}
        # This call applies the rename before it to the index, so that the next one does not have to.
        server.call("list_links", {"path": f"{SCRATCH}/{old}.md", "limit": 1, "what": "in"})
        before = time.perf_counter()
        server.call("move_notes", {**arguments, "dry_run": True})
        planned = time.perf_counter()
        moved = server.call("move_notes", arguments)
        done = time.perf_counter()
        if moved["links"] != BACKLINKS:
            raise RuntimeError(f"{moved['links']} links were rewritten, not {BACKLINKS}")
        samples.take("dry run of rename ms", COMMAND, (planned - before) * 1e3)
        samples.take("rename ms", COMMAND, (done - planned) * 1e3)
