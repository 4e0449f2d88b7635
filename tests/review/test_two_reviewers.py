"""Two processes decide the same item at once: one wins, the other gets a clear error, and no note is changed twice."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from review.test_reviewer import NOTE, TWO_HUNKS, Desk

DECIDE = """
import sys
from pathlib import Path
from support.vaults import open_vault
from vaultwire.review import Reviewer
from vaultwire.vault.caller import Caller
from vaultwire.vault.errors import VaultError
root, state, id_, action, file, hunk = sys.argv[1:]
person = Caller("you")
person.is_person = True
reviewer = Reviewer(open_vault(Path(root), state=Path(state)).used_by(person, "desk"))
reviewer.items()
print("ready", flush=True)
sys.stdin.readline()
part = {"file": int(file), "hunk": int(hunk)} if file else {}
try:
    print("done", reviewer.decide(id_, action, **part)["message"])
except VaultError as error:
    print(error.code, error.message)
"""


def race(desk: Desk, id_: str, action: str, file: str = "", hunk: str = "") -> list[str]:
    tests = Path(__file__).parents[1]
    state = desk.root.parent / "state"
    arguments = [str(desk.root), str(state), id_, action, file, hunk]
    both = [
        subprocess.Popen(
            [sys.executable, "-c", DECIDE, *arguments],
            cwd=tests,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for each in both:
        assert each.stdout is not None
        assert each.stdout.readline() == "ready\n"
    for each in both:
        assert each.stdin is not None
        each.stdin.write("go\n")
        each.stdin.flush()
    return sorted((each.communicate()[0] for each in both), key=lambda said: not said.startswith("done"))


def test_one_of_two_undos_of_a_hunk_wins(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    item = desk.edit("Plan.md", TWO_HUNKS)
    won, lost = race(desk, item, "undo", "0", "0")
    assert won.startswith("done Undid a hunk")
    assert "was undone by change 2 already" in lost
    assert len(desk.vault.history.changes()) == 2


def test_one_of_two_undos_of_a_change_wins(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    won, lost = race(desk, desk.edit("Plan.md", TWO_HUNKS), "undo")
    assert won.startswith("done Undid change 1")
    assert "was undone by change 2 already" in lost
    assert desk.at("Plan.md") == NOTE


def test_one_of_two_acceptances_wins(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    won, lost = race(desk, desk.hold("Other.md", b"wanted\n"), "accept")
    assert won.startswith("done Accepted proposal 1")
    assert "was accepted already" in lost
    assert len(desk.vault.history.changes()) == 1
