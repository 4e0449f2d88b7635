"""Composes the network doors: what answers, who may come, what goes on beside."""

from __future__ import annotations

from vaultwire.trust.limits import MAX_CALLS, MAX_MESSAGE_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from vaultwire.config import Serving
    from vaultwire.protocol.revisions import Revision
    from vaultwire.protocol.session import Session
    from vaultwire.server.handlers import Handlers
    from vaultwire.server.workers import Workers
    from vaultwire.transports import App
    from vaultwire.transports.guard import Door
    from vaultwire.transports.http_server import Limits
    from vaultwire.transports.legacy_sse import LegacySse
    from vaultwire.transports.meeting import Listener
    from vaultwire.transports.oauth import Protected
    from vaultwire.transports.observing import Observer
    from vaultwire.trust.keys import Keys
    from vaultwire.trust.tokens import Trusted

# So long calls whose clients have left may take to notice that they are to stop.
_LEFT_SECONDS = 5.0


def serve_http(
    handlers: Handlers,
    new_session: Callable[[Revision | None], Session],
    serving: Serving,
    on_ready: Callable[..., None],
    limits: Limits,
    met: Listener | None = None,
) -> None:
    """Open the network doors over these methods until told to end. Raises ConfigError where they cannot be.

    ``new_session`` returns the protocol state of a handshake to come, or of requests at a fixed revision.

    ``met`` is where programs of the same person find the server (``meeting``).

    ``on_ready`` is called with the server's URL once it answers, and with ``in_the_open=True`` if what it says can be read
    on the way.
    """
    import asyncio  # noqa: PLC0415 - only this door's own code, here and below
    from functools import partial  # noqa: PLC0415

    from vaultwire.config import ConfigError  # noqa: PLC0415
    from vaultwire.server.http.one_shot import Tending, ask  # noqa: PLC0415
    from vaultwire.server.workers import Workers  # noqa: PLC0415
    from vaultwire.transports import guard, http_server, listening, observing, openapi, rest, streamable_http  # noqa: PLC0415
    from vaultwire.vault.kept import KEPT  # noqa: PLC0415

    observer = observing.Observer(log_json=serving.log_json, metrics=serving.metrics)
    observer.take_stderr()
    try:
        tls = None if serving.tls_cert is None else listening.make_tls(serving.tls_cert, serving.tls_key)
        listener = listening.bind(serving.host, serving.port)
    except listening.StartError as error:
        raise ConfigError(str(error)) from None
    is_local = listening.is_loopback(listener)
    keys = _open_keys(serving, is_local)

    workers = Workers(
        handlers,
        most_tasks=MAX_CALLS,
        current_id=observer.current_id,
        on_crash=observer.crashed,
        has_room=KEPT.has_room,
    )
    tending = Tending(handlers)

    mcp = streamable_http.make_app(workers, new_session, guard.KEY_NAME)
    doors = [
        guard.Door("mcp", "/mcp", mcp, MAX_MESSAGE_BYTES),
        guard.Door("health", "/health", observing.answer_health, 0, needs_key=False),
        guard.Door(
            "v1",
            rest.ROOT,
            rest.Rest(partial(ask, workers), openapi.to_document, guard.KEY_NAME),
            rest.MAX_BODY_BYTES,
            for_any_page=guard.EVERYTHING if serving.any_origin else guard.READING,
            refusal_headers=rest.CORS,
        ),
    ]
    pair = _make_pair(workers, new_session) if serving.legacy_sse else None
    if pair is not None:
        doors += [
            guard.Door("sse", pair.listening, pair.listen, 0),
            guard.Door("messages", pair.posting, pair.post, MAX_MESSAGE_BYTES),
        ]
    protected = _make_protected(serving.oauth, listening.url(listener, tls=tls is not None), is_local, observer)
    if protected is not None:
        doors.append(guard.Door("oauth", protected.path, protected.show, 0, False, guard.READING))
    if serving.metrics:
        doors.append(guard.Door("metrics", "/metrics", observer.page, 0))
    rules = guard.Rules(
        names=listening.names(listener, serving.host, *serving.names),
        any_address=listening.is_any_address(listener),
        origins=serving.origins,
        key_required=serving.needs_key or not is_local or protected is not None,
        owner=keys.owner,
        token_owner=None if protected is None else protected.owner,
        challenge="" if protected is None else protected.challenge,
    )

    def begin() -> None:
        workers.collect(asyncio.get_running_loop().call_soon)
        tending.begin()
        if protected is not None:
            protected.fetch()  # so that the log says at once if that cannot work
        on_ready(listening.url(listener, tls=tls is not None), in_the_open=tls is None and not is_local)

    async def stop() -> None:
        mcp.close()
        if pair is not None:
            pair.close()

    try:
        private = None if met is None else http_server.Endpoint(_make_private_door(doors[0], observer), met.socket)
        endpoint = http_server.Endpoint(guard.Guard(doors, rules, observer), listener, tls, rest.CORS)
        http_server.run(endpoint, begin, stop, limits, private)
    finally:
        workers.end(_LEFT_SECONDS)
        tending.end()


