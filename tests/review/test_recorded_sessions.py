"""Recorded sessions of agents, replayed at real servers: what the desk shows of each call, what the agent hears, and the undo.

A session is a file in ``sessions/``: the vault as it was, and the tool calls as a model made them, with what the person decided
in between. ``item`` counts the items of the session, the first one is 0.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.companion_client import CompanionClient
from support.companion_stage import PATIENT, Stage
from support.http_wire import Client, HttpClient
from support.serving import Serving
from support.vaults import open_vault
from support.wire import Server
from vaultwire.review import Reviewer
from vaultwire.vault.caller import Caller
from vaultwire.vault.vault import Vault

FOLDER = Path(__file__).parent / "sessions"
OF_EDITOR = "editor"
OF_AGENT = sorted(path.stem for path in FOLDER.glob("*.json") if path.stem != OF_EDITOR)
REVISION = "2025-11-25"
NEWS = "What the person decided since your last call:"


def recorded(name: str, root: Path) -> dict[str, Any]:
    """Return a session, and write its vault."""
    session: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    for path, text in session["vault"].items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode())
    return session


def files_of(root: Path) -> dict[str, bytes]:
    """Return the bytes of every file of the vault; empty folders, too, so that none stays behind."""
    found = {str(path.relative_to(root).as_posix()): path for path in root.rglob("*")}
    return {name: path.read_bytes() if path.is_file() else b"" for name, path in found.items()}


def reviewer_of(vault: Vault) -> Reviewer:
    person = Caller("you")
    person.is_person = True
    return Reviewer(vault.used_by(person, "desk"))


def text_of(result: Any) -> str:
    return "\n".join(block.get("text", "") for block in result["content"])


@contextmanager
def connected(door: str, root: Path, options: tuple[str, ...], state: Path) -> Iterator[Client]:
    with ExitStack() as stack:
        if door == "stdio":
            client: Client = stack.enter_context(Server(root, *options, VAULTWIRE_STATE=str(state)))
        else:
            server = stack.enter_context(Serving(root, *options, VAULTWIRE_STATE=str(state)))
            client = stack.enter_context(HttpClient(server, in_session=True))
        client.open(REVISION)
        yield client


class Replay:
    """One session at one server, and the person at the desk in this process."""

    def __init__(self, client: Client, root: Path, reviewer: Reviewer) -> None:
        self.client = client
        self.root = root
        self.reviewer = reviewer
        self.session = ""
        self.items: list[str] = []  # of the session, in the order in which its calls made them
        self.expected = ""  # what the next result must tell

    def call(self, tool: str, arguments: dict[str, Any]) -> None:
        before = files_of(self.root)
        result = self.client.call(tool, **arguments)
        assert not result["isError"], text_of(result)
        told = text_of(result)
        assert (NEWS in told) is bool(self.expected), told
        assert self.expected in told
        self.expected = ""
        self.look(before, files_of(self.root))

    def look(self, before: dict[str, bytes], after: dict[str, bytes]) -> None:
        """The desk shows what a call changed, or proposed, as the latest item of the session, and nothing else of it."""
        if not self.session:
            items = self.reviewer.items()["items"]
            self.session = items[0]["session"] if items else ""
        found: dict[str, Any] = {"items": [], "total": 0}
        if self.session:
            found = self.reviewer.items(session=self.session, limit=1)
        new = found["items"] and found["items"][0]["id"] not in self.items
        changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
        if not new:
            assert not changed
            return
        (item,) = found["items"]
        self.items.append(item["id"])
        assert found["total"] == len(self.items)
        if item["state"] == "made":
            self.compare(item["id"], before, after)
        else:
            assert (item["state"], changed) == ("waiting", set())

    def compare(self, id_: str, before: dict[str, bytes], after: dict[str, bytes]) -> None:
        """The detail has the bytes of each file before and after, and all files that differ; its rows are their lines."""
        shown: set[str] = set()
        detail = self.reviewer.item(id_)
        assert detail["can_undo"], detail["conflict"]
        at = dict(before)
        for file in detail["files"]:
            old_path, old = self.reviewer.bytes_of(id_, file["index"], "old")
            new_path, new = self.reviewer.bytes_of(id_, file["index"], "new")
            assert old == at.get(old_path)
            at.pop(old_path, None)
            if new is not None:
                at[new_path] = new
            shown |= {old_path, new_path}
            rows = [row for hunk in file["hunks"] for row in hunk["rows"]]
            compare_rows(rows, "old", old)
            compare_rows(rows, "new", new)
        changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
        folders = {
            path for path in changed if (self.root / path).is_dir() or any(p.startswith(f"{path}/") for p in before)
        }
        assert changed - folders <= shown
        assert {path: at.get(path) for path in shown} == {path: after.get(path) for path in shown}

    def decide(self, decision: dict[str, Any], told: str) -> None:
        decision = dict(decision)
        self.reviewer.decide(self.items[decision.pop("item")], decision.pop("action"), **decision)
        self.expected = told


def compare_rows(rows: list[dict[str, Any]], side: str, data: bytes | None) -> None:
    """Compare the lines that rows show of one side with those of the file."""
    lines = (data or b"").decode().replace("\r\n", "\n").split("\n")
    for row in rows:
        if row["kind"] != "gap" and row[side] is not None:
            parts = row["new_parts"] if side == "new" and row["kind"] == "changed" else row["parts"]
            assert "".join(part["t"] for part in parts) == lines[row[side] - 1]


@pytest.mark.parametrize("door", ["stdio", "http"])
@pytest.mark.parametrize("name", OF_AGENT)
def test_a_session_is_on_the_desk_heard_of_and_undone(name: str, door: str, tmp_path: Path) -> None:
    root, state = tmp_path / "vault", tmp_path / "state"
    session = recorded(name, root)
    policy = tmp_path / "policy.toml"
    policy.write_text(session.get("policy", ""))
    first = files_of(root)
    reviewer = reviewer_of(open_vault(root, state=state))
    with connected(door, root, ("--policy", str(policy)) if "policy" in session else (), state) as client:
        replay = Replay(client, root, reviewer)
        for step in session["steps"]:
            if "tool" in step:
                replay.call(step["tool"], step["arguments"])
            else:
                replay.decide(step["person"], step["told"])
        assert replay.expected == ""
        reviewer.decide_many(session=replay.session, action="undo")
        assert files_of(root) == first
        told = text_of(client.call("vault_overview"))
        assert told.count(NEWS) == 1
        assert "undid change" in told
        assert NEWS not in text_of(client.call("vault_overview"))


def test_the_diffs_of_an_editor_are_on_the_desk_written_and_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "files"))
    monkeypatch.setenv("TEMP", str(tmp_path / "files"))
    root = tmp_path / "vault"
    session = recorded(OF_EDITOR, root)
    first = files_of(root)
    stage = Stage(root, tmp_path / "files", PATIENT)
    reviewer = reviewer_of(stage.vault)
    try:
        with stage.client() as client:
            assert client.context() == []
            for step in session["steps"]:
                decide_diff(stage, client, reviewer, step)
            items = reviewer.items(session=reviewer.items()["items"][0]["session"])["items"]
            assert [item["state"] for item in items] == ["accepted as edited", "refused", "accepted"]
            reviewer.decide_many(session=items[0]["session"], action="undo")
    finally:
        stage.close()
    (root / "New").rmdir()  # empty; its client has made it
    assert files_of(root) == first


def decide_diff(stage: Stage, client: CompanionClient, reviewer: Reviewer, step: dict[str, Any]) -> None:
    """Lay one diff before the person, decide it at the desk, and write it as the client of an editor does."""
    place = stage.root / step["diff"]
    before = place.read_bytes() if place.exists() else None
    client.call("openDiff", filePath=str(place), newContent=step["text"])
    item = reviewer.items(limit=1)["items"][0]
    assert (item["kind"], item["state"], item["files"][0]["path"]) == ("diff", "waiting", step["diff"])
    assert reviewer.bytes_of(item["id"], 0, "old") == (step["diff"], before)
    edited = {"0": step["edited"]} if "edited" in step else {}
    logged = len(stage.vault.holding.decisions.all())
    done = reviewer.decide(item["id"], step["action"], edited=edited)
    stage.proposals.look()
    (decision,) = stage.vault.holding.decisions.all()[logged:]  # one entry, without words: its client tells its agent
    heard = client.hear()
    assert heard is not None
    told, answer = heard
    if step["action"] == "refuse":
        assert (told, decision.kind, decision.text) == ("ide/diffRejected", "refused", "")
        return
    assert (told, decision.kind, decision.text) == ("ide/diffAccepted", "edited" if edited else "accepted", "")
    assert done["message"].endswith(". Its client writes the file now; its change is listed as soon as it has.")
    assert done["change"] is None
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(answer["content"].encode())
    stage.proposals.record()
    detail = reviewer.item(item["id"])
    assert detail["change"] is not None
    assert detail["can_undo"]
    assert reviewer.bytes_of(item["id"], 0, "new") == (step["diff"], place.read_bytes())
