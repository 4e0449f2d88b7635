"""Tools that change parts of notes. Docstrings here are product text: a model reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NotRequired, TypedDict, cast

from vaultwire.toolkit.phrases import counted
from vaultwire.toolkit.registry import AllowBroken, Bounds, DryRun, IfMatch, Name, NoteName, Open, Outcome, tool
from vaultwire.tools.changes import ChangedNote, change_texts, to_changed, to_changed_note
from vaultwire.vault.editing.revising import GivenProperty, Revised, ValueKind
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.plans.targeted_edits import Action, Edit
from vaultwire.vault.value_types import Progress
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
    rare=("diff", "allow_broken"),
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
        if_match,
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
    rare=("properties", "if_match"),
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
    if_match: IfMatch = None,
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
        if_match: Etag from read_notes. The note is changed only if it still is what was read.
    """
    if not (set or properties or remove) or (set and properties):
        raise VaultError(INVALID_ARGUMENTS, "set_properties: say what to set, or what to remove.", argument="set")
    if if_match and len(paths) > 1:
        raise VaultError(INVALID_ARGUMENTS, "if_match is the etag of one note: give one path.", argument="if_match")
    given = [
        GivenProperty(each["name"], each.get("values", each.get("value")), each.get("type", "auto"))  # type: ignore[arg-type]
        for each in properties or ()
    ]
    both = next((each["name"] for each in properties or () if "value" in each and "values" in each), None)
    if both is not None:
        raise VaultError(INVALID_ARGUMENTS, f"{both}: give value or values, not both.", property=both)
    given += to_given(set or {})
    revised = vault.revising.revise_properties(paths, given, remove or [], if_match, progress, dry_run=dry_run)
    where = revised[0].path if len(revised) == 1 else counted(len(revised), "note")
    what = [f"{counted(len(given), 'property')} of {where} set"] if given else []
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


def _to_edit(given: GivenEdit, number: int) -> Edit:
    if given["action"] != "delete" and "content" not in given:
        raise VaultError(
            INVALID_ARGUMENTS, f"edits[{number - 1}]: {given['action']} needs content.", argument="edits", edit=number
        )
    return Edit(
        given["action"],
        given.get("content"),
        section=given.get("section"),
        lines=given.get("lines"),
        text=given.get("text"),
        property=given.get("property"),
        body=given.get("body", False),
        occurrence=given.get("occurrence", 0),
        every=given.get("every", False),
    )


def _outcome(revised: Revised, what: str) -> Outcome[ChangedNote]:
    data = to_changed_note(revised.done, revised.path, revised.before)
    return Outcome(change_texts(revised.done, f"{what} (etag {data.get('etag')})", data), data)
