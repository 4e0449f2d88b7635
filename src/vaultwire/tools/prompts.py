"""Prompts that a person may start a conversation with: some of our own, and the notes of one folder of the vault.

Each note of that folder is a prompt: it has the note's name and text, and each ``{{argument}}`` in the text is an argument.
The note may have properties: ``description`` is a text, ``arguments`` a list of "name: description" (or a map), with "?"
behind the name of an optional one. Notes are read at every call, so a prompt is always up to date.

Our own prompts hold what their work needs, as the vault is at that moment (``prompt_pages``).
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from vaultwire.markdown.properties import Frontmatter, parse_frontmatter
from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.tools import prompt_pages
from vaultwire.tools.resources import Meaning, Resource, meaning_of, read_resource, uri_of
from vaultwire.vault.disk.paths import compose, stem
from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS, VaultError
from vaultwire.vault.value_types import Progress, VaultPath
from vaultwire.vault.vault import Vault

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
    """A prompt of the menu. ``note`` is the path of its text; None for one of our own.

    ``needs``: the tools, beside that which reads notes, whose work it does: a client that may not call them does not get it.
    """

    name: str
    title: str
    description: str
    arguments: list[Argument]
    note: VaultPath | None
    needs: tuple[str, ...] = ()


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
        ("list_notes",),
    ),
    Prompt(
        "find_related", "Find related notes", "Find notes that belong with one and are not linked yet", [_PATH], None
    ),
    Prompt(
        "review_week",
        "Review a week",
        "Look back on a week: its notes, what was changed, and the tasks that are overdue or due soon",
        [Argument("week", "The week, such as last week or 2026-W14; this week if left out", False, "text")],
        None,
        ("list_notes", "list_tasks"),
    ),
    Prompt(
        "prepare_meeting",
        "Prepare a meeting",
        "Gather what the vault says of a person, a project or a topic: notes, mentions, open tasks",
        [Argument("about", "A person, project or topic, or the note about it", True, "note")],
        None,
        ("search_notes", "list_links", "list_tasks"),
    ),
    Prompt(
        "tidy_inbox",
        "Tidy the inbox",
        "Propose a folder, tags and links for each note that was only jotted down",
        [
            Argument(
                "folder", "The folder to tidy; if left out, the one called Inbox, or the top folder", False, "folder"
            )
        ],
        None,
        ("list_notes", "vault_overview"),
    ),
    Prompt(
        "map_of_content",
        "Make a map of content",
        "Draft a note that leads to all notes about a topic, in groups",
        [Argument("topic", "A tag (#garden), a folder, or words", True, "tag")],
        None,
        ("list_notes", "search_notes", "list_links"),
    ),
)

_PAGES: dict[str, Callable[[Vault, str, Progress], str]] = {
    "review_week": prompt_pages.week,
    "prepare_meeting": prompt_pages.meeting,
    "tidy_inbox": prompt_pages.inbox,
    "map_of_content": prompt_pages.content_map,
}


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
    if (page := _PAGES.get(prompt.name)) is not None:
        (argument,) = prompt.arguments[:1]
        value = arguments.get(argument.name, "").strip()
        if len(value) > _MAX_NOTE_NAME:
            message = f"{argument.name} may have at most {_MAX_NOTE_NAME} characters, got {len(value)}"
            raise VaultError(INVALID_ARGUMENTS, message)
        return [page(vault, value, progress)]
    match prompt.name:
        case "daily_review":
            return _review(vault, arguments.get("date", ""), progress)
        case "find_related":
            return _about(
                vault,
                arguments["path"],
                "Find the notes in my vault that belong with {path} and are not linked with it yet. Begin with list_links with "
                'what "suggested", which also says where in the note a link would fit; then search by its topics '
                "(search_notes) and tags (find_notes). Name the best few as wikilinks, each with its place in the note and one "
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
    return [request.replace("{path}", repr(path)), *_attached_note(vault, path, progress)]


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
    return [request, *(_attached_note(vault, daily.path, progress) if daily.exists else [])]


def _attached_note(vault: Vault, path: VaultPath, progress: Progress) -> list[Message]:
    """Return a note as it is, and the notes that it embeds, if there are any."""
    embedded = prompt_pages.embedded(vault, path, progress)
    note: Message = read_resource(vault, uri_of(vault, path), 0)
    return [note, *([f"The notes that it embeds:\n\n{embedded}"] if embedded else [])]


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
