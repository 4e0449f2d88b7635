"""The ``obsidian_*`` tools on single notes, with the names and parameters of Obsidian's own command.

Docstrings here are product text: a model reads them. ``port`` has what answers them.
"""

from __future__ import annotations

from typing import Annotated, NotRequired, TypedDict

from vaultwire.toolkit.phrases import add_other_files, text_blocks
from vaultwire.toolkit.registry import Bounds, Name, OptionalName, Outcome
from vaultwire.tools.obsidian_cli.port import Content, FileName, FilePath, Kind, Obsidian, app_tool
from vaultwire.vault.value_types import Placed, Progress

PropertyName = Annotated[Name, "The property's name."]


class CreatedNote(TypedDict):
    """A note that was made or written over."""

    path: Annotated[str, "Path in the vault"]
    created: Annotated[bool, "False if a note that was there was written over"]
    also_edited: Annotated[NotRequired[list[str]], "The first of the other files edited, where links changed"]
    also_edited_count: Annotated[NotRequired[int], "How many other files in all; absent if none"]


class NotePath(TypedDict):
    """A note."""

    path: Annotated[str, "Path in the vault"]


class NoteText(TypedDict):
    """A note's text."""

    path: Annotated[str, "Path in the vault"]
    content: Annotated[str, "Its text, frontmatter included"]


class MovedNote(TypedDict):
    """A note that has another path now."""

    path: Annotated[str, "Path in the vault, as it is now"]
    moved_from: Annotated[str, "The path it had"]
    also_edited: Annotated[NotRequired[list[str]], "The first of the other files edited, where links changed"]
    also_edited_count: Annotated[NotRequired[int], "How many other files in all; absent if none"]


class DeletedNote(TypedDict):
    """A note that is gone."""

    path: Annotated[str, "The path it had"]
    permanent: Annotated[bool, "Whether it was deleted permanently, not moved to the trash"]


class DailyText(TypedDict):
    """Today's note."""

    path: Annotated[str, "Where it is, or would be"]
    exists: Annotated[bool, "Whether it is there"]
    content: Annotated[NotRequired[str], "Its text; absent if it is not there"]


class NoteProperty(TypedDict):
    """A property of a note, as it is now."""

    path: Annotated[str, "The note's path in the vault"]
    name: Annotated[str, "The property's name"]
    values: Annotated[list[str], "Its values as text: several of a list, none if it is empty or not there"]


@app_tool(title="Create note in Obsidian", destructive=True)
def obsidian_create_note(
    obsidian: Obsidian,
    progress: Progress,
    /,
    name: Name,
    content: str = "",
    overwrite: bool = False,
    template: OptionalName = "",
) -> Outcome[CreatedNote]:
    """Create a new note in the vault. If there is one of that name, it is left alone and an error says so.

    Args:
        name: Note name (without .md extension) or exact path
        content: Initial note content (markdown)
        overwrite: Overwrite if file exists
        template: Name of a template to start from; the content comes below it.
    """
    placed = obsidian.create(name, content, template, progress, overwrite=overwrite)
    return _created("Created" if placed.is_new else "Overwrote", placed)


@app_tool(title="Create note in a base in Obsidian")
def obsidian_create_in_base(
    obsidian: Obsidian, progress: Progress, /, path: Name, name: Name, view: OptionalName = "", content: str = ""
) -> Outcome[CreatedNote]:
    """Create a note that a base shows, with the properties that its filters ask for. A name that is taken gets a number.

    Args:
        path: The base's exact path, such as "Books.base".
        name: Note name (without .md extension) or exact path
        view: The view's name. Empty for the first one.
        content: Initial note content (markdown)
    """
    return _created("Created", obsidian.create_in_base(path, view, name, content, progress))


@app_tool(title="Read note in Obsidian", read_only=True)
def obsidian_read_note(
    obsidian: Obsidian, progress: Progress, /, file: FileName = "", path: FilePath = ""
) -> Outcome[NoteText]:
    """Read a whole note, as the Obsidian app has it."""
    found = obsidian.target(file, path, progress)
    text = obsidian.read(found, progress)
    return Outcome([*text_blocks(text), f"{found}: {len(text)} characters"], NoteText(path=found, content=text))


@app_tool(title="Append to note in Obsidian")
def obsidian_append_note(
    obsidian: Obsidian, progress: Progress, /, content: Content, file: FileName = "", path: FilePath = ""
) -> Outcome[NotePath]:
    """Add lines at the end of a note."""
    found = obsidian.target(file, path, progress)
    obsidian.add(found, content, "append", progress)
    return Outcome([f"Appended to: {found}"], NotePath(path=found))


@app_tool(title="Prepend to note in Obsidian")
def obsidian_prepend_note(
    obsidian: Obsidian, progress: Progress, /, content: Content, file: FileName = "", path: FilePath = ""
) -> Outcome[NotePath]:
    """Add lines at the top of a note, below its frontmatter."""
    found = obsidian.target(file, path, progress)
    obsidian.add(found, content, "prepend", progress)
    return Outcome([f"Prepended to: {found}"], NotePath(path=found))


@app_tool(title="Move note in Obsidian", destructive=True)
def obsidian_move_note(
    obsidian: Obsidian, progress: Progress, /, to: Name, file: FileName = "", path: FilePath = ""
) -> Outcome[MovedNote]:
    """Move a note to a folder or to another path. Links to it are updated, by the app if its settings say so.

    Args:
        to: A folder such as "Archive" ("/" for the vault's own), or a whole path with extension such as "Archive/New.md".
    """
    found = obsidian.target(file, path, progress)
    return _moved(found, obsidian.move(found, to, progress))


