"""Server features other than tools: resources, prompts and completions, in the revision's shape. Loaded with the tools.

Several vaults have one list of resources and one of prompts. A resource's URI names its vault. Our own prompts then take the
vault's name as an argument; prompts made of notes have it in their name. ``handlers`` has the names of the methods, and makes
JSON-RPC errors of the VaultErrors raised here.

``answer_if_allowed`` applies a policy's rules for tools. ``ResourceChanges`` tells subscribers which notes have changed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Hashable, Mapping
from urllib.parse import unquote

from vaultwire.protocol.revisions import Revision
from vaultwire.server.results import LISTING, POLICY_DENIED, QUERYING, READING, object_in, text_in
from vaultwire.server.subscriptions import RESOURCE_LIST, RESOURCE_UPDATES, Subscriptions
from vaultwire.server.vaults import ARGUMENT, Vaults
from vaultwire.toolkit.phrases import iso_time
from vaultwire.tools.base_views import first_view, split_view, view_page
from vaultwire.tools.prompts import (
    OURS,
    PROMPT_NOT_FOUND,
    Argument,
    Prompt,
    fill_prompt,
    list_prompts,
    plain_name,
)
from vaultwire.tools.resources import (
    TEMPLATE,
    VIEW_TEMPLATE,
    Meaning,
    Resource,
    completions,
    list_resources,
    meaning_of,
    names_view,
    path_of,
    ranked,
    read_resource,
    root_of,
    template_of,
    uri_of,
    vault_of,
    view_template_of,
    view_uri_of,
)
from vaultwire.trust.limits import MAX_ATTACHMENT_BYTES
from vaultwire.vault.disk.paths import NOTE_TYPE, fold, is_base, lies_in, media_type_of, stem
from vaultwire.vault.errors import INVALID_ARGUMENTS, Stopped, VaultError
from vaultwire.vault.value_types import NO_PROGRESS, Deadline, NoteStat, Progress, VaultPath
from vaultwire.vault.vault import Vault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultwire.protocol.jsonrpc import JsonObject
    from vaultwire.toolkit.registry import Client


RESOURCES_PER_PAGE = 100  # about 25 KB
MAX_VALUES = 100  # specification, Completion: "Maximum 100 items per response"

# 2026-07-28, "Caching". Any program may change notes at any time; the template changes only with the vault's name.
CHANGING_TTL_MS = 0
_TEMPLATES_TTL_MS = 3_600_000
_CACHE_SCOPE = "private"
_OF_VIEWS = (
    "The rows of a view of a base as a Markdown table, by the base's path and the view's name; the first without one."
)


# Between a vault's name and a prompt's. Neither contains it: ``plain_name`` puts single underscores between words.
_SEPARATOR = "__"


SKILL_OF_VAULT = "skill://vault/"
"""The beginning of the URIs of skills in vaults. Where there are several, the vault's name is next (``skills``)."""

# What is answered with the text of notes.
_WITH_TEXT = ("resources/read", "prompts/get")


