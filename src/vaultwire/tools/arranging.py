"""Tools that merge notes and divide them. Docstrings here are product text: a model reads them."""

from __future__ import annotations

from typing import Annotated

from vaultwire.markdown.merging import Where
from vaultwire.toolkit.phrases import counted
from vaultwire.toolkit.registry import DryRun, IfMatch, Name, NoteName, OptionalName, Outcome, tool
from vaultwire.tools.changes import Changed, change_texts, to_changed
from vaultwire.vault.plans.extracting import Leave, Part
from vaultwire.vault.value_types import Progress
from vaultwire.vault.vault import Vault


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
    data = Relinked(**to_changed(done), path=plan.new_path, links=len(plan.links))
    what = f"moved lines {plan.lines.first}-{plan.lines.last} of {plan.path} to {plan.new_path}"
    return Outcome(change_texts(done, f"{what}, {counted(len(plan.links), 'link')} rewritten", data), data)
