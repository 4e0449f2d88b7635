"""Calls of the engine's server that may fail or take too long: then the row says so, and the bench goes on."""

from __future__ import annotations

import gc
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple, Self

from bench.client import Server, call_frame
from bench.measures import Samples

_MOST_SECONDS = 75.0  # one call; the server itself gives up a search after 60
_BETWEEN_SEARCHES = 0.02
_PROGRESS = b"notifications/progress"


class Reply(NamedTuple):
    """What a call gave: its seconds, and its data or why there is none."""

    seconds: float
    data: dict[str, Any] | None
    error: str = ""


class Meanwhile(NamedTuple):
    """A long call's reply, the replies of the searches made while it ran, and how often it reported progress."""

    reply: Reply
    searches: list[Reply]
    reports: int


class EngineSamples(Samples):
    """Samples, and what failed: the first reason and the number of times of each row."""

    def __init__(self) -> None:
        super().__init__()
        self.failures: dict[str, tuple[int, str]] = {}

    def fail(self, row: str, reason: str) -> None:
        """Record that a row's call failed or that its answer is wrong."""
        times, first = self.failures.get(row, (0, reason))
        self.failures[row] = (times + 1, first)


class Session:
    """A server that is started again if it had to be killed. Use as a context manager."""

    def __init__(self, command: Sequence[str], variables: Mapping[str, str]) -> None:
        self._command, self._variables = command, variables
        self._server: Server | None = None
        self.server.open()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.__exit__(kind, error, trace)

    @property
    def server(self) -> Server:
        """The server, which is started if there is none."""
        if self._server is None:
            self._server = Server(self._command, self._variables)
        return self._server

    def memory(self) -> dict[str, float]:
        """Return the resident memory in MiB as ``Server.memory`` does; nothing if the server was killed."""
        return (self._server and self._server.memory()) or {}

    def end(self) -> None:
        """End the server as a client does."""
        if self._server is not None:
            self._server.end()

    def call(self, tool: str, arguments: dict[str, Any], most_seconds: float = _MOST_SECONDS) -> Reply:
        """Call a tool; kill the server if it takes longer than ``most_seconds``."""
        return self._within(most_seconds, lambda server: _reply_of(server, call_frame(1, tool, arguments)))

    def calls(
        self,
        tool: str,
        arguments: Sequence[dict[str, Any]],
        most_seconds: float,
        most_seconds_each: float = _MOST_SECONDS,
    ) -> list[Reply]:
        """Make the calls one after another; stop early after ``most_seconds``."""
        replies: list[Reply] = []
        end = time.perf_counter() + most_seconds
        gc.disable()  # the client's own pauses are not the server's
        try:
            for each in arguments:
                if time.perf_counter() > end:
                    break
                replies.append(self.call(tool, each, most_seconds_each))
        finally:
            gc.enable()
        return replies

    def call_and_search(
        self, tool: str, arguments: dict[str, Any], queries: Sequence[str], most_seconds: float
    ) -> Meanwhile:
        """Call a tool that takes long, and search until it has answered; without ``queries`` only wait."""
        searches: list[Reply] = []
        reports: list[int] = []
        reply = self._within(
            most_seconds, lambda server: _search_meanwhile(server, tool, arguments, queries, searches, reports)
        )
        return Meanwhile(reply, searches, sum(reports))

    def _within(self, most_seconds: float, work: Callable[[Server], Reply]) -> Reply:
        fresh = self._server is None
        server = self.server
        if fresh:
            server.open()
        overdue = threading.Timer(most_seconds, server.process.kill)
        overdue.start()
        before = time.perf_counter()
        try:
            return work(server)
        except RuntimeError as error:  # the server has ended
            taken = time.perf_counter() - before
            server.__exit__(None, None, None)
            self._server = None
            reason = f"no answer in {most_seconds:.0f} s" if taken >= most_seconds else str(error)[-300:]
            return Reply(taken, None, reason)
        finally:
            overdue.cancel()


def _reply_of(server: Server, frame: bytes) -> Reply:
    before = time.perf_counter()
    line = server.ask(frame)
    taken = time.perf_counter() - before
    return _read(line, taken)


def _read(line: bytes, seconds: float) -> Reply:
    answer = json.loads(line)
    result = answer.get("result")
    if result is None:
        return Reply(seconds, None, str(answer.get("error"))[:300])
    if result.get("isError"):
        return Reply(seconds, None, str(result.get("content"))[:300])
    return Reply(seconds, result.get("structuredContent", {}))


def _search_meanwhile(
    server: Server,
    tool: str,
    arguments: dict[str, Any],
    queries: Sequence[str],
    searches: list[Reply],
    reports: list[int],
) -> Reply:
    params = {"name": tool, "arguments": arguments, "_meta": {"progressToken": "long"}}
    frame = json.dumps({"jsonrpc": "2.0", "id": "long", "method": "tools/call", "params": params}).encode() + b"\n"
    before = time.perf_counter()
    server.send(frame)
    number = 0
    while True:
        asked = time.perf_counter()
        if queries:
            server.send(call_frame(number, "search_notes", {"query": queries[number % len(queries)]}))
        done: Reply | None = None
        is_answered = False
        while not (is_answered or (done and not queries)):
            line = server.receive_any()
            now = time.perf_counter()
            if b'"method":"notifications/' in line[:80]:
                reports.append(_PROGRESS in line[:80])
            elif json.loads(line).get("id") == "long":
                done = _read(line, now - before)
            else:
                searches.append(_read(line, now - asked))
                is_answered = True
        if done is not None:
            return done
        number += 1
        time.sleep(_BETWEEN_SEARCHES)
