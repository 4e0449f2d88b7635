"""The ASGI app of one run: guard and doors over one set of methods, and the lifespan of what works beside them.

Not the server below it: ``network`` puts it on our own, ``vaultwire.app.asgi`` hands it to any other.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import NamedTuple

from vaultwire.config import ConfigError
from vaultwire.desk.http_endpoint import PATH as DESK_PATH
from vaultwire.server.http.one_shot import IndexUpdater, ask, at_process_end
from vaultwire.server.workers import Workers
from vaultwire.transports import guard, observing, openapi, rest, streamable_http
from vaultwire.trust.keys import Keys
from vaultwire.trust.limits import MAX_CALLS, MAX_MESSAGE_BYTES
from vaultwire.trust.tokens import Tokens
from vaultwire.vault.caller import MEMORY_BUDGET

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vaultwire.app.serving import NetworkConfig
    from vaultwire.config import Options
    from vaultwire.desk.http_endpoint import DeskEndpoint
    from vaultwire.protocol.revisions import Revision
    from vaultwire.protocol.session import Session
    from vaultwire.server.handlers import Handlers
    from vaultwire.transports import Message, Receive, Scope, Send
    from vaultwire.transports.oauth import Protected
    from vaultwire.trust.tokens import Trusted

    class AsgiOptions(Options, total=False):
        """Keywords of ``vaultwire.app.asgi``: the options of ``vaultwire serve``, without those of a server.

        ``oauth`` stands for ``--oauth-...``, ``limits`` for what clients are held to (``--audit``, ``--rate``, ...).
        """

        allow_host: str | Sequence[str]
        allow_origin: str | Sequence[str]
        cors_any_origin: bool
        require_key: bool
        oauth: Trusted | None
        metrics: bool
        log_json: bool
        desk: bool


# How long calls whose clients have left may take to notice that they are to stop.
_LEFT_SECONDS = 5.0


class Address(NamedTuple):
    """Where clients reach the app."""

    names: frozenset[str]  # that it answers to, as ``Host`` headers spell them, without ports
    any_address: bool  # it also answers to every address
    is_local: bool  # only this computer can reach it, so that no key is needed unless one was asked for
    url: str | None  # None where only the clients know it


class HttpApp:
    """An ASGI app. On a server without lifespan events it opens with the first request and closes with the process."""

    def __init__(
        self,
        handlers: Handlers,
        new_session: Callable[[Revision | None], Session],
        network: NetworkConfig,
        address: Address,
        observer: observing.Observer,
        desk: DeskEndpoint | None = None,
    ) -> None:
        """``desk`` is the page for the person, None for none.

        ``new_session`` returns the protocol state of a handshake to come, or of requests at a fixed revision.

        Raises ConfigError where nobody could come in, or tokens cannot be checked.
        """
        keys = _open_keys(network, is_local=address.is_local)
        self._observer = observer
        self._desk = desk
        self._updater = IndexUpdater(handlers)
        self._is_open = False
        self._workers = Workers(
            handlers,
            most_tasks=MAX_CALLS,
            current_id=observer.current_id,
            on_crash=observer.crashed,
            has_room=MEMORY_BUDGET.has_room,
        )
        self._mcp = streamable_http.StreamableHttp(self._workers, new_session, guard.KEY_NAME)
        self._protected = _make_protected(network.oauth, address, observer)
        rules = guard.Rules(
            names=address.names,
            any_address=address.any_address,
            origins=network.allow_origin,
            key_required=network.require_key or not address.is_local or self._protected is not None,
            owner=keys.owner,
            token_owner=None if self._protected is None else self._protected.owner,
            challenge="" if self._protected is None else self._protected.challenge,
        )
        self._guard = guard.Guard(self._doors(network), rules, observer)

    def _doors(self, network: NetworkConfig) -> list[guard.Door]:
        doors = [
            guard.Door("mcp", "/mcp", self._mcp, MAX_MESSAGE_BYTES),
            guard.Door("health", "/health", observing.answer_health, 0, needs_key=False),
            # Clients look here for what a server may have. A 401 would say that it is there (RFC 8615).
            guard.Door("", "/.well-known", guard.answer_nothing, 0, False, guard.READING, refusal_headers=rest.CORS),
            guard.Door(
                "v1",
                rest.ROOT,
                rest.Rest(partial(ask, self._workers), openapi.to_document, guard.KEY_NAME),
                rest.MAX_BODY_BYTES,
                for_any_page=guard.EVERYTHING if network.cors_any_origin else guard.READING,
                refusal_headers=rest.CORS,
            ),
        ]
        if self._desk is not None:
            doors.append(guard.Door("desk", DESK_PATH, self._desk, MAX_MESSAGE_BYTES, needs_key=False))
        if self._protected is not None:
            doors.append(guard.Door("oauth", self._protected.path, self._protected.show, 0, False, guard.READING))
        if network.metrics:
            doors.append(guard.Door("metrics", "/metrics", self._observer.page, 0))
        return doors

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or the lifespan of the app."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        if not self._is_open:
            self.open()
            at_process_end(self.close)
        await self._guard(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        """Open and close when the server says so (ASGI, "Lifespan Protocol")."""
        while True:
            event = (await receive())["type"]
            if event == "lifespan.startup":
                self.open()
            else:
                await self.end_streams()
                await asyncio.to_thread(self.close)
            done: Message = {"type": f"{event}.complete"}
            await send(done)
            if event == "lifespan.shutdown":
                return

    def open(self) -> None:
        """Begin to open the vault and to keep its index up to date. On the event loop, before the first request."""
        self._is_open = True
        self._updater.begin()
        if self._protected is not None:
            self._protected.fetch()  # so that the log says at once if that cannot work

    async def end_streams(self) -> None:
        """End what would never end by itself. On the event loop, when no more requests come."""
        self._mcp.close()
        if self._desk is not None:
            self._desk.close()

    def close(self) -> None:
        """End the calls in flight, and close the vault with all that is to be written. Once the clients are gone."""
        self._workers.end(_LEFT_SECONDS)
        self._updater.end()


def _open_keys(network: NetworkConfig, *, is_local: bool) -> Keys:
    """Return the keys that open the doors. Raises ConfigError where nobody could come in."""
    keys = Keys(network.keys)
    try:
        has_keys = bool(keys.all())
    except OSError as error:
        raise ConfigError(f"cannot read the keys in {network.keys}: {error.strerror}") from None
    if (network.require_key or not is_local) and not has_keys and network.oauth is None:
        why = "there is none" if is_local else f"other computers can reach {network.host}"
        raise ConfigError(f"a key is needed and {why}: issue one with vaultwire keys issue NAME")
    return keys


def _make_protected(oauth: Trusted | None, address: Address, observer: observing.Observer) -> Protected | None:
    """Return what has an issuer's tokens open the server, None if none do. Raises ConfigError."""
    if oauth is None:
        return None
    from vaultwire.transports.oauth import Protected  # noqa: PLC0415 - only where it is asked for, here and below

    try:
        import cryptography  # noqa: F401, PLC0415
        import jwt  # noqa: F401, PLC0415
    except ImportError:
        from vaultwire.installation import how_to_add  # noqa: PLC0415

        raise ConfigError(
            f"--oauth-issuer needs packages that are not installed. To add them: {how_to_add('oauth')}"
        ) from None
    if oauth.resource is None and (address.url is None or not address.is_local):
        raise ConfigError("--oauth-issuer needs --oauth-resource where other computers can reach the server: its URL")
    resource = oauth.resource or f"{address.url}/mcp"
    return Protected(Tokens(oauth.issuer, oauth.audience or resource, oauth.scopes), resource, observer.tell)
