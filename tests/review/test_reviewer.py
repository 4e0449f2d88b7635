"""The façade of the desk: what it lists, shows and does with one vault."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from support.vaults import open_vault, write_vault
from vaultwire.review import Reviewer
from vaultwire.vault.caller import Caller
from vaultwire.vault.changes.change import Author, Write
from vaultwire.vault.errors import VaultError
from vaultwire.vault.value_types import NO_PROGRESS, VaultPath
from vaultwire.vault.vault import Vault

NOTE = "".join(f"line {number}\n" for number in range(20)).encode()


class Desk:
    """A vault with one note, an agent, and the person at the desk."""

    def __init__(self, folder: Path) -> None:
        self.root = write_vault(folder / "vault", "=== Other.md\nother\n")
        (self.root / "Plan.md").write_bytes(NOTE)
        self.vault = open_vault(self.root, state=folder / "state")
        self.agent = Caller("claude")
        person = Caller("you")
        person.is_person = True
        self.mine: Vault = self.vault.used_by(person, "desk")
        self.reviewer = Reviewer(self.mine)

    def edit(self, path: str, after: bytes | None, *more: tuple[str, bytes | None]) -> str:
        """Let the agent write files in one change; return the item's id."""
        bench = self.vault.used_by(self.agent, "edit_note")._bench
        with bench.locked(NO_PROGRESS):
            steps = [Write(VaultPath(each), self.at(each), data) for each, data in [(path, after), *more]]
            author = Author("claude", "edit_note", self.agent.session)
            return f"c{bench.changes.execute(steps, author).id}"

    def hold(self, path: str, after: bytes | None) -> str:
        author = Author("claude", "edit_note", self.agent.session)
        steps = [Write(VaultPath(path), self.at(path), after)]
        return f"p{self.vault.holding.proposals.add('write', author, steps, label='a wish').id}"

    def at(self, path: str) -> bytes | None:
        place = self.root / path
        return place.read_bytes() if place.exists() else None

    def state(self, id_: str) -> tuple[str, bool]:
        found = {item["id"]: item for item in self.reviewer.items(limit=500)["items"]}[id_]
        return found["state"], found["is_reviewed"]

    def hunk_states(self, id_: str, file: int = 0) -> list[str]:
        return [hunk["state"] for hunk in self.reviewer.item(id_)["files"][file]["hunks"]]

    def told(self) -> list[str]:
        return [each.text for each in self.vault.holding.decisions.all() if each.text]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def with_lines(data: bytes, *edits: tuple[bytes, bytes]) -> bytes:
    for before, after in edits:
        assert before in data
        data = data.replace(before, after)
    return data


TWO_HUNKS = with_lines(NOTE, (b"line 3\n", b"LINE 3\n"), (b"line 16\n", b"LINE 16\nmore\n"))


def test_the_list_has_changes_and_proposals_the_latest_first(desk: Desk) -> None:
    one = desk.edit("Plan.md", TWO_HUNKS)
    other = desk.hold("Other.md", b"wanted\n")
    found = desk.reviewer.items()
    assert [item["id"] for item in found["items"]] == [other, one]
    assert (found["waiting"], found["unreviewed"], found["total"], found["has_more"]) == (1, 1, 2, False)
    assert [item["summary"] for item in found["items"]] == ["edit Other.md", "edited Plan.md"]
    assert found["clients"] == [{"name": "claude", "count": 2}]
    assert [(each["id"], each["count"]) for each in found["sessions"]] == [(desk.agent.session, 2)]


