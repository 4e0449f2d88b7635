"""A server for the companion plugin that says what a test tells it to, over a real WebSocket."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

from vaultwire.desk.plugin_endpoint import VERSION

PATIENCE = 20.0
ANSWER = "answer"


def make_item(id_: str, **given: Any) -> dict[str, Any]:
    """Return an item of the list: a change that was made, or a proposal that waits if the id begins with p."""
    waits = id_.startswith("p")
    return {
        "id": id_,
        "vault": "vault",
        "time": "2026-03-01T10:00:00+00:00",
        "kind": "held" if waits else "change",
        "client": "Claude Code",
        "session": "s1",
        "tool": "edit_note",
        "label": "",
        "state": "waiting" if waits else "made",
        "is_reviewed": False,
        "undoes": [],
        "undone_by": None,
        "change": None,
        "reason": "",
        "summary": f"edited {id_}.md",
        "files": [],
        "file_count": 1,
        **given,
    }


def make_hunk(index: int, line: int, old: str, new: str, state: str = "made") -> dict[str, Any]:
    """Return a hunk of one changed line, with a line before it."""
    return {
        "index": index,
        "kind": "text",
        "old_start": line,
        "old_lines": 1,
        "new_start": line,
        "new_lines": 1,
        "state": state,
        "rows": [
            {"kind": "same", "old": line - 1, "new": line - 1, "parts": [{"t": "before", "op": "="}]},
            {
                "kind": "changed",
                "old": line,
                "new": line,
                "parts": [{"t": "the ", "op": "="}, {"t": old, "op": "-"}],
                "new_parts": [{"t": "the ", "op": "="}, {"t": new, "op": "+"}],
            },
        ],
    }


def make_file(index: int, path: str, *hunks: dict[str, Any], **given: Any) -> dict[str, Any]:
    """Return the difference of one file."""
    return {
        "index": index,
        "action": "edit",
        "path": path,
        "to": None,
        "kind": "note",
        "is_new": False,
        "added": len(hunks),
        "removed": len(hunks),
        "rewritten_links": 0,
        "notices": [],
        "properties": [],
        "links": [],
        "nodes": [],
        "hunks": list(hunks),
        "hunk_count": len(hunks),
        "next_hunk": None,
        **given,
    }


class ScriptedDesk:
    """Shows its items, and answers as the table of ``texts`` and ``previews`` says. Decisions wait for ``answer``."""

    def __init__(self, origin: str) -> None:
        self.items: list[dict[str, Any]] = []
        self.files: dict[str, list[dict[str, Any]]] = {}
        self.more: dict[str, dict[str, Any]] = {}
        self.failing: dict[str, str] = {}  # why an item cannot be shown
        self.texts: dict[str, str] = {}
        self.previews: list[dict[str, Any]] = []
        self.hunks: list[dict[str, Any]] = []  # what is answered when further ones are asked for
        self.heard: list[dict[str, Any]] = []
        self._changed = threading.Condition()
        # One at a time says what is shown: a connection that begins would send the list of before after the new one.
        self._telling = threading.RLock()
        self._connections: list[ServerConnection] = []
        self._server = serve(self._serve, "127.0.0.1", 0, origins=[origin])  # type: ignore[list-item]
        port = self._server.socket.getsockname()[1]
        self.link = {"port": port, "token": "token", "answer": ANSWER}
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    @property
    def decisions(self) -> list[dict[str, Any]]:
        return [{k: v for k, v in each.items() if k != "type"} for each in self.heard if each["type"] == "decide"]

    def show(self, *items: dict[str, Any]) -> None:
        """Have these items, the latest first, and tell so."""
        with self._telling:
            self.items = list(items)
            self._tell_items()

    def change(self, id_: str, **given: Any) -> None:
        """Change an item, and tell so."""
        self.show(*({**item, **given} if item["id"] == id_ else item for item in self.items))

    def answer(self, id_: str, message: str = "Done.", *, error: bool = False, **given: Any) -> None:
        """Answer a decision."""
        self.tell(type="decided", id=id_, message=message, error=error, **given)

    def tell(self, **message: Any) -> None:
        with self._telling:
            for connection in self._connections:
                connection.send(json.dumps(message))

    def wait_for(self, holds: Callable[[], bool]) -> None:
        with self._changed:
            assert self._changed.wait_for(holds, PATIENCE), self.heard

    def drop(self) -> None:
        """Lose the connections, as a computer that slept finds it."""
        for connection in list(self._connections):
            connection.close()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()

    def _tell_items(self) -> None:
        waiting = sum(item["state"] in {"waiting", "stale"} for item in self.items)
        self.tell(type="items", items=self.items, waiting=waiting)

    def _serve(self, connection: ServerConnection) -> None:
        connection.send(json.dumps({"type": "hello", "version": VERSION, "answer": ANSWER}))
        with self._telling:
            self._connections.append(connection)
            self._tell_items()
        try:
            for said in connection:
                message = json.loads(said)
                with self._changed:
                    self.heard.append(message)
                    self._changed.notify_all()
                self._reply(message)
        except ConnectionClosed:
            pass
        finally:
            with self._telling:
                self._connections.remove(connection)

    def _reply(self, message: dict[str, Any]) -> None:
        id_ = message.get("id", "")
        item = next((each for each in self.items if each["id"] == id_), None)
        if message["type"] == "show" and id_ in self.failing:
            self.answer(id_, self.failing[id_], error=True)
        elif message["type"] == "show" and item is not None:
            detail = {"can_undo": True, "blocked_by": [], "conflict": "", **item, **self.more.get(id_, {})}
            self.tell(type="item", item={**detail, "files": self.files.get(id_, [])})
        elif message["type"] == "hunks":
            self.tell(type="hunks", id=id_, file=self.hunks[message["file"]])
        elif message["type"] == "text":
            self.tell(type="text", id=id_, file=message["file"], text=self.texts[id_])
        elif message["type"] == "preview":
            self.previews.append(message)
            shown = make_file(message["file"], "Plan.md", make_hunk(0, 4, "Second", "previewed", "waiting"))
            self.tell(type="preview", id=id_, file=shown)
