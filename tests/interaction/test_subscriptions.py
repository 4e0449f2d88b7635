"""Subscribers hear what changes in the vault, whichever program did it: at every door.

What another program does is done here to the files themselves, behind the server's back.
"""

from __future__ import annotations

import json
import os
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from interaction.conftest import KINDS, Door, at
from support.http_wire import Client, HttpClient
from support.proofs import proves
from support.wire import STATELESS_REVISION

ROOT = "obsidian://vault/vault/"
UPDATED = "notifications/resources/updated"
LIST_CHANGED = "notifications/resources/list_changed"
PATIENCE = 60.0

# Before 2026-07-28 nothing can be told to a client without a session.
HEARD = [each for each in KINDS if each.name != "no session" or each.revision == STATELESS_REVISION]


class Subscriber:
    """A client that subscribed to some URIs, and what it is told."""

    def __init__(self, client: Client, door: Door, uris: list[str]) -> None:
        self._client = client
        self._is_stateless = door.revision == STATELESS_REVISION
        self._told: queue.Queue[Any] = queue.Queue()
        if self._is_stateless:
            wanted = {"resourcesListChanged": True, "resourceSubscriptions": uris}
            listening = client.said("subscriptions/listen", {"notifications": wanted})
            _, first = next(listening)
            assert first["method"] == "notifications/subscriptions/acknowledged"
            honoured = {"resourceSubscriptions": sorted(uris)} if uris else {}
            assert first["params"]["notifications"] == {"resourcesListChanged": True, **honoured}
            self._messages: Iterator[Any] = (message for _, message in listening)
        else:
            for uri in uris:
                assert client.request("resources/subscribe", {"uri": uri})["result"] == {}
            self._messages = client.unasked()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        try:
            for message in self._messages:
                self._told.put(message)
        except (AssertionError, OSError, ValueError, AttributeError):  # the server has ended
            return

    def next(self) -> tuple[str, str | None]:
        """Return the method and the URI of the next notification."""
        message = self._told.get(timeout=PATIENCE)
        return message["method"], message["params"].get("uri")

    def next_but(self, *passed_over: str) -> tuple[str, str | None]:
        """Return the next notification that is not of one of these methods."""
        while (told := self.next())[0] in passed_over:
            pass
        return told


@pytest.fixture
def subscribe(connect: Callable[..., Client], door: Door) -> Callable[..., Subscriber]:
    """Return a function that starts a server and subscribes to notes."""

    def start(*paths: str, options: tuple[str, ...] = ()) -> Subscriber:
        client = connect(*options)
        # By now the index is up to date, and the vault is watched.
        client.call("search_notes", query="fox")
        return Subscriber(client, door, [ROOT + path for path in paths])

    return start


def save(path: Path, text: str) -> None:
    """Save a note as an editor does: another file takes its place."""
    beside = path.with_name(".saving.tmp")
    beside.write_text(text)
    os.replace(beside, path)


@contextmanager
def repeated(act: Callable[[int], object]) -> Iterator[None]:
    """Do something again and again meanwhile: the watch may not be there yet when it is done first."""
    over = threading.Event()

    def run() -> None:
        number = 0
        while not over.wait(0.7):
            number += 1
            act(number)

    act(0)
    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@at(*HEARD)
@proves("spec Subscriptions: a subscriber hears that its resource was updated, whichever program did it")
def test_a_note_that_another_program_saves_is_told_of(subscribe: Callable[..., Subscriber], vault: Path) -> None:
    subscriber = subscribe("Welcome.md")
    with repeated(lambda number: save(vault / "Welcome.md", f"Saved {number} times.\n")):
        assert subscriber.next_but(LIST_CHANGED) == (UPDATED, ROOT + "Welcome.md")


