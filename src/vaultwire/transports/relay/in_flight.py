"""One message of the client on its way to the server: what is still to be answered of it, and why it failed. Sends nothing."""

from __future__ import annotations

import threading

from vaultwire.protocol import jsonrpc
from vaultwire.protocol.events import meta_of
from vaultwire.protocol.revisions import META_VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from vaultwire.protocol.json_types import Json, JsonObject
    from vaultwire.transports.relay.http_client import Response

UNREACHABLE = "SERVER_UNREACHABLE"
LOST = "CONNECTION_LOST"
REFUSED = "SERVER_REFUSED"

# The most values in one answer. A list of all notes of a very large vault, with a few facts for each, has fewer.
MAX_ANSWER_VALUES = 1_000_000


class Failure(Exception):  # noqa: N818 - says what came of it
    """The server did not answer the message. ``may_have_run``: the message may have had its effect all the same."""

    def __init__(self, code: str, message: str, *, may_have_run: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.may_have_run = may_have_run


class NoMcp(Exception):  # noqa: N818 - says what there is
    """There is no MCP at this address, or not this method of it. The request has not run."""


class SessionGone(Exception):  # noqa: N818 - says what there is
    """The server does not know the session any more. The request has not run."""


class InFlightMessage:
    """One message or batch. ``ids`` are its requests that are neither answered nor cancelled. Also a task of a queue."""

    def __init__(self, frame: bytes, message: Json, *, is_internal: bool = False) -> None:
        """``is_internal``: the client is not told of the answer."""
        self.frame = frame
        self.message = message
        self.is_internal = is_internal
        self.single: JsonObject = message if isinstance(message, dict) else {}
        self.method: str = self.single.get("method", "")
        self.params: JsonObject = self.single["params"] if isinstance(self.single.get("params"), dict) else {}
        self.ids: set[Any] = {_request_id(each) for each in (message if isinstance(message, list) else [message])}
        self.ids.discard(None)
        self.is_stateless = META_VERSION in meta_of(self.params) or self.method == "server/discover"
        self.opens_session = self.method in ("initialize", "notifications/initialized")
        self.send_after: InFlightMessage | None = None
        self.is_started = False
        self.is_cancelled = False
        self.sent = threading.Event()  # set also when it is certain that it is never sent
        self.queue: Any = None  # set by the queue
        self.is_abandoned = False  # read by the queue
        self._response: Response | None = None

    @property
    def name(self) -> str:
        """The name of the message in error texts."""
        return self.method or ("a batch" if isinstance(self.message, list) else "an answer")

    @property
    def wants_answer(self) -> bool:
        """Whether the client wants the server's answer: also to a batch in which no id could be read."""
        return bool(self.ids) or isinstance(self.message, list)

    def begin(self, response: Response) -> None:
        """Note that the message is sent, and which response answers it."""
        self._response = response
        self.sent.set()
        if self.is_cancelled and self.is_stateless:  # cancelled while it was being sent
            response.abort()

    def abort(self) -> None:
        """Stop waiting for the response."""
        if self._response is not None:
            self._response.abort()


def _request_id(message: Json) -> Any:
    if isinstance(message, dict) and "method" in message and jsonrpc.is_request_id(message.get("id")):
        return message["id"]
    return None
