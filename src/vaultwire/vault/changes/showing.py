"""Changes as a person or model reads them: what happens to each file, and the difference it makes in each note."""

from __future__ import annotations

from collections.abc import Iterable

from vaultwire.markdown.diffs import unified
from vaultwire.vault.changes.change import Move, Step
from vaultwire.vault.disk.note_text import plain_text

# Where a text has so many NULs it is none: what Git goes by, too.
_BINARY = b"\0"


def diff_of(steps: Iterable[Step]) -> str:
    """Return what the steps do, as a unified diff of plain texts; moves and files that are no text are a line each."""
    return "".join(_shown(step) for step in steps)


def _shown(step: Step) -> str:
    if isinstance(step, Move):
        return f"move {step.source} → {step.target}\n"
    before, after = step.before or b"", step.after or b""
    verb = "create" if step.before is None else "remove" if step.after is None else "edit"
    if _BINARY in before or _BINARY in after:
        return f"{verb} {step.path} (binary, {len(after or before)} bytes)\n"
    diff = unified(plain_text(before), plain_text(after), step.path)
    return (f"{verb} {step.path}\n" if verb != "edit" or not diff else "") + diff
