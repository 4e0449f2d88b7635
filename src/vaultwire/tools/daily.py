"""The tool on daily notes. Its docstring is product text: a model reads it."""

from __future__ import annotations

from typing import Annotated, NotRequired, TypedDict

from vaultwire.markdown.parsed_note import Span
from vaultwire.toolkit.phrases import text_blocks
from vaultwire.toolkit.registry import Bounds, Outcome, tool
from vaultwire.tools.reading import DEFAULT_CHARACTERS, MaxCharacters, Piece
from vaultwire.vault.links.sections import line_count
from vaultwire.vault.value_types import Progress
from vaultwire.vault.vault import Vault


class DailyNoteFound(TypedDict):
    """The note of a day."""

    day: Annotated[str, "The day, ISO 8601"]
    path: Annotated[str, "Where the day's note is, or would be"]
    exists: Annotated[bool, "Whether it is there"]
    content: Annotated[NotRequired[str], "Its text, frontmatter included; absent if it is not there"]
    etag: Annotated[
        NotRequired[str],
        "Fingerprint of this state of the note; pass as if_match when changing it. Absent if it is not there",
    ]
    previous: Annotated[NotRequired[str], "Path of the daily note before it; absent if there is none"]
    next: Annotated[NotRequired[str], "Path of the daily note after it; absent if there is none"]
    template: Annotated[NotRequired[str], "Path of the note that Obsidian makes a new daily note from"]


@tool(title="Daily note", time_class="search", read_only=True)
def daily_note(
    vault: Vault,
    progress: Progress,
    /,
    day: Annotated[str, Bounds(1, 100)] = "today",
    max_characters: MaxCharacters = DEFAULT_CHARACTERS,
) -> Outcome[DailyNoteFound]:
    """Read the note of a day, where Obsidian's own settings for daily notes say it is.

    It does not make the note: append_daily_note does. Returns the daily notes before and after it, too.

    Args:
        day: "today", "yesterday", "tomorrow", a date such as "2026-03-31", or days from today such as "-1" or "+7". Today
            is by the local time of the computer the vault is on.
    """
    found = vault.overview.daily_note(day, progress)
    data = DailyNoteFound(day=found.day.isoformat(), path=found.path, exists=found.exists)
    if found.previous is not None:
        data["previous"] = found.previous
    if found.following is not None:
        data["next"] = found.following
    if found.template is not None:
        data["template"] = found.template
    texts: list[str] = []
    if found.exists:
        note = vault.read(found.path, progress)
        piece = Piece.of(note, Span(1, line_count(note.text)), max_characters)
        data["content"] = piece.text
        data["etag"] = piece.etag
        texts = text_blocks(piece.text)
        lines = [f"Daily note of {data['day']}: {piece.facts}", *piece.notices]
    else:
        made = f" from {found.template}" if found.template is not None else ""
        lines = [
            f"There is no daily note of {data['day']} yet. append_daily_note makes {found.path!r}{made} to add to it."
        ]
    lines.append(f"Before it: {found.previous or 'none'}. After it: {found.following or 'none'}.")
    return Outcome([*texts, "\n".join(lines)], data)
