"""Templates as Obsidian's core plugin and Periodic Notes have them: found by name, filled in, put into a note's text.

Nothing is written here; which note is made from a template is decided by ``plans.creating``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta

from vaultwire.bases.moment_format import format_moment
from vaultwire.markdown import edits
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.markdown.property_edits import PropertyEditError, set_properties, written_properties
from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.vault.days import Days, later
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import NOTE_SUFFIX, is_note, parse_set_folder
from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS, SECTION_NOT_FOUND, VaultError
from vaultwire.vault.links.note_lookup import candidate_paths, resolve_name
from vaultwire.vault.plans.targeted_edits import Edit, apply_edits
from vaultwire.vault.settings.obsidian_settings import Settings, notes_of
from vaultwire.vault.value_types import VaultPath

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
    given, brought = parse_frontmatter(plain), parse_frontmatter(edits.to_plain(template))
    if not given.end:
        return edits.append(template, content)
    for whose, problems in (("template's", brought.problems), ("content's", given.problems if brought.end else [])):
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
    return edits.append(_with(template, changed, None, plain), plain[given.end :])


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
