"""Which changes a person must agree to first, and what the question says. Not how it is asked: see ``Progress.confirm``."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from vaultwire.vault.changes.change import Step, Write, follow, paths_of
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import is_note
from vaultwire.vault.value_types import Confirmation, Progress, VaultPath

MAX_UNASKED_NOTES = 25
"""A change of more notes than this is asked about.

A person can check so many notes afterwards: their names fill one screen. The usual moves and renames touch fewer; more is
mostly a tag, a property or a whole folder.
"""

_NAMED = 5  # notes named in the question


def confirmation_of_many(files: Files, steps: Sequence[Step], tool: str) -> Confirmation | None:
    """Return what a person is asked before these steps, None where they change few notes."""
    notes = notes_of(files, steps)
    if len(notes) <= MAX_UNASKED_NOTES:
        return None
    return confirmation_of(files, steps, tool)


def confirmation_of(files: Files, steps: Sequence[Step], tool: str) -> Confirmation:
    """Return what a person is asked before these steps."""
    notes = notes_of(files, steps)
    if len(notes) <= _NAMED:
        paths = [path for step in steps for path in paths_of(step)]
        named = ", ".join(map(repr, paths[:_NAMED])) + (
            f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
        )
        message = (
            f"{tool} would change {named} in the vault {files.name!r}. It can be undone with undo_changes. "
            "Make this change?"
        )
        return Confirmation(_key_of(steps), message)
    named = ", ".join(repr(path) for path in notes[:_NAMED])
    message = (
        f"{tool} would change {len(notes)} notes in the vault {files.name!r}: {named} and {len(notes) - _NAMED} more. "
        "It can be undone with undo_changes. Make this change?"
    )
    return Confirmation(_key_of(steps), message)


def asks_person(progress: Progress) -> bool:
    """Tell whether ``Progress.confirm`` asks a person; else it returns at once."""
    return bool(getattr(progress, "asks_person", False))


def confirmation_of_removal(vault: str, path: VaultPath, data: bytes) -> Confirmation:
    """Return what a person is asked before the note at ``path`` in a vault, of these bytes, is deleted permanently."""
    thing = "note" if is_note(path) else "file"
    message = f"Delete the {thing} {path!r} in the vault {vault!r} permanently? It would not go to the trash."
    return Confirmation(_key_of([Write(path, data, None)]), message)


def notes_of(files: Files, steps: Sequence[Step]) -> list[VaultPath]:
    """Return the notes that the steps change, by the paths that they have afterwards, in the order of the steps."""
    return [path for path in changed_files(files, steps) if is_note(path)]


def changed_files(files: Files, steps: Sequence[Step]) -> list[VaultPath]:
    """Return the notes and other files that the steps change, as ``notes_of``."""
    changed: dict[VaultPath, None] = {}
    for step in steps:
        if isinstance(step, Write):
            moved = [step.path]
        elif not files.is_link(step.source) and files.is_folder(step.source):  # a link is moved by itself
            moved = [follow(note.path, step.source, step.target) for note in files.walk(step.source, attachments=True)]
        else:
            moved = [step.target]
        changed |= dict.fromkeys(moved)
    return list(changed)


def _key_of(steps: Sequence[Step]) -> str:
    """Return a key that only these very steps have: what is done is what the person agreed to."""
    digest = hashlib.sha256()
    for step in steps:
        digest.update(repr(step).encode("utf-8", "surrogatepass"))  # of contents it has the digests
    return f"confirm-{digest.hexdigest()}"
