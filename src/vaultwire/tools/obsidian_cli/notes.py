"""The ``obsidian_*`` tools on single notes, as Obsidian's own command names them; and how such tools are declared.

What the command does with files, our engine does, so it needs no app, and changes can be undone.
Docstrings here are product text: a model reads them.
"""

from __future__ import annotations

import functools
import json
from collections import Counter
from collections.abc import Callable
from typing import Annotated, Any, Concatenate, Literal, NotRequired, ParamSpec, Protocol, TypeAlias, TypedDict

from vaultwire.markdown import edits
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.toolkit.phrases import add_other_files, counted, text_blocks
from vaultwire.toolkit.registry import AnyTool, Bounds, Limit, Name, OptionalName, Outcome, tool
from vaultwire.vault.base_queries.running import BaseSource
from vaultwire.vault.changes.change import Write
from vaultwire.vault.disk.contents import plain_text
from vaultwire.vault.disk.paths import NOTE_SUFFIX, fold, is_note, parse_note_path, parse_path, says_folder, sort_key
from vaultwire.vault.editing.revising import GivenProperty, ValueKind
from vaultwire.vault.editing.writing import Made
from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS, NOTE_EXISTS, VaultError
from vaultwire.vault.links.link_resolver import linkpath_of
from vaultwire.vault.plans.creating import NewNote
from vaultwire.vault.plans.targeted_edits import Edit
from vaultwire.vault.search.filters import TaskFilter
from vaultwire.vault.value_types import Progress, VaultPath
from vaultwire.vault.vault import Vault

P = ParamSpec("P")

Where: TypeAlias = Literal["append", "prepend"]
Kind: TypeAlias = Literal["text", "list", "number", "checkbox", "date", "datetime"]

FileName = Annotated[str, Bounds(0, 1000), "The note's name, as in a wikilink."]
FilePath = Annotated[str, Bounds(0, 1000), 'Or its exact path, such as "Folder/Note.md".']
Content = Annotated[str, Bounds(1, 10_000_000), "Markdown text."]
PropertyName = Annotated[Name, "The property's name."]


# ---------------------------------------------------------------------- how such a tool is declared


class Obsidian(Protocol):
    """A vault for one caller, with what only the app knows of it. ``app`` chooses who answers. Methods may raise VaultError."""

    @property
    def vault(self) -> Vault:
        """The vault."""

    def open(self, path: VaultPath, progress: Progress, /, *, newtab: bool) -> None:
        """Show a note."""

    def history(self, path: VaultPath, progress: Progress, /) -> list[tuple[int, str]]:
        """Return number and label of a note's earlier versions."""

    def version(self, path: VaultPath, number: int, progress: Progress, /) -> str:
        """Return the text of an earlier version."""

    def commands(self, prefix: str, progress: Progress, /) -> list[str]:
        """Return the ids of the app's commands."""

    def workspace(self, progress: Progress, /) -> str:
        """Return the app's panes and tabs."""

    def evaluate(self, code: str, progress: Progress, /) -> str:
        """Run JavaScript in the app."""


MakeTool: TypeAlias = Callable[[Callable[[Vault], Obsidian]], AnyTool]
"""Makes a declared tool of what returns the ``Obsidian`` of a vault."""


def app_tool(
    *,
    title: str,
    read_only: bool = False,
    destructive: bool = False,
    idempotent: bool = False,
    open_world: bool = False,
) -> Callable[[Callable[Concatenate[Obsidian, Progress, P], Outcome[Any]]], MakeTool]:
    """Declare a function ``(obsidian, progress, /, arguments…) -> Outcome``. The flags are those of ``registry.tool``."""
    # The longer deadline: the command has one of its own, of 30 seconds, which must end before the watchdog's.
    declare = tool(
        title=title,
        listed="optional",
        time_class="search",
        read_only=read_only,
        destructive=destructive,
        idempotent=idempotent,
        open_world=open_world,
    )

    def over(
        function: Callable[Concatenate[Obsidian, Progress, P], Outcome[Any]], obsidian_of: Callable[[Vault], Obsidian]
    ) -> AnyTool:
        @functools.wraps(function)
        def run(vault: Vault, progress: Progress, /, *args: P.args, **kwargs: P.kwargs) -> Outcome[Any]:
            return function(obsidian_of(vault), progress, *args, **kwargs)

        return declare(run)

    return lambda function: functools.partial(over, function)


