"""Tools that change parts of notes, and that make, write and delete notes and files.

Docstrings here are product text: a model reads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired, TypedDict, cast

from vaultwire.markdown.inline import percent_decoded
from vaultwire.toolkit.phrases import MAX_FILES_TOLD, add_other_files, counted
from vaultwire.toolkit.registry import (
    AllowBroken,
    Also,
    AnyTool,
    Attachments,
    Bounds,
    DryRun,
    IfMatch,
    Merge,
    Name,
    NoteName,
    Open,
    OptionalName,
    Outcome,
    ToolMaker,
    tool,
)
from vaultwire.tools.changes import (
    Changed,
    ChangedNote,
    change_texts,
    how_to_undo,
    match_of,
    to_changed,
    to_changed_note,
)
from vaultwire.vault.editing.revising import GivenProperty, Revised, ValueKind
from vaultwire.vault.editing.writing import Embedding, Made
from vaultwire.vault.errors import INVALID_ARGUMENTS, NOTE_EXISTS, VaultError
from vaultwire.vault.plans.creating import NewNote, decode_base64
from vaultwire.vault.plans.targeted_edits import Action, Edit
from vaultwire.vault.value_types import Progress, VaultPath, WriteMode
from vaultwire.vault.vault import Vault

Text = Annotated[str, Bounds(0, 10_000_000)]


class GivenEdit(TypedDict):
    """One edit. Name one place; append and prepend without one mean the note's text below its frontmatter."""

    action: Annotated[Action, "What to do there"]
    content: Annotated[NotRequired[Text], "Not for delete"]
    section: Annotated[NotRequired[Name], '"Plan#Next" or "^block"']
    lines: Annotated[NotRequired[Name], '"10-20"']
    text: Annotated[
        NotRequired[Annotated[str, Bounds(1, 1_000_000)]],
        "Exact, there once; beside whole lines, lines are added",
    ]
    property: Annotated[NotRequired[Name], "append adds to a list"]
    occurrence: Annotated[NotRequired[Annotated[int, Bounds(1, 100_000)]], "Which of several"]
    every: Annotated[NotRequired[bool], "All places of text"]
    body: Annotated[NotRequired[bool], "All below frontmatter"]


class SetProperty(TypedDict):
    """A property to set. Give value or values; neither leaves it without a value."""

    name: Annotated[Name, "Its name"]
    value: Annotated[NotRequired[Text], "Its value as text: 2026-03-31, 5, true, some words, [[A note]]"]
    values: Annotated[NotRequired[list[Text]], "The items, if it is a list"]
    type: Annotated[
        NotRequired[ValueKind],
        'What a value is, if "auto" would take it wrongly: "text" for a text that looks like a number',
    ]


class Example(TypedDict):
    """An example of properties; there may be any others."""

    tags: NotRequired[list[str]]


Values = Annotated[Example, Open()]


@tool(
    title="Edit note",
    category="write",
    listed="core",
    destructive=True,
    rare=("diff", "merge", "allow_broken"),
    plain=("action", "content", "lines", "property"),
)
def edit_note(
    vault: Vault,
    progress: Progress,
    /,
    path: NoteName,
    edits: Annotated[list[GivenEdit] | None, Bounds(1, 200)] = None,
    diff: Annotated[str, Bounds(0, 1_000_000)] = "",
    if_match: IfMatch = None,
    merge: Merge = False,
    allow_broken: AllowBroken = False,
    dry_run: DryRun = False,
) -> Outcome[ChangedNote]:
    """Change parts of a note; all else stays. All edits are made or none.

    append and prepend add lines at the end or beginning of the place (right below a heading), replace writes over it (a section
    keeps its heading), delete takes it away. A place that is not there, or is there several times, is an error that lists what
    there is. Examples: {"action": "append", "section": "Log", "content": "- called mum"} |
    {"action": "replace", "text": "teh", "content": "the"} | {"action": "delete", "lines": "3-4"}.

    Args:
        edits: Each at one place.
        diff: Unified diff against the note as read.
    """
    revised = vault.revising.edit(
        path,
        [_to_edit(edit, number) for number, edit in enumerate(edits or [], 1)],
        diff,
        match_of(if_match, merge=merge),
        progress,
        dry_run=dry_run,
        keeps_frontmatter=not allow_broken,
    )
    return _outcome(revised, f"edited {revised.path}")


