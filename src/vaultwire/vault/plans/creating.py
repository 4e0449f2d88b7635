"""Plans for what is new in the vault: notes, the note of a day or week, templates put into notes, attachments.

A plan is a list of steps; nothing is written here. A new file may take a name that short links to another file use; the steps
that rewrite those (engine facts §2.4) are planned by ``moving.plan_arrival`` from ``FilePlan.path``.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from itertools import count
from typing import Literal, NamedTuple, TypeAlias

from vaultwire.markdown import edits
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.vault.changes.change import Step, Write
from vaultwire.vault.days import Days
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.note_text import to_bytes
from vaultwire.vault.disk.paths import (
    check_new_names,
    fold,
    parse_note_path,
    parse_path,
    parse_set_folder,
    safe_name,
    stem,
)
from vaultwire.vault.errors import INVALID_ARGUMENTS, NOTE_EXISTS, VaultError
from vaultwire.vault.plans.attachment_types import check_attachment
from vaultwire.vault.plans.context import PlanContext, check_new_path
from vaultwire.vault.plans.linktexts import link_to
from vaultwire.vault.plans.moving import is_path, plan_arrival
from vaultwire.vault.plans.note_text import read_text, with_bom
from vaultwire.vault.plans.templates import below, fill, fill_periodic, find_template, insert
from vaultwire.vault.settings.obsidian_settings import Settings
from vaultwire.vault.settings.periodic_notes import (
    ADJECTIVES,
    is_set,
    notes_of,
    periodic_note_path,
    periodic_template_path,
)
from vaultwire.vault.value_types import VaultPath

OnCollision: TypeAlias = Literal["error", "number"]

# Links cannot name these (Obsidian's help, "Internal links"): Obsidian warns of them in a note's name.
_NOT_IN_LINKS = "#^[]|"


class FilePlan(NamedTuple):
    """The path of the file, the steps to it (none if nothing would change), and what the caller should know.

    ``is_new``: there is no such file yet. ``link`` embeds an attachment; empty for notes.
    """

    path: VaultPath
    steps: list[Step]
    notices: list[str]
    is_new: bool
    link: str = ""


class NewNote(NamedTuple):
    """A new note as a caller asks for it. ``template`` names one, ``beside`` a note that it belongs to; both may be empty."""

    name: str
    content: str = ""
    template: str = ""
    beside: str = ""
    on_collision: OnCollision = "error"


def plan_create(context: PlanContext, new: NewNote, now: datetime, *, may_have_namesake: bool = True) -> FilePlan:
    """Plan a new note: its content below the text of the template.

    A name with ``/`` is a path from the vault's own folder (``./Name`` lies right in it). A bare name goes where Obsidian's
    "Default location for new notes" says; "same folder as current file" means the folder of ``beside``. The content's own
    properties win over the template's. For a name that is taken, in whatever case and Unicode form, ``number`` finds the
    next free one, as Obsidian does: ``Name 1``. Without ``may_have_namesake`` it also passes over names that links use for
    another note.

    Raises VaultError: NOTE_EXISTS; INVALID_ARGUMENTS and those of naming a path, with a name that would do; those of
    ``find_template`` and ``locate``.
    """
    files, settings = context.files, context.settings
    beside = context.locate(new.beside) if new.beside.strip() else None

    def is_free(path: VaultPath) -> bool:
        return may_have_namesake or not plan_arrival(context, path)

    folder = "" if is_path(new.name) else _note_folder(settings, beside)
    path = _free(files, _new_path(files, folder, new.name, parse_note_path), new.on_collision, is_free)
    text = new.content
    if new.template:
        _, template = read_text(files, find_template(files, settings, new.template))
        filled = fill(template, stem(path), now, settings)
        if parse_frontmatter(edits.to_plain(new.content)).end:
            text = insert(new.content, filled, edits.prepend, settings.property_types)
        else:
            text = edits.append(filled, new.content)
    odd = [character for character in _NOT_IN_LINKS if character in stem(path)]
    notices = [f"Links cannot name this note: its name has {' '.join(odd)}."] if odd else []
    return FilePlan(path, [Write(path, None, to_bytes(text))], notices, is_new=True)


def plan_append_periodic(context: PlanContext, days: Days, content: str, now: datetime, heading: str = "") -> FilePlan:
    """Plan to add lines to the note of a day, week …. If there is none, it is made, from its template if the settings name one.

    The template's variables are filled in as ``templates.fill_periodic`` says. The lines go to the end, or to the end of the
    heading's section; a heading that is not there is added at the end, with level 2 (``templates.below``). Raises VaultError:
    those of ``periodic_note_path``, ``read_text`` and ``below``.
    """
    files, settings = context.files, context.settings
    path, exists = files.spell(periodic_note_path(settings, days))
    notices: list[str] = []
    before: bytes | None = None
    if exists:
        before, text = read_text(files, path)
    else:
        text, notices = _periodic_text(files, settings, path, days, now)
    place = below(heading, path) if heading.strip() else edits.append
    after = to_bytes(place(text, content), before or b"")
    if before is None:
        return FilePlan(path, [Write(path, None, after)], notices, is_new=True)
    return _edited(path, before, after)


def plan_insert_template(
    context: PlanContext,
    path: VaultPath,
    template: str,
    now: datetime,
    place: Callable[[str, str], str] = edits.append,
) -> FilePlan:
    """Plan to put a template into an existing note. See ``templates.insert``, also for ``place`` and what it raises."""
    files, settings = context.files, context.settings
    before, text = read_text(files, path)
    _, template_text = read_text(files, find_template(files, settings, template))
    filled = fill(template_text, stem(path), now, settings)
    return _edited(path, before, to_bytes(insert(text, filled, place, settings.property_types), before))


def plan_attachment(context: PlanContext, name: str, data: bytes, max_bytes: int, beside: str = "") -> FilePlan:
    """Plan a new attachment, with the link that embeds it in the note ``beside``, which may be empty.

    A name with ``/`` is a path from the vault's own folder. A bare name goes where Obsidian's "Default location for new
    attachments" says: next to ``beside`` or, without it, to the vault's own folder. A name that is taken is numbered, as
    Obsidian does: ``image 1.png``. ``max_bytes`` is the caller's limit.

    Raises VaultError as ``check_attachment`` and ``plan_create`` do; INVALID_ARGUMENTS also for a name no link can name.
    """
    files, settings = context.files, context.settings
    note = context.locate(beside) if beside.strip() else None
    check_attachment(name, data, max_bytes)
    folder = "" if is_path(name) else _attachment_folder(settings, note)
    path = _free(files, _new_path(files, folder, name, parse_path), "number", lambda _: True)
    odd = [character for character in _NOT_IN_LINKS if character in stem(path)]
    if odd:
        raise VaultError(
            INVALID_ARGUMENTS,
            f"No link can name {path!r}, because of {' '.join(odd)}. A name that would do: {_suggested(path)!r}.",
        )
    paths = context.index.paths(context.progress)
    link = link_to(note or VaultPath(""), path, paths, settings, is_embed=True)
    return FilePlan(path, [Write(path, None, data)], [], is_new=True, link=link)


def _edited(path: VaultPath, before: bytes, after: bytes) -> FilePlan:
    after = with_bom(after, before)
    return FilePlan(path, [Write(path, before, after)] if after != before else [], [], is_new=False)


def _periodic_text(
    files: Files, settings: Settings, path: VaultPath, days: Days, now: datetime
) -> tuple[str, list[str]]:
    """Return the text of a new note's template, and what the caller should know of how the note is made."""
    kind = ADJECTIVES[days.period]
    if not is_set(settings, days.period):
        return "", [
            f"Obsidian has no settings for {kind} notes, so this one has the usual name, in the vault's own folder."
        ]
    try:
        named = periodic_template_path(settings, days.period)
        if named is None:
            return "", []
        template, _ = files.spell(named)
        _, written = read_text(files, template)
    except VaultError as error:
        # The caller wants the lines kept. Obsidian makes the note without the template as well.
        setting = notes_of(settings, days.period).template
        return "", [f"Made without the {kind} notes' template {setting!r}: {error.message}"]
    return fill_periodic(written, stem(path), days, now, settings), []


