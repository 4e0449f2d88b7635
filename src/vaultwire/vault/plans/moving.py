"""Plans for moving or renaming a note, an attachment or a folder, and for giving links another target; where a new file goes.

What a link says then is decided by ``link_rewriting.MovedLinks``. A plan is a list of steps; nothing is written here. Only
notes that hold a link to rewrite are read: the index knows them. Canvases and bases are all read, because the index does not
know their links.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from vaultwire.markdown.canvas import FileNode
from vaultwire.markdown.inline import linkpath_written
from vaultwire.markdown.link_spans import Kind, LinkSpan, NewLink
from vaultwire.vault.changes.change import Move, Write
from vaultwire.vault.changes.projected_tree import MovePaths
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
    parse_path,
    parse_set_folder,
    place_of,
    safe_name,
    says_folder,
    stem,
)
from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS, NOTE_EXISTS, TEXT_NOT_FOUND, VaultError
from vaultwire.vault.links.link_resolver import link_name, link_names_to, linkpath_of
from vaultwire.vault.plans.context import Plan, PlanContext, check_new_path
from vaultwire.vault.plans.heading_links import follow_headings, renamed_by_links
from vaultwire.vault.plans.link_rewriting import (
    MovedLinks,
    is_canvas_or_base,
    named_in_queries,
    rewrite_files,
)
from vaultwire.vault.settings.obsidian_settings import Settings
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


def plan_moves(context: PlanContext, asked_moves: Sequence[Move]) -> MovePlan:
    """Plan to give files and folders other paths together, so that every link still leads where it led.

    A target without extension gets the source's. Raises VaultError: FILE_NOT_FOUND, NOTE_EXISTS where a target is taken, also
    by another of the moves, INVALID_ARGUMENTS for a name that does not travel, a folder into itself, a file in a folder that
    moves too, another kind of file, or a name no link can lead to although there are some; those of reading a file.
    """
    files, index, progress = context.files, context.index, context.progress
    folders: list[Move] = []
    singles: list[Move] = []
    for move in asking(progress, asked_moves):
        source, is_folder = _source(files, move.source)
        target = _free_target(files, source, move.target, is_folder=is_folder)
        (folders if is_folder else singles).append(Move(source, target))
    moves = [*folders, *singles]
    _check_apart(moves)
    by_folder = MovePaths(enumerate(folders))
    paths = index.paths(progress)
    sources = tuple(f"{move.source}/" for move in folders)
    moved = {path: by_folder.after(path) for path in paths if path.startswith(sources)}
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
        plan.kept += named_in_queries(context, _old_names(moves))
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
    spelt, exists = files.spell(source)
    if exists:
        return spelt, False
    if files.is_folder(spelt):
        if (held := files.pending.get(spelt)) is not None:
            raise VaultError(
                INVALID_ARGUMENTS,
                f"The folder {spelt!r} waits as proposal {held.proposal}; it can be moved again once the person has decided.",
                path=spelt,
            )
        return spelt, True
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


# Where a new name puts a note or a moved file, and whether a new note may have that name.
#
# The rule itself is ``disk.paths.place_of``. Nothing is written here.

# Of the notes that have a name already.
_MAX_NAMESAKES = 3


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
    more = len(others) - _MAX_NAMESAKES
    named = ", ".join(map(repr, others[:_MAX_NAMESAKES])) + (f" and {more} more" if more > 0 else "")
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
        candidates=others[:_MAX_NAMESAKES],
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
    spelt, _ = files.spell(target)
    if is_into:
        becomes_it = is_folder and (spelt == source or not files.is_folder(spelt))
        return target if becomes_it else _below(target, own_name)
    _check_no_folder(files, source, to, spelt)
    return target


def _check_no_folder(files: Files, source: VaultPath, to: str, target: VaultPath) -> None:
    """Refuse a name that a folder has: the caller may want the file in that folder, or that name for it."""
    named = [] if is_note(target) else [target]
    if named and not says_folder(to):
        named.append(files.spell(parse_path(to))[0])
    folder = next((path for path in named if path != source and files.is_folder(path)), None)
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


# Plans for giving links another target: those that lead nowhere, or any link that a caller names. Nothing is written here.

# How many links an error names.
_MAX_NAMED = 10


class LinkFix(NamedTuple):
    """A link of one file, by its text without brackets and display, and the file and subpath that it gets.

    A ``linktext`` without a subpath means links with any, and these keep theirs. A ``subpath`` of None: the link keeps its own.
    """

    path: VaultPath
    linktext: str
    target: VaultPath
    subpath: str | None


def plan_relink(context: PlanContext, fixes: Sequence[LinkFix]) -> Plan:
    """Plan to rewrite links, in the form that the vault's settings ask for. Display texts stay.

    Raises VaultError: TEXT_NOT_FOUND if a file has no such link, INVALID_ARGUMENTS if no link can lead to a target; those of
    reading a file.
    """
    by_file: dict[VaultPath, dict[str, LinkFix]] = {}
    for fix in fixes:
        other = by_file.setdefault(fix.path, {}).setdefault(link_key(fix.linktext), fix)
        if (other.target, other.subpath) != (fix.target, fix.subpath):
            raise VaultError(
                INVALID_ARGUMENTS,
                f"{fix.linktext!r} in {fix.path!r} has two different fixes, {other.target!r} and {fix.target!r}. Give one.",
                argument="fixes",
            )
    names = {name for fix in fixes for name in link_names_to(fix.target)}
    links = MovedLinks(context, context.index.paths(context.progress), {}, names=names)
    plan = Plan()
    used: set[tuple[VaultPath, str]] = set()
    notes = [path for path in by_file if is_note(path)]
    # A node of a canvas does not say in which canvas it is, so these are read one at a time.
    for files in (notes, *([path] for path in by_file if not is_note(path))):
        rules = _Relinking(links, {path: by_file[path] for path in files}, used)
        rewrite_files(context, rules, dict.fromkeys(files), [], plan)
    unread = {problem.path for problem in plan.skipped}
    missing = [fix for fix in fixes if (fix.path, link_key(fix.linktext)) not in used and fix.path not in unread]
    if missing and not context.unread:
        named = ", ".join(f"{fix.linktext!r} in {fix.path}" for fix in missing[:_MAX_NAMED])
        more = f" and {len(missing) - _MAX_NAMED} more" if len(missing) > _MAX_NAMED else ""
        raise VaultError(
            TEXT_NOT_FOUND,
            f"There is no such link: {named}{more}. Nothing was changed. Give each link as it is written, without the brackets "
            "and what is shown instead; check_notes lists those that lead nowhere.",
            path=missing[0].path,
        )
    follow_headings(context, plan, renamed_by_links(plan))
    return plan


def link_key(linktext: str) -> str:
    """Return the form of a link's text that is compared: in any case, ``.md`` may be written or left out."""
    linkpath, mark, subpath = fold(linktext.strip()).partition("#")
    return f"{linkpath.strip().removesuffix(NOTE_SUFFIX)}{mark}{subpath}"


