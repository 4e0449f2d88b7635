"""A run that may not see a note does not see the proposals about it either."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.vaults import open_vault, write_vault
from vaultwire.trust.policy_file import load_policy
from vaultwire.trust.policy_rules import ReviewRule, ReviewRules
from vaultwire.vault.caller import Caller
from vaultwire.vault.changes.change import Author, Move, Step, Write
from vaultwire.vault.errors import VaultError
from vaultwire.vault.value_types import VaultPath

VAULT = """
=== Open.md
open
=== Secret/Plan.md
hidden
=== Diary.md
---
private: true
---
mine
"""
POLICY = '[paths]\ndeny = ["Secret/"]\n[private]\nproperties = ["private"]\n'


def _path(text: str) -> VaultPath:
    return VaultPath(text)


HIDDEN: list[Step] = [
    Write(_path("Secret/Plan.md"), b"hidden\n", b"changed\n"),
    Write(_path("Secret/New.md"), None, b"new\n"),
    Write(_path("Open.md"), b"open\n", b"---\nprivate: true\n---\nnow private\n"),
    Write(_path("Diary.md"), b"---\nprivate: true\n---\nmine\n", b"now open\n"),
    Move(_path("Open.md"), _path("Secret/Open.md")),
    Move(_path("Diary.md"), _path("Other.md")),
]


def test_what_is_hidden_is_in_no_list(tmp_path: Path) -> None:
    root, state = write_vault(tmp_path / "vault", VAULT), tmp_path / "state"
    (tmp_path / "policy.toml").write_text(POLICY)
    rules = load_policy(str(tmp_path / "policy.toml"), ()).paths
    author = Author("agent", "edit_note")
    whole = open_vault(root, state=state).holding
    seen = whole.hold("write", author, [Write(_path("Open.md"), b"open\n", b"more\n")]).id
    hidden = [whole.hold("write", author, [step]).id for step in HIDDEN]
    outside = whole.proposals.add("diff", author, [Write(_path("x.md"), None, b"x")], outside="/etc/x.md").id
    vault = open_vault(root, state=state, rules=rules).used_by(Caller("agent"), "pending_changes")
    assert [each.id for each in vault.pending.own()[0]] == [seen]
    for number in (*hidden, outside):
        with pytest.raises(VaultError) as error:
            vault.pending.withdraw(number)
        assert error.value.code == "FILE_NOT_FOUND"
    assert len(whole.waiting()) == len(HIDDEN) + 2
    other = open_vault(root, state=state).used_by(Caller("another"), "pending_changes")
    assert other.pending.own() == ([], 0)
    with pytest.raises(VaultError):
        other.pending.withdraw(seen)


@pytest.mark.parametrize("rule", ["Secret.md", "Old/Secret.md"])
def test_of_a_folder_whose_move_waits_a_run_sees_at_the_new_place_what_it_sees_at_the_old(
    tmp_path: Path, rule: str
) -> None:
    """The move was proposed by a run that sees all; the files in it are hidden one by one."""
    notes = "=== Old/Open.md\nopen\n=== Old/Secret.md\nhidden\n=== Old/Diary.md\n---\nprivate: true\n---\nmine\n"
    root, state = write_vault(tmp_path / "vault", notes), tmp_path / "state"
    (tmp_path / "policy.toml").write_text(POLICY.replace("Secret/", rule))
    caller = Caller("agent")
    whole = open_vault(root, state=state).holding
    whole.hold("write", Author("agent", "move_notes", caller.session), [Move(_path("Old"), _path("New"))])
    caller.told = 0
    names = ["New/Open", "New/Secret", "New/Diary", "Old/Open", "Old/Secret", "Old/Diary", "Open", "Secret", "Diary"]
    seen: dict[bool, list[str]] = {}
    refused: list[VaultError] = []
    for is_hidden in (False, True):
        rules = load_policy(str(tmp_path / "policy.toml"), ()).paths if is_hidden else None
        bench = open_vault(root, state=state, rules=rules)
        bench._bench.review = ReviewRules([ReviewRule("hold")])
        vault = bench.used_by(caller, "read_notes")
        seen[is_hidden] = []
        for name in names:
            try:
                seen[is_hidden].append(vault.read(name).path)
            except VaultError as error:
                refused.append(error)
        seen[is_hidden] += [note.path for note in vault.overview.list_notes("").all()]
    assert seen == {
        False: [*["New/Open.md", "New/Secret.md", "New/Diary.md"] * 2, "New/Diary.md", "New/Open.md", "New/Secret.md"],
        True: ["New/Open.md", "New/Open.md", "New/Open.md"],
    }
    assert {error.code for error in refused} == {"FILE_NOT_FOUND"}
    suggested = {path for error in refused[3:] for path in error.details["near"]}
    assert suggested == {"New/Open.md"}
