"""Finds bases: ``.base`` files, ```` ```base ```` blocks of notes, and the text of one that a caller names."""

from __future__ import annotations

from typing import NamedTuple

from vaultwire.bases.base_blocks import base_blocks, no_block
from vaultwire.vault.base_queries.results import BaseSource
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.note_text import plain_text
from vaultwire.vault.disk.paths import BASE_SUFFIX, is_base
from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS, VaultError
from vaultwire.vault.index.port import Index
from vaultwire.vault.index.rows import NameEndsWith
from vaultwire.vault.links.note_lookup import locate, locate_file, subpath_of
from vaultwire.vault.value_types import Progress, VaultPath


class Place(NamedTuple):
    """A base that was found: the file that holds it ("" for a text without a place), its text, and the view in its name."""

    path: str
    text: str
    view: str = ""


def read_source(files: Files, index: Index, source: BaseSource, progress: Progress) -> Place:
    """Return the base that a caller means. ``Name.base#View`` names a view, too.

    Raises VaultError: FILE_NOT_FOUND, AMBIGUOUS_NAME, TOO_LARGE, INVALID_ARGUMENTS for a file that is no base, and for a
    block that the note does not have.
    """
    if source.text:
        return Place(_place_of(files, index, source.path, progress) if source.path else "", source.text)
    if not source.path.strip():
        raise VaultError(INVALID_ARGUMENTS, "Name a .base file, or give the text of a base.", argument="path")
    if source.block:
        return _read_block(files, index, source, progress)
    path = locate_base(files, index, source.path, progress)
    view = subpath_of(source.path, path) if "#" in source.path else ""
    return Place(path, plain_text(files.read(path).data), view)


def locate_base(files: Files, index: Index, name: str, progress: Progress) -> VaultPath:
    """Return the path of the ``.base`` file that ``name`` means, with its extension or without.

    Raises VaultError: FILE_NOT_FOUND, AMBIGUOUS_NAME, INVALID_ARGUMENTS for another file.
    """
    try:
        found = locate_file(files, index, name, progress)
        if is_base(found):
            return found
    except VaultError as error:
        if error.code != FILE_NOT_FOUND or BASE_SUFFIX in name.casefold():
            raise
        found = None
    stem, mark, view = name.strip().strip("[]!").partition("#")
    if not stem.strip().casefold().endswith((BASE_SUFFIX, ".md", ".canvas")):
        try:
            with_suffix = locate_file(files, index, f"{stem.strip()}{BASE_SUFFIX}{mark}{view}", progress)
        except VaultError as error:
            if error.code != FILE_NOT_FOUND:
                raise
        else:
            if is_base(with_suffix):
                return with_suffix
    if found is None:
        raise VaultError(FILE_NOT_FOUND, f"There is no base {name!r} in the vault.", path=name)
    hint = " Say which of its base blocks is meant (block=1 is the first)." if found.endswith(".md") else ""
    raise VaultError(INVALID_ARGUMENTS, f"{found!r} is no base. Bases end in {BASE_SUFFIX!r}.{hint}", path=found)


def _place_of(files: Files, index: Index, name: str, progress: Progress) -> VaultPath:
    return locate_base(files, index, name, progress) if is_base(name) else locate_file(files, index, name, progress)


def _read_block(files: Files, index: Index, source: BaseSource, progress: Progress) -> Place:
    path = locate(files, index, source.path, progress)
    blocks = base_blocks(plain_text(files.read(path).data))
    if not 1 <= source.block <= len(blocks):
        raise VaultError(INVALID_ARGUMENTS, f"{path!r} {no_block(len(blocks), source.block)}.", path=path)
    return Place(path, blocks[source.block - 1].text)


def base_files(index: Index, progress: Progress) -> list[VaultPath]:
    """Return the ``.base`` files of the vault that its own rules do not exclude, in path order."""
    return [file.path for file in index.rows.find(NameEndsWith(BASE_SUFFIX), progress)]