class Features:
    """Resources, prompts and completions of the vaults. ``prompts_folder`` is the same in each, None for none."""

    def __init__(self, vaults: Vaults, prompts_folder: str | None) -> None:
        self._vaults = vaults
        self._prompts_folder = prompts_folder
        self._prefixes = _prefixes(vaults.names) if vaults.are_several else {}
        choice = Argument(ARGUMENT, f"The vault; {vaults.names[0]} if left out", False, "text")
        self._ours = {
            prompt.name: prompt._replace(arguments=[*prompt.arguments, choice]) if vaults.are_several else prompt
            for prompt in OURS
        }
        self._table: dict[str, Callable[[JsonObject, Revision, Progress], JsonObject]] = {
            "resources/list": self._list_resources,
            "resources/templates/list": self._list_templates,
            "resources/read": self._read_resource,
            "prompts/list": self._list_prompts,
            "prompts/get": self._get_prompt,
            "completion/complete": self._complete,
        }

    def answer(self, method: str, params: JsonObject, revision: Revision, client: Client) -> JsonObject:
        """Return the result of a request. Raises VaultError, ``Stopped``, and what only a bug raises."""
        if method in _WITH_TEXT:
            self._vaults.write_kept_back()
        return self._table[method](params, revision, client)

    def vault_of(self, method: str, params: JsonObject) -> str | None:
        """Return the name of the vault that a request is about, None if it is about none, or about all. Raises VaultError."""
        if method == "resources/list":
            cursor = params.get("cursor")
            return (
                self._chosen({ARGUMENT: vault_of(cursor) or ""}) if isinstance(cursor, str) else self._vaults.names[0]
            )
        if method in ("resources/read", "skills/get"):
            uri = text_in(params, "uri")
            of_skill = (
                unquote(uri.removeprefix(SKILL_OF_VAULT).partition("/")[0]) if uri.startswith(SKILL_OF_VAULT) else ""
            )
            return self._chosen({ARGUMENT: vault_of(uri) or of_skill})
        if method == "prompts/get":
            given = params.get("arguments")
            return self._vault_of_prompt(text_in(params, "name"), given if isinstance(given, dict) else {})
        if method == "completion/complete":
            reference, arguments = object_in(params, "ref"), filled_in(params)
            if reference.get("type") == "ref/prompt":
                return self._vault_of_prompt(text_in(reference, "name", "ref."), arguments)
            return self._chosen(arguments)
        return None if self._vaults.are_several else self._vaults.names[0]

    def _vault_of_prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        prefix = name.partition(_SEPARATOR)[0]
        of_notes = [vault for vault, own in self._prefixes.items() if own == prefix and name not in self._ours]
        return of_notes[0] if of_notes else self._chosen(arguments)

    def _chosen(self, arguments: Mapping[str, str]) -> str:
        """Return the name of the vault that the arguments name, of the first if they name none. Raises VaultError."""
        name = arguments.get(ARGUMENT, "").strip() if self._vaults.are_several else ""
        return self._vaults.name(name) if name else self._vaults.names[0]

    # ------------------------------------------------------------------ resources

    def _list_resources(self, params: JsonObject, revision: Revision, progress: Progress) -> JsonObject:
        """List one vault after the other, each from a new page. A cursor is a URI, so it names the vault."""
        names = self._vaults.names
        name = names[0]
        cursor = text_in(params, "cursor") if params.get("cursor") is not None else None
        if cursor is not None and self._vaults.are_several:
            try:
                name = self._vaults.name(vault_of(cursor) or "")
            except VaultError:
                raise VaultError(INVALID_ARGUMENTS, "cursor must be the nextCursor of an earlier answer") from None
        vault = self._vaults.get(name)
        page = list_resources(vault, cursor, RESOURCES_PER_PAGE, progress)
        listed: list[JsonObject] = []
        for file in page.files:
            listed.append(_to_listed(vault, file, revision))
            view = first_view(vault, file.path, progress) if is_base(file.path) else None
            if view is not None:
                listed.append(_to_listed_view(vault, file, view, revision))
        result: JsonObject = {"resources": listed}
        following = names.index(name) + 1
        if page.next_cursor is not None:
            result["nextCursor"] = page.next_cursor
        elif following < len(names):
            result["nextCursor"] = root_of(names[following])
        return result | caching(revision, CHANGING_TTL_MS)

    def _templates(self) -> tuple[str, str]:
        """Return the URI templates of files and of views of bases."""
        if self._vaults.are_several:
            return TEMPLATE, VIEW_TEMPLATE
        vault = self._vaults.get(self._vaults.names[0])
        return template_of(vault), view_template_of(vault)

    def _list_templates(self, params: JsonObject, revision: Revision, _: Progress) -> JsonObject:
        refuse_cursor(params)
        description = 'A file of the vault by its path, such as "Folder/Note.md". The URI opens it in Obsidian too.'
        if self._vaults.are_several:
            description = 'A file of a vault by the vault\'s name and its path there, such as "Folder/Note.md".'
        of_files, of_views = self._templates()
        file: JsonObject = {"uriTemplate": of_files, "name": "file", "description": description}
        view: JsonObject = {"uriTemplate": of_views, "name": "view", "description": _OF_VIEWS, "mimeType": NOTE_TYPE}
        if revision.titles:
            file["title"], view["title"] = "Note or attachment", "View of a base"
        return {"resourceTemplates": [file, view], **caching(revision, _TEMPLATES_TTL_MS)}

    def _read_resource(self, params: JsonObject, revision: Revision, progress: Progress) -> JsonObject:
        uri = text_in(params, "uri")
        # A URI of another kind names no vault: the first refuses it.
        vault = self._vaults.get(self._chosen({ARGUMENT: vault_of(uri) or ""}))
        resource = read_resource(vault, uri, MAX_ATTACHMENT_BYTES, progress)
        return {"contents": [_to_contents(resource)], **caching(revision, CHANGING_TTL_MS)}

    # ------------------------------------------------------------------ prompts

    def _list_prompts(self, params: JsonObject, revision: Revision, progress: Progress) -> JsonObject:
        refuse_cursor(params)
        listed = [to_listed_prompt(prompt, revision) for prompt in self._all_prompts(progress)]
        return {"prompts": listed, **caching(revision, CHANGING_TTL_MS)}

    def _get_prompt(self, params: JsonObject, _: Revision, progress: Progress) -> JsonObject:
        name = text_in(params, "name")
        given = {} if params.get("arguments") is None else object_in(params, "arguments")
        arguments = {argument: text_in(given, argument) for argument in given}
        vault, prompt = self._find(name, arguments, progress)
        messages = fill_prompt(self._vaults.get(vault), prompt, arguments, progress)
        if self._vaults.are_several:  # otherwise the tools would look into the first vault
            messages.append(f"This is about the vault {vault!r}: pass it to the tools as {ARGUMENT}.")
        contents = [
            {"type": "text", "text": each}
            if isinstance(each, str)
            else {"type": "resource", "resource": _to_contents(each)}
            for each in messages
        ]
        return {
            "description": prompt.description,
            "messages": [{"role": "user", "content": content} for content in contents],
        }

    def _all_prompts(self, progress: Progress) -> list[Prompt]:
        here = filter(self._vaults.is_here, self._vaults.names)
        of_notes = [self._of_notes(vault, progress).values() for vault in here]
        return [*self._ours.values(), *itertools.chain(*of_notes)]

    def _of_notes(self, vault: str, progress: Progress) -> dict[str, Prompt]:
        """Return the prompts made of a vault's notes by their names, which have the vault's where there are several."""
        if self._prompts_folder is None:
            return {}
        prompts = list_prompts(self._vaults.get(vault), self._prompts_folder, progress).values()
        of_notes = [prompt for prompt in prompts if prompt.note is not None]
        if self._vaults.are_several:
            of_notes = [
                prompt._replace(
                    name=f"{self._prefixes[vault]}{_SEPARATOR}{prompt.name}", title=f"{prompt.title} ({vault})"
                )
                for prompt in of_notes
            ]
        return {prompt.name: prompt for prompt in of_notes}

    def _find(self, name: str, arguments: Mapping[str, str], progress: Progress) -> tuple[str, Prompt]:
        """Return the prompt of this name and the vault it is about. Raises VaultError (PROMPT_NOT_FOUND)."""
        if name in self._ours:
            return self._chosen(arguments), self._ours[name]
        prefix = name.partition(_SEPARATOR)[0]
        for vault in self._vaults.names:
            if self._prefixes.get(vault, prefix) == prefix:
                prompts = self._of_notes(vault, progress)
                if name in prompts:
                    return vault, prompts[name]
        known = ", ".join(prompt.name for prompt in self._all_prompts(progress))
        raise VaultError(PROMPT_NOT_FOUND, f"Unknown prompt: {name[:80]!r} (there are: {known})")

    # ------------------------------------------------------------------ completion

    def _complete(self, params: JsonObject, _: Revision, progress: Progress) -> JsonObject:
        reference = object_in(params, "ref")
        arguments = filled_in(params)
        meanings: dict[str, Meaning]
        names_vault = self._vaults.are_several
        match reference.get("type"):
            case "ref/prompt":
                vault, prompt = self._find(text_in(reference, "name", "ref."), arguments, progress)
                meanings = {argument.name: argument.meaning for argument in prompt.arguments}
                names_vault = names_vault and prompt.note is None
            case "ref/resource":
                vault = self._chosen(arguments)
                meanings = {ARGUMENT: "text"} if names_vault else {}
                meanings |= meanings_in(reference, *self._templates())
            case _:
                raise VaultError(INVALID_ARGUMENTS, "ref.type must be 'ref/prompt' or 'ref/resource'")
        name, value = argument_in(params, meanings)
        if names_vault and name == ARGUMENT:
            return to_completed(ranked(self._vaults.names, value))
        return to_completed(completions(self._vaults.get(vault), meanings[name], value, progress, arguments))


