"""A server with ``/v1/embeddings`` for tests: what it answers is up to the test."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any


@contextmanager
def answering(answer: Callable[[dict[str, Any]], tuple[int, bytes]]) -> Iterator[tuple[str, list[Any]]]:
    """Serve at an address while the block runs. ``answer``: gives status and body for a request.

    Yields the model's name, which is the address, and the list of requests, each with its path.
    """
    asked: list[Any] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append((self.path, request))
            status, body = answer(request)
            self.send_response(status)
            self.send_header("Location", "http://192.0.2.1/")
            self.send_header("Content-Length", str(len(body)))
            with suppress(ConnectionError):  # the client may not wait any more
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1#small", asked
        finally:
            server.shutdown()
            thread.join()


def vectors(*listed: Any) -> tuple[int, bytes]:
    """Return an answer with these vectors."""
    return 200, json.dumps({"data": [{"index": at, "embedding": each} for at, each in enumerate(listed)]}).encode()
