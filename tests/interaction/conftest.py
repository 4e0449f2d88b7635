"""``connect``, ``client`` and ``shared``: clients on each door in each revision. Every test here runs once for each.

``shared`` is one server for all tests of a file that change nothing: starting one takes longer than most of them.

A door is added by adding it to ``DOORS``; it must offer what ``support.wire.Server`` offers once it is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from support.vaults import write_vault
from support.wire import REVISIONS, Server

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

DOORS = ("stdio",)


class Door(NamedTuple):
    """Where a client comes in, and what it speaks."""

    name: str
    revision: str


@pytest.fixture(
    scope="session", params=[Door(door, revision) for door in DOORS for revision in REVISIONS], ids=" ".join
)
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
def connect(door: Door, vault: Path) -> Iterator[Callable[..., Server]]:
    """Return a function that starts a server with these options and returns its opened client."""
    with ExitStack() as stack:

        def start(*options: str) -> Server:
            server = stack.enter_context(Server(vault, *options))
            server.open(door.revision)
            return server

        yield start


@pytest.fixture
def client(connect: Callable[..., Server]) -> Server:
    """Return a client of a server started without options."""
    return connect()


@pytest.fixture(scope="module")
def shared_vault(door: Door, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a vault with secrets around it, and a link that leads to one of them."""
    root = tmp_path_factory.mktemp("shared")
    vault = write_vault(root / "vault", VAULT)
    (root / "outside").mkdir()
    for secret in (root / "secret.md", root / "outside" / "secret.md"):
        secret.write_text("a secret")
    (vault / "Link").symlink_to(root / "outside")
    return vault


@pytest.fixture(scope="module")
def shared(door: Door, shared_vault: Path) -> Iterator[Server]:
    """Return a client of a server that other tests talk to as well."""
    with Server(shared_vault) as server:
        server.open(door.revision)
        yield server