def _prefixes(vaults: tuple[str, ...]) -> dict[str, str]:
    """Return the prefix of each vault's prompts. Vaults whose plain names are equal get numbers."""
    prefixes: dict[str, str] = {}
    for vault in vaults:
        prefix = free = plain_name(vault) or "vault"
        number = 1
        while free in prefixes.values():
            number += 1
            free = f"{prefix}_{number}"
        prefixes[vault] = free
    return prefixes


def _to_listed(vault: Vault, file: NoteStat, revision: Revision) -> JsonObject:
    listed: JsonObject = {"uri": uri_of(vault, file.path), "name": file.path}
    if revision.titles:
        listed["title"] = stem(file.path)
    mime_type = media_type_of(file.path)
    if mime_type is not None:
        listed["mimeType"] = mime_type
    listed["size"] = file.size
    if revision.titles:
        listed["annotations"] = {"lastModified": iso_time(file.modified_ns)}
    return listed


def _to_listed_view(vault: Vault, base: NoteStat, view: str, revision: Revision) -> JsonObject:
    """Return the entry of what a base shows first. Its size is not known before somebody reads it."""
    listed: JsonObject = {"uri": view_uri_of(vault, base.path, view), "name": f"{base.path}#{view}"}
    if revision.titles:
        listed["title"] = f"{stem(base.path)}: {view}"
    return {**listed, "description": "The rows of this view", "mimeType": NOTE_TYPE}