def target(vault: Vault, file: str, path: str, progress: Progress) -> VaultPath:
    """Return the note with a name (as in a wikilink) or an exact path; exactly one of the two is given.

    Raises VaultError: INVALID_ARGUMENTS, FILE_NOT_FOUND, AMBIGUOUS_NAME with the candidates.
    """
    if bool(file.strip()) is bool(path.strip()):
        raise VaultError(INVALID_ARGUMENTS, "Give the note's name as file, or its exact path as path, and not both.")
    if file.strip():
        return vault.locate(file, progress)
    asked, note = parse_note_path(path), vault.locate(path, progress)
    if fold(note) != fold(asked):
        message = f"There is no note at {asked!r}. One of that name is {note!r}."
        raise VaultError(FILE_NOT_FOUND, message, path=path, near=[note])
    return note


def optional_target(vault: Vault, file: str, path: str, progress: Progress) -> VaultPath | None:
    """Return the note as ``target`` does, None if neither name nor path is given."""
    return target(vault, file, path, progress) if file.strip() or path.strip() else None


def listed(thing: str, lines: list[str], total: int | None = None) -> str:
    """Return the lines below a headline that counts them; ``total`` if there are more than these."""
    count = len(lines) if total is None else total
    return "\n".join([counted(count, thing) + (":" if lines else "."), *lines])


def base_source(vault: Vault, path: str) -> BaseSource:
    """Return the base of this path. Raises VaultError as ``Vault.read_file`` does, INVALID_ARGUMENTS for other files."""
    asked = parse_path(path)
    if not asked.lower().endswith(".base"):
        raise VaultError(INVALID_ARGUMENTS, f"{path!r} is not a base: its name must end in '.base'.", path=path)
    return BaseSource(vault.read_file(asked, 10_000_000)[0])


# ---------------------------------------------------------------------- making, reading, moving, deleting


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
    vault = obsidian.vault
    try:
        # As in the app, a note in another folder may have the same name.
        new = NewNote(name, content, template)
        return created("Created", vault.writing.create(new, progress, dry_run=False, may_have_namesake=True))
    except VaultError as error:
        if error.code != NOTE_EXISTS or not overwrite:
            raise
        there = VaultPath(error.details["path"])
    if template:
        raise VaultError(INVALID_ARGUMENTS, f"{there!r} exists already; a template is only for new notes.")
    vault.writing.write(there, content, "overwrite", None, progress)
    return _added("Overwrote", there)


@app_tool(title="Read note in Obsidian", read_only=True)
def obsidian_read_note(
    obsidian: Obsidian, progress: Progress, /, file: FileName = "", path: FilePath = ""
) -> Outcome[NoteText]:
    """Read a whole note, as the Obsidian app has it."""
    note = target(obsidian.vault, file, path, progress)
    text = obsidian.vault.read(note, progress).text
    return Outcome([*text_blocks(text), f"{note}: {len(text)} characters"], NoteText(path=note, content=text))


@app_tool(title="Append to note in Obsidian")
def obsidian_append_note(
    obsidian: Obsidian, progress: Progress, /, content: Content, file: FileName = "", path: FilePath = ""
) -> Outcome[NotePath]:
    """Add lines at the end of a note."""
    note = target(obsidian.vault, file, path, progress)
    obsidian.vault.writing.write(note, content, "append", None, progress)
    return Outcome([f"Appended to: {note}"], NotePath(path=note))


@app_tool(title="Prepend to note in Obsidian")
def obsidian_prepend_note(
    obsidian: Obsidian, progress: Progress, /, content: Content, file: FileName = "", path: FilePath = ""
) -> Outcome[NotePath]:
    """Add lines at the top of a note, below its frontmatter."""
    note = target(obsidian.vault, file, path, progress)
    obsidian.vault.writing.write(note, content, "prepend", None, progress)
    return Outcome([f"Prepended to: {note}"], NotePath(path=note))


