"""An https server on this computer that sends what a test says, byte for byte."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Answer = Callable[[str], Iterator[bytes]]


class FileServer:
    """A server with a certificate for localhost. ``asked`` are the requests' first lines and Host headers."""

    def __init__(self, certificate: tuple[str, str], answer: Answer) -> None:
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.load_cert_chain(*certificate)
        self._answer = answer
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self.asked: list[str] = []
        self.connections = 0

    def serve(self) -> None:
        while True:
            try:
                plain, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            try:
                with self._tls.wrap_socket(plain, server_side=True) as connection:
                    head = b""
                    while b"\r\n\r\n" not in head and (piece := connection.recv(4096)):
                        head += piece
                    lines = head.decode().split("\r\n")
                    self.asked.append(lines[0])
                    for piece in self._answer(lines[0].split(" ")[1]):
                        connection.sendall(piece)
            except OSError:
                plain.close()

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


@contextmanager
def serving_files(certificate: tuple[str, str], answer: Answer) -> Iterator[FileServer]:
    server = FileServer(certificate, answer)
    thread = threading.Thread(target=server.serve)
    thread.start()
    try:
        yield server
    finally:
        server.close()
        thread.join()


def response(body: bytes, media_type: str = "image/png", status: str = "200 OK", *headers: str) -> bytes:
    """Return a whole HTTP response."""
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {media_type}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body
