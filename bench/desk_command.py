"""Measures the desk at 10,000 changes on record: the list and the page, and what a change costs while the desk is closed."""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from bench import desk_page

from vaultwire.app.engine import open_index, open_settings
from vaultwire.review import Reviewer
from vaultwire.trust.limits import MAX_ATTACHMENT_BYTES, MAX_NOTE_BYTES
from vaultwire.vault.caller import Caller
from vaultwire.vault.changes.change import Author, Write
from vaultwire.vault.changes.executor import Changes
from vaultwire.vault.disk.files import Files
from vaultwire.vault.editing.workbench import Workbench
from vaultwire.vault.value_types import VaultPath
from vaultwire.vault.vault import Vault

_CHANGES = 10_000
_RUNS = 15
_TARGETS = {
    "first page, warm": 50.0,
    "first page after one more change": 50.0,
    "a change, more with the record": 1.0,
    **desk_page.TARGETS,
}


def run(path: Path) -> list[str]:
    """Measure, print a table and write the JSON. Return the missed targets."""
    with tempfile.TemporaryDirectory(prefix="vaultwire-bench-") as folder:
        found = _measure(Path(folder)) | desk_page.measure(_CHANGES)
    for name, took in found.items():
        print(f"{name:<36}{took:8.2f} ms   {f'target {_TARGETS[name]:.0f}' if name in _TARGETS else ''}")
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"changes": _CHANGES, "milliseconds": found}, indent=2) + "\n")
    return [
        f"{name}: {found[name]:.2f} ms, target {target:.0f}"
        for name, target in _TARGETS.items()
        if found.get(name, 0.0) > target
    ]


def _measure(folder: Path) -> dict[str, float]:
    (folder / "vault").mkdir()
    files = Files(str(folder / "vault"), MAX_NOTE_BYTES)
    index = open_index(files, None)
    changes = Changes(files, index, str(folder / "state"))
    bench = Workbench(
        files,
        index,
        open_settings(files),
        changes,
        now=datetime.now,
        max_attachment_bytes=MAX_ATTACHMENT_BYTES,
        read_first=False,
    )
    made: dict[str, bytes] = {}

    def change() -> None:
        number = len(made)
        name = f"Folder {len(made) % 40}/Note {len(made)}.md"
        made[name] = f"# Note\n\ntext {number}\n".encode()
        with changes.locked():
            step = Write(VaultPath(name), None, made[name])
            changes.execute([step], Author("agent", "edit_note", f"session {len(made) // 50}"))

    few = [_timed(change) for _ in range(_RUNS)]
    for _ in range(_CHANGES):
        change()
    many = [_timed(change) for _ in range(_RUNS)]
    person = Caller("you")
    person.is_person = True
    reviewer = Reviewer(Vault(bench).used_by(person, "desk"))
    found = {"a change, no record": statistics.median(few), "a change, 10,000 on record": statistics.median(many)}
    found["a change, more with the record"] = max(0.0, statistics.median(many) - statistics.median(few))
    found["first page, cold"] = _timed(reviewer.items)
    found["first page, warm"] = statistics.median(_timed(reviewer.items) for _ in range(_RUNS))
    after = []
    for _ in range(_RUNS):
        change()
        after.append(_timed(reviewer.items))
    found["first page after one more change"] = statistics.median(after)
    found["one change shown"] = statistics.median(_timed(lambda: reviewer.item(f"c{_CHANGES}")) for _ in range(_RUNS))
    return found


def _timed(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return (time.perf_counter() - began) * 1000
