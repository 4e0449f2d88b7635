"""Notes and attachments as resources, notes as prompts, and the completions of their arguments.

The URI of a resource is ``obsidian://vault/VAULT/PATH``: Obsidian's own short form (Obsidian help, "Obsidian URI"), so it
opens the file in the app as well. ``server.features`` spells a resource as a revision wants it.
"""

from __future__ import annotations

import base64
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple, TypeAlias

from vaultwire.markdown.inline import percent_decoded, percent_encoded
from vaultwire.markdown.properties import Frontmatter, parse_frontmatter
from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.tools.base_views import split_view, view_page
from vaultwire.vault.base_queries.running import BaseSource
from vaultwire.vault.disk.paths import NOTE_TYPE, compose, fold, is_note, media_type_of, parse_path, stem, text_of
from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS, VaultError
from vaultwire.vault.value_types import NO_PROGRESS, NoteStat, Progress, VaultPath
from vaultwire.vault.vault import Vault

_PREFIX = "obsidian://vault/"
# The template of all resources of all vaults: in the name all reserved characters are encoded, in the path not the slashes
# (RFC 6570 §3.2).
TEMPLATE = _PREFIX + "{vault}/{+path}"
_VIEW = "{+base}{#view}"
VIEW_TEMPLATE = _PREFIX + "{vault}/" + _VIEW
# The longest path most systems take has 4,096 bytes, each of them three characters in a URI at most.
_MAX_URI = 3 * 4096 + 1000
_MAX_QUOTE = 200  # of a URI in a message


class Resource(NamedTuple):
    """A resource with its content: either ``text`` or ``blob`` (base64)."""

    uri: str
    mime_type: str
    text: str | None
    blob: str | None


class ResourcePage(NamedTuple):
    """One page of the list of resources, and the cursor of the next, None on the last."""

    files: list[NoteStat]
    next_cursor: str | None


def uri_of(vault: Vault, path: VaultPath) -> str:
    """Return the resource's URI; ``path_of`` returns the path again, for any path."""
    return root_of(vault.name) + percent_encoded(path)


def root_of(name: str) -> str:
    """Return the beginning of the URIs of a vault's resources."""
    return f"{_PREFIX}{percent_encoded(name)}/"


def template_of(vault: Vault) -> str:
    """Return the URI template (RFC 6570) of every note and attachment; its variable is ``path``."""
    return root_of(vault.name) + "{+path}"


def view_template_of(vault: Vault) -> str:
    """Return the URI template of every view of a base; its variables are ``base`` and ``view``."""
    return root_of(vault.name) + _VIEW


def view_uri_of(vault: Vault, base: VaultPath, view: str) -> str:
    """Return the URI of a view as a resource: that of its base with the name behind ``#``, as in links to it."""
    return f"{uri_of(vault, base)}#{percent_encoded(view)}"


def names_view(uri: str) -> bool:
    """Tell whether a URI names a view of a base, unless a file is called so."""
    try:
        return split_view(percent_decoded(uri)) is not None
    except UnicodeDecodeError:  # no resource has such a URI
        return False


def vault_of(uri: str) -> str | None:
    """Return the name of the vault in a URI; None if it is no resource of ours."""
    head, rest = uri[: len(_PREFIX)], uri[len(_PREFIX) :]
    try:
        return compose(percent_decoded(rest.partition("/")[0])) if head.lower() == _PREFIX else None
    except UnicodeDecodeError:
        return None


def path_of(vault: Vault, uri: str) -> str:
    """Return the path in the vault that the URI names.

    All behind the vault's name is the path, ``?`` and ``#`` included: clients that fill in the template do not encode
    them (RFC 6570 §3.2.3). Raises VaultError (FILE_NOT_FOUND) for a URI that is not of this vault.
    """
    head, rest = uri[: len(_PREFIX)], uri[len(_PREFIX) :]
    name, _, path = rest.partition("/")
    try:
        if len(uri) <= _MAX_URI and head.lower() == _PREFIX and fold(percent_decoded(name)) == fold(vault.name):
            return percent_decoded(path)
    except UnicodeDecodeError:  # no file has such a name: names that are no UTF-8 are not listed
        pass
    raise VaultError(
        FILE_NOT_FOUND,
        f"There is no resource {uri[:_MAX_QUOTE]!r}. Those of this vault begin with {root_of(vault.name)!r}.",
    )


