"""Tools that read notes: one, a part of it, or several at once. Docstrings here are product text: a model reads them."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple, NotRequired, TypedDict

from vaultwire.markdown.parsed_note import Span
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.toolkit.argument_types import Name
from vaultwire.toolkit.phrases import counted, first_tokens, iso_time, rough_tokens, text_blocks
from vaultwire.toolkit.registry import Bounds, Outcome, tool
from vaultwire.tools.attachments import show_attachment
from vaultwire.vault.disk.contents import part_etag
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.links.sections import line_count, line_span, parse_structure
from vaultwire.vault.value_types import Note, Progress, VaultPath
from vaultwire.vault.vault import Vault

Part = Literal["all", "outline", "frontmatter"]
MaxTokens = Annotated[
    int, Bounds(250, 2_500_000), "Read at most this much, roughly counted; the result says where to go on."
]

# Ten times a long note: clients accept such a result, and a model can read it.
DEFAULT_TOKENS = 12_500


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
    etag: Annotated[NotRequired[str], "As for read_note"]
    error: Annotated[NotRequired[str], "Code of what went wrong, such as FILE_NOT_FOUND; absent if nothing did"]
    message: Annotated[NotRequired[str], "What went wrong, and what would be right"]


class ReadMany(TypedDict):
    """Several notes, in the order asked for."""

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


@tool(title="Read note", read_only=True)
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
    given = [name for name, value in (("section", section), ("lines", lines)) if value]
    if part != "all":
        given.append(f"part {part!r}")
    if len(given) > 1:
        raise VaultError(
            INVALID_ARGUMENTS,
            f"{' and '.join(given)}: give one of them.",
            argument="part" if part != "all" else "lines",
        )
    attachment = vault.find_attachment(path, progress)
    if attachment is not None:
        return _attachment(vault, attachment, lines, [name for name in given if name != "lines"], max_tokens, progress)
    note, span = vault.read_part(path, section, lines, progress)
    if part == "outline":
        return _outline(note, span, max_tokens)
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


@tool(title="Read many notes", time_class="search", read_only=True)
def read_many(
    vault: Vault,
    progress: Progress,
    /,
    paths: Annotated[list[Name], Bounds(1, 50)],
    max_tokens: MaxTokens = DEFAULT_TOKENS,
) -> Outcome[ReadMany]:
    """Read several notes at once. If one cannot be read, its place says why; the others are read all the same.

    Args:
        paths: The notes, each named as for read_note; "Note#Heading" reads only that section.
        max_tokens: Read at most this much of all together. Long notes are cut to the same length, short ones come
            whole; the result says where to go on with read_note.
    """
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
    limit = _share([rough_tokens(each[0].text) for each in read if isinstance(each, tuple)], max_tokens)
    notes: list[OneOfMany] = []
    texts: list[str] = []
    cut = 0
    for name, each in zip(paths, read, strict=True):
        if isinstance(each, VaultError):
            notes.append(OneOfMany(name=name, error=each.code, message=each.message))
            texts.append(f"({name!r}: {each.code}: {each.message})")
            continue
        note, span, total = each
        piece = Piece.of(note, span, limit, total)
        one = OneOfMany(name=name, path=note.path, content=piece.text, last_line=piece.last_line, total_lines=total)
        one["etag"] = piece.etag
        cut += not piece.is_whole
        notes.append(one)
        texts.append("\n".join([piece.facts, *piece.notices, *text_blocks(piece.text)]))
    data = ReadMany(notes=notes, read=sum("error" not in one for one in notes), cut=cut)
    return Outcome([headline(data), *texts], data)


def headline(data: ReadMany) -> str:
    """Return how many of several notes were read."""
    cut = f", {data['cut']} of them cut." if data["cut"] else "."
    return f"{data['read']} of {counted(len(data['notes']), 'note')} read{cut}"


def _text_of(note: Note, span: Span) -> str:
    """Return the text of these lines of the note."""
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