def meanings_in(reference: JsonObject, of_files: str, of_views: str) -> dict[str, Meaning]:
    """Return what the variables of the template mean that is to be completed. Raises VaultError for an unknown one."""
    uri = text_in(reference, "uri", "ref.")
    if uri == of_files:
        return {"path": "file"}
    if uri == of_views:
        return {"base": "base", "view": "view"}
    raise VaultError(INVALID_ARGUMENTS, f"ref.uri: the templates are {of_files!r} and {of_views!r}")


def filled_in(params: JsonObject) -> dict[str, str]:
    """Return the arguments that are filled in already (``context``; specification, Completion, from 2025-06-18)."""
    context = params.get("context")
    arguments = context.get("arguments") if isinstance(context, dict) else None
    if not isinstance(arguments, dict):
        return {}
    return {name: value for name, value in arguments.items() if isinstance(value, str)}


def to_listed_prompt(prompt: Prompt, revision: Revision) -> JsonObject:
    """Return a prompt's entry in ``prompts/list``."""
    listed: JsonObject = {"name": prompt.name}
    if revision.titles:
        listed["title"] = prompt.title
    listed["description"] = prompt.description
    listed["arguments"] = [
        {"name": argument.name, "description": argument.description, "required": argument.required}
        for argument in prompt.arguments
    ]
    return listed