@app_tool(title="Move note in Obsidian", destructive=True)
def obsidian_move_note(
    obsidian: Obsidian, progress: Progress, /, to: Name, file: FileName = "", path: FilePath = ""
) -> Outcome[MovedNote]:
    """Move a note to a folder or to another path. Links to it are updated, by the app if its settings say so.

    Args:
        to: A folder such as "Archive" ("/" for the vault's own), or a whole path with extension such as "Archive/New.md".
    """
    note = target(obsidian.vault, file, path, progress)
    return _moved(obsidian.vault, note, place_to_move(to), progress)


def place_to_move(to: str) -> str:
    """Return a target of the command as the engine takes it: a text with a dot is a path, another one is a folder."""
    to = to.strip().strip("/")
    return f"{to}/" if "." not in to else to if says_folder(to) else f"/{to}"


@app_tool(title="Rename note in Obsidian", destructive=True)
def obsidian_rename_note(
    obsidian: Obsidian, progress: Progress, /, name: Name, file: FileName = "", path: FilePath = ""
) -> Outcome[MovedNote]:
    """Give a note another name in its folder. Links to it are updated, by the app if its settings say so.

    Args:
        name: The new name; ".md" may be left out.
        file: The note's name as it is, as in a wikilink.
    """
    note = target(obsidian.vault, file, path, progress)
    name = name.strip()
    if "/" in name or "\\" in name:
        message = f"{name!r} is not a name: it contains a slash. To move a note use obsidian_move_note."
        raise VaultError(INVALID_ARGUMENTS, message)
    return _moved(obsidian.vault, note, f"./{name if is_note(name) else name + NOTE_SUFFIX}", progress)


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
    note = target(obsidian.vault, file, path, progress)
    obsidian.vault.writing.delete(note, permanent=permanent, progress=progress)
    done = "Deleted permanently" if permanent else "Moved to trash"
    return Outcome([f"{done}: {note}"], DeletedNote(path=note, permanent=permanent))


@app_tool(title="Open note in Obsidian")
def obsidian_open_note(
    obsidian: Obsidian, progress: Progress, /, file: FileName = "", path: FilePath = "", newtab: bool = False
) -> Outcome[NotePath]:
    """Show a note to the person in the Obsidian app. Works only while the app runs.

    Args:
        newtab: In a new tab.
    """
    note = target(obsidian.vault, file, path, progress)
    obsidian.open(note, progress, newtab=newtab)
    return Outcome([f"Opened: {note}"], NotePath(path=note))


@app_tool(title="Read today's note in Obsidian", read_only=True)
def obsidian_read_daily(obsidian: Obsidian, progress: Progress, /) -> Outcome[DailyText]:
    """Read today's daily note. It is not made if it is not there."""
    daily = obsidian.vault.overview.periodic_note("today", progress)
    data = DailyText(path=daily.path, exists=daily.exists)
    if not daily.exists:
        return Outcome([f"There is no daily note yet; it would be {daily.path}"], data)
    data["content"] = obsidian.vault.read(daily.path, progress).text
    return Outcome([*text_blocks(data["content"]), f"{daily.path}: {len(data['content'])} characters"], data)


@app_tool(title="Append to today's note in Obsidian")
def obsidian_append_daily(obsidian: Obsidian, progress: Progress, /, content: Content) -> Outcome[CreatedNote]:
    """Add lines at the end of today's daily note, which is made from its template if it is not there."""
    return _added_to_daily(obsidian.vault, content, "append", "Appended to", progress)


@app_tool(title="Prepend to today's note in Obsidian")
def obsidian_prepend_daily(obsidian: Obsidian, progress: Progress, /, content: Content) -> Outcome[CreatedNote]:
    """Add lines at the top of today's daily note, below its frontmatter; it is made if it is not there."""
    return _added_to_daily(obsidian.vault, content, "prepend", "Prepended to", progress)


def _added_to_daily(vault: Vault, content: str, where: Where, done: str, progress: Progress) -> Outcome[CreatedNote]:
    daily = vault.overview.periodic_note("today", progress)
    if not daily.exists:
        return created(done, make_daily(vault, daily.path, content, where, progress))
    vault.writing.write(daily.path, content, where, None, progress)
    return _added(done, daily.path)