@proves("spec Resources: clients hear that the list has changed when notes come, go or are renamed")
def test_notes_that_come_and_go_are_told_of(subscribe: Callable[..., Subscriber], vault: Path) -> None:
    subscriber = subscribe()
    with repeated(lambda number: (vault / f"New {number}.md").write_text("New.\n")):
        assert subscriber.next() == (LIST_CHANGED, None)


@proves("ours: nobody hears of a note that they did not subscribe to, or that the policy hides")
def test_what_is_hidden_is_not_told_of(subscribe: Callable[..., Subscriber], vault: Path, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('[paths]\ndeny = ["/Projects/"]\n')
    subscriber = subscribe("Projects/Plan.md", "Welcome.md", options=("--policy", str(policy)))

    def act(number: int) -> None:
        save(vault / "Projects/Plan.md", f"Plan {number}.\n")
        save(vault / "Archive/Plan.md", f"Plan {number}.\n")
        (vault / f"Projects/New {number}.md").write_text("New.\n")
        if number:
            save(vault / "Welcome.md", f"Saved {number} times.\n")

    with repeated(act):
        for _ in range(2):
            assert subscriber.next() == (UPDATED, ROOT + "Welcome.md")


@at(*(each for each in HEARD if each.name != "stdio"))  # which has one client a process
@proves("ours: a client hears of what other clients change, too")
def test_what_another_client_changes_is_told_of(subscribe: Callable[..., Subscriber], vault: Path) -> None:
    subscriber = subscribe("Welcome.md")
    client = subscriber._client
    assert isinstance(client, HttpClient)

    def write(number: int) -> None:
        arguments = {"path": "Welcome.md", "content": f"Line {number}.", "mode": "append"}
        body = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "write_note", "arguments": arguments},
        }
        headers = {"Content_Type": "application/json", "Accept": "application/json, text/event-stream"}
        assert client.server.request("POST", "/mcp", json.dumps(body).encode(), **headers).status == 200

    with repeated(write):
        assert subscriber.next_but(LIST_CHANGED) == (UPDATED, ROOT + "Welcome.md")


@proves("ours: who may not read notes hears nothing of them, and is told so if it asks to")
def test_who_may_not_read_hears_nothing(connect: Callable[..., Client], revision: str, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('[tools]\ndeny = ["read_note"]\n')
    client = connect("--policy", str(policy))
    if revision == STATELESS_REVISION:
        wanted = {"resourcesListChanged": True, "resourceSubscriptions": [ROOT + "Welcome.md"]}
        _, first = next(iter(client.said("subscriptions/listen", {"notifications": wanted})))
        assert first["params"]["notifications"] == {"resourcesListChanged": True}
        return
    error = client.request("resources/subscribe", {"uri": ROOT + "Welcome.md"})["error"]
    assert error["data"]["errorCode"] == "POLICY_DENIED"


@proves("ours: who subscribed to a view of a base hears that its rows are others, and nothing of hidden notes")
def test_the_rows_of_a_view_are_told_of(subscribe: Callable[..., Subscriber], vault: Path, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('[paths]\ndeny = ["/Projects/"]\n')
    (vault / "Books.base").write_text("filters: rating > 0\nviews: [{type: table, name: Good, order: [rating]}]\n")
    subscriber = subscribe("Books.base#Good", "Welcome.md", options=("--policy", str(policy)))

    def hidden(number: int) -> None:
        save(vault / "Projects/Plan.md", f"---\nrating: {number}\n---\n")
        save(vault / "Archive/Plan.md", f"---\nrating: 0\nother: {number}\n---\n")
        if number:
            save(vault / "Welcome.md", f"Saved {number} times.\n")

    with repeated(hidden):
        assert subscriber.next_but(LIST_CHANGED) == (UPDATED, ROOT + "Welcome.md")
    with repeated(lambda number: save(vault / "Archive/Plan.md", f"---\nrating: {number + 1}\n---\n")):
        while subscriber.next_but(LIST_CHANGED) != (UPDATED, ROOT + "Books.base#Good"):
            pass
