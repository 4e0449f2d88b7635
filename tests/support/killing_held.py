"""Kills a program at each of its system calls while it holds, accepts or refuses a write, and checks what the next one finds.

Run as a program of its own, because it forks: ``python -m support.killing_held WHERE ACTION``.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from support.killing import AUTHOR, VAULT, dies_at, open_changes, path, tree, wait_for_no_disk
from support.vaults import write_vault
from vaultwire.vault.changes.change import Step, Write
from vaultwire.vault.errors import VaultError
from vaultwire.vault.holding.holding import Holding

STEPS: list[Step] = [
    Write(path("Note.md"), b"old line\n", b"new line\n" * 300),
    Write(path("New/Made.md"), None, b"made\n"),
]


def open_holding(root: Path, state: Path) -> Holding:
    files, changes = open_changes(root, state)
    return Holding(changes, files)


ACTIONS: dict[str, Callable[[Holding], object]] = {
    "hold": lambda holding: holding.hold("write", AUTHOR, STEPS),
    "accept": lambda holding: holding.accept(1),
    "refuse": lambda holding: holding.refuse(1, "no"),
    "withdraw": lambda holding: holding.withdraw(1),
}
ENDS = {"accept": "accepted", "refuse": "refused", "withdraw": "withdrawn"}


def check(where: Path, action: str) -> int:
    """Kill the action at each of its calls; return how many there were."""
    step = 0
    while True:
        shutil.rmtree(where, ignore_errors=True)
        root, state = write_vault(where / "vault", VAULT), where / "state"
        old = tree(root)
        if action != "hold":
            open_holding(root, state).hold("write", AUTHOR, STEPS)
        killed = dies_at(step, lambda: ACTIONS[action](open_holding(root, state)))  # noqa: B023 - run at once
        _, changes = open_changes(root, state)
        with changes.locked():  # recovers
            pass
        is_new = tree(root) != old
        holding = open_holding(root, state)
        states = {each.id: each.state for each in holding.proposals.all()}
        assert not holding.proposals.unreadable(), step
        if action == "hold":
            assert not is_new
            assert states in ({}, {1: "waiting"}), (step, states)
            number = holding.hold("write", AUTHOR, STEPS).id
            assert number == len(states) + 1, step
        else:
            assert states == {1: "accepted" if is_new else states[1]}, (step, states, is_new)
            assert states[1] in ("waiting", ENDS[action]), (step, states)
            assert is_new == (states[1] == "accepted"), (step, states)
            number = 1
        # A second decision: only where there was none.
        is_refused = False
        try:
            holding.accept(number)
        except VaultError:
            is_refused = True
        assert is_refused == (states.get(number, "waiting") != "waiting"), step
        assert (tree(root) != old) == (states.get(number, "waiting") in ("waiting", "accepted")), step
        assert len(changes.latest()) <= 1, step
        assert not list(root.rglob(".vaultwire-*")), step
        if not killed:
            return step
        step += 1


def main(where: str, action: str) -> None:
    """Check one action, and print the number of kills."""
    wait_for_no_disk()
    sys.stdout.write(f"{check(Path(where), action)}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
