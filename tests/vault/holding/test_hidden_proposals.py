"""A run that may not see a note does not see the proposals about it either."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.vaults import open_vault, write_vault
from vaultwire.trust.policy_file import load_policy
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
