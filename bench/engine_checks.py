"""Measures of check_notes over the whole vault: the first time, once more after one note has changed, once more unchanged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.engine_session import EngineSamples, Session
from bench.engine_vault import SCRATCH

COLD, CHANGED, SAME = "check_notes, the first time", "check_notes after one change", "check_notes once more"
_MOST_SECONDS = 75.0
_PAGE = 100  # faults; the vault has fewer


def measure_checks(session: Session, vault: Path, samples: EngineSamples) -> None:
    """Check all notes. The vault is without faults, except for those that are made here."""
    (vault / SCRATCH).mkdir(exist_ok=True)
    paths = [f"{SCRATCH}/Faulty {number}.md" for number in range(2)]
    session.call("write_note", {"path": paths[0], "content": "See [[Xq nowhere]].\n", "mode": "overwrite"})
    session.call("read_notes", {"paths": [paths[0]], "part": "outline"})
    _measure(session, COLD, paths[:1], samples)
    session.call("write_note", {"path": paths[1], "content": "See [[Xq nowhere else]].\n", "mode": "overwrite"})
    session.call("read_notes", {"paths": [paths[1]], "part": "outline"})
    _measure(session, CHANGED, paths, samples)
    _measure(session, SAME, paths, samples)
    for path in paths:
        session.call("delete_note", {"path": path, "permanent": True})
    session.call("list_notes", {"limit": 1})


def _measure(session: Session, row: str, faulty: list[str], samples: EngineSamples) -> None:
    """Follow the pages to the end, as a caller must to know that all is well."""
    taken, reports = 0.0, 0
    found: list[str] = []
    arguments: dict[str, Any] = {"limit": _PAGE}
    while True:
        done = session.call_and_search("check_notes", arguments, [], _MOST_SECONDS - taken)
        taken += done.reply.seconds
        reports += done.reports
        if done.reply.data is None:
            samples.fail(row, f"failed: {done.reply.error}")
            break
        found += [fault["path"] for fault in done.reply.data["faults"]]
        if "next_cursor" not in done.reply.data:
            if sorted(found) != faulty:
                samples.fail(row, f"WRONG: faults in {sorted(found)[:5]}, not in {faulty}")
            break
        arguments = {"limit": _PAGE, "cursor": done.reply.data["next_cursor"]}
    samples.take("check s", row, taken)
    samples.take("progress reports", row, reports)
