"""Several proposals on one note: what each accepted one does to the bytes, whatever was decided or written before it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import count, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.vaults import open_vault, write_vault
from vaultwire.markdown.diffs import differences, lines_of
from vaultwire.review import Reviewer
from vaultwire.trust.policy_rules import ReviewRule, ReviewRules
from vaultwire.vault.caller import Caller
from vaultwire.vault.changes.change import Author, Write
from vaultwire.vault.errors import VaultError
from vaultwire.vault.holding.review_mode import Held
from vaultwire.vault.value_types import NO_PROGRESS
from vaultwire.vault.vault import Vault


class Desk:
    """A vault in which every change of an agent waits."""

    def __init__(self, folder: Path, text: str) -> None:
        self.plan = write_vault(folder / "vault", "=== Other.md\nother\n") / "Plan.md"
        self.plan.write_bytes(text.encode())
        self.vault = open_vault(self.plan.parent, state=folder / "state")
        self.vault._bench.review = ReviewRules([ReviewRule("hold")])
        person = Caller("you")
        person.is_person = True
        self.reviewer = Reviewer(self.vault.used_by(person, "desk"))
        self.agents = [Caller("claude"), Caller("claude")]

    def used_by(self, agent: int) -> Vault:
        return self.vault.used_by(self.agents[agent], "edit_note")

    def propose(self, agent: int, text: str, path: str = "Plan.md") -> str:
        with pytest.raises(Held) as held:
            self.used_by(agent).writing.write(path, text, "overwrite")
        self.said = str(held.value)
        return f"p{self.vault.holding.waiting()[-1].id}"

    def append(self, agent: int, line: str) -> str:
        return self.propose(agent, self.used_by(agent).read("Plan").text + line)

    def accept(self, item: str, file: int | None = None, hunk: int | None = None) -> None:
        """Accept what is shown now."""
        self.reviewer.decide(item, "accept", basis=self.reviewer.item(item)["basis"], file=file, hunk=hunk)

    def decide_next(self) -> None:
        self.accept(f"p{self.vault.holding.waiting()[0].id}")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path, "one\ntwo\nthree\n")


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
@pytest.mark.parametrize("agents", [(0, 0, 0), (0, 1, 0)])
def test_lines_added_by_three_calls_are_all_accepted(
    desk: Desk, agents: tuple[int, ...], order: tuple[int, ...]
) -> None:
    items = [desk.append(agent, f"- {number}\n") for number, agent in enumerate(agents)]
    for number in order:
        desk.accept(items[number])
    lines = desk.plan.read_text().splitlines()
    assert lines[:3] == ["one", "two", "three"]
    assert sorted(lines[3:]) == ["- 0", "- 1", "- 2"]


def test_one_of_three_is_refused_and_nothing_of_it_is_written(desk: Desk) -> None:
    first, second, third = [desk.append(0, f"- {number}\n") for number in range(3)]
    assert desk.said.endswith("It builds on your proposals 1, 2.")
    desk.reviewer.decide(first, "refuse")
    desk.accept(third)
    desk.accept(second)
    assert desk.plan.read_text() == "one\ntwo\nthree\n- 2\n- 1\n"


def test_a_real_overlap_is_stale_and_edited_from_both(desk: Desk) -> None:
    item = desk.propose(0, "one\nTWO\nthree\n")
    desk.plan.write_text("one\nzwei\nthree\n")
    shown = desk.reviewer.item(item)
    assert shown["state"] == "stale"
    assert "line 2" in shown["conflict"]
    assert shown["files"][0]["can_edit"]
    both = desk.reviewer.text(item, 0)
    assert (both["text"], both["overlaps"]) == ("one\nzwei\nTWO\nthree\n", [[2, 3]])
    preview = desk.reviewer.preview(item, 0, "one\nzwei, TWO\nthree\n")["file"]
    assert (preview["added"], preview["removed"]) == (1, 1)
    with pytest.raises(VaultError, match="while you looked"):
        desk.reviewer.decide(item, "accept", edited={"0": "one\nzwei, TWO\nthree\n"})
    desk.reviewer.decide(item, "accept", edited={"0": "one\nzwei, TWO\nthree\n"}, basis=shown["basis"])
    assert desk.plan.read_text() == "one\nzwei, TWO\nthree\n"


def test_what_was_not_shown_is_not_accepted(desk: Desk) -> None:
    item = desk.append(0, "four\n")
    basis = desk.reviewer.item(item)["basis"]
    desk.plan.write_text("zero\none\ntwo\nthree\n")
    with pytest.raises(VaultError, match="while you looked"):
        desk.reviewer.decide(item, "accept", basis=basis)
    desk.accept(item)
    assert desk.plan.read_text() == "zero\none\ntwo\nthree\nfour\n"


def test_properties_that_both_set_overlap_though_their_lines_do_not(desk: Desk) -> None:
    desk.plan.write_text("---\ntags: [a]\n---\ntext\n")
    one = desk.propose(0, "---\ntags: [a]\nstatus: done\n---\ntext\n")
    other = desk.propose(1, "---\ntags: [a]\nstatus: open\n---\ntext\n")
    third = desk.propose(1, "---\ntags: [a]\nstatus: open\n---\ntext\nmore\n")
    desk.accept(one)
    assert desk.reviewer.item(other)["state"] == "stale"
    desk.accept(third)
    assert desk.plan.read_text() == "---\ntags: [a]\nstatus: done\n---\ntext\nmore\n"


def test_a_held_new_note_is_read_edited_and_named_by_its_session_alone(desk: Desk) -> None:
    first = desk.propose(0, "begun\n", "Deep/New note.md")
    note = desk.used_by(0).read("New note")
    assert (note.path, note.text, note.waits_as) == ("Deep/New note.md", "begun\n", 1)
    with pytest.raises(VaultError, match="No note"):
        desk.used_by(1).read("New note")
    with pytest.raises(VaultError, match="No note"):
        desk.vault.read("New note")
    with pytest.raises(Held, match="builds on your proposal 1"):
        desk.used_by(0).writing.write("New note", "more\n", "append")
    second = "p2"
    with pytest.raises(VaultError, match="is not there"):
        desk.accept(second)
    desk.reviewer.decide_many(action="accept", ids=[second, first])
    assert (desk.plan.parent / "Deep/New note.md").read_text() == "begun\nmore\n"
    assert desk.used_by(0).read("New note").waits_as == 0


def test_a_held_move_is_followed_by_its_session(desk: Desk) -> None:
    with pytest.raises(Held):
        desk.used_by(0).arranging.move("Plan.md", "Done/Plan.md", NO_PROGRESS, dry_run=False)
    with pytest.raises(Held):
        desk.used_by(0).writing.write("Plan", "four\n", "append")
    desk.decide_next()
    desk.decide_next()
    assert (desk.plan.parent / "Done/Plan.md").read_text() == "one\ntwo\nthree\nfour\n"


class HeldFolder(Desk):
    """A folder ``Old`` with notes, a subfolder and an attachment, whose move to ``Done/New`` waits as proposal 1."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "[[Old/A]] and [[Old/In/B]]\n")
        write_vault(self.plan.parent, "=== Old/A.md\na [[B]]\n=== Old/In/B.md\nb\n=== Old/pic.png\nPNG\n")
        with pytest.raises(Held):
            self.used_by(0).arranging.move("Old", "Done/New", NO_PROGRESS, dry_run=False)

    def listed(self, agent: int, folder: str = "") -> list[str]:
        return [note.path for note in self.used_by(agent).overview.list_notes(folder).all()]

    def tree(self) -> dict[str, bytes]:
        root = self.plan.parent
        return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*.*")}


