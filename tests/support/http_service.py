"""A service of this program on a server of its own, on a thread beside the test."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Protocol

from vaultwire.transports import http_server
from vaultwire.transports.http_server import Endpoint, Limits

PATIENCE = 20.0


class Served(Protocol):
    """What begins, stops and ends as a service does (``app.serving``)."""

    def begin(self) -> None: ...

    async def stop(self) -> None: ...

    def end(self) -> None: ...


class ServiceThread:
    """Serves until it is closed."""

    def __init__(self, service: Served, endpoints: Sequence[Endpoint], limits: Limits) -> None:
        self._service = service
        self._ready = threading.Event()
        self._stop: Callable[[], None] = lambda: None
        self._thread = threading.Thread(target=self._serve, args=(endpoints, limits), daemon=True)
        self._thread.start()
        assert self._ready.wait(PATIENCE)

    def _serve(self, endpoints: Sequence[Endpoint], limits: Limits) -> None:
        def begin(stop: Callable[[], None]) -> None:
            self._stop = stop
            self._service.begin()
            self._ready.set()

        http_server.run(endpoints, begin, self._service.stop, limits)

    def close(self) -> None:
        """End it, once."""
        if self._thread.is_alive():
            self._stop()
            self._thread.join()
            self._service.end()
