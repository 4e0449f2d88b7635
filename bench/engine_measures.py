"""Measures of the engine on one vault: starts, searches, structure, changes, memory. Takes samples only, like ``measures``.

A search counts only if it finds the right notes. For some queries of each class they are compared with those that the corpus
finds; a wrong one ends the run with an error.
"""

from __future__ import annotations

import itertools
import os
import random
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from bench.client import Server, run_to_exit
from bench.engine_edits import measure_edits
from bench.engine_queries import Corpus, Query, draw
from bench.engine_vault import SCRATCH
from bench.measures import COMMAND, Samples

RIPGREP = "ripgrep"

# So many queries of each class warm up the server, in turn with those of the other classes, before memory is read.
_WARM_UP = 12
# So many others are timed, in so many rounds. Between two runs of a query there are hundreds of others, more than the engine
# caches. Cached queries are measured apart.
_TIMED, _ROUNDS = 40, 5
# So many of those are compared with the notes and given to ripgrep: each takes a walk through the whole vault.
_COMPARED = 5
# Only an engine that reads all notes for a search takes longer. The rounds then end early, and p99 is the slowest.
_MOST_SECONDS = 8.0
_CHANGES = 11
_PAUSE_SECONDS = 0.2  # between two searches while the index is built
_MOST_SECONDS_UNSEEN = 30.0  # after so long a change from outside counts as never found


