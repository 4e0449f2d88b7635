"""Observability: the health page, a log line for each request, figures for Prometheus. Never a note's text or an argument.

The lines go to stderr; the pages are doors behind the guard.
"""

from __future__ import annotations

import contextvars
import io
import json
import sys
import threading
import time
import traceback
from typing import Any

from vaultwire import __version__
from vaultwire.transports import send_page

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

    from vaultwire.transports import Receive, Scope, Send

# Seconds. A call takes from under a millisecond to a minute.
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
# Any other method counts as "other": each name that a client invents would become a time series.
_METHODS = ("GET", "HEAD", "POST", "DELETE", "OPTIONS")


# The id of the request that the current task works on.
_current: contextvars.ContextVar[bytes] = contextvars.ContextVar("request", default=b"")


class Observer:
    """Logs and counts the requests and crashes that the guard tells of."""

    def __init__(self, *, log_json: bool, metrics: bool) -> None:
        """``log_json``: a JSON object on one line of stderr for each request. ``metrics``: count for ``page``."""
        self._log_json = log_json
        self._out: TextIO | None = sys.stderr
        self.listens = log_json or metrics
        self.began: Callable[[bytes], object] = _current.set
        """Note the id of the request that the current task works on."""
        self.current_id: Callable[[], bytes] = _current.get
        """Return that id, empty for none."""
        self._count: Callable[[str, str, int, float], None] | None = None
        self._page: Callable[[], bytes] | None = None
        if metrics:
            self._count, self._page = _make_metrics()

    def take_stderr(self) -> None:
        """With ``log_json``, turn everything written to stderr from now on into JSON lines."""
        if self._log_json and sys.stderr is not None:
            sys.stderr = _JsonLines(self, sys.stderr)

    def ended(self, *, id: str, door: str, method: str, path: str, status: int, seconds: float, key: str) -> None:  # noqa: A002
        """Note that a request is over."""
        if self._count is not None:
            self._count(door, method, status, seconds)
        if self._log_json:
            milliseconds = round(seconds * 1000, 3)
            self._write("request", id=id, door=door, method=method, path=path, status=status, ms=milliseconds, key=key)

    def crashed(self, *, id: bytes, what: str) -> None:  # noqa: A002
        """Log the current exception."""
        if self._log_json:
            self._write("crash", id=id.decode(), what=what, traceback=traceback.format_exc())
        elif self._out is not None:
            self._out.write(f"vaultwire: {what} crashed (request {id.decode()})\n{traceback.format_exc()}")
            self._out.flush()

    def tell(self, message: str) -> None:
        """Write one line for a person to stderr."""
        if self._log_json:
            self._write("message", text=message)
        elif self._out is not None:
            self._out.write(f"vaultwire: {message}\n")
            self._out.flush()

    def _write(self, event: str, **facts: Any) -> None:
        now = time.time()
        stamp = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now))}.{int(now % 1 * 1000):03}Z"
        if self._out is not None:
            self._out.write(json.dumps({"time": stamp, "event": event, **facts}) + "\n")
            self._out.flush()

    async def page(self, scope: Scope, _receive: Receive, send: Send) -> None:
        """Answer with the figures, in Prometheus' text format."""
        assert self._page is not None  # this door is there with metrics only
        await send_page(scope, send, self._page(), (b"content-type", b"text/plain; version=0.0.4; charset=utf-8"))


class _JsonLines(io.TextIOBase):
    """Replaces stderr: libraries and crashing threads that write there write JSON lines, too."""

    def __init__(self, observer: Observer, replaced: TextIO) -> None:
        super().__init__()
        self._observer = observer
        self._replaced = replaced
        self._lock = threading.Lock()
        self._line = ""

    def writable(self) -> bool:
        """Tell that this can be written to."""
        return True

    def fileno(self) -> int:
        """Return the file descriptor of the replaced stderr."""
        return self._replaced.fileno()

    def write(self, text: str) -> int:
        """Pass on the lines that are whole."""
        with self._lock:
            *lines, self._line = (self._line + text).split("\n")
        self._pass_on(lines)
        return len(text)

    def flush(self) -> None:
        """Pass on what there is of the last line."""
        with self._lock:
            line, self._line = self._line, ""
        self._pass_on([line])

    def _pass_on(self, lines: list[str]) -> None:
        for line in lines:
            if line.strip():
                self._observer.tell(line.removeprefix("vaultwire: "))


async def answer_health(scope: Scope, _receive: Receive, send: Send) -> None:
    """Say that the server is alive, and nothing more: no key is needed for this."""
    await send_page(scope, send, b'{"status":"ok"}', (b"content-type", b"application/json"))


def _make_metrics() -> tuple[Callable[[str, str, int, float], None], Callable[[], bytes]]:
    """Return the function that counts a request and the function that shows the counts."""
    import prometheus_client  # noqa: PLC0415 - only where it is asked for: 40 ms

    registry = prometheus_client.CollectorRegistry()
    prometheus_client.ProcessCollector(registry=registry)
    prometheus_client.Info("vaultwire", "The program that serves.", registry=registry).info({"version": __version__})
    requests = prometheus_client.Counter(
        "vaultwire_http_requests", "Requests that are over.", ["door", "method", "status"], registry=registry
    )
    seconds = prometheus_client.Histogram(
        "vaultwire_http_request_seconds", "How long they took.", ["door"], buckets=_BUCKETS, registry=registry
    )

    def count(door: str, method: str, status: int, took: float) -> None:
        requests.labels(door or "none", method if method in _METHODS else "other", str(status)).inc()
        seconds.labels(door or "none").observe(took)

    return count, lambda: prometheus_client.generate_latest(registry)
