"""docs/comparison.md names the servers and versions that the bench installs, each with all its figures."""

from __future__ import annotations

import re
from pathlib import Path

from bench.peers import OURS, PEERS
from bench.peers_checks import Asked, Found
from bench.peers_command import tables

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "comparison.md").read_text(encoding="utf-8")
FOUND = Found(1.0, Asked(1, 1, None, 1.0, 1.0, 1.0), 1, True, 1, 1, 1)


def test_the_page_has_the_tables_that_the_bench_prints() -> None:
    headings = [line for line in tables({"server": FOUND}) if line.startswith("| server | ") and "1" not in line[:12]]
    for heading in (line for line in headings if "tools" in line or "links" in line):
        table = PAGE.partition(heading)[2].partition("\n\n")[0]
        servers = re.findall(r"^\| (\S+) (\S+) \|", table, re.MULTILINE)
        assert [name for name, _ in servers] == [OURS, *(peer.name for peer in PEERS)]
        assert servers[1:] == [(peer.name, peer.version) for peer in PEERS]


def test_what_cannot_be_measured_is_said_and_nothing_is_made_up() -> None:
    lines = list(tables({"one": "not measured: it needs Python 3.12", "two": FOUND}))
    assert sum("not measured: it needs Python 3.12" in line for line in lines) == 2
    assert any(line.startswith("| two | 1 | 1 | 1 | - |") for line in lines)
