"""``serve``: the ASGI app of a run on our own HTTP server, at an address of this computer."""

from __future__ import annotations

from collections.abc import Callable

from vaultwire.app.http_app import Address, HttpApp
from vaultwire.app.network_config import NetworkConfig
from vaultwire.config import ConfigError
from vaultwire.desk.http_endpoint import DeskEndpoint
from vaultwire.desk.running import Announcement
from vaultwire.protocol.revisions import Revision
from vaultwire.protocol.session import Session
from vaultwire.server.handlers import Handlers
from vaultwire.transports import http_server, listening, observing, rest
from vaultwire.transports.http_server import Limits


def serve_http(
    handlers: Handlers,
    new_session: Callable[[Revision | None], Session],
    serving: NetworkConfig,
    on_ready: Callable[..., None],
    limits: Limits,
    desk: tuple[DeskEndpoint | None, Callable[[str], Announcement] | None] = (None, None),
) -> None:
    """Serve these methods until told to end. Raises ConfigError where that cannot be.

    ``new_session``: as for ``HttpApp``.
    ``desk`` is the page for the person, and what makes ``vaultwire desk`` find it at a URL.
    ``on_ready`` is called with the server's URL once it answers, and with ``in_the_open=True`` if others can read what it
    says on the way.
    """
    observer = observing.Observer(log_json=serving.log_json, metrics=serving.metrics)
    observer.take_stderr()
    try:
        tls = None if serving.tls_cert is None else listening.make_tls(serving.tls_cert, serving.tls_key)
        listener = listening.bind(serving.host, serving.port)
    except listening.StartError as error:
        raise ConfigError(str(error)) from None
    address = Address(
        listening.names(listener, serving.host, *serving.allow_host),
        listening.is_any_address(listener),
        listening.is_loopback(listener),
        listening.url(listener, tls=tls is not None),
    )
    page, announce = desk
    announcement = None if announce is None or address.url is None else announce(address.url)
    app = HttpApp(handlers, new_session, serving, address, observer, page)

    def begin() -> None:
        app.open()
        if announcement is not None:
            announcement.begin()
        on_ready(address.url, in_the_open=tls is None and not address.is_local)

    try:
        endpoint = http_server.Endpoint(app, listener, tls, rest.CORS)
        http_server.run(endpoint, begin, app.end_streams, limits)
    finally:
        if announcement is not None:
            announcement.end()
        app.close()
