"""The files as a backend: our engine does on the vault's files what the official command does. It needs no app.

Answers are texts, numbers and tuples of them, in the order in which the tools show them. What only the app can do raises
OBSIDIAN_NOT_RUNNING. Changes are recorded in the journal like all others, so they can be undone.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Literal, NoReturn, TypeAlias

from vaultwire.bases.comparing import shown_text
from vaultwire.bases.values import MOST_KEPT_BYTES
from vaultwire.markdown import edits
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.obsidian.command import NOT_RUNNING
from vaultwire.vault.base_queries.running import BaseSource
from vaultwire.vault.changes.change import Change, Write
from vaultwire.vault.disk.contents import plain_text
from vaultwire.vault.disk.paths import (
    NOTE_SUFFIX,
    fold,
    is_note,
    parse_note_path,
    parse_path,
    parse_set_folder,
    says_folder,
)
from vaultwire.vault.editing.revising import GivenProperty, ValueKind
from vaultwire.vault.errors import (
    FILE_NOT_FOUND,
    INVALID_ARGUMENTS,
    NOTE_EXISTS,
    OBSIDIAN_NOT_RUNNING,
    TOO_LARGE,
    VaultError,
)
from vaultwire.vault.links.link_resolver import linkpath_of
from vaultwire.vault.plans.creating import NewNote
from vaultwire.vault.plans.targeted_edits import Edit
from vaultwire.vault.search.filters import TaskFilter
from vaultwire.vault.settings.obsidian_settings import CONFIG_FOLDER, CachedFile
from vaultwire.vault.value_types import Hit as SearchHit
from vaultwire.vault.value_types import Placed, Progress, VaultPath
from vaultwire.vault.vault import Vault

# ---------------------------------------------------------------------- values of requests and answers

Where: TypeAlias = Literal["append", "prepend"]
Kind: TypeAlias = Literal["text", "list", "number", "checkbox", "date", "datetime"]

Hit: TypeAlias = tuple[str, list[tuple[int, str]]]
"""A note that matches, and the first of its matching lines, with their numbers."""
TaskLine: TypeAlias = tuple[str, int, str, str]
"""Path, line, mark and text."""

MAX_LINES = 5
"""The most lines shown of a note, as in the engine's own search."""
_MAX_LINE_CHARACTERS = 200


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


def sort_key(text: str) -> tuple[str, str]:
    """Return the sort key of lists: the text without case, then as written."""
    return fold(text), text


def shown_line(text: str) -> str:
    """Return a line for an answer: without spaces around it, and cut if it is long."""
    text = text.strip()
    return text if len(text) <= _MAX_LINE_CHARACTERS else text[:_MAX_LINE_CHARACTERS] + "…"


def to_target(to: str) -> str:
    """Return a destination for the engine. As with the command, a text with a dot is a path, another one is a folder."""
    to = to.strip().strip("/")
    if "." not in to:
        return f"{to}/"
    return to if says_folder(to) else f"/{to}"


def to_name(name: str) -> str:
    """Return a note's new name for the engine: in the same folder, and with a note's extension."""
    name = name.strip()
    if "/" in name or "\\" in name:
        raise VaultError(
            INVALID_ARGUMENTS, f"{name!r} is not a name: it contains a slash. To move a note use obsidian_move_note."
        )
    return f"./{name if is_note(name) else name + NOTE_SUFFIX}"


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


def bookmarks_in(items: Any) -> list[tuple[str, str, str]]:
    """Return the bookmarks of Obsidian's list, also those in groups: kind, title, target."""
    found: list[tuple[str, str, str]] = []
    for item in items if isinstance(items, list) else ():
        if not isinstance(item, dict):
            continue
        if item.get("type") == "group":
            found += bookmarks_in(item.get("items"))
            continue
        target = _first_text(item.get(key) for key in ("path", "query", "url"))
        target += _first_text([item.get("subpath")])
        found.append((_first_text([item.get("type")]), _first_text([item.get("title")]) or target, target))
    return found


def _first_text(values: Iterable[Any]) -> str:
    return next((value for value in values if isinstance(value, str)), "")


