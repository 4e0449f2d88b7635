"""Measures queries of bases and of Dataview over 10,000 notes; those of bases also without what the index can answer.

The queries run in a process of their own whose index is built already, so that its memory is that of the queries.
"""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path

from bench.report import environment, write_result

from vaultwire.app.engine import open_index, open_settings
from vaultwire.trust.limits import MAX_NOTE_BYTES
from vaultwire.vault.base_queries.bases import Bases
from vaultwire.vault.base_queries.dataview import DataviewQueries
from vaultwire.vault.base_queries.running import BaseSource
from vaultwire.vault.caller import RememberedFacts, RememberedResults
from vaultwire.vault.disk.files import Files
from vaultwire.vault.errors import VaultError
from vaultwire.vault.search.query import parse_query
from vaultwire.vault.value_types import NO_PROGRESS

_NOTES = 10_000
_TAGGED = 2  # of twenty notes
_RUNS, _FEW_RUNS = 15, 5
_SEED = 20261124
_MIB = 1 << 20

_SELECTIVE = """
filters:
  and:
    - file.hasTag("project")
    - file.inFolder("Area 3")
    - status == "active"
views:
  - type: table
    name: All
    order: [file.name, status, price]
"""
_FORMULA = """
filters: file.ext == "md"
formulas:
  total: price * amount + 1
views:
  - type: table
    name: All
    order: [file.name, formula.total]
    sort: [{property: formula.total, direction: DESC}]
"""
_LINKS = """
filters: file.hasLink("Note 77")
views:
  - type: table
    name: All
    order: [file.name, file.links]
"""
_GROUPS = """
filters: price > 50
views:
  - type: table
    name: All
    groupBy: {property: status}
    order: [file.name, price]
    summaries: {price: Average}
"""
_ONE_FILTER = """
filters: {}
views:
  - type: table
    name: All
    order: [file.name, due]
"""
_MANY_VIEWS = """
filters: file.hasTag("idea")
formulas:
  total: price * amount + 1
  late: due < today()
views:
""" + "".join(
    f"""
  - type: table
    name: View {number}
    filters: {{and: ['status == "active"', "amount > {number}"]}}
    order: [file.name, formula.total, formula.late]
    sort: [{{property: formula.total, direction: DESC}}]
"""
    for number in range(20)
)
# Queries of Dataview over the same notes; and texts that are none, which must be refused soon.
_DATAVIEW = {
    "dataview: table of a tag": "TABLE price, due FROM #project SORT price DESC",
    "dataview: all notes, by a property": 'LIST FROM "" WHERE status = "active" AND due < date(today)',
    "dataview: groups": "TABLE length(rows), sum(rows.price) GROUP BY status",
}
_REFUSED = {
    "dataview: 1 MB of text": "LIST WHERE " + "a + " * 250_000,
    "dataview: 10,000 brackets": "LIST WHERE " + "(" * 9_900,
    "dataview: 10,000 signs": "LIST WHERE " + "!" * 9_900 + "a",
    "dataview: long chain": "LIST WHERE " + "a+" * 9_000 + "a",
    "dataview: open text": 'LIST WHERE "' + "\\\\" * 9_000,
}
_REFUSED_BASES = {
    "base: no YAML": "views: [",
    "base: formula of 1 MB": "formulas:\n  f: " + "a + " * 250_000 + "a\n",
    "base: longest formula": "formulas:\n  f: '" + "a + " * 4_999 + "a'\n",
    "base: 10,000 views": "views:\n" + "  - {type: table, name: a}\n" * 10_000,
    "base: 500 views and one": "views:\n" + "".join(f"  - {{type: table, name: v{n}}}\n" for n in range(501)),
    "base: bomb of aliases": "a: &a [x, x, x, x, x, x, x, x, x]\n"
    + "".join(
        f"{name}: &{name} [{', '.join([f'*{below}'] * 9)}]\n"
        for below, name in zip("abcdefgh", "bcdefghi", strict=True)
    ),
    "base: deep brackets": "a: " + "[" * 90_000,
}
# One filter each, of a kind that many bases have.
_FILTERS = {
    "filter: day before a day": 'due < "2026-03-01"',
    "filter: day before today": "due < today()",
    "filter: day within a month": "due > now() && due <= now() + '1M'",
    "filter: month of a date": "due.month == 3",
    "filter: property of tags": 'tags.contains("project")',
    "filter: file.tags": 'file.tags.contains("project")',
    "filter: changed within a week": "file.mtime > now() - '7d'",
    "filter: changed before a day": 'file.mtime < "2020-01-01"',
    "filter: links of the file": 'file.links.contains(link("Note 77"))',
    "filter: property is a link": 'up == link("Note 7")',
    "filter: property has this": "list(up).contains(this)",
}
_QUERIES = {
    "tag, folder and property": _SELECTIVE,
    "formula and sort, all rows": _FORMULA,
    "link": _LINKS,
    "groups and summary": _GROUPS,
}
_TARGETS = {
    "tag, folder and property": 10.0,
    "formula and sort, all rows": 120.0,
    **dict.fromkeys(_FILTERS, 40.0),
    "base of 20 views with formulas": 400.0,
    **dict.fromkeys((*_REFUSED, *_REFUSED_BASES), 100.0),
    "repeated query": 5.0,
    "memory MiB": 40.0,
}
_PAGE = 50


