"""Tools on attachments: pictures, recordings, PDFs and other files. Docstrings here are product text: a model reads them.

``show_attachment`` is how ``read_note`` shows one.
"""

from __future__ import annotations

import base64
from typing import Annotated, Literal, NamedTuple, NotRequired, TypedDict

from vaultwire.toolkit.phrases import byte_size, counted, iso_time
from vaultwire.toolkit.registry import Bounds, Cursor, Folder, Outcome, page_of, tool
from vaultwire.vault.attachments import Attachment, AttachmentFilter
from vaultwire.vault.disk.contents import etag_of
from vaultwire.vault.disk.paths import kind_of, media_type_of, text_of
from vaultwire.vault.errors import CANNOT_SHOW, TOO_LARGE, VaultError
from vaultwire.vault.value_types import Note, Progress, VaultPath
from vaultwire.vault.vault import Vault

MOST_SHOWN_BYTES = 750_000
"""Of a picture or recording in an answer: as base64 a million characters, the most that some clients take."""

_MOST_USERS = 3  # named for each attachment


class ListedAttachment(TypedDict):
    """An attachment."""

    path: Annotated[str, "Path in the vault"]
    kind: Annotated[str, '"image", "audio", "video", "pdf", "canvas", "base" or "other"']
    size: Annotated[int, "Bytes"]
    modified: Annotated[str, "Last change, ISO 8601, UTC"]
    users: Annotated[list[str], "The first of the notes, canvases and bases that show it or link to it"]
    user_count: Annotated[int, "How many in all; 0 if it is unused"]


class ListedAttachments(TypedDict):
    """A page of attachments."""

    attachments: list[ListedAttachment]
    total: Annotated[int, "How many there are, on all pages together"]
    bytes: Annotated[int, "Their size, on all pages together"]
    notices: Annotated[list[str], "Further remarks"]
    next_cursor: Annotated[NotRequired[str], "Pass as cursor for the next page; absent on the last"]


class Shown(NamedTuple):
    """A picture or recording: a note without text that has its facts, and the content block that shows it."""

    note: Note
    facts: str
    block: dict[str, str]


@tool(title="List attachments", category="attachments", time_class="search", read_only=True)
def list_attachments(
    vault: Vault,
    progress: Progress,
    /,
    folder: Folder = "",
    kind: Literal["all", "image", "audio", "video", "pdf", "canvas", "base", "other"] = "all",
    used: Literal["any", "used", "unused"] = "any",
    sort: Literal["path", "size", "modified"] = "path",
    limit: Annotated[int, Bounds(1, 1000)] = 50,
    cursor: Cursor = None,
) -> Outcome[ListedAttachments]:
    """List the files that are no notes (pictures, PDFs, recordings, canvases): size, and which notes use them.

    Args:
        kind: Only files of this kind.
        used: "unused" for those that no note, canvas or base shows or links to.
        sort: "size" the largest first, "modified" the latest first.
        limit: How many to return.
    """
    conditions = AttachmentFilter("" if kind == "all" else kind, used, sort)
    page = page_of(
        vault,
        ("list_attachments", folder, conditions),
        cursor,
        limit,
        lambda: vault.overview.attachments(conditions, folder, progress),
        progress,
    )
    size, unread = page.facts
    notices = []
    if unread:
        names = ", ".join(unread[:_MOST_USERS])
        notices.append(f"The links of {counted(len(unread), 'canvas or base file')} could not be read: {names}.")
    if vault.hides_some:
        notices.append("Notes that may not be seen here may use them, too.")
    data = ListedAttachments(
        attachments=[_to_listed(each) for each in page.items], total=page.total, bytes=size, notices=notices
    )
    what = "attachment" if used == "any" else f"{used} attachment"
    lines = [f"{counted(page.total, what)}, {byte_size(size)}{page.text}"]
    lines += [_line(each) for each in data["attachments"]]
    return page.outcome(data, [*lines, *notices])


def _to_listed(attachment: Attachment) -> ListedAttachment:
    stat, users = attachment
    return ListedAttachment(
        path=stat.path,
        kind=kind_of(stat.path),
        size=stat.size,
        modified=iso_time(stat.modified_ns),
        users=list(users[:_MOST_USERS]),
        user_count=len(users),
    )


def _line(listed: ListedAttachment) -> str:
    more = f" and {listed['user_count'] - _MOST_USERS} more" if listed["user_count"] > _MOST_USERS else ""
    use = f"in {', '.join(listed['users'])}{more}" if listed["users"] else "unused"
    return f"{listed['path']} ({byte_size(listed['size'])}), {use}"


def show_attachment(vault: Vault, path: VaultPath, progress: Progress) -> Note | Shown:
    """Return the text of an attachment as that of a note; a picture or recording to be shown.

    Raises VaultError: TOO_LARGE and CANNOT_SHOW, which say what can be done.
    """
    kind = kind_of(path)
    if kind == "video":
        stat = vault.look_at(path)
        size = f" ({byte_size(stat.size)})" if stat else ""
        raise VaultError(CANNOT_SHOW, f"{path!r} is a video{size}, which cannot be shown here.", path=path)
    data, modified_ns, _ = vault.read_attachment(path)
    note = Note(path, "", etag_of(data), len(data), modified_ns, [])
    if kind == "pdf":
        from vaultwire.vault.attachment_texts.reading import pdf_text  # noqa: PLC0415 - only a PDF needs it

        read = pdf_text(path, data, progress)
        return note._replace(text=read.text, problems=read.problems)
    text = text_of(path, data)
    if text is not None:
        return note._replace(text=text.replace("\r\n", "\n"))
    if kind not in ("image", "audio"):
        message = (
            f"{path!r} ({byte_size(len(data))}) is neither text nor a picture or recording, so it cannot be shown."
        )
        raise VaultError(CANNOT_SHOW, message, path=path)
    shown, media_type = data, str(media_type_of(path))
    if kind == "image":
        from vaultwire.vault.attachments import shrunk  # noqa: PLC0415 - only a picture needs it

        shown, media_type = shrunk(path, data, media_type, MOST_SHOWN_BYTES)
    elif len(data) > MOST_SHOWN_BYTES:
        raise VaultError(
            TOO_LARGE,
            f"{path!r} has {len(data)} bytes; a recording in an answer may have at most {MOST_SHOWN_BYTES}.",
            path=path,
            size=len(data),
            max_size=MOST_SHOWN_BYTES,
        )
    smaller = "" if shown is data else ", shown smaller"
    facts = f"({path}, {media_type_of(path)}, {len(data)} bytes{smaller}, etag {note.etag})"
    return Shown(note, facts, {"type": kind, "data": base64.b64encode(shown).decode(), "mimeType": media_type})


def attachments_instead(vault: Vault, folder: str, progress: Progress) -> list[str]:
    """Return a line that says which other files are in a folder without notes."""
    count = vault.overview.count_attachments(folder, progress)
    return [f"{counted(count, 'other file')} there: list_attachments shows them."] if count else []