def test_pages_and_filters(desk: Desk) -> None:
    ids = [desk.edit(f"Folder/Note {number}.md", b"red apple\n" if number == 2 else b"text\n") for number in range(5)]
    first = desk.reviewer.items(limit=2)
    assert [item["id"] for item in first["items"]] == ids[:2:-1]
    assert first["has_more"]
    second = desk.reviewer.items(limit=3, before=ids[3])
    assert [item["id"] for item in second["items"]] == ids[2::-1]
    assert not second["has_more"]
    asked: list[dict[str, Any]] = [{"text": "note 2"}, {"text": "RED app"}]
    for filters in asked:
        assert [item["id"] for item in desk.reviewer.items(**filters)["items"]] == [ids[2]]
    assert desk.reviewer.items(folder="Folder")["total"] == 5
    assert desk.reviewer.items(folder="Fold")["total"] == 0
    assert desk.reviewer.items(client="nobody")["total"] == 0
    assert desk.reviewer.items(session=desk.agent.session, kind="change", state="made", since="1d")["total"] == 5
    refused: list[dict[str, Any]] = [
        {"kind": "x"},
        {"state": "x"},
        {"since": "some day"},
        {"colour": "red"},
        {"before": "c99"},
        {"before": "x"},
    ]
    for wrong in refused:
        with pytest.raises(VaultError):
            desk.reviewer.items(**wrong)


def test_a_hunk_is_undone_and_later_edits_stay(desk: Desk) -> None:
    item = desk.edit("Plan.md", TWO_HUNKS)
    desk.edit("Plan.md", with_lines(TWO_HUNKS, (b"line 9\n", b"later\n")))
    done = desk.reviewer.decide(item, "undo", file=0, hunk=0)
    assert desk.at("Plan.md") == with_lines(TWO_HUNKS, (b"line 9\n", b"later\n"), (b"LINE 3\n", b"line 3\n"))
    assert desk.state(item) == ("undone in part", False)
    assert desk.hunk_states(item) == ["undone", "made"]
    (told,) = desk.told()
    assert told.startswith(f"The person undid a part of change {item[1:]} in 'Plan.md'")
    assert "-LINE 3\n+line 3\n" in told
    assert "LINE 16" not in told  # what is left of the change
    assert told.count("@@") == 2  # one hunk
    with pytest.raises(VaultError, match="was undone by change 3 already"):
        desk.reviewer.decide(item, "undo", file=0, hunk=0)
    desk.reviewer.decide(f"c{done['undo']}", "undo")
    assert desk.hunk_states(item) == ["made", "made"]
    assert desk.at("Plan.md") == with_lines(TWO_HUNKS, (b"line 9\n", b"later\n"))


def test_all_hunks_undone_one_by_one_give_the_first_bytes(desk: Desk) -> None:
    before = b"\xef\xbb\xbf" + NOTE.replace(b"\n", b"\r\n")
    (desk.root / "Plan.md").write_bytes(before)
    item = desk.edit("Plan.md", TWO_HUNKS)
    desk.reviewer.decide(item, "undo", file=0, hunk=1)
    assert desk.at("Plan.md") == with_lines(TWO_HUNKS, (b"LINE 16\nmore\n", b"line 16\r\n"))
    desk.reviewer.decide(item, "undo", file=0, hunk=0)
    assert desk.at("Plan.md") == before
    assert desk.state(item) == ("undone", True)


def test_what_is_left_of_a_change_is_undone_after_a_part(desk: Desk) -> None:
    item = desk.edit("Plan.md", TWO_HUNKS, ("Other.md", b"edited\n"), ("New.md", b"new\n"))
    desk.reviewer.decide(item, "undo", file=0, hunk=0)
    desk.reviewer.decide(item, "undo", file=2)
    assert desk.at("New.md") is None
    done = desk.reviewer.decide(item, "undo")
    assert [desk.at("Plan.md"), desk.at("Other.md"), desk.at("New.md")] == [NOTE, b"other\n", None]
    assert desk.state(item) == ("undone", True)
    desk.reviewer.decide(f"c{done['undo']}", "undo")
    assert desk.at("Plan.md") == with_lines(TWO_HUNKS, (b"LINE 3\n", b"line 3\n"))
    assert desk.at("Other.md") == b"edited\n"
    assert desk.hunk_states(item) == ["undone", "made"]


