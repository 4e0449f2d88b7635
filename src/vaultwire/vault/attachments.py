"""The attachments of a vault: which there are, which files use them, and the picture of one."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple, TypeAlias

from vaultwire.installation import hint_for_clients
from vaultwire.markdown.canvas import FileNode, NotACanvasError, canvas_edits
from vaultwire.markdown.link_spans import Kind, LinkSpan, NotABaseError, base_edits
from vaultwire.vault.disk.contents import plain_text
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import fold, is_base, is_canvas, is_note, kind_of, lies_in
from vaultwire.vault.errors import CANNOT_SHOW, NOT_INSTALLED, TOO_LARGE, VaultError
from vaultwire.vault.index.index import Index
from vaultwire.vault.links.link_resolver import LinkResolver, linkpath_of
from vaultwire.vault.listed import Listed, listed
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
    files: Files, index: Index, folder: VaultPath | None, asked: AttachmentFilter, progress: Progress
) -> Listed[Attachment]:
    """Return the attachments below a folder. Their ``facts`` are AttachmentTotals.

    Links in notes that the vault's rules exclude count as uses, too: a file that only they show is not unused.
    """
    paths = index.paths(progress)
    matching = [path for path in paths if _is_wanted(path, folder, asked.kind)]
    users, unread = _users(files, index, paths, matching, progress)
    attachments = [
        Attachment(stat, sorted(users.get(path, ())))
        for path in matching
        if (asked.use == "any" or (path in users) == (asked.use == "used")) and (stat := files.look_at(path))
    ]
    if asked.order == "size":
        attachments.sort(key=lambda each: -each.stat.size)
    elif asked.order == "modified":
        attachments.sort(key=lambda each: -each.stat.modified_ns)
    return listed(attachments, AttachmentTotals(sum(each.stat.size for each in attachments), unread))


def _is_wanted(path: VaultPath, folder: VaultPath | None, kind: str) -> bool:
    return not is_note(path) and (folder is None or lies_in(path, folder)) and kind in ("", kind_of(path))


def _users(
    files: Files, index: Index, paths: list[VaultPath], attachments: list[VaultPath], progress: Progress
) -> tuple[dict[VaultPath, set[VaultPath]], list[VaultPath]]:
    """Return the files that use each of the attachments, and those whose links could not be read."""
    names = {fold(path).rpartition("/")[2] for path in attachments}
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
    wanted = set(attachments)
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


# Makes a picture fit into an answer: smaller, and in a format that models see, by the library Pillow (the extra "images").

SEEN = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""The formats that the models of all vendors see."""

# Pixels of the longer side: models see no more of a larger picture.
_SIDES = (1568, 1024, 640)
_QUALITY = 80
# A few kilobytes can unpack to gigabytes. A camera's picture has 50 million pixels.
_MOST_PIXELS = 60_000_000
# No others: for some the library starts a program on the file's bytes.
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "AVIF")
_one_at_a_time = threading.Lock()  # a large picture takes a few hundred megabytes for a moment


def shrunk(path: str, data: bytes, media_type: str, most: int) -> tuple[bytes, str]:
    """Return a picture of at most ``most`` bytes as a model sees it, and its media type: as it is, if it can.

    Raises VaultError: TOO_LARGE or CANNOT_SHOW without the library; CANNOT_SHOW for a picture that it cannot read.
    """
    if len(data) <= most and media_type in SEEN:
        return data, media_type
    try:
        from PIL import Image, ImageOps  # noqa: PLC0415 - an extra; 50 ms, for the first such picture only
    except ImportError:
        raise _refusal(path, data, media_type, most) from None
    Image.init()
    formats = [name for name in _FORMATS if name in Image.OPEN]
    try:
        with _one_at_a_time, Image.open(io.BytesIO(data), formats=formats) as opened:
            if opened.width * opened.height > _MOST_PIXELS:
                raise VaultError(
                    CANNOT_SHOW, f"{path!r} has {opened.width} x {opened.height} pixels, too many to show."
                )
            opened.draft("RGB", (_SIDES[0], _SIDES[0]))  # a JPEG is read smaller, in a fraction of the time
            opened.thumbnail((_SIDES[0], _SIDES[0]))
            picture = ImageOps.exif_transpose(opened).convert("RGBA")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise VaultError(CANNOT_SHOW, f"{path!r} cannot be read as a picture: {error}.", path=path) from None
    white = Image.new("RGB", picture.size, "white")  # JPEG has no transparency
    white.paste(picture, mask=picture.getchannel("A"))
    for side in _SIDES:
        white.thumbnail((side, side))
        written = io.BytesIO()
        white.save(written, "JPEG", quality=_QUALITY)
        if written.tell() <= most:
            break
    return written.getvalue(), "image/jpeg"


def _refusal(path: str, data: bytes, media_type: str, most: int) -> VaultError:
    install = f"To add it: {hint_for_clients('images')}"
    if media_type not in SEEN:
        return VaultError(
            NOT_INSTALLED,
            f"{path!r} is {media_type}, which models do not see. With one more package this server makes a JPEG of it. "
            f"{install}",
            path=path,
        )
    return VaultError(
        TOO_LARGE,
        f"{path!r} has {len(data)} bytes; a picture that is shown may have at most {most}. "
        f"With one more package this server makes it smaller. {install}",
        path=path,
        size=len(data),
        max_size=most,
    )