def _make_private_door(door: Door, observer: Observer) -> App:
    """Return the door at a socket that only this person can reach. It needs no key; what comes as one tells callers apart."""
    from vaultwire.protocol.events import UNNAMED  # noqa: PLC0415 - only this door's own code, here and below
    from vaultwire.transports import guard  # noqa: PLC0415

    def owner(secret: str) -> str:
        return f"{UNNAMED}{secret[:16]}"

    rules = guard.Rules(names=("localhost",), any_address=False, origins=(), key_required=True, owner=owner)
    return guard.Guard([door], rules, observer)


def _open_keys(serving: Serving, is_local: bool) -> Keys:
    """Return the keys that open the doors. Raises ConfigError where nobody could come in."""
    from vaultwire.config import ConfigError  # noqa: PLC0415 - only this door's own code, here and below
    from vaultwire.trust.keys import Keys  # noqa: PLC0415

    keys = Keys(serving.keys)
    try:
        has_keys = bool(keys.all())
    except OSError as error:
        raise ConfigError(f"cannot read the keys in {serving.keys}: {error.strerror}") from None
    if (serving.needs_key or not is_local) and not has_keys and serving.oauth is None:
        why = "there is none" if is_local else f"other computers can reach {serving.host}"
        raise ConfigError(f"a key is needed and {why}: issue one with vaultwire keys issue NAME")
    return keys


def _make_pair(workers: Workers, new_session: Callable[[Revision | None], Session]) -> LegacySse:
    from vaultwire.transports import guard  # noqa: PLC0415 - only this door's own code
    from vaultwire.transports.legacy_sse import LegacySse  # noqa: PLC0415

    return LegacySse(workers, new_session, guard.KEY_NAME)


def _make_protected(oauth: Trusted | None, url: str, is_local: bool, observer: Observer) -> Protected | None:
    """Return what makes the server one that an issuer's tokens open, None if none do. Raises ConfigError."""
    if oauth is None:
        return None
    from vaultwire.config import ConfigError  # noqa: PLC0415 - only this door's own code, here and below
    from vaultwire.transports.oauth import Protected  # noqa: PLC0415
    from vaultwire.trust.tokens import Tokens  # noqa: PLC0415

    try:
        import cryptography  # noqa: F401, PLC0415
        import jwt  # noqa: F401, PLC0415
    except ImportError:
        raise ConfigError("--oauth-issuer needs packages that are not here: pip install 'vaultwire[oauth]'") from None
    if oauth.resource is None and not is_local:
        raise ConfigError("--oauth-issuer needs --oauth-resource where other computers can reach the server: its URL")
    resource = oauth.resource or f"{url}/mcp"
    return Protected(Tokens(oauth.issuer, oauth.audience or resource, oauth.scopes), resource, observer.tell)