@tool(
    title="Set properties",
    category="tags and properties",
    listed="standard",
    destructive=True,
    rare=("properties", "inline", "if_match", "merge"),
    plain=("paths", "remove"),
)
def set_properties(
    vault: Vault,
    progress: Progress,
    /,
    paths: Annotated[list[Name], Bounds(1, 50)],
    set: Values | None = None,  # noqa: A002 - a model's word for it
    remove: Annotated[list[Name] | None, Bounds(1, 100)] = None,
    properties: Annotated[list[SetProperty] | None, Bounds(1, 100)] = None,
    inline: bool = False,
    if_match: IfMatch = None,
    merge: Merge = False,
    dry_run: DryRun = False,
) -> Outcome[ChangedNote]:
    """Set or remove properties (frontmatter) of notes; all else stays.

    Order, quotes and comments stay. Values are checked against the types that the person gave the properties in Obsidian. All
    notes are changed or none.

    Example: {"paths": ["Projects/Plan"], "set": {"status": "done"}}.

    Args:
        paths: The notes.
        set: {"status": "done", "tags": ["a"]}
        remove: Names.
        properties: What to set, with the type of a value that could be taken for another; instead of set.
        inline: Change Dataview's inline fields (key:: value) that are there, instead of properties.
        if_match: Etag from read_notes. The note is changed only if it still is what was read.
    """
    if not (set or properties or remove) or (set and properties):
        raise VaultError(INVALID_ARGUMENTS, "set_properties: say what to set, or what to remove.", argument="set")
    if if_match and len(paths) > 1:
        raise VaultError(INVALID_ARGUMENTS, "if_match is the etag of one note: give one path.", argument="if_match")
    to_set = [
        GivenProperty(each["name"], each.get("values", each.get("value")), each.get("type", "auto"))  # type: ignore[arg-type]
        for each in properties or ()
    ]
    both = next((each["name"] for each in properties or () if "value" in each and "values" in each), None)
    if both is not None:
        raise VaultError(INVALID_ARGUMENTS, f"{both}: give value or values, not both.", property=both)
    to_set += to_given(set or {})
    revise = vault.revising.revise_inline_fields if inline else vault.revising.revise_properties
    revised = revise(paths, to_set, remove or [], match_of(if_match, merge=merge), progress, dry_run=dry_run)
    where = revised[0].path if len(revised) == 1 else counted(len(revised), "note")
    what = [f"{counted(len(to_set), 'inline field' if inline else 'property')} of {where} set"] if to_set else []
    what += [f"removed {', '.join(remove)} from {where}"] if remove else []
    if len(revised) == 1:
        return _outcome(revised[0], "; ".join(what))
    data = cast("ChangedNote", {**to_changed(revised[0].done), "path": revised[0].path})
    return Outcome(change_texts(revised[0].done, "; ".join(what), data), data)


def to_given(values: Mapping[str, Any]) -> list[GivenProperty]:
    """Return properties given as an object of names and values. Raises VaultError for a value that no property has."""
    for name, value in values.items():
        items = value if isinstance(value, list) else [] if value is None else [value]
        if not all(isinstance(each, (str, int, float)) for each in items):
            raise VaultError(
                INVALID_ARGUMENTS,
                f"{name!r}: the value of a property is a text, a number, true or false, or a list of these.",
                property=name,
            )
    return [GivenProperty(name, value, "text") for name, value in values.items()]


def _to_edit(edit: GivenEdit, number: int) -> Edit:
    if edit["action"] != "delete" and "content" not in edit:
        raise VaultError(
            INVALID_ARGUMENTS, f"edits[{number - 1}]: {edit['action']} needs content.", argument="edits", edit=number
        )
    return Edit(
        edit["action"],
        edit.get("content"),
        section=edit.get("section"),
        lines=edit.get("lines"),
        text=edit.get("text"),
        property=edit.get("property"),
        body=edit.get("body", False),
        occurrence=edit.get("occurrence", 0),
        every=edit.get("every", False),
    )