def argument_in(params: JsonObject, known: Collection[str]) -> tuple[str, str]:
    """Return the argument that is to be completed, and its beginning. Raises VaultError for an unknown argument."""
    argument = object_in(params, "argument")
    name, value = text_in(argument, "name", "argument."), text_in(argument, "value", "argument.")
    if name not in known:
        there = ", ".join(known) or "none"
        raise VaultError(INVALID_ARGUMENTS, f"argument.name: there is no {name[:80]!r} (there are: {there})")
    return name, value


def to_completed(values: list[str]) -> JsonObject:
    """Return the result of ``completion/complete``, with as many values as it may have."""
    listed = values[:MAX_VALUES]
    return {"completion": {"values": listed, "total": len(values), "hasMore": len(values) > len(listed)}}


def _to_contents(resource: Resource) -> JsonObject:
    contents: JsonObject = {"uri": resource.uri, "mimeType": resource.mime_type}
    if resource.blob is not None:
        contents["blob"] = resource.blob
    else:
        contents["text"] = resource.text
    return contents


def caching(revision: Revision, ttl_ms: int) -> JsonObject:
    """Return how long a client may cache the result, where the revision has that."""
    return {"ttlMs": ttl_ms, "cacheScope": _CACHE_SCOPE} if revision.stateless else {}


def refuse_cursor(params: JsonObject) -> None:
    """Raise VaultError for a cursor: the list has one page."""
    if params.get("cursor") is not None:
        raise VaultError(INVALID_ARGUMENTS, "cursor: this list has one page")


# ---------------------------------------------------------------------- under a policy

# A client that may not call a tool must not get the tool's content in another way. Paths are hidden elsewhere
# (``vault.visibility``).
#
# Prompts of a vault are notes, and their list shows the first line of each. Our own prompts embed a note.
_NEEDED = {
    "resources/list": (LISTING,),
    "resources/read": (READING,),
    "prompts/list": (READING,),
    "prompts/get": (READING,),
}
# Some of ours also do the work of other tools: they name notes, show tasks or search.
_NEEDED_FOR_PROMPTS = {prompt.name: prompt.needs for prompt in OURS}
_NEEDED_FOR_VALUES = {
    "note": LISTING,
    "file": LISTING,
    "folder": LISTING,
    "tag": "vault_overview",
    "property": "vault_overview",
    "base": LISTING,
    "view": QUERYING,
}


def answer_if_allowed(
    features: Features, method: str, params: JsonObject, revision: Revision, client: Client, may: Callable[[str], bool]
) -> JsonObject:
    """Return the result of a request for a client that ``may`` call some tools only.

    Lists leave out what the client must not get. Raises VaultError: POLICY_DENIED, and those of the features.
    """
    denied = next((tool for tool in _needed(method, params) if not may(tool)), None)
    if denied is None:
        result = features.answer(method, params, revision, client)
        if method == "prompts/list":
            result["prompts"] = [
                prompt for prompt in result["prompts"] if all(map(may, _NEEDED_FOR_PROMPTS.get(prompt["name"], ())))
            ]
        if method == "resources/list" and not may(QUERYING):
            result["resources"] = [each for each in result["resources"] if not names_view(each["uri"])]
        return result
    if method == "completion/complete":
        return to_completed([])
    if method in ("resources/list", "prompts/list"):
        return {method.partition("/")[0]: [], **caching(revision, CHANGING_TTL_MS)}
    raise VaultError(
        POLICY_DENIED, f"The policy of this server does not allow {denied}, so it does not allow {method} here either."
    )