# More notes and tasks than a vault has.
_MAX_SEARCHED = 1000
_MAX_VERSIONS = 50


class FilesBackend:
    """One vault without the app."""

    def __init__(self, vault: Vault, why: str = "") -> None:
        """``why`` is added to the error of a request that only the app can answer."""
        self.vault = vault
        self._why = why

    # ------------------------------------------------------------------ which note

    def target(self, file: str, path: str, progress: Progress) -> VaultPath:
        """Return the note with a name (as in a wikilink) or an exact path; exactly one of the two is given.

        Raises VaultError: INVALID_ARGUMENTS, FILE_NOT_FOUND, AMBIGUOUS_NAME with the candidates.
        """
        if bool(file.strip()) is bool(path.strip()):
            raise VaultError(
                INVALID_ARGUMENTS, "Give the note's name as file, or its exact path as path, and not both."
            )
        if file.strip():
            return self.vault.locate(file, progress)
        wanted = parse_note_path(path)
        found = self.vault.locate(path, progress)
        if fold(found) != fold(wanted):
            raise VaultError(
                FILE_NOT_FOUND,
                f"There is no note at {wanted!r}. One of that name is {found!r}.",
                path=path,
                near=[found],
            )
        return found

    # ------------------------------------------------------------------ notes

    def create(self, name: str, content: str, template: str, progress: Progress, *, overwrite: bool) -> Placed:
        """Make a note. As in the app, a note in another folder may have the same name."""
        try:
            made = self.vault.making.create(
                NewNote(name, content, template), progress, dry_run=False, may_have_namesake=True
            )
        except VaultError as error:
            path = _overwritten(error, template, overwrite=overwrite)
        else:
            return Placed(made.path, True, made.done.other_edits(made.path))
        self.vault.writing.write(path, content, "overwrite", None, progress)
        return Placed(path, False, [])

    def read(self, path: VaultPath, progress: Progress) -> str:
        """Return a note's text."""
        return self.vault.read(path, progress).text

    def add(self, path: VaultPath, content: str, where: Where, progress: Progress) -> None:
        """Add lines at a note's end, or below its frontmatter."""
        self.vault.writing.write(path, content, where, None, progress)

    def move(self, path: VaultPath, to: str, progress: Progress) -> Placed:
        """Give a note another path, or put it into a folder."""
        plan, done = self.vault.arranging.move(path, to_target(to), progress, dry_run=False)
        return Placed(plan.target, False, done.other_edits(plan.target))

    def rename(self, path: VaultPath, name: str, progress: Progress) -> Placed:
        """Give a note another name in its folder."""
        plan, done = self.vault.arranging.move(path, to_name(name), progress, dry_run=False)
        return Placed(plan.target, False, done.other_edits(plan.target))

    def delete(self, path: VaultPath, progress: Progress, *, permanent: bool) -> None:
        """Move a note to the trash, or delete it permanently."""
        self.vault.writing.delete(path, permanent=permanent, progress=progress)

    # ------------------------------------------------------------------ today's note

    def daily(self, progress: Progress) -> tuple[VaultPath, bool]:
        """Return the path of today's note, and whether it exists."""
        found = self.vault.overview.periodic_note("today", progress)
        return found.path, found.exists

    def add_daily(self, content: str, where: Where, progress: Progress) -> Placed:
        """Add lines to today's note; make the note if it does not exist."""
        path, exists = self.daily(progress)
        if exists:
            self.add(path, content, where, progress)
            return Placed(path, False, [])
        text = self._new_daily(content, where, progress)
        made = self.vault.making.create(NewNote(f"./{path}", text), progress, dry_run=False)
        return Placed(path, True, made.done.other_edits(path))

    def _new_daily(self, content: str, where: Where, progress: Progress) -> str:
        """Return the text of a new note of today: its template with the content added."""
        made = self.vault.making.append_periodic("today", "", "", progress, dry_run=True, may_have_namesake=True)
        text = "".join(
            plain_text(step.after)
            for step in made.done.steps
            if isinstance(step, Write) and step.path == made.path and step.after
        )
        return edits.append(text, content) if where == "append" else edits.prepend(text, content)

    # ------------------------------------------------------------------ what is in the vault

    def search(self, query: str, folder: str, limit: int, progress: Progress, *, case: bool) -> tuple[list[Hit], int]:
        """Return the matching notes in path order, and how many match in all."""
        full_query = f"match-case:({query})" if case else query
        found = self.vault.search(full_query, folder, 0, _MAX_SEARCHED, progress, exact_total=True)
        hits = sorted(found.hits, key=lambda hit: sort_key(hit.path))[:limit]
        return [(hit.path, self._whole_lines(hit, progress)) for hit in hits], found.total

    def _whole_lines(self, hit: SearchHit, progress: Progress) -> list[tuple[int, str]]:
        """Return whole lines of a hit: the engine cuts long lines around the match, the app does not.

        Of a canvas, return the text of cards: its lines are JSON.
        """
        if not is_note(hit.path):
            return [(number, shown_line(text)) for number, text in hit.lines]
        lines = self.vault.read(hit.path, progress).text.split("\n") if hit.lines else []
        return [(number, shown_line(lines[number - 1])) for number, _ in hit.lines if number <= len(lines)]

    def tags(self, path: VaultPath | None, progress: Progress) -> list[str]:
        """Return the tags of a note, or of all notes, without ``#``."""
        if path is not None:
            return sorted(self.vault.structure(path, progress).parsed.tags, key=sort_key)
        return sorted((each.tag for each in self.vault.overview.count_tags("", progress)), key=sort_key)

    def tagged(self, tag: str, progress: Progress) -> list[str]:
        """Return the notes with a tag or one below it. Raises VaultError (FILE_NOT_FOUND) if there are none."""
        found = self.vault.overview.tagged([tag], every=True, folder="", progress=progress).all(progress)
        if not found:
            raise VaultError(FILE_NOT_FOUND, f"No note has the tag {'#' + tag.lstrip('#')!r}.")
        return sorted((each.path for each in found), key=sort_key)

    def properties(self, path: VaultPath, progress: Progress) -> list[tuple[str, list[str]]]:
        """Return a note's properties, each with its values as texts."""
        values = parse_frontmatter(self.vault.read(path, progress).text).values
        return [(name, value_texts(value)) for name, value in values.items()]

    def property_names(self, progress: Progress) -> list[tuple[str, int]]:
        """Return the names of all properties, each with the number of its notes."""
        used = [(each.name, each.notes) for each in self.vault.overview.properties("", "", progress)]
        return sorted(used, key=lambda each: sort_key(each[0]))

    def set_property(self, path: VaultPath, name: str, value: str, kind: Kind, progress: Progress) -> None:
        """Set a property of a note."""
        given = [to_property(name, value, kind)]
        self.vault.revising.revise_properties([path], given, [], None, progress, dry_run=False)

    def remove_property(self, path: VaultPath, name: str, progress: Progress) -> None:
        """Remove a property of a note, if the note has it."""
        if any(fold(held) == fold(name) for held, _ in self.properties(path, progress)):
            self.vault.revising.revise_properties([path], [], [name], None, progress, dry_run=False)

    def links(self, path: VaultPath, progress: Progress) -> list[tuple[str, bool]]:
        """Return the targets of a note's links, each once: a path and True, or an unresolved name and False."""
        _, links = self.vault.links(path, progress)
        found = {
            (link.target, True) if link.target is not None else (linkpath_of(link.linktext).strip(), False)
            for link in links
        }
        return sorted(found, key=lambda each: sort_key(each[0]))

    def backlinks(self, path: VaultPath, progress: Progress) -> list[tuple[str, int]]:
        """Return the other notes that link to a note, each with the number of its links."""
        sources = Counter(source for source, _ in self.vault.incoming(path, progress)[1])
        return sorted(sources.items(), key=lambda each: sort_key(each[0]))

    def outline(self, path: VaultPath, progress: Progress) -> list[tuple[int, str, int]]:
        """Return a note's headings: level, text, line."""
        return [(each.level, each.text, each.line) for each in self.vault.structure(path, progress).outline]

    def tasks(self, path: VaultPath | None, progress: Progress) -> list[TaskLine]:
        """Return the tasks of a note or of all, in path and line order."""
        found = self.vault.overview.tasks(TaskFilter(), path or "", "", progress).all(progress)
        return sorted(
            ((each.path, each.line, each.mark, each.text.strip()) for each in found),
            key=lambda task: (sort_key(task[0]), task[1]),
        )

    def set_task(self, path: VaultPath, line: int, mark: str, progress: Progress) -> str:
        """Set a task's mark; return the task's text. Raises VaultError (INVALID_ARGUMENTS) if the line has no task."""
        lines = self.vault.read(path, progress).text.split("\n")
        task = next((task for task in self.tasks(path, progress) if task[1] == line), None)
        if task is None:
            raise VaultError(
                INVALID_ARGUMENTS, f"There is no task on line {line} of {path!r}; obsidian_tasks lists them."
            )
        if len(mark) != 1 or not mark.isprintable() or mark in "[]":
            raise VaultError(INVALID_ARGUMENTS, f"{mark!r} cannot be a task's mark: give one character.")
        before, _, after = lines[line - 1].partition(f"[{task[2]}]")
        edit = Edit("replace", f"{before}[{mark}]{after}", lines=str(line))
        self.vault.revising.edit(path, [edit], "", None, progress, dry_run=False)
        return task[3]

    # ------------------------------------------------------------------ templates, bookmarks, bases

    def templates(self, progress: Progress) -> list[str]:
        """Return the templates' names. Raises VaultError (FILE_NOT_FOUND) if the settings name no folder for them."""
        folder = self._template_folder()
        notes = self.vault.overview.list_notes(folder, progress).all(progress)
        return sorted((each.path[len(folder) + 1 : -len(NOTE_SUFFIX)] for each in notes), key=sort_key)

    def template(self, name: str, progress: Progress) -> str:
        """Return a template's text, with its variables."""
        names = {fold(each): each for each in self.templates(progress)}
        wanted = fold(name.strip().removesuffix(NOTE_SUFFIX))
        if wanted not in names:
            known = ", ".join(names.values()) or "none"
            raise VaultError(FILE_NOT_FOUND, f"There is no template {name!r} (templates: {known}).", name=name)
        return self.read(VaultPath(f"{self._template_folder()}/{names[wanted]}{NOTE_SUFFIX}"), progress)

    def _template_folder(self) -> str:
        folder = parse_set_folder(self.vault.settings.template_folder, "Template folder location")
        if folder is None:
            raise VaultError(FILE_NOT_FOUND, "No template folder is set in Obsidian (Settings, Templates).")
        return folder

    def bookmarks(self, progress: Progress) -> list[tuple[str, str, str]]:
        """Return the bookmarks, also those in groups: kind, title, target."""
        text = CachedFile(f"{self.vault.root}/{CONFIG_FOLDER}/bookmarks.json").content().text
        try:
            value = json.loads(text) if text else {}
        except (ValueError, RecursionError):
            value = {}
        found = bookmarks_in(value.get("items")) if isinstance(value, dict) else []
        if not self.vault.hides_some:
            return found
        visible = set(map(str, self.vault.overview.paths(progress)))  # other bookmarks could name hidden notes
        return [each for each in found if each[0] == "file" and each[2].partition("#")[0] in visible]

    def bases(self, progress: Progress) -> list[str]:
        """Return the vault's base files."""
        return sorted(
            (path for path in self.vault.overview.paths(progress) if path.lower().endswith(".base")), key=sort_key
        )

    def _base_path(self, path: str) -> VaultPath:
        """Return the path of a base file. Raises VaultError as ``Vault.read_file`` does, INVALID_ARGUMENTS for others."""
        wanted = parse_path(path)
        if not wanted.lower().endswith(".base"):
            raise VaultError(INVALID_ARGUMENTS, f"{path!r} is not a base: its name must end in '.base'.", path=path)
        found, _ = self.vault.read_file(wanted, 10_000_000)
        return found

    def base_rows(self, path: str, view: str, progress: Progress) -> tuple[list[str], list[list[str]]]:
        """Return the columns and rows of a base's view, the path first. Raises VaultError as ``base_path``, ``Bases.query``."""
        found = self.vault.bases.query(BaseSource(self._base_path(path)), view, progress=progress)
        if not found.rows and found.problems:
            raise VaultError(INVALID_ARGUMENTS, found.problems[0], path=path)
        shown = found.rows.page(range(len(found.rows)), MOST_KEPT_BYTES, progress)
        if len(shown) < len(found.rows):
            raise VaultError(
                TOO_LARGE, f"The rows of {path!r} need more than {MOST_KEPT_BYTES // 1_000_000} MB.", path=path
            )
        rows = [[row.path, *map(shown_text, row.cells)] for row in shown]
        return ["path", *(column.name for column in found.columns)], rows

    def base_views(self, path: str, progress: Progress) -> list[tuple[str, str]]:
        """Return name and type of a base's views. Raises VaultError as ``base_path`` does."""
        views = self.vault.bases.views(BaseSource(self._base_path(path)), progress)
        return [(view.name, view.type) for view in views]

    def create_in_base(self, path: str, view: str, name: str, content: str, progress: Progress) -> Placed:
        """Make a note that a view of a base shows; a name that is taken gets a number. The app's own files are not asked."""
        wanted = self.vault.bases.new_note(BaseSource(self._base_path(path)), view, progress)
        given = [GivenProperty(each, value, "text") for each, value in wanted.properties.items()]
        text = self.vault.revising.with_properties(content, given, progress) if given else content
        place = name if "/" in name or wanted.folder is None else f"{wanted.folder}/{name}"
        made = self.vault.making.create(NewNote(place, text, "", "", "number"), progress, dry_run=False)
        return Placed(made.path, True, made.done.other_edits(made.path))

    # ------------------------------------------------------------------ history

    def history(self, path: VaultPath, _: Progress) -> list[tuple[int, str]]:
        """Return a note's earlier versions, the latest first: a number from 1, and the time and tool of the change."""
        return [(number, _label(change)) for number, (change, _) in enumerate(self._versions(path), 1)]

    def version(self, path: VaultPath, number: int, _: Progress) -> str:
        """Return the text of a note's earlier version. Raises VaultError (FILE_NOT_FOUND)."""
        versions = self._versions(path)
        if number > len(versions):
            raise VaultError(FILE_NOT_FOUND, f"{path!r} has {len(versions)} recorded earlier versions.", path=path)
        return plain_text(versions[number - 1][1])

    def _versions(self, path: VaultPath) -> list[tuple[Change, bytes]]:
        return [
            (change, step.before)
            for change in self.vault.history.latest(path, _MAX_VERSIONS, None)
            for step in self.vault.history.show(change.id).steps
            if isinstance(step, Write) and step.path == path and step.before is not None
        ]

    # ------------------------------------------------------------------ what only the app can do

    def open(self, path: VaultPath, _: Progress, *, newtab: bool) -> None:  # noqa: ARG002 - for the app
        """Show a note in the app."""
        self._refuse()

    def commands(self, prefix: str, _: Progress) -> list[str]:  # noqa: ARG002
        """Return the ids of the app's commands."""
        self._refuse()

    def workspace(self, _: Progress) -> str:
        """Return the app's panes and tabs, as a tree."""
        self._refuse()

    def evaluate(self, code: str, _: Progress) -> str:  # noqa: ARG002
        """Run JavaScript in the app and return its value."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise VaultError(OBSIDIAN_NOT_RUNNING, NOT_RUNNING + self._why)


def _overwritten(error: VaultError, template: str, *, overwrite: bool) -> VaultPath:
    """Return the existing note at the new note's path if it may be overwritten; else raise the error."""
    if error.code != NOTE_EXISTS or not overwrite:
        raise error
    if template:
        raise VaultError(
            INVALID_ARGUMENTS, f"{error.details['path']!r} exists already; a template is only for new notes."
        )
    return VaultPath(error.details["path"])


def _label(change: Change) -> str:
    """Return the time of a change, in UTC, and its tool."""
    when = datetime.fromtimestamp(change.time_ns // 1_000_000_000, UTC)
    return f"{when:%Y-%m-%d %H:%M:%S}Z {change.author.tool}".strip()