def _outcome(revised: Revised, what: str) -> Outcome[ChangedNote]:
    data = to_changed_note(revised.done, revised.path, revised.before)
    return Outcome(change_texts(revised.done, f"{what} (etag {data.get('etag')})", data), data)


# 5 MB as base64; the exact limit is on the bytes.
_MAX_BASE64 = 7_000_000


class MadeFile(Changed):
    """What was made."""

    path: Annotated[str, "Path in the vault"]
    created: Annotated[bool, "Whether the file is new"]
    etag: Annotated[NotRequired[str], "Of a note: its fingerprint as it is now; of a dry run, as it would be"]
    link: Annotated[NotRequired[str], "Of an attachment: the link that shows it in a note"]


@tool(
    title="Create note",
    category="write",
    listed="core",
    destructive=True,
    also=(Also("write_note", "if_exists", "append"), Also("write_note", "if_exists", "overwrite")),
    rare=("beside", "allow_broken"),
    plain=("path", "content", "template", "if_exists"),
)
def create_note(
    vault: Vault,
    progress: Progress,
    /,
    path: Name,
    content: str = "",
    properties: Values | None = None,
    template: OptionalName = "",
    beside: OptionalName = "",
    if_exists: Literal["error", "number", "append", "overwrite"] = "error",
    if_match: IfMatch = None,
    allow_broken: AllowBroken = False,
    dry_run: DryRun = False,
) -> Outcome[MadeFile]:
    """Make a note.

    A name alone goes to the folder that the person has set in Obsidian for new notes, and is refused if a note elsewhere has
    it. "Folder/Name", or "/Name" for the vault's own folder, makes a second one on purpose; links that used the name follow.

    Args:
        path: "Name", "Folder/Name" or "/Name".
        content: Markdown text; with a template, it comes below the template's.
        properties: {"status": "open", "tags": ["a"]}
        template: Name of a note in the person's templates folder; {{title}}, {{date}} and {{time}} in it are filled in.
        beside: The note that this one belongs to, for people who keep new notes in the same folder as the current one.
        if_exists: "number": "Name 1".
    """
    text = vault.revising.with_properties(content, to_given(properties), progress) if properties else content
    new = NewNote(path, text, template, beside, "number" if if_exists == "number" else "error")
    try:
        made = vault.writing.create(new, progress, dry_run=dry_run)
    except VaultError as error:
        taken = error.details.get("path")
        is_elsewhere = "candidates" in error.details
        if error.code != NOTE_EXISTS or if_exists in ("error", "number") or is_elsewhere or not isinstance(taken, str):
            raise
        if (properties and if_exists == "append") or template:
            message = f"{taken!r} exists. To add to it, give content alone; its properties are set with set_properties."
            raise VaultError(INVALID_ARGUMENTS, message, path=taken) from None
        mode: Literal["append", "overwrite"] = "append" if if_exists == "append" else "overwrite"
        written = vault.writing.write(
            taken, text, mode, if_match, progress, dry_run=dry_run, keeps_frontmatter=not allow_broken
        )
        made = Made(written.path, is_new=False, link="", done=written.done)
        return made_outcome(made, f"{'added to' if if_exists == 'append' else 'wrote'} {made.path}")
    return made_outcome(made, f"created {made.path}")


@tool(title="Append to daily note", category="write", listed="core", rare=("dry_run",), plain=("content",))
def append_daily_note(
    vault: Vault,
    progress: Progress,
    /,
    content: Annotated[str, Bounds(1, 10_000_000)],
    day: Annotated[str, Bounds(1, 100)] = "today",
    section: OptionalName = "",
    dry_run: DryRun = False,
) -> Outcome[MadeFile]:
    """Add to a note of a day, week, month, quarter or year; made from its template if missing.

    Args:
        content: Markdown to add.
        day: "today", "-1", "2026-03-31", "this week", "2026-Q1".
        section: Heading; made if missing.
    """
    made = vault.writing.append_periodic(day, content, section, progress, dry_run=dry_run)
    return made_outcome(made, f"{'made' if made.is_new else 'added to'} {made.path}")


