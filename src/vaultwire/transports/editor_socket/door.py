"""The editors' WebSocket: through it clients, first of all Claude Code, see what the person sees. Bytes and access only.

``server.editors.methods`` makes the messages. The door listens on this computer only, a client must show the secret of the
lock file, and web pages are refused: browsers let any page open a socket to this computer.
"""

from __future__ import annotations

import hmac
import logging
import threading
from collections.abc import Callable, Sequence
from http import HTTPStatus
from socket import socket
from typing import Any, NamedTuple, Protocol

from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed, ConnectionClosedError
from websockets.frames import CloseCode
from websockets.http11 import Request, Response
from websockets.sync.server import Server, ServerConnection, serve
from websockets.typing import Subprotocol

from vaultwire.editor.state import Mention, Selection
from vaultwire.protocol import jsonrpc
from vaultwire.server.editors.methods import Bridge, Peer
from vaultwire.transports.editor_socket.listener import Connection, Listener

TOKEN_HEADER = "x-claude-code-ide-authorization"  # noqa: S105 - where a token stands, not one
_SUBPROTOCOL = Subprotocol("mcp")
# Messages that are read ahead. Each may have the largest size.
_MAX_QUEUED = 4


class Bounds(NamedTuple):
    """The limits of the door; the contract's, where it has them. Times are in seconds.

    ``connections``: of clients. ``unauthenticated``: connections that have shown no secret; one more ends the oldest.
    ``message``: bytes in either direction: a note of the largest size, also as JSON that escapes much of it.
    ``ping``: between two pings. ``opening``: for a secret to be shown. ``patience``: for the answer to a ping. A dead
    process is noticed at once, but a suspended one does not answer either, and Claude Code, once cut off, never asks
    its new connection for diagnostics. ``sending``: for a client to read what is sent, while others wait.
    ``closing``: for a goodbye. ``ready``: a client does not hear what is sent sooner after the list of tools.
    ``toolless``: after this time a client that has not asked for the tools never does. ``quiet``: a selection must
    stay unchanged so long before it is sent.
    """

    connections: int = 10
    unauthenticated: int = 16
    message: int = 40 << 20
    ping: float = 30.0
    opening: float = 10.0
    patience: float = 3600.0
    sending: float = 10.0
    closing: float = 1.0
    ready: float = 0.5
    toolless: float = 1.0
    quiet: float = 0.1


class Pages(Protocol):
    """Other users of the same port, below a path prefix: the person's pages, the plugin, commands."""

    prefix: str

    def admit(self, request: Request) -> Response | None:
        """Return the answer to a request below ``prefix``; None to let it open a WebSocket."""

    def serve(self, connection: ServerConnection) -> None:
        """Serve one such WebSocket until it is closed."""


def hosts(port: int) -> set[str]:
    """Return the Host headers of requests to this computer."""
    return {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}