# ---------------------------------------------------------------------- places


def _note_folder(settings: Settings, beside: VaultPath | None) -> str:
    if settings.new_file_location == "folder":
        return parse_set_folder(settings.new_file_folder, "Folder to create new notes in") or ""
    if settings.new_file_location == "current" and beside is not None:
        return beside.rpartition("/")[0]
    return ""


def _attachment_folder(settings: Settings, beside: VaultPath | None) -> str:
    written = settings.attachment_folder.strip().replace("\\", "/")
    folder = parse_set_folder(written, "Default location for new attachments") or ""
    if written == "." or written.startswith("./"):
        around = beside.rpartition("/")[0] if beside is not None else ""
        return f"{around}/{folder}" if around and folder else around or folder
    return folder


def _new_path(files: Files, folder: str, name: str, parse: Callable[[str], VaultPath]) -> VaultPath:
    """Return the path of a new file, spelt as the disk spells what is there of it; the file itself may be there too."""
    try:
        named = parse(name)  # without the folder: after one, a drive letter would not be recognised
        path, _ = files.spell(parse_path(f"{folder}/{named}" if folder else named))
        check_new_path(files, path)
    except VaultError as error:
        suggested = _suggested(name)
        hint = "" if suggested == "/".join(_parts(name)) else f" A name that would do: {suggested!r}."
        raise VaultError(error.code, error.message + hint, **error.details) from None
    parts = path.split("/")
    for depth in range(1, len(parts)):
        if files.look_at(VaultPath("/".join(parts[:depth]))):
            raise VaultError(INVALID_ARGUMENTS, f"{'/'.join(parts[:depth])!r} is a file, so nothing can lie in it.")
    return path


def _suggested(name: str) -> str:
    return "/".join(safe_name(part) for part in _parts(name))


def _parts(name: str) -> list[str]:
    """Return the names in a path, without parts that name nothing (``.``, ``..``, empty); at least one."""
    return [part for part in name.replace("\\", "/").split("/") if part.strip() not in ("", ".", "..")] or [""]


def _free(files: Files, path: VaultPath, on_collision: OnCollision, is_free: Callable[[VaultPath], bool]) -> VaultPath:
    """Return the path, or the first free one after it. Raises VaultError (NOTE_EXISTS)."""
    is_taken = files.look_at(path) is not None or files.is_folder(path)
    if not is_taken and (on_collision == "error" or is_free(path)):
        return path
    folder = VaultPath(path.rpartition("/")[0])
    # The folder is listed once for all numbers; it is the first that the walk yields.
    _, there = next(files.walk_folders(folder or None), ("", []))
    taken = {fold(file.path) for file in there}
    dot = path.rindex(".")
    numbered = (VaultPath(f"{path[:dot]} {number}{path[dot:]}") for number in count(1))
    free = next(each for each in numbered if fold(each) not in taken and not files.is_folder(each) and is_free(each))
    if on_collision == "number":
        check_new_names([free.rpartition("/")[2]])
        return free
    raise VaultError(
        NOTE_EXISTS,
        f"{path!r} exists already. Edit that one, or give a name that is free, such as {free!r}.",
        path=path,
    )