def list_resources(vault: Vault, cursor: str | None, limit: int, progress: Progress) -> ResourcePage:
    """Return notes and attachments in path order, without those whose path no call could give.

    ``cursor`` is the URI of the last one, so files that come or go between two pages shift nothing. Raises
    VaultError (INVALID_ARGUMENTS) for a cursor that no page gave.
    """
    try:
        after = "" if cursor is None else path_of(vault, cursor)
        after.encode()  # no path that was listed holds half a character
    except (VaultError, UnicodeEncodeError):
        raise VaultError(INVALID_ARGUMENTS, "cursor must be the nextCursor of an earlier answer") from None
    files, has_more = vault.overview.list_files(after, limit, progress)
    next_cursor = uri_of(vault, files[-1].path) if has_more else None
    return ResourcePage([file for file in files if _can_be_named(file.path)], next_cursor)


def read_resource(vault: Vault, uri: str, max_attachment_bytes: int, progress: Progress = NO_PROGRESS) -> Resource:
    """Return the resource: as text if it is text, else as base64; of a base's view the rows, as Markdown.

    Raises VaultError as ``Vault.read_file`` does, and as ``view_page`` does for a view.
    """
    asked = path_of(vault, uri)
    try:
        path, file = vault.read_file(asked, max_attachment_bytes)
    except VaultError as error:
        named = split_view(asked)
        if named is None or error.code != FILE_NOT_FOUND:
            raise
        base, _ = vault.read_file(named[0], max_attachment_bytes)
        return Resource(uri, NOTE_TYPE, view_page(vault, base, named[1], progress), None)
    mime_type = media_type_of(path)
    if is_note(path):
        return Resource(uri, NOTE_TYPE, file.data.decode("utf-8-sig", "replace"), None)
    text = text_of(path, file.data)
    if text is not None:
        return Resource(uri, mime_type or "text/plain", text, None)
    return Resource(uri, mime_type or "application/octet-stream", None, base64.b64encode(file.data).decode())


def _can_be_named(path: VaultPath) -> bool:
    try:
        return parse_path(path) == path
    except VaultError:
        return False


# ---------------------------------------------------------------------- completions of an argument

# The kind of an argument's value. ``text``: anything, so there are no completions.
Meaning: TypeAlias = Literal["text", "note", "file", "folder", "tag", "property", "base", "view"]

_NOTHING: Mapping[str, str] = {}
_MEANINGS: dict[str, Meaning] = {
    "path": "note",
    "note": "note",
    "file": "file",
    "attachment": "file",
    "folder": "folder",
    "tag": "tag",
    "property": "property",
    "base": "base",
    "view": "view",
}


def meaning_of(name: str) -> Meaning:
    """Return the kind of an argument by its name, which is all that a prompt in a vault says of it."""
    return _MEANINGS.get(name.casefold(), "text")


def completions(
    vault: Vault, meaning: Meaning, value: str, progress: Progress, filled_in: Mapping[str, str] = _NOTHING
) -> list[str]:
    """Return every value that matches the text typed so far, best first; among equals, common ones first or path order.

    ``filled_in``: the other arguments by name. Views are those of the argument ``base``.
    """
    match meaning:
        case "note":
            return ranked(filter(is_note, vault.overview.paths(progress)), value)
        case "file":
            return ranked(sorted(vault.overview.paths(progress), key=lambda path: (not is_note(path), path)), value)
        case "folder":
            parents = {path.rpartition("/")[0] for path in vault.overview.paths(progress)}
            folders = {parent[:end] for parent in parents for end in _ends_of_parts(parent)}
            return ranked(sorted(folders), value)
        case "tag":
            mark = "#" if value.startswith("#") else ""
            tags = [count.tag for count in vault.overview.count_tags("", progress)]
            return [mark + tag for tag in ranked(tags, value.removeprefix("#"))]
        case "property":
            return ranked(vault.overview.property_names(progress), value)
        case "base":
            return ranked(vault.bases.files(progress), value)
        case "view":
            return ranked(_views(vault, filled_in.get("base", ""), progress), value)
        case "text":
            return []


def _views(vault: Vault, base: str, progress: Progress) -> list[str]:
    """Return the names of a base's views, in its order; none where there is no such base yet."""
    try:
        return [view.name for view in vault.bases.views(BaseSource(base), progress) if view.name]
    except VaultError:
        return []


def _ends_of_parts(folder: str) -> list[int]:
    """Return where each part of the folder's path ends: so folders that hold only folders are included."""
    return [index for index, character in enumerate(folder) if character == "/"] + ([len(folder)] if folder else [])


def ranked(candidates: Iterable[str], value: str) -> list[str]:
    """Return the candidates that hold the value: first at their start, then at the start of the name, in it, anywhere."""
    key = fold(value)
    if not key:
        return list(candidates)
    ranks: list[list[str]] = [[], [], [], []]
    for candidate in candidates:
        folded = fold(candidate)
        if key not in folded:
            continue
        name = folded.rpartition("/")[2]
        rank = 0 if folded.startswith(key) else 1 if name.startswith(key) else 2 if key in name else 3
        ranks[rank].append(candidate)
    return [candidate for rank in ranks for candidate in rank]