def test_keeping_all_hunks_keeps_the_change(desk: Desk) -> None:
    item = desk.edit("Plan.md", TWO_HUNKS)
    desk.reviewer.decide(item, "keep", file=0, hunk=0)
    assert (desk.state(item), desk.hunk_states(item)) == (("made", False), ["kept", "made"])
    desk.reviewer.decide(item, "keep", file=0, hunk=1)
    assert desk.state(item) == ("made", True)
    desk.reviewer.decide(item, "unkeep")
    assert desk.state(item) == ("made", False)
    assert desk.told() == []


def test_a_dry_run_says_what_depends_on_a_change_and_changes_nothing(desk: Desk) -> None:
    item = desk.edit("Plan.md", TWO_HUNKS)
    other = desk.edit("Other.md", b"edited\n")
    later = desk.edit("Plan.md", with_lines(TWO_HUNKS, (b"LINE 3\n", b"again\n")))
    found = desk.reviewer.decide_many(ids=[item, other], action="undo", dry_run=True)
    assert [(each["id"], each["changes"]) for each in found["conflicts"]] == [(item, [later])]
    assert "changed again since, at line 4" in found["conflicts"][0]["words"]
    assert found["possible"] == [other]
    with pytest.raises(VaultError) as caught:
        desk.reviewer.decide(item, "undo", file=0, hunk=0)
    assert [each["changes"] for each in caught.value.details["conflicts"]] == [[later]]
    detail = desk.reviewer.item(item)
    assert (detail["can_undo"], detail["blocked_by"]) == (False, [later])
    assert len(desk.vault.history.changes()) == 3
    would = desk.reviewer.decide(item, "undo", file=0, hunk=1, dry_run=True)
    assert would["message"].endswith("would edit Plan.md. What was edited elsewhere since then stays.")


def test_a_session_and_all_since_a_time_are_undone(desk: Desk) -> None:
    desk.edit("Plan.md", TWO_HUNKS)
    desk.edit("Other.md", b"edited\n")
    desk.reviewer.decide("c1", "undo", file=0, hunk=0)
    desk.reviewer.decide_many(session=desk.agent.session, action="undo")
    assert (desk.at("Plan.md"), desk.at("Other.md")) == (NOTE, b"other\n")
    desk.reviewer.decide("c4", "undo")
    desk.reviewer.decide_many(since="1d", action="undo")
    assert (desk.at("Plan.md"), desk.at("Other.md")) == (NOTE, b"other\n")
    assert desk.state("c1")[0] == "undone"


def test_a_proposal_is_accepted_edited_and_its_change_is_the_same_item(desk: Desk) -> None:
    (desk.root / "Plan.md").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    item = desk.hold("Plan.md", b"\xef\xbb\xbfone\r\nTWO\r\n")
    assert desk.reviewer.text(item, 0)["text"] == "one\nTWO\n"
    shown = desk.reviewer.preview(item, 0, "one\n2\n")["file"]
    assert (shown["added"], shown["removed"]) == (1, 1)
    done = desk.reviewer.decide(item, "accept", edited={"0": "one\n2\n"})
    assert desk.at("Plan.md") == b"\xef\xbb\xbfone\r\n2\r\n"
    assert [each["id"] for each in desk.reviewer.items()["items"]] == [item]
    assert desk.reviewer.item(f"c{done['change']}")["id"] == item
    assert desk.state(item) == ("accepted as edited", True)
    with pytest.raises(VaultError, match="accepted already"):
        desk.reviewer.decide(item, "refuse")
    desk.reviewer.decide(item, "undo")
    assert desk.at("Plan.md") == b"\xef\xbb\xbfone\r\ntwo\r\n"
    assert desk.state(item) == ("undone", True)
    assert len(desk.told()) == 2


