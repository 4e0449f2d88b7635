"""The tool that finds related notes. Its docstring is product text: a model reads it."""

from __future__ import annotations

from typing import Annotated, NotRequired, TypedDict

from vaultwire.toolkit.argument_types import NoteName
from vaultwire.toolkit.phrases import counted
from vaultwire.toolkit.registry import Bounds, Outcome, tool
from vaultwire.vault.insights.related import Related
from vaultwire.vault.value_types import Progress
from vaultwire.vault.vault import Vault

MAX_RELATED = 20
"""More notes than these have little in common with a note."""

USUAL_RELATED = 8
"""So many are shown if nobody says how many."""

_LINKS = {"out": "the note links to it", "in": "it links to the note", "both": "they link to each other"}


class RelatedNote(TypedDict):
    """A related note, and why."""

    path: Annotated[str, "Path in the vault"]
    score: Annotated[int, "How much the two have in common; for comparing"]
    words: Annotated[NotRequired[list[str]], "Rare words that both have, the rarest first"]
    tags: Annotated[NotRequired[list[str]], "Rare tags that both have"]
    both_link_to: Annotated[NotRequired[list[str]], "Files that both link to"]
    linked_by: Annotated[NotRequired[list[str]], "Notes that link to both"]
    link: Annotated[NotRequired[str], 'A link between the two: "out" from the note asked about, "in" to it, or "both"']


class RelatedNotes(TypedDict):
    """Related notes, the most related first."""

    path: Annotated[str, "The note"]
    notes: list[RelatedNote]


@tool(title="Related notes", time_class="search", read_only=True)
def related_notes(
    vault: Vault,
    progress: Progress,
    /,
    path: NoteName,
    limit: Annotated[int, Bounds(1, MAX_RELATED), "How many notes to return."] = USUAL_RELATED,
) -> Outcome[RelatedNotes]:
    """Find notes related or similar to a note, and say why: rare words that both have, tags, links between them, files both
    link to, notes that link to both.

    Words, tags and files that many notes share count little. Languages written without spaces are compared by tags and links
    only.
    """
    found, related = vault.overview.related(path, limit, progress)
    lines = [f"{counted(len(related), 'note')} related to {found}{':' if related else '.'}"]
    lines += [f"{each.path}: {'; '.join(_reasons(each))}" for each in related]
    return Outcome(["\n".join(lines)], RelatedNotes(path=found, notes=[_to_related(each) for each in related]))


def _reasons(related: Related) -> list[str]:
    reasons = [_LINKS[related.link]] if related.link else []
    both = [*(f"#{tag}" for tag in related.tags), *related.words]
    reasons += ["both have " + ", ".join(both)] if both else []
    reasons += ["both link to " + ", ".join(related.both_link_to)] if related.both_link_to else []
    reasons += ["linked together in " + ", ".join(related.linked_by)] if related.linked_by else []
    return reasons


def _to_related(related: Related) -> RelatedNote:
    note = RelatedNote(path=related.path, score=round(related.score))
    if related.words:
        note["words"] = related.words
    if related.tags:
        note["tags"] = related.tags
    if related.both_link_to:
        note["both_link_to"] = [*related.both_link_to]
    if related.linked_by:
        note["linked_by"] = [*related.linked_by]
    if related.link:
        note["link"] = related.link
    return note
