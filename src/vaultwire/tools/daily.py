"""The tool on daily, weekly … notes. Its docstring is product text: a model reads it."""

from __future__ import annotations

from typing import Annotated, NotRequired, TypedDict

from vaultwire.markdown.parsed_note import Span
from vaultwire.toolkit.phrases import text_blocks
from vaultwire.toolkit.registry import Bounds, Outcome, tool
from vaultwire.tools.reading import DEFAULT_TOKENS, MaxTokens, Piece
from vaultwire.vault.days import named
from vaultwire.vault.links.sections import line_count
from vaultwire.vault.settings.obsidian_settings import ADJECTIVES
from vaultwire.vault.value_types import Progress
from vaultwire.vault.vault import Vault


class DailyNoteFound(TypedDict):
    """The note of a day, week, month, quarter or year."""

    day: Annotated[str, "The day, ISO 8601; of a longer period its first day"]
    period: Annotated[str, "day, week, month, quarter or year"]
    path: Annotated[str, "Where the note is, or would be"]
    exists: Annotated[bool, "Whether it is there"]
    content: Annotated[NotRequired[str], "Its text, frontmatter included; absent if it is not there"]
    etag: Annotated[
        NotRequired[str],
        "Fingerprint of this state of the note; pass as if_match when changing it. Absent if it is not there",
    ]
    previous: Annotated[NotRequired[str], "Path of the note before it, of the same period; absent if there is none"]
    next: Annotated[NotRequired[str], "Path of the one after it; absent if there is none"]
    template: Annotated[NotRequired[str], "Path of the note that a new one is made from"]


@tool(title="Daily note", time_class="search", read_only=True)
def daily_note(
    vault: Vault,
    progress: Progress,
    /,
    day: Annotated[str, Bounds(1, 100)] = "today",
    max_tokens: MaxTokens = DEFAULT_TOKENS,
) -> Outcome[DailyNoteFound]:
    """Read the note of a day, week, month, quarter or year, where the person's settings in Obsidian say.

    It does not make the note: append_daily_note does. Returns the notes before and after it, too.

    Args:
        day: "today", "yesterday", "2026-03-31", days from today ("-1", "+7"); or "this week", "last month", "2026-W14",
            "2026-03", "2026-Q1", "2026". Today is by the local time of the computer the vault is on.
    """
    found = vault.overview.periodic_note(day, progress)
    data = DailyNoteFound(day=found.first.isoformat(), period=found.period, path=found.path, exists=found.exists)
    if found.previous is not None:
        data["previous"] = found.previous
    if found.following is not None:
        data["next"] = found.following
    if found.template is not None:
        data["template"] = found.template
    adjective = ADJECTIVES[found.period]
    what = f"note of {named(found.period, found.first)}"
    texts: list[str] = []
    if found.exists:
        note = vault.read(found.path, progress)
        piece = Piece.of(note, Span(1, line_count(note.text)), max_tokens)
        data["content"] = piece.text
        data["etag"] = piece.etag
        texts = text_blocks(piece.text)
        lines = [f"{adjective.capitalize()} {what}: {piece.facts}", *piece.notices]
    else:
        made = f" from {found.template}" if found.template is not None else ""
        lines = [f"There is no {adjective} {what} yet. append_daily_note makes {found.path!r}{made} to add to it."]
    lines.append(f"Before it: {found.previous or 'none'}. After it: {found.following or 'none'}.")
    return Outcome([*texts, "\n".join(lines)], data)
