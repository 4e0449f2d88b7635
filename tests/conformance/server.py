"""The conformance suite's server: its fixtures on our core, behind our own guard. ``python server.py PORT``; 0 is any.

``python server.py stdio`` has them at stdin and stdout instead.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from conformance.features import FixtureFeatures
from conformance.fixtures import TASK_SECONDS, Fixtures
from support.vaults import open_vault
from vaultwire.protocol.dialects import STRUCTURED
from vaultwire.protocol.events import Identity
from vaultwire.protocol.revisions import TASKS, Revision
from vaultwire.protocol.session import Session
from vaultwire.server.features import Features
from vaultwire.server.handlers import Handlers
from vaultwire.server.subscriptions import LIST_CHANGES, RESOURCE_UPDATES, Subscriptions
from vaultwire.server.workers import Workers
from vaultwire.transports import guard, http_server, listening, stdio, streamable_http
from vaultwire.trust.policy import Policy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultwire.transports import App

MOST_BYTES = 1 << 24
CAPABILITIES = {
    "completions": {},
    "logging": {},
    "prompts": {"listChanged": True},
    "resources": {"listChanged": True, "subscribe": True},
    "tools": {"listChanged": True},
}


class FixtureHandlers(Handlers):
    def _all_features(self) -> Features:
        return FixtureFeatures(self.vaults, None)


def make_handlers(vaults: Mapping[str, Path]) -> Handlers:
    """Return the handlers over vaults, given by their names; a single one has none."""
    subscriptions = Subscriptions([*LIST_CHANGES, RESOURCE_UPDATES])
    return FixtureHandlers(
        Fixtures(subscriptions).toolset(),
        {name if len(vaults) > 1 else "": partial(open_vault, path) for name, path in vaults.items()},
        Policy(),
        subscriptions=subscriptions,
        task_seconds=TASK_SECONDS,
    )


def make_session(handlers: Handlers, revision: Revision | None = None) -> Session:
    identity = Identity("vaultwire-fixtures", "Fixtures", "1", CAPABILITIES, "Be kind.", {TASKS: {}})
    return Session(identity, handlers.methods, STRUCTURED, revision)


def serve(app: App, stop: Callable[[], Awaitable[None]], port: int) -> None:
    """Have an ASGI callable answer at ``/mcp`` behind the guard until told to end; its URL is the one line on stdout."""
    listener = listening.bind("127.0.0.1", port)
    rules = guard.Rules(
        names=listening.names(listener, "127.0.0.1"),
        any_address=False,
        origins=(),
        key_required=False,
        owner=lambda _: None,
    )
    observer = guard.Observer(log_json=False, metrics=False)
    guarded = guard.Guard([guard.Door("mcp", "/mcp", app, MOST_BYTES, needs_key=False)], rules, observer)

    def ready(_stop: Callable[[], None]) -> None:
        sys.stdout.write(f"{listening.url(listener, tls=False)}/mcp\n")
        sys.stdout.flush()

    http_server.run([http_server.Endpoint(guarded, listener)], ready, stop, http_server.Limits())


def main(where: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        handlers = make_handlers({"": Path(folder)})
        if where == "stdio":
            stdio.run(make_session(handlers), handlers)
            return
        door = streamable_http.StreamableHttp(
            Workers(handlers), lambda revision: make_session(handlers, revision), guard.KEY_NAME
        )

        async def stop() -> None:
            await asyncio.sleep(0)
            door.close()

        serve(door, stop, int(where))


if __name__ == "__main__":
    main(sys.argv[1] if sys.argv[1:] else "0")
