"""Notes and attachments as resources, and the completions of arguments.

The URI of a resource is ``obsidian://vault/VAULT/PATH``: Obsidian's own short form (Obsidian help, "Obsidian URI"), so it
opens the file in the app as well. ``server.features`` spells a resource as a revision wants it.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple, TypeAlias

from vaultwire.markdown.inline import percent_decoded, percent_encoded
from vaultwire.tools.base_views import split_view, view_page
from vaultwire.vault.disk.paths import NOTE_TYPE, compose, fold, is_note, media_type_of, parse_path, text_of
from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS, VaultError
from vaultwire.vault.value_types import NO_PROGRESS, NoteStat, Progress, VaultPath
from vaultwire.vault.vault import Vault

_PREFIX = "obsidian://vault/"
# The template of all resources of all vaults: in the name all reserved characters are encoded, in the path not the slashes
# (RFC 6570 §3.2).
TEMPLATE = _PREFIX + "{vault}/{+path}"
_VIEW = "{+base}{#view}"
VIEW_TEMPLATE = _PREFIX + "{vault}/" + _VIEW
# The longest path most systems take has 4,096 bytes, each of them three characters in a URI at most.
_MAX_URI = 3 * 4096 + 1000
_MAX_QUOTE = 200  # of a URI in a message


class Resource(NamedTuple):
    """A resource with its content: either ``text`` or ``blob`` (base64)."""

    uri: str
    mime_type: str
    text: str | None
    blob: str | None


class ResourcePage(NamedTuple):
    """One page of the list of resources, and the cursor of the next, None on the last."""

    files: list[NoteStat]
    next_cursor: str | None


def uri_of(vault: Vault, path: VaultPath) -> str:
    """Return the resource's URI; ``path_of`` returns the path again, for any path."""
    return root_of(vault.name) + percent_encoded(path)


def root_of(name: str) -> str:
    """Return the beginning of the URIs of a vault's resources."""
    return f"{_PREFIX}{percent_encoded(name)}/"


def template_of(vault: Vault) -> str:
    """Return the URI template (RFC 6570) of every note and attachment; its variable is ``path``."""
    return root_of(vault.name) + "{+path}"


def view_template_of(vault: Vault) -> str:
    """Return the URI template of every view of a base; its variables are ``base`` and ``view``."""
    return root_of(vault.name) + _VIEW


def view_uri_of(vault: Vault, base: VaultPath, view: str) -> str:
    """Return the URI of a view as a resource: that of its base with the name behind ``#``, as in links to it."""
    return f"{uri_of(vault, base)}#{percent_encoded(view)}"


def names_view(uri: str) -> bool:
    """Tell whether a URI names a view of a base, unless a file is called so."""
    try:
        return split_view(percent_decoded(uri)) is not None
    except UnicodeDecodeError:  # no resource has such a URI
        return False


def vault_of(uri: str) -> str | None:
    """Return the name of the vault in a URI; None if it is no resource of ours."""
    head, rest = uri[: len(_PREFIX)], uri[len(_PREFIX) :]
    try:
        return compose(percent_decoded(rest.partition("/")[0])) if head.lower() == _PREFIX else None
    except UnicodeDecodeError:
        return None


def path_of(vault: Vault, uri: str) -> str:
    """Return the path in the vault that the URI names.

    All behind the vault's name is the path, ``?`` and ``#`` included: clients that fill in the template do not encode
    them (RFC 6570 §3.2.3). Raises VaultError (FILE_NOT_FOUND) for a URI that is not of this vault.
    """
    head, rest = uri[: len(_PREFIX)], uri[len(_PREFIX) :]
    name, _, path = rest.partition("/")
    try:
        if len(uri) <= _MAX_URI and head.lower() == _PREFIX and fold(percent_decoded(name)) == fold(vault.name):
            return percent_decoded(path)
    except UnicodeDecodeError:  # no file has such a name: names that are no UTF-8 are not listed
        pass
    raise VaultError(
        FILE_NOT_FOUND,
        f"There is no resource {uri[:_MAX_QUOTE]!r}. Those of this vault begin with {root_of(vault.name)!r}.",
    )


def list_resources(vault: Vault, cursor: str | None, limit: int, progress: Progress) -> ResourcePage:
    """Return notes and attachments in path order, without those whose path no call could give.

    ``cursor`` is the URI of the last one, so files that come or go between two pages shift nothing. Raises
    VaultError (INVALID_ARGUMENTS) for a cursor that no page gave.
    """
    try:
        after = "" if cursor is None else path_of(vault, cursor)
        after.encode()  # no path that was listed holds half a character
    except (VaultError, UnicodeEncodeError):
        raise VaultError(INVALID_ARGUMENTS, "cursor must be the nextCursor of an earlier answer") from None
    files, has_more = vault.overview.list_files(after, limit, progress)
    next_cursor = uri_of(vault, files[-1].path) if has_more else None
    return ResourcePage([file for file in files if _can_be_named(file.path)], next_cursor)


