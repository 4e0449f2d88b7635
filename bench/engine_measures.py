"""Measures of the engine on one vault: starts, searches, lists, changes, memory. Takes samples only, like ``measures``.

An answer counts only if it is right: for some queries of each class, the notes found are compared with those that the corpus
finds. A wrong answer, a failed call and one without an answer are recorded as failures of their row.
"""

from __future__ import annotations

import itertools
import os
import random
import shutil
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench import engine_patterns, engine_queries
from bench.client import run_to_exit
from bench.engine_checks import measure_checks
from bench.engine_corpus import Corpus, Query
from bench.engine_edits import measure_edits
from bench.engine_large_changes import CHANGES, check_restored, measure_large_change
from bench.engine_lists import measure_lists
from bench.engine_session import EngineSamples, Session
from bench.engine_vault import SCRATCH
from bench.measures import COMMAND

RIPGREP = "ripgrep"

# So many queries of each class warm up the server, in turn with those of the other classes, before memory is read.
_WARM_UP = 12
# So many others are timed, in so many rounds. Between two runs of a query there are hundreds of others, more than the engine
# caches. Cached queries are measured apart.
_TIMED, _ROUNDS = 40, 5
# So many of those are compared with the notes and given to ripgrep: each takes a walk through the whole vault.
_COMPARED, _COMPARED_PATTERNS_OF_LARGE, _LARGE = 5, 2, 20_000
# The calls of a class end early if they take longer, and p99 is the slowest.
_MOST_SECONDS, _MOST_SECONDS_PATTERNS = 8.0, 10.0
_CHANGES = 11
_MOST_SECONDS_UNSEEN = 30.0  # after so long a change from outside counts as never found
_MOST_SECONDS_BUILD = 180.0
_BUILD_POLL = 0.1
_IDLE = 1.0  # after so long without calls, memory is what remains
_MOST_SECONDS_A_PATTERN = 15.0
# What has not begun by then is left out, so that a run of 100,000 notes takes ten minutes at most.
_PATTERNS_UNTIL, _CHECKS_UNTIL, _LARGE_CHANGES_UNTIL = 270.0, 360.0, 450.0


