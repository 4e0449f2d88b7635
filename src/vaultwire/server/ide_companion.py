"""The IDE companion protocol of Gemini CLI and Qwen Code: their requests to an editor, and what they are told. No socket here.

One ``Companion`` for each vault, beside its ``Bridge`` and over the same editor. Clients come over Streamable HTTP: a session
is a client, and its GET stream tells it what the person sees and decides. What clients do with it was measured
(``docs/editors.md``).
"""

from __future__ import annotations

import json
import secrets
import threading
import time
from typing import NamedTuple

from vaultwire.editor import TOOL, Selection
from vaultwire.protocol import jsonrpc
from vaultwire.server.editor_methods import COMPANION_TOOLS, argument, name_argument
from vaultwire.server.mcp_endpoint import Stream
from vaultwire.server.results import Refusal, Result
from vaultwire.server.subscriptions import Subscriptions
from vaultwire.server.workers import Job
from vaultwire.trust.limits import SECONDS_BY_TIME_CLASS
from vaultwire.vault.changes.change import Author

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from vaultwire.editor import Decision
    from vaultwire.protocol.dialects import Dialect
    from vaultwire.protocol.events import Request
    from vaultwire.protocol.session import Session
    from vaultwire.server.editor_methods import Bridge
    from vaultwire.server.results import Answer, FrameSink

# Clients show their model 10 files and 16,384 characters of a selection. With one more they say that it was cut.
_MOST_FILES = 10
_MOST_SELECTED = 16_385
# Frames that a client may ask for again. The note in front is told again in any case, the decision on a diff is not.
_MOST_KEPT = 100
_MAX_NAME = 100


class Bounds(NamedTuple):
    """Seconds. ``quiet``: the note in front is told when it has not changed for so long, as clients' documentation says.

    ``look``: between two checks for lost clients. ``lost``: a client that has not listened for so long is gone; one whose
    connection broke is back after one or two seconds.
    """

    quiet: float = 0.05
    look: float = 1.0
    lost: float = 5.0


