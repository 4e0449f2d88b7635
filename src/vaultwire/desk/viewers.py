"""The connections that are told the changes that wait: the pages of one endpoint, or the plugins. It knows no secrets."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection

from vaultwire.desk.review_page import to_change
from vaultwire.editor.proposals import Proposals


class Viewers:
    """The connections of one endpoint. Each diff is made once for all of them."""

    def __init__(self, proposals: Proposals, to_message: Callable[[list[dict[str, Any]], set[str]], str]) -> None:
        """``to_message`` returns the message for the waiting changes; the viewer knows the changes with these ids."""
        self._proposals = proposals
        self._to_message = to_message
        self._lock = threading.Lock()
        self._telling = threading.Lock()  # so that the latest state is sent last
        self._connections: dict[ServerConnection, set[str]] = {}  # each with the ids of the changes it knows
        self._changes: dict[str, dict[str, Any]] = {}
        proposals.listen(self._tell)

    @property
    def connections(self) -> list[ServerConnection]:
        """The open connections, the latest last."""
        with self._lock:
            return list(self._connections)

    def serve(self, connection: ServerConnection, receive: Callable[[str], None]) -> None:
        """Tell a connection the changes that wait, and pass on its texts, until it is closed."""
        with self._lock:
            self._connections[connection] = set()
        try:
            self._tell(connection)
            for said in connection:
                if isinstance(said, str):
                    receive(said)
        except ConnectionClosed:
            return
        finally:
            with self._lock:
                del self._connections[connection]

    def _tell(self, only: ServerConnection | None = None) -> None:
        with self._telling:
            with self._lock:
                told = {each: known for each, known in self._connections.items() if only in {None, each}}
            if not told:
                return
            changes = self._changes
            self._changes = {each.id: changes.get(each.id) or to_change(each) for each in self._proposals.waiting}
            for each, known in told.items():
                message = self._to_message(list(self._changes.values()), known)
                known.clear()
                known.update(self._changes)
                with contextlib.suppress(ConnectionClosed):
                    each.send(message)
