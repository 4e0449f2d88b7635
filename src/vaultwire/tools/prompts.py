"""Prompts that a person may start a conversation with: some of our own, and the notes of one folder of the vault.

Each note of that folder is a prompt: it has the note's name and text, and each ``{{argument}}`` in the text is an argument.
The note may have properties: ``description`` is a text, ``arguments`` a list of "name: description" (or a map), with "?"
behind the name of an optional one. Notes are read at every call, so a prompt is always up to date.

Our own prompts hold what their work needs, as the vault is at that moment.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import NamedTuple, TypeAlias

from vaultwire.markdown.link_spans import link_spans
from vaultwire.markdown.properties import Frontmatter, parse_frontmatter
from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.toolkit.phrases import counted, first_tokens, rough_tokens
from vaultwire.tools.resources import Meaning, Resource, meaning_of, read_resource, uri_of
from vaultwire.vault.disk.paths import compose, fold, is_note, stem
from vaultwire.vault.errors import AMBIGUOUS_NAME, FILE_NOT_FOUND, INVALID_ARGUMENTS, VaultError
from vaultwire.vault.search.filters import NoteFilterText, TaskFilter
from vaultwire.vault.value_types import Progress, TaskPlace, VaultPath
from vaultwire.vault.vault import Vault

# What our own prompts say: a request, and what the vault has for it now. Product text: a model reads it.
#
# Each page is bounded in tokens as a whole, roughly counted, and says what it leaves out. Notes are quoted with the notes that
# they embed, so that a page of embeds is not empty.

MOST_TOKENS = 8_000
"""Of a page: as much as a few long notes. A model can read on by itself."""

_NOTE_TOKENS = 1_500  # of one note
_LEAST_TOKENS = 100  # with less room nothing more is read
_MOST_LISTED, _MOST_TASKS, _MOST_HITS, _MOST_MENTIONS = 60, 40, 8, 20
_MOST_DAYS, _SOON_DAYS = 7, 7
_EMBED_DEPTH, _MOST_EMBEDS = 2, 20
_MOST_FOLDERS, _FOLDER_DEPTH, _MOST_TAGS = 60, 3, 40
_INBOX = "inbox"


class _Page:
    """A text that is made up to a number of tokens."""

    def __init__(self, request: str) -> None:
        self._parts = [request]
        self._left = MOST_TOKENS - rough_tokens(request)
        self._left_out: list[str] = []

    def add(self, heading: str, text: str, most: int = MOST_TOKENS) -> None:
        """Add a part below a heading, or as much of it as there is room for. An empty text adds nothing."""
        if not text.strip():
            return
        room = min(most, self._left - rough_tokens(heading) - 20)
        part = first_tokens(text, max(room, 0))
        if not part.strip():
            self._left_out.append(heading)
            return
        if len(part) < len(text):
            part = part.rsplit("\n", 1)[0] + "\n… (cut)"
        whole = f"## {heading}\n\n{part.strip()}"
        self._left -= rough_tokens(whole)
        self._parts.append(whole)

    def add_list(self, heading: str, lines: Iterable[str], most: int) -> None:
        every = list(lines)
        shown = [f"- {line}" for line in every[:most]]
        if len(every) > most:
            shown.append(f"- … and {len(every) - most} more")
        self.add(heading, "\n".join(shown))

    def add_notes(self, vault: Vault, paths: Sequence[VaultPath], most: int, progress: Progress) -> None:
        """Add the texts of notes, at most so many tokens of each, as far as there is room."""
        for number, path in enumerate(paths):
            progress.check()
            if self._left < _LEAST_TOKENS:
                self._left_out.append(f"the text of {counted(len(paths) - number, 'note')}")
                return
            self.add(path, quoted(vault, path, progress), most)

    def text(self) -> str:
        end = [f"(Left out, there was no room: {', '.join(self._left_out)}.)"] if self._left_out else []
        return "\n\n".join([*self._parts, *end])


def week(vault: Vault, value: str, progress: Progress) -> str:
    """Return the page for the review of a week. Raises VaultError (INVALID_ARGUMENTS) for what is no week."""
    days = vault.overview.parse_days(value or "this week")
    if days.period != "week":
        raise VaultError(INVALID_ARGUMENTS, f"week must be one week, got the {days.period} {value!r}", argument="week")
    page = _Page(
        f"Review my week, {days.first.isoformat()} to {days.last.isoformat()}, from my notes below: what I did and decided, "
        "what went well, what is still open, and the three things that matter most next week. Name notes as wikilinks. Read "
        "more with read_notes where you need it. Change nothing; at the end offer to write the review into my weekly note."
    )
    note = vault.overview.periodic_note(value or "this week", progress)
    if note.exists:
        page.add(f"Weekly note: {note.path}", quoted(vault, note.path, progress), _NOTE_TOKENS)
    span = [days.first + timedelta(number) for number in range((days.last - days.first).days + 1)]
    for day in span[:_MOST_DAYS]:
        daily = vault.overview.periodic_note(day.isoformat(), progress)
        if daily.exists:
            page.add(f"Daily note: {daily.path}", quoted(vault, daily.path, progress), _NOTE_TOKENS // 2)
    changed = NoteFilterText(
        modified_after=days.first.isoformat(), modified_before=(days.last + timedelta(1)).isoformat(), sort="modified"
    )
    notes = vault.overview.find(changed, "", progress).page(0, _EVERY_NOTE, progress)
    page.add_list("Notes changed last in this week", (note.stat.path for note in notes), _MOST_LISTED)
    today = vault.overview.parse_days("today").first
    soon = f">={today.isoformat()} <={(today + timedelta(_SOON_DAYS)).isoformat()}"
    for heading, due in (("Tasks that are overdue", "overdue"), ("Tasks due in the next days", soon)):
        page.add_list(heading, _tasks(vault, vault.overview.due(due), progress), _MOST_TASKS)
    return page.text()


def meeting(vault: Vault, value: str, progress: Progress) -> str:
    """Return the page for a meeting about a note, a person or a topic."""
    page = _Page(
        f"Prepare my meeting about {value!r} from my notes below. Write a page that I can read in two minutes: what it is "
        "about and who takes part, where we stand, what was decided, what is open on either side, and questions to ask. Name "
        "the notes that you use as wikilinks, and say what my notes do not tell. Read more with read_notes or search_notes."
    )
    path = _note_named(vault, value, progress)
    if path is not None:
        page.add(f"Note: {path}", quoted(vault, path, progress), 2 * _NOTE_TOKENS)
        mentions = vault.backlinks(path, progress).page(0, _MOST_MENTIONS, progress)
        page.add_list(
            "Mentions of it", (f"{each.source}:{each.line}: {each.text}" for each in mentions), _MOST_MENTIONS
        )
    words = stem(path) if path is not None else value
    page.add_list("Open tasks", _tasks(vault, TaskFilter(is_done=False, text=words), progress), _MOST_TASKS)
    phrase = '"' + words.replace('"', " ") + '"'
    hits = vault.search(phrase, "", 0, _MOST_HITS, progress).hits if words.strip(' "') else []
    for hit in hits:
        if hit.path != path:
            page.add(
                f"In {hit.path}", "\n".join(f"{line.number}: {line.text}" for line in hit.lines), _NOTE_TOKENS // 4
            )
    if path is None and not hits:
        page.add("Nothing found", f"No note is named {value!r}, and none has these words. Search for other ones.")
    return page.text()


def inbox(vault: Vault, value: str, progress: Progress) -> str:
    """Return the page for notes that wait to be filed. Raises VaultError (FILE_NOT_FOUND) for a folder that does not exist."""
    tree = vault.overview.folder_tree("", _FOLDER_DEPTH, _EVERY_NOTE, progress)
    folder = value or next((each.folder for each in tree if _is_inbox(each.folder)), "")
    notes = vault.overview.list_notes(folder, progress).all()
    if not folder:  # those that lie in no folder
        notes = [note for note in notes if "/" not in note.path]
    notes = sorted((note for note in notes if is_note(note.path)), key=lambda note: note.modified_ns)
    page = _Page(
        f"Help me tidy {f'the folder {folder!r}' if folder else 'the notes that lie in no folder'}: "
        f"{counted(len(notes), 'note')}, the oldest first. Propose for each in one line: the folder where it belongs, tags "
        "that I use already, notes to link it with, or that it can go. Ask me before you change anything. Then move with "
        "move_notes, tag with set_properties, link with edit_note; links to the notes stay right."
    )
    page.add_list(
        "Folders",
        (f"{each.folder} ({counted(each.notes_below, 'note')})" for each in tree if each.folder and each.notes_below),
        _MOST_FOLDERS,
    )
    page.add_list(
        "Tags in use", (f"#{tag.tag} ({tag.notes})" for tag in vault.overview.count_tags("", progress)), _MOST_TAGS
    )
    page.add_notes(vault, [note.path for note in notes], _NOTE_TOKENS // 8, progress)
    return page.text()


def _is_inbox(folder: str) -> bool:
    """Tell whether a folder is called Inbox, with or without a number or sign before it (``00 Inbox``)."""
    return fold(folder.rpartition("/")[2]).lstrip("0123456789 .-_+!@#()") == _INBOX


def content_map(vault: Vault, value: str, progress: Progress) -> str:
    """Return the page for a map of content about a tag, a folder or words."""
    paths = _notes_about(vault, value, progress)
    page = _Page(
        f"Draft a map of content about {value!r}: one note that leads to all my notes about it. Group the notes below under "
        "headings that fit them, most important first, each as a wikilink with a few words on what it says. Name what seems to "
        "be missing, and notes that say the same. Show me the draft; write it with create_note only when I agree. If there is "
        "a map of it already, propose an edit of that one."
    )
    page.add("Notes", "" if paths else f"No note has the tag, folder or words {value!r}.")
    page.add_list("All of them", paths, 3 * _MOST_LISTED)
    chosen = {*paths[:_MOST_LISTED]}
    links: list[str] = []
    for path in paths[:_MOST_LISTED]:
        _, outgoing = vault.links(path, progress)
        targets = dict.fromkeys(str(link.target) for link in outgoing if link.target in chosen and link.target != path)
        if targets:
            links.append(f"{path} → {', '.join(targets)}")
    page.add_list("Links between them", links, _MOST_LISTED)
    page.add_notes(vault, paths, _NOTE_TOKENS // 12, progress)
    return page.text()


def _notes_about(vault: Vault, value: str, progress: Progress) -> list[VaultPath]:
    """Return the notes with a tag, in a folder, or else with all words."""
    tag = value.removeprefix("#")
    if tag in {each.tag for each in vault.overview.count_tags("", progress)} or value.startswith("#"):
        return [note.path for note in vault.overview.tagged([tag], every=True, folder="", progress=progress).all()]
    try:
        notes = [note.path for note in vault.overview.list_notes(value, progress).all() if is_note(note.path)]
    except VaultError:
        notes = []
    if notes:
        return notes
    words = " ".join(f'"{word}"' for word in value.replace('"', " ").split())
    return [hit.path for hit in vault.search(words, "", 0, _MOST_LISTED, progress).hits] if words else []


def _note_named(vault: Vault, value: str, progress: Progress) -> VaultPath | None:
    try:
        return vault.locate(value, progress)
    except VaultError as error:
        if error.code == AMBIGUOUS_NAME:
            raise
        return None


def _tasks(vault: Vault, conditions: TaskFilter, progress: Progress) -> list[str]:
    """Return the open tasks that meet the conditions, each with its place."""
    wanted = vault.overview.without_templates(conditions._replace(is_done=False, by_due=True), "")
    tasks: list[TaskPlace] = vault.overview.tasks(wanted, "", "", progress).page(0, _MOST_TASKS + 1, progress)
    return [f"{task.text} ({task.path}:{task.line})" for task in tasks]


# ---------------------------------------------------------------------- quoting


def quoted(vault: Vault, path: VaultPath, progress: Progress) -> str:
    """Return the text of a note below its properties, with the notes that it embeds in their places.

    Empty if it is gone by now, or may not be read.
    """
    try:
        text = vault.read(path, progress).text
    except VaultError:
        return ""
    text = text[parse_frontmatter(text).end :]
    return _with_embeds(vault, path, text, progress, (path,))


def _with_embeds(vault: Vault, path: VaultPath, text: str, progress: Progress, above: tuple[VaultPath, ...]) -> str:
    """Return a part of a note with embedded notes quoted. ``above``: the notes in which it is embedded, itself the last."""
    if len(above) > _EMBED_DEPTH:
        return text
    spans = [span for span in link_spans(text) if span.is_embed][:_MOST_EMBEDS]
    if not spans:
        return text
    targets = {link.linktext: link.target for link in vault.links(path, progress)[1] if link.is_embed}
    for span in reversed(spans):
        target = targets.get(span.linktext)
        if target is None or not is_note(target) or target in above:
            continue
        part = _part(vault, target, span.linktext.partition("#")[2], progress)
        if part is not None:
            inner = _with_embeds(vault, target, part, progress, (*above, target)).strip()
            quote = "\n".join(f"> {line}".rstrip() for line in [f"[[{span.linktext}]]:", *inner.split("\n")])
            before = "" if text[: span.start].endswith("\n") or not span.start else "\n"
            after = "" if text[span.end :].startswith("\n") or span.end == len(text) else "\n"
            text = f"{text[: span.start]}{before}{quote}{after}{text[span.end :]}"
    return text


def _part(vault: Vault, path: VaultPath, section: str, progress: Progress) -> str | None:
    """Return a section of a note, or all of it below its properties; None if there is no such part."""
    try:
        note, lines = vault.read_part(path, section or None, None, progress)
    except VaultError:
        return None
    if not section:
        return note.text[parse_frontmatter(note.text).end :]
    return "\n".join(note.text.split("\n")[lines.first - 1 : lines.last])


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
    "review_week": week,
    "prepare_meeting": meeting,
    "tidy_inbox": inbox,
    "map_of_content": content_map,
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
    return [request.replace("{path}", repr(path)), _attached_note(vault, path)]


def _review(vault: Vault, date: str, progress: Progress) -> list[Message]:
    if len(date) > _MAX_DAY:
        raise VaultError(INVALID_ARGUMENTS, f"date may have at most {_MAX_DAY} characters, got {len(date)}")
    daily = vault.overview.periodic_note(date.strip() or "today", progress)
    if daily.period != "day":
        raise VaultError(INVALID_ARGUMENTS, f"date must be one day, got the {daily.period} {date!r}")
    day = daily.first.isoformat()
    notes = vault.overview.recent("", _EVERY_NOTE, progress).notes
    changed = [
        note.path
        for note in notes
        if time.strftime("%Y-%m-%d", time.localtime(note.modified_ns // 1_000_000_000)) == day
    ]
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
