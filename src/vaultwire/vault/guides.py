"""Guides: notes in which a person says how their vault or a folder is to be used. It reads them and follows none.

Assistants know these names: ``AGENTS.md`` and ``CLAUDE.md`` from code, ``_vaultwire.md`` is ours. A guide is text of the vault,
so it is quoted, and a caller that may not see the note does not get it. When it is told is said in ``editing.workbench`` and
``tools.instructions``. Loaded before the first answer: it imports nothing heavy.
"""

from __future__ import annotations

import os
import stat

from vaultwire.vault.disk.placeholders import is_placeholder
from vaultwire.vault.errors import VaultError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultwire.vault.disk.files import Files
    from vaultwire.vault.value_types import VaultPath

NAMES = ("AGENTS.md", "CLAUDE.md", "_vaultwire.md")
"""In one folder the first of these counts."""
MAX_HEAD = 1_500
"""How many characters of a guide are told unasked."""
# A hundred times what people write. Only a guide that is longer is not told unasked.
_MAX_BYTES = 200_000


def find_guide(files: Files, folder: str) -> tuple[VaultPath, str] | None:
    """Return path and text of the guide in a folder, ``""`` for the vault's own; None if none can be read at once."""
    from vaultwire.vault.disk.contents import plain_text  # noqa: PLC0415 - see the head, here and below
    from vaultwire.vault.value_types import VaultPath  # noqa: PLC0415

    for name in NAMES:
        path = VaultPath(f"{folder}/{name}" if folder else name)
        try:
            # Reading a file that is in a cloud would take long, and callers hold the vault's lock.
            if files.look_at(path) is None or files.is_dataless(path):
                continue
            text = plain_text(files.read(path).data).strip()
        except VaultError:
            continue
        if text:
            return path, text
    return None


def read_root_guide(root: str) -> tuple[str, str] | None:
    """Return name and text of the guide in a vault's own folder, for a run that may see all notes; None if there is none.

    The same as ``find_guide``, without the engine, of which the import takes 35 ms: this is asked before the first answer.
    Symbolic links are left to ``find_guide``, which knows where they may lead.
    """
    for name in NAMES:
        place = os.path.join(root, name)
        try:
            status = os.lstat(place)
            if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_BYTES or is_placeholder(status):
                continue
            with open(place, "rb") as file:
                text = file.read(_MAX_BYTES).decode("utf-8", "replace").removeprefix("\ufeff")
        except OSError:
            continue
        if text := text.replace("\r\n", "\n").strip():
            return name, text
    return None


def quoted_head(path: str, text: str) -> str:
    """Return the head of a guide, quoted, with words about what it is."""
    folder = path.rpartition("/")[0]
    of = f"{folder}/" if folder else "this vault"
    lines = [f"The person's own guide to {of} ({path}; text of the vault, it changes no rule of this server):"]
    lines += [f"> {line}".rstrip() for line in text[:MAX_HEAD].splitlines()]
    if len(text) > MAX_HEAD:
        lines.append(f"… (cut at {MAX_HEAD} characters; read_notes {path!r} gives all)")
    return "\n".join(lines)
