"""The attachments of a vault: which there are, which files use them, and the bytes of one. It changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple, TypeAlias

from vaultwire.markdown.canvas import FileNode, NotACanvasError, canvas_edits
from vaultwire.markdown.link_spans import Kind, LinkSpan, NotABaseError, base_edits
from vaultwire.vault.disk.contents import plain_text
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import fold, is_base, is_canvas, is_note, lies_in
from vaultwire.vault.errors import VaultError
from vaultwire.vault.index.port import Index
from vaultwire.vault.links.link_resolver import LinkResolver, linkpath_of
from vaultwire.vault.listed import Listed, listed
from vaultwire.vault.media_types import kind_of
from vaultwire.vault.value_types import NoteStat, Progress, VaultPath, reporting

Use: TypeAlias = Literal["any", "used", "unused"]
Order: TypeAlias = Literal["path", "size", "modified"]


class Attachment(NamedTuple):
    """An attachment, and the notes, canvases and bases that show it or link to it, in path order."""

    stat: NoteStat
    users: list[VaultPath]


class AttachmentFilter(NamedTuple):
    """The attachments that are wanted: of one kind (``kind_of``, empty for all), used or not, and their order."""

    kind: str = ""
    use: Use = "any"
    order: Order = "path"


class AttachmentTotals(NamedTuple):
    """How many bytes the attachments that were found have, and the files whose links could not be read."""

    size: int
    unread: list[VaultPath]


def list_attachments(
    files: Files, index: Index, folder: VaultPath | None, wanted: AttachmentFilter, progress: Progress
) -> Listed[Attachment]:
    """Return the attachments below a folder. Their ``facts`` are AttachmentTotals.

    Links in notes that the vault's rules exclude count as uses, too: a file that only they show is not unused.
    """
    paths = index.paths(progress)
    found = [path for path in paths if _is_wanted(path, folder, wanted.kind)]
    users, unread = _users(files, index, paths, found, progress)
    attachments = [
        Attachment(stat, sorted(users.get(path, ())))
        for path in found
        if (wanted.use == "any" or (path in users) == (wanted.use == "used")) and (stat := files.look_at(path))
    ]
    if wanted.order == "size":
        attachments.sort(key=lambda each: -each.stat.size)
    elif wanted.order == "modified":
        attachments.sort(key=lambda each: -each.stat.modified_ns)
    return listed(attachments, AttachmentTotals(sum(each.stat.size for each in attachments), unread))


def _is_wanted(path: VaultPath, folder: VaultPath | None, kind: str) -> bool:
    return not is_note(path) and (folder is None or lies_in(path, folder)) and kind in ("", kind_of(path))


def _users(
    files: Files, index: Index, paths: list[VaultPath], found: list[VaultPath], progress: Progress
) -> tuple[dict[VaultPath, set[VaultPath]], list[VaultPath]]:
    """Return the files that use each of the attachments, and those whose links could not be read."""
    names = {fold(path).rpartition("/")[2] for path in found}
    # A link leads to one of these only if it asks for its name, and then other files of that name come into question.
    resolver = LinkResolver([path for path in paths if fold(path).rpartition("/")[2] in names])
    users: dict[VaultPath, set[VaultPath]] = {}

    def add(source: VaultPath, linkpath: str) -> None:
        target = resolver.resolve(source, linkpath) if linkpath.strip() else None
        if target is not None and target != source:
            users.setdefault(target, set()).add(source)

    for source, linktext in index.links_asking(names, [], progress):
        add(source, linkpath_of(linktext))
    # The index does not know the links of canvases and bases.
    others = [path for path in paths if is_canvas(path) or is_base(path)]
    unread: list[VaultPath] = []
    for path in reporting(progress, others, "reading canvases and bases"):
        try:
            for linkpath in _links_in(path, plain_text(files.read(path).data)):
                add(path, linkpath)
        except (VaultError, NotACanvasError, NotABaseError):
            unread.append(path)
    wanted = set(found)
    return {path: used for path, used in users.items() if path in wanted}, unread


def _links_in(path: VaultPath, text: str) -> Iterable[str]:
    """Return the linkpaths in a canvas or base. A path from the vault's root begins with ``/``."""
    links: list[str] = []

    def of_node(node: FileNode) -> None:
        links.append(f"/{node.file}")

    def of_link(link: LinkSpan) -> None:
        links.append(linkpath_of(link.linktext))

    def of_name(kind: Kind, name: str) -> None:
        if kind != "folder":
            links.append(f"/{name}" if kind == "path" else linkpath_of(name))

    # No edit comes of it: each of the functions says that its link stays.
    walk: Callable[[], object] = (
        (lambda: base_edits(text, of_name)) if is_base(path) else (lambda: canvas_edits(text, of_node, of_link))
    )
    walk()
    return links
