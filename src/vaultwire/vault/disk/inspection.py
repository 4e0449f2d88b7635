"""A look at a whole vault: what it holds, what is wrong in it, and a fingerprint of every byte. For people, not for calls."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from typing import NamedTuple

from vaultwire.vault.disk.contents import first_invalid_byte
from vaultwire.vault.disk.files import TEMPORARY_PREFIX, TEMPORARY_SUFFIX, Files
from vaultwire.vault.disk.paths import fold, is_note, parse_path
from vaultwire.vault.errors import VaultError
from vaultwire.vault.value_types import NO_PROGRESS, Problem, Progress, VaultPath, reporting


class Inspection(NamedTuple):
    """A vault's counts and its problems."""

    notes: int
    note_bytes: int
    other_files: int
    has_obsidian_folder: bool
    writable: bool
    problems: list[Problem]


class Fingerprint(NamedTuple):
    """How many files there are, and a digest of every name, mode and byte."""

    files: int
    digest: str


def inspect_vault(files: Files, known: Iterable[Problem] = (), progress: Progress = NO_PROGRESS) -> Inspection:
    """Read every note once and return what was found, with the problems already ``known``.

    Not what is wrong in the Markdown: that is for ``links.checks``.
    """
    problems: list[Problem] = [*known]
    notes = sorted(files.walk(problems=problems))
    spellings: dict[str, VaultPath] = {}
    for note in reporting(progress, notes, "reading"):
        key = fold(note.path)
        if key in spellings:
            problems.append(Problem(note.path, f"differs from {spellings[key]!r} in case or Unicode form only"))
        spellings.setdefault(key, note.path)
        problems += [Problem(note.path, problem) for problem in _note_problems(files, note.path)]
    other_files = 0
    for folder, folders, names in os.walk(files.root):
        here = os.path.relpath(folder, files.root)
        problems += [
            Problem(
                os.path.normpath(os.path.join(here, name)), "is left over from a write that was cut short; delete it"
            )
            for name in names
            if name.startswith(TEMPORARY_PREFIX) and name.endswith(TEMPORARY_SUFFIX)
        ]
        folders[:] = [name for name in folders if not name.startswith(".")]
        other_files += sum(not name.startswith(".") and not is_note(name) for name in names)
    return Inspection(
        len(notes),
        sum(note.size for note in notes),
        other_files,
        os.path.isdir(os.path.join(files.root, ".obsidian")),
        os.access(files.root, os.W_OK),
        sorted(problems),
    )


def _note_problems(files: Files, path: VaultPath) -> list[str]:
    try:
        parse_path(path)
        if files.is_dataless(path):
            return ["is only in the cloud, not on this computer: it is found by its name, not by its text"]
        data = files.read(path).data
    except VaultError as error:
        return [error.message]
    invalid = first_invalid_byte(data)
    if invalid is not None:
        return [f"is not UTF-8 (byte {invalid}); it can be read, not edited"]
    return []


def fingerprint(files: Files) -> Fingerprint:
    """Return the fingerprint of every file below the vault, hidden ones too."""
    digest = hashlib.blake2b(digest_size=8)
    count = 0
    for folder, folders, names in os.walk(files.root):
        folders.sort()
        for name in sorted(names):
            digest.update(files.digest(os.path.relpath(os.path.join(folder, name), files.root)))
            count += 1
    return Fingerprint(count, digest.hexdigest())
