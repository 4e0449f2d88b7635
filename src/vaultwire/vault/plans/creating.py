"""Plans for what is new in the vault: notes, the note of a day or week, templates put into notes, attachments.

A plan is a list of steps; nothing is written here. A new file may take a name that short links to another file use; its plan
then has the steps that rewrite those (engine facts §2.4).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from typing import Literal, NamedTuple, TypeAlias

from vaultwire.markdown import edits
from vaultwire.markdown.links import linkpath_written
from vaultwire.vault.changes.change import Step, Write
from vaultwire.vault.days import Days
from vaultwire.vault.disk.contents import to_bytes
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import (
    BASE_SUFFIX,
    check_new_names,
    fold,
    is_base,
    parse_path,
    parse_set_folder,
    place_of,
    says_folder,
    stem,
)
from vaultwire.vault.errors import INVALID_ARGUMENTS, NOTE_EXISTS, VaultError
from vaultwire.vault.plans.attachment_types import check_attachment
from vaultwire.vault.plans.context import Plan, PlanContext
from vaultwire.vault.plans.linktexts import link_to
from vaultwire.vault.plans.moving import namesakes, plan_arrival
from vaultwire.vault.plans.new_names import (
    check_name_is_free,
    check_takes_no_links,
    folder_for_notes,
    new_path,
    place_of_note,
    suggested_name,
)
from vaultwire.vault.plans.note_text import read_text, with_bom
from vaultwire.vault.plans.templates import below, fill, fill_periodic, find_template, insert, with_content
from vaultwire.vault.settings.obsidian_settings import (
    ADJECTIVES,
    Settings,
    is_set,
    notes_of,
    periodic_note_path,
    periodic_template_path,
)
from vaultwire.vault.value_types import VaultPath

OnCollision: TypeAlias = Literal["error", "number"]

# Links cannot name these (Obsidian's help, "Internal links"): Obsidian warns of them in a note's name.
_NOT_IN_LINKS = "#^[]|"


@dataclass
class FilePlan(Plan):
    """The plan of the file at ``target``, without steps if nothing would change, and what the caller should know.

    ``is_new``: there is no such file yet. ``link`` embeds an attachment; empty for notes.
    """

    is_new: bool
    notices: list[str] = field(default_factory=list)
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

    Where it goes: ``place_of_note``. The content's own properties win over the template's. For a name that is taken, in
    whatever case and Unicode form, ``number`` finds the next free one, as Obsidian does: ``Name 1``. Without
    ``may_have_namesake`` a name alone also counts as taken if a note elsewhere has it.

    Raises VaultError: NOTE_EXISTS; INVALID_ARGUMENTS and those of naming a path, with a name that would do; those of
    ``find_template`` and ``locate``.
    """
    files, settings = context.files, context.settings
    beside = context.locate(new.beside, may_name_part=True) if new.beside.strip() else None
    path = place_of_note(context, new.name, beside)
    may_have_namesake = may_have_namesake or says_folder(linkpath_written(new.name))
    if new.on_collision == "number":
        path = _numbered(files, path, lambda free: may_have_namesake or not namesakes(context, free))
        check_new_names([path.rpartition("/")[2]])
    else:
        check_is_free(files, path)
        if not may_have_namesake:
            check_name_is_free(context, new.name, path)
    text = new.content
    if new.template:
        _, template = read_text(files, find_template(files, settings, new.template))
        text = with_content(fill(template, stem(path), now, settings), new.content)
    relinked = plan_arrival(context, path) if may_have_namesake else []  # no other file has the name
    steps: list[Step] = [Write(path, None, to_bytes(text)), *relinked]
    return FilePlan(is_new=True, target=path, steps=steps, notices=_notices(path, "note"))


