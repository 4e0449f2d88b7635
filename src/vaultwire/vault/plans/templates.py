"""Templates as Obsidian's core plugin has them: found by name, their variables filled in, put into a note. Nothing is
written here, and which note a template makes is said by ``plans.creating``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime

from vaultwire.markdown import edits
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.markdown.property_edits import PropertyEditError, set_properties
from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import NOTE_SUFFIX, is_note, parse_set_folder
from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS, NOT_UTF8, SECTION_NOT_FOUND, VaultError
from vaultwire.vault.links.note_lookup import candidate_paths, resolve_name
from vaultwire.vault.plans.targets import Edit, apply_edits
from vaultwire.vault.settings.moment_format import format_moment
from vaultwire.vault.settings.obsidian_settings import Settings
from vaultwire.vault.value_types import VaultPath

BOM = "\ufeff"

DATE_FORMAT = "YYYY-MM-DD"  # both are Obsidian's (help, "Templates")
TIME_FORMAT = "HH:mm"

# Without blanks (obsidianmd/obsidian-help#201), in any case (chhoumann/quickadd#326).
_VARIABLE = re.compile(r"\{\{(?:title|(date|time)(?::([^{}\r\n]*))?)\}\}", re.IGNORECASE)
_HEADING_MARK = re.compile(r"(#{1,6})[ \t]+")
# More templates than this help nobody choose.
_MAX_NAMED = 30


def fill(text: str, title: str, now: datetime, settings: Settings) -> str:
    """Return the template with its variables filled in: ``{{title}}``, ``{{date}}``, ``{{time}}``, ``{{date:FORMAT}}``.

    ``now`` is the moment of both ``date`` and ``time``; their formats are Moment.js's (``settings.moment_format``). What is
    no variable stays as it is, character for character, and what is filled in is not looked at again.
    """
    formats = {
        "date": settings.template_date_format or DATE_FORMAT,
        "time": settings.template_time_format or TIME_FORMAT,
    }

    def value(variable: re.Match[str]) -> str:
        kind, form = variable[1], variable[2]
        return title if kind is None else format_moment(form or formats[kind.lower()], now)

    return _VARIABLE.sub(value, text)


def insert(
    text: str,
    template: str,
    place: Callable[[str, str], str] = edits.append,
    types: Mapping[str, str] | None = None,
) -> str:
    """Return the note's text with a filled template in it; both may have any line ends, the note's stay and win.

    The template's body goes where ``place(text, body)`` puts it: ``edits.append``, ``edits.prepend`` for the top of the
    note's body, or ``below(heading)``. Its properties are merged as Obsidian merges them (SilentVoid13/Templater#1601):
    what the note has not is added, lists are united, any other value of the note stays. Properties without a value
    count as not there. ``types`` are the vault's declared types. Raises VaultError (INVALID_ARGUMENTS) for a template whose
    properties cannot be read, and for a note whose properties cannot be changed.
    """
    template = edits.to_plain(template)
    brought = parse_frontmatter(template)
    if brought.problems:
        raise VaultError(
            INVALID_ARGUMENTS,
            f"The template's properties cannot be read: {brought.problems[0]}. Mend the template first.",
        )
    own = parse_frontmatter(edits.to_plain(text))
    if brought.values:
        if not own.end and not own.problems:
            text = edits.prepend(
                text, template[: brought.end]
            )  # as the template has them, comments and quotes included
        elif added := _added(own.values, brought.values):
            try:
                text = set_properties(text, added, types or {})
            except PropertyEditError as error:
                raise VaultError(INVALID_ARGUMENTS, f"The template's properties cannot be merged: {error}") from None
    body = template[brought.end :]
    return place(text, body) if body.strip() else text


def _added(own: Mapping[str, PropertyValue], brought: Mapping[str, PropertyValue]) -> dict[str, PropertyValue]:
    """Return the properties that merging gives another value, by the note's spelling of their names."""
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
    """Return an edit that adds lines at the end of a heading's section, before the blank lines that end it.

    ``heading`` is text, or a chain such as ``Plan#Today`` (``links.sections``). A heading that is not there is made at the
    end of the note, of level 2 unless it comes with marks of another (``### Log``). The edit raises VaultError: a chain
    that is not there is SECTION_NOT_FOUND, what cannot be one heading INVALID_ARGUMENTS.
    """
    wanted = heading.strip()
    mark = _HEADING_MARK.match(wanted)
    wanted = wanted[mark.end() :] if mark else wanted
    if not wanted.strip("#") or "\n" in wanted or "\r" in wanted:
        raise VaultError(
            INVALID_ARGUMENTS, f"{heading!r} is no heading; give its text, on one line.", argument="heading"
        )

    def edit(text: str, addition: str) -> str:
        if not addition:
            return text
        try:
            return apply_edits(path, text, [Edit("append", addition, section=wanted, occurrence=1)])
        except VaultError as error:
            if error.code != SECTION_NOT_FOUND or "#" in wanted or wanted.startswith("^"):
                raise
        section = f"{mark[1] if mark else '##'} {wanted}\n{addition}"
        if not text:
            return edits.to_plain(section if section.endswith("\n") else section + "\n")
        return edits.append(text, section if edits.to_plain(text).endswith("\n\n") else "\n" + section)

    return edit


def find_template(files: Files, settings: Settings, name: str) -> VaultPath:
    """Return the template that ``name`` means: its path in the templates folder, or the end of it, ``.md`` left out or not.

    Where the settings name no folder, any note may be one, by its path. Raises VaultError: FILE_NOT_FOUND with the
    templates there are, AMBIGUOUS_NAME, and those of naming a path.
    """
    folder = parse_set_folder(settings.template_folder, "Template folder location")
    if folder is None:
        for wanted in candidate_paths(name):
            path, exists = files.spell(wanted)
            if exists and is_note(path):
                return path
        raise VaultError(
            FILE_NOT_FOUND,
            f"There is no template {name!r}. Obsidian's settings name no template folder, so give the path of a note.",
            name=name,
        )
    candidate_paths(name)  # says what is wrong with a name that could be no path
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


def read_text(files: Files, path: VaultPath) -> tuple[bytes, str]:
    """Return a note's bytes and its text: the file's own line ends, without BOM. Raises VaultError: NOT_UTF8, ``read``'s."""
    data = files.read(path).data
    try:
        return data, data.decode("utf-8").removeprefix(BOM)
    except UnicodeDecodeError as error:
        raise VaultError(
            NOT_UTF8,
            f"{path!r} is not UTF-8 (byte {error.start}), so an edit could destroy text. Convert it to UTF-8 first.",
            path=path,
        ) from None
