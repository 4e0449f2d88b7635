"""Renders the steps of a change for a person or a model: what happens to each file, and the diff of each note."""

from __future__ import annotations

from collections.abc import Iterable

from vaultwire.markdown.diffs import unified
from vaultwire.vault.changes.change import Move, Step
from vaultwire.vault.disk.contents import plain_text

# Bytes with a NUL are no text; Git tells them the same way.
_BINARY = b"\0"


def diff_of(steps: Iterable[Step]) -> str:
    """Return the steps as a unified diff of plain texts; a move or a file that is no text is one line."""
    return "".join(_diff_of_step(step) for step in steps)


def _diff_of_step(step: Step) -> str:
    if isinstance(step, Move):
        return f"move {step.source} → {step.target}\n"
    before, after = step.before or b"", step.after or b""
    verb = "create" if step.old is None else "remove" if step.new is None else "edit"
    if _BINARY in before or _BINARY in after:
        return f"{verb} {step.path} (binary, {len(after or before)} bytes)\n"
    diff = unified(plain_text(before), plain_text(after), step.path)
    return (f"{verb} {step.path}\n" if verb != "edit" or not diff else "") + diff
