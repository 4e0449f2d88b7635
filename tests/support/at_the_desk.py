"""The person at the desk, as a program: what a browser asks after the person has opened the link."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit


class Desk:
    """The person at the desk: a browser's requests, after the link."""

    def __init__(self, link: str) -> None:
        where = urlsplit(link.strip())
        self.host = where.netloc
        self.cookie = ""
        status, cookie, _ = self._ask("GET", f"{where.path}?{where.query}", None)
        assert status == 303
        self.cookie = cookie.split(";")[0]
        self.csrf = self.get("start")["csrf"]

    def get(self, path: str) -> Any:
        return json.loads(self._ask("GET", f"/desk/api/{path}", None)[2])

    def wait_for(self, holds: Callable[[Any], object]) -> list[Any]:
        """Ask until an item is so; return all that are."""
        while True:
            found = [item for item in self.get("items")["items"] if holds(item)]
            if found:
                return found

    def decide(self, **what: Any) -> Any:
        return json.loads(self._ask("POST", "/desk/api/decide", json.dumps(what))[2])

    def _ask(self, method: str, path: str, body: str | None) -> tuple[int, str, bytes]:
        headers = {"Cookie": self.cookie} if self.cookie else {}
        if body is not None:
            headers |= {
                "Origin": f"http://{self.host}",
                "X-Vaultwire-Desk": self.csrf,
                "Content-Type": "application/json",
            }
        with closing(http.client.HTTPConnection(self.host, timeout=30)) as connection:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.headers["Set-Cookie"] or "", answer.read()
