"""Changes that a person is asked about first: at every door, whatever they answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interaction.conftest import EVERY_KIND, Door
from support.http_wire import Client
from support.proofs import proves
from support.vaults import write_vault
from vaultwire.vault.editing.workbench import MAX_UNASKED_NOTES

CAN_ASK: dict[str, Any] = {"elicitation": {}}
ACCEPT, DECLINE, CANCEL = {"action": "accept", "content": {}}, {"action": "decline"}, {"action": "cancel"}
MANY = MAX_UNASKED_NOTES + 1


class Asked:
    """A client whose person answers each question in the same way."""

    def __init__(
        self, client: Client, answer: dict[str, Any], door: Door, meanwhile: Callable[[], object] = int
    ) -> None:
        """``meanwhile`` is called while the first question is open."""
        self.client = client
        self.questions: list[Any] = []
        self._answer = answer
        self._meanwhile = meanwhile
        # Without a session there is no way back to the client, but in 2026-07-28, where the result asks.
        self.can_be_asked = door.name != "no session" or door.revision == "2026-07-28"

    def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool, answer what is asked, and return the result."""
        params: dict[str, Any] = {"name": tool, "arguments": arguments}
        while True:
            result = self._said(params)
            if result.get("resultType") != "input_required":
                return result
            self._take(*result["inputRequests"].values())
            answers = dict.fromkeys(result["inputRequests"], self._answer)
            params |= {"inputResponses": answers, "requestState": result["requestState"]}

    def _said(self, params: dict[str, Any]) -> Any:
        for _, message in self.client.said("tools/call", params):
            if "method" in message:
                self._take(message)
                self.client.respond(message["id"], self._answer)
                continue
            return message["result"]
        raise AssertionError("no answer")

    def _take(self, *questions: Any) -> None:
        if not self.questions:
            self._meanwhile()
        for question in questions:
            assert question["method"] == "elicitation/create"
            assert question["params"]["requestedSchema"] == {"type": "object", "properties": {}}
            self.questions.append(question["params"]["message"])


@pytest.fixture
def tagged(vault: Path) -> Path:
    """Return the vault, with one note more that has a tag than are changed unasked."""
    write_vault(vault, "".join(f"=== Many/{number:02}.md\nA note. #old\n" for number in range(MANY)))
    return vault


@pytest.fixture
def asked(connect: Callable[..., Client], door: Door) -> Callable[..., Asked]:
    return lambda answer, **how: Asked(connect(capabilities=CAN_ASK), answer, door, **how)


def files(vault: Path) -> dict[str, bytes]:
    return {str(path.relative_to(vault)): path.read_bytes() for path in vault.rglob("*") if path.is_file()}


@EVERY_KIND
@proves("ours: a note is deleted permanently once the person has agreed to exactly that")
def test_who_accepts_gets_the_note_deleted(asked: Callable[..., Asked], vault: Path) -> None:
    person = asked(ACCEPT)
    result = person.call("delete_note", path="Welcome.md", permanent=True)
    assert result["isError"] is False
    assert "Deleted" in result["content"][0]["text"]
    assert not (vault / "Welcome.md").exists()
    assert len(person.questions) == person.can_be_asked
    assert all("'Welcome.md'" in question and "permanently" in question for question in person.questions)


@proves("ours: who declines or closes the question changes nothing, and a model hears that it is their answer")
@pytest.mark.parametrize(("answer", "told"), [(DECLINE, "declined"), (CANCEL, "closed the question")])
def test_who_does_not_agree_changes_nothing(
    asked: Callable[..., Asked], tagged: Path, answer: dict[str, Any], told: str
) -> None:
    person = asked(answer)
    if not person.can_be_asked:
        return
    before = files(tagged)
    for tool, arguments in (
        ("delete_note", {"path": "Welcome.md", "permanent": True}),
        ("rename", {"what": "tag", "old": "old", "new": "new"}),
        ("move_notes", {"paths": ["Many/"], "to": "Few/"}),
    ):
        result = person.call(tool, **arguments)
        text = result["content"][0]["text"]
        assert result["isError"] is False
        assert told in text
        assert "Nothing was changed" in text
        assert "errorCode" not in json.dumps(result)
        assert result.get("structuredContent", {"changed": False}).get("changed", False) is False
    assert files(tagged) == before
    assert len(person.questions) == 3


@proves("ours: a change of many notes is counted and asked about before anything is written, and so is its undo")
def test_many_notes_are_counted_first(asked: Callable[..., Asked], tagged: Path) -> None:
    person = asked(ACCEPT)
    done = person.call("rename", what="tag", old="old", new="new")
    assert all(b"#new" in (tagged / f"Many/{number:02}.md").read_bytes() for number in range(MANY))
    number = int(done["content"][0]["text"].partition('undo_changes {"changes":[')[2].partition("]")[0])
    person.call("undo_changes", changes=[number])
    assert all(b"#old" in (tagged / f"Many/{number:02}.md").read_bytes() for number in range(MANY))
    assert len(person.questions) == 2 * person.can_be_asked
    assert all(f"{MANY} notes" in question for question in person.questions)


@proves("ours: what can be checked afterwards, what goes to the trash and what only shows is not asked about")
def test_little_changes_and_dry_runs_are_not_asked_about(asked: Callable[..., Asked], tagged: Path) -> None:
    (tagged / "Many/00.md").write_text("One without.\n")
    person = asked(DECLINE)
    assert person.call("rename", what="tag", old="old", new="other")["isError"] is False
    assert person.call("delete_note", path="Welcome.md")["isError"] is False
    (tagged / "Many/00.md").write_text("One with. #other\n")
    assert "Dry run" in person.call("rename", what="tag", old="other", new="new", dry_run=True)["content"][0]["text"]
    assert person.questions == []
    assert not (tagged / "Welcome.md").exists()


@proves("ours: what is done is what the person agreed to, so they are asked again if the notes have changed meanwhile")
def test_a_note_that_changes_while_the_person_thinks_is_asked_about_again(
    asked: Callable[..., Asked], vault: Path
) -> None:
    note = vault / "Welcome.md"
    person = asked(ACCEPT, meanwhile=lambda: note.write_text("Other words.\n"))
    if not person.can_be_asked:
        return
    assert person.call("delete_note", path="Welcome.md", permanent=True)["isError"] is False
    assert len(person.questions) == 2
    assert not note.exists()


@proves("ours: a client that cannot show a form is served as ever")
@pytest.mark.parametrize("capabilities", [{}, {"elicitation": {"url": {}}}])
def test_a_client_that_cannot_ask_changes_at_once(
    connect: Callable[..., Client], door: Door, tagged: Path, capabilities: dict[str, Any]
) -> None:
    person = Asked(connect(capabilities=capabilities), DECLINE, door)
    assert person.call("rename", what="tag", old="old", new="new")["isError"] is False
    assert person.call("delete_note", path="Welcome.md", permanent=True)["isError"] is False
    assert person.questions == []
    assert not (tagged / "Welcome.md").exists()
