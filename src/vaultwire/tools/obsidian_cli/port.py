"""The port of the ``obsidian_*`` tools: what they ask of Obsidian. The running app fills it, or our engine without the app.

Also the declaration of such tools, and what several of them share. ``app`` chooses the backend of a vault.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Annotated, Any, Concatenate, Literal, ParamSpec, Protocol, TypeAlias, TypedDict

from vaultwire.toolkit.phrases import counted
from vaultwire.toolkit.registry import AnyTool, Bounds, Outcome, tool
from vaultwire.vault.value_types import Placed, Progress, VaultPath
from vaultwire.vault.vault import Vault

P = ParamSpec("P")

Where: TypeAlias = Literal["append", "prepend"]
Kind: TypeAlias = Literal["text", "list", "number", "checkbox", "date", "datetime"]

FileName = Annotated[str, Bounds(0, 1000), "The note's name, as in a wikilink."]
FilePath = Annotated[str, Bounds(0, 1000), 'Or its exact path, such as "Folder/Note.md".']
Content = Annotated[str, Bounds(1, 10_000_000), "Markdown text."]


class Files(TypedDict):
    """Files, in path order."""

    files: Annotated[list[str], "Paths in the vault"]


class Obsidian(Protocol):
    """One vault, for one caller. Every method may raise VaultError."""

    def target(self, file: str, path: str, progress: Progress, /) -> VaultPath:
        """Return the note that a name or an exact path names."""

    def create(self, name: str, content: str, template: str, progress: Progress, /, *, overwrite: bool) -> Placed:
        """Make a note."""

    def read(self, path: VaultPath, progress: Progress, /) -> str:
        """Return a note's text."""

    def add(self, path: VaultPath, content: str, where: Where, progress: Progress, /) -> None:
        """Add lines to a note."""

    def move(self, path: VaultPath, to: str, progress: Progress, /) -> Placed:
        """Give a note another path."""

    def rename(self, path: VaultPath, name: str, progress: Progress, /) -> Placed:
        """Give a note another name."""

    def delete(self, path: VaultPath, progress: Progress, /, *, permanent: bool) -> None:
        """Put a note into the trash, or delete it permanently."""

    def open(self, path: VaultPath, progress: Progress, /, *, newtab: bool) -> None:
        """Show a note."""

    def daily(self, progress: Progress, /) -> tuple[VaultPath, bool]:
        """Return the path of today's note, and whether it is there."""

    def add_daily(self, content: str, where: Where, progress: Progress, /) -> Placed:
        """Add lines to today's note."""

    def search(
        self, query: str, folder: str, limit: int, progress: Progress, /, *, case: bool
    ) -> tuple[list[tuple[str, list[tuple[int, str]]]], int]:
        """Return notes that match with their lines, and how many match in all."""

    def tags(self, path: VaultPath | None, progress: Progress, /) -> list[str]:
        """Return the tags of a note, or those in use."""

    def tagged(self, tag: str, progress: Progress, /) -> list[str]:
        """Return the notes that have a tag."""

    def properties(self, path: VaultPath, progress: Progress, /) -> list[tuple[str, list[str]]]:
        """Return a note's properties."""

    def property_names(self, progress: Progress, /) -> list[tuple[str, int]]:
        """Return the properties in use, each with how many notes have it."""

    def set_property(self, path: VaultPath, name: str, value: str, kind: Kind, progress: Progress, /) -> None:
        """Set a property."""

    def remove_property(self, path: VaultPath, name: str, progress: Progress, /) -> None:
        """Remove a property."""

    def links(self, path: VaultPath, progress: Progress, /) -> list[tuple[str, bool]]:
        """Return where a note's links lead, and whether that is a file."""

    def backlinks(self, path: VaultPath, progress: Progress, /) -> list[tuple[str, int]]:
        """Return the notes that link to a note, and how often."""

    def outline(self, path: VaultPath, progress: Progress, /) -> list[tuple[int, str, int]]:
        """Return level, text and line of a note's headings."""

    def tasks(self, path: VaultPath | None, progress: Progress, /) -> list[tuple[str, int, str, str]]:
        """Return path, line, mark and text of tasks."""

    def set_task(self, path: VaultPath, line: int, mark: str, progress: Progress, /) -> str:
        """Put a mark into a task's box; return the task's text."""

    def templates(self, progress: Progress, /) -> list[str]:
        """Return the templates' names."""

    def template(self, name: str, progress: Progress, /) -> str:
        """Return a template's text."""

    def bookmarks(self, progress: Progress, /) -> list[tuple[str, str, str]]:
        """Return kind, title and target of the bookmarks."""

    def bases(self, progress: Progress, /) -> list[str]:
        """Return the base files."""

    def base_rows(self, path: str, view: str, progress: Progress, /) -> tuple[list[str], list[list[str]]]:
        """Return columns and rows of a base."""

    def base_views(self, path: str, progress: Progress, /) -> list[tuple[str, str]]:
        """Return name and type of a base's views."""

    def create_in_base(self, path: str, view: str, name: str, content: str, progress: Progress, /) -> Placed:
        """Make a note that a view of a base shows; return its path."""

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
"""Makes a declared tool of what returns the backend of a vault."""


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


def listed(thing: str, lines: list[str], total: int | None = None) -> str:
    """Return the lines below a headline that counts them; ``total`` if there are more than these."""
    count = len(lines) if total is None else total
    return "\n".join([counted(count, thing) + (":" if lines else "."), *lines])
