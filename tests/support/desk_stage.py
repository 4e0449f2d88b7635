"""The desk's page with answers from memory: the HTTP API of the desk over a few items, so that each answer can be chosen."""

from __future__ import annotations

import difflib
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

PAGE = Path(__file__).resolve().parents[2] / "src" / "vaultwire" / "desk" / "page"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".html": "text/html"}
_OPEN = ("made", "undone in part")
Item = dict[str, Any]


def parts_of(old: str, new: str) -> tuple[list[Item], list[Item]]:
    """Return the words of two lines, marked."""
    before, after = re.findall(r"\w+|\W", old), re.findall(r"\w+|\W", new)
    left: list[Item] = []
    right: list[Item] = []
    for op, a, b, c, d in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        gone, come = "".join(before[a:b]), "".join(after[c:d])
        left += [{"t": gone, "op": "=" if op == "equal" else "-"}] if gone else []
        right += [{"t": come, "op": "=" if op == "equal" else "+"}] if come else []
    return left, right


def file_of(path: str, old: str | None, new: str | None, **more: Any) -> Item:
    """Return the view of one file's difference, line by line."""
    before, after = (old or "").splitlines(), (new or "").splitlines()
    hunks: list[Item] = []
    for op, a, b, c, d in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if op == "equal":
            continue
        above = [_same(a - each, c - each, before[a - each]) for each in range(min(3, a, c), 0, -1)]
        below = [_same(b + each, d + each, before[b + each]) for each in range(min(3, len(before) - b))]
        rows: list[Item] = []
        for place in range(max(b - a, d - c)):
            was, now = (a + place if a + place < b else None), (c + place if c + place < d else None)
            if was is not None and now is not None:
                left, right = parts_of(before[was], after[now])
                rows.append({"kind": "changed", "old": was + 1, "new": now + 1, "parts": left, "new_parts": right})
            elif was is not None:
                rows.append({"kind": "removed", "old": was + 1, "new": None, "parts": [{"t": before[was], "op": "-"}]})
            elif now is not None:
                rows.append({"kind": "added", "old": None, "new": now + 1, "parts": [{"t": after[now], "op": "+"}]})
        hunk = {"index": len(hunks), "kind": "text", "state": "made", "rows": [*above, *rows, *below]}
        hunks.append(hunk | {"old_start": a + 1, "old_lines": b - a, "new_start": c + 1, "new_lines": d - c})
    action = "create" if old is None else "remove" if new is None else "edit"
    view: Item = {"index": 0, "action": action, "path": path, "to": None, "kind": "note", "is_new": old is None}
    view |= {"added": sum(hunk["new_lines"] for hunk in hunks), "removed": sum(hunk["old_lines"] for hunk in hunks)}
    view |= {"rewritten_links": 0, "notices": [], "properties": [], "links": [], "nodes": []}
    return (
        view
        | {"hunks": hunks, "hunk_count": len(hunks), "next_hunk": None, "_new": new or "", "_old": old or ""}
        | more
    )


def _same(old: int, new: int, text: str) -> Item:
    return {"kind": "same", "old": old + 1, "new": new + 1, "parts": [{"t": text, "op": "="}]}


