"""Plans for moving or renaming a note, an attachment or a folder: the move itself, then every link it concerns.

What a link says then is ``relinking``'s matter. Plans are steps; nothing is written here. Of the notes only those are read
that hold a link to rewrite, as the index knows them; canvases and bases, which it does not look into, are all read.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from vaultwire.vault.changes.change import Move, Step, Write, follow
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import check_new_names, compose, fold, is_note, lies_in, not_found, parse_note_path
from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS, NOTE_EXISTS, VaultError
from vaultwire.vault.index.port import Index
from vaultwire.vault.links.link_resolver import link_name, link_names_to
from vaultwire.vault.plans.relinking import LinkChange, Moves, is_looked_into, rewrite_by_kind
from vaultwire.vault.settings.obsidian_settings import Settings
from vaultwire.vault.value_types import Problem, Progress, VaultPath, asking

_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]*$")


class MovePlan(NamedTuple):
    """What a move does, in steps: the move, then the files whose links change, where they lie by then.

    ``files`` is how many files move. ``links`` are those written anew, ``gained`` those that led nowhere and lead to a file
    once it has its new name (the file they stand in, what they say, where they lead). ``left`` are files whose links could
    not be looked at.
    """

    source: VaultPath
    target: VaultPath
    files: int
    steps: list[Step]
    links: list[LinkChange]
    gained: list[tuple[VaultPath, str, VaultPath]]
    left: list[Problem]


def plan_move(
    files: Files, index: Index, settings: Settings, source: VaultPath, target: VaultPath, progress: Progress
) -> MovePlan:
    """Return how a file or folder gets another path, so that every link still leads where it led.

    A target without extension gets the source's. Raises VaultError: FILE_NOT_FOUND, NOTE_EXISTS where the target is taken,
    INVALID_ARGUMENTS for a name that does not travel, a folder into itself, another kind of file, or a name no link can
    lead to although there are some; those of reading a file.
    """
    source, is_folder = _there(files, source)
    target = _free_target(files, source, target, is_folder=is_folder)
    paths = index.paths(progress)
    moved = {path: follow(path, source, target) for path in paths if lies_in(path, source)}
    if not is_folder:
        moved[source] = target
    names = {name for pair in moved.items() for path in pair for name in link_names_to(path)}
    links = index.links_asking(names, [source], progress)
    others = [path for path in paths if is_looked_into(path)]
    is_unknown = any(path in moved for path in others)  # what a canvas or base asks for is known once it is read
    # A relative link asks for another name from its new place if it left the vault before.
    asked = {
        link_name(place, text) for note, text in asking(progress, links) for place in {note, moved.get(note, note)}
    }
    moves = Moves(
        paths,
        moved,
        (source, target) if is_folder else None,
        settings.new_link_format,
        None if is_unknown else asked,
        progress,
    )
    concerned: dict[VaultPath, set[str]] = {}
    for note, text in links:
        if moves.new_target(note, text) is not None:
            concerned.setdefault(note, set()).add(text)
    changes: list[LinkChange] = []
    left: list[Problem] = []
    writes: list[Write] = []
    for path in sorted({*concerned, *others}):
        progress.check()
        write = rewrite_by_kind(files, path, moves, concerned.get(path, ()), changes, left)
        if write is not None:
            writes.append(write)
    gained = {
        (moves.place(note), text, found) for note, text in links if (found := moves.gained(note, text)) is not None
    }
    steps: list[Step] = [Move(source, target)]
    if is_folder and files.hides_some:
        # With what is hidden in it, or with what is not but might be: that it moves whole would tell.
        steps = [Move(*pair) for pair in sorted(moved.items())]
    writes.sort(key=lambda write: str(write.path))
    steps += writes
    return MovePlan(source, target, len(moved), steps, sorted(changes), sorted(gained), left)


def plan_arrival(files: Files, index: Index, settings: Settings, path: VaultPath, progress: Progress) -> list[Write]:
    """Return how links change so that they still lead where they did once there is a new file at ``path``.

    As Obsidian does it (release notes 0.8.3): a link that would lead to the new file, or whose bare name would mean either,
    gets the path of the file it led to. Only where another file has the same name; then all canvases and bases are read,
    too. Raises VaultError as ``plan_move`` does.
    """
    if not _namesakes(files, index, path, progress):
        return []
    links = index.links_asking(set(link_names_to(path)), [], progress)
    moves = Moves(index.paths(progress), {}, None, settings.new_link_format, None, progress, [path])
    concerned: dict[VaultPath, set[str]] = {}
    for note, text in links:
        if moves.new_target(note, text) is not None:
            concerned.setdefault(note, set()).add(text)
    writes: list[Write] = []
    for other in sorted({*concerned, *filter(is_looked_into, index.paths(progress))}):
        progress.check()
        write = rewrite_by_kind(files, other, moves, concerned.get(other, ()), [], [])
        if write is not None:
            writes.append(write)
    return writes


def check_no_namesake(files: Files, index: Index, settings: Settings, path: VaultPath, progress: Progress) -> None:
    """Refuse a new note at ``path`` if links use its name alone for another note: they would have to be rewritten.

    For callers that gave the name without a folder: most of them do not know of the other note. Raises VaultError
    (NOTE_EXISTS).
    """
    relinked = plan_arrival(files, index, settings, path, progress)
    if not relinked:
        return
    namesakes = _namesakes(files, index, path, progress)
    links = "1 file links" if len(relinked) == 1 else f"{len(relinked)} files link"
    explicit = path if "/" in path else f"./{path}"
    raise VaultError(
        NOTE_EXISTS,
        f"There is a note of this name already: {', '.join(map(repr, namesakes))}; {links} to it by its name alone. "
        f"To change that note, edit {namesakes[0]!r}. To make a second note of this name on purpose, give its path with the "
        f"folder, {explicit!r}: then those links are rewritten, so that they still lead where they lead now.",
        path=namesakes[0],
        candidates=namesakes,
    )


def is_path(name: str) -> bool:
    """Tell whether a name says in which folder its note lies; ``./Name`` says the vault's own."""
    return "/" in name.strip() or "\\" in name


