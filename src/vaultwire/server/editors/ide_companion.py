"""What Gemini CLI and Qwen Code ask of an editor and hear from it: the protocol their documentation calls IDE companion.

One ``Companion`` a vault, beside its ``Bridge`` and over the same editor. Its clients come over Streamable HTTP: a session
is a client, its stream beside is where it is told what the person sees and decides. What of it clients heed, and how, was
measured (``docs/gemini-cli.md``). No socket here.
"""

from __future__ import annotations

import json
import threading
import time
from typing import NamedTuple

from vaultwire.editor.state import Selection
from vaultwire.protocol import jsonrpc
from vaultwire.server.answers import Refusal, Result
from vaultwire.server.editors.tools import COMPANION_TOOLS, argument, name_argument
from vaultwire.server.http.streams import Stream
from vaultwire.server.subscriptions import Subscriptions
from vaultwire.server.tasks import Job, Work
from vaultwire.trust.limits import SECONDS_BY_TIME_CLASS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from vaultwire.editor.proposals import Decision
    from vaultwire.protocol.dialects import Dialect
    from vaultwire.protocol.events import Request
    from vaultwire.protocol.session import Session
    from vaultwire.server.answers import Answer
    from vaultwire.server.editors.methods import Bridge
    from vaultwire.server.shapes import Locked, Outlet

# Clients show their model 10 files and 16,384 characters of what is selected; of one more they say that it was cut.
_MOST_FILES = 10
_MOST_SELECTED = 16_385
# Of frames that a client may ask for again. What is in front now is told anew anyway; what came of a change is not.
_MOST_KEPT = 100
_MAX_NAME = 100


class Bounds(NamedTuple):
    """Seconds. ``quiet``: what is in front is told when it has not changed for so long, as clients' documentation has it.

    ``look``: between looks at who is still there. ``lost``: a client that listens no more has gone; one whose connection
    broke is back after one or two.
    """

    quiet: float = 0.05
    look: float = 1.0
    lost: float = 5.0


class Client:
    """One session. What it asked the person about is in ``waiting``: the new text, by what it calls the file."""

    def __init__(self, workers: Locked, session: Session, stream: Stream, now: float) -> None:
        self._workers = workers
        self.session = session
        self.stream = stream
        self.waiting: dict[str, _Wanted] = {}
        self.told: dict[str, Any] | None = None
        self.heard_at = now  # when it was last seen to listen

    def tell(self, method: str, params: dict[str, Any]) -> None:
        """Tell it something it did not ask for. From any thread that holds no lock of the workers."""
        with self._workers.lock:
            self.stream.send(self.session.tell(method, params))


class _Wanted:
    """A text that a client wants a file to have."""

    def __init__(self, text: str) -> None:
        self.text = text


