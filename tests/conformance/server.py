"""The conformance suite's server: its fixtures on our core, behind our own guard. ``python server.py PORT``; 0 is any."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from conformance.fixtures import Fixtures
from conformance.offers import FixtureOffers
from support.vaults import open_vault
from vaultwire.protocol.events import Identity
from vaultwire.protocol.revisions import Revision
from vaultwire.protocol.session import Session
from vaultwire.server.handlers import Handlers
from vaultwire.server.subscriptions import LIST_CHANGES, RESOURCE_CHANGES, Subscriptions
from vaultwire.server.workers import Workers
from vaultwire.transports import guard, http_server, observing, streamable_http
from vaultwire.trust.policy import Policy

CAPABILITIES = {
    "completions": {},
    "logging": {},
    "prompts": {"listChanged": True},
    "resources": {"listChanged": True, "subscribe": True},
    "tools": {"listChanged": True},
}


def make_handlers(vault: Path) -> Handlers:
    subscriptions = Subscriptions([*LIST_CHANGES, RESOURCE_CHANGES])
    return Handlers(
        Fixtures(subscriptions).toolset(),
        lambda: open_vault(vault),
        Policy(),
        open_offers=lambda _: FixtureOffers(),
        subscriptions=subscriptions,
    )


def make_session(handlers: Handlers, revision: Revision | None = None) -> Session:
    identity = Identity("vaultwire-fixtures", "Fixtures", "1", CAPABILITIES, "Be kind.")
    return Session(identity, handlers.methods, revision=revision)


def main(port: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        handlers = make_handlers(Path(folder))
        door = streamable_http.make_app(Workers(handlers), lambda revision: make_session(handlers, revision))
        listener = http_server.bind("127.0.0.1", port)
        rules = guard.Rules(
            names=http_server.names(listener, "127.0.0.1"),
            any_address=False,
            origins=(),
            key_required=False,
            owner=lambda _: None,
        )
        observer = observing.Observer(log_json=False, metrics=False)
        app = guard.Guard([guard.Door("mcp", "/mcp", door, 1 << 24, needs_key=False)], rules, observer)

        async def stop() -> None:
            await asyncio.sleep(0)
            door.close()

        def ready() -> None:
            sys.stdout.write(f"{http_server.url(listener, tls=False)}/mcp\n")
            sys.stdout.flush()

        http_server.run(app, listener, None, ready, stop, http_server.Limits())


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 0)
