"""The editors' WebSocket: through it clients, first of all Claude Code, see what the person sees. Bytes and access only.

``server.editor_methods`` makes the messages. It listens on this computer only, a client must show the secret of the lock
file, and web pages are refused: browsers let any page open a socket to this computer. How many may connect, how slowly they
may read, and pings are ``http_server``'s.
"""

from __future__ import annotations

import asyncio
import hmac
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from urllib.parse import parse_qs

from vaultwire.editor import Mention, Selection
from vaultwire.protocol import jsonrpc
from vaultwire.server.editor_methods import Bridge, Peer
from vaultwire.transports import call_on_loop, send_whole
from vaultwire.trust.limits import MAX_EDITOR_MESSAGE_BYTES

if TYPE_CHECKING:
    from vaultwire.transports import Receive, Scope, Send

TOKEN_HEADER = "x-claude-code-ide-authorization"  # noqa: S105 - where a token stands, not one
_SUBPROTOCOL = "mcp"
_NO_CLOSE_FRAME = 1006
# Messages that are worked on at once; each connection waits for its last one. A file that hangs keeps one of them busy.
_MOST_THREADS = 16


class Bounds(NamedTuple):
    """Limits of the contract, and times in seconds.

    ``connections``: of clients. ``message``: bytes. ``look``: between two counts of the clients. ``ready``: a client does
    not hear what is sent sooner after the list of tools. ``toolless``: after this time a client that has not asked for the
    tools never does. ``quiet``: a selection must stay unchanged so long before it is sent.
    """

    connections: int = 10
    message: int = MAX_EDITOR_MESSAGE_BYTES
    look: float = 30.0
    ready: float = 0.5
    toolless: float = 1.0
    quiet: float = 0.1


class Opening(NamedTuple):
    """The request that opens a WebSocket, or asks for something else."""

    path: str
    query: dict[str, list[str]]
    headers: list[tuple[bytes, bytes]]

    def values(self, name: str) -> list[str]:
        """Return the values of a header."""
        return [value.decode("latin-1").strip(" \t") for key, value in self.headers if key == name.encode()]


class Answer(NamedTuple):
    """The answer to a request that opens no WebSocket."""

    status: int
    text: str
    kind: str = "text/plain"