def make_daily(vault: Vault, path: VaultPath, content: str, where: Where, progress: Progress) -> Made:
    """Make today's note, which is not there: its template with these lines added."""
    empty = vault.writing.append_periodic("today", "", "", progress, dry_run=True, may_have_namesake=True)
    text = "".join(
        plain_text(step.after)
        for step in empty.done.steps
        if isinstance(step, Write) and step.path == empty.path and step.after
    )
    text = edits.append(text, content) if where == "append" else edits.prepend(text, content)
    return vault.writing.create(NewNote(f"./{path}", text), progress, dry_run=False)


def created(done: str, made: Made) -> Outcome[CreatedNote]:
    """Return what is said of a note that was made."""
    data = CreatedNote(path=made.path, created=True)
    also = add_other_files(data, made.done.other_edits(made.path))
    return Outcome([f"{done}: {made.path}{also}"], data)


def _added(done: str, path: str) -> Outcome[CreatedNote]:
    return Outcome([f"{done}: {path}"], CreatedNote(path=path, created=False))


def _moved(vault: Vault, source: VaultPath, to: str, progress: Progress) -> Outcome[MovedNote]:
    plan, done = vault.arranging.move(source, to, progress, dry_run=False)
    data = MovedNote(path=plan.target, moved_from=source)
    also = add_other_files(data, done.other_edits(plan.target))
    return Outcome([f"Moved: {source} -> {plan.target}{also}"], data)


# ---------------------------------------------------------------------- properties


class NoteProperty(TypedDict):
    """A property of a note, as it is now."""

    path: Annotated[str, "The note's path in the vault"]
    name: Annotated[str, "The property's name"]
    values: Annotated[list[str], "Its values as text: several of a list, none if it is empty or not there"]


class Property(TypedDict):
    """A property of a note."""

    name: Annotated[str, "Its name"]
    values: Annotated[list[str], "Its values as text: several of a list, none if it is empty"]


class Properties(TypedDict):
    """A note's properties."""

    path: Annotated[str, "The note's path"]
    properties: list[Property]


@app_tool(title="Properties of a note in Obsidian", read_only=True)
def obsidian_note_properties(
    obsidian: Obsidian, progress: Progress, /, file: FileName = "", path: FilePath = ""
) -> Outcome[Properties]:
    """Show the properties of a note."""
    note = target(obsidian.vault, file, path, progress)
    properties = [
        Property(name=name, values=value_texts(value)) for name, value in _properties(obsidian.vault, note, progress)
    ]
    lines = [f"{each['name']}: {', '.join(each['values'])}".rstrip() for each in properties]
    return Outcome([f"{note} has {listed('property', lines)}"], Properties(path=note, properties=properties))


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
    note = target(obsidian.vault, file, path, progress)
    given = [to_property(name, value, type)]
    obsidian.vault.revising.revise_properties([note], given, [], None, progress, dry_run=False)
    return _property(obsidian.vault, note, name, progress)


@app_tool(title="Remove property in Obsidian", destructive=True, idempotent=True)
def obsidian_remove_property(
    obsidian: Obsidian, progress: Progress, /, name: PropertyName, file: FileName = "", path: FilePath = ""
) -> Outcome[NoteProperty]:
    """Remove a property from a note's frontmatter. Nothing happens if it is not there."""
    note = target(obsidian.vault, file, path, progress)
    if any(fold(held) == fold(name) for held, _ in _properties(obsidian.vault, note, progress)):
        obsidian.vault.revising.revise_properties([note], [], [name], None, progress, dry_run=False)
    return _property(obsidian.vault, note, name, progress)


def _properties(vault: Vault, note: VaultPath, progress: Progress) -> list[tuple[str, PropertyValue]]:
    return [*parse_frontmatter(vault.read(note, progress).text).values.items()]


def _property(vault: Vault, note: VaultPath, name: str, progress: Progress) -> Outcome[NoteProperty]:
    values = value_texts(dict(_properties(vault, note, progress)).get(name))
    shown = ", ".join(values) or "(empty or not there)"
    return Outcome([f"{name} of {note}: {shown}"], NoteProperty(path=note, name=name, values=values))


def to_property(name: str, value: str, kind: Kind) -> GivenProperty:
    """Return a property for the engine. As with the command, a JSON list is a list for any ``kind``."""
    items = _json_items(value)
    if items is not None:
        return GivenProperty(name, items, "text")
    if kind == "list":
        return GivenProperty(name, [item.strip() for item in value.split(",") if item.strip()], "list")
    kinds: dict[Kind, ValueKind] = {"number": "number", "checkbox": "checkbox"}
    return GivenProperty(name, value, kinds.get(kind, "text"))