class EngineBench:
    """The server on one vault. Call the methods in their order: each start finds the index of the earlier ones."""

    def __init__(self, vault: Path, folder: Path) -> None:
        """``folder``: an empty folder for the indexes and the journal."""
        self.samples = Samples()
        self.corpus = Corpus(vault)
        self._queries = draw(self.corpus, _WARM_UP + _TIMED)
        self._vault = vault
        self._caches = self._cache = folder / "caches"
        self._state = folder / "state"
        self._state.mkdir()
        suffix = ".exe" if os.name == "nt" else ""
        scripts = Path(sys.executable).parent
        self._command = [str(scripts / f"vaultwire{suffix}"), "stdio", "--vault", str(vault)]
        self._ripgrep = [str(scripts / f"rg{suffix}"), "--no-config", "-l", "-i", "-F", "--"]

    def measure_first_build(self, number: int) -> None:
        """Measure the start of a server without an index."""
        shutil.rmtree(self._cache, ignore_errors=True)
        self._cache = self._caches / str(number)
        self._cache.mkdir(parents=True)
        self._measure_start("first build ms", number)
        size = sum(path.stat().st_size for path in self._cache.rglob("*") if path.is_file())
        self.samples.take("index MB", COMMAND, size / 1e6)

    def measure_warm_start(self, number: int) -> None:
        """Measure the start of a server with an index."""
        self._measure_start("warm start ms", number)

    def measure_calls(self) -> None:
        """Measure everything else, in one process."""
        with self._server() as server:
            server.open()
            self._measure_memory(server)
            timed = {kind: queries[_WARM_UP:] for kind, queries in self._queries.items()}
            for turn in range(_ROUNDS):
                for kind, queries in timed.items():
                    self._measure_searches(server, kind, queries, turn)
            for kind, queries in timed.items():
                self._measure_kept(server, kind, queries)
                self._compare(server, kind, queries[:_COMPARED])
            self._measure_structure(server)
            try:
                self._measure_changes(server)
                measure_edits(server, self._vault, self._state, self.samples)
            finally:
                shutil.rmtree(self._vault / SCRATCH, ignore_errors=True)
            server.end()

    def _server(self) -> Server:
        return Server(self._command, {"VAULTWIRE_CACHE": str(self._cache), "VAULTWIRE_STATE": str(self._state)})

    def _measure_start(self, measure: str, number: int) -> None:
        query = self._queries["word in 1 %"][number]
        expected = self.corpus.found(query)
        with self._server() as server:
            server.open()
            answer = _search(server, query.text)
            while "indexed_so_far" in answer:  # of a large vault a part is searched until all is indexed
                time.sleep(_PAUSE_SECONDS)
                answer = _search(server, query.text)
            self.samples.take(measure, COMMAND, server.seconds() * 1e3)
            _check(query.text, answer, expected)
            self._take_memory(server, "VmHWM", measure.replace(" ms", " peak MiB"))
            server.end()

    def _measure_memory(self, server: Server) -> None:
        mixed = itertools.chain(*zip(*(queries[:_WARM_UP] for queries in self._queries.values()), strict=False))
        taken = server.time_calls("search_notes", [{"query": query.text} for query in mixed], _MOST_SECONDS)
        self.samples.take("searches before memory", COMMAND, len(taken))
        self._take_memory(server, "VmRSS", "memory MiB")
        self._take_memory(server, "RssAnon", "memory of its own MiB")

    def _measure_searches(self, server: Server, kind: str, queries: list[Query], turn: int) -> None:
        arguments = [{"query": query.text} for query in queries]
        for number, seconds in enumerate(server.time_calls("search_notes", arguments, _MOST_SECONDS / _ROUNDS)):
            self.samples.take("search ms", kind, seconds * 1e3)
            if turn == 0:
                self.samples.take("search for the first time ms", kind, seconds * 1e3)
            if number < _COMPARED:
                self.samples.take("search as ripgrep's ms", kind, seconds * 1e3)

    def _measure_kept(self, server: Server, kind: str, queries: list[Query]) -> None:
        """Ask each query twice in a row, as for a next page; measure the second time."""
        arguments = [{"query": query.text} for query in queries for _ in range(2)]
        for seconds in server.time_calls("search_notes", arguments, _MOST_SECONDS)[1::2]:
            self.samples.take("search again ms", kind, seconds * 1e3)

    def _compare(self, server: Server, kind: str, queries: list[Query]) -> None:
        for query in queries:
            expected = self.corpus.found(query)
            _check(query.text, _search(server, query.text), expected)
            self.samples.take("notes found", kind, len(expected))
            seconds = run_to_exit([*self._ripgrep, query.for_ripgrep, str(self._vault)])
            self.samples.take("ripgrep ms", kind, seconds * 1e3)

    def _measure_structure(self, server: Server) -> None:
        chance = random.Random(0)  # noqa: S311 - the same notes in every run
        notes = [{"path": path} for path in chance.sample(self.corpus.paths, _TIMED)]
        for tool, arguments in (("list_backlinks", notes), ("get_outline", notes), ("list_tags", [{}] * _TIMED)):
            for seconds in server.time_calls(tool, arguments * _ROUNDS, _MOST_SECONDS):
                self.samples.take(f"{tool} ms", COMMAND, seconds * 1e3)

    def _measure_changes(self, server: Server) -> None:
        """Change one note repeatedly, each time with a word that no other note has, and search for the word."""
        path = f"{SCRATCH}/Changed.md"
        target, new = self._vault / path, self._vault / SCRATCH / ".new.tmp"
        body = (self._vault / self.corpus.paths[0]).read_text(encoding="utf-8")
        clock = time.perf_counter
        for number in range(_CHANGES):
            word = f"xqwritten{number:03}"
            arguments = {"path": path, "content": f"{body}\n{word}\n", "mode": "overwrite"}
            before = clock()
            server.call("write_note", arguments)
            written = clock()
            answer = _search(server, word)
            answered = clock()
            _check(word, answer, {path})
            self.samples.take("write_note ms", COMMAND, (written - before) * 1e3)
            self.samples.take("search after write_note ms", COMMAND, (answered - written) * 1e3)
            self.samples.take("write_note and search ms", COMMAND, (answered - before) * 1e3)
        _check("an overwritten word", _search(server, "xqwritten000"), set())
        for number in range(_CHANGES):
            word = f"xqreplaced{number:03}"
            new.write_text(f"{body}\n{word}\n", encoding="utf-8")
            before = clock()
            new.replace(target)
            while not _search(server, word)["total"]:
                if clock() - before > _MOST_SECONDS_UNSEEN:
                    raise RuntimeError(f"a note changed from outside was not found in {_MOST_SECONDS_UNSEEN} s")
            self.samples.take("change from outside ms", COMMAND, (clock() - before) * 1e3)
        _check("a replaced word", _search(server, "xqreplaced000"), set())

    def _take_memory(self, server: Server, field: str, measure: str) -> None:
        memory = server.memory()
        if memory is not None:
            self.samples.take(measure, COMMAND, memory[field])


def _search(server: Server, query: str) -> dict[str, Any]:
    return server.call("search_notes", {"query": query})


def _check(query: str, answer: dict[str, Any], expected: set[str]) -> None:
    """Raise RuntimeError for a wrong answer: a fast one must not count."""
    shown = {note["path"] for note in answer["notes"]}
    if answer["total"] != len(expected) or not shown <= expected or bool(shown) != bool(expected):
        wrong = sorted(shown - expected)
        raise RuntimeError(f"{query!r}: found {answer['total']} notes, {len(expected)} hold it; wrong ones: {wrong}")
