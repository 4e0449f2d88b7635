"""A client of a real server's desk: opens it by a link, and asks and decides as the page does."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from support.serving import PATIENCE, Reply, Serving
from vaultwire.app.desk import new_link
from vaultwire.config import make_config, state_folder


class Desk:
    """The desk of one server, opened in one browser."""

    def __init__(self, server: Serving, *vaults: Path) -> None:
        config = make_config([str(vault) for vault in vaults])
        assert config.state == state_folder()
        link = new_link(config)
        assert link is not None, "no server announces these vaults"
        self.link = link
        self.server = server
        reply = server.request("GET", "/desk" + link.partition("/desk")[2])
        assert reply.status == 303, reply
        self.cookie = reply.headers["set-cookie"].split(";")[0]
        self.csrf = self.get("start").json["csrf"]

    def get(self, route: str, **query: object) -> Reply:
        return self.server.request("GET", f"/desk/api/{route}?{urlencode(query)}", cookie=self.cookie)

    def post(self, route: str, **body: Any) -> Reply:
        return self.server.request(
            "POST",
            f"/desk/api/{route}",
            json.dumps(body).encode(),
            cookie=self.cookie,
            origin=self.server.url,
            x_vaultwire_desk=self.csrf,
        )

    @contextmanager
    def events(self) -> Iterator[Iterator[dict[str, Any]]]:
        """Listen to the news; the stream is open when this is entered."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=PATIENCE)
        with closing(connection):
            connection.request("GET", "/desk/api/events", headers={"Cookie": self.cookie})
            answer = connection.getresponse()
            assert answer.getheader("Content-Type") == "text/event-stream"
            assert answer.readline() == b": open\n"
            yield (json.loads(line[6:]) for line in answer if line.startswith(b"data: "))