def test_a_stale_proposal_shows_both_and_is_not_accepted(desk: Desk) -> None:
    item = desk.hold("Other.md", b"wanted\n")
    (desk.root / "Other.md").write_bytes(b"by hand\n")
    assert desk.state(item) == ("stale", False)
    (file,) = desk.reviewer.item(item)["files"]
    texts = {row["kind"]: "".join(part["t"] for part in row["parts"]) for row in file["now"]["hunks"][0]["rows"]}
    assert "other" in str(texts)
    assert "by hand" in str(file["now"]["hunks"])
    assert "wanted" in str(file["hunks"])
    assert desk.reviewer.items(state="stale")["total"] == 1
    for dry_run in (True, False):
        with pytest.raises(VaultError) as caught:
            desk.reviewer.decide(item, "accept", dry_run=dry_run)
        assert caught.value.code == "STALE_EDIT"
    assert desk.at("Other.md") == b"by hand\n"
    desk.reviewer.decide(item, "refuse", reason="I was faster.")
    assert desk.told()[-1].startswith("The person refused proposal 1 (edit 'Other.md').")


def test_a_hunk_of_a_file_that_moved_since_is_undone_where_it_is_now(desk: Desk) -> None:
    item = desk.edit("Plan.md", TWO_HUNKS)
    desk.vault.used_by(desk.agent, "move_notes").arranging.move("Plan.md", "Folder/New.md", NO_PROGRESS, dry_run=False)
    desk.reviewer.decide(item, "undo", file=0, hunk=1)
    assert desk.at("Folder/New.md") == with_lines(TWO_HUNKS, (b"LINE 16\nmore\n", b"line 16\n"))
    assert desk.at("Plan.md") is None


def test_a_lost_log_of_decisions_loses_no_note(desk: Desk) -> None:
    item = desk.edit("Plan.md", TWO_HUNKS)
    done = desk.reviewer.decide(item, "undo", file=0, hunk=0)
    (journal,) = (desk.root.parent / "state").rglob("journal.sqlite3")
    with closing(sqlite3.connect(journal, isolation_level=None)) as connection:
        assert connection.execute("DELETE FROM decisions").rowcount
    again = Reviewer(desk.mine)
    assert [each["id"] for each in again.items()["items"]] == [f"c{done['change']}", item]
    with pytest.raises(VaultError, match=r"Nothing is left|changed again"):
        again.decide(item, "undo", file=0, hunk=0)
    again.decide(f"c{done['change']}", "undo")
    assert desk.at("Plan.md") == TWO_HUNKS


def test_wrong_input_is_refused_in_words(desk: Desk) -> None:
    item, wish = desk.edit("Plan.md", TWO_HUNKS), desk.hold("Other.md", b"x\n")
    wrong: list[tuple[str, str, dict[str, Any]]] = [
        ("c9", "undo", {}),
        ("9", "undo", {}),
        (item, "explode", {}),
        (item, "accept", {}),
        (wish, "undo", {}),
        (item, "undo", {"file": 1}),
        (item, "undo", {"file": 0, "hunk": 2}),
        (item, "undo", {"hunk": 0}),
        (wish, "accept", {"edited": {"1": "x"}}),
        (wish, "accept", {"file": 1}),
        (wish, "accept", {"file": 0, "hunk": 1}),
        (wish, "refuse", {"file": 0}),
    ]
    for id_, action, more in wrong:
        with pytest.raises(VaultError):
            desk.reviewer.decide(id_, action, **more)
    with pytest.raises(VaultError, match="Give one of"):
        desk.reviewer.decide_many(action="undo")
    assert (desk.at("Plan.md"), desk.at("Other.md")) == (TWO_HUNKS, b"other\n")


def test_folded_lines_have_the_numbers_of_both_texts(desk: Desk) -> None:
    item = desk.edit("Plan.md", with_lines(NOTE, (b"line 3\n", b"a\nb\n")))
    rows = desk.reviewer.lines(item, 0, 3, 7)["rows"]
    assert [(row["old"], row["new"], row["parts"][0]["t"]) for row in rows] == [
        (3, 3, "line 2"),
        (5, 6, "line 4"),
        (6, 7, "line 5"),
    ]


