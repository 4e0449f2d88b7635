"""A load balancer in front of several servers: each request goes to the one after that which had the last of its path."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

from support.serving import Reply, Serving

# Of one connection, or made by each server itself.
_OWN = ("connection", "content-length", "date", "keep-alive", "transfer-encoding")


class Balancer:
    """At a port of this computer, before the servers are there: their public URL is its own."""

    def __init__(self) -> None:
        self.servers: Sequence[Serving] = ()
        self.answered: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
        """The methods of the requests to a path, and the number of the server that has answered."""
        self._lock = threading.Lock()
        balancer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                headers = {name: value for name, value in self.headers.items() if name.lower() not in _OWN}
                reply = balancer.request(self.command, self.path, body or None, **headers)
                self.send_response_only(reply.status)
                for name, value in reply.headers.items():
                    if name not in _OWN:
                        self.send_header(name, value)
                self.send_header("content-length", str(len(reply.body)))
                self.end_headers()
                self.wfile.write(reply.body)

            def do_POST(self) -> None:
                self.do_GET()

            def log_message(self, *_: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://localhost:{self._http.server_port}"
        self._thread = threading.Thread(target=self._http.serve_forever)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def request(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Reply:
        """Send a request to the next server."""
        with self._lock:
            answered = self.answered[path.partition("?")[0]]
            number = len(answered) % len(self.servers)
            answered.append((method, number))
        return self.servers[number].request(method, path, body, **headers)
