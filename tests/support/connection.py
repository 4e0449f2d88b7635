"""A duplex connection in memory: the dispatcher on a thread of its own, the test as its peer."""

from __future__ import annotations

import functools
import json
import queue
import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

from support.toolsets import PATIENCE, Stage
from support.wire import STATELESS_REVISION, envelope
from vaultwire.protocol.dialects import STRUCTURED
from vaultwire.protocol.events import Identity
from vaultwire.protocol.session import Session
from vaultwire.server.dispatcher import FrameTooLarge, serve
from vaultwire.server.handlers import Handlers
from vaultwire.server.middleware import Middleware
from vaultwire.server.workers import Workers
from vaultwire.trust.policy import Policy
from vaultwire.vault.vault import Vault


class MemoryStream:
    """Fills the dispatcher's ``Stream`` with two queues. An exception put into the first is raised to the dispatcher."""

    def __init__(self) -> None:
        self.to_server: queue.Queue[bytes | Exception | None] = queue.Queue()
        self.to_client: queue.Queue[bytes | None] = queue.Queue()

    def receive(self) -> bytes | None:
        item = self.to_server.get(timeout=2 * PATIENCE)
        if isinstance(item, Exception):
            raise item
        return item

    def send(self, frame: bytes) -> None:
        self.to_client.put(frame)


class Peer:
    """A client of a dispatcher over the stage's tools. Leaving the context ends the input and waits for the drain."""

    def __init__(
        self,
        stage: Stage,
        vault: Vault,
        revision: str | None = "2025-11-25",
        file_seconds: float = PATIENCE,
        search_seconds: float = PATIENCE,
        *,
        policy: Policy | None = None,
        middleware: Middleware | None = None,
        others: Mapping[str, Vault] | None = None,
        task_seconds: float = PATIENCE,
    ) -> None:
        """``others`` are vaults served besides the first, which is then called ``first``."""
        self.stage = stage
        self.warmed_up = threading.Event()
        self._revision = revision
        self._stream = MemoryStream()
        by_class: Mapping[str, float] = {"file": file_seconds, "search": search_seconds}
        vaults = {"first": vault, **others} if others else {"": vault}
        openers: dict[str, Callable[[], Vault]] = {name: functools.partial(vaults.__getitem__, name) for name in vaults}
        self.handlers = Handlers(
            stage.toolset(),
            openers,
            policy or Policy(),
            by_class,
            middleware=middleware,
            task_seconds=task_seconds,
        )
        identity = Identity("test", "Test", "1", {"tools": {}, "logging": {}}, "Be kind.")
        self.session = Session(identity, self.handlers.methods, STRUCTURED)
        self._thread = threading.Thread(target=self._serve, name="test-dispatcher", daemon=True)
        self._ids = 0
        self._workers: Workers

    def _serve(self) -> None:
        try:
            serve(self._stream, self.session, self.handlers, self.warmed_up.set, attach=self._attach)
        finally:
            self._stream.to_client.put(None)

    def _attach(self, enter: Any) -> None:
        self._workers = enter.__self__

    def __enter__(self) -> Self:
        self._thread.start()
        if self._revision not in (None, STATELESS_REVISION):
            answer = self.request("initialize", {"protocolVersion": self._revision})
            assert answer["result"]["protocolVersion"] == self._revision
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stage.open_all()
        self.end()
        self.join()

    # ------------------------------------------------------------------ sending

    def send(self, message: Any) -> None:
        self._stream.to_server.put(json.dumps(message).encode())

    def send_too_much(self, limit: int) -> None:
        """Have the stream say that a frame was too long."""
        self._stream.to_server.put(FrameTooLarge(limit))

    def notify(self, method: str, **params: Any) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def post(self, method: str, params: dict[str, Any] | None = None) -> int:
        """Send a request of this connection's revision and return its id."""
        self._ids += 1
        params = dict(params or {})
        if self._revision == STATELESS_REVISION:
            params["_meta"] = {**envelope(), **params.get("_meta", {})}
        self.send({"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params})
        return self._ids

    def post_call(self, tool: str, meta: dict[str, Any] | None = None, /, **arguments: Any) -> int:
        params: dict[str, Any] = {"name": tool, "arguments": arguments}
        return self.post("tools/call", params if meta is None else {**params, "_meta": meta})

    def cancel(self, request_id: int) -> None:
        self.notify("notifications/cancelled", requestId=request_id)

    def time_out(self, *request_ids: int) -> None:
        """Let the deadlines of these calls, which have been read, come now.

        Looks behind the door: a deadline of so many seconds may come before a busy machine has begun the call, or never while
        a test waits for it.
        """
        with self._workers.lock:
            tasks = {request.id: task for request, task in self._workers._tasks.items()}
            for request_id in request_ids:
                tasks[request_id].deadline = 0.0
                self._workers.watch(tasks[request_id])

    def end(self) -> None:
        """Close the input."""
        self._stream.to_server.put(None)

    # ------------------------------------------------------------------ receiving

    def receive(self) -> Any:
        """Return the next message."""
        frame = self._stream.to_client.get(timeout=PATIENCE)
        assert frame is not None, "the connection ended"
        assert frame.endswith(b"\n")
        return json.loads(frame)

    def request(self, method: str, params: dict[str, Any] | None = None) -> Any:
        """Send a request and return the next message, which must be its answer."""
        request_id = self.post(method, params)
        answer = self.receive()
        assert answer.get("id") == request_id, answer
        return answer

    def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool and return its result."""
        return self.request("tools/call", {"name": tool, "arguments": arguments})["result"]

    def join(self) -> None:
        """Wait until the dispatcher has returned."""
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "the dispatcher did not return"

    def rest(self) -> list[Any]:
        """Return all that came until the connection ended."""
        messages = []
        while (frame := self._stream.to_client.get(timeout=PATIENCE)) is not None:
            messages.append(json.loads(frame))
        return messages

    def finish(self) -> list[Any]:
        """End the input and return what came until the dispatcher returned."""
        self.end()
        self.join()
        return self.rest()
