"""The measures of HTTP and the measured processes: a call of a no-op, the start, memory."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from bench import sample_vault
from bench.http_client import HttpServer, handshake_call, own_server, session_headers, stateless_call
from bench.measures import COMMAND, RIVAL, Samples

ASGI, BARE = "uvicorn", "bare loop"
APP = "ours on uvicorn"  # vaultwire.app:asgi
STATELESS, NO_SESSION, SESSION = "2026-07-28", "2025-11-25, no session", "2025-11-25, session"
MODES = (STATELESS, NO_SESSION, SESSION)
FLIGHTS = (1, 64)

_SECONDS = 0.6
_NOOP = ("noop", {"text": "hello"})
# Of calls to several tools before memory is looked at.
_LOADED_SECONDS = 5.0


class Series(NamedTuple):
    """One server under load, in one of the ways in which clients speak to it."""

    subject: str
    mode: str
    server: HttpServer
    requests: list[bytes]


class HttpBench:
    """The servers under measurement, on the vault in one folder. Each method is one round."""

    def __init__(self, vault: Path, scratch: Path) -> None:
        self.samples = Samples()
        self._vault = vault
        self._variables = {"VAULTWIRE_CACHE": str(scratch / "cache"), "VAULTWIRE_STATE": str(scratch / "state")}
        suffix = ".exe" if os.name == "nt" else ""
        script = os.path.join(os.path.dirname(sys.executable), "vaultwire" + suffix)
        self._ours = [script, "serve", "--vault", str(vault), "--port", "0"]

    def warm_up(self) -> None:
        """Start everything once without counting: this writes the bytecode and makes the index."""
        self._measure_start(self._ours, "warm-up")
        self._measure_start(own_server("http_rival", "stateless"), "warm-up")
        self.samples.clear()

    def measure_starts(self) -> None:
        """Measure one start of each, up to the first answer of a tool."""
        self._measure_start(self._ours, COMMAND)
        self._measure_start(own_server("http_rival", "stateless"), RIVAL)

    def _measure_start(self, command: list[str], subject: str) -> None:
        request = handshake_call("noop", _NOOP[1], session_headers(None))
        if subject == COMMAND or command is self._ours:
            request = handshake_call("read_note", {"path": sample_vault.READ_PATH}, session_headers(None))
        with HttpServer(command, self._variables) as server:
            server.call(request)
            self.samples.take("start ms", subject, server.seconds() * 1e3)

    def measure_calls(self, rounds: int, say: Callable[[str], None]) -> None:
        """Measure rates and latencies, so many times each, in turn, so that a disturbance affects all alike."""
        with contextlib.ExitStack() as stack:
            all_series = self._all_series(stack)
            for series in all_series:
                series.server.call(series.requests[0])
            for number in range(rounds):
                say(f"calls {number + 1} of {rounds}")
                for in_flight in FLIGHTS:
                    for series in all_series:
                        self._take_load(series, in_flight)

    def _all_series(self, stack: contextlib.ExitStack) -> list[Series]:
        def started(module: str, *arguments: str) -> HttpServer:
            return stack.enter_context(HttpServer(own_server(module, *arguments), self._variables))

        ours, app, bare, asgi = (
            *(started("http_ours", str(self._vault), server) for server in ("own", "uvicorn")),
            *(started("http_floors", it) for it in ("bare", "asgi")),
        )
        stateless, sessions = started("http_rival", "stateless"), started("http_rival", "sessions")
        alone = [stateless_call(*_NOOP, number) for number in range(max(FLIGHTS))]
        without = _handshake_calls(session_headers(None))
        return [
            Series(BARE, STATELESS, bare, alone),
            Series(ASGI, STATELESS, asgi, alone),
            Series(COMMAND, STATELESS, ours, alone),
            Series(APP, STATELESS, app, alone),
            Series(RIVAL, STATELESS, stateless, alone),
            Series(COMMAND, NO_SESSION, ours, without),
            Series(APP, NO_SESSION, app, without),
            Series(RIVAL, NO_SESSION, stateless, without),
            Series(COMMAND, SESSION, ours, _handshake_calls(session_headers(ours.open_session()))),
            Series(APP, SESSION, app, _handshake_calls(session_headers(app.open_session()))),
            Series(RIVAL, SESSION, sessions, _handshake_calls(session_headers(sessions.open_session()))),
        ]

    def _take_load(self, series: Series, in_flight: int) -> None:
        load = series.server.load(series.requests, in_flight, _SECONDS)
        where = f"{series.mode}, {in_flight} in flight"
        self.samples.take(f"{where}: calls/s", series.subject, load.rate)
        self.samples.take(f"{where}: p50 us", series.subject, load.p50 * 1e6)
        self.samples.take(f"{where}: p99 us", series.subject, load.p99 * 1e6)
        self.samples.take(f"{where}: client us", series.subject, load.client * 1e6)
        if load.server is not None:
            self.samples.take(f"{where}: server us", series.subject, load.server * 1e6)

    def measure_memory(self) -> None:
        """Measure our server's memory: after its first answer, after a client's usual first requests, and after load."""
        words = sample_vault.queries()
        first: list[tuple[str, dict[str, Any]]] = [
            ("search_notes", {"query": words["common"]}),
            ("list_notes", {}),
            ("read_note", {"path": sample_vault.READ_PATH}),
            ("search_by_tags", {"tags": [sample_vault.TAG]}),
        ]
        with HttpServer(self._ours, self._variables) as server:
            server.call(stateless_call("read_note", {"path": sample_vault.READ_PATH}))
            self._take_memory("first answer", server)
            for tool, arguments in first:
                server.call(stateless_call(tool, arguments))
            self._take_memory("first job", server)
            calls = [stateless_call(*first[number % len(first)], number) for number in range(max(FLIGHTS))]
            server.load(calls, max(FLIGHTS), _LOADED_SECONDS)
            self._take_memory("load", server)

    def _take_memory(self, moment: str, server: HttpServer) -> None:
        memory = server.memory()
        if memory is not None:
            self.samples.take(f"memory after {moment} MiB", COMMAND, memory["VmRSS"])


def _handshake_calls(headers: dict[str, str]) -> list[bytes]:
    return [handshake_call(*_NOOP, headers, number) for number in range(max(FLIGHTS))]