@tool(title="Insert template", category="write")
def insert_template(
    vault: Vault,
    progress: Progress,
    /,
    path: NoteName,
    template: Name,
    section: OptionalName = "",
    where: Literal["top", "end"] = "end",
    if_match: IfMatch = None,
    dry_run: DryRun = False,
) -> Outcome[MadeFile]:
    """Put a template into a note, as Obsidian does: variables are filled in, properties are merged with the note's own.

    Args:
        template: Name of a note in the person's templates folder.
        section: Heading to put it below, at the end of its section. Empty for the note itself.
        where: Without a section: at the "top" of the note's text, or at its "end".
    """
    made = vault.writing.insert_template(
        path, template, section, at_top=where == "top", if_match=if_match, progress=progress, dry_run=dry_run
    )
    return made_outcome(made, f"put template {template} into {made.path}")


# ---------------------------------------------------------------------- attachments, and the files of a chat
#
# ChatGPT gives its files as an object with a URL that is valid for some minutes, and fills in only an argument that
# ``openai/fileParams`` names. Its tool comes first, because tools are listed in the order of the text.


class ChatFile(TypedDict):
    """A file of a chat, as ChatGPT gives it."""

    download_url: Annotated[str, Bounds(1, 8192), "Where it can be fetched"]
    file_id: str
    mime_type: NotRequired[str]
    file_name: NotRequired[str]


def make_save_file(sources: Attachments) -> AnyTool:
    """Return the tool over the sources that the person allowed."""
    add_attachment = make_add_attachment(sources)

    @tool(
        title="Save a file of the chat",
        category="attachments",
        listed="chatgpt",
        open_world=True,
        same_as="add_attachment",
        meta={"openai/fileParams": ["file"]},
    )
    def save_file(
        vault: Vault,
        progress: Progress,
        /,
        file: Annotated[ChatFile, Open()],
        name: OptionalName = "",
        embed_in: OptionalName = "",
        section: OptionalName = "",
        dry_run: DryRun = False,
    ) -> Outcome[MadeFile]:
        """Save a file that the person put into this chat in the vault, and show it in a note if asked; returns its link.

        Example: {"file": {"download_url": "https://files.oaiusercontent.com/file-1", "file_id": "file-1"}, "name": "bed.png"}.

        Args:
            file: The file, as the chat gives it.
            name: File name with extension, such as "diagram.png". Empty for the file's own.
            embed_in: The note to show it in, at the end. Empty for none.
            section: Heading of that note to show it below instead. One that is not there is made.
            dry_run: Only show where it would go.
        """
        if not file["download_url"].startswith("https://"):  # a path would be one of this computer
            raise VaultError(INVALID_ARGUMENTS, "download_url must begin with https://.", argument="file")
        own = file.get("file_name", "").replace("\\", "/").rpartition("/")[2]
        return add_attachment(
            vault,
            progress,
            name=name or own,
            source=file["download_url"],
            embed_in=embed_in,
            section=section,
            dry_run=dry_run,
        )

    return save_file


save_file = ToolMaker(lambda outside: make_save_file(outside.attachments))


def make_add_attachment(sources: Attachments) -> AnyTool:
    """Return the tool that saves attachments, also from the sources that the person allowed."""

    @tool(title="Add attachment", category="attachments", open_world=True)
    def add_attachment(
        vault: Vault,
        progress: Progress,
        /,
        name: OptionalName = "",
        data: Annotated[str, Bounds(0, _MAX_BASE64)] = "",
        source: Annotated[str, Bounds(0, 4000)] = "",
        beside: OptionalName = "",
        embed_in: OptionalName = "",
        section: OptionalName = "",
        if_match: IfMatch = None,
        dry_run: DryRun = False,
    ) -> Outcome[MadeFile]:
        """Save a picture, PDF, recording or video.

        It is shown in a note if asked, and its link is returned. It goes where the person has set in Obsidian for attachments;
        a name that is taken gets a number.

        Example: {"name": "diagram.png", "data": "iVBORw0KGgo=", "embed_in": "Projects/Plan"}.

        Args:
            name: File name with extension, such as "diagram.png"; or a path from the vault's root. Empty for the source's.
            data: The file's bytes as base64, at most 5 MB decoded. Or give a source.
            source: Where the file is: a path on this computer or an https URL, if the person allowed such sources.
            beside: The note it belongs to, named as for read_note: some people keep attachments next to their notes.
            embed_in: The note to show it in, at the end. Empty for none.
            section: Heading of that note to show it below instead. One that is not there is made.
            if_match: Etag of that note from read_note. Nothing is done unless it still is what was read.
            dry_run: Only show where it would go.
        """
        name = name or _name_in(source)
        if bool(data) == bool(source) or not name:
            raise VaultError(
                INVALID_ARGUMENTS,
                'Give either data, with a name such as "diagram.png", or a source.',
                argument="source" if source else "data",
            )
        most = vault.writing.max_attachment_bytes
        try:
            content = sources.read(source, name, most, progress) if source else decode_base64(data, name, most)
        except VaultError:
            _check_is_elsewhere(vault, source, progress)
            raise
        embedding = Embedding(embed_in, section, if_match) if embed_in else None
        made = vault.writing.attach(name, content, beside, embedding, progress, dry_run=dry_run)
        embedded = f" and showed it in {made.shown_in}" if made.shown_in else ""
        return made_outcome(made, f"saved {made.path}{embedded}; the link to it is {made.link}")

    return add_attachment


