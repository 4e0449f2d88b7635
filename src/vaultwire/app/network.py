"""``serve``: the ASGI app of a run on our own HTTP server, at an address of this computer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from vaultwire.app.http_app import Address, HttpApp
from vaultwire.app.serving import NetworkConfig
from vaultwire.config import ConfigError
from vaultwire.desk.http_endpoint import DeskEndpoint
from vaultwire.desk.running import Announcement
from vaultwire.protocol.revisions import Revision
from vaultwire.protocol.session import Session
from vaultwire.server.handlers import Handlers
from vaultwire.transports import listening, observing, rest
from vaultwire.transports.http_server import Endpoint


class NetworkServer:
    """The app of a run at its address."""

    def __init__(
        self,
        handlers: Handlers,
        new_session: Callable[[Revision | None], Session],
        serving: NetworkConfig,
        on_ready: Callable[..., None],
        desk: tuple[DeskEndpoint | None, Callable[[str], Announcement] | None] = (None, None),
    ) -> None:
        """``new_session``: as for ``HttpApp``.

        ``desk`` is the page for the person, and what makes ``vaultwire desk`` find it at a URL.
        ``on_ready`` is called with the server's URL once it answers, and with ``in_the_open=True`` if others can read what it
        says on the way. Raises ConfigError where that cannot be.
        """
        observer = observing.Observer(log_json=serving.log_json, metrics=serving.metrics)
        observer.take_stderr()
        try:
            tls = None if serving.tls_cert is None else listening.make_tls(serving.tls_cert, serving.tls_key)
            listener = listening.bind(serving.host, serving.port)
        except listening.StartError as error:
            raise ConfigError(str(error)) from None
        url = listening.url(listener, tls=tls is not None)
        address = Address(
            listening.names(listener, serving.host, *serving.allow_host),
            listening.is_any_address(listener),
            listening.is_loopback(listener),
            url,
        )
        page, announce = desk
        self._announcement = None if announce is None else announce(url)
        self._app = HttpApp(handlers, new_session, serving, address, observer, page)
        self._on_ready = partial(on_ready, url, in_the_open=tls is None and not address.is_local)
        self.endpoints = [Endpoint(self._app, listener, tls, rest.CORS)]

    def begin(self) -> None:
        """Open the vault, and say where it is served."""
        self._app.open()
        if self._announcement is not None:
            self._announcement.begin()
        self._on_ready()

    async def stop(self) -> None:
        """End the streams."""
        await self._app.end_streams()

    def end(self) -> None:
        """Close the vault."""
        if self._announcement is not None:
            self._announcement.end()
        self._app.close()