class DeskStage:
    """Serves the page on a port of its own until it is closed."""

    def __init__(self, vaults: tuple[str, ...] = ("Notes",), port: int = 0) -> None:
        self.vaults = vaults
        self.items: dict[str, Item] = {}
        self.decisions: list[Item] = []
        self.conflicts: dict[str, Item] = {}
        """What an undo of this id, or of many, is refused with."""
        self._news = threading.Condition()
        self._count = 0
        self._ended = False
        stage = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                pass

            def do_GET(self) -> None:
                stage.get(self)

            def do_POST(self) -> None:
                stage.post(self)

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/desk/"

    def add(self, id_: str, *files: Item, time: str = "2026-03-02T14:02:00+00:00", **more: Any) -> Item:
        """Add an item with these files, tell the page, and return it."""
        item: Item = {
            "id": id_,
            "vault": self.vaults[0],
            "time": time,
            "client": "Claude",
            "session": "s1",
            "label": "",
        }
        waits = id_.startswith("p")
        item |= {"kind": "held" if waits else "change", "state": "waiting" if waits else "made", "tool": "edit_note"}
        item |= {"is_reviewed": False, "undoes": [], "undone_by": None, "change": None, "reason": ""}
        for index, file in enumerate(files):
            file["index"] = index
        first = files[0]
        rest = f" and {len(files) - 1} more" if len(files) > 1 else ""
        verb = {"create": "created", "edit": "edited", "remove": "removed", "move": "moved"}[first["action"]]
        item |= {"summary": f"{verb} {first['path']}{rest}", "file_count": len(files), "files": list(files)}
        item |= {"can_undo": True, "blocked_by": [], "conflict": ""} | more
        self.items[id_] = item
        self.tell()
        return item

    def tell(self) -> None:
        with self._news:
            self._count += 1
            self._news.notify_all()

    def close(self) -> None:
        with self._news:
            self._ended = True
            self._news.notify_all()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def waiting(self) -> int:
        return sum(item["state"] in ("waiting", "stale") for item in self.items.values())

    @property
    def unreviewed(self) -> int:
        return sum(item["state"] == "made" and not item["is_reviewed"] for item in self.items.values())

    # -- answers

    def get(self, to: BaseHTTPRequestHandler) -> None:
        where = urlsplit(to.path)
        query = {key: values[0] for key, values in parse_qs(where.query).items()}
        name = where.path.removeprefix("/desk/")
        if name == "api/events":
            self._stream(to)
        elif name.startswith("api/"):
            answer = getattr(self, f"_{name.removeprefix('api/')}")(query)
            if isinstance(answer, bytes):
                self._send(to, 200, answer, "image/svg+xml")
            else:
                self._json(to, 200 if answer is not None else 404, answer)
        else:
            path = PAGE / (name.removeprefix("assets/") or "index.html")
            self._send(to, 200, path.read_bytes(), _TYPES.get(path.suffix, "text/plain"))

    def post(self, to: BaseHTTPRequestHandler) -> None:
        body = json.loads(to.rfile.read(int(to.headers["Content-Length"])))
        if to.headers["X-Vaultwire-Desk"] != "token":
            self._json(
                to, 403, {"error": {"code": "FORBIDDEN", "message": "This is not the desk's own page.", "details": {}}}
            )
        elif to.path.endswith("/preview"):
            file = self.items[body["id"]]["files"][body["file"]]
            self._json(to, 200, {"file": file_of(file["path"], file.get("_now", file["_old"]), body["text"])})
        elif body["action"] == "undo" and body.get("id", "many") in self.conflicts and "ids" not in body:
            details = self.conflicts[body.get("id", "many")]
            message = "Later changes build on this one."
            self._json(to, 409, {"error": {"code": "UNDO_CONFLICT", "message": message, "details": details}})
        elif body.get("dry_run"):
            self._json(to, 200, {"message": f"{len(self.items)} changes can be undone.", "conflicts": []})
        else:
            self.decisions.append(body)
            self._json(to, 200, self._decide(body))
            self.tell()

    def _decide(self, body: Item) -> Item:
        ids = body.get("ids") or (
            [body["id"]] if "id" in body else [each for each in self.items if each.startswith("c")]
        )
        action, made = body["action"], None
        for item in [self.items[each] for each in ids if each in self.items]:
            if body.get("hunk") is not None:
                item["files"][body["file"]]["hunks"][body["hunk"]]["state"] = {"undo": "undone", "keep": "kept"}.get(
                    action, "made"
                )
                item["state"] = "undone in part" if action == "undo" else item["state"]
            elif action in ("keep", "unkeep"):
                item["is_reviewed"] = action == "keep"
            else:
                item["state"] = {"undo": "undone", "accept": "accepted", "refuse": "refused"}[action]
            if action == "accept" and body.get("edited"):
                item["state"] = "accepted as edited"
        if action in ("undo", "accept"):
            made = 900 + len(self.decisions)
        words = {
            "keep": "Kept",
            "unkeep": "No longer kept:",
            "undo": "Undid",
            "accept": "Accepted",
            "refuse": "Refused",
        }[action]
        return {"message": f"{words} {', '.join(ids)}.", "change": made, "undo": made, "conflicts": [], "files": []}

    def _start(self, _: Item) -> Item:
        counts = {name: self.waiting if name == self.vaults[0] else 0 for name in self.vaults}
        return {"csrf": "token", "version": "1", "vaults": list(self.vaults), "waiting": counts, "unreviewed": counts}

    def _items(self, query: Item) -> Item:
        all_ = sorted(self.items.values(), key=lambda item: (item["time"], int(item["id"][1:])), reverse=True)
        if query["vault"] != self.vaults[0]:
            all_ = []
        found = [
            item
            for item in all_
            if query.get("text", "").lower() in item["summary"].lower()
            and all(query.get(key, item[key]) == item[key] for key in ("client", "session", "kind", "state"))
            and any(file["path"].startswith(query.get("folder", "")) for file in item["files"])
        ]
        if "before" in query:
            found = found[[item["id"] for item in found].index(query["before"]) + 1 :]
        limit = int(query.get("limit", 60))
        clients = {item["client"] for item in all_}
        sessions = [{"id": "s1", "client": "Claude", "first": "", "last": "", "count": len(all_)}]
        answer: Item = {"items": [self._without(item) for item in found[:limit]], "has_more": len(found) > limit}
        answer |= {"total": len(found), "waiting": self.waiting, "unreviewed": self.unreviewed, "sessions": sessions}
        return answer | {"clients": [{"name": name, "count": 1} for name in sorted(clients)]}

    @staticmethod
    def _without(item: Item) -> Item:
        return item | {"files": [{key: file[key] for key in ("action", "path", "to")} for file in item["files"]]}

    def _item(self, query: Item) -> Item | None:
        return self.items.get(query["id"])

    def _hunks(self, query: Item) -> Item:
        file: Item = self.items[query["id"]]["files"][int(query["file"])]
        pages: list[Item] = file["_pages"]
        at = int(query["from"])
        return {"hunks": [pages[at]], "next_hunk": at + 1 if at + 1 < len(pages) else None}

    def _lines(self, query: Item) -> Item:
        lines = self.items[query["id"]]["files"][int(query["file"])]["_new"].splitlines()
        return {"lines": lines[int(query["from"]) - 1 : int(query["to"])]}

    def _text(self, query: Item) -> Item:
        return {"text": self.items[query["id"]]["files"][int(query["file"])]["_new"]}

    def _rendered(self, query: Item) -> Item:
        text = self.items[query["id"]]["files"][int(query["file"])][f"_{query['side']}"]
        tree: list[Item] = [{"tag": "h1", "children": ["Rendered"]}, {"tag": "script", "children": [text]}]
        return {"tree": tree}

    def _file(self, query: Item) -> bytes:
        colour = "#c33" if query["side"] == "old" else "#393"
        return f'<svg xmlns="http://www.w3.org/2000/svg" width="240" height="120"><rect width="240" height="120" fill="{colour}"/></svg>'.encode()

    def _stream(self, to: BaseHTTPRequestHandler) -> None:
        to.send_response(200)
        to.send_header("Content-Type", "text/event-stream")
        to.send_header("Connection", "close")
        to.end_headers()
        to.wfile.write(b": hello\n\n")
        told = self._count
        while True:
            with self._news:
                self._news.wait_for(lambda: self._ended or self._count != told)
                if self._ended:
                    to.close_connection = True
                    return
                told = self._count
            data = {"vault": self.vaults[0], "waiting": self.waiting, "unreviewed": self.unreviewed}
            try:
                to.wfile.write(f"event: changed\ndata: {json.dumps(data)}\n\n".encode())
            except OSError:
                return

    def _json(self, to: BaseHTTPRequestHandler, status: int, answer: Any) -> None:
        body = json.dumps(
            answer if answer is not None else {"error": {"code": "NOT_FOUND", "message": "There is no such change."}}
        )
        self._send(to, status, body.encode(), "application/json")

    @staticmethod
    def _send(to: BaseHTTPRequestHandler, status: int, body: bytes, kind: str) -> None:
        to.send_response(status)
        to.send_header("Content-Type", kind)
        to.send_header("Content-Length", str(len(body)))
        to.send_header("Content-Security-Policy", POLICY)
        to.end_headers()
        to.wfile.write(body)