class _Relinking:
    """What the links say after the fixes (``link_rewriting.LinkRules``)."""

    def __init__(
        self, links: MovedLinks, fixes: dict[VaultPath, dict[str, LinkFix]], used: set[tuple[VaultPath, str]]
    ) -> None:
        """``used``: gets the file and link of each fix that is made."""
        self._links = links
        self._fixes = fixes
        self._used = used

    def path_after(self, path: VaultPath) -> VaultPath:
        """See ``LinkRules``: nothing moves."""
        return path

    def decide(self, source: VaultPath) -> Callable[[LinkSpan], NewLink | None]:
        """See ``LinkRules``."""

        def new_link(span: LinkSpan) -> NewLink | None:
            fix = self._fix_of(source, span.linktext)
            if fix is None:
                return None
            if "#" in span.linktext and "#" not in fix.linktext:
                fix = fix._replace(subpath=None)
            if not linkpath_of(span.linktext).strip() and fix.target == source and fix.subpath is not None:
                return NewLink(_as_subpath(fix.subpath))
            old = span.linktext if fix.subpath is None else linkpath_of(span.linktext) + _as_subpath(fix.subpath)
            new = self._links.linktext(source, old, fix.target, span)
            return None if new == span.linktext else NewLink(new)

        return new_link

    def node(self, node: FileNode) -> FileNode | None:
        """See ``LinkRules``: of the one canvas that there are fixes for."""
        for source in self._fixes:
            fix = self._fix_of(source, node.file + node.subpath)
            if fix is not None:
                return FileNode(fix.target, node.subpath if fix.subpath is None else _as_subpath(fix.subpath))
        return None

    def base_name(self, source: VaultPath) -> Callable[[Kind, str], str | None]:  # noqa: ARG002 - of the protocol
        """See ``LinkRules``: bases are not relinked."""
        return lambda _kind, _name: None

    def _fix_of(self, source: VaultPath, linktext: str) -> LinkFix | None:
        fixes = self._fixes.get(source, {})
        fix = fixes.get(link_key(linktext)) or fixes.get(link_key(linkpath_of(linktext)))
        if fix is not None:
            self._used.add((source, link_key(fix.linktext)))
        return fix


def _as_subpath(subpath: str) -> str:
    return f"#{subpath}" if subpath else ""
