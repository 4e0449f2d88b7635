"""Tools that move, rename, merge and divide. Docstrings here are product text: a model reads them."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, cast

from vaultwire.markdown.merging import Where
from vaultwire.toolkit.phrases import counted
from vaultwire.toolkit.registry import Bounds, DryRun, IfMatch, Name, NoteName, OptionalName, Outcome, tool
from vaultwire.tools.changes import Changed, change_texts, to_changed
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.plans.composing import Leave, Part
from vaultwire.vault.value_types import Progress
from vaultwire.vault.vault import Vault


class Moved(Changed):
    """What was moved."""

    path: Annotated[str, "Where it is now, of several their folder; of a dry run, where it would be"]
    moved_files: Annotated[int, "How many files got another path"]
    links: Annotated[int, "How many links were rewritten"]


class Renamed(Changed):
    """What was renamed."""

    path: Annotated[NotRequired[str], "Of a heading or block: the note"]
    links: Annotated[NotRequired[int], "Of a heading or block: how many links were rewritten"]
    places: Annotated[NotRequired[int], "Of a tag or property: how many places were changed"]


@tool(
    title="Move or rename notes",
    category="organize",
    listed="standard",
    destructive=True,
    time_class="search",
    plain=("paths",),
)
def move_notes(
    vault: Vault,
    progress: Progress,
    /,
    paths: Annotated[list[Name], Bounds(1, 1000)],
    to: Name,
    dry_run: DryRun = False,
) -> Outcome[Moved]:
    """Move or rename a note, attachment or folder, or move several to a folder; links follow.

    All of it happens or nothing, as one change. A folder moved to "Yard/" goes into Yard if that is there;
    else it becomes Yard.

    Args:
        paths: What to move.
        to: "New name" renames in place, "Archive/" moves, "Archive/New name" both, "/New name" is the top.
    """
    if len(paths) == 1:
        plan, done = vault.arranging.move(paths[0], to, progress, dry_run=dry_run)
        path: str = plan.target
        more = f" with {counted(plan.files, 'file')}" if plan.files > 1 else ""
        what = f"moved {plan.source} to {path}{more}"
    else:
        plan, done = vault.arranging.move_all(paths, to, progress, dry_run=dry_run)
        path = plan.target.rpartition("/")[0]
        what = f"moved {counted(plan.files, 'file')} to {path or 'the top'}"
    data = Moved(**to_changed(done), path=path, moved_files=plan.files, links=len(plan.links) + done.unread)
    return Outcome(change_texts(done, f"{what}, {counted(data['links'], 'link')} rewritten", data), data)


@tool(
    title="Rename",
    category="tags and properties",
    listed="standard",
    destructive=True,
    time_class="search",
    rare=("if_match",),
    plain=("what", "old", "new"),
)
def rename(
    vault: Vault,
    progress: Progress,
    /,
    what: Literal["tag", "property", "heading", "block"],
    old: Name,
    new: Name,
    path: OptionalName = "",
    if_match: IfMatch = None,
    dry_run: DryRun = False,
) -> Outcome[Renamed]:
    """Rename a tag or property in all notes, or a heading or block id and the links to it.

    Tags below a tag are renamed with it. To rename a note use move_notes. Renaming to a tag in use merges the two.

    Args:
        what: What to rename.
        old: Its name now.
        new: Its new name.
        path: The note of a heading or block.
    """
    in_note = what in ("heading", "block")
    if bool(path) is not in_note or (if_match and not in_note):
        raise VaultError(
            INVALID_ARGUMENTS,
            f"rename: {what!r} {'needs path, the note' if in_note else 'is renamed in all notes, so it takes no path'}.",
            argument="path",
        )
    if in_note:
        mark = "^" if what == "block" and not old.startswith("^") else ""
        heading = mark + old
        plan, done = vault.arranging.rename_heading(path, heading, new, if_match, progress, dry_run=dry_run)
        changed = cast("Renamed", {**to_changed(done), "path": plan.target, "links": len(plan.links)})
        text = f"renamed {heading} of {plan.target} to {new}, {counted(len(plan.links), 'link')} rewritten"
        return Outcome(change_texts(done, text, changed), changed)
    if what == "tag":
        tag, done = vault.arranging.rename_tag(old, new, progress, dry_run=dry_run)
        places, bases = tag.places + done.unread, tag.bases
        text = f"renamed #{tag.old} to #{tag.new} in {counted(places, 'place')}"
    else:
        named, done = vault.arranging.rename_property(old, new, progress, dry_run=dry_run)
        places, bases = len(named.steps) - named.bases + done.unread, named.bases
        text = f"renamed property {named.old} to {named.new} in {counted(places, 'note')}"
    data = cast("Renamed", {**to_changed(done), "places": places})  # mypy wants optional fields spelt out
    text += f" and {counted(bases, 'base')}" if bases else ""
    return Outcome(change_texts(done, text, data), data)


# ---------------------------------------------------------------------- merging and dividing


class Relinked(Changed):
    """What was merged or divided."""

    path: Annotated[str, "The note"]
    links: Annotated[int, "How many links were rewritten"]


@tool(title="Merge notes", category="organize", destructive=True, time_class="search")
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
        source: The note that becomes a part and goes, named as for read_notes.
        target: The note that stays.
        where: At the "end" or the "start" of the target's text.
    """
    plan, done = vault.arranging.merge(source, target, where, progress, dry_run=dry_run)
    data = Relinked(**to_changed(done), path=plan.target, links=len(plan.links))
    what = f"merged {plan.source} into {plan.target}, {counted(len(plan.links), 'link')} rewritten"
    return Outcome(change_texts(done, what, data), data)


@tool(title="Extract section", category="organize", destructive=True, time_class="search")
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