def run(path: Path) -> list[str]:
    """Measure, print a table and write the JSON. Return the missed targets."""
    facts = environment(notes=str(_NOTES), runs=str(_RUNS))
    with tempfile.TemporaryDirectory(prefix="vaultwire-bench-") as folder:
        vault = Path(folder) / "vault"
        _write_vault(vault)
        files = Files(str(vault), MAX_NOTE_BYTES)
        index = open_index(files, str(Path(folder) / "cache"))
        # A search waits for the text, too: else the child's watch loop would index it beside what is measured.
        index.search(parse_query("Note"), None, 0, 1, NO_PROGRESS)
        index.close()
        child = subprocess.run(
            [sys.executable, "-m", "bench.bases_command", folder],
            cwd=Path(__file__).parents[1],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
    found: dict[str, float] = json.loads(child.stdout)
    for name, took in found.items():
        unit = "MiB" if "MiB" in name else "ms"
        print(f"{name:<44}{took:9.2f} {unit}   {f'target {_TARGETS[name]:.0f}' if name in _TARGETS else ''}")
    write_result(path, {"environment": facts, "measured": found})
    return [
        f"{name}: {found[name]:.2f}, target {target:.0f}" for name, target in _TARGETS.items() if found[name] > target
    ]


def _measure(folder: Path) -> dict[str, float]:
    files = Files(str(folder / "vault"), MAX_NOTE_BYTES)
    index = open_index(files, str(folder / "cache"))
    settings = open_settings(files)
    ready = threading.Event()
    threading.Thread(target=index.run_watch_loop, args=(lambda *_: ready.set(),), daemon=True).start()
    ready.wait()

    def bases(*, by_index: bool = True) -> Bases:
        return Bases(files, index, settings, datetime.now, RememberedResults(), by_index=by_index)

    before = _resident()
    found: dict[str, float] = {}
    for name, text in _QUERIES.items():
        found[name] = _median(partial(_query, bases, text))
    for name, condition in _FILTERS.items():
        found[name] = _median(partial(_query, bases, _ONE_FILTER.format(json.dumps(condition))))
    found["base of 20 views with formulas"] = _median(partial(_all_views, bases, _MANY_VIEWS), _FEW_RUNS)
    known = RememberedFacts()

    def dataview(text: str) -> None:
        with suppress(VaultError):
            DataviewQueries(files, index, settings, datetime.now, known).query(text)

    found["dataview: first query of all notes"] = _timed(partial(dataview, _DATAVIEW["dataview: groups"]))
    for name, text in (*_DATAVIEW.items(), *_REFUSED.items()):
        found[name] = _median(partial(dataview, text), _FEW_RUNS)
    for name, text in _REFUSED_BASES.items():
        found[name] = _median(partial(_refused, bases, text), _FEW_RUNS)
    repeated = bases()
    found["repeated query"] = _median(partial(_query, lambda: repeated, _QUERIES["formula and sort, all rows"]))
    found["memory MiB"] = (_resident() - before) / _MIB
    for name, text in _QUERIES.items():
        found[f"full scan: {name}"] = _median(partial(_query, partial(bases, by_index=False), text), _FEW_RUNS)
    index.close()
    return found


def _query(bases: Callable[[], Bases], text: str) -> None:
    result = bases().query(BaseSource(text=text), this="Area 7/Topic 7/Note 7.md")
    result.rows[:_PAGE]


def _refused(bases: Callable[[], Bases], text: str) -> None:
    with suppress(VaultError):
        bases().query(BaseSource(text=text))


def _all_views(bases: Callable[[], Bases], text: str) -> None:
    made = bases()
    for view in made.views(BaseSource(text=text)):
        made.query(BaseSource(text=text), view.name).rows[:_PAGE]


def _median(call: Callable[[], object], runs: int = _RUNS) -> float:
    return statistics.median(_timed(call) for _ in range(runs))


def _timed(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return (time.perf_counter() - began) * 1000


def _resident() -> int:
    """Return the resident memory in bytes; 0 where the system does not say."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return 0
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS"))


def _write_vault(root: Path) -> None:
    chance = random.Random(_SEED)  # noqa: S311 - the same notes in every run
    for number in range(_NOTES):
        folder = root / f"Area {number % 10}" / f"Topic {number % 100}"
        folder.mkdir(parents=True, exist_ok=True)
        tags = ["project"] if number % 20 < _TAGGED else ["idea", f"topic/{number % 50}"]
        status = chance.choice(["active", "waiting", "done", "someday"])
        links = " ".join(f"[[Note {chance.randrange(_NOTES)}]]" for _ in range(5))
        (folder / f"Note {number}.md").write_text(
            f"---\ntags: [{', '.join(tags)}]\nstatus: {status}\nprice: {chance.randrange(1, 20_000) / 100}\n"
            f"amount: {chance.randrange(1, 50)}\ndue: 2026-{chance.randrange(1, 13):02}-{chance.randrange(1, 29):02}\n"
            f'up: "[[Note {number % 300}]]"\n'
            f"---\n# Note {number}\n\nText {links}\n"
        )


if __name__ == "__main__":
    print(json.dumps(_measure(Path(sys.argv[1]))))
