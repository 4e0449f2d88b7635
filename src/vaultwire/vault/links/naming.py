"""From what a caller calls a note to the note: files first, which need no index, then names."""

from __future__ import annotations

from vaultwire.markdown.links import parse_linktext
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import fold, is_canvas, is_note, parse_folder, parse_path
from vaultwire.vault.errors import FILE_NOT_FOUND, VaultError
from vaultwire.vault.index.port import Index
from vaultwire.vault.links.resolve import ambiguous, near, resolve, wanted_paths
from vaultwire.vault.model import Progress, VaultPath


def locate(files: Files, index: Index, name: str, progress: Progress) -> VaultPath:
    """Return the path of the note that ``name`` means: a path, a name without ``.md``, or wikilink text.

    Raises VaultError: FILE_NOT_FOUND (with near names), AMBIGUOUS_NAME (with the candidates), PATH_OUTSIDE_VAULT,
    PERMISSION_DENIED.
    """
    found, is_indexed = _look_for(files, index, name, progress)
    if found is None:
        # Looking through the folders takes ten times as long.
        raise near(name, filter(is_note, index.paths(progress)) if is_indexed else (note.path for note in files.walk()))
    return found


def find(files: Files, index: Index, name: str, progress: Progress) -> VaultPath | None:
    """Return the path of the note that ``name`` means, None if there is none. Raises VaultError as ``locate`` does."""
    return _look_for(files, index, name, progress)[0]


def locate_file(files: Files, index: Index, name: str, progress: Progress) -> VaultPath:
    """Return the path of the note or attachment that ``name`` means: an attachment by its name with the extension.

    A name with an extension means that file before a note, as in a link. Raises VaultError as ``locate`` does.
    """
    spelt = [] if name.strip().startswith(("[[", "![[")) else [name]
    linkpath = parse_linktext(name).linkpath
    for text in dict.fromkeys([*spelt, *([linkpath] if linkpath else [])]):
        if "." not in text.rpartition("/")[2] or is_note(text.rstrip()):
            continue
        wanted = parse_path(text)
        path, exists = files.spell(wanted)
        if exists:
            return path
        key = fold(wanted)
        alike = [path for path in index.paths(progress) if fold(path).endswith("/" + key) and not is_note(path)]
        if len(alike) > 1:
            raise ambiguous(name, alike, "files")
        if alike:
            return alike[0]
    return locate(files, index, name, progress)


def locate_readable(files: Files, index: Index, name: str, progress: Progress) -> VaultPath:
    """Return the path of the note or canvas that ``name`` means. Raises VaultError as ``locate`` does."""
    is_board = is_canvas(name.strip()) or is_canvas(parse_linktext(name).linkpath)
    return (locate_file if is_board else locate)(files, index, name, progress)


def _look_for(files: Files, index: Index, name: str, progress: Progress) -> tuple[VaultPath | None, bool]:
    """Return what ``find`` does, and whether the index knew the names."""
    wanted_ones = wanted_paths(name)
    for wanted in wanted_ones:
        path, exists = files.spell(wanted)
        if exists and is_note(path):
            return path, True
    named = index.named({wanted.rpartition("/")[2] for wanted in wanted_ones}, progress)
    is_indexed = named is not None
    if named is None:  # a name is not worth waiting for a large vault to be looked over
        named = [note.path for note in files.walk()]
    try:
        return resolve(name, named), is_indexed
    except VaultError as error:
        if error.code != FILE_NOT_FOUND:
            raise
    return None, is_indexed


def locate_folder(files: Files, folder: str) -> VaultPath | None:
    """Return the path of a folder, None for the whole vault. Raises VaultError (FILE_NOT_FOUND) if there is no such folder."""
    wanted = parse_folder(folder)
    if wanted is None:
        return None
    path, _ = files.spell(wanted)
    if not files.is_folder(path):
        raise VaultError(FILE_NOT_FOUND, f"There is no folder {folder!r} in the vault.", folder=folder)
    return path