@pytest.fixture
def held_folder(tmp_path: Path) -> HeldFolder:
    return HeldFolder(tmp_path)


@pytest.mark.parametrize("name", ["Done/New/A", "done/new/a.md", "A", "[[Done/New/A]]"])
def test_a_note_in_a_held_folder_move_is_read_at_its_new_place_by_its_session_alone(
    held_folder: HeldFolder, name: str
) -> None:
    note = held_folder.used_by(0).read(name)
    assert (note.path, note.text, note.waits_as) == ("Done/New/A.md", "a [[B]]\n", 1)
    assert held_folder.used_by(0).read("Plan").text == "[[A]] and [[B]]\n"
    for vault in (held_folder.used_by(1), held_folder.vault):
        assert vault.read("A").path == "Old/A.md"
        with pytest.raises(VaultError, match="No note"):
            vault.read("Done/New/A")


@pytest.mark.parametrize("gone", ["Old/A", "Old/In/B.md"])
def test_the_old_place_is_free_for_its_session_and_the_error_names_the_new_one(
    held_folder: HeldFolder, gone: str
) -> None:
    new = gone.removesuffix(".md").replace("Old", "Done/New")
    with pytest.raises(VaultError) as error:
        held_folder.used_by(0).read(gone)
    assert new in error.value.message
    with pytest.raises(VaultError, match="no folder 'Old'"):
        held_folder.listed(0, "Old")


