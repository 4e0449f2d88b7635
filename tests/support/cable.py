"""The way to a server, which a test cuts: connections are passed on up to a number, and broken off after it."""

from __future__ import annotations

import socket
import threading
from types import TracebackType
from typing import Self


class Cable:
    """Passes connections on to a port of this computer. ``lets_through``: how many; all others are ended at once."""

    def __init__(self, port: int, lets_through: int) -> None:
        self._to = port
        self.lets_through = lets_through
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept)]
        self._connections: list[socket.socket] = []

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join()
        for connection in self._connections:
            connection.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            if self.lets_through == 0:
                near.close()
                continue
            self.lets_through -= 1
            far = socket.create_connection(("127.0.0.1", self._to))
            self._connections += (near, far)
            for source, target in ((near, far), (far, near)):
                self._threads.append(threading.Thread(target=_pass_on, args=(source, target)))
                self._threads[-1].start()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:  # the other side has ended the connection
        pass
