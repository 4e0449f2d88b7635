"""Measures how long it takes to list 200 conflict copies among 10,000 notes, once the index is there, and to join one."""

from __future__ import annotations

import os
import random
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bench.report import environment, write_result

from vaultwire.app.engine import open_vault
from vaultwire.config import CACHE_VARIABLE, STATE_VARIABLE, make_config
from vaultwire.vault.value_types import NO_PROGRESS

_NOTES, _COPIES, _MARKED, _RUNS, _JOINS = 10_000, 200, 20, 15, 50
_SEED = 20261126
_TARGETS = {"list 200 copies and 20 notes with marks": 100.0}
_ENDINGS = (
    ".sync-conflict-20260312-112900-C5H6PTH",
    " (Conflicted copy ThinkPad-T14 202603121129)",
    " (Ann's conflicted copy 2026-03-12)",
    " (conflicted copy 2026-03-12 112900)",
    ".Conflict",
    "-DESKTOP-AB12CD3",
)


def run(path: Path) -> list[str]:
    """Measure, print a table and write the JSON. Return the missed targets."""
    facts = environment(notes=str(_NOTES), runs=str(_RUNS))
    with tempfile.TemporaryDirectory(prefix="vaultwire-bench-") as folder:
        root = Path(folder) / "vault"
        copies = _write_vault(root)
        os.environ |= {CACHE_VARIABLE: f"{folder}/cache", STATE_VARIABLE: f"{folder}/state"}
        vault = open_vault(make_config([str(root)]))
        try:
            vault.overview.stats(1, NO_PROGRESS)
            copies_found, marked = vault.conflicts.all("", NO_PROGRESS)
            assert (len(copies_found), len(marked)) == (_COPIES, _MARKED)
            list_all = partial(vault.conflicts.all, "", NO_PROGRESS)
            unwatched = [_milliseconds(list_all) for _ in range(_RUNS)]
            ready = threading.Event()
            loop = threading.Thread(target=vault.run_watch_loop, args=(lambda *_: ready.set(),))
            loop.start()
            ready.wait()
            listed = [_milliseconds(list_all) for _ in range(_RUNS)]
            joined = [
                _milliseconds(partial(vault.conflicts.join, name, (), None, NO_PROGRESS, dry_run=True))
                for name in copies[:_JOINS]
            ]
        finally:
            vault.close()
        loop.join()
    found = {
        "list 200 copies and 20 notes with marks": statistics.median(listed),
        "the same where no watch reports changes": statistics.median(unwatched),
        "show the join of one": statistics.median(joined),
    }
    for name, took in found.items():
        print(f"{name:<44}{took:9.2f} ms   {f'target {_TARGETS[name]:.0f}' if name in _TARGETS else ''}")
    write_result(path, {"environment": facts, "measured": found})
    return [f"{name}: {found[name]:.2f}, target {most:.0f}" for name, most in _TARGETS.items() if found[name] > most]


def _milliseconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000


def _write_vault(root: Path) -> list[str]:
    """Write the vault; return the names of its copies."""
    chance = random.Random(_SEED)  # noqa: S311 - the same notes in every run
    copies: list[str] = []
    for number in range(_NOTES - _COPIES):
        folder = root / f"Area {number % 20}"
        folder.mkdir(parents=True, exist_ok=True)
        lines = [f"line {line} {chance.randrange(10**6)}" for line in range(40)]
        text = f"---\ntags: [a, b]\nstatus: open\n---\n# Note {number}\n" + "\n".join(lines) + "\n"
        marks = "<<<<<<< HEAD\none\n=======\nother\n>>>>>>> main\n" if number >= _NOTES - _COPIES - _MARKED else ""
        (folder / f"Note {number}.md").write_text(text + marks)
        if number < _COPIES:
            name = f"Note {number}{_ENDINGS[number % len(_ENDINGS)]}.md"
            (folder / name).write_text(text + f"added on the other device {number}\n")
            copies.append(f"{folder.name}/{name}")
    return copies