def test_a_held_folder_is_listed_where_it_will_be(held_folder: HeldFolder) -> None:
    assert held_folder.listed(0) == ["Done/New/A.md", "Done/New/In/B.md", "Other.md", "Plan.md"]
    assert held_folder.listed(0, "Done/New/In") == ["Done/New/In/B.md"]
    assert held_folder.listed(1) == ["Old/A.md", "Old/In/B.md", "Other.md", "Plan.md"]
    assert "Done/New/pic.png" in held_folder.used_by(0).overview.paths()
    pic = held_folder.used_by(0).find_attachment("pic.png")
    assert pic == "Done/New/pic.png"
    assert held_folder.used_by(0).read_attachment(pic).data == b"PNG\n"


def test_links_lead_where_the_files_of_a_held_folder_will_be(held_folder: HeldFolder) -> None:
    _, links = held_folder.used_by(0).links("Plan")
    assert [link.target for link in links] == ["Done/New/A.md", "Done/New/In/B.md"]
    path, links = held_folder.used_by(0).links("Done/New/A")
    assert (path, [link.target for link in links]) == ("Done/New/A.md", ["Done/New/In/B.md"])
    backlinks = held_folder.used_by(0).backlinks("B").all()
    assert [(link.source, link.text) for link in backlinks] == [
        ("Done/New/A.md", "a [[B]]"),
        ("Plan.md", "[[A]] and [[B]]"),
    ]
    _, links = held_folder.used_by(1).links("Plan")
    assert [link.target for link in links] == ["Old/A.md", "Old/In/B.md"]


def test_what_builds_on_a_held_folder_waits_and_is_accepted_after_it(held_folder: HeldFolder) -> None:
    """Also where a rule would let the second change through: else it would take the folder's place."""
    held_folder.vault._bench.review = ReviewRules([ReviewRule("hold", tools=("move_notes",))])
    with pytest.raises(Held, match="builds on your proposal 1"):
        held_folder.used_by(0).writing.write("A", "more\n", "append")
    with pytest.raises(Held, match="builds on your proposal 1"):
        held_folder.used_by(0).writing.write("done/new/C.md", "c\n", "create")
    with pytest.raises(Held, match="builds on your proposals 1, 2"):
        held_folder.used_by(0).arranging.move("Done/New/A.md", "Plans/A.md", NO_PROGRESS, dry_run=False)
    assert held_folder.used_by(0).read("A").text == "a [[B]]\nmore\n"
    assert held_folder.listed(0) == ["Done/New/C.md", "Done/New/In/B.md", "Other.md", "Plan.md", "Plans/A.md"]
    before = held_folder.tree()
    for item in ("p2", "p3", "p4"):
        with pytest.raises(VaultError, match="cannot be accepted as it is"):
            held_folder.accept(item)
    assert held_folder.tree() == before
    for _ in range(4):
        held_folder.decide_next()
    assert held_folder.tree() == {
        "Other.md": b"other\n",
        "Plan.md": b"[[A]] and [[B]]\n",
        "Done/New/C.md": b"c\n",
        "Done/New/In/B.md": b"b\n",
        "Done/New/pic.png": b"PNG\n",
        "Plans/A.md": b"a [[B]]\nmore\n",
    }


