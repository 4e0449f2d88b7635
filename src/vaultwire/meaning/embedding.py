"""Keeps the vectors of one vault's notes up to date with its files, in the background, and finds the notes near a text.

Notes come from the run's own files and index: what it may not see, and what the vault's rules exclude, is not embedded. The
newest and most linked notes come first. Everything that is done is kept; a killed process goes on where it was.
"""

from __future__ import annotations

import hashlib
import math
import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from vaultwire.meaning.chunks import chunks_of
from vaultwire.meaning.models import LateError, ModelError
from vaultwire.meaning.worker import Worker
from vaultwire.vault.disk.contents import plain_text
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.process_lock import ProcessLock
from vaultwire.vault.errors import Stopped, VaultError
from vaultwire.vault.index.freshness import OnChange
from vaultwire.vault.index.index import Index
from vaultwire.vault.value_types import Coverage, NoProgress, NoteStat, Progress, VaultPath

if TYPE_CHECKING:
    from vaultwire.meaning.models import Vectors
    from vaultwire.meaning.store import Embedded, Near, VectorStore

# A request to a model: a slow one takes half a second for each text, and is to end soon after a person wants it to.
_TEXTS_AT_ONCE = 8
_EMBED_SECONDS = 300.0
# A question has so long for all that it needs of its model: the model's process, its turn, its vector.
_QUESTION_SECONDS = 15.0
# After a question's model has failed, it is not asked for so long: callers hear at once what was wrong.
_REST_SECONDS = 30.0
# How long the background work rests after a failure: at first, and at most.
_FIRST_REST, _LONGEST_REST = 10.0, 600.0
# What is embedded is stored after so many seconds or chunks.
_STORE_SECONDS, _STORE_CHUNKS = 3.0, 256
# What changes meanwhile is looked for as often, so that the newest notes come first.
_LOOK_AGAIN_SECONDS = 20.0
# Vectors that no run has used for a month are deleted, as indexes are.
_UNUSED_SECONDS = 30 * 24 * 3600
_KEPT_QUESTIONS = 32
_BROKEN = (OSError, sqlite3.Error)


class Work(NamedTuple):
    """What is left to do: notes to embed, the first ones first, and notes whose vectors are to be dropped."""

    notes: list[NoteStat]
    gone: list[VaultPath]


class _WaitedError(Exception):
    """The time for waiting is over."""


class _Limits(NamedTuple):
    """When work ends, by the monotonic clock: after ``last`` no request begins, at ``until`` each must have ended."""

    last: float = math.inf
    until: float = math.inf

    def is_over(self) -> bool:
        """Tell whether no request may begin."""
        return time.monotonic() > self.last

    def seconds(self) -> float:
        """Return how long a request that begins now may take."""
        return self.until - time.monotonic()


