"""Where a new name puts a note or a moved file, and whether a new note may have that name.

The rule itself is ``disk.paths.place_of``. Nothing is written here.
"""

from __future__ import annotations

from collections.abc import Callable

from vaultwire.markdown.links import linkpath_written
from vaultwire.vault.changes.change import Write
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import (
    NOTE_SUFFIX,
    fold,
    is_note,
    parse_note_path,
    parse_path,
    parse_set_folder,
    place_of,
    safe_name,
    says_folder,
    stem,
)
from vaultwire.vault.errors import INVALID_ARGUMENTS, NOTE_EXISTS, VaultError
from vaultwire.vault.plans.context import PlanContext, check_new_path
from vaultwire.vault.plans.moving import namesakes, plan_arrival
from vaultwire.vault.settings.obsidian_settings import Settings
from vaultwire.vault.value_types import VaultPath

# Of the notes that have a name already.
_MAX_NAMED = 3


def place_of_note(context: PlanContext, name: str, beside: VaultPath | None = None) -> VaultPath:
    """Return the path that a new note of this name gets; a note may be there already.

    A name alone goes where Obsidian's "Default location for new notes" says; "same folder as current file" means the folder
    of ``beside``, and without one the vault's own. Raises VaultError as naming a path does, with a name that would do.
    """
    name = linkpath_written(name)
    usual = "" if says_folder(name) else folder_for_notes(context.settings, beside)
    return new_path(context.files, *place_of(name, usual), parse_note_path)


def check_name_is_free(context: PlanContext, name: str, path: VaultPath, source: VaultPath | None = None) -> None:
    """Raise VaultError (NOTE_EXISTS) if ``name`` says no folder, and a note elsewhere has it: the caller may mean that note.

    ``source`` is the file that is to get the name, None for a new one. A file that keeps its name takes none.
    """
    if says_folder(linkpath_written(name)):
        return
    others = [other for other in namesakes(context, path) if other not in (source, path)]
    if others and (source is None or fold(stem(source)) != fold(stem(path))):
        raise _taken(path, others, len(plan_arrival(context, path)), is_new=source is None)


def check_takes_no_links(context: PlanContext, path: VaultPath) -> list[Write]:
    """Raise VaultError (NOTE_EXISTS) if links use the new note's name for another; else no link has to follow."""
    relinked = plan_arrival(context, path)
    if relinked:
        raise _taken(path, namesakes(context, path), len(relinked), is_new=True)
    return relinked


def _taken(path: VaultPath, others: list[VaultPath], links: int, *, is_new: bool) -> VaultError:
    """Return the error that spells out the choice. ``links`` is how many files link to the others by the bare name.

    ``is_new``: the file is to be made, not to be renamed.
    """
    named = ", ".join(map(repr, others[:_MAX_NAMED])) + (f" and {len(others) - _MAX_NAMED} more" if others[3:] else "")
    count = "1 file links" if links == 1 else f"{links} files link"
    used = f"; {count} to it by its name alone" if links else ""
    rewritten = ": then those links are rewritten, so that they still lead where they lead now" if links else ""
    explicit = path if "/" in path else f"/{path}"
    what = "note" if is_note(path) else "file"
    choice = (
        f"To change that {what}, edit {others[0]!r}. "
        f"To make a second {what} of this name on purpose, create it by its path, {explicit!r}{rewritten}."
        if is_new
        else f"Nothing was moved. To have a second {what} of this name on purpose, give its path, {explicit!r}{rewritten}."
    )
    return VaultError(
        NOTE_EXISTS,
        f"There is a {what} of this name already: {named}{used}. {choice}",
        path=others[0],
        candidates=others[:_MAX_NAMED],
    )


def target_of_move(files: Files, source: VaultPath, to: str, *, is_folder: bool) -> VaultPath:
    """Return the path that ``to`` means for a file or folder that moves.

    A name alone (or ``./Name``) stays in its folder, ``Folder/`` keeps the name, ``Folder/Name`` is a path from the vault's
    own folder, ``/Name`` lies right in that. A folder moved to ``Other/`` moves into that folder if it is there; else it gets
    that path. Raises VaultError: INVALID_ARGUMENTS if a folder has the name that was given without a slash.
    """
    to = linkpath_written(to)
    own_folder, _, own_name = source.rpartition("/")
    is_into = to.endswith(("/", "\\"))
    if is_into and to.strip("/\\") in ("", "."):
        return VaultPath(own_name)
    if to.startswith(("./", ".\\")):
        folder, rest = own_folder, to[2:]
    else:
        folder, rest = place_of(to, own_folder)
    target = _below(folder, parse_path(rest))
    found, _ = files.spell(target)
    if is_into:
        becomes_it = is_folder and (found == source or not files.is_folder(found))
        return target if becomes_it else _below(target, own_name)
    _check_no_folder(files, source, to, found)
    return target


def _check_no_folder(files: Files, source: VaultPath, to: str, target: VaultPath) -> None:
    """Refuse a name that a folder has: the caller may want the file in that folder, or that name for it."""
    named = [] if is_note(target) else [target]
    if named and not says_folder(to):
        named.append(files.spell(parse_path(to))[0])
    folder = next((each for each in named if each != source and files.is_folder(each)), None)
    if folder is None:
        return
    other = f"{to + NOTE_SUFFIX!r} to give it that name" if is_note(source) else "give another name"
    raise VaultError(
        INVALID_ARGUMENTS,
        f"There is a folder {folder!r}. Write {folder + '/'!r} to move {source!r} into it, or {other}.",
        argument="to",
    )


def new_path(files: Files, folder: str, name: str, parse: Callable[[str], VaultPath]) -> VaultPath:
    """Return the path of a new file, spelt as the disk spells what is there of it; the file itself may be there too."""
    try:
        # Without the folder: after one, a drive letter would not be recognised.
        path, _ = files.spell(_below(folder, parse(name)))
        check_new_path(files, path)
    except VaultError as error:
        suggested = suggested_name(name)
        hint = "" if suggested == "/".join(_parts(name)) else f" A name that would do: {suggested!r}."
        raise VaultError(error.code, error.message + hint, **error.details) from None
    parts = path.split("/")
    for depth in range(1, len(parts)):
        if files.look_at(VaultPath("/".join(parts[:depth]))):
            raise VaultError(INVALID_ARGUMENTS, f"{'/'.join(parts[:depth])!r} is a file, so no file can be in it.")
    return path


def suggested_name(name: str) -> str:
    """Return the path closest to the name that every system can store and every link can name."""
    return "/".join(safe_name(part) for part in _parts(name))


def _parts(name: str) -> list[str]:
    """Return the names in a path, without parts that name nothing (``.``, ``..``, empty); at least one."""
    return [part for part in name.replace("\\", "/").split("/") if part.strip() not in ("", ".", "..")] or [""]


def folder_for_notes(settings: Settings, beside: VaultPath | None) -> str:
    """Return the folder that a new note without one goes to: Obsidian's "Default location for new notes". See above."""
    if settings.new_file_location == "folder":
        return parse_set_folder(settings.new_file_folder, "Folder to create new notes in") or ""
    if settings.new_file_location == "current" and beside is not None:
        return beside.rpartition("/")[0]
    return ""


def _below(folder: str, path: str) -> VaultPath:
    return VaultPath(f"{folder}/{path}" if folder else path)
