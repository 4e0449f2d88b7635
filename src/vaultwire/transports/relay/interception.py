"""The dispatcher's stream without the frames that another server answers. Which frames those are, its subclasses decide."""

from __future__ import annotations

import threading

from vaultwire.protocol import jsonrpc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultwire.protocol.json_types import Json
    from vaultwire.server.dispatcher import Entry, Stream
    from vaultwire.transports.relay.forwarder import Forwarder


class InterceptedStream:
    """A ``Stream`` for the dispatcher. It forwards some of the client's frames to a server and keeps the others.

    After the switch (``_is_switched``) it keeps all frames. The switch happens once, under ``_switching``.
    """

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._writing = threading.Lock()
        self._switching = threading.Lock()
        self._is_switched = False
        self._forwarder: Forwarder | None = None
        self._entry: Entry | None = None

    def attach(self, entry: Entry) -> None:
        """Take the dispatcher's second way in, for frames that the server did not answer."""
        self._entry = entry

    def receive(self) -> bytes | None:
        """Wait for the next frame for the dispatcher; None when the client is done and nothing is in flight."""
        while (frame := self._stream.receive()) is not None:
            if not self._intercept(frame):
                return frame
        self.end()
        return None

    def send(self, frame: bytes) -> None:
        """Send the client a frame, of the server or of the dispatcher."""
        with self._writing:
            self._stream.send(frame)

    def end(self) -> None:
        """Finish what is in flight to the server."""
        if self._forwarder is not None:
            self._forwarder.end()

    def _intercept(self, frame: bytes) -> bool:
        """Forward a frame; False if the dispatcher is to handle it."""
        if self._is_switched and (self._forwarder is None or self._forwarder.is_idle):
            return False
        try:
            message = jsonrpc.parse_json(frame)
            if isinstance(message, dict):
                jsonrpc.check_message(message)
        except jsonrpc.MessageError:  # the session answers with the error
            return False
        return self._forward(frame, message)

    def _forward(self, frame: bytes, message: Json) -> bool:
        """Forward a message, which is sound JSON-RPC unless it is a list; False if the dispatcher is to handle it."""
        raise NotImplementedError

    def _dispatch(self, frame: bytes, *, is_known: bool = False) -> None:
        """Have the dispatcher handle a frame. ``is_known``: it only takes note of it."""
        assert self._entry is not None  # the dispatcher attaches before the first frame
        self._entry(frame, is_known)
