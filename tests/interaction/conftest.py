"""``connect``, ``client`` and ``shared``: clients at the doors of the server, in the revisions of the protocol.

A test runs once at each door, each time in another revision. A fact that differs from revision to revision says
``@EVERY_REVISION``; one that depends on the door and the revision together says ``@EVERY_DOOR``. What starts a server of its
own says ``@EVERY_KIND`` instead where only the handshake matters: each door with a session, without one, and as of 2026-07-28.

``shared`` is a server for all tests that change nothing: starting one takes longer than most of them.

A door is added by adding it to ``DOORS``, and to ``reach`` what it takes to get there: a client that offers what
``support.wire.Server`` and ``support.http_wire.HttpClient`` both do. REST, which has no revisions, is in ``test_rest``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from support.http_wire import Client, HttpClient
from support.serving import Serving
from support.vaults import write_vault
from support.wire import REVISIONS, STATELESS_REVISION, Server

VAULT = """
=== Welcome.md
---
tags: [start, project/alpha]
---
# Welcome
The quick brown fox. [[Alpha]]
=== Projects/Alpha.md
# Alpha
The fox again. #project/alpha
=== Projects/Plan.md
A plan.
=== Archive/Plan.md
An old plan.
=== Unicode/Grüße 日本.md
Grüße 🗝
"""

DOORS = ("stdio", "session", "no session")  # the latter two at /mcp


class Door(NamedTuple):
    """Where a client comes in, and what it speaks."""

    name: str
    revision: str


def doors() -> Iterator[Door]:
    """Yield all there are. What has no handshake has no session."""
    for door in DOORS:
        for revision in REVISIONS:
            if not (door == "session" and revision == STATELESS_REVISION):
                yield Door(door, revision)


def at(*doors: Door) -> pytest.MarkDecorator:
    """Return a mark that runs a test at these doors."""
    return pytest.mark.parametrize("door", doors, ids=" ".join, indirect=True, scope="session")


ONE_OF_EACH = (Door("stdio", REVISIONS[0]), Door("session", REVISIONS[-2]), Door("no session", STATELESS_REVISION))
EVERY_REVISION = at(Door("stdio", REVISIONS[0]), *(Door("session", each) for each in REVISIONS[1:-1]), ONE_OF_EACH[-1])
EVERY_DOOR = at(*doors())
KINDS = (*ONE_OF_EACH, Door("stdio", STATELESS_REVISION), Door("no session", REVISIONS[-2]))
EVERY_KIND = at(*KINDS)


def reach(door: Door, server: Serving, capabilities: dict[str, Any] | None = None) -> HttpClient:
    """Return a new client of a server at ``/mcp``, opened."""
    client = HttpClient(server, in_session=door.name == "session")
    client.open(door.revision, capabilities)
    return client


@pytest.fixture(scope="session", params=ONE_OF_EACH, ids=" ".join)
def door(request: pytest.FixtureRequest) -> Door:
    chosen: Door = request.param
    return chosen


@pytest.fixture(scope="session")
def revision(door: Door) -> str:
    return door.revision


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "vault", VAULT)


@pytest.fixture
def connect(door: Door, vault: Path) -> Iterator[Callable[..., Client]]:
    """Return a function that starts a server with these options and returns its opened client."""
    with ExitStack() as stack:

        def start(*options: str, capabilities: dict[str, Any] | None = None) -> Client:
            if door.name != "stdio":
                return stack.enter_context(reach(door, stack.enter_context(Serving(vault, *options)), capabilities))
            server = stack.enter_context(Server(vault, *options))
            server.open(door.revision, capabilities)
            return server

        yield start


@pytest.fixture
def client(connect: Callable[..., Client]) -> Client:
    """Return a client of a server started without options."""
    return connect()


@pytest.fixture(scope="session")
def shared_vault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a vault with secrets around it, and a link that leads to one of them."""
    root = tmp_path_factory.mktemp("shared")
    vault = write_vault(root / "vault", VAULT)
    (root / "outside").mkdir()
    for secret in (root / "secret.md", root / "outside" / "secret.md"):
        secret.write_text("a secret")
    (vault / "Link").symlink_to(root / "outside")
    return vault


@pytest.fixture(scope="session")
def shared_serving(shared_vault: Path) -> Iterator[Serving]:
    """Return the one server behind all clients at the network doors that change nothing."""
    with Serving(shared_vault) as server:
        yield server


@pytest.fixture
def reach_shared(
    door: Door, shared_vault: Path, request: pytest.FixtureRequest
) -> Iterator[Callable[[dict[str, Any]], Client]]:
    """Return a function that opens a client with these capabilities, of a server that others talk to where that can be."""
    with ExitStack() as stack:

        def start(capabilities: dict[str, Any]) -> Client:
            if door.name != "stdio":
                serving = request.getfixturevalue("shared_serving")
                return stack.enter_context(reach(door, serving, capabilities))
            server = stack.enter_context(Server(shared_vault))
            server.open(door.revision, capabilities)
            return server

        yield start


@pytest.fixture(scope="session")
def shared(door: Door, shared_vault: Path, request: pytest.FixtureRequest) -> Iterator[Client]:
    """Return a client of a server that other tests talk to as well."""
    if door.name != "stdio":
        with reach(door, request.getfixturevalue("shared_serving")) as client:
            yield client
        return
    with Server(shared_vault) as server:
        server.open(door.revision)
        yield server