add_attachment = ToolMaker(lambda outside: make_add_attachment(outside.attachments))


def _check_is_elsewhere(vault: Vault, source: str, progress: Progress) -> None:
    """Raise VaultError (INVALID_ARGUMENTS) for a source that is an attachment of the vault already."""
    try:
        there = vault.find_attachment(source, progress) if source and "://" not in source else None
    except VaultError:  # no name of the vault
        return
    if there is not None:
        shown = f"![[{there.rpartition('/')[2]}]]"
        message = f"{there} is in the vault already. To show it: edit_note with {shown}."
        raise VaultError(INVALID_ARGUMENTS, message, argument="source", path=there) from None


def _name_in(source: str) -> str:
    """Return the file name at the end of a path or URL, empty if there is none."""
    is_url = "://" in source
    path = source.partition("#")[0].partition("?")[0].partition("://")[2].partition("/")[2] if is_url else source
    name = path.replace("\\", "/").rpartition("/")[2]
    try:
        return percent_decoded(name).replace("/", "-") if is_url else name
    except UnicodeDecodeError:
        return name


def made_outcome(made: Made, what: str) -> Outcome[MadeFile]:
    """Return what a tool answers about a note or attachment that it made. ``what``: what was done, in words."""
    changed = to_changed_note(made.done, made.path)
    data = cast("MadeFile", {**changed, "created": made.is_new})  # mypy wants optional fields spelt out
    if made.link:  # the etag is that of a note
        data.pop("etag", None)
    if "etag" in data:
        what += f" (etag {data['etag']})"
    if made.link:
        data["link"] = made.link
    return Outcome(change_texts(made.done, what, changed), data)


# ---------------------------------------------------------------------- writing and deleting


class WrittenNote(TypedDict):
    """What a write did."""

    path: Annotated[str, "Path in the vault"]
    created: Annotated[bool, "Whether the note is new"]
    changed: Annotated[bool, "False if the note held exactly this already, or for a dry run: nothing was written"]
    etag: Annotated[str, "Fingerprint of the note as it is now; of a dry run, as it would be"]
    size: Annotated[int, "Bytes"]
    also_edited: Annotated[NotRequired[list[str]], "The first of the other files edited, where links changed"]
    also_edited_count: Annotated[NotRequired[int], "How many other files in all; absent if none"]
    change: Annotated[
        NotRequired[int], "Number of the change, for list_changes and undo_changes; absent if nothing changed"
    ]
    diff: Annotated[NotRequired[str], "Of a dry run: what would change"]


class DeletedNote(TypedDict):
    """What a delete did."""

    path: Annotated[str, "Path the note had"]
    permanent: Annotated[bool, "Whether it was deleted permanently"]
    trash_path: Annotated[NotRequired[str], "Where it is now; absent if it was deleted permanently"]
    changed: Annotated[bool, "Whether it was deleted; false for a dry run"]
    change: Annotated[NotRequired[int], "Number of the change, for list_changes and undo_changes; absent for a dry run"]
    diff: Annotated[NotRequired[str], "Of a dry run: what would change"]