class Companion:
    """The methods, and who hears of the editor. Fills the workers' ``Methods``; safe to use from several threads.

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
        """Answer a request, or return the job that will."""
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
        return Work(name, answer, lambda _, message: _failure(message), seconds, changes_vault=False)

    def describe(self, _tool: str) -> None:
        """Return nothing: no argument stands in a header."""

    def _open_diff(self, client: Client, arguments: dict[str, Any]) -> list[str]:
        """Lay a change before the person. What comes of it is told by the name that the client gave the file."""
        given, wanted = name_argument(arguments, "filePath"), _Wanted(argument(arguments, "newContent"))

        def decided(decision: Decision) -> None:
            with self._lock:
                if client.waiting.get(given) is not wanted:  # nobody waits for this one any more
                    return
                del client.waiting[given]
            # A client that is told that an empty text was accepted takes it for none, and writes its own.
            if decision.text is None or (not decision.text and wanted.text):
                client.tell("ide/diffRejected", {"filePath": given})
            else:
                client.tell("ide/diffAccepted", {"filePath": given, "content": decision.text})

        self._drop(client, given)  # the client would take what comes of that one for this one's
        with self._lock:
            client.waiting[given] = wanted
        self._bridge.propose(given, given, wanted.text, client, decided)
        return []

    def _close_diff(self, client: Client, arguments: dict[str, Any]) -> list[str]:
        """Take a change back: the person has answered in the terminal. Clients read the text as JSON."""
        given = argument(arguments, "filePath")
        dropped = self._drop(client, given)
        if dropped is not None and arguments.get("suppressNotification") is not True:
            client.tell("ide/diffRejected", {"filePath": given})
        return [json.dumps({"content": None if dropped is None else dropped.text}, ensure_ascii=False)]

    def _drop(self, client: Client, given: str) -> _Wanted | None:
        """Have a client's change to a file wait no longer, and tell nobody."""
        with self._lock:
            dropped = client.waiting.pop(given, None)
        self._bridge.proposals.reject_all(client, given)
        return dropped

    # ------------------------------------------------------------------ who is there

    @property
    def clients(self) -> int:
        """How many clients listen."""
        return sum(client.stream.is_attached for client in self._connected())

    def join(self, client: Client) -> None:
        """Take a client in. What the person sees waits for it on its stream."""
        with self._lock:
            self._clients.append(client)
        self._tell(client, self._context())

    def leave(self, session: object) -> None:
        """Forget a client: what it laid before the person is rejected, for nobody would hear."""
        with self._lock:
            left = [client for client in self._clients if client.session is session]
            self._clients = [client for client in self._clients if client not in left]
        for client in left:
            self._bridge.proposals.reject_all(client)

    def _connected(self) -> list[Client]:
        with self._lock:
            return list(self._clients)

    def _look(self) -> None:
        """Reject what those have laid before the person who listen no more, and have the others know what is in front."""
        clients = self._connected()
        if not clients:
            return
        now, context = time.monotonic(), self._context()
        for client in clients:
            if client.stream.is_attached:
                client.heard_at = now
                self._tell(client, context)
            elif now - client.heard_at >= self._bounds.lost:
                self._bridge.proposals.reject_all(client)

    # ------------------------------------------------------------------ what is told

    def run(self) -> None:
        """Tell clients what the person sees, each time that stays as it is for a moment, until ``close``."""
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
        """Reject what waits for the person, and tell no more."""
        self._end_listening()
        for client in self._connected():
            self._bridge.proposals.reject_all(client)
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
        """Note down when a note came to the front: for clients the latest is the active one, so no two are alike."""
        if selection.path:
            with self._lock:
                latest = max(self._focused.values(), default=0)
                self._focused[selection.path] = max(time.time_ns() // 1_000_000, latest + 1)

    def _context(self) -> dict[str, Any]:
        """Return what clients are told of the person's windows; what is private is not in the state."""
        state = self._bridge.state
        front, tabs = state.selection, state.tabs
        with self._lock:
            self._focused = {path: at for path, at in self._focused.items() if path in tabs or path == front.path}
            focused = dict(self._focused)
        others = [path for path in tabs if path != front.path]
        # Of those nobody has looked at since, nothing is known but that the others came later.
        at = {path: focused.get(path, self._began - place) for place, path in enumerate(others)}
        files = [] if not front.path else [self._active(front, focused.get(front.path, self._began + 1))]
        shown = sorted(others, key=at.__getitem__, reverse=True)[: _MOST_FILES - len(files)]
        absolute = self._bridge.shapes.absolute
        files += [{"path": absolute(path), "timestamp": at[path], "isActive": False} for path in shown]
        # Not isTrusted: it would answer for the person whether settings and commands in the folder may be trusted.
        return {"workspaceState": {"openFiles": files}}

    def _active(self, front: Selection, at: int) -> dict[str, Any]:
        active: dict[str, Any] = {"path": self._bridge.shapes.absolute(front.path), "timestamp": at, "isActive": True}
        if front != Selection(front.path):  # else nobody knows where the cursor is
            active["cursor"] = {"line": front.end.line + 1, "character": front.end.character + 1}
        if front.text:
            active["selectedText"] = front.text[:_MOST_SELECTED]
        return active

    def _tell(self, client: Client, context: dict[str, Any]) -> None:
        if client.told != context:
            client.told = context
            client.tell("ide/contextUpdate", context)


class _Sessions(Subscriptions):
    """Has the companion know of sessions that open and end."""

    def __init__(self, companion: Companion) -> None:
        super().__init__()
        self._companion = companion

    def attach(self, workers: Locked, session: Session, outlet: Outlet) -> None:
        super().attach(workers, session, outlet)
        assert isinstance(outlet, Stream)  # these clients come over HTTP only
        outlet.most = _MOST_KEPT
        self._companion.join(Client(workers, session, outlet, time.monotonic()))

    def end(self, whose: Request | Session) -> None:
        self._companion.leave(whose)
        super().end(whose)


def _failure(message: str) -> Result:
    return Result({"content": [{"type": "text", "text": message}], "isError": True})
