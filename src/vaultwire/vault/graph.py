"""How notes hang together: links out, links in. Functions over an index; the resolution itself is in ``vault.links``."""

from __future__ import annotations

from vaultwire.markdown.model import Link
from vaultwire.markdown.parse import parse_note
from vaultwire.vault.index import Index
from vaultwire.vault.links import LinkTargets
from vaultwire.vault.model import OutgoingLink, OutlineEntry, Progress, Structure, TagCount, Tagged, VaultPath
from vaultwire.vault.sections import line_count


def outgoing(index: Index, path: VaultPath, links: list[Link], progress: Progress) -> list[OutgoingLink]:
    """Return the links of one note, each with the file it leads to."""
    targets = LinkTargets(index.paths(progress))
    return [
        OutgoingLink(
            link.linktext,
            link.display,
            link.line,
            link.is_embed,
            targets.resolve(path, _linkpath(link)),
        )
        for link in links
    ]


def incoming(index: Index, path: VaultPath, progress: Progress) -> list[tuple[VaultPath, Link]]:
    """Return every link in another note that leads to ``path``, in path and line order."""
    targets = LinkTargets(index.paths(progress))
    return [
        (source, link)
        for source, links in index.links(progress)
        if source != path
        for link in links
        if targets.resolve(source, _linkpath(link)) == path
    ]


def structure(path: VaultPath, text: str) -> Structure:
    """Return how a note with this text is built."""
    parsed = parse_note(text)
    lines = line_count(text)
    outline = []
    for position, heading in enumerate(parsed.headings):
        following = (later.line - 1 for later in parsed.headings[position + 1 :] if later.level <= heading.level)
        outline.append(OutlineEntry(heading.level, heading.text, heading.line, next(following, lines)))
    return Structure(path, parsed, outline, lines)


def count_tags(tagged: list[Tagged]) -> list[TagCount]:
    """Return every tag and every tag above one, with the number of notes that have it or one below, most used first."""
    spelling: dict[str, str] = {}
    counts: dict[str, int] = {}
    for note in tagged:
        keys: set[str] = set()
        for tag in note.tags:
            parts = tag.split("/")
            for depth in range(1, len(parts) + 1):
                name = "/".join(parts[:depth])
                keys.add(name.casefold())
                spelling.setdefault(name.casefold(), name)
        for key in keys:
            counts[key] = counts.get(key, 0) + 1
    return sorted(
        (TagCount(spelling[key], count) for key, count in counts.items()),
        key=lambda tag: (-tag.notes, tag.tag.casefold()),
    )


def _linkpath(link: Link) -> str:
    return link.linktext.partition("#")[0]