def read_resource(vault: Vault, uri: str, max_attachment_bytes: int, progress: Progress = NO_PROGRESS) -> Resource:
    """Return the resource: as text if it is text, else as base64; of a base's view the rows, as Markdown.

    Raises VaultError as ``Vault.read_file`` does, and as ``view_page`` does for a view.
    """
    asked = path_of(vault, uri)
    try:
        path, file = vault.read_file(asked, max_attachment_bytes)
    except VaultError as error:
        named = split_view(asked)
        if named is None or error.code != FILE_NOT_FOUND:
            raise
        base, _ = vault.read_file(named[0], max_attachment_bytes)
        return Resource(uri, NOTE_TYPE, view_page(vault, base, named[1], progress), None)
    mime_type = media_type_of(path)
    if is_note(path):
        return Resource(uri, NOTE_TYPE, file.data.decode("utf-8-sig", "replace"), None)
    text = text_of(path, file.data)
    if text is not None:
        return Resource(uri, mime_type or "text/plain", text, None)
    return Resource(uri, mime_type or "application/octet-stream", None, base64.b64encode(file.data).decode())


def _can_be_named(path: VaultPath) -> bool:
    try:
        return parse_path(path) == path
    except VaultError:
        return False


# ---------------------------------------------------------------------- completions of an argument

# The kind of an argument's value. ``text``: anything, so there are no completions.
Meaning: TypeAlias = Literal["text", "note", "file", "folder", "tag", "property", "base", "view"]

_NOTHING: Mapping[str, str] = {}
_MEANINGS: dict[str, Meaning] = {
    "path": "note",
    "note": "note",
    "file": "file",
    "attachment": "file",
    "folder": "folder",
    "tag": "tag",
    "property": "property",
    "base": "base",
    "view": "view",
}


def meaning_of(name: str) -> Meaning:
    """Return the kind of an argument by its name, which is all that a prompt in a vault says of it."""
    return _MEANINGS.get(name.casefold(), "text")


def completions(
    vault: Vault, meaning: Meaning, value: str, progress: Progress, filled_in: Mapping[str, str] = _NOTHING
) -> list[str]:
    """Return every value that matches the text typed so far, best first; among equals, common ones first or path order.

    ``filled_in``: the other arguments by name. Views are those of the argument ``base``.
    """
    match meaning:
        case "note":
            return ranked(filter(is_note, vault.overview.paths(progress)), value)
        case "file":
            return ranked(sorted(vault.overview.paths(progress), key=lambda path: (not is_note(path), path)), value)
        case "folder":
            parents = {path.rpartition("/")[0] for path in vault.overview.paths(progress)}
            folders = {parent[:end] for parent in parents for end in _ends_of_parts(parent)}
            return ranked(sorted(folders), value)
        case "tag":
            mark = "#" if value.startswith("#") else ""
            tags = [count.tag for count in vault.overview.count_tags("", progress)]
            return [mark + tag for tag in ranked(tags, value.removeprefix("#"))]
        case "property":
            return ranked(vault.overview.property_names(progress), value)
        case "base":
            return ranked(vault.bases.files(progress), value)
        case "view":
            return ranked(_views(vault, filled_in.get("base", ""), progress), value)
        case "text":
            return []


def _views(vault: Vault, base: str, progress: Progress) -> list[str]:
    """Return the names of a base's views, in its order; none where there is no such base yet."""
    from vaultwire.vault.base_queries.running import BaseSource  # noqa: PLC0415 - heavy, and few notes are bases

    try:
        return [view.name for view in vault.bases.views(BaseSource(base), progress) if view.name]
    except VaultError:
        return []


def _ends_of_parts(folder: str) -> list[int]:
    """Return where each part of the folder's path ends: so folders that hold only folders are included."""
    return [index for index, character in enumerate(folder) if character == "/"] + ([len(folder)] if folder else [])


def ranked(candidates: Iterable[str], value: str) -> list[str]:
    """Return the candidates that hold the value: first at their start, then at the start of the name, in it, anywhere."""
    key = fold(value)
    if not key:
        return list(candidates)
    ranks: list[list[str]] = [[], [], [], []]
    for candidate in candidates:
        folded = fold(candidate)
        if key not in folded:
            continue
        name = folded.rpartition("/")[2]
        rank = 0 if folded.startswith(key) else 1 if name.startswith(key) else 2 if key in name else 3
        ranks[rank].append(candidate)
    return [candidate for rank in ranks for candidate in rank]