def test_a_held_folder_is_not_moved_a_second_time(held_folder: HeldFolder) -> None:
    with pytest.raises(VaultError, match="'Done/New' waits as proposal 1"):
        held_folder.used_by(0).arranging.move("Done/New", "Elsewhere", NO_PROGRESS, dry_run=False)
    with pytest.raises(VaultError, match="exists already"):
        held_folder.used_by(0).arranging.move("Plan.md", "Done/New/A.md", NO_PROGRESS, dry_run=False)


@pytest.mark.parametrize("how", ["refused", "withdrawn", "taken", "gone"])
def test_a_folder_move_that_will_not_be_made_is_not_seen(held_folder: HeldFolder, how: str) -> None:
    """Refused or given up, or stale because another folder is there by now, or the folder is gone."""
    root = held_folder.plan.parent
    if how == "refused":
        held_folder.reviewer.decide("p1", "refuse")
    elif how == "withdrawn":
        held_folder.vault.holding.withdraw(1)
    elif how == "taken":
        write_vault(root, "=== Done/New/D.md\nd\n")
    else:
        (root / "Old").rename(root / "Away")
    if how in ("taken", "gone"):
        assert held_folder.reviewer.item("p1")["state"] == "stale"
    assert held_folder.listed(0) == held_folder.listed(1)
    note = held_folder.used_by(0).read("A")
    assert (note.path, note.waits_as) == ("Away/A.md" if how == "gone" else "Old/A.md", 0)


def test_notes_that_come_into_a_folder_whose_move_waits_move_with_it(held_folder: HeldFolder) -> None:
    write_vault(held_folder.plan.parent, "=== Old/Late.md\nlate\n")
    assert held_folder.used_by(0).read("Late").path == "Done/New/Late.md"
    held_folder.accept("p1")
    assert held_folder.tree()["Done/New/Late.md"] == b"late\n"
    assert held_folder.used_by(0).read("Late").waits_as == 0


def test_a_held_note_moves_with_its_folder(desk: Desk) -> None:
    write_vault(desk.plan.parent, "=== Old/A.md\na\n")
    desk.propose(0, "new\n", "Old/In/New.md")
    with pytest.raises(Held, match="proposal 2"):
        desk.used_by(0).arranging.move("Old", "Done", NO_PROGRESS, dry_run=False)
    assert desk.used_by(0).read("New").path == "Done/In/New.md"
    desk.decide_next()
    desk.decide_next()
    assert (desk.plan.parent / "Done/In/New.md").read_text() == "new\n"


def test_an_edit_follows_a_note_that_was_moved_since(desk: Desk) -> None:
    item = desk.append(0, "four\n")
    person = Caller("you")
    person.is_person = True
    desk.vault.used_by(person, "move_notes").arranging.move("Plan.md", "Done/Plan.md", NO_PROGRESS, dry_run=False)
    desk.accept(item)
    assert (desk.plan.parent / "Done/Plan.md").read_text() == "one\ntwo\nthree\nfour\n"


def test_one_file_of_a_proposal_is_accepted_and_the_others_wait_on(desk: Desk) -> None:
    steps = [
        Write(desk.vault.locate(name), before, after)
        for name, before, after in [("Plan", desk.plan.read_bytes(), b"plan\n"), ("Other", b"other\n", b"OTHER\n")]
    ]
    desk.vault.holding.hold("write", Author("claude", "edit_note", "5e55"), steps)
    done = desk.reviewer.decide("p1", "accept", file=1)
    assert (done["rest"], desk.plan.read_text()) == ("p2", "one\ntwo\nthree\n")
    assert "a part of proposal 1 (edit 'Other.md')" in desk.vault.holding.decisions.all()[-1].text
    desk.accept("p2")
    assert desk.plan.read_text() == "plan\n"