def _needed(method: str, params: JsonObject) -> tuple[str, ...]:
    """Return the tools that the client must be allowed to call for this request."""
    if method == "prompts/get" and isinstance(params.get("name"), str):
        return READING, *_NEEDED_FOR_PROMPTS.get(params["name"], ())
    if method == "resources/read" and isinstance(params.get("uri"), str) and names_view(params["uri"]):
        return READING, QUERYING
    if method != "completion/complete":
        return _NEEDED.get(method, ())
    reference, argument = params.get("ref"), params.get("argument")
    name = argument.get("name") if isinstance(argument, dict) else None
    values = _NEEDED_FOR_VALUES.get(meaning_of(name)) if isinstance(name, str) else None
    of_prompt = isinstance(reference, dict) and reference.get("type") == "ref/prompt"
    return (*((READING,) if of_prompt else ()), *((values,) if values else ()))


# ---------------------------------------------------------------------- changes

# The index's watch loop reports where to look, and calls on its own thread. Here is decided what subscribers are told: a
# note is reported if its file differs from the last look, and only if this run may see it.

# A view is run again for each report of changes. The index waits meanwhile.
_MOST_VIEWS = 20
_MOST_SECONDS = 2.0


class ResourceChanges:
    """The changes of one vault's notes and attachments, as subscribers hear of them."""

    def __init__(self, vault: Vault, subscriptions: Subscriptions) -> None:
        self._vault = vault
        self._subscriptions = subscriptions
        self._listing: Hashable | None = None  # None before the first report
        self._seen: dict[str, Hashable] = {}  # by the path that a subscriber gave

    def report(self, paths: Collection[str], folders: Collection[str]) -> None:
        """Tell subscribers what has changed of these files, and below these folders; ``""`` is the whole vault."""
        listing = self._vault.listing_version(NO_PROGRESS)
        is_first = self._listing is None
        if not is_first and listing != self._listing:
            self._subscriptions.publish(RESOURCE_LIST)
        self._listing = listing
        watched = self._watched()
        self._seen = {path: stat for path, stat in self._seen.items() if path in watched}
        folded_paths, folded_folders = set(map(fold, paths)), list(map(fold, folders))
        views = sorted(path for path in watched if split_view(path) is not None)
        patience = Deadline(_MOST_SECONDS, Stopped())
        for path, uris in watched.items():
            folded = fold(path)
            is_meant = folded in folded_paths or any(not each or lies_in(folded, each) for each in folded_folders)
            if path in views:  # any note may come into a view, or go
                is_meant = path in views[:_MOST_VIEWS]
            if is_meant and self._has_changed(path, patience) and not is_first:
                for uri in uris:
                    self._subscriptions.publish(RESOURCE_UPDATES, uri)

    def _watched(self) -> dict[str, list[str]]:
        """Return the paths that somebody subscribed to, each with its URIs: one path may be encoded in several ways."""
        watched: dict[str, list[str]] = {}
        for uri in self._subscriptions.watched():
            try:
                watched.setdefault(path_of(self._vault, uri), []).append(uri)
            except VaultError:  # of another vault, or of none
                continue
        return watched

    def _has_changed(self, path: str, patience: Progress) -> bool:
        """Tell whether the file differs from the last look, and look at it."""
        now, before = self._look_at(path, patience), self._seen.get(path)
        is_new = path not in self._seen
        self._seen[path] = now
        if is_new and isinstance(now, int):  # the rows before are not known: a change of a hidden note must not be told
            return not self._vault.hides_some
        # No look since it was subscribed to: a file that seems missing may be one that this run must not see.
        if is_new:
            return now is not None or not self._vault.hides_some
        return now != before

    def _look_at(self, path: str, patience: Progress) -> Hashable:
        """Return what tells this state of a file, or of the rows of a view, from another; None if it is not there.

        A view that takes too long counts as it was.
        """
        stat = self._vault.look_at(path)
        named = None if stat is not None else split_view(path)
        if named is None:
            return stat
        try:
            return hash(view_page(self._vault, VaultPath(named[0]), named[1], patience))
        except VaultError:
            return None
        except Stopped:
            return self._seen.get(path)
