"""How connections come to the editors' socket and how they go: how many may wait at the door, when files run out, the end."""

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

# Between two looks whether the door is closed or a file is free again.
_LOOK_SECONDS = 0.1


class Connection(ServerConnection):
    """A connection that a client cannot hold open after it has said goodbye: the library waits without end for that."""

    def process_event(self, event: Event) -> None:
        """Take what has come, as the library does; after a goodbye, bound the wait for the end."""
        super().process_event(event)
        if isinstance(event, Frame) and event.opcode is Opcode.CLOSE:
            # Waits for the client's end of the connection for close_timeout seconds, then closes ours.
            threading.Thread(target=self.close, name="vaultwire-editor-goodbye", daemon=True).start()


class Listener(socket.socket):
    """The socket that listens: it bounds those who have shown no secret, and lives on when files have run out.

    The library does neither: it accepts every connection, four files for each, and its loop ends when ``accept`` raises.
    """

    def __init__(self, listener: socket.socket, most_strangers: int) -> None:
        super().__init__(listener.family, listener.type, listener.proto, listener.detach())
        self.settimeout(_LOOK_SECONDS)  # what the library has seen may be gone when it is accepted
        self._most = most_strangers
        self._changed = threading.Condition()
        self._is_closed = False
        self._all: set[_Accepted] = set()
        self._strangers: list[_Accepted] = []  # the oldest first

    def accept(self) -> tuple[socket.socket, Any]:
        """Return the next connection. Raises OSError once this is closed, and not before."""
        while True:
            self._make_room()
            try:
                with _reserved_files():
                    accepted, address = super().accept()
            except OSError as error:
                with self._changed:
                    if self._is_closed:
                        raise
                if not isinstance(error, TimeoutError):  # no file is left, or no memory
                    self._drop_oldest()
                continue
            return self._keep(accepted), address

    def close(self) -> None:
        """Listen no more, and end those who have shown nothing."""
        with self._changed:
            self._is_closed = True
            strangers = list(self._strangers)
        super().close()
        _abort(strangers)

    def admit(self, accepted: socket.socket) -> None:
        """Take note that a connection has shown its secret."""
        with self._changed:
            self._strangers = [each for each in self._strangers if each is not accepted]
            self._changed.notify_all()

    def abort_all(self) -> None:
        """End all connections, though something waits for them."""
        with self._changed:
            connections = list(self._all)
        _abort(connections)

    def _make_room(self) -> None:
        while True:
            with self._changed:
                if len(self._strangers) < self._most:
                    return
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        """End the oldest of those who have shown nothing, and wait a moment: until it is gone, or for a file to be free."""
        with self._changed:
            oldest = self._strangers.pop(0) if self._strangers else None
        if oldest is not None:
            _abort([oldest])
        with self._changed:
            self._changed.wait_for(lambda: oldest is not None and oldest not in self._all, _LOOK_SECONDS)

    def _keep(self, accepted: socket.socket) -> socket.socket:
        kept = _Accepted(accepted, self._forget)
        with self._changed:
            if self._is_closed:
                _abort([kept])
            self._all.add(kept)
            self._strangers.append(kept)
        return kept

    def _forget(self, closed: _Accepted) -> None:
        with self._changed:
            self._all.discard(closed)
        self.admit(closed)


class _Accepted(socket.socket):
    """A connection's socket, which says when it is closed."""

    def __init__(self, accepted: socket.socket, on_close: Callable[[_Accepted], None]) -> None:
        super().__init__(accepted.family, accepted.type, accepted.proto, accepted.detach())
        self._on_close = on_close

    def close(self) -> None:
        super().close()
        self._on_close(self)


def _abort(connections: Iterable[socket.socket]) -> None:
    """End these connections for all threads that read from them or write to them."""
    for connection in connections:
        with contextlib.suppress(OSError):  # it has ended
            connection.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def _reserved_files() -> Iterator[None]:
    """Hold as many files as the library needs for a connection besides its socket. Raises OSError if there are none."""
    with selectors.DefaultSelector():
        one, other = socket.socketpair()
        with one, other:
            yield