def _json_items(value: str) -> list[PropertyValue] | None:
    """Return the items of a JSON list, those of lists in it too; None for anything else."""
    if not value.lstrip().startswith("["):
        return None
    try:
        items = json.loads(value)
    except (ValueError, RecursionError):
        return None
    return _flat(items) if isinstance(items, list) else None


def _flat(items: list[Any]) -> list[PropertyValue]:
    flat: list[PropertyValue] = []
    for item in items:
        flat += _flat(item) if isinstance(item, list) else value_texts(item) if isinstance(item, dict) else [item]
    return [item for item in flat if item is not None]


def value_texts(value: Any) -> list[str]:
    """Return a property's value as texts: none for an empty value, one for each element of a list."""
    if value is None:
        return []
    if isinstance(value, list):
        return [text for each in value for text in value_texts(each)]
    if isinstance(value, bool):
        return ["true" if value else "false"]
    if isinstance(value, float) and value.is_integer():
        return [str(int(value))]
    return [value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)]


# ---------------------------------------------------------------------- links, outline, tasks


class LeadingLink(TypedDict):
    """Where a link leads."""

    target: Annotated[str, "Path of the file, or the name that no file has"]
    resolved: Annotated[bool, "Whether there is such a file"]


class Links(TypedDict):
    """A note's outgoing links."""

    path: Annotated[str, "The note's path"]
    links: Annotated[list[LeadingLink], "Each place once, in alphabetical order"]


class LinkingNote(TypedDict):
    """A note that links to another."""

    path: Annotated[str, "Path in the vault"]
    count: Annotated[int, "How many of its links lead there"]


class Backlinks(TypedDict):
    """A note's backlinks."""

    path: Annotated[str, "The note's path"]
    backlinks: Annotated[list[LinkingNote], "In path order"]
    total: Annotated[int, "Links in all"]


class OutlineHeading(TypedDict):
    """A heading."""

    level: Annotated[int, "1 to 6"]
    heading: Annotated[str, "Its text"]
    line: Annotated[int, "Line number, from 1"]


class Outline(TypedDict):
    """A note's headings."""

    path: Annotated[str, "The note's path"]
    headings: list[OutlineHeading]


class TaskFound(TypedDict):
    """A task."""

    path: Annotated[str, "The note it is in"]
    line: Annotated[int, "Line number, from 1"]
    status: Annotated[str, "The character in its box; a space if it is to do"]
    text: Annotated[str, "Its text"]


class Tasks(TypedDict):
    """Tasks, in path and line order."""

    tasks: list[TaskFound]
    total: Annotated[int, "Tasks in all"]


@app_tool(title="Links of a note in Obsidian", read_only=True)
def obsidian_links(
    obsidian: Obsidian, progress: Progress, /, file: FileName = "", path: FilePath = ""
) -> Outcome[Links]:
    """List where the links of a note lead."""
    note = target(obsidian.vault, file, path, progress)
    _, found = obsidian.vault.links(note, progress)
    targets = {
        (link.target, True) if link.target is not None else (linkpath_of(link.linktext).strip(), False)
        for link in found
    }
    links = [
        LeadingLink(target=each, resolved=is_file)
        for each, is_file in sorted(targets, key=lambda link: sort_key(link[0]))
    ]
    lines = [each["target"] + ("" if each["resolved"] else " (no such file)") for each in links]
    return Outcome([f"{note} has {listed('link', lines)}"], Links(path=note, links=links))


@app_tool(title="Backlinks of a note in Obsidian", read_only=True)
def obsidian_backlinks(
    obsidian: Obsidian, progress: Progress, /, file: FileName = "", path: FilePath = ""
) -> Outcome[Backlinks]:
    """List the notes that link to a note."""
    note = target(obsidian.vault, file, path, progress)
    counts = Counter(source for source, _ in obsidian.vault.incoming(note, progress)[1])
    linking = [LinkingNote(path=each, count=counts[each]) for each in sorted(counts, key=sort_key)]
    lines = [f"{each['path']} ({each['count']})" for each in linking]
    data = Backlinks(path=note, backlinks=linking, total=counts.total())
    return Outcome([f"To {note} link {listed('link', lines)}"], data)


