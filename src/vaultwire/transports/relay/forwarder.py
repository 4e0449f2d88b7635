"""A client's frames on their way to a server and the server's to the client, whatever their revision.

Calls of tools that change something go one after another, in the order in which they came, as a server at stdin takes
them; all else side by side. What is to become of a frame that comes to nothing, an error or somebody else's work, is
``on_failure``'s to say. How a frame is brought to the server is the matter of ``upstream``.
"""

from __future__ import annotations

import threading

from vaultwire.protocol import http, jsonrpc
from vaultwire.server.lanes import Lane
from vaultwire.server.workers import log_crash
from vaultwire.transports.relay.http_client import ConnectionLost, Unreachable
from vaultwire.transports.relay.in_flight import (
    LOST,
    MAX_ANSWER_VALUES,
    REFUSED,
    UNREACHABLE,
    Failure,
    InFlightMessage,
    NoMcp,
)
from vaultwire.transports.relay.upstream import Upstream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from vaultwire.protocol.messages import Json, JsonObject, RequestId
    from vaultwire.transports.relay.http_client import ConnectionPool

# Requests at once. Each waits on a thread; of a client that sends more, the others wait here.
_AT_ONCE = 32
# How long the end waits for calls in flight: a little longer than the longest may take (``trust.limits``).
_GRACE_SECONDS = 65.0
# Requests of the server's that are remembered until the client answers them, and tools of which it is known what they do:
# many times what any server has.
_MOST_ASKED = 1000
_MOST_TOOLS = 10_000


