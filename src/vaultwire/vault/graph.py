"""How notes hang together: links out, links in. Functions over an index; the resolution itself is in ``vault.links``."""

from __future__ import annotations

from vaultwire.markdown.bounds import end_of_reading
from vaultwire.markdown.model import Link
from vaultwire.markdown.parse import parse_note
from vaultwire.vault.files import Files
from vaultwire.vault.index import Index
from vaultwire.vault.model import Backlink, OutgoingLink, OutlineEntry, Progress, Structure, VaultPath
from vaultwire.vault.plain import read_plain
from vaultwire.vault.sections import line_count


def outgoing(index: Index, path: VaultPath, links: list[Link], progress: Progress) -> list[OutgoingLink]:
    """Return the links of one note, each with the file it leads to."""
    targets = index.resolve_all(path, links, progress)
    return [
        OutgoingLink(link.linktext, link.display, link.line, link.is_embed, target)
        for link, target in zip(links, targets, strict=True)
    ]


def with_lines(files: Files, links: list[tuple[VaultPath, Link]]) -> list[Backlink]:
    """Return the links, each with the line it stands on, from notes in path order."""
    found: list[Backlink] = []
    lines: list[str] = []
    latest: VaultPath | None = None
    for source, link in links:
        if source != latest:
            latest, lines = source, (read_plain(files, source) or "").split("\n")
        text = lines[link.line - 1].strip() if link.line <= len(lines) else ""
        found.append(Backlink(source, link.line, text, link.is_embed))
    return found


def structure(path: VaultPath, text: str) -> Structure:
    """Return how a note with this text is built."""
    parsed = parse_note(text)
    lines = line_count(text)
    outline: list[OutlineEntry] = []
    # What was not looked into may hold headings: no section goes on there.
    end = end_of_reading(text, parsed.frontmatter.end)
    last = lines if end == len(text) else text.count("\n", 0, end)
    nearest = [last + 1] * 7  # by level: the line of the next heading of that level
    for heading in reversed(parsed.headings):
        last_line = min(nearest[: heading.level + 1]) - 1
        outline.append(OutlineEntry(heading.level, heading.text, heading.line, last_line))
        nearest[heading.level] = heading.line
    return Structure(path, parsed, outline[::-1], lines)