@app_tool(title="Outline of a note in Obsidian", read_only=True)
def obsidian_outline(
    obsidian: Obsidian, progress: Progress, /, file: FileName = "", path: FilePath = ""
) -> Outcome[Outline]:
    """Show the headings of a note."""
    note = target(obsidian.vault, file, path, progress)
    headings = [
        OutlineHeading(level=each.level, heading=each.text, line=each.line)
        for each in obsidian.vault.structure(note, progress).outline
    ]
    lines = [f"{each['line']}: {'#' * each['level']} {each['heading']}" for each in headings]
    return Outcome([f"{note} has {listed('heading', lines)}"], Outline(path=note, headings=headings))


@app_tool(title="Tasks in Obsidian", read_only=True)
def obsidian_tasks(
    obsidian: Obsidian,
    progress: Progress,
    /,
    file: FileName = "",
    path: FilePath = "",
    status: Literal["any", "todo", "done"] = "any",
    limit: Limit = 100,
) -> Outcome[Tasks]:
    """List the tasks of the vault, or of one note. A task is done if its box holds anything but a space.

    Args:
        file: Only the tasks of the note of this name.
        path: Only the tasks of the note at this exact path.
        status: Which tasks.
        limit: How many to return.
    """
    is_done = {"any": (True, False), "todo": (False,), "done": (True,)}[status]
    note = optional_target(obsidian.vault, file, path, progress)
    found = [task for task in tasks_in(obsidian.vault, note, progress) if (task["status"] != " ") in is_done]
    lines = [f"{each['path']}:{each['line']}: [{each['status']}] {each['text']}" for each in found[:limit]]
    more = f"\n… and {len(found) - limit} more." if len(found) > limit else ""
    data = Tasks(tasks=found[:limit], total=len(found))
    return Outcome([listed("task", lines, len(found)) + more], data)


@app_tool(title="Set task in Obsidian", destructive=True, idempotent=True)
def obsidian_set_task(
    obsidian: Obsidian,
    progress: Progress,
    /,
    line: Annotated[int, Bounds(1, 10_000_000)],
    status: Annotated[str, Bounds(1, 1)] = "x",
    file: FileName = "",
    path: FilePath = "",
) -> Outcome[TaskFound]:
    """Mark a task as done, as to do, or with any other character in its box.

    Args:
        line: The line it stands on, as obsidian_tasks lists it.
        status: "x" for done, a space for to do, or another character.
    """
    note = target(obsidian.vault, file, path, progress)
    task = next((task for task in tasks_in(obsidian.vault, note, progress) if task["line"] == line), None)
    if task is None:
        raise VaultError(INVALID_ARGUMENTS, f"There is no task on line {line} of {note!r}; obsidian_tasks lists them.")
    data = mark_task(obsidian.vault, task, status, progress)
    return Outcome([f"{note}:{line}: [{status}] {data['text']}"], data)


def mark_task(vault: Vault, task: TaskFound, status: str, progress: Progress) -> TaskFound:
    """Put another character into the box of a task, and return the task as it is then. Raises VaultError."""
    if len(status) != 1 or not status.isprintable() or status in "[]":
        raise VaultError(INVALID_ARGUMENTS, f"{status!r} cannot be a task's mark: give one character.")
    line = vault.read(task["path"], progress).text.split("\n")[task["line"] - 1]
    before, _, after = line.partition(f"[{task['status']}]")
    edit = Edit("replace", f"{before}[{status}]{after}", lines=str(task["line"]))
    vault.revising.edit(task["path"], [edit], "", None, progress, dry_run=False)
    return TaskFound(path=task["path"], line=task["line"], status=status, text=task["text"])


def tasks_in(vault: Vault, note: VaultPath | None, progress: Progress) -> list[TaskFound]:
    """Return the tasks of a note or of all, in path and line order."""
    found = vault.overview.tasks(TaskFilter(), note or "", "", progress).all(progress)
    ordered = sorted(found, key=lambda task: (sort_key(task.path), task.line))
    return [TaskFound(path=each.path, line=each.line, status=each.mark, text=each.text.strip()) for each in ordered]