def plan_append_periodic(
    context: PlanContext, days: Days, content: str, now: datetime, heading: str = "", *, may_have_namesake: bool = True
) -> FilePlan:
    """Plan to add lines to the note of a day, week …. If there is none, it is made, from its template if the settings name one.

    The template's variables are filled in as ``templates.fill_periodic`` says. The lines go to the end, or to the end of the
    heading's section; a heading that is not there is added at the end, with level 2 (``templates.below``). Raises VaultError:
    those of ``periodic_note_path``, ``read_text`` and ``below``; without ``may_have_namesake``, NOTE_EXISTS if links use the
    name of the note that would be made for another.
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
        relinked = plan_arrival(context, path) if may_have_namesake else check_takes_no_links(context, path)
        return FilePlan(is_new=True, target=path, steps=[Write(path, None, after), *relinked], notices=notices)
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
    attachments" says: next to ``beside`` or, without it, to the vault's own folder. A name that is taken, or that links use for
    another file, is numbered, as Obsidian does: ``image 1.png``. ``max_bytes`` is the caller's limit.

    Raises VaultError as ``check_attachment`` and ``plan_create`` do; INVALID_ARGUMENTS also for a name no link can name.
    """
    files, settings = context.files, context.settings
    note = context.locate(beside, may_name_part=True) if beside.strip() else None
    check_attachment(name, data, max_bytes)
    usual = "" if says_folder(name) else _attachment_folder(settings, note)
    path = new_path(files, *place_of(name, usual), parse_path)
    path = _numbered(files, path, lambda free: not plan_arrival(context, free))
    check_new_names([path.rpartition("/")[2]])
    odd = [character for character in _NOT_IN_LINKS if character in stem(path)]
    if odd:
        raise VaultError(
            INVALID_ARGUMENTS,
            f"No link can name {path!r}, because of {' '.join(odd)}. A name that would do: {suggested_name(path)!r}.",
        )
    link = link_in(context, note or VaultPath(""), path)
    return FilePlan(is_new=True, target=path, steps=[Write(path, None, data)], link=link)


def plan_base(context: PlanContext, name: str, text: str) -> FilePlan:
    """Plan a new base. A name alone goes where Obsidian's "Default location for new notes" says; ``.base`` may be left out.

    Raises VaultError as ``plan_create`` does.
    """
    written = linkpath_written(name)
    written = written if is_base(written) else f"{written}{BASE_SUFFIX}"
    usual = "" if says_folder(written) else folder_for_notes(context.settings, None)
    path = new_path(context.files, *place_of(written, usual), parse_path)
    check_is_free(context.files, path)
    check_new_names([path.rpartition("/")[2]])
    steps: list[Step] = [Write(path, None, to_bytes(text)), *plan_arrival(context, path)]
    return FilePlan(is_new=True, target=path, steps=steps, notices=_notices(path, "base"))


def _notices(path: VaultPath, what: str) -> list[str]:
    odd = [character for character in _NOT_IN_LINKS if character in stem(path)]
    return [f"Links cannot name this {what}: its name has {' '.join(odd)}."] if odd else []


def link_in(context: PlanContext, note: VaultPath, path: VaultPath) -> str:
    """Return the link that shows an attachment in a note."""
    return link_to(note, path, context.index.paths(context.progress), context.settings, is_embed=True)


def _edited(path: VaultPath, before: bytes, after: bytes) -> FilePlan:
    after = with_bom(after, before)
    return FilePlan(is_new=False, target=path, steps=[Write(path, before, after)] if after != before else [])


def _periodic_text(
    files: Files, settings: Settings, path: VaultPath, days: Days, now: datetime
) -> tuple[str, list[str]]:
    """Return the text of a new note's template, and what the caller should know of how the note is made."""
    kind = ADJECTIVES[days.period]
    if not is_set(settings, days.period):
        return "", [
            f"Obsidian has no settings for {kind} notes: the note has the default name and lies at the top of the vault."
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


def _attachment_folder(settings: Settings, beside: VaultPath | None) -> str:
    written = settings.attachment_folder.strip().replace("\\", "/")
    folder = parse_set_folder(written, "Default location for new attachments") or ""
    if written == "." or written.startswith("./"):
        around = beside.rpartition("/")[0] if beside is not None else ""
        return f"{around}/{folder}" if around and folder else around or folder
    return folder


def check_is_free(files: Files, path: VaultPath) -> None:
    """Raise VaultError (NOTE_EXISTS) if something is at the path, with a name that is free."""
    if files.look_at(path) is None and not files.is_folder(path):
        return
    free = _numbered(files, path, lambda _: True)
    raise VaultError(
        NOTE_EXISTS,
        f"{path!r} {files.how_taken(path)}. Edit that one, or give a name that is free, such as {free!r}.",
        path=path,
    )


def _numbered(files: Files, path: VaultPath, is_free: Callable[[VaultPath], bool]) -> VaultPath:
    """Return the path, or the first free one after it: ``Name 1``. ``is_free`` refuses paths at which there is nothing."""
    if files.look_at(path) is None and not files.is_folder(path) and is_free(path):
        return path
    folder = VaultPath(path.rpartition("/")[0])
    # The folder is listed once for all numbers; it is the first that the walk yields.
    _, there = next(files.walk_folders(folder or None), ("", []))
    taken = {fold(file.path) for file in there}
    dot = path.rindex(".")
    numbered = (VaultPath(f"{path[:dot]} {number}{path[dot:]}") for number in count(1))
    return next(each for each in numbered if fold(each) not in taken and not files.is_folder(each) and is_free(each))
