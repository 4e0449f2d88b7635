"""What our own prompts say: a request, and what the vault has for it now. Product text: a model reads it.

Each page is bounded in tokens as a whole, roughly counted, and says what it leaves out. Notes are quoted with the notes that
they embed, so that a page of embeds is not empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta

from vaultwire.markdown.link_spans import LinkSpan, link_spans
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.toolkit.phrases import counted, first_tokens, rough_tokens
from vaultwire.vault.disk.paths import fold, is_note, stem
from vaultwire.vault.errors import AMBIGUOUS_NAME, INVALID_ARGUMENTS, VaultError
from vaultwire.vault.search.filters import NoteFilterText, TaskFilter
from vaultwire.vault.value_types import Progress, TaskPlace, VaultPath
from vaultwire.vault.vault import Vault

MOST_TOKENS = 8_000
"""Of a page: as much as a few long notes. A model can read on by itself."""

_NOTE_TOKENS = 1_500  # of one note
_LEAST_TOKENS = 100  # with less room nothing more is read
_MOST_LISTED, _MOST_TASKS, _MOST_HITS, _MOST_MENTIONS = 60, 40, 8, 20
_MOST_DAYS, _SOON_DAYS = 7, 7
_EMBED_DEPTH, _MOST_EMBEDS = 2, 20
_EVERY_NOTE = 1 << 30
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
        """Add a list with at most so many lines."""
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
        """Return the page."""
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
    paths = _about(vault, value, progress)
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


def _about(vault: Vault, value: str, progress: Progress) -> list[VaultPath]:
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


def embedded(vault: Vault, path: VaultPath, progress: Progress) -> str:
    """Return the notes that a note embeds, quoted one after another, cut to the size of a page; empty if there are none."""
    try:
        text = vault.read(path, progress).text
    except VaultError:
        return ""
    quotes = {span.linktext: quote for span, quote in _quotes(vault, path, text, progress, (path,))}
    whole = "\n\n".join(quotes.values())
    part = first_tokens(whole, MOST_TOKENS)
    return part if len(part) == len(whole) else part.rsplit("\n", 1)[0] + "\n… (cut)"


def _with_embeds(vault: Vault, path: VaultPath, text: str, progress: Progress, above: tuple[VaultPath, ...]) -> str:
    """Return a part of a note with embedded notes quoted. ``above``: the notes in which it is embedded, itself the last."""
    for span, quote in reversed(_quotes(vault, path, text, progress, above)):
        before = "" if text[: span.start].endswith("\n") or not span.start else "\n"
        after = "" if text[span.end :].startswith("\n") or span.end == len(text) else "\n"
        text = f"{text[: span.start]}{before}{quote}{after}{text[span.end :]}"
    return text


def _quotes(
    vault: Vault, path: VaultPath, text: str, progress: Progress, above: tuple[VaultPath, ...]
) -> list[tuple[LinkSpan, str]]:
    """Return the embeds of notes in a part of a note, each with what is quoted for it."""
    if len(above) > _EMBED_DEPTH:
        return []
    spans = [span for span in link_spans(text) if span.is_embed][:_MOST_EMBEDS]
    if not spans:
        return []
    targets = {link.linktext: link.target for link in vault.links(path, progress)[1] if link.is_embed}
    quotes: list[tuple[LinkSpan, str]] = []
    for span in spans:
        target = targets.get(span.linktext)
        if target is None or not is_note(target) or target in above:
            continue
        part = _part(vault, target, span.linktext.partition("#")[2], progress)
        if part is not None:
            inner = _with_embeds(vault, target, part, progress, (*above, target)).strip()
            quote = "\n".join(f"> {line}".rstrip() for line in [f"[[{span.linktext}]]:", *inner.split("\n")])
            quotes.append((span, quote))
    return quotes


def _part(vault: Vault, path: VaultPath, section: str, progress: Progress) -> str | None:
    """Return a section of a note, or all of it below its properties; None if there is no such part."""
    try:
        note, lines = vault.read_part(path, section or None, None, progress)
    except VaultError:
        return None
    if not section:
        return note.text[parse_frontmatter(note.text).end :]
    return "\n".join(note.text.split("\n")[lines.first - 1 : lines.last])
