"""A vault as one string literal, on a real disk."""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from datetime import date, datetime, time
from functools import cache
from pathlib import Path
from typing import Any

from vaultwire.app.engine import open_index, open_settings
from vaultwire.trust.limits import MAX_ATTACHMENT_BYTES, MAX_NOTE_BYTES
from vaultwire.vault.changes.executor import Changes
from vaultwire.vault.disk.files import Files
from vaultwire.vault.editing.workbench import Workbench
from vaultwire.vault.index.index import Index
from vaultwire.vault.settings.obsidian_settings import CachedSettings
from vaultwire.vault.vault import Vault
from vaultwire.vault.visibility.visible_files import VisibilityRules, VisibleFiles


def write_vault(root: Path, text: str) -> Path:
    """Write the files a literal describes and return the folder: each begins with a line ``=== path``.

    Contents end with the line end before the next ``===``; bytes other than plain text are written by the test itself.
    """
    for part in text.lstrip("\n").split("=== ")[1:]:
        path, _, content = part.partition("\n")
        target = root / path.strip()
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode())
    return root


def open_vault(
    root: Path,
    max_bytes: int = MAX_NOTE_BYTES,
    today: Callable[[], date] = date.today,
    state: Path | None = None,
    *,
    read_first: bool = False,
    rules: VisibilityRules | None = None,
    has_inline_fields: bool = False,
) -> Vault:
    """Return the engine of a folder, built as in the program; ``rules`` say what may be seen.

    Its journal is kept in the folder ``state``; without one, in a new folder that goes when the process ends.
    """
    files = Files(str(root), max_bytes) if rules is None else VisibleFiles(str(root), max_bytes, rules)
    files.has_inline_fields = has_inline_fields
    index = open_index(files, None)
    changes = Changes(files, index, str(state) if state else new_state())
    return vault_over(files, index, open_settings(files), changes, today, read_first=read_first)


def vault_over(
    files: Files,
    index: Index,
    settings: CachedSettings,
    changes: Changes | None = None,
    today: Callable[[], date] = date.today,
    *,
    read_first: bool = False,
) -> Vault:
    """Return the engine over these parts. Its journal is a new one unless ``changes`` has one."""
    bench = Workbench(
        files,
        index,
        settings,
        changes or Changes(files, index, new_state()),
        # The person's real time on a real day: times such as "1h ago" are compared with those of changes.
        now=datetime.now if today == date.today else lambda: datetime.combine(today(), time(12)),
        max_attachment_bytes=MAX_ATTACHMENT_BYTES,
        read_first=read_first,
    )
    return Vault(bench)


def new_state() -> str:
    """Return an empty folder for a vault's state. It goes when the process ends, and lies in memory where that is possible."""
    return tempfile.mkdtemp(dir=_states(os.getpid()))


@cache
def _states(process: int) -> str:
    folder = tempfile.mkdtemp(prefix="vaultwire-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)

    def remove() -> None:
        if os.getpid() == process:  # not in a fork of it
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return folder


def is_in(root: Path, file: Any) -> bool:
    """Tell whether a path, or the file of a descriptor, lies in a vault: its journal, say, does not."""
    if isinstance(file, int):
        return any(os.path.samestat(os.fstat(file), each.stat()) for each in root.rglob("*"))
    return Path(file).is_relative_to(root.resolve())


def write_in_place(path: Path, text: bytes) -> None:
    """Write another text of the same length so that size, time of the last change and inode stay as they are."""
    before = path.stat()
    assert len(text) == before.st_size
    while path.stat().st_ctime_ns == before.st_ctime_ns:  # clocks of file systems tick every few milliseconds
        with path.open("r+b") as file:
            file.write(text)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = path.stat()
    assert (after.st_size, after.st_mtime_ns, after.st_ino) == (before.st_size, before.st_mtime_ns, before.st_ino)


def snapshot(root: Path) -> dict[str, str]:
    """Return a fingerprint of every file's bytes and mode below a folder, hidden ones too, by its path."""
    return {
        str(path.relative_to(root)): f"{path.lstat().st_mode:o} {hashlib.sha256(path.read_bytes()).hexdigest()}"
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }
