"""Plans for what is new in the vault: notes, the note of a day or week, templates put into notes, attachments.

A plan is a list of steps; nothing is written here. A new file may take a name that short links to another file use; its plan
then has the steps that rewrite those (engine facts §2.4).
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from itertools import count
from typing import Literal, NamedTuple, TypeAlias

from vaultwire.bases.moment_format import format_moment
from vaultwire.markdown import edits
from vaultwire.markdown.inline import linkpath_written
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.markdown.property_edits import PropertyEditError, set_properties, written_properties
from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.vault.changes.change import Step, Write
from vaultwire.vault.days import Days, later
from vaultwire.vault.disk.contents import to_bytes
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import (
    BASE_SUFFIX,
    NOTE_SUFFIX,
    check_new_names,
    fold,
    is_base,
    is_canvas,
    is_note,
    parse_path,
    parse_set_folder,
    place_of,
    says_folder,
    stem,
)
from vaultwire.vault.errors import (
    FILE_NOT_FOUND,
    INVALID_ARGUMENTS,
    NOTE_EXISTS,
    SECTION_NOT_FOUND,
    TOO_LARGE,
    VaultError,
)
from vaultwire.vault.links.note_lookup import candidate_paths, resolve_name
from vaultwire.vault.plans.context import Plan, PlanContext, read_text, with_bom
from vaultwire.vault.plans.link_rewriting import link_to
from vaultwire.vault.plans.moving import (
    check_name_is_free,
    check_takes_no_links,
    folder_for_notes,
    namesakes,
    new_path,
    place_of_note,
    plan_arrival,
    suggested_name,
)
from vaultwire.vault.plans.targeted_edits import Edit, apply_edits
from vaultwire.vault.settings.obsidian_settings import (
    ADJECTIVES,
    Settings,
    is_set,
    notes_of,
    periodic_note_path,
    periodic_template_path,
)
from vaultwire.vault.value_types import VaultPath

# Templates as Obsidian's core plugin and Periodic Notes have them: found by name, filled in, put into a note's text.

DATE_FORMAT = "YYYY-MM-DD"  # both are Obsidian's (help, "Templates")
TIME_FORMAT = "HH:mm"

# Without spaces (obsidianmd/obsidian-help#201), in any case (chhoumann/quickadd#326).
_VARIABLE = re.compile(r"\{\{(?:title|(date|time)(?::([^{}\r\n]*))?)\}\}", re.IGNORECASE)
# Of Periodic Notes' templates, spaces are allowed there. Steps in hours and seconds are not filled in.
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_PERIODIC_VARIABLE = re.compile(
    rf"\{{\{{\s*(title|date|time|yesterday|tomorrow|month|quarter|year|{'|'.join(_WEEKDAYS)})\s*"
    r"(?:([+-]\d{1,5})([yqmwd]))?\s*(?::([^{}\r\n]*))?\}\}",
    re.IGNORECASE,
)
_BESIDE = {"yesterday": -1, "tomorrow": 1}
_UNITS = {"d": "day", "w": "week", "m": "month", "q": "quarter", "y": "year"}
_HEADING_MARK = re.compile(r"(#{1,6})[ \t]+")
# A longer list of templates helps nobody to choose.
_MAX_NAMED = 30


def fill(text: str, title: str, now: datetime, settings: Settings) -> str:
    """Return the template with its variables filled in: ``{{title}}``, ``{{date}}``, ``{{time}}``, ``{{date:FORMAT}}``.

    ``now`` gives both ``date`` and ``time``; their formats are Moment.js's (``settings.moment_format``). All other text
    stays as it is, and a value that is filled in is not searched for variables.
    """
    formats = {
        "date": settings.template_date_format or DATE_FORMAT,
        "time": settings.template_time_format or TIME_FORMAT,
    }

    def value(variable: re.Match[str]) -> str:
        kind, form = variable[1], variable[2]
        return title if kind is None else format_moment(form or formats[kind.lower()], now)

    return _VARIABLE.sub(value, text)


def fill_periodic(text: str, title: str, days: Days, now: datetime, settings: Settings) -> str:
    """Return the template of a daily, weekly … note with its variables filled in, as the plugin that has its settings does.

    The core plugin's daily notes: as ``fill``, with the day for ``{{date}}``. Periodic Notes: ``{{date}}`` and ``{{title}}``
    are the note's name, ``{{date:FORMAT}}`` is the first day, ``{{date+1d:FORMAT}}`` another one; ``{{month}}``,
    ``{{quarter}}`` and ``{{year}}`` say the same in their notes; ``{{monday:FORMAT}}`` is a day of a week, ``{{yesterday}}``
    and ``{{tomorrow}}`` are beside a day.
    """
    if days.period not in settings.periodic_notes:
        return fill(text, title, _at(days.first, now), settings)
    form = notes_of(settings, days.period).format

    def value(variable: re.Match[str]) -> str:
        name, steps, unit, own_form = variable[1].lower(), variable[2], variable[3], variable[4]
        if name == "title" or (name == "date" and not steps and own_form is None):
            return title
        if name == "time" and not steps and own_form is None:
            return format_moment(TIME_FORMAT, now)
        day = _named_day(name, days)
        if day is None:
            return variable[0]
        if steps:
            day = later(day, int(steps), _UNITS[unit.lower()])
        return format_moment((own_form or "").strip() or form, _at(day, now))

    try:
        return _PERIODIC_VARIABLE.sub(value, text)
    except (ValueError, OverflowError):  # steps out of the years there are
        return text


def _named_day(name: str, days: Days) -> date | None:
    """Return the day that a variable of a periodic note's template means; None if its notes have no such variable."""
    if name in ("date", "time", days.period):
        return days.first
    if days.period == "day" and name in _BESIDE:
        return days.first + timedelta(_BESIDE[name])
    if days.period == "week" and name in _WEEKDAYS:
        return days.first + timedelta((_WEEKDAYS.index(name) - days.first.weekday()) % 7)
    return None


def _at(day: date, now: datetime) -> datetime:
    return datetime.combine(day, now.timetz())


def insert(
    text: str,
    template: str,
    place: Callable[[str, str], str] = edits.append,
    types: Mapping[str, str] | None = None,
) -> str:
    """Return the note's text with a filled template in it. Both may have any line ends; the result has the note's.

    The template's body goes where ``place(text, body)`` puts it: ``edits.append``, ``edits.prepend`` for the top of the
    note's body, or ``below(heading)``. Its properties are merged as Obsidian merges them (SilentVoid13/Templater#1601):
    a property that the note lacks is added, lists are united, any other value of the note stays. A property without a
    value counts as missing. ``types`` are the vault's declared types. Raises VaultError (INVALID_ARGUMENTS) for a template
    whose properties cannot be read, and for a note whose properties cannot be changed.
    """
    template = edits.to_plain(template)
    brought = parse_frontmatter(template)
    if brought.problems:
        raise VaultError(
            INVALID_ARGUMENTS,
            f"The template's properties cannot be read: {brought.problems[0]}. Correct the template first.",
        )
    own = parse_frontmatter(edits.to_plain(text))
    if brought.values:
        if not own.end and not own.problems:
            text = edits.prepend(
                text, template[: brought.end]
            )  # as the template has them, comments and quotes included
        elif added := _added(own.values, written_properties(template)):
            text = _with(text, added, types or {}, template)
    body = template[brought.end :]
    return place(text, body) if body.strip() else text


def with_content(template: str, content: str) -> str:
    """Return a filled template with a new note's content below it, whose properties win; lists are united.

    The template's own lines stay as they are: comments, quotes, order. Only what the content has otherwise changes, and
    what it has more comes last. Raises VaultError (INVALID_ARGUMENTS) for properties that cannot be read.
    """
    plain = edits.to_plain(content)
    own, brought = parse_frontmatter(plain), parse_frontmatter(edits.to_plain(template))
    if not own.end:
        return edits.append(template, content)
    for whose, problems in (("template's", brought.problems), ("content's", own.problems if brought.end else [])):
        if problems:
            message = f"The {whose} properties cannot be read: {problems[0]}. Correct them first."
            raise VaultError(INVALID_ARGUMENTS, message)
    if not brought.end:
        return edits.prepend(content, template) if template.strip() else content
    changed: dict[str, PropertyValue] = {}
    for name, value in written_properties(plain).items():
        there = brought.value(name)
        if isinstance(there, list) and isinstance(value, list):
            changed[name] = [*there, *(item for item in value if item not in there)]
        elif value is not None or there is None:
            changed[name] = value
    return edits.append(_with(template, changed, None, plain), plain[own.end :])


def _with(text: str, values: Mapping[str, PropertyValue], types: Mapping[str, str] | None, source: str) -> str:
    """Return a text with properties of another one. Raises VaultError (INVALID_ARGUMENTS)."""
    try:
        return set_properties(text, values, types, source=source)
    except PropertyEditError as error:
        raise VaultError(INVALID_ARGUMENTS, f"The template's properties cannot be merged: {error}") from None


def _added(own: Mapping[str, PropertyValue], brought: Mapping[str, PropertyValue]) -> dict[str, PropertyValue]:
    """Return the properties that the merge changes or adds, by the note's spelling of their names."""
    added: dict[str, PropertyValue] = {}
    for name, value in brought.items():
        key = next((key for key in own if key.casefold() == name.casefold()), None)
        if key is None:
            added[name] = value
            continue
        there = own[key]
        if there is None and value is not None:
            added[key] = value
        elif isinstance(there, list) and isinstance(value, list):
            new = [item for item in value if item not in there]
            if new:
                added[key] = [*there, *new]
    return added


def below(heading: str, path: VaultPath) -> Callable[[str, str], str]:
    """Return a function that adds lines at the end of a heading's section, before the blank lines that end it.

    ``heading`` is text, or a chain such as ``Plan#Today`` (``links.sections``). A heading that is not there is added at
    the end of the note, with level 2 unless its marks say another (``### Log``). The function raises VaultError:
    SECTION_NOT_FOUND for a chain that is not there, INVALID_ARGUMENTS for a text that cannot be one heading.
    """
    title = heading.strip()
    mark = _HEADING_MARK.match(title)
    title = title[mark.end() :] if mark else title
    if not title.strip("#") or "\n" in title or "\r" in title:
        raise VaultError(
            INVALID_ARGUMENTS, f"{heading!r} is no heading; give its text, on one line.", argument="heading"
        )

    def edit(text: str, addition: str) -> str:
        if not addition:
            return text
        try:
            return apply_edits(path, text, [Edit("append", addition, section=title, occurrence=1)])
        except VaultError as error:
            if error.code != SECTION_NOT_FOUND or "#" in title or title.startswith("^"):
                raise
        section = f"{mark[1] if mark else '##'} {title}\n{addition}"
        if not text:
            return edits.to_plain(section if section.endswith("\n") else section + "\n")
        return edits.append(text, section if edits.to_plain(text).endswith("\n\n") else "\n" + section)

    return edit


def find_template(files: Files, settings: Settings, name: str) -> VaultPath:
    """Return the template that ``name`` means: its path in the templates folder, or the end of it, ``.md`` left out or not.

    If the settings name no folder, any note can be a template, by its path. Raises VaultError: FILE_NOT_FOUND with the
    templates there are, AMBIGUOUS_NAME, and those of naming a path.
    """
    folder = parse_set_folder(settings.template_folder, "Template folder location")
    if folder is None:
        for each in candidate_paths(name):
            path, exists = files.spell(each)
            if exists and is_note(path):
                return path
        raise VaultError(
            FILE_NOT_FOUND,
            f"There is no template {name!r}. Obsidian's settings name no template folder, so give the path of a note.",
            name=name,
        )
    candidate_paths(name)  # raises an error for a name that cannot be a path
    spelt, _ = files.spell(folder)
    there = [note.path for note in files.walk(spelt)]
    for text in (f"{spelt}/{name.strip().lstrip('/')}", name):
        try:
            return resolve_name(text, there)
        except VaultError as error:
            if error.code != FILE_NOT_FOUND:
                raise
    names = [path[len(spelt) + 1 : -len(NOTE_SUFFIX)] for path in there]
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    hint = f"There are: {', '.join(names[:_MAX_NAMED])}{more}." if names else "There are none."
    raise VaultError(
        FILE_NOT_FOUND, f"There is no template {name!r} in the template folder {spelt!r}. {hint}", name=name, near=names
    )


# The types of files that an attachment may have: those Obsidian shows, recognised by extension and by first bytes.


class _FileType(NamedTuple):
    """A type of file, recognised by its first bytes, and the extensions it may have."""

    name: str
    start: re.Pattern[bytes]
    extensions: tuple[str, ...]


def _type(name: str, start: bytes, *extensions: str) -> _FileType:
    return _FileType(name, re.compile(start, re.DOTALL), extensions)


# The first match is the file's type. Types without extensions are no attachments; they are here so that an error can name them.
_TYPES = (
    _type("PNG image", rb"\x89PNG\r\n\x1a\n", "png"),
    _type("JPEG image", rb"\xff\xd8\xff", "jpg", "jpeg"),
    _type("GIF image", rb"GIF8[79]a", "gif"),
    _type("WebP image", rb"RIFF.{4}WEBP", "webp"),
    _type("BMP image", rb"BM.{4}\0{4}", "bmp"),
    _type("AVIF image", rb".{4}ftyp(?=.{0,40}?avi[fs])", "avif"),  # first of its brands or a later one
    _type("HEIC image", rb".{4}ftyp(?:hei|hev|mif1|msf1)"),
    _type("PDF document", rb"%PDF-", "pdf"),
    _type("WAV recording", rb"RIFF.{4}WAVE", "wav"),
    _type("MP4 or QuickTime file", rb".{4}ftyp", "mp4", "m4a", "mov", "3gp"),
    _type("Ogg file", rb"OggS", "ogg", "ogv"),
    _type("FLAC recording", rb"fLaC", "flac"),
    _type("Matroska or WebM file", rb"\x1aE\xdf\xa3", "mkv", "webm"),
    _type("MP3 recording", rb"ID3", "mp3", "flac"),  # some programs put such tags before FLAC too
    _type("program", rb"MZ|\x7fELF|\xfe\xed\xfa[\xce\xcf]|[\xce\xcf]\xfa\xed\xfe|\xca\xfe\xba\xbe|#!"),
    _type("ZIP archive or Office document", rb"PK(?:\x03\x04|\x05\x06)"),
    _type("web page", rb"(?:\xef\xbb\xbf)?\s*+<(?i:!doctype html|html|script)\b"),
    # A declaration and comments may come first. The lookahead is bounded, so a large file of another type costs nothing.
    _type("SVG image", rb"(?:\xef\xbb\xbf)?\s*+(?=<)(?=.{0,4000}?<svg\b)", "svg"),
)
# Those of Obsidian's help, "Accepted file formats", without notes, canvases and bases, which are text.
EXTENSIONS = frozenset(extension for each in _TYPES for extension in each.extensions)
# Files of these types always begin as their type says; of the other audio and video types there are older forms.
_ALWAYS_RECOGNISED = frozenset("avif bmp gif jpeg jpg png svg webp pdf flac mkv webm ogg ogv mp4 m4a 3gp".split())  # noqa: SIM905


