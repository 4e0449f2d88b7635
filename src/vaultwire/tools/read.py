"""The tools that read notes, parts of them, days and attachments. Docstrings here are product text: a model reads them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict

from vaultwire.markdown.parsed_note import Span
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.toolkit.phrases import add_facts, counted, first_tokens, iso_time, rough_tokens, text_blocks
from vaultwire.toolkit.registry import Bounds, Cursor, Limit, Name, Outcome, page_of, tool
from vaultwire.tools.attachments import MOST_SHOWN_BYTES, attachments_instead, show_attachment
from vaultwire.vault.days import named
from vaultwire.vault.disk.contents import part_etag
from vaultwire.vault.disk.paths import is_note
from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS, TOO_LARGE, VaultError
from vaultwire.vault.links.sections import line_count, line_span, parse_structure
from vaultwire.vault.settings.obsidian_settings import ADJECTIVES
from vaultwire.vault.value_types import Note, PeriodicNote, Progress, VaultPath
from vaultwire.vault.vault import Vault

Part = Literal["all", "outline", "frontmatter", "fields"]
MaxTokens = Annotated[
    int, Bounds(250, 2_500_000), "Read at most this much, roughly counted; the result says where to go on."
]

# Ten times a long note: clients accept such a result, and a model can read it.
DEFAULT_TOKENS = 12_500
# The least that is shown of each of several notes.
_LEAST_TOKENS = 250
# Two months of daily notes.
_MAX_NOTES = 62
_MAX_DAYS_NAMED = 10


class ReadNote(TypedDict):
    """A note."""

    path: Annotated[str, "Path in the vault"]
    content: Annotated[str, "The note's text, or the part asked for; frontmatter included"]
    first_line: Annotated[NotRequired[int], "Line number of the first line returned, from 1; absent for an outline"]
    last_line: Annotated[NotRequired[int], "Line number of the last line returned; absent for an outline"]
    total_lines: Annotated[int, "Lines of the whole note"]
    etag: Annotated[
        str,
        "Fingerprint of this state of the note; pass as if_match when changing it. With a part it is not enough to overwrite",
    ]
    size: Annotated[int, "Bytes of the whole note"]
    modified: Annotated[str, "Last change, ISO 8601, UTC"]
    problems: Annotated[list[str], "What is odd about the note, such as broken frontmatter"]


class OneOfMany(TypedDict):
    """A note asked for, or why it could not be read."""

    name: Annotated[str, "As asked for"]
    path: Annotated[NotRequired[str], "Path in the vault"]
    content: Annotated[NotRequired[str], "The note's text, or its beginning; frontmatter included"]
    last_line: Annotated[NotRequired[int], "Line number of the last line returned"]
    total_lines: Annotated[NotRequired[int], "Lines of the whole note"]
    etag: Annotated[NotRequired[str], "As of a single note; pass as if_match when changing it"]
    previous: Annotated[
        NotRequired[str], "Of a day's or longer time's note: the one before it; absent if there is none"
    ]
    next: Annotated[NotRequired[str], "The one after it"]
    queries: Annotated[NotRequired[list[str]], "What its dataview blocks and inline queries show, if asked for"]
    error: Annotated[NotRequired[str], "Code of what went wrong, such as FILE_NOT_FOUND; absent if nothing did"]
    message: Annotated[NotRequired[str], "What went wrong, and what would be right"]


class ReadNotes(TypedDict):
    """Notes, in the order asked for."""

    notes: list[OneOfMany]
    read: Annotated[int, "How many could be read"]
    cut: Annotated[int, "How many of these are not whole"]


class Piece(NamedTuple):
    """Lines of a note for a result: their text, facts and remarks about them, and whether they are the whole note."""

    text: str
    first_line: int
    last_line: int
    is_whole: bool
    etag: str
    facts: str
    notices: list[str]

    @classmethod
    def of(cls, note: Note, span: Span, limit: int, total: int | None = None) -> Piece:
        """Return these lines of the note, at most ``limit`` tokens.

        With ``total``, the lines of the whole note, ``note.text`` is only the text of these lines, or its beginning.
        """
        text = note.text if total else _text_of(note, span)
        total = total or line_count(note.text)
        is_whole = span == (1, total)
        beginning = first_tokens(text, limit)
        is_cut = len(beginning) < len(text)
        if is_cut:
            # At the end of a line, if there is one: the next call can continue there.
            text, is_whole = beginning[: beginning.rfind("\n") + 1 or None], False
        last_line = span.first + line_count(text) - 1
        facts = f"{note.path}, {counted(note.size, 'byte')}, "
        etag = note.etag if is_whole else part_etag(note.etag)
        facts += "" if is_whole else f"lines {span.first} to {last_line} of {total}, "
        facts += f"etag {etag}"
        notices: list[str] = []
        if not text.strip():
            notices.append("The note is empty." if is_whole else "Only empty lines there.")
        if is_cut and text.endswith("\n"):
            notices.append(f"Cut at {limit} tokens: read on with lines '{last_line + 1}-{span.last}' of read_notes.")
        elif is_cut:
            notices.append(f"Cut inside line {last_line} at {limit} tokens: give read_notes a larger max_tokens.")
        if note.waits_as:
            notices.append(f"This text waits as proposal {note.waits_as}: it is not on the disk yet.")
        notices += [f"Problem: {problem}" for problem in note.problems]
        return cls(text, span.first, last_line, is_whole, etag, f"({facts})", notices)


class NoteFacts(TypedDict):
    """One note of a listing."""

    path: Annotated[str, "Path in the vault"]
    size: Annotated[int, "Bytes"]
    modified: Annotated[str, "Last change, ISO 8601, UTC"]


class ListedNotes(TypedDict):
    """A page of notes."""

    notes: list[NoteFacts]
    total: Annotated[int, "Notes in the vault or folder, on all pages together"]
    next_cursor: Annotated[NotRequired[str], "Pass as cursor for the next page; absent on the last"]


@tool(
    title="Read notes",
    category="read",
    listed="core",
    time_class="search",
    read_only=True,
    rare=("queries", "max_tokens"),
    plain=("part",),
)
def read_notes(
    vault: Vault,
    progress: Progress,
    /,
    paths: Annotated[list[Name], Bounds(1, 50)],
    section: Annotated[str | None, Bounds(1, 1000)] = None,
    lines: Annotated[str | None, Bounds(1, 30)] = None,
    part: Part = "all",
    queries: bool = False,
    max_tokens: MaxTokens = DEFAULT_TOKENS,
) -> Outcome[ReadNotes]:
    """Read notes, or a part of them; each comes with its etag.

    A long note is cut, and the result says how to go on. Before a long note, read its outline, then the section needed.

    Args:
        paths: Notes ("Note#Heading" for a part), pictures, PDFs, or days: "today", "2026-03-31", "last 7 days".
        section: Heading ("Plan#Next") or block ("^id").
        lines: "10-20", "10-" or "10".
        part: "outline" has headings with their lines, tags, numbers of links and tasks; "fields" Dataview's (key:: value).
        queries: Also give what the dataview blocks and inline queries (`= this.x`) of each note show.
        max_tokens: Read at most this much of all together, roughly counted.
    """
    paths, days = _with_days(vault, progress, paths)
    read = (
        _read_all(vault, progress, paths, section, lines, part, max_tokens)
        if paths or not days
        else Outcome([], ReadNotes(notes=[], read=0, cut=0))
    )
    texts = [*read.texts, *days]
    if queries:
        texts += _with_queries(vault, progress, read.data)
    return Outcome(texts, read.data, read.more)


def _with_queries(vault: Vault, progress: Progress, data: ReadNotes) -> list[str]:
    """Add what the ``dataview`` blocks of notes show to their data, and return it."""
    from vaultwire.tools.dataview import note_queries  # noqa: PLC0415 - few reads need it

    texts: list[str] = []
    for note in data["notes"]:
        path = note.get("path", "")
        if "content" in note and is_note(path):
            note["queries"] = note_queries(vault, path, vault.read(path, progress).text, progress)
            texts += note["queries"]
    return texts


class _Range(NamedTuple):
    """Days that are asked for, each with its note; ``own`` is the note of the period that they are, if they are one."""

    days: list[tuple[date, VaultPath | None]]
    own: PeriodicNote | None = None

    def notes(self) -> list[VaultPath]:
        """Return the note of the period, then those of its days. Of very many days only the former, if there is one."""
        daily = [note for _, note in self.days if note is not None]
        if self.own is None or not self.own.exists:
            return daily
        return [self.own.path, *daily] if len(daily) < _MAX_NOTES else [self.own.path]

    def said(self, asked: str) -> str:
        """Return which of the notes there are, and which notes are around that of the period."""
        text = self._said(asked)
        own = self.own
        return text if own is None or not (own.previous or own.following) else f"{text} {_around(own)}"

    def _said(self, asked: str) -> str:
        missing = [day.isoformat() for day, note in self.days if note is None]
        there = len(self.days) - len(missing)
        own = ""
        if self.own is not None and self.own.exists:
            own = f"the {ADJECTIVES[self.own.period]} note and "
        elif not there:
            none = f", and no {ADJECTIVES[self.own.period]} note" if self.own is not None else ""
            return f"No daily notes from {self.days[0][0]} to {self.days[-1][0]}{none}."
        if own and there >= _MAX_NOTES:
            return f"{asked}: {own}{there} daily notes, which are not shown. Ask for fewer days to read these."
        if not there:
            return f"{asked}: {own}no daily notes."
        more = f" and {len(missing) - _MAX_DAYS_NAMED} more days" if len(missing) > _MAX_DAYS_NAMED else ""
        lacking = f" None for {', '.join(missing[:_MAX_DAYS_NAMED])}{more}." if missing else ""
        return f"{asked}: {own}{counted(there, 'daily note')} of {counted(len(self.days), 'day')}.{lacking}"


def _with_days(vault: Vault, progress: Progress, paths: list[str]) -> tuple[list[str], list[str]]:
    """Return the paths with notes in place of ranges of days, and what is said of each range."""
    names: list[str] = []
    said: list[str] = []
    for path in paths:
        days = _range(vault, progress, path)
        if days is None:
            names.append(path)
            continue
        names += days.notes()
        said.append(days.said(path))
    if len(names) > _MAX_NOTES and said:
        raise VaultError(
            INVALID_ARGUMENTS,
            f"These are {len(names)} notes; at most {_MAX_NOTES} are read at once. Ask for fewer days.",
            argument="paths",
        )
    return names, said


def _range(vault: Vault, progress: Progress, path: str) -> _Range | None:
    """Return the days of a range and their notes; None if the text is no range, or names a note."""
    try:
        days = vault.overview.daily_notes(path, progress)
    except VaultError as error:
        if error.code != INVALID_ARGUMENTS or "most" in error.details:
            raise
        return None
    if len(days) == 1:
        return None
    try:
        vault.locate(path, progress)
    except VaultError:
        pass
    else:
        return None
    try:
        own = vault.overview.periodic_note(path, progress)
    except VaultError:  # it is of no one period, such as the last 7 days
        return _Range(days)
    return _Range(days, own)


def _read_all(
    vault: Vault,
    progress: Progress,
    paths: list[str],
    section: str | None,
    lines: str | None,
    part: Part,
    max_tokens: int,
) -> Outcome[ReadNotes]:
    if len(paths) == 1:
        outcome = _read(vault, progress, paths[0], section, lines, part, max_tokens)
        return Outcome(outcome.texts, ReadNotes(notes=[outcome.data], read=1, cut=0), outcome.more)
    is_whole = part == "all" and not section and not lines
    if is_whole and not any(_is_attachment(vault, progress, path) for path in paths):
        return _read_whole(vault, progress, [_day_or_name(vault, progress, path) for path in paths], max_tokens)
    limit = max(max_tokens // len(paths), _LEAST_TOKENS)
    notes: list[OneOfMany] = []
    texts: list[str] = []
    more: list[Mapping[str, Any]] = []
    for number, path in enumerate(paths):
        progress.check()
        progress.report(number, len(paths), "notes read")
        try:
            outcome = _read(vault, progress, path, section, lines, part, limit)
            _check_size(path, [*more, *outcome.more])
        except VaultError as error:
            if error.code == INVALID_ARGUMENTS:
                raise
            error = vault.history.with_new_name(error)
            notes.append(OneOfMany(name=path, error=error.code, message=error.message))
            texts.append(f"({path!r}: {error.code}: {error.message})")
        else:
            notes.append(outcome.data)
            texts += outcome.texts
            more += outcome.more
    data = ReadNotes(notes=notes, read=sum("error" not in one for one in notes), cut=0)
    return Outcome([_headline(data), *texts], data, more)


def _is_attachment(vault: Vault, progress: Progress, path: str) -> bool:
    try:
        return vault.find_attachment(path, progress) is not None
    except VaultError:
        return False


def _check_size(path: str, blocks: list[Mapping[str, Any]]) -> None:
    """Refuse one picture or recording more than fits into an answer. The first one always does."""
    if len(blocks) > 1 and sum(len(block["data"]) for block in blocks) > MOST_SHOWN_BYTES * 4 / 3:
        raise VaultError(TOO_LARGE, f"There is no room for {path!r} besides the others: read it alone.", path=path)


def _read_whole(vault: Vault, progress: Progress, paths: list[str], max_tokens: int) -> Outcome[ReadNotes]:
    """Read several whole notes. Long ones are cut to the same length, so that all have at most ``max_tokens`` together."""
    read: list[tuple[Note, Span, int] | VaultError] = []
    for number, name in enumerate(paths):
        progress.check()
        progress.report(number, len(paths), "notes read")
        try:
            note, span = vault.read_part(name, None, None, progress)
        except VaultError as error:
            read.append(vault.history.with_new_name(error))
        else:
            # Keep only what can be shown: fifty of the largest notes would need too much memory.
            shown = first_tokens(_text_of(note, span), max_tokens + 1)
            read.append((note._replace(text=shown), span, line_count(note.text)))
    limit = _share([rough_tokens(outcome[0].text) for outcome in read if isinstance(outcome, tuple)], max_tokens)
    notes: list[OneOfMany] = []
    texts: list[str] = []
    cut = 0
    for name, outcome in zip(paths, read, strict=True):
        if isinstance(outcome, VaultError):
            notes.append(OneOfMany(name=name, error=outcome.code, message=outcome.message))
            texts.append(f"({name!r}: {outcome.code}: {outcome.message})")
            continue
        note, span, total = outcome
        piece = Piece.of(note, span, limit, total)
        one = OneOfMany(name=name, path=note.path, content=piece.text, last_line=piece.last_line, total_lines=total)
        one["etag"] = piece.etag
        cut += not piece.is_whole
        notes.append(one)
        texts.append("\n".join([piece.facts, *piece.notices, *text_blocks(piece.text)]))
    data = ReadNotes(notes=notes, read=sum("error" not in one for one in notes), cut=cut)
    return Outcome([_headline(data), *texts], data)


def _read(
    vault: Vault, progress: Progress, path: str, section: str | None, lines: str | None, part: Part, limit: int
) -> Outcome[OneOfMany]:
    """Read one note; if there is none of this name, the note of the day that it says."""
    try:
        read = read_note(vault, progress, path, section, lines, part, limit)
    except VaultError as error:
        if error.code != FILE_NOT_FOUND:
            raise
        day = _day(vault, progress, path)
        if day is None:
            raise
        if not day.exists or (part == "all" and not section and not lines):
            return _read_day(vault, progress, path, day, limit)
        read = read_note(vault, progress, day.path, section, lines, part, limit)
    one = OneOfMany(name=path, path=read.data["path"], content=read.data["content"], etag=read.data["etag"])
    if "last_line" in read.data:
        one["last_line"] = read.data["last_line"]
    one["total_lines"] = read.data["total_lines"]
    return Outcome(read.texts, one, read.more)


def _read_day(vault: Vault, progress: Progress, asked: str, day: PeriodicNote, limit: int) -> Outcome[OneOfMany]:
    """Read the note of a day, week, month, quarter or year; say which ones are before and after it."""
    adjective, what = ADJECTIVES[day.period], f"note of {named(day.period, day.first)}"
    data = OneOfMany(name=asked, path=day.path)
    add_facts(data, previous=day.previous, next=day.following)
    if not day.exists:
        made = f" from {day.template}" if day.template is not None else ""
        data["error"] = FILE_NOT_FOUND
        data["message"] = "There is no note of this day yet: append_daily_note makes it."
        text = f"There is no {adjective} {what} yet. append_daily_note makes {day.path!r}{made} to add to it."
        return Outcome([f"{text}\n{_around(day)}"], data)
    note = vault.read(day.path, progress)
    total = line_count(note.text)
    piece = Piece.of(note, Span(1, total), limit)
    data["content"], data["etag"] = piece.text, piece.etag
    data["last_line"], data["total_lines"] = piece.last_line, total
    lines = [f"{adjective.capitalize()} {what}: {piece.facts}", *piece.notices, _around(day)]
    return Outcome([*text_blocks(piece.text), "\n".join(lines)], data)


def _around(note: PeriodicNote) -> str:
    return f"Before it: {note.previous or 'none'}. After it: {note.following or 'none'}."


def _day_or_name(vault: Vault, progress: Progress, path: str) -> str:
    """Return the path of the day's note for a day that is no note's name; any other name as it is."""
    try:
        vault.locate(path, progress)
    except VaultError as error:
        day = _day(vault, progress, path) if error.code == FILE_NOT_FOUND else None
        if day is not None:
            return day.path
    return path


def _day(vault: Vault, progress: Progress, text: str) -> PeriodicNote | None:
    """Return the note of a day, week, month, quarter or year; None if the text is none."""
    try:
        return vault.overview.periodic_note(text, progress)
    except VaultError as error:
        if error.code != INVALID_ARGUMENTS:
            raise
        return None


@tool(title="Read note", category="read", listed="named", same_as="read_notes", read_only=True)
def read_note(
    vault: Vault,
    progress: Progress,
    /,
    path: Name,
    section: Annotated[str | None, Bounds(1, 1000)] = None,
    lines: Annotated[str | None, Bounds(1, 30)] = None,
    part: Part = "all",
    max_tokens: MaxTokens = DEFAULT_TOKENS,
) -> Outcome[ReadNote]:
    """Read a note: all of it, one section, some lines, or only its headings or properties.

    Returns its Markdown text and its etag, for a later change. A long note is cut, and the result says how to go on: better
    look at its outline first and read the section needed.

    Args:
        path: The note: its path in the vault ("Folder/Note.md"), its name ("Note"), or wikilink text ("[[Note]]",
            "[[Note#Heading]]" for that section). Or an attachment with its extension: pictures ("photo.png") are shown, PDFs
            read as text, a canvas as its JSON.
        section: Read only this section ("Heading", or "Heading#Subheading") or block ("^id").
        lines: Read only these lines: "10-20", "10-" or "10". Not together with section.
        part: "outline" for its headings with their lines, "frontmatter" for its properties as written. Not together with
            section or lines.
    """
    parts = [name for name, value in (("section", section), ("lines", lines)) if value]
    if part != "all":
        parts.append(f"part {part!r}")
    if len(parts) > 1:
        raise VaultError(
            INVALID_ARGUMENTS,
            f"{' and '.join(parts)}: give one of them.",
            argument="part" if part != "all" else "lines",
        )
    attachment = vault.find_attachment(path, progress)
    if attachment is not None:
        return _attachment(vault, attachment, lines, [name for name in parts if name != "lines"], max_tokens, progress)
    note, span = vault.read_part(path, section, lines, progress)
    if part == "outline":
        return _outline(note, span, max_tokens)
    if part == "fields":
        return _fields(note, span, max_tokens)
    if part == "frontmatter":
        end = parse_frontmatter(note.text).end
        if not end:
            data = _facts(note, "", part_etag(note.etag))
            return Outcome(
                [f"({note.path}, {counted(note.size, 'byte')}, etag {data['etag']})\nThe note has no frontmatter."],
                data,
            )
        span = Span(1, line_count(note.text[:end]))
    return _piece(note, span, max_tokens)


def _fields(note: Note, span: Span, limit: int) -> Outcome[ReadNote]:
    from vaultwire.dataview.fields import inline_fields  # noqa: PLC0415 - few reads need it

    fields = [field for field in inline_fields(note.text) if span.first <= field.line <= span.last]
    content = first_tokens("\n".join(f"{field.line}: {field.name}:: {field.value}" for field in fields), limit)
    data = _facts(note, content, part_etag(note.etag))
    head = f"({note.path}, {counted(len(fields), 'inline field')}, by line, etag {data['etag']})"
    return Outcome([f"{head}\n{content}" if content else head], data)


def _headline(data: ReadNotes) -> str:
    cut = f", {data['cut']} of them cut." if data["cut"] else "."
    return f"{data['read']} of {counted(len(data['notes']), 'note')} read{cut}"


@tool(title="List notes", category="read", listed="named", time_class="search", read_only=True)
def list_notes(
    vault: Vault,
    progress: Progress,
    /,
    folder: Annotated[str, Bounds(0, 1000)] = "",
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Outcome[ListedNotes]:
    """List the notes of the vault or of one folder, subfolders included, in path order.

    Use it to see how a vault is organised. To find notes about something, use search_notes instead.

    Args:
        folder: Folder in the vault, such as "Projects". Empty for the whole vault.
    """
    page = page_of(
        vault, ("list_notes", folder), cursor, limit, lambda: vault.overview.list_notes(folder, progress), progress
    )
    where = f"in {folder}" if folder else "in the vault"
    data: ListedNotes = {
        "notes": [
            {"path": note.path, "size": note.size, "modified": iso_time(note.modified_ns)} for note in page.items
        ],
        "total": page.total,
    }
    lines = [f"{counted(page.total, 'note')} {where}{page.text}", *(note.path for note in page.items)]
    return page.outcome(data, lines + ([] if page.total else attachments_instead(vault, folder, progress)))


def _text_of(note: Note, span: Span) -> str:
    if span == (1, line_count(note.text)):
        return note.text
    return "\n".join(note.text.split("\n")[span.first - 1 : span.last]) + "\n"


def _share(lengths: list[int], total: int) -> int:
    """Return the length to cut to, so that all have at most ``total`` together: what short texts leave goes to the others."""
    left = total
    for position, length in enumerate(sorted(lengths)):
        share = left // (len(lengths) - position)
        if length > share:
            return share
        left -= length
    return total


def _attachment(
    vault: Vault, path: VaultPath, lines: str | None, parts: list[str], max_tokens: int, progress: Progress
) -> Outcome[ReadNote]:
    """Return an attachment: text or a PDF as the lines of a note, a picture or recording as a block of its own."""
    if parts:
        raise VaultError(INVALID_ARGUMENTS, f"{path!r} is no note, so it has no {parts[0]}. Leave that out.", path=path)
    shown = show_attachment(vault, path, progress)
    if isinstance(shown, Note):
        total = line_count(shown.text)
        return _piece(shown, line_span(path, total, lines) if lines else Span(1, total), max_tokens)
    return Outcome([shown.facts], _facts(shown.note, "", shown.note.etag), [shown.block])


def _piece(note: Note, span: Span, max_tokens: int) -> Outcome[ReadNote]:
    piece = Piece.of(note, span, max_tokens)
    data = _facts(note, piece.text, piece.etag)
    data["first_line"], data["last_line"] = piece.first_line, piece.last_line
    return Outcome([*text_blocks(piece.text), "\n".join([piece.facts, *piece.notices])], data)


def _facts(note: Note, content: str, etag: str) -> ReadNote:
    return ReadNote(
        path=note.path,
        content=content,
        etag=etag,
        total_lines=line_count(note.text),
        size=note.size,
        modified=iso_time(note.modified_ns),
        problems=note.problems,
    )


def _outline(note: Note, span: Span, max_tokens: int) -> Outcome[ReadNote]:
    built = parse_structure(note.path, note.text)
    shown = [entry for entry in built.outline if span.first <= entry.line <= span.last]
    text = "".join(f"{'#' * entry.level} {entry.text}  ({entry.line}-{entry.last_line})\n" for entry in shown)
    etag = part_etag(note.etag)
    tasks, done = built.parsed.tasks, sum(bool(task.mark.strip()) for task in built.parsed.tasks)
    facts = [counted(built.lines, "line"), counted(len(built.parsed.links), "link")]
    facts += [f"{done} of {counted(len(tasks), 'task')} done"] if tasks else []
    facts += [" ".join("#" + tag for tag in built.parsed.tags)] if built.parsed.tags else []
    notices = [f"({note.path}, outline, {', '.join(facts)}, etag {etag})"]
    if not text:
        notices.append("The note has no headings.")
    elif rough_tokens(text) > max_tokens:
        beginning = first_tokens(text, max_tokens)
        text = beginning[: beginning.rfind("\n") + 1]
        notices.append(f"Cut at {max_tokens} tokens: give a larger max_tokens.")
    return Outcome([*([text] if text else []), "\n".join(notices)], _facts(note, text, etag))