class EditorSocket:
    """The door of one vault. ``run`` serves until ``close``."""

    def __init__(
        self,
        bridge: Bridge,
        listener: socket,
        token: str,
        pages: Sequence[Pages],
        log: Callable[[str], None] = lambda _: None,
        bounds: Bounds = Bounds(),  # noqa: B008 - a constant
    ) -> None:
        """``listener`` is bound to this computer; ``log`` takes the contract's lines about what goes on."""
        self._bridge = bridge
        self._token = token.encode()
        self._log = log
        self._bounds = bounds
        port = listener.getsockname()[1]
        self._hosts = hosts(port)
        self._pages = pages
        self._connections: set[ServerConnection] = set()
        self._joining = threading.Lock()
        self._changed = threading.Condition()
        self._news: Selection | None = None
        self._began, self._ended = threading.Event(), threading.Event()
        self._listener = Listener(listener, bounds.unauthenticated)
        self._server: Server = serve(
            self._serve,
            sock=self._listener,
            compression=None,  # on one computer it takes time and saves nothing
            select_subprotocol=lambda _, offered: _SUBPROTOCOL if _SUBPROTOCOL in offered else None,
            process_request=self._admit,
            server_header=None,
            open_timeout=bounds.opening,
            ping_interval=bounds.ping,
            ping_timeout=bounds.patience,
            close_timeout=bounds.closing,
            max_size=bounds.message,
            max_queue=_MAX_QUEUED,
            logger=_silent_logger(),
            create_connection=Connection,
        )

    def run(self) -> None:
        """Serve until ``close``."""
        self._began.set()
        end_listening = self._bridge.state.listen(self._note, self._mention)
        beside = [
            threading.Thread(target=work, name=f"vaultwire-editor-{name}", daemon=True)
            for name, work in (("news", self._tell_news), ("health", self._look_after))
        ]
        for thread in beside:
            thread.start()
        try:
            self._server.serve_forever()
        finally:
            end_listening()
            self._ended.set()
            with self._changed:
                self._changed.notify_all()
            for thread in beside:
                thread.join()

    def close(self) -> None:
        """Withdraw all proposals, say goodbye to every client, and end ``run``. Safe to call from any thread.

        A client that does not read or does not answer the goodbye delays this by at most ``closing`` seconds.
        """
        self._ended.set()
        abort_timer = threading.Timer(self._bounds.closing, self._listener.abort_all)
        abort_timer.start()
        self._bridge.proposals.withdraw()
        self._listener.close()
        if self._began.is_set():  # else the library would wait for the start
            self._server.shutdown()
        abort_timer.cancel()

    # ------------------------------------------------------------------ access

    def _admit(self, connection: ServerConnection, request: Request) -> Response | None:
        """Return the answer to a request, None to accept the connection."""
        headers = request.headers
        pages = self._pages_of(request)
        if pages is not None and self._is_our_host(headers):
            response = pages.admit(request)
        else:
            refusal = self._refusal(headers)
            response = None if refusal is None else connection.respond(*refusal)
            if refusal is None:
                self._log("Authentication successful")
        if response is None:
            self._listener.authenticated(connection.socket)
        return response

    def _refusal(self, headers: Headers) -> tuple[HTTPStatus, str] | None:
        if not self._is_our_host(headers):
            return HTTPStatus.FORBIDDEN, "This is not the server of that host\n"
        if "Origin" in headers:
            return HTTPStatus.FORBIDDEN, "Web pages may not connect\n"
        shown = headers.get_all(TOKEN_HEADER)
        if not shown:
            return HTTPStatus.UNAUTHORIZED, f"Missing authentication header: {TOKEN_HEADER}\n"
        if len(shown) > 1 or not hmac.compare_digest(shown[0].encode(), self._token):
            return HTTPStatus.UNAUTHORIZED, "Invalid authentication token\n"
        if len(self._connections) >= self._bounds.connections:
            return HTTPStatus.SERVICE_UNAVAILABLE, "Connection limit reached\n"
        return None

    def _pages_of(self, request: Request) -> Pages | None:
        return next((pages for pages in self._pages if request.path.startswith(pages.prefix)), None)

    def _is_our_host(self, headers: Headers) -> bool:
        """Tell whether the Host header names this computer: web pages of other names could lead here."""
        return headers.get_all("Host") in [[host] for host in self._hosts]

    # ------------------------------------------------------------------ connections

    def _serve(self, connection: ServerConnection) -> None:
        connection.socket.settimeout(self._bounds.sending)
        pages = None if connection.request is None else self._pages_of(connection.request)
        if pages is not None:
            pages.serve(connection)
            return
        with self._joining:
            is_full = len(self._connections) >= self._bounds.connections  # several may have been accepted at once
            if not is_full:
                self._connections.add(connection)
        if is_full:
            connection.close(CloseCode.TRY_AGAIN_LATER, "Connection limit reached")
            return
        self._log("Client connected")
        try:
            self._talk(connection)
        except ConnectionClosedError as error:
            if error.rcvd is None:  # without a goodbye
                self._log("Removing dead connection")
        finally:
            self._connections.discard(connection)
            self._log("Client disconnected")

    def _talk(self, connection: ServerConnection) -> None:
        timer: threading.Timer | None = None

        def send(message: dict[str, Any]) -> None:
            try:
                connection.send(self._to_frame(message), text=True)
            except ConnectionClosed:
                return

        def on_ready() -> None:
            nonlocal timer
            if timer is not None:
                timer.cancel()
            seconds = self._bounds.ready if peer.lists_tools else self._bounds.toolless
            timer = threading.Timer(seconds, self._make_ready, (peer,))
            timer.daemon = True
            timer.start()

        peer = Peer(send, on_ready)
        self._bridge.join(peer)
        try:
            for frame in connection:
                self._log(f"Raw data received: {len(frame)} characters")
                said = self._bridge.receive(peer, frame.encode() if isinstance(frame, str) else frame)
                self._log(f"Parsed message: {said}" if said else "Parsed message")
        finally:
            if timer is not None:
                timer.cancel()
            self._bridge.leave(peer)

    def _to_frame(self, message: dict[str, Any]) -> bytes:
        """Return the frame of a message; an error instead of an answer that is too large."""
        frame = jsonrpc.to_frame(message)[:-1]  # the line's end
        if len(frame) <= self._bounds.message:
            return frame
        too_large = f"The answer has {len(frame)} bytes, and a message may have {self._bounds.message}"
        return jsonrpc.to_frame(jsonrpc.error_message(message.get("id"), jsonrpc.INTERNAL_ERROR, too_large))

    # ------------------------------------------------------------------ what clients are told

    def _note(self, selection: Selection) -> None:
        with self._changed:
            self._news = selection
            self._changed.notify_all()

    def _mention(self, mention: Mention) -> None:
        with self._changed:
            latest, self._news = self._news, None
        if latest is not None:  # clients get the selection first that the person made first
            self._bridge.tell_selection(latest)
        if self._bridge.tell_mention(mention):
            self._log("Sent at-mention")

    def _make_ready(self, peer: Peer) -> None:
        for _ in range(self._bridge.make_ready(peer)):
            self._log("Sent at-mention")

    def _tell_news(self) -> None:
        """Tell clients a selection once it has not changed for a moment: a person who moves through a note makes many."""
        while not self._ended.is_set():
            with self._changed:
                self._changed.wait_for(lambda: self._news is not None or self._ended.is_set())
                latest = None
                while latest is not self._news:
                    latest = self._news
                    self._changed.wait_for(lambda was=latest: self._news is not was, timeout=self._bounds.quiet)  # type: ignore[misc]
                self._news = None
            if latest is not None:
                self._bridge.tell_selection(latest)

    def _look_after(self) -> None:
        while not self._ended.wait(self._bounds.ping):
            self._log(f"Health check: {len(self._connections)} active connections")


def _silent_logger() -> logging.Logger:
    """Return a silent logger for the library: it would print tracebacks when clients go away."""
    logger = logging.getLogger("vaultwire.editor_socket")
    logger.propagate = False
    logger.setLevel(logging.CRITICAL + 1)
    return logger
