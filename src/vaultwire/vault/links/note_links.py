"""The links out of one note and the links to it, as a caller gets them. Where a link leads is decided by the index."""

from __future__ import annotations

from collections.abc import Sequence

from vaultwire.markdown.parsed_note import Link
from vaultwire.vault.disk.files import Files
from vaultwire.vault.errors import VaultError
from vaultwire.vault.index.port import Index
from vaultwire.vault.links.link_resolver import LinkResolver, file_names_for, link_name, linkpath_of
from vaultwire.vault.value_types import Backlink, OutgoingLink, Progress, VaultPath


def outgoing_links(index: Index, path: VaultPath, links: list[Link], progress: Progress) -> list[OutgoingLink]:
    """Return the links of one note, each with the file it leads to."""
    targets = index.resolver(progress)(path, links)
    return [
        OutgoingLink(link.linktext, link.display, link.line, link.is_embed, target)
        for link, target in zip(links, targets, strict=True)
    ]


def links_lost(index: Index, path: VaultPath, progress: Progress) -> list[tuple[VaultPath, int]]:
    """Return note and line of every link that leads nowhere without the file: to no other file that its text can mean.

    It does not wait for the index to be built: there are none then.
    """
    if index.named({path.rpartition("/")[2]}, progress) is None:
        return []
    links = index.incoming(path, progress)
    names = {name for source, link in links for name in file_names_for(link_name(source, link.linktext))}
    resolver = LinkResolver(other for other in index.named(names, progress) or () if other != path)
    return [(source, link.line) for source, link in links if not resolver.resolve(source, linkpath_of(link.linktext))]


def backlinks(files: Files, links: Sequence[tuple[VaultPath, Link]]) -> list[Backlink]:
    """Return links from notes in path order, each with the line it stands on."""
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
    """Return one line of a note's bytes, stripped; empty if the note has fewer lines. Only that line is decoded."""
    lines = data.split(b"\n", number)
    return lines[number - 1].decode("utf-8", "replace").removeprefix("\ufeff").strip() if number <= len(lines) else ""
