"""The server behind: one exchange after another over Streamable HTTP, and the session they are in. Knows no lanes.

A request that may have run is never sent again; one that cannot have run is, as long as there is hope. A session that the
server has forgotten is opened anew, as the client had it.
"""

from __future__ import annotations

import threading

from vaultwire import __version__
from vaultwire.protocol import http, jsonrpc
from vaultwire.protocol.events import meta_of
from vaultwire.transports.relay.event_stream import Cursor, EventTooLong, read_events
from vaultwire.transports.relay.http_client import MAX_ANSWER_BYTES, ConnectionLost, ResponseTooLarge, Unreachable
from vaultwire.transports.relay.in_flight import (
    MAX_ANSWER_VALUES,
    REFUSED,
    UNREACHABLE,
    Failure,
    InFlightMessage,
    NoMcp,
    SessionGone,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from vaultwire.protocol.http import HeaderParams
    from vaultwire.protocol.messages import JsonObject
    from vaultwire.transports.relay.http_client import ConnectionPool, Response

# While the server has never answered: it may be starting. The contract's relay: 30 retries, 1 second doubled up to 30.
START_DELAYS = tuple(min(2.0**n, 30.0) for n in range(30))
# Later: long enough for a restart of it to go unnoticed.
_LATER_DELAYS = (0.1, 0.2, 0.4, 0.8, 1.6)
# For the end of a stream whose answer has come: servers end it at once.
_END_SECONDS = 1.0
_DELETE_SECONDS = 5.0
# Where nobody is waited for: three times as long as a server of ours lets a stream be without a sign of life.
_SILENCE_SECONDS = 45.0

# Statuses that say that there is no such thing here, so that nothing has run (RFC 9110).
_NOT_HERE = (404, 405, 501)
_OK, _NOT_FOUND, _SERVERS_FAULT, _NOT_NOW = 200, 404, 500, 503
_LISTS = ("tools", "prompts", "resources")


class Upstream:
    """One server, as one client sees it."""

    def __init__(
        self,
        connections: ConnectionPool,
        where: str,
        path: str,
        receive: Callable[[bytes, InFlightMessage | None], None],
        on_silence: Callable[[Failure], bool],
        say: Callable[[str], None],
        *,
        is_patient: bool,
    ) -> None:
        """``where`` is the server as a person knows it, ``path`` its MCP endpoint.

        ``receive`` takes what the server says, and with it the exchange on whose stream it came. ``on_silence`` returns
        whether to give up listening to what it says unasked, which has just broken off.
        """
        self.where = where
        self._connections = connections
        self._path = path
        self._receive = receive
        self._on_silence = on_silence
        self._say = say
        self._start_delays = START_DELAYS if is_patient else ()
        self._later_delays = _LATER_DELAYS if is_patient else ()
        self._silence = None if is_patient else _SILENCE_SECONDS
        self._closing = threading.Event()
        self._has_answered = False
        self._reopening = threading.Lock()
        self._session_id = ""
        self._version = ""
        self._capabilities: JsonObject = {}
        self._listening: Response | None = None
        self._own_ids = 0
        # What the client said in the session: it must be said again if that is opened anew.
        self._opened_with: JsonObject | None = None
        self._level: JsonObject | None = None
        self._subscribed: dict[str, JsonObject] = {}
        self.header_params: dict[str, HeaderParams] = {}  # by tool: which arguments are headers too

    @property
    def is_open(self) -> bool:
        """Whether there has been a handshake."""
        return self._opened_with is not None

    def close(self) -> None:
        """Try nothing again, and hear nothing unasked."""
        self._closing.set()
        if self._listening is not None:
            self._listening.abort()

    def leave(self) -> None:
        """Tell the server that the client is gone, and let go of it."""
        session_id, self._session_id = self._session_id, ""
        if session_id:
            headers = {"Mcp-Session-Id": session_id, "MCP-Protocol-Version": self._version}
            try:
                self._connections.ask("DELETE", self._path, headers, seconds=_DELETE_SECONDS).close()
            except (Unreachable, ConnectionLost):  # it will find out by itself
                pass
        self._connections.close()

    # ------------------------------------------------------------------ one exchange

    def carry(self, exchange: InFlightMessage) -> None:
        """Have the server answer. Raises Failure, NoMcp, Unreachable and ConnectionLost."""
        session_id = self._session_id
        try:
            self._post(exchange)
        except SessionGone:
            self._reopen(session_id)
            try:
                self._post(exchange)
            except SessionGone:
                raise Failure(REFUSED, f"{self.where} ends each session at once.") from None
        if exchange.ids and not exchange.is_cancelled:
            raise ConnectionLost("it ended without an answer")
        if exchange.method == "notifications/initialized":
            self._listen_from_now_on()

    def _post(self, exchange: InFlightMessage) -> None:
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "User-Agent": f"vaultwire/{__version__}",
        }
        if exchange.is_stateless:
            name = exchange.params.get("name")
            params = self.header_params.get(name, ()) if isinstance(name, str) else ()
            headers |= http.to_headers(exchange.single, params)
        elif exchange.method != "initialize":
            headers |= self._session_headers()
        answer = self._send(exchange, headers)
        if answer.status == _OK:
            if exchange.method == "initialize":
                self._session_id = answer.header("mcp-session-id")
            if _is_stream(answer):
                self._hear(exchange, answer)
            else:
                self._receive(answer.body(), exchange)
        elif answer.status < 300:  # noqa: PLR2004 - all of these say that it went well
            answer.body()
        elif answer.status == _NOT_FOUND and "Mcp-Session-Id" in headers:
            answer.body()
            raise SessionGone
        else:
            self._be_refused(exchange, answer)

    def _send(self, exchange: InFlightMessage, headers: dict[str, str]) -> Response:
        """Send the exchange, again and again while it does not get there; return the answer when it begins."""
        delays = iter(self._later_delays if self._has_answered else self._start_delays)
        while True:
            try:
                answer = self._connections.send("POST", self._path, headers, exchange.frame, self._silence)
            except Unreachable as error:
                delay = next(delays, None)
                if delay is None or error.is_final or exchange.is_cancelled:
                    raise
                if not self._has_answered:
                    self._say(f"{self.where} cannot be reached: {error}. Next try in {delay:g} s")
                if self._closing.wait(delay):
                    raise
                continue
            exchange.go(answer)
            answer.begin()
            is_late = exchange.method != "initialize" or self._has_answered
            if answer.status < _SERVERS_FAULT or answer.status in _NOT_HERE or is_late:
                self._has_answered = True
                return answer
            # A proxy whose server is starting. A session opened twice would do no harm.
            delay = next(delays, None)
            if delay is None or self._closing.wait(delay):
                return answer
            answer.close()

    def _hear(self, exchange: InFlightMessage, answer: Response) -> None:
        """Pass on what comes on a stream, and on those that go on with it, until the exchange is answered."""
        cursor = Cursor()
        while True:
            lost: ConnectionLost | None = None
            try:
                for data in _events(answer, cursor):
                    self._receive(data, exchange)
                    if not exchange.ids:
                        answer.finish(_END_SECONDS)
                        return
            except (ResponseTooLarge, Failure, NoMcp):
                answer.close()
                raise
            except ConnectionLost as error:
                lost = error
            if not exchange.ids or exchange.is_cancelled:
                return
            if not cursor.last_id or not self._session_id:
                raise lost or ConnectionLost("it hung up before the answer")
            answer = self._resume(exchange, cursor)

    def _resume(self, exchange: InFlightMessage, cursor: Cursor) -> Response:
        """Ask for the rest of a stream (2025-11-25, "Resumability and Redelivery"). Raises ConnectionLost."""
        headers = {"Accept": "text/event-stream", "Last-Event-ID": cursor.last_id, **self._session_headers()}
        reason = ""
        for delay in (cursor.retry_seconds or 0.0, *self._later_delays):
            self._closing.wait(delay)
            try:
                answer = self._connections.ask("GET", self._path, headers, seconds=self._silence)
            except (Unreachable, ConnectionLost) as error:
                reason = str(error)
                continue
            if answer.status == _OK and _is_stream(answer):
                exchange.go(answer)
                return answer
            answer.close()
            raise ConnectionLost(f"it does not know the rest of its answer any more, HTTP status {answer.status}")
        raise ConnectionLost(reason)

    def _be_refused(self, exchange: InFlightMessage, answer: Response) -> None:
        """Pass on the server's own words if it has some for the client. Raises Failure and NoMcp if not."""
        body = answer.body()
        try:
            message = jsonrpc.parse_json(body, MAX_ANSWER_VALUES)
        except jsonrpc.MessageError:
            message = None
        if isinstance(message, dict) and isinstance(message.get("error"), dict) and exchange.wants_answer:
            self._receive(body, exchange)
            return
        if answer.status in _NOT_HERE and exchange.method in ("initialize", "server/discover", "tools/call"):
            raise NoMcp(f"HTTP status {answer.status}")
        said = ""
        if isinstance(message, dict) and isinstance(message.get("message"), str):
            said = f": {message['message'][:300]}"
        raise Failure(
            REFUSED,
            f"{self.where} refused {exchange.name} with HTTP status {answer.status}{said}",
            may_have_run=answer.status >= _SERVERS_FAULT and answer.status != _NOT_NOW,
        )

    # ------------------------------------------------------------------ the session

    def open(self, exchange: InFlightMessage, result: JsonObject) -> None:
        """Take note of the answer to ``initialize``."""
        self._version = str(result.get("protocolVersion", ""))
        capabilities = result.get("capabilities")
        self._capabilities = capabilities if isinstance(capabilities, dict) else {}
        self._opened_with = exchange.params

    def remember(self, exchange: InFlightMessage) -> None:
        """Keep what the session will know of the client."""
        uri = exchange.params.get("uri")
        if exchange.method == "logging/setLevel":
            self._level = exchange.params
        elif exchange.method == "resources/subscribe" and isinstance(uri, str):
            self._subscribed[uri] = exchange.params
        elif exchange.method == "resources/unsubscribe" and isinstance(uri, str):
            self._subscribed.pop(uri, None)

    def _session_headers(self) -> dict[str, str]:
        headers = {"MCP-Protocol-Version": self._version, "Mcp-Session-Id": self._session_id}
        return {name: value for name, value in headers.items() if value}

    def _reopen(self, session_id: str) -> None:
        """Open the session anew, as the client had it. Raises Failure and as ``_post``."""
        with self._reopening:
            if self._session_id != session_id or self._opened_with is None or self._closing.is_set():
                return  # another thread has, or there is nothing to open
            version, self._session_id = self._version, ""
            self._ask("initialize", self._opened_with)
            if self._version != version:
                raise Failure(REFUSED, f"{self.where} began anew and speaks another revision; start this anew, too.")
            self._post(_own("notifications/initialized", {}, None))
            if self._level is not None:
                self._ask("logging/setLevel", self._level)
            for params in list(self._subscribed.values()):
                self._ask("resources/subscribe", params)
            self._listen_from_now_on()
        for kind in _LISTS:  # it may offer other things than before
            declared = self._capabilities.get(kind)
            if isinstance(declared, dict) and declared.get("listChanged"):
                method = f"notifications/{kind}/list_changed"
                self._receive(jsonrpc.to_frame(jsonrpc.notification_message(method, {})), None)

    def _ask(self, method: str, params: JsonObject) -> None:
        """Make a request of ours."""
        self._own_ids += 1
        meta = {name: value for name, value in meta_of(params).items() if name != "progressToken"}
        self._post(_own(method, {**params, "_meta": meta}, f"vaultwire-relay-{self._own_ids}"))

    # ------------------------------------------------------------------ what it says unasked

    def _listen_from_now_on(self) -> None:
        threading.Thread(target=self._listen, args=(self._session_id,), daemon=True, name="vaultwire-listening").start()

    def _listen(self, session_id: str) -> None:
        """Hear what the server says unasked, as long as the session is this one."""
        cursor = Cursor()
        delays = iter(START_DELAYS)
        while not self._closing.is_set() and self._session_id == session_id:
            headers = {"Accept": "text/event-stream", **self._session_headers()}
            if cursor.last_id:
                headers["Last-Event-ID"] = cursor.last_id
            try:
                self._listening = answer = self._connections.ask("GET", self._path, headers, seconds=self._silence)
                if answer.status == _NOT_FOUND and session_id:
                    answer.close()
                    self._reopen(session_id)
                    return
                if answer.status != _OK or not _is_stream(answer):  # 405: it says nothing unasked
                    answer.close()
                    return
                delays = iter(START_DELAYS)
                for data in _events(answer, cursor):
                    self._receive(data, None)
            except ResponseTooLarge as error:  # it would say the same again
                self._say(f"{self.where} is not listened to any more: {error}")
                return
            except (Unreachable, ConnectionLost) as error:
                if not self._closing.is_set() and self._on_silence(Failure(UNREACHABLE, str(error))):
                    return
            except (Failure, NoMcp, SessionGone):  # the next call will say so
                return
            self._closing.wait(cursor.retry_seconds or next(delays, START_DELAYS[-1]))


def _events(answer: Response, cursor: Cursor) -> Iterator[bytes]:
    """Yield the data of each event of an answer. Raises ConnectionLost."""
    try:
        yield from read_events(answer.lines(), cursor, MAX_ANSWER_BYTES)
    except EventTooLong:
        answer.close()
        raise ResponseTooLarge(f"an event of its answer has more than {MAX_ANSWER_BYTES} bytes") from None


def _own(method: str, params: JsonObject, id_: str | None) -> InFlightMessage:
    message = jsonrpc.notification_message(method, params)
    if id_ is not None:
        message = jsonrpc.request_message(id_, method, params)
    return InFlightMessage(jsonrpc.to_frame(message), message, own=True)


def _is_stream(answer: Response) -> bool:
    return answer.header("content-type").lower().startswith("text/event-stream")
