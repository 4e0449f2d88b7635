"""Tools that change an existing note. Docstrings here are product text: a model reads them."""

from __future__ import annotations

from typing import Annotated, NotRequired, TypedDict

from vaultwire.toolkit.argument_types import DryRun, IfMatch, Name, NoteName
from vaultwire.toolkit.phrases import counted
from vaultwire.toolkit.registry import Bounds, Outcome, tool
from vaultwire.tools.changes import ChangedNote, change_texts, to_changed_note
from vaultwire.vault.editing.revising import GivenProperty, Revised, ValueKind
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.plans.targeted_edits import Action, Edit
from vaultwire.vault.value_types import Progress
from vaultwire.vault.vault import Vault

Text = Annotated[str, Bounds(0, 10_000_000)]


class GivenEdit(TypedDict):
    """One edit. Name one place; append and prepend without one mean the note's text below its frontmatter."""

    action: Annotated[Action, "What to do there"]
    content: Annotated[NotRequired[Text], "New Markdown text, or a property's new value; not for delete"]
    section: Annotated[
        NotRequired[Name],
        'A heading\'s section, such as "Plan" or "Plan#Next steps", subsections included; or a block by its id, such as "^a1"',
    ]
    lines: Annotated[NotRequired[Name], 'Line numbers of the note as read, such as "10-20", "10-" or "10"']
    text: Annotated[NotRequired[Annotated[str, Bounds(1, 1_000_000)]], "Exactly this text, which must be there once"]
    property: Annotated[NotRequired[Name], "A property: replace sets it, append and prepend add to its list"]
    occurrence: Annotated[
        NotRequired[Annotated[int, Bounds(1, 100_000)]],
        "Which one, from 1, if several sections, blocks or texts match",
    ]
    every: Annotated[NotRequired[bool], "True: every place where the text is"]
    body: Annotated[NotRequired[bool], "True: all of the note below its frontmatter; replace and delete ask for it"]


class SetProperty(TypedDict):
    """A property to set. Give value or values; neither leaves it without a value."""

    name: Annotated[Name, "Its name"]
    value: Annotated[NotRequired[Text], "Its value as text: 2026-03-31, 5, true, some words, [[A note]]"]
    values: Annotated[NotRequired[list[Text]], "The items, if it is a list"]
    type: Annotated[
        NotRequired[ValueKind],
        'What a value is, if "auto" would take it wrongly: "text" for a text that looks like a number',
    ]


@tool(title="Edit note", destructive=True)
def edit_note(
    vault: Vault,
    progress: Progress,
    /,
    path: NoteName,
    edits: Annotated[list[GivenEdit] | None, Bounds(1, 200)] = None,
    diff: Annotated[str, Bounds(0, 1_000_000)] = "",
    if_match: IfMatch = None,
    dry_run: DryRun = False,
) -> Outcome[ChangedNote]:
    """Change parts of a note: sections, blocks, lines, exact text or properties. Every byte outside of them stays as it is.

    Actions: append and prepend add lines at the end or beginning of the place (right below the heading of a section),
    replace writes over it (a section keeps its heading), delete takes it away. Several edits are made together or not at
    all, and all name places in the note as it was read. A place that is not there, or is there several times, is an error
    that lists what there is.

    Examples: {"action": "append", "section": "Log", "content": "- called mum"} |
    {"action": "replace", "text": "teh", "content": "the"} | {"action": "delete", "lines": "3-4"}.

    Args:
        edits: What to change. Or give a diff.
        diff: A unified diff against the note as read, instead of edits.
    """
    revised = vault.revising.edit(
        path,
        [_to_edit(edit, number) for number, edit in enumerate(edits or [], 1)],
        diff,
        if_match,
        progress,
        dry_run=dry_run,
    )
    return _outcome(revised, f"edited {revised.path}")


@tool(title="Set properties", destructive=True)
def set_properties(
    vault: Vault,
    progress: Progress,
    /,
    path: NoteName,
    properties: Annotated[list[SetProperty], Bounds(1, 100)],
    if_match: IfMatch = None,
    dry_run: DryRun = False,
) -> Outcome[ChangedNote]:
    """Set properties (frontmatter) of a note. Order, quotes, comments and all other properties stay as they are.

    Values are checked against the types that the person gave the properties in Obsidian. Broken frontmatter is never
    written over: the error says which line to mend.

    Args:
        properties: What to set. One that is there gets the new value, others are added at the end.
    """
    given = [
        GivenProperty(each["name"], each.get("value"), each.get("values"), each.get("type", "auto"))
        for each in properties
    ]
    revised = vault.revising.set_properties(path, given, if_match, progress, dry_run=dry_run)
    return _outcome(revised, f"{counted(len(given), 'property')} of {revised.path} set")


@tool(title="Remove properties", destructive=True)
def remove_properties(
    vault: Vault,
    progress: Progress,
    /,
    path: NoteName,
    names: Annotated[list[Name], Bounds(1, 100)],
    if_match: IfMatch = None,
    dry_run: DryRun = False,
) -> Outcome[ChangedNote]:
    """Remove properties (frontmatter) from a note. Everything else stays as it is.

    Args:
        names: Names of the properties, in any case. One that the note does not have is passed over.
    """
    revised = vault.revising.remove_properties(path, names, if_match, progress, dry_run=dry_run)
    return _outcome(revised, f"removed {', '.join(names)} from {revised.path}")


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
