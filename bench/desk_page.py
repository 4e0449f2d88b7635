"""Measures the desk's page in a real browser, by its own times of painting: 10,000 changes, and 30,000 changed lines."""

from __future__ import annotations

import sys
import tempfile
from contextlib import closing
from pathlib import Path
from statistics import median

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

from support.chromium import CHROMIUM, Tab, open_tab
from support.desk_door import DeskDoor

_RUNS = 7
_LINES = 30_000
# The time of the frame in which the rows of the list, or the lines of a change, are on the screen: the frame after the one that
# draws them begins.
_WATCH = """addEventListener('DOMContentLoaded', () => {
  const shown = location.hash ? '.hunk .line' : '.row-item';
  const seen = new MutationObserver(() => {
    if (!document.querySelector(shown)) return;
    seen.disconnect();
    requestAnimationFrame(() => requestAnimationFrame((time) => { window.painted = time; }));
  });
  seen.observe(document, { childList: true, subtree: true });
});"""
_PAINTS = "[performance.getEntriesByName('first-contentful-paint')[0].startTime, window.painted]"

TARGETS = {"page, first paint": 300.0, "page, list painted": 300.0, "30,000 changed lines painted": 1000.0}


def measure(changes: int) -> dict[str, float]:
    """Return the times in ms; none without a browser."""
    if CHROMIUM is None:
        print("no browser, so the page is not measured: see tests/support/chromium.py")
        return {}
    with (
        tempfile.TemporaryDirectory(prefix="vaultwire-bench-", ignore_cleanup_errors=True) as folder,
        closing(DeskDoor(Path(folder), "=== Log.md\nfirst\n")) as door,
        open_tab() as tab,
    ):
        for number in range(changes):
            door.edit((f"Folder {number % 40}/Note {number % 2000}.md", f"text {number}\n"))
        tab.resize(1440, 900)
        tab.go(door.link())
        tab.wait_for("document.querySelector('.row-item')")
        tab.run_first(_WATCH)
        first, listed = _painted(tab, door, "")
        long = door.edit(("Long.md", "".join(f"line {number}\n" for number in range(_LINES))))
        _, lines = _painted(tab, door, f"#/vault/{long}")
    return {"page, first paint": first, "page, list painted": listed, "30,000 changed lines painted": lines}


def _painted(tab: Tab, door: DeskDoor, place: str) -> tuple[float, float]:
    """Return the medians of the browser's own times, from the navigation on."""
    found = []
    for run in range(_RUNS):
        tab.go(f"{door.server.url}/desk/?{run}{place}")  # another address, so that the page is loaded
        tab.wait_for("window.painted")
        found.append(tab.evaluate(_PAINTS))
    return median(first for first, _ in found), median(last for _, last in found)
