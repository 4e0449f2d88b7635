"""A server that people sign in to, in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.serving import Serving
from support.sign_in import PASSWORD, URL, Connecting
from support.vaults import write_vault
from vaultwire.remote import people
from vaultwire.remote.store import Store


@pytest.fixture(scope="session")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    state = tmp_path_factory.mktemp("state")
    store = Store(str(state / "sign-in"))
    for name in ("Ana", "Ben"):
        people.add(store, name, PASSWORD)
    store.close()
    return state


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, state: Path) -> Iterator[Serving]:
    vault = write_vault(tmp_path_factory.mktemp("vault"), "=== Note.md\nthe secret text\n")
    with Serving(vault, "--public-url", URL, VAULTWIRE_STATE=str(state)) as started:
        yield started


@pytest.fixture
def client(server: Serving) -> Connecting:
    return Connecting(server)