@app_tool(title="Rename note in Obsidian", destructive=True)
def obsidian_rename_note(
    obsidian: Obsidian, progress: Progress, /, name: Name, file: FileName = "", path: FilePath = ""
) -> Outcome[MovedNote]:
    """Give a note another name in its folder. Links to it are updated, by the app if its settings say so.

    Args:
        name: The new name; ".md" may be left out.
        file: The note's name as it is, as in a wikilink.
    """
    found = obsidian.target(file, path, progress)
    return _moved(found, obsidian.rename(found, name, progress))


@app_tool(title="Delete note in Obsidian", destructive=True)
def obsidian_delete_note(
    obsidian: Obsidian, progress: Progress, /, file: FileName = "", path: FilePath = "", permanent: bool = False
) -> Outcome[DeletedNote]:
    """Delete a note. It goes to the trash: the system's if the app does it, the vault's .trash if it does not run.

    Args:
        file: The note's name, as in a wikilink. To delete permanently, give its path instead.
        path: Its exact path, such as "Folder/Note.md".
        permanent: Delete permanently instead. Only when the person asked for exactly that.
    """
    found = obsidian.target(file, path, progress)
    obsidian.delete(found, progress, permanent=permanent)
    done = "Deleted permanently" if permanent else "Moved to trash"
    return Outcome([f"{done}: {found}"], DeletedNote(path=found, permanent=permanent))


@app_tool(title="Open note in Obsidian")
def obsidian_open_note(
    obsidian: Obsidian, progress: Progress, /, file: FileName = "", path: FilePath = "", newtab: bool = False
) -> Outcome[NotePath]:
    """Show a note to the person in the Obsidian app. Works only while the app runs.

    Args:
        newtab: In a new tab.
    """
    found = obsidian.target(file, path, progress)
    obsidian.open(found, progress, newtab=newtab)
    return Outcome([f"Opened: {found}"], NotePath(path=found))


@app_tool(title="Read today's note in Obsidian", read_only=True)
def obsidian_read_daily(obsidian: Obsidian, progress: Progress, /) -> Outcome[DailyText]:
    """Read today's daily note. It is not made if it is not there."""
    path, exists = obsidian.daily(progress)
    data = DailyText(path=path, exists=exists)
    if not exists:
        return Outcome([f"There is no daily note yet; it would be {path}"], data)
    data["content"] = obsidian.read(path, progress)
    return Outcome([*text_blocks(data["content"]), f"{path}: {len(data['content'])} characters"], data)


@app_tool(title="Append to today's note in Obsidian")
def obsidian_append_daily(obsidian: Obsidian, progress: Progress, /, content: Content) -> Outcome[CreatedNote]:
    """Add lines at the end of today's daily note, which is made from its template if it is not there."""
    return _created("Appended to", obsidian.add_daily(content, "append", progress))


@app_tool(title="Prepend to today's note in Obsidian")
def obsidian_prepend_daily(obsidian: Obsidian, progress: Progress, /, content: Content) -> Outcome[CreatedNote]:
    """Add lines at the top of today's daily note, below its frontmatter; it is made if it is not there."""
    return _created("Prepended to", obsidian.add_daily(content, "prepend", progress))


@app_tool(title="Set property in Obsidian", destructive=True, idempotent=True)
def obsidian_set_property(
    obsidian: Obsidian,
    progress: Progress,
    /,
    name: PropertyName,
    value: Annotated[str, Bounds(0, 10_000)],
    type: Kind = "text",  # noqa: A002 - the command's own word
    file: FileName = "",
    path: FilePath = "",
) -> Outcome[NoteProperty]:
    """Set a property in a note's frontmatter.

    Args:
        value: Its value as text. Of a list: a JSON list of texts, or texts with commas between them.
        type: How the value is meant.
    """
    found = obsidian.target(file, path, progress)
    obsidian.set_property(found, name, value, type, progress)
    return _property(obsidian, progress, found, name)


@app_tool(title="Remove property in Obsidian", destructive=True, idempotent=True)
def obsidian_remove_property(
    obsidian: Obsidian, progress: Progress, /, name: PropertyName, file: FileName = "", path: FilePath = ""
) -> Outcome[NoteProperty]:
    """Remove a property from a note's frontmatter. Nothing happens if it is not there."""
    found = obsidian.target(file, path, progress)
    obsidian.remove_property(found, name, progress)
    return _property(obsidian, progress, found, name)


def _created(done: str, placed: Placed) -> Outcome[CreatedNote]:
    data = CreatedNote(path=placed.path, created=placed.is_new)
    return Outcome([f"{done}: {placed.path}{add_other_files(data, placed.also)}"], data)


def _moved(source: str, placed: Placed) -> Outcome[MovedNote]:
    data = MovedNote(path=placed.path, moved_from=source)
    return Outcome([f"Moved: {source} -> {placed.path}{add_other_files(data, placed.also)}"], data)


def _property(obsidian: Obsidian, progress: Progress, path: str, name: str) -> Outcome[NoteProperty]:
    """Return the property as the file has it now."""
    found = obsidian.target("", path, progress)
    values = dict(obsidian.properties(found, progress)).get(name, [])
    shown = ", ".join(values) or "(empty or not there)"
    return Outcome([f"{name} of {path}: {shown}"], NoteProperty(path=path, name=name, values=values))
