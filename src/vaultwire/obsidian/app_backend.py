"""The running app as a backend: requests go through the official command. Answers are as ``FilesBackend``'s.

The notes are found here: the app always gets an exact path, so that it neither uses the open note nor chooses one of
several. Our engine plans the new text of a note from the note's bytes. The app is told to write exactly that text, and the
file is checked afterwards.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

from vaultwire.markdown import edits
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.obsidian.app_vault import AppVault
from vaultwire.obsidian.backend_values import (
    MAX_LINES,
    Hit,
    Kind,
    TaskLine,
    Where,
    bookmarks_in,
    shown_line,
    sort_key,
    to_name,
    to_target,
    value_texts,
)
from vaultwire.obsidian.command_text import to_content, to_int, to_lines, to_objects, to_properties
from vaultwire.obsidian.files_backend import FilesBackend
from vaultwire.vault.changes.change import Write
from vaultwire.vault.disk.contents import Content
from vaultwire.vault.disk.paths import fold
from vaultwire.vault.editing.confirmation import confirmation_of_removal
from vaultwire.vault.editing.workbench import Done
from vaultwire.vault.errors import (
    FILE_NOT_FOUND,
    NOT_UTF8,
    OBSIDIAN_FAILED,
    WRITE_FAILED,
    VaultError,
)
from vaultwire.vault.plans.creating import NewNote
from vaultwire.vault.plans.targeted_edits import Edit
from vaultwire.vault.value_types import Placed, Progress, VaultPath
from vaultwire.vault.vault import Vault

# The start of a task's line, if its text comes with it.
_BOX = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+\[.\]\s?")
_UNRESOLVED = " (unresolved)"
_NUMBERED = re.compile(r"\s*(\d+)[\t :.)]+(.*)")


class AppBackend(FilesBackend):
    """One vault in the running app. What the command cannot express is done on the files, as in ``FilesBackend``."""

    def __init__(self, vault: Vault, app: AppVault) -> None:
        super().__init__(vault)
        self._app = app

    # ------------------------------------------------------------------ notes

    def create(self, name: str, content: str, template: str, progress: Progress, *, overwrite: bool) -> Placed:
        """Make a note as our engine plans it. The engine also fills in the template, so the app need not know it."""
        try:
            made = self.vault.making.create(
                NewNote(name, content, template), progress, dry_run=True, may_have_namesake=True
            )
        except VaultError as error:
            path = self.overwritten(error, template, overwrite=overwrite)
        else:
            after = next(step.after for step in made.done.steps if isinstance(step, Write) and step.path == made.path)
            if not self._write(made.path, None, after or b"", progress):
                return super().create(name, content, template, progress, overwrite=overwrite)
            return Placed(made.path, True, self._edited(made.done, made.path))
        if not self._edit(path, edits.rewrite, content, progress):
            return super().create(name, content, template, progress, overwrite=overwrite)
        return Placed(path, False, [])

    def read(self, path: VaultPath, progress: Progress) -> str:
        """Return a note's text from the app."""
        held = self.vault.read(path, progress).text
        # The app's answer has the byte order mark; the text for callers has not.
        return self._app.run(progress, "read", {"path": path}, text=held).removeprefix("\ufeff")

    def add(self, path: VaultPath, content: str, where: Where, progress: Progress) -> None:
        """Add lines, with the line ends of our engine."""
        if not self._edit(path, edits.append if where == "append" else edits.prepend, content, progress):
            super().add(path, content, where, progress)

    def move(self, path: VaultPath, to: str, progress: Progress) -> Placed:
        """Have the app move a note. It rewrites links if its settings say so."""
        plan, done = self.vault.arranging.move(path, to_target(to), progress, dry_run=True)
        folder = plan.target.rpartition("/")[0]
        if folder and not os.path.isdir(os.path.join(self.vault.root, folder)):
            return super().move(path, to, progress)  # the app makes no folders
        self._app.run(progress, "move", {"path": path, "to": plan.target})
        return self._arrived(path, plan.target, done, progress)

    def rename(self, path: VaultPath, name: str, progress: Progress) -> Placed:
        """Have the app rename a note. It rewrites links if its settings say so."""
        plan, done = self.vault.arranging.move(path, to_name(name), progress, dry_run=True)
        # With its extension: the app takes the text after a dot for one.
        self._app.run(progress, "rename", {"path": path, "name": plan.target.rpartition("/")[2]})
        return self._arrived(path, plan.target, done, progress)

    def delete(self, path: VaultPath, progress: Progress, *, permanent: bool) -> None:
        """Have the app delete a note; without ``permanent`` it goes to the app's trash."""
        try:
            self._may_edit(path, progress)
        except VaultError as error:
            if error.code != NOT_UTF8:  # a note that cannot be edited can be deleted
                raise
        if permanent:
            _, file = self.vault.read_file(path, 0)
            progress.confirm(confirmation_of_removal(self.vault.name, path, file.data))
        self._app.run(progress, "delete", {"path": path}, ["permanent"] if permanent else [])
        if os.path.lexists(os.path.join(self.vault.root, path)):
            raise VaultError(WRITE_FAILED, f"Obsidian said it had deleted {path!r}, but the note is still there.")

    def open(self, path: VaultPath, progress: Progress, *, newtab: bool) -> None:
        """Show a note in the app."""
        self._app.run(progress, "open", {"path": path}, ["newtab"] if newtab else [])

    # ------------------------------------------------------------------ today's note

    def daily(self, progress: Progress) -> tuple[VaultPath, bool]:
        """Return the app's path of today's note, and whether it exists."""
        path = self.vault.overview.periodic_note("today", progress, core=True).path
        said = self._app.run(progress, "daily:path").strip()
        if fold(said) != fold(path):
            raise VaultError(
                OBSIDIAN_FAILED,
                f"Obsidian has today's note at {said!r}, its settings in the vault say {path!r}. Nothing was changed.",
            )
        return path, os.path.isfile(os.path.join(self.vault.root, path))

    def add_daily(self, content: str, where: Where, progress: Progress) -> Placed:
        """Add lines to today's note; make it from its template if it does not exist."""
        path, exists = self.daily(progress)
        if exists:
            self.add(path, content, where, progress)
        elif not self._write(path, None, self.new_daily(content, where, progress).encode(), progress):
            return super().add_daily(content, where, progress)
        return Placed(path, not exists, [])

    # ------------------------------------------------------------------ what is in the vault

    def search(self, query: str, folder: str, limit: int, progress: Progress, *, case: bool) -> tuple[list[Hit], int]:
        """Return the results of the app's own search, in path order."""
        values = {"query": query, **({"path": folder.strip("/")} if folder.strip("/") else {})}
        found: list[Hit] = []
        for each in self._objects(progress, "search:context", values, *(["case"] if case else [])):
            matches = each.get("matches", [])
            # By number: the app repeats a line for each match on it.
            lines = {to_int(match.get("line")): str(match.get("text", "")) for match in matches}
            found.append((str(each.get("file", "")), [(at, shown_line(lines[at])) for at in sorted(lines)][:MAX_LINES]))
        found.sort(key=lambda hit: sort_key(hit[0]))
        return found[:limit], len(found)

    def tags(self, path: VaultPath | None, progress: Progress) -> list[str]:
        """Return the tags of a note, or of all notes, without ``#``."""
        found = self._objects(progress, "tags", _of(path))
        return sorted((str(each.get("tag", "")).removeprefix("#") for each in found), key=sort_key)

    def tagged(self, tag: str, progress: Progress) -> list[str]:
        """Return the notes with a tag or one below it."""
        wanted = fold(tag.lstrip("#"))
        # The app expects its own spelling of a tag.
        name = next((each for each in self.tags(None, progress) if fold(each) == wanted), tag.lstrip("#"))
        lines = self._lines(progress, "tag", {"name": name}, "verbose")
        return sorted((line for line in lines if not line.startswith("#")), key=sort_key)

    def properties(self, path: VaultPath, progress: Progress) -> list[tuple[str, list[str]]]:
        """Return a note's properties, each with its values as texts."""
        found = to_properties(self._app.run(progress, "properties", {"path": path, "format": "json"}))
        return [(name, value_texts(value)) for name, value in found.items() if name != "position"]

    def property_names(self, progress: Progress) -> list[tuple[str, int]]:
        """Return the names of all properties, each with the number of its notes."""
        found = self._objects(progress, "properties", {}, "counts")
        used = [(str(each.get("name", "")), to_int(each.get("count", 0))) for each in found]
        return sorted((each for each in used if each[1]), key=lambda each: sort_key(each[0]))

    def set_property(self, path: VaultPath, name: str, value: str, kind: Kind, progress: Progress) -> None:
        """Have the app set a property of a note."""
        self._may_edit(path, progress)
        self._app.run(progress, "property:set", {"path": path, "name": name, "value": value, "type": kind})

    def remove_property(self, path: VaultPath, name: str, progress: Progress) -> None:
        """Have the app remove a property of a note."""
        self._may_edit(path, progress)
        self._app.run(progress, "property:remove", {"path": path, "name": name})

    def links(self, path: VaultPath, progress: Progress) -> list[tuple[str, bool]]:
        """Return the targets of a note's links, as the app resolves them."""
        lines = self._lines(progress, "links", {"path": path})
        found = [(line.removesuffix(_UNRESOLVED), not line.endswith(_UNRESOLVED)) for line in lines]
        return sorted(found, key=lambda each: sort_key(each[0]))

    def backlinks(self, path: VaultPath, progress: Progress) -> list[tuple[str, int]]:
        """Return the other notes that link to a note, each with the number of its links."""
        found = self._objects(progress, "backlinks", {"path": path}, "counts")
        counts = {str(each.get("file", "")): to_int(each.get("count", 1)) for each in found}
        return [(each, counts[each]) for each in sorted(counts, key=sort_key) if each != path]

    def outline(self, path: VaultPath, progress: Progress) -> list[tuple[int, str, int]]:
        """Return a note's headings: level, text, line."""
        return [
            (to_int(each.get("level")), str(each.get("heading", "")), to_int(each.get("line")))
            for each in self._objects(progress, "outline", {"path": path})
        ]

    def tasks(self, path: VaultPath | None, progress: Progress) -> list[TaskLine]:
        """Return the tasks of a note or of all. The caller filters them: the app's own filters cannot be combined."""
        found = [
            (
                str(each.get("file", "")),
                to_int(each.get("line")),
                str(each.get("status", " ")) or " ",
                _BOX.sub("", str(each.get("text", "")), count=1).strip(),
            )
            for each in self._objects(progress, "tasks", _of(path))
        ]
        return sorted(found, key=lambda task: (sort_key(task[0]), task[1]))

    def set_task(self, path: VaultPath, line: int, mark: str, progress: Progress) -> str:
        """Have the app set a task's mark; return the task's text."""
        text, edit = super().mark_edit(path, line, mark, progress)
        planned = self.vault.revising.edit(path, [edit], "", None, progress, dry_run=True).done.steps
        for step in planned:  # one, or none if the task has this mark already
            self._app.run(progress, "task", {"path": path, "line": str(line), "status": mark})
            self._check_written(path, step.after if isinstance(step, Write) else None, progress)
        return text

    # ------------------------------------------------------------------ templates, bookmarks, bases

    def templates(self, progress: Progress) -> list[str]:
        """Return the templates' names, without their folder."""
        folder = self._template_folder()
        lines = self._lines(progress, "templates", {})
        return sorted((line.removeprefix(f"{folder}/").removesuffix(".md") for line in lines), key=sort_key)

    def template(self, name: str, progress: Progress) -> str:
        """Return a template's text, with its variables."""
        held = super().template(name, progress)  # raises if there is no template with this name
        return self._app.run(progress, "template:read", {"name": name}, text=held)

    def bookmarks(self, progress: Progress) -> list[tuple[str, str, str]]:
        """Return the bookmarks: kind, title, target."""
        return bookmarks_in(self._objects(progress, "bookmarks", {}, "verbose"))

    def bases(self, progress: Progress) -> list[str]:
        """Return the vault's base files."""
        return sorted(self._lines(progress, "bases", {}), key=sort_key)

    def base_rows(self, path: str, view: str, progress: Progress) -> tuple[list[str], list[list[str]]]:
        """Return the columns and rows of a base."""
        found = self._objects(
            progress, "base:query", {"path": self.base_path(path), **({"view": view} if view else {})}
        )
        columns = list(dict.fromkeys(name for row in found for name in row))
        return columns, [[", ".join(value_texts(row.get(name))) for name in columns] for row in found]

    # ------------------------------------------------------------------ history, and the app itself

    def history(self, path: VaultPath, progress: Progress) -> list[tuple[int, str]]:
        """Return a note's versions in the app's file recovery, the latest first."""
        found: list[tuple[int, str]] = []
        for line in self._lines(progress, "history", {"path": path}):
            numbered = _NUMBERED.fullmatch(line)
            if numbered is not None and int(numbered[1]) == len(found) + 1:
                found.append((int(numbered[1]), " ".join(numbered[2].split())))
        return found

    def version(self, path: VaultPath, number: int, progress: Progress) -> str:
        """Return the text of a version."""
        return self._app.run(progress, "history:read", {"path": path, "version": str(number)}, text="")

    def commands(self, prefix: str, progress: Progress) -> list[str]:
        """Return the ids of the app's commands."""
        return self._lines(progress, "commands", {"filter": prefix} if prefix else {})

    def workspace(self, progress: Progress) -> str:
        """Return the app's panes and tabs, as a tree."""
        return self._app.run(progress, "workspace")

    def evaluate(self, code: str, progress: Progress) -> str:
        """Run JavaScript in the app and return its value."""
        return self._app.run(progress, "eval", {"code": code}).removeprefix("=> ")

    def _objects(self, progress: Progress, command: str, values: dict[str, str], *flags: str) -> list[dict[str, Any]]:
        return to_objects(self._app.run(progress, command, {**values, "format": "json"}, flags))

    def _lines(self, progress: Progress, command: str, values: dict[str, str], *flags: str) -> list[str]:
        return to_lines(self._app.run(progress, command, values, flags))

    # ------------------------------------------------------------------ writing through the app

    def _edit(self, path: VaultPath, edit: Callable[[str, str], str], content: str, progress: Progress) -> bool:
        """Have the app edit an existing note; False, with nothing done, if the command cannot express the edit."""
        self._may_edit(path, progress)
        before = self._bytes(path)
        text = before.decode("utf-8")  # it is UTF-8: otherwise the edit would have been refused
        bom = "\ufeff" if text.startswith("\ufeff") else ""
        try:
            after = (bom + edit(text.removeprefix(bom), content)).encode("utf-8")
        except UnicodeEncodeError:
            return False  # the files backend then raises the error
        return after == before or self._write(path, before, after, progress)

    def _write(self, path: VaultPath, before: bytes | None, after: bytes, progress: Progress) -> bool:
        """Have the app write a note's bytes; False, with nothing done, if the command cannot express them.

        Raises VaultError (WRITE_FAILED) if the file has other bytes afterwards: the app may have cut them.
        """
        call = _write_call(None if before is None else before.decode("utf-8"), after.decode("utf-8"))
        if call is None:
            return False
        command, flags, content = call
        self._app.run(progress, command, {"path": path, **({"content": content} if content else {})}, flags)
        self._check_written(path, after, progress)
        return True

    def _check_written(self, path: VaultPath, after: bytes | None, progress: Progress) -> None:
        """Raise VaultError (WRITE_FAILED) if a note does not hold these bytes."""
        if self._bytes_there(path) != after:
            raise VaultError(
                WRITE_FAILED,
                f"Obsidian was asked to write {path!r}, and the note has another text now. Read it before you go on.",
                path=path,
            )
        self.vault.read(path, progress)  # the caller now knows its text

    def _may_edit(self, path: VaultPath, progress: Progress) -> None:
        """Raise VaultError if our engine would not let this caller edit the note."""
        self.vault.revising.edit(path, [Edit("append", "x", body=True)], "", None, progress, dry_run=True)

    def _arrived(self, source: VaultPath, target: VaultPath, done: Done, progress: Progress) -> Placed:
        there = os.path.isfile(os.path.join(self.vault.root, target))
        if not there or (fold(source) != fold(target) and os.path.lexists(os.path.join(self.vault.root, source))):
            raise VaultError(WRITE_FAILED, f"Obsidian was asked to move {source!r} to {target!r}, and it is not there.")
        self.vault.read(target, progress)
        return Placed(target, False, self._edited(done, target))

    def _edited(self, planned: Done, path: VaultPath) -> list[VaultPath]:
        """Return the other files that our engine would have edited and that the app has edited."""
        # Only compared: the bytes before the app's edits can be read nowhere any more.
        before = {step.path: step.old for step in planned.steps if isinstance(step, Write)}
        return [each for each in planned.other_edits(path) if not self._holds(each, before[each])]

    def _holds(self, path: VaultPath, content: Content | None) -> bool:
        try:
            return content is not None and content.is_same(self.vault.read_file(path, content.size)[1].data)
        except VaultError:  # longer, or gone: the request is done, so this is no error
            return False

    def _bytes(self, path: VaultPath) -> bytes:
        return self.vault.read_file(path, 0)[1].data

    def _bytes_there(self, path: VaultPath) -> bytes | None:
        try:
            return self._bytes(path)
        except VaultError as error:
            if error.code == FILE_NOT_FOUND:
                return None
            raise


def _write_call(before: str | None, after: str) -> tuple[str, list[str], str] | None:
    """Return the command, flags and content that change one text into another; None if no command surely does.

    For an addition only the new text is sent, so that it is added to the note's latest text. ``inline``: the content has
    its own line ends.
    """
    command, flags, new = "create", ([] if before is None else ["overwrite"]), after
    if before is not None and after.startswith(before):
        command, flags, new = "append", ["inline"], after[len(before) :]
    elif before and "\r" not in before:  # our parser counts plain lines, the app the file's own
        top = parse_frontmatter(before).end
        new_length = len(after) - len(before)
        if new_length > 0 and after == before[:top] + after[top : top + new_length] + before[top:]:
            command, flags, new = "prepend", ["inline"], after[top : top + new_length]
    if (command != "create" and not new) or "\ufeff" in new:
        return None
    content = to_content(new)
    return None if content is None else (command, flags, content)


def _of(path: VaultPath | None) -> dict[str, str]:
    return {} if path is None else {"path": path}