def test_all_since_a_time_is_undone_where_a_part_and_then_the_rest_were(desk: Desk) -> None:
    desk.edit("Plan.md", TWO_HUNKS, ("Other.md", b"edited\n"))
    desk.reviewer.decide("c1", "undo", file=0, hunk=0)
    desk.reviewer.decide("c1", "undo")
    desk.edit("Other.md", b"later\n")
    desk.reviewer.decide_many(since="1d", action="undo")
    assert (desk.at("Plan.md"), desk.at("Other.md")) == (NOTE, b"other\n")


def test_a_client_that_calls_itself_as_the_person_is_none(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    bench = desk.vault.used_by(Caller("you"), "edit_note")._bench
    with bench.locked(NO_PROGRESS):
        author = Author("you", "edit_note", "another")
        made = bench.changes.execute([Write(VaultPath("Plan.md"), NOTE, NOTE + b"more\n")], author)
    assert desk.state(f"c{made.id}") == ("made", False)
    assert desk.reviewer.items()["unreviewed"] == 1
    desk.reviewer.decide(f"c{made.id}", "undo")
    assert len(desk.told()) == 1
    assert desk.state(f"c{made.id + 1}") == ("made", True)


def test_a_name_that_turns_its_letters_around_is_shown_as_it_is(desk: Desk) -> None:
    desk.edit("Plan\u202ednik.md", b"x\n")
    [item] = desk.reviewer.items()["items"]
    assert item["summary"] == "created Plan[U+202E right-to-left override]dnik.md"
    assert item["files"][0]["path"] == "Plan\u202ednik.md"


def test_of_proposals_on_one_note_all_are_accepted_or_none(desk: Desk) -> None:
    one, other = desk.hold("Plan.md", b"one\n" + NOTE[7:]), desk.hold("Plan.md", b"other\n" + NOTE[7:])
    third = desk.hold("Other.md", b"third\n")
    with pytest.raises(VaultError) as refused:
        desk.reviewer.decide_many(ids=[third, other, one], action="accept")
    assert refused.value.details["possible"] == [third, one]
    assert (desk.at("Plan.md"), desk.at("Other.md")) == (NOTE, b"other\n")
    desk.reviewer.decide_many(ids=[third, one], action="accept")
    assert (desk.at("Plan.md"), desk.at("Other.md")) == (b"one\n" + NOTE[7:], b"third\n")
    assert desk.state(other)[0] == "stale"


def test_the_undo_of_a_created_file_removes_its_new_folder_and_no_other(desk: Desk) -> None:
    (desk.root / "Old").mkdir()
    item = desk.edit("Plan.md", TWO_HUNKS, ("New/Deep/A.md", b"a\n"), ("New/B.md", b"b\n"), ("Old/C.md", b"c\n"))
    desk.reviewer.decide(item, "undo", file=2)
    assert (desk.root / "New" / "Deep" / "A.md").exists()
    done = desk.reviewer.decide(item, "undo", file=1)
    assert not (desk.root / "New").exists()
    desk.reviewer.decide(item, "undo", file=3)
    assert list((desk.root / "Old").iterdir()) == []
    desk.reviewer.decide(f"c{done['undo']}", "undo")
    assert desk.at("New/Deep/A.md") == b"a\n"


def test_the_agents_own_undo_is_told_that_the_person_undid_a_part(desk: Desk) -> None:
    item = desk.edit("Plan.md", TWO_HUNKS)
    done = desk.reviewer.decide(item, "undo", file=0, hunk=0)
    history = desk.vault.used_by(desk.agent, "undo_changes").history
    with pytest.raises(VaultError) as caught:
        history.undo([1], "", NO_PROGRESS, dry_run=False)
    assert caught.value.message == (
        f"The person undid a part of change 1 with change {done['undo']}. Do not undo change {done['undo']}: "
        "if the rest must go, too, edit the notes themselves. Nothing was changed."
    )
    assert caught.value.details["changes"] == [done["undo"]]
    desk.edit("Plan.md", with_lines(desk.at("Plan.md") or b"", (b"LINE 16\n", b"mine\n")))
    with pytest.raises(VaultError, match=r"by change 2, 3\. Undo those first.* Do not undo change 2"):
        history.undo([1], "", NO_PROGRESS, dry_run=False)
