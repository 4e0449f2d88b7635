"""The rules for changes that the person wants to see first: their file, what they match, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.calls import DESCRIPTIONS
from vaultwire.trust.policy_explained import describe
from vaultwire.trust.policy_file import PolicyError, load_policy
from vaultwire.trust.review_rules import ReviewRules
from vaultwire.vault.holding.review_mode import PlannedChange

RULES = """
[[review]]
mode = "record"
clients = ["trusted"]

[[review]]
mode = "hold"
folders = ["/Journal/"]

[[review]]
mode = "ask"
clients = ["curious"]

[[review]]
mode = "hold"
tools = ["move-note", "write_*"]

[[review]]
mode = "ask"
above_notes = 3
above_bytes = 100
"""


def rules(folder: Path, text: str) -> ReviewRules:
    (folder / "policy.toml").write_text(text, encoding="utf-8")
    found = load_policy(str(folder / "policy.toml"), DESCRIPTIONS).review
    assert found is not None
    return found


PLANNED = PlannedChange("someone", "", "edit_note", ("A.md",), 1, 10)


@pytest.mark.parametrize(
    ("planned", "mode"),
    [
        (PLANNED, "record"),
        (PLANNED._replace(paths=("A.md", "journal/Day.md")), "hold"),
        (PLANNED._replace(paths=("Journal",)), "hold"),
        (PLANNED._replace(paths=("Journals/Day.md",)), "record"),
        (PLANNED._replace(tool="move_note"), "hold"),
        (PLANNED._replace(tool="move_notes"), "hold"),
        (PLANNED._replace(tool="create_note"), "hold"),  # it can do what write_note does
        (PLANNED._replace(notes=4), "record"),
        (PLANNED._replace(notes=4, written=101), "ask"),
        (PLANNED._replace(notes=3, written=101), "record"),
        # A client without a key is who it says; with one, its own name can only make the answer stricter.
        (PLANNED._replace(client="trusted", tool="move_note"), "record"),
        (PLANNED._replace(client="trusted", principal="key", tool="move_note"), "hold"),
        (PLANNED._replace(client="x", principal="trusted", tool="move_note"), "record"),
        (PLANNED._replace(client="curious", principal="trusted"), "ask"),
        (PLANNED._replace(client="x", principal="curious"), "ask"),
    ],
)
def test_the_first_table_that_matches_decides(tmp_path: Path, planned: PlannedChange, mode: str) -> None:
    assert rules(tmp_path, RULES).mode(planned) == mode


def test_without_tables_there_are_no_rules(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text("read_only = false\n")
    assert load_policy(str(tmp_path / "policy.toml"), DESCRIPTIONS).review is None
    assert not rules(tmp_path, '[[review]]\nmode = "record"\n').can_hold


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ('[review]\nmode = "hold"\n', 1, "[[review]]"),
        ('[[review]]\nmode = "hold"\n[[review]]\nfolders = ["A"]\n', 3, "mode in [[review]] must be"),
        ('[[review]]\nmode = "hold"\n[[review]]\n\nmode = "wait"\n', 5, "mode in [[review]] must be"),
        ('[[review]]\nmode = "hold"\ntools = ["edit_notes"]\n', 3, "did you mean 'edit_note'?"),
        ('[[review]]\nmode = "hold"\nfolder = ["A"]\n', 3, "did you mean 'folders'?"),
        ('[[review]]\nmode = "hold"\nfolders = []\n', 3, "not empty"),
        ('[[review]]\nmode = "hold"\nfolders = ["../x"]\n', 3, "is not a folder of the vault"),
        ('[[review]]\nmode = "hold"\nabove_notes = -1\n', 3, "a number from 0 on"),
        ('[[review]]\nmode = "hold"\nabove_bytes = true\n', 3, "a number from 0 on"),
        ('[[review]]\nmode = "hold"\nclients = "x"\n', 3, "must be a list of texts"),
        ('review = [{mode = "no"}]\n', 1, "mode in [[review]] must be"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, text: str, line: int, problem: str) -> None:
    with pytest.raises(PolicyError) as error:
        rules(tmp_path, text)
    assert f"policy.toml:{line}: " in str(error.value)
    assert problem in str(error.value)


def test_the_rules_are_told_in_words(tmp_path: Path) -> None:
    rules(tmp_path, RULES)
    lines = describe(load_policy(str(tmp_path / "policy.toml"), DESCRIPTIONS))
    assert "review 2: hold changes in the folders Journal" in lines
    assert "review 5: ask about changes of more than 3 notes and of more than 100 bytes" in lines
