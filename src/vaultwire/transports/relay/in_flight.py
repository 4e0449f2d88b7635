"""What is on its way: a client's frame to the server, what is still to be answered of it, and why it came to nothing."""

from __future__ import annotations

import threading

from vaultwire.protocol import jsonrpc
from vaultwire.protocol.events import meta_of
from vaultwire.protocol.revisions import META_VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from vaultwire.protocol.messages import Json, JsonObject
    from vaultwire.transports.relay.http_client import Response

UNREACHABLE = "SERVER_UNREACHABLE"
LOST = "CONNECTION_LOST"
REFUSED = "SERVER_REFUSED"

# Of an answer: a list of all notes of a very large vault, each with a few facts. Nobody asks for as much.
MAX_ANSWER_VALUES = 1_000_000


class Failure(Exception):  # noqa: N818 - says what came of it
    """A frame that the server did not answer. ``may_have_run``: it may have had its effect all the same."""

    def __init__(self, code: str, message: str, *, may_have_run: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.may_have_run = may_have_run


class NoMcp(Exception):  # noqa: N818 - says what there is
    """There is no MCP at this address, or not this method of it. What was asked for has not run."""


class SessionGone(Exception):  # noqa: N818 - says what there is
    """The server does not know the session any more. What was asked for has not run."""


class InFlightMessage:
    """One frame. ``ids`` are those of its requests that are neither answered nor cancelled. A lane's task, too."""

    def __init__(self, frame: bytes, message: Json, *, own: bool = False) -> None:
        """``own``: not the client's, who is not told of its answer."""
        self.frame = frame
        self.message = message
        self.own = own
        self.single: JsonObject = message if isinstance(message, dict) else {}
        self.method: str = self.single.get("method", "")
        self.params: JsonObject = self.single["params"] if isinstance(self.single.get("params"), dict) else {}
        self.ids: set[Any] = {_request_id(each) for each in (message if isinstance(message, list) else [message])}
        self.ids.discard(None)
        self.is_stateless = META_VERSION in meta_of(self.params) or self.method == "server/discover"
        self.opens = self.method in ("initialize", "notifications/initialized")
        self.after: InFlightMessage | None = None  # not to be sent before this one
        self.is_going = False
        self.is_cancelled = False
        self.sent = threading.Event()  # or will never be
        self.lane: Any = None  # the lane's
        self.is_abandoned = False  # the lane's
        self._answer: Response | None = None

    @property
    def name(self) -> str:
        """What it is, for a message."""
        return self.method or ("a batch" if isinstance(self.message, list) else "an answer")

    @property
    def wants_answer(self) -> bool:
        """Whether the client wants to hear what is said of it: also of a batch in which no id could be read."""
        return bool(self.ids) or isinstance(self.message, list)

    def go(self, answer: Response) -> None:
        """Take note that it is sent and will be answered with this."""
        self._answer = answer
        self.sent.set()
        if self.is_cancelled and self.is_stateless:  # meanwhile
            answer.abort()

    def hang_up(self) -> None:
        """Wait for the answer no longer."""
        if self._answer is not None:
            self._answer.abort()


def _request_id(message: Json) -> Any:
    if isinstance(message, dict) and "method" in message and jsonrpc.is_request_id(message.get("id")):
        return message["id"]
    return None
