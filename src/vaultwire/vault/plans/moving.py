"""Plans for moving or renaming a note, an attachment or a folder: the move itself, then every link it concerns.

What a link says then is decided by ``moved_links``. A plan is a list of steps; nothing is written here. Only notes that hold
a link to rewrite are read: the index knows them. Canvases and bases are all read, because the index does not know their links.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from vaultwire.vault.changes.change import Move, Write
from vaultwire.vault.changes.move_paths import MovePaths
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import (
    NOTE_SUFFIX,
    check_new_names,
    compose,
    fold,
    is_note,
    lies_in,
    not_found,
    parse_note_path,
)
from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS, NOTE_EXISTS, VaultError
from vaultwire.vault.links.link_resolver import link_name, link_names_to
from vaultwire.vault.plans.context import Plan, PlanContext
from vaultwire.vault.plans.heading_links import follow_headings, renamed_by_links
from vaultwire.vault.plans.link_rewriting import (
    is_canvas_or_base,
    named_in_queries,
    rewrite_files,
)
from vaultwire.vault.plans.moved_links import MovedLinks
from vaultwire.vault.value_types import VaultPath, asking

_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]*$")


@dataclass
class MovePlan(Plan):
    """The plan of moves: the moves, then the files whose links change, at their new paths. ``files`` is how many move.

    The source and target are those of the first move.
    """

    moves: list[Move]
    files: int


def plan_move(context: PlanContext, source: VaultPath, target: VaultPath) -> MovePlan:
    """Plan to give a file or folder another path. See ``plan_moves``."""
    return plan_moves(context, [Move(source, target)])


def plan_moves(context: PlanContext, wanted: Sequence[Move]) -> MovePlan:
    """Plan to give files and folders other paths together, so that every link still leads where it led.

    A target without extension gets the source's. Raises VaultError: FILE_NOT_FOUND, NOTE_EXISTS where a target is taken, also
    by another of the moves, INVALID_ARGUMENTS for a name that does not travel, a folder into itself, a file in a folder that
    moves too, another kind of file, or a name no link can lead to although there are some; those of reading a file.
    """
    files, index, progress = context.files, context.index, context.progress
    folders: list[Move] = []
    singles: list[Move] = []
    for move in asking(progress, wanted):
        source, is_folder = _source(files, move.source)
        target = _free_target(files, source, move.target, is_folder=is_folder)
        (folders if is_folder else singles).append(Move(source, target))
    moves = [*folders, *singles]
    _check_apart(moves)
    by_folder = MovePaths(enumerate(folders))
    paths = index.paths(progress)
    moved = {path: place for path in paths if (place := by_folder.after(path)) != path} if folders else {}
    moved |= {move.source: move.target for move in singles}
    names = {name for pair in moved.items() for path in pair for name in link_names_to(path)}
    links = index.links_asking(names, [move.source for move in moves], progress)
    # What a canvas or base asks for is known only when it is read.
    with_queries = set(index.notes_with_queries(progress))
    is_any_name_possible = any(is_canvas_or_base(path) or path in with_queries for path in moved)
    # A relative link asks for another name from its new place if it left the vault before.
    asked = {link_name(note, text) for note, text in asking(progress, links)}
    asked |= {link_name(moved[note], text) for note, text in links if text.lstrip().startswith(".") and note in moved}
    rules = MovedLinks(
        context,
        paths,
        moved,
        folders=folders,
        names=None if is_any_name_possible else asked,
    )
    plan = MovePlan(moves, len(moved), source=moves[0].source, target=moves[0].target)
    rewrite_files(context, rules, rules.by_note(links), paths, plan)
    follow_headings(context, plan, renamed_by_links(plan), moved)
    moving = moves
    if folders and files.hides_some:
        # Moved as a whole, a folder would take hidden files along, or show by staying that there are some.
        moving = [Move(*pair) for pair in sorted(moved.items())]
    plan.steps = [*moving, *sorted(plan.writes, key=lambda write: str(write.path))]
    plan.newly_resolved = rules.newly_resolved(links)
    if with_queries:
        plan.kept = named_in_queries(context, _old_names(moves))
    return plan


def _old_names(moves: Sequence[Move]) -> re.Pattern[str]:
    """Return what a query says that names a file or folder which moves: a link to it, its path, or files below it."""
    paths = [re.escape(move.source.removesuffix(NOTE_SUFFIX)) for move in moves]
    names = [path.rpartition("/")[2] for path in paths]
    end = rf"(?:{re.escape(NOTE_SUFFIX)})?(?=[\"'/\]|#]|\s*$)"
    return re.compile(
        rf"(?<=\[\[)(?:{'|'.join(names)}){end}|(?<=[\"'\s:])(?:{'|'.join(paths)}){end}", re.IGNORECASE | re.MULTILINE
    )


def plan_arrival(context: PlanContext, path: VaultPath) -> list[Write]:
    """Plan how links change so that they still lead where they did once there is a new file at ``path``.

    As Obsidian does it (release notes 0.8.3): a link that would lead to the new file, or whose bare name would fit both,
    gets the path of the file it led to. Only where another file has the same name; then all canvases and bases are read
    as well. Raises VaultError as ``plan_move`` does.
    """
    if not namesakes(context, path):
        return []
    links = context.index.links_asking({*link_names_to(path)}, [], context.progress)
    paths = context.index.paths(context.progress)
    rules = MovedLinks(context, paths, {}, added=[path])
    plan = Plan()
    rewrite_files(context, rules, rules.by_note(links), paths, plan)
    follow_headings(context, plan, renamed_by_links(plan))
    return plan.writes


def namesakes(context: PlanContext, path: VaultPath) -> list[VaultPath]:
    """Return the files that have the name of a new one, in path order."""
    name = path.rpartition("/")[2]
    index, progress = context.index, context.progress
    alike = index.named([name], progress)
    if alike is None:  # the index is not built yet; listing the folders is quicker than waiting for it
        alike = [file.path for file in context.files.walk()]
    return sorted(other for other in alike if fold(other.rpartition("/")[2]) == fold(name))


def _source(files: Files, source: VaultPath) -> tuple[VaultPath, bool]:
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


def _check_apart(moves: Sequence[Move]) -> None:
    """Raise VaultError if two moves have one target, or one moves what lies in a folder that another moves."""
    sources = {move.source for move in moves}
    targets: dict[str, Move] = {}
    for move in moves:
        above = move.source
        while (above := VaultPath(above.rpartition("/")[0])) and above not in sources:
            pass
        if above:
            raise VaultError(
                INVALID_ARGUMENTS,
                f"{move.source!r} is in {above!r}, which would be moved too. Leave one of the two out.",
                path=move.source,
            )
        other = targets.setdefault(fold(move.target), move)
        if other is not move:
            raise VaultError(
                NOTE_EXISTS,
                f"{other.source!r} and {move.source!r} would both be {move.target!r}; nothing was moved. Move one of them "
                "by itself, to another name.",
                path=move.target,
                candidates=[other.source, move.source],
            )


def _free_target(files: Files, source: VaultPath, target: VaultPath, *, is_folder: bool) -> VaultPath:
    """Return the new path, spelt as on the disk as far as that is there. Raises VaultError if it is taken or invalid."""
    if not is_folder:
        target = _with_extension(source, target)
    folder, _, name = target.rpartition("/")
    name = compose(name)
    if folder:
        spelt, is_file = files.spell(VaultPath(folder))
        if is_file:
            raise VaultError(INVALID_ARGUMENTS, f"{spelt!r} is a file, so nothing can lie below it.", path=spelt)
        folder = spelt
    path = VaultPath(f"{folder}/{name}" if folder else name)
    if path == source:
        raise VaultError(INVALID_ARGUMENTS, f"{source!r} has that path already.", path=source)
    if is_folder and lies_in(folder, source):
        raise VaultError(INVALID_ARGUMENTS, f"The folder {source!r} cannot be moved into itself.", path=source)
    found, exists = files.spell(path)
    # Another spelling of its own name is no other file.
    if found != source and (exists or files.is_folder(found)):
        raise VaultError(NOTE_EXISTS, f"{found!r} exists already; nothing is moved over it.", path=found)
    is_old_folder = not folder or files.is_folder(VaultPath(folder))
    new_names = [name] if name != source.rpartition("/")[2] else []
    check_new_names(new_names if is_old_folder else [*folder.split("/"), *new_names])
    return path


def _with_extension(source: VaultPath, target: VaultPath) -> VaultPath:
    if is_note(source):
        return parse_note_path(target)
    if is_note(target):
        raise VaultError(INVALID_ARGUMENTS, f"{source!r} is no note, so its name cannot end in '.md'.", path=source)
    ending = _EXTENSION.search(source)
    return target if ending is None or _EXTENSION.search(target) else VaultPath(target + ending[0])
