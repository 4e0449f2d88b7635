"""Notes and attachments as resources: their URIs, their media types, and their content as text or base64.

A URI is ``obsidian://vault/VAULT/PATH``: Obsidian's own short form (Obsidian help, "Obsidian URI"), so a resource's URI
opens the file in the app as well. How a revision spells a resource is ``server.features.one_vault``' matter.
"""

from __future__ import annotations

import base64
import re
from typing import NamedTuple

from vaultwire.vault.disk.paths import compose, fold, is_note, parse_path, stem
from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS, VaultError
from vaultwire.vault.model import NoteStat, Progress, VaultPath
from vaultwire.vault.vault import Vault

_PREFIX = "obsidian://vault/"
# RFC 3986 §2.3 "Unreserved Characters", and the slash between parts. All else is a percent sign and two digits.
_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")
# Of all resources of all vaults: the name with all that is reserved encoded, the path with its slashes (RFC 6570 §3.2).
TEMPLATE = _PREFIX + "{vault}/{+path}"
_PERCENTS = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
# The longest path most systems take has 4,096 bytes, each of them three characters in a URI at most.
_MAX_URI = 3 * 4096 + 1000
_MAX_QUOTE = 200  # of a URI in a message

_NOTE_TYPE = "text/markdown"
# What Obsidian opens itself (Obsidian help, "Accepted file formats"), and text that lies about in vaults. A table of our
# own, because the standard library's answers from whatever the machine has in /etc or the registry.
_TYPES = {
    "md": _NOTE_TYPE,
    "canvas": "application/json",
    "base": "application/yaml",
    "txt": "text/plain",
    "csv": "text/csv",
    "json": "application/json",
    "yaml": "application/yaml",
    "yml": "application/yaml",
    "html": "text/html",
    "css": "text/css",
    "js": "text/javascript",
    "svg": "image/svg+xml",
    "avif": "image/avif",
    "bmp": "image/bmp",
    "gif": "image/gif",
    "jpeg": "image/jpeg",
    "jpg": "image/jpeg",
    "png": "image/png",
    "webp": "image/webp",
    "flac": "audio/flac",
    "m4a": "audio/mp4",
    "mp3": "audio/mpeg",
    "ogg": "audio/ogg",
    "wav": "audio/wav",
    "3gp": "video/3gpp",
    "mkv": "video/x-matroska",
    "mov": "video/quicktime",
    "mp4": "video/mp4",
    "ogv": "video/ogg",
    "webm": "video/webm",
    "pdf": "application/pdf",
}
_NEVER_TEXT = ("image/", "audio/", "video/", "application/pdf")


class Resource(NamedTuple):
    """A resource as read; one of ``text`` and ``blob`` (base64) is there."""

    uri: str
    mime_type: str
    text: str | None
    blob: str | None


class ResourcePage(NamedTuple):
    """One page of the list of resources, and the cursor of the next, None on the last."""

    files: list[NoteStat]
    next_cursor: str | None


def uri_of(vault: Vault, path: VaultPath) -> str:
    """Return the resource's URI; ``path_of`` gives the path back, whatever is in it."""
    return root_of(vault.name) + _encoded(path)


def root_of(name: str) -> str:
    """Return what the URIs of a vault's resources begin with."""
    return f"{_PREFIX}{_encoded(name)}/"


def template_of(vault: Vault) -> str:
    """Return the URI template (RFC 6570) of every note and attachment; its variable is ``path``."""
    return root_of(vault.name) + "{+path}"


def vault_of(uri: str) -> str | None:
    """Return the name of the vault that a URI is about, None for one of another kind."""
    try:
        return (
            compose(_decoded(uri[len(_PREFIX) :].partition("/")[0])) if uri[: len(_PREFIX)].lower() == _PREFIX else None
        )
    except UnicodeDecodeError:
        return None


def path_of(vault: Vault, uri: str) -> str:
    """Return the path in the vault that the URI names.

    What stands behind the vault's name is the path, ``?`` and ``#`` included: clients that fill in the template leave
    them as they are (RFC 6570 §3.2.3). Raises VaultError (FILE_NOT_FOUND) for a URI that is not of this vault.
    """
    head, rest = uri[: len(_PREFIX)], uri[len(_PREFIX) :]
    name, _, path = rest.partition("/")
    try:
        if len(uri) <= _MAX_URI and head.lower() == _PREFIX and fold(_decoded(name)) == fold(vault.name):
            return _decoded(path)
    except UnicodeDecodeError:  # no file has such a name: names that are no UTF-8 are not listed
        pass
    raise VaultError(
        FILE_NOT_FOUND,
        f"There is no resource {uri[:_MAX_QUOTE]!r}. Those of this vault begin with {root_of(vault.name)!r}.",
    )


def mime_type_of(path: str) -> str | None:
    """Return the media type that the extension stands for, None for one that says nothing."""
    return _TYPES.get(path.rsplit("/", 1)[-1].rpartition(".")[2].lower())


def title_of(path: str) -> str:
    """Return what a person calls the file: a note's name, any other file's with its extension."""
    return stem(path)


def list_resources(vault: Vault, cursor: str | None, limit: int, progress: Progress) -> ResourcePage:
    """Return notes and attachments in path order; what nobody could name in a call is not among them.

    ``cursor`` is the URI of the last one seen, so what comes and goes between two pages shifts nothing. Raises
    VaultError (INVALID_ARGUMENTS) for a cursor that no page gave.
    """
    try:
        after = None if cursor is None else path_of(vault, cursor)
    except VaultError:
        raise VaultError(INVALID_ARGUMENTS, "cursor must be the nextCursor of an earlier answer") from None
    listing = vault.overview.list_files(after, limit, progress)
    next_cursor = uri_of(vault, listing.notes[-1].path) if listing.has_more else None
    return ResourcePage([file for file in listing.notes if _can_be_named(file.path)], next_cursor)


def read_resource(vault: Vault, uri: str, max_attachment_bytes: int) -> Resource:
    """Return the resource: text where it is some, else base64. Raises VaultError as ``Vault.read_file`` does."""
    path, file = vault.read_file(path_of(vault, uri), max_attachment_bytes)
    mime_type = mime_type_of(path)
    if is_note(path):
        return Resource(uri, _NOTE_TYPE, file.data.decode("utf-8-sig", "replace"), None)
    if mime_type is None or mime_type == _TYPES["svg"] or not mime_type.startswith(_NEVER_TEXT):
        try:
            text = file.data.decode("utf-8-sig")
        except UnicodeDecodeError:
            pass
        else:
            if "\0" not in text:  # bytes that happen to be UTF-8
                return Resource(uri, mime_type or "text/plain", text, None)
    return Resource(uri, mime_type or "application/octet-stream", None, base64.b64encode(file.data).decode())


def _can_be_named(path: VaultPath) -> bool:
    try:
        return parse_path(path) == path
    except VaultError:
        return False


def _encoded(text: str) -> str:
    return "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in text.encode())


def _decoded(text: str) -> str:
    """Decode percent signs as UTF-8; what is none stays as written. Raises UnicodeDecodeError."""
    return _PERCENTS.sub(lambda run: bytes.fromhex(run[0].replace("%", "")).decode(), text)
