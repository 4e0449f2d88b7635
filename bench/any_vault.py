"""Random searches and all lists on any folder of notes, over stdio, without changing it: times, and wrong answers.

``python bench/any_vault.py FOLDER``. Some of the answers are compared with a look into each note. The exit code is 1 if an
answer is wrong or a call failed.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

# Started as a file: as in run.py.
sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from bench.engine_measures import is_at_least  # noqa: E402 - the path comes first
from bench.engine_session import EngineSamples, Reply, Session  # noqa: E402
from bench.random_queries import QueryMaker  # noqa: E402
from bench.report import aligned, number  # noqa: E402

from vaultwire.markdown.parse import parse_note  # noqa: E402
from vaultwire.vault.errors import VaultError  # noqa: E402
from vaultwire.vault.search.matching import Match, Matcher  # noqa: E402
from vaultwire.vault.search.note_parts import searchable_text  # noqa: E402
from vaultwire.vault.search.query import Query, parse_query  # noqa: E402

_PAGE = 1000
_MOST_SECONDS_BUILD = 600.0
_REGEX_SECONDS = 600.0  # of the look into each note
_LISTS: list[tuple[str, dict[str, Any]]] = [
    *(
        ("list_notes", {}),
        ("find_notes", {"sort": "modified"}),
        ("vault_overview", {"what": "tags"}),
        ("vault_overview", {"what": "properties"}),
        ("list_tasks", {}),
    ),
    *(("list_tasks", {"status": "any"}), ("vault_overview", {}), ("find_notes", {}), ("check_notes", {"limit": 1000})),
    *(("list_links", {"what": what}) for what in ("orphans", "hubs", "dead_ends", "unresolved")),
]
_LIST_CALLS = 10

parsed = cache(parse_note)


class Run:
    """One server on one folder, and what was found there."""

    def __init__(self, session: Session, folder: Path, seed: int) -> None:
        self.samples = EngineSamples()
        self.slowest: dict[str, tuple[float, str]] = {}
        self.compared = 0
        self._session = session
        self._chance = random.Random(seed)  # noqa: S311 - a run can be repeated
        started = time.perf_counter()
        while (reply := self._session.call("list_notes", {"limit": 1})).data is None:  # the index is being built
            self.samples.fail(
                "list_notes, while the index is built", f"failed after {reply.seconds:.0f} s: {reply.error}"
            )
            if time.perf_counter() - started > _MOST_SECONDS_BUILD:
                raise RuntimeError(f"list_notes failed: {reply.error}")
        self.paths = [note["path"] for page in self._pages("list_notes", "notes") for note in page]
        self.built_after = time.perf_counter() - started
        canvases = [path.relative_to(folder).as_posix() for path in folder.rglob("*.canvas")]
        self.texts = {path: searchable_text(path, (folder / path).read_bytes()) for path in [*self.paths, *canvases]}
        self.queries = QueryMaker(self._chance, list(self.texts.items()))

    def search(self, calls: int, compared: int, most_seconds: float) -> None:
        """Ask each kind of query so many times; then compare the first of them with a look into each note.

        Each of both ends after ``most_seconds``.
        """
        asked: list[tuple[str, Query]] = []
        end = time.perf_counter() + most_seconds
        for kind, make in list(self.queries.kinds.items()) * calls:
            if time.perf_counter() < end:
                query = next(_valid(make))
                if self._call(kind, "search_notes", {"query": query.text}, query.text).data is not None:
                    asked.append((kind, query))
        end = time.perf_counter() + most_seconds
        for kind, query in asked[: compared * len(self.queries.kinds)]:
            if time.perf_counter() < end:
                self._compare(kind, query)
                self.compared += 1

    def _compare(self, kind: str, query: Query) -> None:
        reply = self._session.call("search_notes", {"query": query.text, "limit": _PAGE, "max_tokens": 100_000})
        if reply.data is None:
            return
        matcher = Matcher(query, _REGEX_SECONDS, parsed)
        expected = {path: match for path, text in self.texts.items() if (match := matcher.match(path, text))}
        if reason := _wrong(reply.data, expected, len(self.texts)):
            self.samples.fail(kind, f"WRONG: {query.text}: {reason}")

    def lists(self) -> None:
        """Ask all lists, names and structures."""
        for tool, arguments in _LISTS:
            row = " ".join([tool, *map(str, arguments.values())])
            for _ in range(_LIST_CALLS):
                if self._call(row, tool, arguments, "").data is None:
                    break
        for path in self._chance.sample(self.paths, min(_LIST_CALLS * 2, len(self.paths))):
            name = Path(path).stem
            self._call("find_notes by name", "find_notes", {"name": name}, name)
            self._call("find_notes by mistyped name", "find_notes", {"name": name[1:] or name}, name)
            self._call("read_note outline", "read_note", {"path": path, "part": "outline"}, path)
            for what in ("out", "in"):
                self._call(f"list_links {what}", "list_links", {"path": path, "what": what}, path)
        self._compare_lists()

    def _compare_lists(self) -> None:
        notes = [parsed(self.texts[path]) for path in self.paths]
        spellings = [{tag.casefold() for tag in note.tags} for note in notes]
        counts = Counter(above for tags in spellings for above in {part for tag in tags for part in _with_above(tag)})
        found = {
            tag["tag"].casefold(): tag["notes"]
            for page in self._pages("vault_overview", "tags", what="tags")
            for tag in page
        }
        self._expect("vault_overview tags", found, dict(counts))
        tasks = sum(len(note.tasks) for note in notes)
        self._expect("list_tasks any", self._session.call("list_tasks", {"status": "any"}).data, {"total": tasks})
        for tag in self._chance.sample(sorted(counts), min(_LIST_CALLS, len(counts))):
            reply = self._call("search_by_tags", "search_by_tags", {"tags": [tag]}, tag)
            self._expect("search_by_tags", reply.data, {"total": counts[tag]})

    def _expect(self, row: str, found: dict[str, Any] | None, expected: dict[str, Any]) -> None:
        different = {name: (found or {}).get(name) for name in expected if (found or {}).get(name) != expected[name]}
        if different:
            name = next(iter(different))
            reason = f"{len(different)} of {len(expected)} differ: {name!r} {different[name]}, not {expected[name]}"
            self.samples.fail(row, f"WRONG: {reason}")

    def _pages(self, tool: str, key: str, **asked: str) -> Iterator[list[dict[str, Any]]]:
        arguments: dict[str, Any] = {"limit": _PAGE, **asked}
        while True:
            reply = self._session.call(tool, arguments, 600)
            if reply.data is None:
                raise RuntimeError(f"{tool} failed: {reply.error}")
            yield reply.data[key]
            if "next_cursor" not in reply.data:
                return
            arguments = {"limit": _PAGE, **asked, "cursor": reply.data["next_cursor"]}

    def _call(self, row: str, tool: str, arguments: dict[str, Any], what: str) -> Reply:
        reply = self._session.call(tool, arguments)
        self.samples.take("ms", row, reply.seconds * 1e3)
        self.slowest[row] = max(self.slowest.get(row, (0.0, "")), (reply.seconds, what))
        if reply.data is None:
            self.samples.fail(row, f"failed after {reply.seconds:.1f} s: {what}: {reply.error}")
        return reply

    def table(self) -> str:
        """Return the times of each row, and its slowest call."""
        lines: list[tuple[str, ...]] = [("", "calls", "p50 ms", "p95 ms", "max ms", "slowest")]
        for (_, row), taken in self.samples.items():
            ordered = sorted(taken)
            values = (statistics.median(taken), ordered[len(ordered) * 95 // 100], ordered[-1])
            lines.append((row, str(len(taken)), *map(number, values), self.slowest[row][1].replace("\n", " ")[:70]))
        return "\n".join(aligned(lines))


def _valid(make: Callable[[], str]) -> Iterator[Query]:
    """Yield the queries that are valid."""
    while True:
        try:
            yield parse_query(make())
        except VaultError:
            continue


def _wrong(answer: dict[str, Any], expected: dict[str, Match], searched: int) -> str:
    """Return what is wrong with the answer to a search, nothing if it is right."""
    shown = {note["path"]: note["match_count"] for note in answer["notes"]}
    if more := shown.keys() - expected.keys():
        return f"{len(more)} notes do not match, such as {min(more)}"
    total = answer["total"]
    if total > len(expected) or (total < len(expected) and not is_at_least(answer)):
        return f"{total} notes are said to match, not {len(expected)}; not shown: {sorted(expected.keys() - shown)[:3]}"
    if bool(shown) != bool(expected) or answer["notes_searched"] + answer["notes_skipped"] != searched:
        return f"{len(shown)} notes shown, {answer['notes_searched']} of {searched} searched"
    counts = [path for path, count in shown.items() if count != expected[path].matches]
    return f"{counts[0]} has {expected[counts[0]].matches} matching lines, not {shown[counts[0]]}" if counts else ""


def _with_above(tag: str) -> list[str]:
    """Return a tag and the tags above it."""
    parts = tag.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]


def main() -> int:
    """Run; print the table and what is wrong."""
    parser = argparse.ArgumentParser(prog="bench/any_vault.py", description=__doc__)
    parser.add_argument("folder", type=Path, help="any folder of Markdown notes; nothing in it is changed")
    parser.add_argument("--calls", type=int, default=20, help="searches of each kind (default: 20)")
    parser.add_argument("--compared", type=int, default=5, help="of these compared with the notes (default: 5)")
    parser.add_argument(
        "--seconds",
        type=float,
        default=600,
        help="end the searches after this time, and the comparing, too (default: 600)",
    )
    parser.add_argument("--seed", type=int, default=1, help="another seed makes other searches (default: 1)")
    options = parser.parse_args()
    command = [str(Path(sys.executable).parent / "vaultwire"), "stdio", "--read-only", "--vault", str(options.folder)]
    with tempfile.TemporaryDirectory(prefix="vaultwire-bench-") as own:
        variables = {"VAULTWIRE_CACHE": f"{own}/cache", "VAULTWIRE_STATE": f"{own}/state"}
        with Session(command, variables) as session:
            run = Run(session, options.folder, options.seed)
            print(f"{len(run.paths)} notes, all listed {run.built_after:.1f} s after the start; seed {options.seed}")
            run.search(options.calls, options.compared, options.seconds)
            run.lists()
            peak = session.memory().get("VmHWM")
            session.end()
    print(run.table())
    print(f"peak memory: {number(peak)} MiB; {run.compared} searches were compared with the notes")
    for row, (times, reason) in run.samples.failures.items():
        print(f"{row}: {times} x {reason}")
    return 1 if run.samples.failures else 0


if __name__ == "__main__":
    sys.exit(main())
