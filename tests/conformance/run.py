"""Runs the official conformance suite against our fixtures and holds us to every scored scenario. ``make conformance``.

``python run.py NODE SUITE``: the two programs; what each run must score stands in ``RUNS``. There is no list of expected
failures. What is not scored is printed and must pass too, but for the extensions we do not have.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

SERVER = Path(__file__).parent / "server.py"


class Run(NamedTuple):
    """One call of the suite: its options, and how many scenarios must pass."""

    options: tuple[str, ...]
    scenarios: int


RUNS = (
    Run(("--requirements", "2025-11-25"), 33),  # 30 scored, 3 not
    Run(("--requirements", "2026-07-28"), 41),  # 37 scored; of the others, json-schema and headers, and tasks-status
    Run(("--suite", "all", "--spec-version", "2025-06-18"), 27),
    Run(("--suite", "all", "--spec-version", "2025-03-26"), 1),
)
EXTENSIONS = re.compile(r"(tasks|sep-2640)-")
_LINE = re.compile(r"^([✓✗]) ([\w-]+): (\d+) passed, (\d+) failed", re.MULTILINE)
_SECONDS = 300


def main(node: str, suite: str) -> int:
    """Run all, print the scores, and return how many runs were not what they must be."""
    server = subprocess.Popen([sys.executable, str(SERVER)], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        url = server.stdout.readline().strip()
        return sum(not _is_good(run, [node, suite, "server", "--url", url, *run.options]) for run in RUNS)
    finally:
        server.terminate()
        server.wait(_SECONDS)


def _is_good(run: Run, command: list[str]) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        ended = subprocess.run([*command, "-o", folder], capture_output=True, text=True, timeout=_SECONDS, check=False)
        warnings = [
            f"{check['id']} warns: {check.get('errorMessage')}"
            for path in Path(folder).glob("*/checks.json")
            for check in json.loads(path.read_text(encoding="utf-8"))
            if check["status"] == "WARNING" and not EXTENSIONS.search(path.parent.name)
        ]
    summary = ended.stdout.partition("=== SUMMARY ===")[2]
    scenarios = _LINE.findall(summary)
    passed = [name for sign, name, _, _ in scenarios if sign == "✓"]
    failed = [name for sign, name, _, _ in scenarios if sign == "✗"]
    checks = sum(int(number) for sign, _, number, _ in scenarios if sign == "✓")
    ours = [name for name in failed if not EXTENSIONS.search(name)] + warnings
    good = ended.returncode == 0 and not ours and len(passed) >= run.scenarios
    verdict = "ok" if good else f"FAILED: {', '.join(ours) or ended.stderr[-2000:] or ended.stdout[-2000:]}"
    sys.stdout.write(
        f"{' '.join(run.options)}: {len(passed)} scenarios and {checks} checks passed, "
        f"{len(failed)} of extensions we do not have failed; {verdict}\n"
    )
    return good


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