def _namesakes(files: Files, index: Index, path: VaultPath, progress: Progress) -> list[VaultPath]:
    """Return the files that have the name of a new one, in path order."""
    name = path.rpartition("/")[2]
    alike = index.named([name], progress) if is_note(path) else index.paths(progress)
    if alike is None:  # a first look over the vault is not worth waiting for if there is no other of the name
        alike = [file.path for file in files.walk()]
    return sorted(other for other in alike if fold(other.rpartition("/")[2]) == fold(name))


def _there(files: Files, source: VaultPath) -> tuple[VaultPath, bool]:
    """Return what is to move, spelt as on the disk, and whether it is a folder."""
    found, exists = files.spell(source)
    if exists:
        return found, False
    if files.is_folder(found):
        return found, True
    raise (
        not_found(source, [])
        if is_note(source)
        else VaultError(FILE_NOT_FOUND, f"There is no file or folder {source!r} in the vault.", path=source)
    )


def _free_target(files: Files, source: VaultPath, target: VaultPath, *, is_folder: bool) -> VaultPath:
    """Return the path the file or folder gets, spelt as on the disk as far as that is there. Raises VaultError."""
    if not is_folder:
        target = _with_extension(source, target)
    folder, _, name = target.rpartition("/")
    name = compose(name)
    if folder:
        spelt, is_file = files.spell(VaultPath(folder))
        if is_file:
            raise VaultError(INVALID_ARGUMENTS, f"{spelt!r} is a file, so nothing can lie below it.", path=spelt)
        folder = spelt
    wanted = VaultPath(f"{folder}/{name}" if folder else name)
    if wanted == source:
        raise VaultError(INVALID_ARGUMENTS, f"{source!r} has that path already.", path=source)
    if is_folder and lies_in(folder, source):
        raise VaultError(INVALID_ARGUMENTS, f"The folder {source!r} cannot be moved into itself.", path=source)
    found, exists = files.spell(wanted)
    # Another spelling of its own name is no other file.
    if found != source and (exists or files.is_folder(found)):
        raise VaultError(NOTE_EXISTS, f"{found!r} exists already; nothing is moved over it.", path=found)
    is_old_folder = not folder or files.is_folder(VaultPath(folder))
    new_names = [name] if name != source.rpartition("/")[2] else []
    check_new_names(new_names if is_old_folder else [*folder.split("/"), *new_names])
    return wanted


def _with_extension(source: VaultPath, target: VaultPath) -> VaultPath:
    if is_note(source):
        return parse_note_path(target)
    if is_note(target):
        raise VaultError(INVALID_ARGUMENTS, f"{source!r} is no note, so its name cannot end in '.md'.", path=source)
    ending = _EXTENSION.search(source)
    return target if ending is None or _EXTENSION.search(target) else VaultPath(target + ending[0])