class Embedding:
    """The vectors of one vault for one model. Safe to use from several threads."""

    def __init__(self, files: Files, index: Index, model: str, cache: str) -> None:
        """``model``: as of ``models.open_embedder``; ``cache``: the folder in which indexes lie.

        Neither the model nor the vectors are opened before they are needed.
        """
        self._files = files
        self._index = index
        self._model = model
        vault, of_model = (
            hashlib.blake2b(os.fsencode(text), digest_size=12).hexdigest() for text in (files.root, model)
        )
        stamp = f"-{files.stamp}" if files.stamp else ""
        self._folder = os.path.join(cache, f"meaning-{vault}-{of_model}{stamp}")
        self._questions = Worker(model, is_background=False)
        self._background = Worker(model, is_background=True)
        self._asked: dict[str, Vectors] = {}
        self._opening = threading.Lock()
        self._store: VectorStore | None = None
        self._closing = threading.Event()
        self._changed = threading.Event()
        self._is_followed = False
        self._failure = ""
        self._rests_until = 0.0
        self._seconds_a_text = 0.0
        self.problem = ""
        """Why notes or questions cannot be embedded, empty if they can."""

    # ------------------------------------------------------------------ finding

    def near(self, text: str, until: float = math.inf) -> Iterator[Near]:
        """Yield the notes whose meaning is nearest to the text, each with its nearest chunk. Raises ModelError.

        ``until``: when the model must have answered, by the monotonic clock, if not sooner.
        """
        until = min(until, time.monotonic() + _QUESTION_SECONDS)
        with self._reading(until) as store:
            yield from store.near(self._vector_of(text, until))

    def near_note(self, path: VaultPath) -> Iterator[Near]:
        """Yield the other notes, those nearest to this one first (``VectorStore.near_note``). Raises ModelError."""
        with self._reading() as store:
            yield from store.near_note(path)

    def nearest_pairs(
        self, paths: Collection[VaultPath], progress: Progress
    ) -> list[tuple[VaultPath, VaultPath, float, float]]:
        """Return the pairs of notes of which each is the other's nearest (``VectorStore.nearest_pairs``). Raises ModelError."""
        with self._reading() as store:
            return [*store.nearest_pairs(paths, progress)]

    @contextmanager
    def _reading(self, until: float | None = None) -> Iterator[VectorStore]:
        """Yield the store to read. Raises ModelError where it cannot be read."""
        try:
            yield self._open(self._questions, until)
        except _BROKEN as error:
            raise ModelError(f"the vectors in {self._folder} cannot be read: {error}") from None

    def coverage(self, progress: Progress) -> Coverage:
        """Return how many notes can be found by meaning, of all, and what the trouble is."""
        searched = self._index.searched(progress)
        try:
            store = self._open(self._questions)
            known, size = store.known(), store.size()
        except (*_BROKEN, ModelError) as error:
            return Coverage(0, len(searched), self.problem or str(error))
        return Coverage(sum(path in searched for path in known), len(searched), self.problem, size)

    def _vector_of(self, text: str, until: float) -> Vectors:
        vector = self._asked.get(text)
        if vector is None:
            with self._asking():
                vector = self._questions.embed([text], is_query=True, seconds=until - time.monotonic())[0]
            if len(self._asked) >= _KEPT_QUESTIONS:
                self._asked.pop(next(iter(self._asked), ""), None)
            self._asked[text] = vector
            self.problem = ""
        return vector

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Remember a failure of what is asked for a while, and meanwhile raise it again before anything is asked."""
        if time.monotonic() < self._rests_until:
            raise ModelError(self._failure)
        try:
            yield
        except ModelError as error:
            if time.monotonic() >= self._rests_until:  # else it is the one that is remembered
                self.problem = self._failure = str(error)
                self._rests_until = time.monotonic() + _REST_SECONDS
            raise

    def _open(self, worker: Worker, until: float | None = None) -> VectorStore:
        """Return the store, opened at the first use: the model says its name, and tells vectors of another one from its own."""
        until = time.monotonic() + _QUESTION_SECONDS if until is None else until
        with self._opening:
            if self._store is None:
                with self._asking():
                    name = worker.load(until - time.monotonic())
                from vaultwire.meaning.store import VectorStore  # noqa: PLC0415 - numpy takes 200 ms

                self._store = VectorStore(self._folder, name)
                self._remove_unused()
            return self._store

    def _remove_unused(self) -> None:
        """Delete the vectors of other models and rules that no run has opened for a month."""
        os.utime(self._folder)
        cache, name = os.path.split(self._folder)
        for other in os.listdir(cache):
            place = os.path.join(cache, other)
            same_vault = other.startswith("-".join([*name.split("-")[:2], ""]))
            if same_vault and time.time() - os.stat(place).st_mtime > _UNUSED_SECONDS:
                shutil.rmtree(place, ignore_errors=True)

    # ------------------------------------------------------------------ embedding

    def run_beside(self, run: Callable[[OnChange], None], on_change: OnChange | None) -> None:
        """Embed in the background while ``run`` runs, which is called with what hears of changes."""

        def hear(paths: Collection[str], folders: Collection[str]) -> None:
            self._changed.set()
            if on_change is not None:
                on_change(paths, folders)

        self._is_followed = True
        # No daemon: a thread frozen while it imports holds a lock the process's end needs.
        thread = threading.Thread(target=self._follow, name="vaultwire-embedding")
        thread.start()
        try:
            run(hear)
        finally:
            self.close()
            thread.join()

    def close(self) -> None:
        """End all work. Safe from any thread."""
        self._closing.set()
        self._changed.set()
        self._questions.close()
        self._background.close()

    def embed_for(self, seconds: float, progress: Progress, until: float = math.inf) -> None:
        """Embed for at most so long where nothing does so in the background: for a command. Raises ModelError and Stopped.

        After ``seconds`` no request begins; ``until``: when each must have ended, by the monotonic clock.
        """
        if self._is_followed:
            return
        try:
            with self._asking():
                self._embed(_Told(self._closing, progress), _Limits(time.monotonic() + seconds, until))
        except _WaitedError:  # another process embeds the vault, and what it has stored can be found
            return
        except _BROKEN as error:
            raise ModelError(f"the vectors in {self._folder} cannot be written: {error}") from None

    def _follow(self) -> None:
        """Embed what there is to embed, and then what changes, until ``close``."""
        progress = _Told(self._closing)
        rest = _FIRST_REST
        while not self._closing.is_set():
            self._changed.clear()
            try:
                self._embed(progress, _Limits())
                rest = _FIRST_REST
                self._background.rest()
                self._changed.wait()
            except Stopped:
                return
            except (*_BROKEN, ModelError, VaultError) as error:
                self.problem = str(error)
                self._closing.wait(rest)
                rest = min(2 * rest, _LONGEST_REST)

    def _embed(self, progress: Progress, limits: _Limits) -> None:
        """Embed what is not embedded, and drop what is not there any more, until it is done or the limits are reached.

        Waits while another process embeds the same vault. Raises ModelError, VaultError, Stopped, ``_WaitedError`` after too
        long a wait, and as the store does.
        """
        self._seconds_a_text = 0.0  # how quick the model is now, nobody knows yet
        store = self._open(self._notes_worker, time.monotonic() + min(_EMBED_SECONDS, limits.seconds()))
        lock = ProcessLock(os.path.join(self._folder, "lock"), "another process is embedding the vault")
        with lock.held(_Told(self._closing, progress, limits.last)):
            while True:
                work = self.work(store, progress)
                store.remove(work.gone)
                if not work.notes:
                    self.problem = ""
                    return
                look_again = time.monotonic() + _LOOK_AGAIN_SECONDS
                done = 0
                for notes in self._batches(work.notes, progress, limits._replace(last=min(limits.last, look_again))):
                    store.put(notes)
                    done += len(notes)
                    self.problem = ""
                    progress.report(done, len(work.notes), f"embedded {done} of {len(work.notes)} notes")
                if limits.is_over() or not done:  # what is left cannot be read now, or is too long for a command
                    return

    @property
    def _notes_worker(self) -> Worker:
        """What embeds notes. A person waits for a command: it is not of low priority, and one process does all."""
        return self._background if self._is_followed else self._questions

    def work(self, store: VectorStore, progress: Progress) -> Work:
        """Return what is left to do."""
        stats = {stat.path: stat for stat in self._index.stats_of_notes(None, progress)}
        known = store.stats()
        notes = [stat for path, stat in stats.items() if known.get(path) != stat]
        return Work(self._in_order(notes, progress), [path for path in known if path not in stats])

    def _in_order(self, notes: list[NoteStat], progress: Progress) -> list[NoteStat]:
        """Return the notes, those first that are new and have many links: by the sum of their two places."""
        if not notes:
            return notes
        paths, links = self._index.link_graph(progress).between_notes()
        linked = dict.fromkeys(paths, 0)
        for _, target in links:
            linked[paths[target]] += 1
        newest = sorted(notes, key=lambda stat: (-stat.modified_ns, stat.path))
        most_linked = sorted(notes, key=lambda stat: (-linked.get(stat.path, 0), stat.path))
        places = dict.fromkeys((stat.path for stat in notes), 0)
        for ordered in (newest, most_linked):
            for place, stat in enumerate(ordered):
                places[stat.path] += place
        return sorted(notes, key=lambda stat: (places[stat.path], stat.path))

    def _batches(self, notes: Sequence[NoteStat], progress: Progress, limits: _Limits) -> Iterator[list[Embedded]]:
        """Yield embedded notes, some at a time, until all are embedded or the limits are reached."""
        from vaultwire.meaning.store import Embedded  # noqa: PLC0415 - numpy takes 200 ms

        waiting: list[Embedded] = []
        stored = time.monotonic()
        has_answered = False
        for together in self._together(notes, progress):
            if limits.is_over():
                break
            try:
                vectors = self._embedded([text for _, texts in together for text in texts], progress, limits)
            except LateError:
                if has_answered and limits.until < math.inf:  # the model is slow, and works
                    break
                raise
            has_answered = True
            if vectors is None:
                continue
            start = 0
            for stat, texts in together:
                waiting.append(Embedded(stat, vectors[start : start + len(texts)]))
                start += len(texts)
            if (
                time.monotonic() - stored > _STORE_SECONDS
                or sum(len(each.vectors) for each in waiting) >= _STORE_CHUNKS
            ):
                yield waiting
                waiting, stored = [], time.monotonic()
        if waiting:
            yield waiting

    def _together(self, notes: Sequence[NoteStat], progress: Progress) -> Iterator[list[tuple[NoteStat, list[str]]]]:
        """Yield the notes as they are now, each with the texts of its chunks: a long one alone, short ones for one request."""
        together: list[tuple[NoteStat, list[str]]] = []
        count = 0
        for note in notes:
            progress.check()
            try:
                file = self._files.read(note.path)
            except VaultError:  # gone by now, or not to be seen any more: the next look drops it
                continue
            texts = [chunk.text for chunk in chunks_of(note.path, plain_text(file.data))]
            if together and count + len(texts) > _TEXTS_AT_ONCE:
                yield together
                together, count = [], 0
            together.append((NoteStat(note.path, len(file.data), file.modified_ns, file.stamp), texts))
            count += len(texts)
        if together:
            yield together

    def _embedded(self, texts: Sequence[str], progress: Progress, limits: _Limits) -> Vectors | None:
        """Return the vectors of texts; None if they cannot be there in time, as the last request tells. Raises ModelError."""
        import numpy as np  # noqa: PLC0415 - 200 ms

        parts = []
        for start in range(0, len(texts), _TEXTS_AT_ONCE):
            progress.check()
            if self._seconds_a_text * (len(texts) - start) > limits.seconds():
                return None
            part = texts[start : start + _TEXTS_AT_ONCE]
            seconds = min(_EMBED_SECONDS, limits.seconds())
            began = time.monotonic()
            try:
                parts.append(self._notes_worker.embed(part, is_query=False, seconds=seconds))
            except LateError:
                if start and seconds < _EMBED_SECONDS:  # it was slower than it looked
                    return None
                raise
            self._seconds_a_text = (time.monotonic() - began) / len(part)
        if len({part.shape[1] for part in parts}) != 1:
            raise ModelError(f"the model {self._model} gave vectors of several lengths: name one that gives one length")
        return np.concatenate(parts)


class _Told(NoProgress):
    """Progress of work that ends with the vault, with its caller, or at a time."""

    def __init__(self, closing: threading.Event, caller: Progress | None = None, until: float = math.inf) -> None:
        self._closing = closing
        self._caller = caller
        self._until = until

    def check(self) -> None:
        """Raise ``Stopped`` at the end, ``_WaitedError`` at the time."""
        if time.monotonic() > self._until:
            raise _WaitedError
        if self._closing.is_set():
            raise Stopped
        if self._caller is not None:
            self._caller.check()

    def report(self, done: int, total: int, message: str) -> None:
        """Pass it on to the caller."""
        if self._caller is not None:
            self._caller.report(done, total, message)