class EngineBench:
    """The server on one vault. Call the methods in their order: each start finds the index of the earlier ones."""

    def __init__(self, kept: Path, folder: Path) -> None:
        """``kept``: the vault, which is copied; ``folder``: an empty folder for the copy, the indexes and the journal."""
        self.samples = EngineSamples()
        self.corpus = Corpus(kept)
        self._words = engine_queries.draw(self.corpus, _WARM_UP + _TIMED)
        self._patterns = engine_patterns.draw(self.corpus, _TIMED)
        self._vault = folder / "vault"
        shutil.copytree(kept, self._vault)
        self._caches = self._cache = folder / "caches"
        self._state = folder / "state"
        self._state.mkdir()
        self._taken: dict[str, list[float]] = {}  # milliseconds by query
        self._began = time.monotonic()
        suffix = ".exe" if os.name == "nt" else ""
        scripts = Path(sys.executable).parent
        self._command = [str(scripts / f"vaultwire{suffix}"), "stdio", "--vault", str(self._vault)]
        self._ripgrep = [str(scripts / f"rg{suffix}"), "--no-config", "-l"]

    def measure_first_build(self, number: int) -> None:
        """Measure the start of a server without an index, and the searches that it answers while it builds one."""
        shutil.rmtree(self._cache, ignore_errors=True)
        self._cache = self._caches / str(number)
        self._cache.mkdir(parents=True)
        query = self._words["word in 1 %"][number]
        expected = self.corpus.found(query)
        with self._session() as session:
            started = session.server.started
            error, is_first = "not all notes were searched", True
            while time.perf_counter() - started < _MOST_SECONDS_BUILD:
                reply = session.call("search_notes", {"query": query.text}, _MOST_SECONDS_BUILD)
                elapsed = (time.perf_counter() - started) * 1e3
                so_far = (reply.data or {}).get("indexed_so_far")  # only while not all notes are indexed
                if is_first and reply.data is not None:
                    self.samples.take("first answer of a build ms", COMMAND, elapsed)
                    share = so_far["indexed"] / so_far["notes"] if so_far else 1.0
                    self.samples.take("notes in the first answer %", COMMAND, share * 100)
                    is_first = False
                self.samples.take("search in a build ms", COMMAND, reply.seconds * 1e3)
                error = reply.error or wrong(reply.data or {}, expected)
                if not error and not so_far:
                    self.samples.take("first build ms", COMMAND, elapsed)
                    break
                time.sleep(_BUILD_POLL)
            else:
                self.samples.fail("first build", f"not finished in {_MOST_SECONDS_BUILD:.0f} s: {error}")
            time.sleep(_IDLE)
            self._take_memory(session, "VmHWM", "first build peak MiB")
            self._take_memory(session, "VmRSS", "memory after build MiB")
            session.end()
        size = sum(path.stat().st_size for path in self._cache.rglob("*") if path.is_file())
        self.samples.take("index MB", COMMAND, size / 1e6)
        self.samples.take("index by text", COMMAND, size / self.corpus.bytes)

    def measure_warm_start(self, number: int) -> None:
        """Measure the start of a server with an index."""
        query = self._words["word in 1 %"][number]
        with self._session() as session:
            started = session.server.started
            reply = session.call("search_notes", {"query": query.text})
            self.samples.take("warm start ms", COMMAND, (time.perf_counter() - started) * 1e3)
            self._check("warm start", query, reply.data, reply.error)
            self._take_memory(session, "VmHWM", "warm start peak MiB")
            session.end()

    def measure_calls(self) -> None:
        """Measure searches, lists and small changes, in one process."""
        with self._session() as session:
            self._measure_memory(session)
            timed = {kind: queries[_WARM_UP:] for kind, queries in self._words.items()}
            for turn in range(_ROUNDS):
                for kind, queries in timed.items():
                    self._measure_searches(session, kind, queries, _MOST_SECONDS / _ROUNDS, turn)
            for kind, queries in timed.items():
                self._measure_kept(session, kind, queries)
                self._compare(session, kind, queries[:_COMPARED])
            compared = _COMPARED if len(self.corpus.paths) <= _LARGE else _COMPARED_PATTERNS_OF_LARGE
            measure_lists(session, self.corpus, self.samples)
            self._take_memory(session, "VmHWM", "peak of calls MiB")
            for kind, queries in self._patterns.items():
                if self._has_time(kind, _PATTERNS_UNTIL):
                    self._measure_searches(session, kind, queries, _MOST_SECONDS_PATTERNS)
                    self._compare(session, kind, queries[:compared])
            self._take_memory(session, "VmHWM", "peak with patterns MiB")
            try:
                self._measure_structure(session)
                self._measure_changes(session)
                measure_edits(session.server, self._vault, self._state, self.samples)
            except RuntimeError as error:
                self.samples.fail("small changes", f"failed: {error}")
            finally:
                shutil.rmtree(self._vault / SCRATCH, ignore_errors=True)
            session.end()

    def measure_checks(self) -> None:
        """Measure check_notes, in a process of its own."""
        if self._has_time("check_notes", _CHECKS_UNTIL):
            with self._session() as session:
                measure_checks(session, self._vault, self.samples)
                session.end()
            shutil.rmtree(self._vault / SCRATCH, ignore_errors=True)

    def measure_large_changes(self) -> None:
        """Measure changes of many notes, each in a process of its own."""
        queries = [query.text for query in self._words["word in 1 %"]]
        for change in CHANGES:
            if self._has_time(change.row, _LARGE_CHANGES_UNTIL):
                with self._session() as session:
                    measure_large_change(session, change, self.corpus, self._vault, queries, self.samples)
                    session.end()
        check_restored(self.corpus, self._vault, self.samples)

    def _has_time(self, row: str, until: float) -> bool:
        if time.monotonic() - self._began < until:
            return True
        self.samples.fail(row, f"not measured: the other rows took {until:.0f} s")
        return False

    def _session(self) -> Session:
        return Session(self._command, {"VAULTWIRE_CACHE": str(self._cache), "VAULTWIRE_STATE": str(self._state)})

    def _measure_memory(self, session: Session) -> None:
        mixed = itertools.chain(*zip(*(queries[:_WARM_UP] for queries in self._words.values()), strict=False))
        replies = session.calls("search_notes", [{"query": query.text} for query in mixed], _MOST_SECONDS)
        self.samples.take("searches before memory", COMMAND, len(replies))
        self._take_memory(session, "VmRSS", "memory MiB")
        self._take_memory(session, "RssAnon", "memory of its own MiB")

    def _measure_searches(
        self, session: Session, kind: str, queries: list[Query], most_seconds: float, turn: int = 0
    ) -> None:
        each = _MOST_SECONDS_A_PATTERN if kind in self._patterns else _MOST_SECONDS_BUILD
        replies = session.calls("search_notes", _arguments(queries), most_seconds, each)
        for number, reply in enumerate(replies):
            taken = reply.seconds * 1e3
            self.samples.take("search ms", kind, taken)
            if turn == 0:
                self.samples.take("search for the first time ms", kind, taken)
            self._taken.setdefault(queries[number].text, []).append(taken)
            if reply.data is None:
                self.samples.fail(kind, f"failed: {queries[number].text}: {reply.error}")

    def _measure_kept(self, session: Session, kind: str, queries: list[Query]) -> None:
        """Ask each query twice in a row, as for a next page; measure the second time."""
        twice = [query for query in queries for _ in range(2)]
        for reply in session.calls("search_notes", _arguments(twice), _MOST_SECONDS)[1::2]:
            self.samples.take("search again ms", kind, reply.seconds * 1e3)

    def _compare(self, session: Session, kind: str, queries: list[Query]) -> None:
        for query in queries:
            if kind in self._patterns and not self._has_time(f"{kind} {query.text}", _PATTERNS_UNTIL):
                return
            reply = session.call("search_notes", {"query": query.text}, _MOST_SECONDS_A_PATTERN)
            expected = self._check(kind, query, reply.data, reply.error)
            self.samples.take("notes found", kind, len(expected))
            if query.ripgrep and expected and query.text in self._taken:
                seconds = run_to_exit([*self._ripgrep, *query.ripgrep, "--", str(self._vault)])
                self.samples.take("ripgrep ms", kind, seconds * 1e3)
                self.samples.take("search as ripgrep's ms", kind, statistics.median(self._taken[query.text]))

    def _check(self, row: str, query: Query, answer: dict[str, Any] | None, error: str) -> set[str]:
        """Return the right notes; record a failure if the answer has others."""
        expected = self.corpus.found(query)
        reason = f"failed: {error}" if answer is None else wrong(answer, expected)
        if reason:
            self.samples.fail(row, f"{query.text}: {reason}")
        return expected

    def _measure_structure(self, session: Session) -> None:
        chance = random.Random(0)  # noqa: S311 - the same notes in every run
        notes = [{"path": path} for path in chance.sample(self.corpus.paths, _TIMED)]
        for kind, tool, more in (
            ("backlinks", "list_links", {"what": "in"}),
            ("outline", "read_note", {"part": "outline"}),
        ):
            for reply in session.calls(tool, [note | more for note in notes] * _ROUNDS, _MOST_SECONDS):
                self.samples.take(f"{kind} ms", COMMAND, reply.seconds * 1e3)
                if reply.data is None:
                    self.samples.fail(kind, f"failed: {reply.error}")

    def _measure_changes(self, session: Session) -> None:
        """Change one note repeatedly, each time with a word that no other note has, and search for the word."""
        path = f"{SCRATCH}/Changed.md"
        target, new = self._vault / path, self._vault / SCRATCH / ".new.tmp"
        body = (self._vault / self.corpus.paths[0]).read_text(encoding="utf-8")
        clock, call = time.perf_counter, session.server.call
        for number in range(_CHANGES):
            word = f"xqwritten{number:03}"
            arguments = {"path": path, "content": f"{body}\n{word}\n", "mode": "overwrite"}
            before = clock()
            call("write_note", arguments)
            written = clock()
            answer = call("search_notes", {"query": word})
            answered = clock()
            self._expect(word, answer, {path})
            self.samples.take("write_note ms", COMMAND, (written - before) * 1e3)
            self.samples.take("search after write_note ms", COMMAND, (answered - written) * 1e3)
            self.samples.take("write_note and search ms", COMMAND, (answered - before) * 1e3)
        self._expect("an overwritten word", call("search_notes", {"query": "xqwritten000"}), set())
        for number in range(_CHANGES):
            word = f"xqreplaced{number:03}"
            new.write_text(f"{body}\n{word}\n", encoding="utf-8")
            before = clock()
            new.replace(target)
            while not call("search_notes", {"query": word})["total"]:
                if clock() - before > _MOST_SECONDS_UNSEEN:
                    raise RuntimeError(f"a note changed from outside was not found in {_MOST_SECONDS_UNSEEN} s")
            self.samples.take("change from outside ms", COMMAND, (clock() - before) * 1e3)
        self._expect("a replaced word", call("search_notes", {"query": "xqreplaced000"}), set())

    def _expect(self, what: str, answer: dict[str, Any], expected: set[str]) -> None:
        reason = wrong(answer, expected)
        if reason:
            self.samples.fail("search after a change", f"{what}: {reason}")

    def _take_memory(self, session: Session, field: str, measure: str) -> None:
        memory = session.memory()
        if field in memory:
            self.samples.take(measure, COMMAND, memory[field])


def wrong(answer: dict[str, Any], expected: set[str]) -> str:
    """Return what is wrong with a search's answer, nothing if it is right. Its total may be said to be a lower bound."""
    shown = {note["path"] for note in answer["notes"]}
    total = answer["total"]
    is_count = total <= len(expected) if is_at_least(answer) else total == len(expected)
    if is_count and shown <= expected and bool(shown) == bool(expected):
        return ""
    return f"WRONG: found {total} notes, {len(expected)} hold it; wrong ones: {sorted(shown - expected)[:5]}"


def is_at_least(answer: dict[str, Any]) -> bool:
    """Tell whether a search says that there may be more matches than its total."""
    return any("least" in name and value is True for name, value in answer.items()) or (
        answer.get("total_is_exact") is False
    )


def _arguments(queries: Sequence[Query]) -> list[dict[str, Any]]:
    return [{"query": query.text} for query in queries]
