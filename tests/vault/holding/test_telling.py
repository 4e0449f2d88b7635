"""What an agent is told of the person's decisions after a restart, and what ``pending_changes`` lists of undone changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.http_wire import HttpClient
from support.serving import Serving
from support.vaults import open_vault, write_vault
from support.wire import STATELESS_REVISION
from vaultwire.review import Reviewer
from vaultwire.trust.keys import Keys
from vaultwire.vault.caller import Caller

NEWS = "What the person decided since your last call:"
EDITS = [{"action": "replace", "text": "one", "content": "1"}]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "vault", "=== Plan.md\none\ntwo\n")


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def the_desk(root: Path, state: Path) -> Reviewer:
    person = Caller("you")
    person.is_person = True
    return Reviewer(open_vault(root, state=state).used_by(person, "desk"))


def said(server: Serving, key: str, tool: str, **arguments: Any) -> str:
    reply = server.call(tool, arguments, **({"x_api_key": key} if key else {})).json
    return "\n".join(block["text"] for block in reply["content"])


def test_a_client_with_a_key_hears_once_also_after_a_restart(root: Path, state: Path) -> None:
    keys = Keys(str(state / "keys"))
    phone, other = keys.issue("phone"), keys.issue("other")
    desk = the_desk(root, state)

    def serve() -> Serving:
        return Serving(root, "--require-key", VAULTWIRE_STATE=str(state))

    with serve() as server:
        said(server, phone, "edit_note", path="Plan", edits=EDITS)
    desk.decide("c1", "undo")
    with serve() as server:
        assert NEWS not in said(server, other, "vault_overview")
        told = said(server, phone, "edit_note", path="Plan", edits=EDITS)
        assert told.count(NEWS) == 1
        assert "The person undid change 1" in told
        assert NEWS not in said(server, phone, "vault_overview")
    with serve() as server:
        assert NEWS not in said(server, phone, "vault_overview")
    sessions = {item["session"] for item in desk.items(client="phone (rest)")["items"]}
    assert len(sessions) == 2  # one for each start: the undo of a session is not that of all there ever was


def test_a_stateless_client_hears_after_a_restart(root: Path, state: Path) -> None:
    desk = the_desk(root, state)
    key = Keys(str(state / "keys")).issue("phone")

    def results(*calls: tuple[str, dict[str, Any]]) -> list[str]:
        with Serving(root, VAULTWIRE_STATE=str(state)) as server, HttpClient(server, in_session=False) as client:
            client.extra = {"X-Api-Key": key}
            client.open(STATELESS_REVISION)
            found = [client.call(tool, **arguments) for tool, arguments in calls]
            return ["\n".join(block["text"] for block in each["content"]) for each in found]

    results(("edit_note", {"path": "Plan", "edits": EDITS}))
    desk.decide("c1", "undo", file=0, hunk=0)
    first, second = results(("vault_overview", {}), ("vault_overview", {}))
    assert first.count(NEWS) == 1
    assert NEWS not in second


def test_a_session_hears_of_its_own_changes_from_the_first_on(root: Path, state: Path) -> None:
    desk = the_desk(root, state)

    def result(client: HttpClient, tool: str, **arguments: Any) -> str:
        return "\n".join(block["text"] for block in client.call(tool, **arguments)["content"])

    with (
        Serving(root, VAULTWIRE_STATE=str(state)) as server,
        HttpClient(server, in_session=True) as one,
        HttpClient(server, in_session=True) as other,
    ):
        one.open("2025-11-25")
        other.open("2025-11-25")
        assert NEWS not in result(other, "vault_overview")
        result(one, "edit_note", path="Plan", edits=EDITS)
        desk.decide("c1", "undo")
        assert "The person undid change 1" in result(one, "vault_overview")
        assert NEWS not in result(other, "edit_note", path="Plan", edits=EDITS)
        desk.decide("c3", "undo")
        told = result(other, "vault_overview")
        assert "The person undid change 3" in told
        assert "change 1" not in told
        assert NEWS not in result(one, "vault_overview")


def test_pending_changes_lists_what_was_undone_and_still_is(root: Path, state: Path) -> None:
    desk = the_desk(root, state)
    with Serving(root, VAULTWIRE_STATE=str(state)) as server:
        said(server, "", "edit_note", path="Plan", edits=EDITS)
        done = desk.decide("c1", "undo")
    with Serving(root, VAULTWIRE_STATE=str(state)) as server:  # without a key it is not known again
        listed = server.call("pending_changes", {}).json
        assert NEWS not in listed["content"][0]["text"]
        assert "The person undid change 1 (edit 'Plan.md') with change 2." in listed["content"][0]["text"]
        desk.decide(f"c{done['undo']}", "undo")
        assert "The person undid" not in said(server, "", "pending_changes")