@tool(title="Write note", category="write", listed="named", destructive=True)
def write_note(
    vault: Vault,
    progress: Progress,
    /,
    path: NoteName,
    content: str,
    mode: WriteMode = "create",
    if_match: IfMatch = None,
    merge: Merge = False,
    allow_broken: AllowBroken = False,
    dry_run: DryRun = False,
) -> Outcome[WrittenNote]:
    """Make a note, add to one, or replace one's text. Missing folders are made.

    By default only a new note is made: if it exists, nothing happens and an error says so. Prefer append or prepend to
    overwrite; before overwrite, read the note and pass its etag. A note keeps its line ends and the rest of its bytes.
    A new note is named as for create_note: a name alone is refused if a note elsewhere has it.

    Args:
        path: Where: "Name", "Folder/Name" or "/Name"; ".md" may be left out. For append and prepend any name that
            read_note takes.
        content: Markdown text.
        mode: "create" a new note, "append" lines at the end, "prepend" lines at the top (below the frontmatter), or
            "overwrite" the whole text, making the note if it is not there.
        if_match: Etag from read_note. The write happens only if the note still is what was read.
    """
    written = vault.writing.write(
        path,
        content,
        mode,
        match_of(if_match, merge=merge),
        progress,
        dry_run=dry_run,
        keeps_frontmatter=not allow_broken,
    )
    done = "Created" if written.created else "Wrote" if written.changed else "Left unchanged (it has this text already)"
    changed = to_changed(written.done)
    data: WrittenNote = {
        "path": written.path,
        "created": written.created,
        "changed": changed["changed"],
        "etag": written.etag,
        "size": written.size,
    }
    others = add_other_files(data, written.also)
    if "diff" in changed:
        data["diff"] = changed["diff"]
        return Outcome(change_texts(written.done, f"{done.lower()} {written.path}", changed), data)
    text = f"{done}: {written.path} ({counted(written.size, 'byte')}, etag {written.etag})"
    if "change" in changed:
        data["change"] = changed["change"]
        text += f". {how_to_undo(changed['change'])}"
    return Outcome(["\n".join([text + others, *written.done.notices])], data)


@tool(title="Delete note", category="write", listed="standard", destructive=True, plain=("path",))
def delete_note(
    vault: Vault,
    progress: Progress,
    /,
    path: Name,
    permanent: bool = False,
    if_match: IfMatch = None,
    dry_run: DryRun = False,
) -> Outcome[DeletedNote]:
    """Move a note or attachment to the vault's .trash, or delete it permanently.

    Args:
        path: The note, named as for read_notes. To delete permanently, its whole path.
        permanent: Only if the person asked for it.
        if_match: Etag from read_notes. The note is changed only if it still is what was read.
    """
    lost = vault.links_lost(path, progress)
    deleted = vault.writing.delete(path, permanent=permanent, if_match=if_match, progress=progress, dry_run=dry_run)
    changed = to_changed(deleted.done)
    data = DeletedNote(path=deleted.path, permanent=deleted.trash_path is None, changed=changed["changed"])
    done, would = f"Deleted permanently: {deleted.path}", f"deleted {deleted.path} permanently"
    if deleted.trash_path is not None:
        data["trash_path"] = deleted.trash_path
        done, would = (f"{moved} {deleted.path} to {deleted.trash_path}" for moved in ("Moved", "moved"))
    if "diff" in changed:
        data["diff"] = changed["diff"]
        head, *diff = change_texts(deleted.done, would, changed)
        return Outcome([head + _lost_text(lost, "would lead"), *diff], data)
    data["change"] = changed["change"]
    text = f"{done}. {how_to_undo(changed['change'])}"
    return Outcome([text + _lost_text(lost, "now lead" if len(lost) > 1 else "now leads")], data)


def _lost_text(lost: list[tuple[VaultPath, int]], lead: str) -> str:
    if not lost:
        return ""
    places = list(dict.fromkeys(f"{source}:{line}" for source, line in lost))
    shown = ", ".join(places[:MAX_FILES_TOLD]) + (", …" if len(places) > MAX_FILES_TOLD else "")
    notes = counted(len({source for source, _ in lost}), "note")
    return f"\n{counted(len(lost), 'link')} in {notes} {lead} nowhere: {shown}."