class Forwarder:
    """One client's way to one server."""

    def __init__(
        self,
        connections: ConnectionPool,
        where: str,
        path: str,
        out: Callable[[bytes], None],
        on_failure: Callable[[InFlightMessage | None, Failure | NoMcp], bool],
        say: Callable[[str], None],
        *,
        has_other_way: bool,
        is_patient: bool = True,
    ) -> None:
        """``out`` takes frames for the client, ``say`` words for a person; else as ``Upstream``.

        ``on_failure`` returns whether it has taken the exchange over; if not, the client is told. It is asked with None
        when the server went silent while nothing was on its way. ``has_other_way``: it knows what to do about NoMcp;
        ``is_patient``: a server that cannot be reached is waited for.
        """
        self._has_other_way = has_other_way
        self._out = out
        self._on_failure = on_failure
        self.upstream = Upstream(
            connections,
            where,
            path,
            self._receive,
            lambda failure: on_failure(None, failure),
            say,
            is_patient=is_patient,
        )
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._in_flight: dict[Any, InFlightMessage] = {}
        self._pending = 0  # exchanges that are in a lane
        self._opening = 0  # those among them that open the session: others wait for them
        self._asked: dict[RequestId, None] = {}  # ids of the server's requests that the client has not answered
        self._is_over = False
        self._many: Any = Lane(self._run, _AT_ONCE)  # Any: an exchange is as much of a task as lanes look at
        self._one: Any = Lane(self._run, 1)
        self._aside: Any = Lane(self._run, 1)  # answers and notifications, which calls in flight may wait for
        self.changing: dict[str, bool] = {}  # by tool: whether it changes something

    # ------------------------------------------------------------------ the client's side

    def take(self, frame: bytes, message: Json, *, own: bool = False) -> None:
        """Send a frame on its way, which is sound JSON-RPC. Does not wait. ``own``: nobody is told of the answer."""
        exchange = InFlightMessage(frame, message, own=own)
        lane = self._lane(exchange)
        with self._lock:
            taken = exchange.ids & self._in_flight.keys()
            if not taken:
                self._in_flight.update(dict.fromkeys(exchange.ids, exchange))
                self._pending += 1
                self._opening += exchange.opens
                if isinstance(message, dict) and "method" not in message:
                    self._asked.pop(message["id"], None)
        if taken:
            reason = f"Invalid Request: id {next(iter(taken))!r} is in use by a request that is not answered yet"
            self._out(jsonrpc.to_frame(jsonrpc.error_message(None, jsonrpc.INVALID_REQUEST, reason)))
            return
        self.upstream.remember(exchange)
        lane.put(exchange)

    def cancel(self, frame: bytes, message: JsonObject) -> bool:
        """Have the request a client's notification names come to nothing; False if it is not on its way here."""
        request_id = message["params"].get("requestId") if isinstance(message.get("params"), dict) else None
        with self._lock:
            exchange = self._in_flight.pop(request_id, None) if jsonrpc.is_request_id(request_id) else None
            if exchange is None:
                return False
            exchange.ids.discard(request_id)
            exchange.is_cancelled = not exchange.ids
            if not exchange.is_going:
                return True
            self._pending += not exchange.is_stateless
        if exchange.is_stateless:  # where to hang up is to cancel
            exchange.hang_up()
        else:
            notice = InFlightMessage(frame, message)
            notice.after = exchange
            self._aside.put(notice)
        return True

    def has_asked(self, message: JsonObject) -> bool:
        """Tell whether a client's answer is to a request of the server's, and still expected."""
        return jsonrpc.is_request_id(message.get("id")) and message["id"] in self._asked

    @property
    def is_idle(self) -> bool:
        """Whether nothing is on its way."""
        return self._pending == 0

    def wait_until_open(self, seconds: float) -> bool:
        """Wait for the handshake that is on its way; tell whether it went well within so many seconds."""
        with self._changed:
            self._changed.wait_for(lambda: not self._opening, seconds)
            return not self._opening and self.upstream.is_open

    def abandon(self) -> None:
        """Send nothing more: what is still in line goes to ``on_failure``."""
        self._is_over = True
        self.upstream.close()

    def hang_up(self) -> None:
        """Wait for no answer any longer."""
        with self._lock:
            exchanges = set(self._in_flight.values())
        for exchange in exchanges:
            exchange.hang_up()

    def end(self) -> None:
        """Finish what is in flight, tell the server that the client is gone, and let go of it."""
        self.upstream.close()
        with self._changed:
            self._changed.wait_for(lambda: not self._pending, _GRACE_SECONDS)
        if not self._is_over:
            self.upstream.leave()

    # ------------------------------------------------------------------ lanes

    def _lane(self, exchange: InFlightMessage) -> Any:
        if exchange.opens or isinstance(exchange.message, list):
            return self._one
        if not exchange.ids:
            return self._aside
        if exchange.method == "tools/call":
            name = exchange.params.get("name")
            # A tool that no list has shown may change something.
            if not isinstance(name, str) or self.changing.get(name) is not False:
                return self._one
        return self._many

    def _run(self, exchange: Any) -> None:
        try:
            self._run_in_turn(exchange)
        except Exception:  # noqa: BLE001 - the client must get an answer
            log_crash(exchange.name)
            self._tell(exchange, Failure(LOST, f"The relay failed at {exchange.name}; its log says more."))
        finally:
            exchange.sent.set()
            with self._changed:
                self._pending -= 1
                self._opening -= exchange.opens
                self._changed.notify_all()

    def _run_in_turn(self, exchange: InFlightMessage) -> None:
        if exchange.after is not None:
            exchange.after.sent.wait()
        with self._changed:
            if not exchange.opens:
                self._changed.wait_for(lambda: not self._opening)
            if exchange.is_cancelled:
                return
            exchange.is_going = True
        failure = self._failure_of(exchange)
        if failure is None or exchange.is_cancelled:
            return
        if self._on_failure(exchange, failure):
            with self._lock:
                for id_ in exchange.ids:
                    self._in_flight.pop(id_, None)
        elif isinstance(failure, Failure):
            self._tell(exchange, failure)
        else:
            where = self.upstream.where
            self._tell(exchange, Failure(REFUSED, f"{where} does not serve {exchange.name} ({failure})."))

    def _failure_of(self, exchange: InFlightMessage) -> Failure | NoMcp | None:
        """Have the server answer; return what came between, if anything did."""
        where, name = self.upstream.where, exchange.name
        if self._is_over:
            return Failure(UNREACHABLE, f"{where} cannot be reached any more. {name} was not sent.")
        try:
            self.upstream.carry(exchange)
        except (Failure, NoMcp) as failure:
            return failure
        except Unreachable as error:
            return Failure(UNREACHABLE, f"{where} cannot be reached: {error}. {name} was not sent.")
        except ConnectionLost as error:
            words = f"The connection to {where} was lost after {name} was sent ({error})."
            return Failure(LOST, words + _unsure(exchange), may_have_run=True)
        return None

    def _tell(self, exchange: InFlightMessage, failure: Failure) -> None:
        """Answer for the server what it has not answered."""
        with self._lock:
            unanswered = [id_ for id_ in exchange.ids if self._in_flight.pop(id_, None) is not None]
            exchange.ids.clear()
        if not exchange.own:
            data: JsonObject = {"errorCode": failure.code}
            for id_ in unanswered:
                error = jsonrpc.error_message(id_, jsonrpc.INTERNAL_ERROR, failure.message, data)
                self._out(jsonrpc.to_frame(error))

    # ------------------------------------------------------------------ the server's side

    def _receive(self, data: bytes, exchange: InFlightMessage | None) -> None:
        """Take what the server says: an answer, or something besides. Raises NoMcp, and Failure for what is neither."""
        try:
            message = _parse(data)
        except jsonrpc.MessageError as error:
            if exchange is None:  # nobody waits for it
                return
            raise self._unusable(exchange, error) from None
        if isinstance(message, list):
            awaited = [self._settle(each, exchange) for each in message]  # each of them, not up to the first
            if any(awaited):
                self._out(_to_frame(data))
            return
        if "method" in message:
            if jsonrpc.is_request_id(message.get("id")):
                self._note_asked(message["id"])
            self._out(_to_frame(data))
            return
        if message.get("id") is None and exchange is not None and len(exchange.ids) == 1:
            message["id"] = next(iter(exchange.ids))  # the server could not read the id; we can
            data = jsonrpc.to_frame(message)
        is_of_batch = message.get("id") is None and exchange is not None and exchange.wants_answer
        if is_of_batch or self._settle(message, exchange):
            self._out(_to_frame(data))

    def _unusable(self, exchange: InFlightMessage, error: jsonrpc.MessageError) -> Failure:
        """Return what the client is told of an answer that is none."""
        words = f"{self.upstream.where} answered {exchange.name} with what is no JSON-RPC message ({error.message})."
        return Failure(LOST, words + _unsure(exchange), may_have_run=True)

    def _note_asked(self, id_: RequestId) -> None:
        """Remember a request of the server's, as long as there are not more of them than any client has open."""
        with self._lock:
            self._asked[id_] = None
            if len(self._asked) > _MOST_ASKED:
                del self._asked[next(iter(self._asked))]

    def _settle(self, message: Json, exchange: InFlightMessage | None) -> bool:
        """Take note of an answer; tell whether the client waits for it. Raises NoMcp."""
        id_ = message.get("id") if isinstance(message, dict) else None
        if not isinstance(message, dict) or not jsonrpc.is_request_id(id_):
            return False
        error, result = message.get("error"), message.get("result")
        is_no_mcp = isinstance(error, dict) and error.get("code") == jsonrpc.METHOD_NOT_FOUND
        if is_no_mcp and self._has_other_way and exchange and exchange.method in ("initialize", "tools/call"):
            raise NoMcp("it does not know the method")
        with self._lock:
            settled = self._in_flight.pop(id_, None)
            if settled is None and exchange is not None and id_ in exchange.ids:
                settled = exchange  # one of ours
            if settled is None:
                return False
            settled.ids.discard(id_)
        if isinstance(result, dict):
            self._learn(settled, result)
        return not settled.own

    def _learn(self, exchange: InFlightMessage, result: JsonObject) -> None:
        if exchange.method == "initialize":
            self.upstream.open(exchange, result)
        elif exchange.method == "tools/list" and isinstance(result.get("tools"), list):
            for tool in result["tools"]:
                is_known = len(self.changing) < _MOST_TOOLS
                if is_known and isinstance(tool, dict) and isinstance(tool.get("name"), str):
                    hints, schema = tool.get("annotations"), tool.get("inputSchema")
                    self.changing[tool["name"]] = isinstance(hints, dict) and hints.get("readOnlyHint") is False
                    params = http.header_params(schema) if isinstance(schema, dict) else ()
                    self.upstream.header_params[tool["name"]] = params


def _parse(data: bytes) -> JsonObject | list[JsonObject]:
    """Return what a server says, which is sound JSON-RPC. Raises MessageError."""
    message = jsonrpc.parse_json(data, MAX_ANSWER_VALUES)
    if isinstance(message, list) and message:
        return [jsonrpc.check_said(each) for each in message]
    return jsonrpc.check_said(message)


def _unsure(exchange: InFlightMessage) -> str:
    """Return what to add where a change may have been made."""
    if exchange.name not in ("tools/call", "a batch"):
        return ""
    return " It may have run: look before you send it again."


def _to_frame(data: bytes) -> bytes:
    """Return one JSON text as one line: outside of strings, where they cannot be, line breaks mean nothing."""
    return data.strip().replace(b"\r", b" ").replace(b"\n", b" ") + b"\n"