class Client:
    """One session. ``waiting`` are its open diffs: the proposed text by the client's name of the file."""

    def __init__(self, lock: threading.Lock, session: Session, stream: Stream, now: float) -> None:
        self._lock = lock
        self.session = session
        self.stream = stream
        self.waiting: dict[str, _ProposedText] = {}
        self.told: dict[str, Any] | None = None
        self.heard_at = now  # when it last listened
        self.name = secrets.token_hex(4)  # of the session, for the journal

    def tell(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification. From any thread that does not hold the workers' lock."""
        with self._lock:
            self.stream.send(self.session.tell(method, params))


class _ProposedText:
    """A text that a client proposes for a file."""

    def __init__(self, text: str) -> None:
        self.text = text


class Companion:
    """The methods and the clients. Implements the workers' ``Methods``; safe to use from several threads.

    ``run`` tells clients what the person sees until ``close``.
    """

    methods = frozenset(("tools/list", "tools/call"))

    def __init__(self, bridge: Bridge, bounds: Bounds = Bounds()) -> None:  # noqa: B008 - a constant
        self.subscriptions: Subscriptions = _Sessions(self)
        self._bridge = bridge
        self._bounds = bounds
        self._lock = threading.Lock()
        self._clients: list[Client] = []
        self._changed = threading.Condition()
        self._has_news = False
        self._ended = False
        self._began = time.time_ns() // 1_000_000
        self._focused: dict[str, int] = {}  # when a note was last in front, in milliseconds
        self._tools: dict[str, Callable[[Client, dict[str, Any]], list[str]]] = {
            "openDiff": self._open_diff,
            "closeDiff": self._close_diff,
        }
        self._focus(bridge.state.selection)
        self._end_listening = bridge.state.listen(self._note, on_tabs=self._note)

    # ------------------------------------------------------------------ requests

    def handle(self, request: Request, _dialect: Dialect) -> Answer | Job:
        """Return the answer, or the job that makes it."""
        if request.method == "tools/list":
            return Result({"tools": COMPANION_TOOLS})
        name, arguments = request.params.get("name"), request.params.get("arguments") or {}
        if not isinstance(name, str) or not isinstance(arguments, dict):
            return Refusal(jsonrpc.INVALID_PARAMS, "Invalid params: name must be a text and arguments an object")
        run = self._tools.get(name)
        if run is None:
            known = " and ".join(self._tools)
            return Refusal(jsonrpc.INVALID_PARAMS, f"Unknown tool: {name[:_MAX_NAME]!r} (there are {known})")
        client = next((each for each in self._connected() if each.session.peer is request.peer), None)

        def answer(_: object) -> Answer:
            if client is None:
                return _failure("Open a session first: what the person decides is told on its stream")
            try:
                return Result({"content": [{"type": "text", "text": text} for text in run(client, arguments)]})
            except ValueError as error:
                return _failure(str(error))

        seconds = SECONDS_BY_TIME_CLASS["file"]
        return Job(name, answer, lambda _, message: _failure(message), seconds, changes_vault=False)

    def describe(self, _tool: str) -> None:
        """Return nothing: no argument stands in a header."""

    def _open_diff(self, client: Client, arguments: dict[str, Any]) -> list[str]:
        """Show the person a diff. Their decision is told with the client's name of the file."""
        path, proposed = name_argument(arguments, "filePath"), _ProposedText(argument(arguments, "newContent"))

        def decided(decision: Decision) -> None:
            with self._lock:
                if client.waiting.get(path) is not proposed:  # another diff has taken its place
                    return
                del client.waiting[path]
            # A client takes an empty text for none, and would write its own.
            if decision.text is None or (not decision.text and proposed.text):
                client.tell("ide/diffRejected", {"filePath": path})
            else:
                client.tell("ide/diffAccepted", {"filePath": path, "content": decision.text})

        self._drop(client, path)  # the client would take its decision for the new one's
        with self._lock:
            client.waiting[path] = proposed
        name = client.session.peer.name or ""
        diff, author = self._bridge.diff(path, path, proposed.text), Author(name, TOOL, client.name)
        try:
            self._bridge.proposals.propose(diff, author, client, decided)
        except ValueError:
            self._drop(client, path)
            raise
        return []

    def _close_diff(self, client: Client, arguments: dict[str, Any]) -> list[str]:
        """Close a diff: the person has decided in the terminal. Clients read the text as JSON."""
        given = argument(arguments, "filePath")
        dropped = self._drop(client, given)
        if dropped is not None and arguments.get("suppressNotification") is not True:
            client.tell("ide/diffRejected", {"filePath": given})
        return [json.dumps({"content": None if dropped is None else dropped.text}, ensure_ascii=False)]

    def _drop(self, client: Client, path: str) -> _ProposedText | None:
        """Drop a client's diff of a file without telling anybody."""
        with self._lock:
            dropped = client.waiting.pop(path, None)
        self._bridge.proposals.withdraw(client, path)
        return dropped

    # ------------------------------------------------------------------ who is there

    @property
    def clients(self) -> list[str]:
        """The names of the clients that listen."""
        return [client.session.peer.name or "an assistant" for client in self._connected() if client.stream.is_attached]

    def join(self, client: Client) -> None:
        """Add a client, and send what the person sees to its stream."""
        with self._lock:
            self._clients.append(client)
        self._tell(client, self._context())

    def leave(self, session: object) -> None:
        """Remove a client and withdraw its diffs: nobody would hear of the answer."""
        with self._lock:
            left = [client for client in self._clients if client.session is session]
            self._clients = [client for client in self._clients if client not in left]
        for client in left:
            self._bridge.proposals.withdraw(client)

    def _connected(self) -> list[Client]:
        with self._lock:
            return list(self._clients)

    def _look(self) -> None:
        """Withdraw the diffs of lost clients, and tell the others which note is in front."""
        clients = self._connected()
        if not clients:
            return
        now, context = time.monotonic(), self._context()
        for client in clients:
            if client.stream.is_attached:
                client.heard_at = now
                self._tell(client, context)
            elif now - client.heard_at >= self._bounds.lost:
                self._bridge.proposals.withdraw(client)

    # ------------------------------------------------------------------ what is told

    def run(self) -> None:
        """Tell clients what the person sees once it has not changed for a moment, until ``close``."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._has_news or self._ended, self._bounds.look)
                while self._has_news and not self._ended:
                    self._has_news = False
                    self._changed.wait_for(lambda: self._has_news or self._ended, self._bounds.quiet)
                if self._ended:
                    return
            self._look()

    def close(self) -> None:
        """Withdraw all diffs, and end ``run``."""
        if self._ended:
            return
        self._end_listening()
        for client in self._connected():
            self._bridge.proposals.withdraw(client)
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _note(self, selection: Selection | None = None) -> None:
        if selection is not None:
            self._focus(selection)
        with self._changed:
            self._has_news = True
            self._changed.notify_all()

    def _focus(self, selection: Selection) -> None:
        """Remember when a note came to the front. Clients take the latest for the active one, so all times differ."""
        if selection.path:
            with self._lock:
                latest = max(self._focused.values(), default=0)
                self._focused[selection.path] = max(time.time_ns() // 1_000_000, latest + 1)

    def _context(self) -> dict[str, Any]:
        """Return the context for clients: the open notes. Private notes are not in the editor's state."""
        state = self._bridge.state
        front, tabs = state.selection, state.tabs
        with self._lock:
            self._focused = {path: at for path, at in self._focused.items() if path in tabs or path == front.path}
            focused = dict(self._focused)
        others = [path for path in tabs if path != front.path]
        # Notes that were not in front since the start count as older than all others.
        at = {path: focused.get(path, self._began - place) for place, path in enumerate(others)}
        files = [] if not front.path else [self._active(front, focused.get(front.path, self._began + 1))]
        shown = sorted(others, key=at.__getitem__, reverse=True)[: _MOST_FILES - len(files)]
        absolute = self._bridge.paths.absolute
        files += [{"path": absolute(path), "timestamp": at[path], "isActive": False} for path in shown]
        # Not isTrusted: it would answer for the person whether settings and commands in the folder may be trusted.
        return {"workspaceState": {"openFiles": files}}

    def _active(self, front: Selection, at: int) -> dict[str, Any]:
        active: dict[str, Any] = {"path": self._bridge.paths.absolute(front.path), "timestamp": at, "isActive": True}
        if front != Selection(front.path):  # else the cursor is unknown
            active["cursor"] = {"line": front.end.line + 1, "character": front.end.character + 1}
        if front.text:
            active["selectedText"] = front.text[:_MOST_SELECTED]
        return active

    def _tell(self, client: Client, context: dict[str, Any]) -> None:
        if client.told != context:
            client.told = context
            client.tell("ide/contextUpdate", context)


class _Sessions(Subscriptions):
    """Tells the companion of sessions that open and end."""

    def __init__(self, companion: Companion) -> None:
        super().__init__()
        self._companion = companion

    def attach(self, lock: threading.Lock, session: Session, sink: FrameSink) -> None:
        super().attach(lock, session, sink)
        assert isinstance(sink, Stream)  # these clients come over HTTP only
        sink.most = _MOST_KEPT
        self._companion.join(Client(lock, session, sink, time.monotonic()))

    def end(self, subscriber: Request | Session) -> None:
        self._companion.leave(subscriber)
        super().end(subscriber)


def _failure(message: str) -> Result:
    return Result({"content": [{"type": "text", "text": message}], "isError": True})
