"""Opens and closes connections of the editors' WebSocket: it limits those without a secret, and survives without free files."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from websockets.frames import Frame, Opcode
from websockets.protocol import Event
from websockets.sync.server import ServerConnection

# Between two checks whether the door is closed or a file is free again.
_POLL_SECONDS = 0.1


class Connection(ServerConnection):
    """A connection that a client cannot hold open after its goodbye. The library alone would wait without end."""

    def process_event(self, event: Event) -> None:
        """Process an event as the library does; after a goodbye, limit the wait for the end."""
        super().process_event(event)
        if isinstance(event, Frame) and event.opcode is Opcode.CLOSE:
            # It waits close_timeout seconds for the client to close its side, then closes ours.
            threading.Thread(target=self.close, name="vaultwire-editor-goodbye", daemon=True).start()


class Listener(socket.socket):
    """The listening socket. It limits connections without a secret, and goes on when no file descriptor is free.

    The library does neither: it accepts every connection, with four files for each, and ends when ``accept`` raises.
    """

    def __init__(self, listener: socket.socket, max_unauthenticated: int) -> None:
        super().__init__(listener.family, listener.type, listener.proto, listener.detach())
        self.settimeout(_POLL_SECONDS)  # a connection may be gone before it is accepted
        self._max = max_unauthenticated
        self._changed = threading.Condition()
        self._is_closed = False
        self._all: set[_Accepted] = set()
        self._unauthenticated: list[_Accepted] = []  # the oldest first

    def accept(self) -> tuple[socket.socket, Any]:
        """Return the next connection. Raises OSError only once this is closed."""
        while True:
            self._make_room()
            try:
                with _reserved_files():
                    accepted, address = super().accept()
            except OSError as error:
                with self._changed:
                    if self._is_closed:
                        raise
                if not isinstance(error, TimeoutError):  # no file descriptor is free, or no memory
                    self._drop_oldest()
                continue
            return self._keep(accepted), address

    def close(self) -> None:
        """Stop listening, and end the connections without a secret."""
        with self._changed:
            self._is_closed = True
            unauthenticated = list(self._unauthenticated)
        super().close()
        _abort(unauthenticated)

    def authenticated(self, accepted: socket.socket) -> None:
        """Note that a connection has shown its secret."""
        with self._changed:
            self._unauthenticated = [each for each in self._unauthenticated if each is not accepted]
            self._changed.notify_all()

    def abort_all(self) -> None:
        """End all connections at once."""
        with self._changed:
            connections = list(self._all)
        _abort(connections)

    def _make_room(self) -> None:
        while True:
            with self._changed:
                if len(self._unauthenticated) < self._max:
                    return
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        """End the oldest connection without a secret, and wait a moment until it is gone or a file is free."""
        with self._changed:
            oldest = self._unauthenticated.pop(0) if self._unauthenticated else None
        if oldest is not None:
            _abort([oldest])
        with self._changed:
            self._changed.wait_for(lambda: oldest is not None and oldest not in self._all, _POLL_SECONDS)

    def _keep(self, accepted: socket.socket) -> socket.socket:
        kept = _Accepted(accepted, self._forget)
        with self._changed:
            if self._is_closed:
                _abort([kept])
            self._all.add(kept)
            self._unauthenticated.append(kept)
        return kept

    def _forget(self, closed: _Accepted) -> None:
        with self._changed:
            self._all.discard(closed)
        self.authenticated(closed)


class _Accepted(socket.socket):
    """A connection's socket. It calls back when it is closed."""

    def __init__(self, accepted: socket.socket, on_close: Callable[[_Accepted], None]) -> None:
        super().__init__(accepted.family, accepted.type, accepted.proto, accepted.detach())
        self._on_close = on_close

    def close(self) -> None:
        super().close()
        self._on_close(self)


def _abort(connections: Iterable[socket.socket]) -> None:
    """Break these connections for all threads that read or write."""
    for connection in connections:
        with contextlib.suppress(OSError):  # it has ended already
            connection.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def _reserved_files() -> Iterator[None]:
    """Hold the files that the library needs for a connection, besides its socket. Raises OSError if there are none."""
    with selectors.DefaultSelector():
        one, other = socket.socketpair()
        with one, other:
            yield
