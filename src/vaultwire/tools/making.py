"""Tools that create notes and files. Docstrings here are product text: a model reads them."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, cast

from vaultwire.toolkit.argument_types import DryRun, IfMatch, Name, NoteName, OptionalName
from vaultwire.toolkit.registry import Bounds, Outcome, tool
from vaultwire.tools.changes import Changed, change_texts, to_changed
from vaultwire.tools.revising import Values, to_given
from vaultwire.vault.editing.making import Made
from vaultwire.vault.errors import INVALID_ARGUMENTS, NOTE_EXISTS, VaultError
from vaultwire.vault.plans.creating import NewNote
from vaultwire.vault.value_types import Progress
from vaultwire.vault.vault import Vault

# 5 MB as base64; the exact limit is on the bytes.
_MAX_BASE64 = 7_000_000


class MadeFile(Changed):
    """What was made."""

    path: Annotated[str, "Path in the vault"]
    created: Annotated[bool, "Whether the file is new"]
    link: Annotated[NotRequired[str], "Of an attachment: the link that shows it in a note"]


@tool(title="Create note")
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
    dry_run: DryRun = False,
) -> Outcome[MadeFile]:
    """Make a note, with a template if one is named.

    A name alone goes to the folder that the person has set in Obsidian for new notes; it counts as taken, too, if links use
    it for a note elsewhere. With a folder ("./Name" for the vault's own) a second note of that name is made and those links
    are rewritten to lead where they did.

    Args:
        path: "Folder/Name", or a name alone.
        content: Markdown text; with a template, it comes below the template's.
        properties: {"status": "open", "tags": ["a"]}
        template: Name of a note in the person's templates folder; {{title}}, {{date}} and {{time}} in it are filled in.
        beside: The note that this one belongs to, for people who keep new notes in the same folder as the current one.
        if_exists: "number": "Name 1".
    """
    text = vault.revising.with_properties(content, to_given(properties), progress) if properties else content
    new = NewNote(path, text, template, beside, "number" if if_exists == "number" else "error")
    try:
        made = vault.making.create(new, progress, dry_run=dry_run)
    except VaultError as error:
        taken = error.details.get("path")
        is_elsewhere = "candidates" in error.details
        if error.code != NOTE_EXISTS or if_exists in ("error", "number") or is_elsewhere or not isinstance(taken, str):
            raise
        if (properties and if_exists == "append") or template:
            message = f"{taken!r} exists. To add to it, give content alone; its properties are set with set_properties."
            raise VaultError(INVALID_ARGUMENTS, message, path=taken) from None
        made = vault.making.rewrite(taken, text, if_match, progress, appends=if_exists == "append", dry_run=dry_run)
        return _outcome(made, f"{'added to' if if_exists == 'append' else 'wrote'} {made.path}")
    return _outcome(made, f"created {made.path}")


@tool(title="Append to daily note")
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
        day: "today", "2026-03-31", "-1", "this week", "2026-W14", "2026-Q1" …
        section: Heading; made if missing.
    """
    made = vault.making.append_periodic(day, content, section, progress, dry_run=dry_run)
    return _outcome(made, f"{'made' if made.is_new else 'added to'} {made.path}")


@tool(title="Insert template")
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
    made = vault.making.insert_template(
        path, template, section, at_top=where == "top", if_match=if_match, progress=progress, dry_run=dry_run
    )
    return _outcome(made, f"put template {template} into {made.path}")


@tool(title="Add attachment")
def add_attachment(
    vault: Vault,
    progress: Progress,
    /,
    name: Name,
    data: Annotated[str, Bounds(1, _MAX_BASE64)],
    beside: OptionalName = "",
    dry_run: DryRun = False,
) -> Outcome[MadeFile]:
    """Save a picture, PDF, recording or video in the vault and return the link that shows it in a note.

    It goes where the person has set in Obsidian for attachments; a name that is taken gets a number. To show it, put the
    link into a note with edit_note.

    Args:
        name: File name with extension, such as "diagram.png"; or a path from the vault's root.
        data: The file's bytes as base64, at most 5 MB decoded.
        beside: The note it belongs to, named as for read_note: some people keep attachments next to their notes.
        dry_run: Only show where it would go.
    """
    made = vault.making.attach(name, data, beside, progress, dry_run=dry_run)
    return _outcome(made, f"saved {made.path}; the link to it is {made.link}")


def _outcome(made: Made, what: str) -> Outcome[MadeFile]:
    changed = to_changed(made.done)
    data = cast(
        "MadeFile", {**changed, "path": made.path, "created": made.is_new}
    )  # mypy wants optional fields spelt out
    if made.link:
        data["link"] = made.link
    return Outcome(change_texts(made.done, what, changed), data)
