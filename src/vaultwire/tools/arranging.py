"""Tools that reorganise the vault: move, rename, merge, divide. Docstrings here are product text: a model reads them."""

from __future__ import annotations

from typing import Annotated

from vaultwire.markdown.merging import Where
from vaultwire.toolkit.argument_types import DryRun, IfMatch, Name, NoteName, OptionalName
from vaultwire.toolkit.phrases import counted
from vaultwire.toolkit.registry import Outcome, tool
from vaultwire.tools.changes import Changed, change_texts, to_changed
from vaultwire.vault.plans.extracting import Leave, Part
from vaultwire.vault.value_types import Progress
from vaultwire.vault.vault import Vault


class Moved(Changed):
    """What was moved."""

    path: Annotated[str, "Where it is now, of several their folder; of a dry run, where it would be"]
    moved_files: Annotated[int, "How many files got another path"]
    links: Annotated[int, "How many links were rewritten"]


class Relinked(Changed):
    """What was renamed, merged or divided."""

    path: Annotated[str, "The note"]
    links: Annotated[int, "How many links were rewritten"]


class Renamed(Changed):
    """What was renamed in all notes."""

    places: Annotated[int, "How many places were changed"]


@tool(title="Move note", destructive=True, time_class="search")
def move_note(vault: Vault, progress: Progress, /, path: Name, to: Name, dry_run: DryRun = False) -> Outcome[Moved]:
    """Move or rename a note, an attachment or a folder. Every link to it, in notes, properties, canvases and bases, is
    rewritten as Obsidian would, also where a bare name would become ambiguous. All of it happens or nothing.

    Args:
        path: What to move: a note named as for read_note, or the path of an attachment or folder ("Folder/").
        to: "New name" renames it in its folder, "Archive/" moves it there, "Archive/New name" does both, "/New name" is the
            vault's own folder. A folder moved to "Yard/" goes into Yard if that is there, else becomes it.
        dry_run: Only show what would be changed. Useful before moving a folder.
    """
    plan, done = vault.arranging.move(path, to, progress, dry_run=dry_run)
    data = Moved(**to_changed(done), path=plan.target, moved_files=plan.files, links=len(plan.links) + done.unread)
    more = f" with {counted(plan.files, 'file')}" if plan.files > 1 else ""
    what = f"moved {plan.source} to {plan.target}{more}, {counted(data['links'], 'link')} rewritten"
    return Outcome(change_texts(done, what, data), data)


@tool(title="Rename heading", destructive=True, time_class="search")
def rename_heading(
    vault: Vault,
    progress: Progress,
    /,
    path: NoteName,
    heading: Name,
    to: Name,
    if_match: IfMatch = None,
    dry_run: DryRun = False,
) -> Outcome[Relinked]:
    """Rename a heading, and every link in the vault that leads to it.

    Example: {"path": "Projects/Plan", "heading": "Tasks", "to": "Next steps"}.

    Args:
        heading: The heading, such as "Plan" or "Plan#Next steps"; or a block's id, such as "^a1".
        to: Its new text; of a block, its new id.
    """
    plan, done = vault.arranging.rename_heading(path, heading, to, if_match, progress, dry_run=dry_run)
    data = Relinked(**to_changed(done), path=plan.target, links=len(plan.links))
    what = f"renamed {heading} of {plan.target} to {to}, {counted(len(plan.links), 'link')} rewritten"
    return Outcome(change_texts(done, what, data), data)


@tool(title="Rename tag", destructive=True, time_class="search")
def rename_tag(vault: Vault, progress: Progress, /, old: Name, new: Name, dry_run: DryRun = False) -> Outcome[Renamed]:
    """Rename a tag in every note, in the text and in the properties, with the tags below it: "a/b" becomes "new/b".
    Bases, and links to headings that hold the tag, follow. Notes that the vault excludes from searches are renamed too;
    the result says how many.

    Renaming to a tag that is in use merges the two; the result says so.

    Args:
        old: The tag, in any case; "#" may be left out.
        new: Its new name.
    """
    plan, done = vault.arranging.rename_tag(old, new, progress, dry_run=dry_run)
    data = Renamed(**to_changed(done), places=plan.places + done.unread)
    what = f"renamed #{plan.old} to #{plan.new} in {counted(data['places'], 'place')}"
    what += f" and {counted(plan.bases, 'base')}" if plan.bases else ""
    return Outcome(change_texts(done, what, data), data)


@tool(title="Rename property", destructive=True, time_class="search")
def rename_property(
    vault: Vault, progress: Progress, /, old: Name, new: Name, dry_run: DryRun = False
) -> Outcome[Renamed]:
    """Rename a property in every note that has it, also in those the vault excludes from searches. Values, order and
    everything else stay as they are. Bases that name it follow.

    If a note has both, or its frontmatter is broken, nothing is renamed and the error names the notes.

    Args:
        old: The property, in any case.
        new: Its new name.
    """
    plan, done = vault.arranging.rename_property(old, new, progress, dry_run=dry_run)
    data = Renamed(**to_changed(done), places=len(plan.steps) - plan.bases + done.unread)
    what = f"renamed property {plan.old} to {plan.new} in {counted(data['places'], 'note')}"
    what += f" and {counted(plan.bases, 'base')}" if plan.bases else ""
    return Outcome(change_texts(done, what, data), data)


@tool(title="Merge notes", destructive=True, time_class="search")
def merge_notes(
    vault: Vault,
    progress: Progress,
    /,
    source: Name,
    target: Name,
    where: Where = "end",
    dry_run: DryRun = False,
) -> Outcome[Relinked]:
    """Make one note a part of another: its text is added there, its properties fill in those that are missing, every
    link to it then leads to the other note, and the source goes to the vault's .trash.

    Args:
        source: The note that becomes a part and goes, named as for read_note.
        target: The note that stays.
        where: At the "end" or the "start" of the target's text.
    """
    plan, done = vault.arranging.merge(source, target, where, progress, dry_run=dry_run)
    data = Relinked(**to_changed(done), path=plan.target, links=len(plan.links))
    what = f"merged {plan.source} into {plan.target}, {counted(len(plan.links), 'link')} rewritten"
    return Outcome(change_texts(done, what, data), data)


@tool(title="Extract section", destructive=True, time_class="search")
def extract_section(
    vault: Vault,
    progress: Progress,
    /,
    path: NoteName,
    to: Name,
    section: OptionalName = "",
    lines: OptionalName = "",
    leave: Leave = "link",
    if_match: IfMatch = None,
    dry_run: DryRun = False,
) -> Outcome[Relinked]:
    """Move a part of a note into a note of its own. Links to headings and blocks in it then lead to the new note.

    Example: {"path": "Projects/Plan", "to": "Projects/Ideas", "section": "Ideas"}.

    Args:
        to: The new note, named as for create_note; "./Name" for the same folder.
        section: A heading's section with the heading, such as "Plan"; or a block by its id, such as "^a1".
        lines: Or line numbers, such as "10-20".
        leave: What stays in its place: a "link" to the new note, an "embed" of it, or "nothing".
    """
    plan, done = vault.arranging.extract(path, Part(section, lines), to, leave, if_match, progress, dry_run=dry_run)
    data = Relinked(**to_changed(done), path=plan.target, links=len(plan.links))
    what = f"moved lines {plan.lines.first}-{plan.lines.last} of {plan.source} to {plan.target}"
    return Outcome(change_texts(done, f"{what}, {counted(len(plan.links), 'link')} rewritten", data), data)