@settings(max_examples=30)
@given(st.randoms(use_true_random=False), st.booleans())
def test_any_sequence_of_proposals_and_decisions_keeps_every_line_in_its_place(
    draw: random.Random, is_ended: bool
) -> None:
    with TemporaryDirectory() as folder:
        fresh = (f"line {number}\n" for number in count())
        text = "".join(next(fresh) for _ in range(8))
        desk = Desk(Path(folder), text if is_ended else text[:-1])
        for _ in range(draw.randrange(4, 16)):
            waiting = [f"p{each.id}" for each in desk.vault.holding.waiting()]
            action = draw.choice(["propose", "propose", "propose", "accept", "accept", "part", "refuse", "by hand"])
            if action == "propose":
                agent = draw.randrange(2)
                seen = desk.used_by(agent).read("Plan").text
                after = changed(draw, seen, fresh)
                if after != seen:
                    desk.propose(agent, after)
            elif action == "by hand":
                desk.plan.write_bytes(changed(draw, desk.plan.read_bytes().decode(), fresh).encode())
            elif waiting and action == "refuse":
                before = desk.plan.read_bytes()
                desk.reviewer.decide(draw.choice(waiting), "refuse")
                assert desk.plan.read_bytes() == before
            elif waiting:
                check_accepting(desk, draw.choice(waiting), draw if action == "part" else None)


def changed(draw: random.Random, text: str, fresh: Iterator[str]) -> str:
    """Change a text in one to three places: add lines, replace or remove one."""
    lines = lines_of(text)
    for _ in range(draw.randrange(1, 4)):
        place = draw.choice([len(lines), draw.randrange(len(lines) + 1)])
        if lines and place == len(lines) and not lines[-1].endswith("\n"):
            lines[-1] += "\n"
        cut = draw.choice([0, 0, 1])
        lines[place : place + cut] = [next(fresh) for _ in range(draw.choice([1, 1, 2, 1 - cut]))]
    return "".join(lines)


def check_accepting(desk: Desk, item: str, draw: random.Random | None) -> None:
    """Accept a proposal, or one hunk of it, and check the bytes against what it was made from."""
    proposal = desk.vault.holding.proposals.get(int(item[1:]))
    assert proposal is not None
    (step,) = proposal.steps
    assert isinstance(step, Write)
    old, new = lined(step.before), lined(step.after)
    before = lined(desk.plan.read_bytes())
    removed, added, touched = set(old) - set(new), set(new) - set(old), set()
    for each in differences(old, new):
        touched |= set(old[max(0, each.start - 1) : each.end + 1])
    shown = desk.reviewer.item(item)
    if shown["state"] == "stale":
        assert not touched <= set(before), "stale though all that it touches is there"
        return
    wanted = lined(desk.reviewer.text(item, 0)["text"].encode())
    hunks = shown["files"][0]["hunks"]
    if draw is None or not hunks:
        desk.accept(item)
        after = lined(desk.plan.read_bytes())
        assert after == wanted, "what was shown"
        assert set(after) == (set(before) - removed) | added
        assert len(after) == len(set(after))
    else:
        desk.accept(item, file=0, hunk=draw.randrange(len(hunks)))
        after = lined(desk.plan.read_bytes())
        assert set(before) - removed <= set(after) <= set(before) | added
        if len(hunks) > 1:
            rest = f"p{max(each.id for each in desk.vault.holding.waiting())}"
            assert lined(desk.reviewer.text(rest, 0)["text"].encode()) == wanted, "the rest is what it was"
    kept = [line for line in after if line in before]
    assert [line for line in before if line in after] == kept
    assert all(one != other for one, other in pairwise(after))


def lined(data: bytes | None) -> list[str]:
    """Return the lines, each with an end."""
    return [line.rstrip("\n") + "\n" for line in lines_of((data or b"").decode())]