# ---------------------------------------------------------------------- prompts
#
# Prompts that a person may start a conversation with: a few of our own, and the notes of one folder of the vault.
#
# Each note of that folder is a prompt: it has the note's name and text, and each ``{{argument}}`` in the text is an argument.
# The note may have properties: ``description`` is a text, ``arguments`` a list of "name: description" (or a map), with "?"
# behind the name of an optional one. Notes are read at every call, so a prompt is always up to date.

PROMPT_NOT_FOUND = "PROMPT_NOT_FOUND"

# More than any client's menu shows. Each note is read when the menu is opened.
MAX_PROMPTS = 200
# Enough for the changes of a day. If a whole vault was copied on that day, its list must not fill the conversation.
_MAX_CHANGED = 50
_MAX_DESCRIPTION = 200
_MAX_NOTE_NAME, _MAX_DAY = 1000, 100  # as in the tools (``argument_types``)
_EVERY_NOTE = 1 << 30

# Bounded, so that a note full of braces is read in linear time. The text between them is checked afterwards, because a note
# may hold {{date:YYYY}} of a template, which is no argument and stays.
_BRACES = re.compile(r"\{\{([^{}\n]{1,100})\}\}")
_ARGUMENT_NAME = re.compile(r"\w[\w -]*")
_NOT_IN_NAMES = re.compile(r"[\W_]+")
_MARKS_BEFORE_TEXT = re.compile(r"\A(?:#{1,6}[ \t]+|>[ \t]*|[-*+][ \t]+)")


class Argument(NamedTuple):
    """An argument of a prompt. ``meaning``: the kind of its value, for completions."""

    name: str
    description: str
    required: bool
    meaning: Meaning


class Prompt(NamedTuple):
    """A prompt of the menu. ``note`` is the path of its text; None for one of our own."""

    name: str
    title: str
    description: str
    arguments: list[Argument]
    note: VaultPath | None


Message: TypeAlias = str | Resource
"""What the person says: text, or a note that they attach."""

_PATH = Argument("path", 'The note: its path in the vault, its name, or wikilink text ("[[Note]]")', True, "note")
OURS = (
    Prompt("summarize_note", "Summarize a note", "Sum up a note, with its decisions and open ends", [_PATH], None),
    Prompt(
        "daily_review",
        "Review a day",
        "Look back on a day: what its daily note says and which notes were changed",
        [Argument("date", "The day, such as 2026-03-31 or yesterday; today if left out", False, "text")],
        None,
    ),
    Prompt(
        "find_related", "Find related notes", "Find notes that belong with one and are not linked yet", [_PATH], None
    ),
)


def list_prompts(vault: Vault, folder: str | None, progress: Progress) -> dict[str, Prompt]:
    """Return every prompt by its name: ours, then those of the notes in ``folder`` (at most MAX_PROMPTS), in path order.

    A missing folder has none. A note that is empty or cannot be read is no prompt.
    """
    prompts = {prompt.name: prompt for prompt in OURS}
    if folder is None:
        return prompts
    try:
        notes = vault.overview.notes_now(folder, MAX_PROMPTS, progress)
    except VaultError as error:
        if error.code != FILE_NOT_FOUND:
            raise
        return prompts
    for note in notes:
        progress.check()
        try:
            text = vault.read(note.path, progress).text
        except VaultError:
            continue
        frontmatter = parse_frontmatter(text)
        body = text[frontmatter.end :]
        if not body.strip():  # nothing to say: clients refuse such a message
            continue
        name = _free_name(stem(note.path), prompts)
        prompts[name] = Prompt(
            name, stem(note.path), _description(frontmatter, body), _arguments(frontmatter, body), note.path
        )
    return prompts


def fill_prompt(vault: Vault, prompt: Prompt, arguments: Mapping[str, str], progress: Progress) -> list[Message]:
    """Return what the person says with this prompt. Unknown arguments are ignored.

    Raises VaultError: INVALID_ARGUMENTS, which names missing arguments, and the errors of reading the attached notes.
    """
    missing = [each for each in prompt.arguments if each.required and not arguments.get(each.name, "").strip()]
    if missing:
        named = "; ".join(f"{each.name!r}" + (f" ({each.description})" if each.description else "") for each in missing)
        raise VaultError(
            INVALID_ARGUMENTS, f"prompt {prompt.name!r} needs {named}", missing=[each.name for each in missing]
        )
    if prompt.note is not None:
        text = vault.read(prompt.note, progress).text
        text = text[parse_frontmatter(text).end :].strip()
        # In one pass: an argument's value may hold braces of its own.
        return [_BRACES.sub(lambda found: arguments.get(name, "") if (name := _name_in(found)) else found[0], text)]
    match prompt.name:
        case "daily_review":
            return _review(vault, arguments.get("date", ""), progress)
        case "find_related":
            return _about(
                vault,
                arguments["path"],
                "Find the notes in my vault that belong with {path} and are not linked with it yet. Look at its links, "
                'the links to it and related notes first (list_links with what "out", "in" and "related"), then search '
                "by its topics (search_notes) and tags (find_notes). Name the best few as wikilinks, each with one "
                "sentence that says what connects them.",
                progress,
            )
        case _:
            return _about(
                vault,
                arguments["path"],
                "Summarize my note {path}: what it is about in two or three sentences, then its main points, the "
                "decisions in it, and what is left open. Keep to what it says, in the language it is written in.",
                progress,
            )


