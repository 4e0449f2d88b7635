"""Plans for what is new in the vault: notes, the note of a day, templates put into notes, attachments. Nothing is written
here: each plan is a list of steps (``changes.change``). What a template's variables mean is said by ``plans.templates``.

A new file may take a name that short links to another file use; Obsidian rewrites those (engine facts §2.4). Where it will
lie is ``Planned.path``, so that whoever plans links adds the steps for them.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from itertools import count
from typing import Literal, NamedTuple, TypeAlias

from vaultwire.markdown import edits
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.vault.changes.change import Step, Write
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
from vaultwire.vault.index.port import Index
from vaultwire.vault.plans.attaching import check_attachment
from vaultwire.vault.plans.linktexts import link_to
from vaultwire.vault.plans.moving import is_path
from vaultwire.vault.plans.templates import BOM, below, fill, find_template, insert, read_text
from vaultwire.vault.settings.daily_notes import daily_note_path, daily_template_path
from vaultwire.vault.settings.obsidian_settings import Settings
from vaultwire.vault.value_types import NO_PROGRESS, Progress, VaultPath

OnCollision: TypeAlias = Literal["error", "number"]

# Links cannot name these (Obsidian's help, "Internal links"): Obsidian warns of them in a note's name.
_NOT_IN_LINKS = "#^[]|"


class Planned(NamedTuple):
    """Where what is planned will lie, the steps to it (none if nothing would change), and what the caller should know.

    ``is_new``: there is no such file yet. ``link`` embeds an attachment; empty for notes.
    """

    path: VaultPath
    steps: list[Step]
    notices: list[str]
    is_new: bool
    link: str = ""


def plan_create(  # noqa: PLR0913 - what is made, where, and which names are taken
    files: Files,
    settings: Settings,
    name: str,
    content: str,
    *,
    template: str = "",
    now: datetime,
    beside: VaultPath | None = None,
    on_collision: OnCollision = "error",
    is_free: Callable[[VaultPath], bool] = lambda _: True,
) -> Planned:
    """Plan a new note of this content, below what the template brings, if one is named.

    A name with ``/`` is a path from the vault's own folder (``./Name`` lies right in it); a bare one goes where Obsidian's
    "Default location for new notes" says, "same folder as current file" meaning the folder of ``beside``. A content's
    own properties win over the template's. Of a name that is taken, whatever its case and Unicode form, the next
    free one is found with ``number``, as Obsidian does: ``Name 1``. ``is_free`` may rule out more paths then.

    Raises VaultError: NOTE_EXISTS; INVALID_ARGUMENTS and those of naming a path, with a name that would do; those of
    ``find_template``.
    """
    folder = "" if is_path(name) else _note_folder(settings, beside)
    path = _free(files, _new_path(files, folder, name, parse_note_path), on_collision, is_free)
    text = content
    if template:
        _, written = read_text(files, find_template(files, settings, template))
        filled = fill(written, stem(path), now, settings)
        if parse_frontmatter(edits.to_plain(content)).end:
            text = insert(content, filled, edits.prepend, settings.property_types)
        else:
            text = edits.append(filled, content)
    odd = [character for character in _NOT_IN_LINKS if character in stem(path)]
    notices = [f"Links cannot name this note: its name has {' '.join(odd)}."] if odd else []
    return Planned(path, [Write(path, None, to_bytes(text))], notices, is_new=True)


def plan_append_daily(
    files: Files, settings: Settings, day: date, content: str, *, heading: str = "", now: datetime
) -> Planned:
    """Plan to add lines to the day's note, which is made if it is not there: from its template, if the settings name one.

    In the template ``{{date}}`` is the day and ``{{time}}`` the time it is now; ``{{title}}`` is the note's name. The lines
    go to the end, or to the end of the heading's section; a heading that is not there is made at the end, of level 2
    (``templates.below``). Raises VaultError: those of ``daily_note_path``, ``read_text`` and ``below``.
    """
    path, exists = files.spell(daily_note_path(settings, day))
    notices: list[str] = []
    before: bytes | None = None
    if exists:
        before, text = read_text(files, path)
    else:
        text, notices = _daily_text(files, settings, path, datetime.combine(day, now.timetz()))
    place = below(heading, path) if heading.strip() else edits.append
    after = to_bytes(place(text, content), before or b"")
    if before is None:
        return Planned(path, [Write(path, None, after)], notices, is_new=True)
    return _edited(path, before, after)


def plan_insert_template(
    files: Files,
    settings: Settings,
    path: VaultPath,
    template: str,
    *,
    now: datetime,
    place: Callable[[str, str], str] = edits.append,
) -> Planned:
    """Plan to put a template into a note that is there. See ``templates.insert``, also for ``place`` and what it raises."""
    before, text = read_text(files, path)
    _, written = read_text(files, find_template(files, settings, template))
    filled = fill(written, stem(path), now, settings)
    return _edited(path, before, to_bytes(insert(text, filled, place, settings.property_types), before))


def plan_attachment(
    files: Files,
    index: Index,
    settings: Settings,
    name: str,
    data: bytes,
    *,
    max_bytes: int,
    beside: VaultPath | None = None,
    progress: Progress = NO_PROGRESS,
) -> Planned:
    """Plan a new attachment, with the link that embeds it in the note ``beside``.

    A name with ``/`` is a path from the vault's own folder; a bare one goes where Obsidian's "Default location for new
    attachments" says, next to ``beside`` or, without it, to the vault's own folder. A name that is taken is numbered, as
    Obsidian does: ``image 1.png``. ``max_bytes`` is the caller's limit.

    Raises VaultError as ``check_attachment`` and ``plan_create`` do; INVALID_ARGUMENTS also for a name no link can name.
    """
    check_attachment(name, data, max_bytes)
    folder = "" if is_path(name) else _attachment_folder(settings, beside)
    path = _free(files, _new_path(files, folder, name, parse_path), "number", lambda _: True)
    odd = [character for character in _NOT_IN_LINKS if character in stem(path)]
    if odd:
        raise VaultError(
            INVALID_ARGUMENTS,
            f"No link can name {path!r}, because of {' '.join(odd)}. A name that would do: {_suggested(path)!r}.",
        )
    link = link_to(beside or VaultPath(""), path, index.paths(progress), settings, is_embed=True)
    return Planned(path, [Write(path, None, data)], [], is_new=True, link=link)


def _edited(path: VaultPath, before: bytes, after: bytes) -> Planned:
    if before.startswith(BOM.encode()):
        after = BOM.encode() + after
    return Planned(path, [Write(path, before, after)] if after != before else [], [], is_new=False)


def _daily_text(files: Files, settings: Settings, path: VaultPath, moment: datetime) -> tuple[str, list[str]]:
    """Return what a new daily note begins with, and why that is not from the template the settings name."""
    try:
        named = daily_template_path(settings)
        if named is None:
            return "", []
        template, _ = files.spell(named)
        _, written = read_text(files, template)
    except VaultError as error:
        # The lines are what the caller wants kept; Obsidian too makes the note without it.
        return "", [f"Made without the daily notes' template {settings.daily_template!r}: {error.message}"]
    return fill(written, stem(path), moment, settings), []


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
        named = parse(name)  # on its own: a drive's letter is none behind a folder
        path, _ = files.spell(parse_path(f"{folder}/{named}" if folder else named))
        above, _, own = path.rpartition("/")
        in_old_folder = not above or files.is_folder(VaultPath(above))
        check_new_names([own] if in_old_folder else path.split("/"))
    except VaultError as error:
        written = _parts(name)
        hint = (
            "" if written == [safe_name(part) for part in written] else f" A name that would do: {_suggested(name)!r}."
        )
        raise VaultError(error.code, error.message + hint, **error.details) from None
    parts = path.split("/")
    for depth in range(1, len(parts)):
        if files.look_at(VaultPath("/".join(parts[:depth]))):
            raise VaultError(INVALID_ARGUMENTS, f"{'/'.join(parts[:depth])!r} is a file, so nothing can lie in it.")
    return path


def _suggested(name: str) -> str:
    return "/".join(safe_name(part) for part in _parts(name))


def _parts(name: str) -> list[str]:
    """Return the names in a path, without what only says where it begins; at least one."""
    return [part for part in name.replace("\\", "/").split("/") if part.strip() not in ("", ".", "..")] or [""]


def _free(files: Files, path: VaultPath, on_collision: OnCollision, is_free: Callable[[VaultPath], bool]) -> VaultPath:
    """Return the path, or the first free one after it. Raises VaultError (NOTE_EXISTS)."""
    is_taken = files.look_at(path) is not None or files.is_folder(path)
    if not is_taken and (on_collision == "error" or is_free(path)):
        return path
    folder = VaultPath(path.rpartition("/")[0])
    # One look for all numbers, at the folder itself, which comes first.
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
