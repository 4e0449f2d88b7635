"""One WebSocket as ASGI has it, by the sans-I/O protocol of ``websockets``: opening, messages, pings, goodbye (RFC 6455).

``websocket.send`` never waits: what a client does not take counts as memory of its connection, and ends it like every client
that takes nothing.
"""

from __future__ import annotations

import logging
import time
from collections import deque

from websockets.datastructures import Headers
from websockets.frames import CloseCode, Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import SEND_EOF, State
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol

from vaultwire.transports.http_server.connection import Connection, RequestCycle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultwire.transports import Message, Scope

# Messages that are read ahead. Each may have the largest size.
_MAX_QUEUED = 4
_DENIAL = "websocket.http.response."


class WebSocketCycle(RequestCycle):
    """The request for a WebSocket, and the WebSocket."""

    def __init__(self, connection: Connection, scope: Scope) -> None:
        offered = [value.decode("latin-1") for name, value in scope["headers"] if name == b"sec-websocket-protocol"]
        super().__init__(
            connection,
            {
                **scope,
                "type": "websocket",
                "scheme": scope["scheme"].replace("http", "ws"),
                "subprotocols": [name.strip() for value in offered for name in value.split(",")],
                "extensions": {"websocket.http.response": {}},
            },
        )
        self._protocol: ServerProtocol | None = None  # once the app has accepted
        self._early = b""  # what came before that
        self._messages: deque[str | bytes] = deque()
        self._parts: list[bytes] = []  # of a message that is still coming
        self._is_text = False
        self._unread = 0  # bytes of what is still coming
        self._is_announced = False  # ``websocket.connect`` was given to the app
        self._next_ping = 0.0
        self._pinged_at: float | None = None  # until that ping is answered

    def feed(self, data: bytes) -> None:
        """Take bytes of the client."""
        protocol = self._protocol
        if protocol is None:
            self._early += data
            self.connection.pause_reading()
            return
        protocol.receive_data(data)
        self._unread += len(data)
        for event in protocol.events_received():
            assert isinstance(event, Frame)  # the handshake was ``RequestCycle``'s
            self._take(event)
        self._flush()
        self._count()
        if len(self._messages) >= _MAX_QUEUED:
            self.connection.pause_reading()
        self.wake()

    def _take(self, frame: Frame) -> None:
        if frame.opcode is Opcode.PONG:
            self._pinged_at = None
        if frame.opcode in (Opcode.TEXT, Opcode.BINARY):
            self._is_text = frame.opcode is Opcode.TEXT
        elif frame.opcode is not Opcode.CONT:
            return
        self._parts.append(bytes(frame.data))
        if not frame.fin:
            return
        message, self._parts, self._unread = b"".join(self._parts), [], 0
        if not self._is_text:
            self._messages.append(message)
            return
        try:
            self._messages.append(message.decode())
        except UnicodeDecodeError as error:
            assert self._protocol is not None
            self._protocol.fail(CloseCode.INVALID_DATA, f"{error.reason} at position {error.start}")

    def _count(self) -> None:
        memory = self.connection.memory
        memory.body_size = self._unread + sum(map(len, self._messages))
        memory.count()

    def _flush(self) -> None:
        """Send what the protocol has to send."""
        assert self._protocol is not None
        transport = self.connection.transport
        for data in self._protocol.data_to_send():
            if transport.is_closing():
                return
            if data != SEND_EOF:
                self.connection.memory.write(data)
            elif transport.can_write_eof():  # the client closes first: what it has sent may not reset the connection
                transport.write_eof()
                self.connection.end_soon()
            else:
                transport.close()

    def leave(self) -> None:
        """Note that the client sends nothing more, or is gone."""
        if self._protocol is not None:
            self._protocol.receive_eof()
            if not self.connection.is_gone:
                self._flush()
                self.connection.transport.close()
        super().leave()

    async def receive(self) -> Message:
        """Return the next message, or why there is none. A client that takes no answers is asked for no further message."""
        if not self._is_announced:
            self._is_announced = True
            return {"type": "websocket.connect"}
        while True:
            if self.connection.blocked is not None and not self.has_left:
                await self.connection.blocked
            elif self._messages:
                message = self._messages.popleft()
                self._count()
                self.connection.resume_reading()
                return {"type": "websocket.receive", "text" if isinstance(message, str) else "bytes": message}
            elif self.has_left or self.is_answered or (self._protocol is not None and self._protocol.eof_sent):
                rcvd = None if self._protocol is None else self._protocol.close_rcvd
                code = CloseCode.ABNORMAL_CLOSURE if rcvd is None else rcvd.code
                self.is_answered = True
                return {"type": "websocket.disconnect", "code": int(code), "reason": rcvd.reason if rcvd else ""}
            else:
                await self.wait()

    async def send(self, message: Message) -> None:
        """Accept or deny the WebSocket, send a message, or say goodbye. Never waits, but for a denial."""
        kind, protocol = message["type"], self._protocol
        if kind.startswith(_DENIAL):
            await super().send({**message, "type": kind.removeprefix("websocket.")})
        elif self.connection.is_gone or self.connection.transport.is_closing():
            return
        elif kind == "websocket.accept":
            self._accept(message.get("subprotocol"))
        elif protocol is not None and protocol.state is State.OPEN:
            if kind == "websocket.close":
                protocol.send_close(message.get("code", CloseCode.NORMAL_CLOSURE), message.get("reason") or "")
                self.connection.end_soon()
            elif message.get("text") is not None:
                protocol.send_text(message["text"].encode())
            else:
                protocol.send_binary(message["bytes"])
            self._flush()

    def _accept(self, subprotocol: str | None) -> None:
        connection, scope = self.connection, self.scope
        chosen = None if subprotocol is None else Subprotocol(subprotocol)
        protocol = ServerProtocol(
            state=State.OPEN,  # the bytes of the handshake are not the protocol's
            select_subprotocol=lambda _, _offered: chosen,
            max_size=connection.server.limits.message,
            logger=_silent_logger(),
        )
        headers = Headers([(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]])
        target = (scope["raw_path"] + b"?" + scope["query_string"]).decode("latin-1")
        response = protocol.accept(Request(target, headers, scope["method"], f"HTTP/{scope['http_version']}"))
        connection.transport.write(response.serialize())
        if response.status_code != 101:  # noqa: PLR2004 - Switching Protocols
            connection.transport.close()
            return
        self._protocol = protocol
        self.status = 101
        self.is_started = connection.was_served = True
        self._next_ping = time.monotonic() + connection.server.limits.ping
        connection.resume_reading()
        if self._early:
            self.feed(self._early)

    def end(self) -> None:
        """Say goodbye: the server ends."""
        if self._protocol is not None and self._protocol.state is State.OPEN:
            self._protocol.send_close(CloseCode.GOING_AWAY)
            self._flush()
        self.connection.end_soon()

    def check_time(self, now: float) -> None:
        """Ping, and end the connection of a client that has not answered a ping for very long."""
        protocol, limits = self._protocol, self.connection.server.limits
        if protocol is None or protocol.state is not State.OPEN:
            return
        if self._pinged_at is None:
            if now >= self._next_ping:
                self._pinged_at, self._next_ping = now, now + limits.ping
                protocol.send_ping(b"")
        elif now - self._pinged_at > limits.patience:
            protocol.fail(CloseCode.INTERNAL_ERROR, "keepalive ping timeout")
            self.wake()
        self._flush()


def _silent_logger() -> logging.Logger:
    """Return a silent logger for the library: it would print what clients do wrong."""
    logger = logging.getLogger("vaultwire.websocket")
    logger.propagate = False
    logger.setLevel(logging.CRITICAL + 1)
    return logger