def _about(vault: Vault, name: str, request: str, progress: Progress) -> list[Message]:
    if len(name) > _MAX_NOTE_NAME:
        raise VaultError(INVALID_ARGUMENTS, f"path may have at most {_MAX_NOTE_NAME} characters, got {len(name)}")
    path = vault.locate(name, progress)
    return [request.replace("{path}", repr(path)), _attached_note(vault, path)]


def _review(vault: Vault, date: str, progress: Progress) -> list[Message]:
    if len(date) > _MAX_DAY:
        raise VaultError(INVALID_ARGUMENTS, f"date may have at most {_MAX_DAY} characters, got {len(date)}")
    daily = vault.overview.periodic_note(date.strip() or "today", progress)
    if daily.period != "day":
        raise VaultError(INVALID_ARGUMENTS, f"date must be one day, got the {daily.period} {date!r}")
    day = daily.first.isoformat()
    notes = vault.overview.recent("", _EVERY_NOTE, progress).notes
    changed = [note.path for note in notes if _local_day(note.modified_ns) == day]
    request = (
        f"Review my day, {day}, from my notes: what I did, what I decided, what is still open, and what to do next. "
        "Read the notes you need with read_notes."
    )
    if changed:
        more = f"\n- and {len(changed) - _MAX_CHANGED} more" if len(changed) > _MAX_CHANGED else ""
        request += "\n\nNotes changed last on that day:\n- " + "\n- ".join(changed[:_MAX_CHANGED]) + more
    else:
        request += "\n\nNo note was changed last on that day."
    return [request, *([_attached_note(vault, daily.path)] if daily.exists else [])]


def _attached_note(vault: Vault, path: VaultPath) -> Resource:
    return read_resource(vault, uri_of(vault, path), 0)


def _local_day(nanoseconds: int) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(nanoseconds // 1_000_000_000))


def plain_name(text: str) -> str:
    """Return the text in the form of our own names, empty if nothing is left: small letters, digits, single ``_`` between.

    Clients make commands of these names.
    """
    return _NOT_IN_NAMES.sub("_", compose(text).lower()).strip("_")


def _free_name(title: str, taken: Mapping[str, Prompt]) -> str:
    """Return the title in the form of our own names, with a number if that name is taken."""
    name = plain_name(title) or "prompt"
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free


def _description(frontmatter: Frontmatter, body: str) -> str:
    """Return the property ``description``, or the first line that is not blank."""
    description = " ".join(frontmatter.texts("description")).strip()
    if not description:
        first = next((line.strip() for line in body.split("\n") if line.strip()), "")
        description = _MARKS_BEFORE_TEXT.sub("", first)
    return description if len(description) <= _MAX_DESCRIPTION else description[: _MAX_DESCRIPTION - 1] + "…"


def _name_in(braces: re.Match[str]) -> str:
    """Return the argument's name between the braces; empty if it is no argument."""
    name = braces[1].strip()
    return name if _ARGUMENT_NAME.fullmatch(name) else ""


def _named(value: PropertyValue) -> Iterator[tuple[str, str]]:
    """Yield names with their descriptions from texts "name: description", which without quotes are maps in YAML."""
    if isinstance(value, list):
        for item in value:
            yield from _named(item)
    elif isinstance(value, dict):
        for name, description in value.items():
            yield name, description if isinstance(description, str) else ""
    elif isinstance(value, str):
        name, _, description = value.partition(":")
        yield name, description


def _arguments(frontmatter: Frontmatter, body: str) -> list[Argument]:
    """Return an argument for each placeholder, in order of appearance, as the property ``arguments`` describes it."""
    said: dict[str, tuple[str, bool]] = {}
    for written, description in _named(frontmatter.value("arguments")):
        name = written.strip()
        said[name.removesuffix("?").rstrip()] = (description.strip(), not name.endswith("?"))
    names = dict.fromkeys(name for found in _BRACES.finditer(body) if (name := _name_in(found)))
    return [Argument(name, *said.get(name, ("", True)), meaning_of(name)) for name in names]