def check_attachment(name: str, data: bytes, max_bytes: int) -> None:
    """Refuse a file that is no attachment. Raises VaultError: INVALID_ARGUMENTS for a type that Obsidian does not show, and
    for bytes of another type than the name says; TOO_LARGE.
    """
    extension = extension_of(name)
    if extension not in EXTENSIONS:
        raise VaultError(
            INVALID_ARGUMENTS,
            f"{name!r} is no kind of attachment that Obsidian shows. Its extension must be one of "
            f"{', '.join(sorted(EXTENSIONS))}.",
        )
    if not data:
        raise VaultError(INVALID_ARGUMENTS, f"{name!r} would be empty; give the file's bytes.")
    if len(data) > max_bytes:
        raise _too_large(name, len(data), max_bytes)
    file_type = next((known for known in _TYPES if known.start.match(data)), None)
    if file_type is None and extension in _ALWAYS_RECOGNISED:
        raise VaultError(INVALID_ARGUMENTS, f"{name!r}: these bytes are no {extension} file.")
    if file_type is not None and extension not in file_type.extensions:
        right = f" Name it with .{file_type.extensions[0]}." if file_type.extensions else ""
        raise VaultError(
            INVALID_ARGUMENTS, f"{name!r}: these bytes are no {extension} file but a {file_type.name}.{right}"
        )


def decode_base64(text: str, name: str, max_bytes: int) -> bytes:
    """Return the bytes of base64 text (RFC 4648, section 4; line breaks and spaces are allowed).

    Raises VaultError: INVALID_ARGUMENTS, and TOO_LARGE before anything is decoded.
    """
    packed = "".join(text.split())
    if len(packed) // 4 * 3 - packed[-2:].count("=") > max_bytes:
        raise _too_large(name, len(packed) // 4 * 3, max_bytes)
    try:
        return base64.b64decode(packed, validate=True)
    except ValueError as error:
        raise VaultError(
            INVALID_ARGUMENTS,
            f"{name!r}: its content is not base64 ({error}). Give the file's bytes as base64, without a 'data:' prefix.",
        ) from None


def extension_of(name: str) -> str:
    """Return the extension in lower case, without its dot; empty if there is none."""
    return name.rpartition("/")[2].rpartition(".")[2].lower() if "." in name.rpartition("/")[2] else ""


def _too_large(name: str, size: int, max_bytes: int) -> VaultError:
    return VaultError(
        TOO_LARGE,
        f"{name!r} has {size} bytes; an attachment may have at most {max_bytes}.",
        size=size,
        max_size=max_bytes,
    )


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

    The template's variables are filled in as ``fill_periodic`` says. The lines go to the end, or to the end of the
    heading's section; a heading that is not there is added at the end, with level 2 (``below``). Raises VaultError:
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
    """Plan to put a template into an existing note. See ``insert``, also for ``place`` and what it raises."""
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


def plan_file(context: PlanContext, name: str, text: str, on_collision: OnCollision | Literal["overwrite"]) -> FilePlan:
    """Plan a new base or canvas. A name alone goes where Obsidian's "Default location for new notes" says.

    ``.base`` may be left out. For a name that is taken: as ``plan_create``; ``overwrite`` replaces the text of that file.
    Raises VaultError as ``plan_create`` does.
    """
    written = linkpath_written(name)
    written = written if is_base(written) or is_canvas(written) else f"{written}{BASE_SUFFIX}"
    usual = "" if says_folder(written) else folder_for_notes(context.settings, None)
    path = new_path(context.files, *place_of(written, usual), parse_path)
    taken = context.files.look_at(path)
    if taken is not None and on_collision == "overwrite":
        return _edited(taken.path, context.files.read(taken.path).data, to_bytes(text))
    if on_collision == "number":
        path = _numbered(context.files, path, lambda _: True)
    else:
        check_is_free(context.files, path)
    check_new_names([path.rpartition("/")[2]])
    steps: list[Step] = [Write(path, None, to_bytes(text)), *plan_arrival(context, path)]
    return FilePlan(
        is_new=True, target=path, steps=steps, notices=_notices(path, "base" if is_base(path) else "canvas")
    )


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
