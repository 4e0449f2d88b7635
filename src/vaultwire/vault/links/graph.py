"""How notes hang together: links out, links in. Functions over an index; the resolution itself is in ``links.resolution``."""

from __future__ import annotations

from vaultwire.markdown.bounds import end_of_reading
from vaultwire.markdown.parse import parse_note
from vaultwire.markdown.parsed_note import Link
from vaultwire.vault.disk.files import Files
from vaultwire.vault.errors import VaultError
from vaultwire.vault.index.port import Index
from vaultwire.vault.links.sections import line_count
from vaultwire.vault.model import Backlink, OutgoingLink, OutlineEntry, Progress, Structure, VaultPath


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
    data = b""
    latest: VaultPath | None = None
    for source, link in links:
        if source != latest:
            latest, data = source, _read(files, source)
        found.append(Backlink(source, link.line, _line(data, link.line), link.is_embed))
    return found


def _read(files: Files, path: VaultPath) -> bytes:
    try:
        return files.read(path).data
    except VaultError:
        return b""


def _line(data: bytes, number: int) -> str:
    """Return one line of a note's bytes without what is around it, empty if the note has not so many.

    Only that line is made text: of a page of links each may stand in another note, and most of those are long.
    """
    lines = data.split(b"\n", number)
    return lines[number - 1].decode("utf-8", "replace").removeprefix("\ufeff").strip() if number <= len(lines) else ""


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
        outline.append(OutlineEntry(heading.level, heading.text, heading.line, last_line, heading.more))
        nearest[heading.level] = heading.line
    return Structure(path, parsed, outline[::-1], lines)