class WebSocket:
    """An open WebSocket. ``send`` may be called from any thread, and never waits."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._loop = asyncio.get_running_loop()
        self.is_over = False
        self.is_dead = False
        """Whether it ended without a goodbye."""

    def send(self, text: str) -> bool:
        """Send a message; return False if the other side has left."""
        call_on_loop(self._loop, self._begin_sending, text)
        return not self.is_over

    def _begin_sending(self, text: str) -> None:
        asyncio.ensure_future(self._send({"type": "websocket.send", "text": text}))  # noqa: RUF006 - it does not wait


class Commands(Protocol):
    """Answers requests at its own path. Called on a worker thread."""

    prefix: str

    def answer(self, opening: Opening) -> Answer:
        """Return the answer to a request below ``prefix``."""


class Plugin(Protocol):
    """Has WebSockets at its own path. Called on worker threads."""

    prefix: str

    def admit(self, opening: Opening) -> Answer | None:
        """Return the refusal of a request below ``prefix``; None to let it open a WebSocket."""

    def join(self, socket: WebSocket) -> None:
        """Begin to serve such a WebSocket."""

    def receive(self, socket: WebSocket, message: str | bytes) -> None:
        """Handle a message. The next one comes when this one is done."""

    def leave(self, socket: WebSocket) -> None:
        """Note that the WebSocket has ended."""


class EditorSocket:
    """The editors' socket of one vault, as an ASGI app: ``begin`` before the first request, ``stop`` before the end."""

    def __init__(
        self,
        bridge: Bridge,
        port: int,
        token: str,
        plugin: Plugin | None = None,
        commands: Commands | None = None,
        log: Callable[[str], None] = lambda _: None,
        bounds: Bounds = Bounds(),  # noqa: B008 - a constant
    ) -> None:
        """``port`` of this computer; ``log`` takes the contract's lines about what goes on."""
        self._bridge = bridge
        self._token = token.encode()
        self._log = log
        self._bounds = bounds
        self._hosts = [[f"{name}:{port}"] for name in ("127.0.0.1", "localhost", "[::1]")]
        self._plugin = plugin
        self._commands = commands
        self._peers: dict[WebSocket, Peer | None] = {}  # of clients; None until it has joined
        self._ready_timers: dict[Peer, asyncio.TimerHandle] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._news: Selection | None = None
        self._lock = threading.Lock()  # for the news
        self._threads = ThreadPoolExecutor(_MOST_THREADS, "vaultwire-editor")
        self._end_listening: Callable[[], None] = lambda: None

    def begin(self) -> None:
        """Tell clients from now on what the person sees. On the event loop."""
        self._loop = asyncio.get_running_loop()
        self._end_listening = self._bridge.state.listen(self._note, self._mention)
        self._timers["look"] = self._loop.call_later(self._bounds.look, self._count_clients)

    async def stop(self) -> None:
        """Tell no more, and withdraw all proposals."""
        self._end_listening()
        for timer in (*self._timers.values(), *self._ready_timers.values()):
            timer.cancel()
        await self._run(self._bridge.proposals.withdraw)

    def end(self) -> None:
        """Wait for the last messages, once the connections have ended."""
        self._threads.shutdown()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or serve a WebSocket until it ends."""
        opening = Opening(scope["path"], parse_qs(scope["query_string"].decode("latin-1")), scope["headers"])
        plugin, commands, user = self._plugin, self._commands, None
        is_ours = opening.values("host") in self._hosts  # web pages of other names could lead here
        if is_ours and commands is not None and opening.path.startswith(commands.prefix):
            answer: Answer | None = await self._run(commands.answer, opening)
        elif is_ours and plugin is not None and opening.path.startswith(plugin.prefix):
            user, answer = plugin, await self._run(plugin.admit, opening)
        else:
            answer = self._refusal(opening, is_ours=is_ours)
        if answer is None and scope["type"] != "websocket":
            answer = Answer(426, "This is a WebSocket\n")
        if answer is not None:
            await _send_answer(scope, send, answer)
            return
        socket = WebSocket(send)
        if user is None:
            self._peers[socket] = None  # before anything else can run, so that there are never too many
        try:
            await send(
                {
                    "type": "websocket.accept",
                    "subprotocol": _SUBPROTOCOL if _SUBPROTOCOL in scope["subprotocols"] else None,
                }
            )
            await self._serve(user or self, socket, receive)
        finally:
            self._peers.pop(socket, None)

    async def _serve(self, user: Plugin | EditorSocket, socket: WebSocket, receive: Receive) -> None:
        await receive()  # websocket.connect
        await self._run(user.join, socket)
        try:
            while (message := await receive())["type"] == "websocket.receive":
                await self._run(user.receive, socket, message.get("text") or message.get("bytes") or "")
            socket.is_dead = message["code"] == _NO_CLOSE_FRAME
        finally:
            socket.is_over = True
            await self._run(user.leave, socket)

    def _run(self, function: Callable[..., Any], *arguments: Any) -> asyncio.Future[Any]:
        """Run on a worker thread what may wait."""
        return self._loop.run_in_executor(self._threads, function, *arguments)

    def _refusal(self, opening: Opening, *, is_ours: bool) -> Answer | None:
        if not is_ours:
            return Answer(403, "This is not the server of that host\n")
        if opening.values("origin"):
            return Answer(403, "Web pages may not connect\n")
        shown = opening.values(TOKEN_HEADER)
        if not shown:
            return Answer(401, f"Missing authentication header: {TOKEN_HEADER}\n")
        if len(shown) > 1 or not hmac.compare_digest(shown[0].encode(), self._token):
            return Answer(401, "Invalid authentication token\n")
        if len(self._peers) >= self._bounds.connections:
            return Answer(503, "Connection limit reached\n")
        self._log("Authentication successful")
        return None

    # ------------------------------------------------------------------ clients, on worker threads

    def join(self, socket: WebSocket) -> None:
        """Begin to serve a client."""

        def send(message: dict[str, Any]) -> None:
            socket.send(self._to_text(message))

        def on_ready() -> None:
            seconds = self._bounds.ready if peer.lists_tools else self._bounds.toolless
            call_on_loop(self._loop, self._make_ready_later, socket, peer, seconds)

        self._peers[socket] = peer = Peer(send, on_ready)
        self._bridge.join(peer)
        self._log("Client connected")

    def receive(self, socket: WebSocket, message: str | bytes) -> None:
        """Handle a client's message."""
        peer = self._peers[socket]
        assert peer is not None
        self._log(f"Raw data received: {len(message)} characters")
        method = self._bridge.receive(peer, message.encode() if isinstance(message, str) else message)
        self._log(f"Parsed message: {method}" if method else "Parsed message")

    def leave(self, socket: WebSocket) -> None:
        """Forget a client."""
        peer = self._peers[socket]
        assert peer is not None
        if socket.is_dead:
            self._log("Removing dead connection")
        self._bridge.leave(peer)
        self._log("Client disconnected")

    def _to_text(self, message: dict[str, Any]) -> str:
        """Return a message as text; an error instead of an answer that is too large."""
        frame = jsonrpc.to_frame(message)[:-1]  # the line's end
        if len(frame) > self._bounds.message:
            too_large = f"The answer has {len(frame)} bytes, and a message may have {self._bounds.message}"
            frame = jsonrpc.to_frame(jsonrpc.error_message(message.get("id"), jsonrpc.INTERNAL_ERROR, too_large))
        return frame.decode()

    # ------------------------------------------------------------------ what clients are told

    def _make_ready_later(self, socket: WebSocket, peer: Peer, seconds: float) -> None:
        earlier = self._ready_timers.pop(peer, None)
        if earlier is not None:
            earlier.cancel()
        if not socket.is_over:
            self._ready_timers[peer] = self._loop.call_later(seconds, self._begin_telling, socket, peer)

    def _begin_telling(self, socket: WebSocket, peer: Peer) -> None:
        del self._ready_timers[peer]
        if not socket.is_over:
            self._run(self._make_ready, peer)

    def _make_ready(self, peer: Peer) -> None:
        for _ in range(self._bridge.make_ready(peer)):
            self._log("Sent at-mention")

    def _note(self, selection: Selection) -> None:
        """Tell clients a selection once it has not changed for a moment: a person who moves through a note makes many."""
        with self._lock:
            self._news = selection
        call_on_loop(self._loop, self._tell_later)

    def _tell_later(self) -> None:
        if "news" in self._timers:
            self._timers["news"].cancel()
        self._timers["news"] = self._loop.call_later(self._bounds.quiet, self._tell_news)

    def _tell_news(self) -> None:
        with self._lock:
            latest, self._news = self._news, None
        if latest is not None:
            self._bridge.tell_selection(latest)

    def _mention(self, mention: Mention) -> None:
        self._tell_news()  # clients get the selection first that the person made first
        if self._bridge.tell_mention(mention):
            self._log("Sent at-mention")

    def _count_clients(self) -> None:
        self._log(f"Health check: {len(self._peers)} active connections")
        self._timers["look"] = self._loop.call_later(self._bounds.look, self._count_clients)


async def _send_answer(scope: Scope, send: Send, answer: Answer) -> None:
    """Send an answer that is not cached and may do nothing in a browser."""
    headers = [
        (b"content-type", f"{answer.kind}; charset=utf-8".encode()),
        (b"cache-control", b"no-store"),
        (b"content-security-policy", b"default-src 'none'"),
        (b"referrer-policy", b"no-referrer"),
        (b"x-content-type-options", b"nosniff"),
    ]
    if answer.status == 426:  # noqa: PLR2004 - RFC 9110, 15.5.22
        headers.append((b"upgrade", b"websocket"))
    prefix = "websocket." if scope["type"] == "websocket" else ""

    async def send_as(message: dict[str, Any]) -> None:
        await send({**message, "type": f"{prefix}{message['type']}"})

    await send_whole(send_as, answer.status, headers, answer.text.encode())
