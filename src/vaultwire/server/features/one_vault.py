"""The features of one vault: ``resources/*``, ``prompts/*`` and ``completion/complete``, in the revision's shape.

Loaded with the tools, after the first answer; ``handlers`` has the names of the methods. ``handlers`` makes JSON-RPC errors
of the VaultErrors raised here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from vaultwire.protocol import jsonrpc
from vaultwire.protocol.revisions import Revision
from vaultwire.toolkit.phrases import iso_time
from vaultwire.tools.base_views import first_view
from vaultwire.tools.prompts import Message, Prompt, fill_prompt, find_prompt, list_prompts
from vaultwire.tools.resources import (
    Meaning,
    Resource,
    completions,
    list_resources,
    read_resource,
    template_of,
    uri_of,
    view_template_of,
    view_uri_of,
)
from vaultwire.trust.limits import MAX_ATTACHMENT_BYTES
from vaultwire.vault.disk.paths import is_base, stem
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.media_types import NOTE_TYPE, media_type_of
from vaultwire.vault.value_types import NoteStat, Progress
from vaultwire.vault.vault import Vault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultwire.protocol.jsonrpc import JsonObject

RESOURCES_PER_PAGE = 100  # about 25 KB
MAX_VALUES = 100  # specification, Completion: "Maximum 100 items per response"

# 2026-07-28, "Caching". Any program may change notes at any time; the template changes only with the vault's name.
CHANGING_TTL_MS = 0
_TEMPLATES_TTL_MS = 3_600_000
_CACHE_SCOPE = "private"
_OF_VIEWS = (
    "The rows of a view of a base as a Markdown table, by the base's path and the view's name; the first without one."
)


class VaultFeatures:
    """Resources, prompts and completions of one vault. ``prompts_folder`` is vault-relative, None for our own prompts only."""

    def __init__(self, vault: Vault, prompts_folder: str | None) -> None:
        self._vault = vault
        self._prompts_folder = prompts_folder
        self._table: dict[str, Callable[[JsonObject, Revision, Progress], JsonObject]] = {
            "resources/list": self._list_resources,
            "resources/templates/list": self._list_templates,
            "resources/read": self._read_resource,
            "prompts/list": self._list_prompts,
            "prompts/get": self._get_prompt,
            "completion/complete": self._complete,
        }

    def answer(self, method: str, params: JsonObject, revision: Revision, progress: Progress) -> JsonObject:
        """Return the result of a request. Raises VaultError, ``Stopped``, and what only a bug raises."""
        return self._table[method](params, revision, progress)

    # ------------------------------------------------------------------ resources

    def _list_resources(self, params: JsonObject, revision: Revision, progress: Progress) -> JsonObject:
        cursor = text_in(params, "cursor") if params.get("cursor") is not None else None
        page = list_resources(self._vault, cursor, RESOURCES_PER_PAGE, progress)
        listed: list[JsonObject] = []
        for file in page.files:
            listed.append(self._to_listed(file, revision))
            view = first_view(self._vault, file.path, progress) if is_base(file.path) else None
            if view is not None:
                listed.append(self._to_listed_view(file, view, revision))
        result: JsonObject = {"resources": listed}
        if page.next_cursor is not None:
            result["nextCursor"] = page.next_cursor
        return result | caching(revision, CHANGING_TTL_MS)

    def _to_listed(self, file: NoteStat, revision: Revision) -> JsonObject:
        listed: JsonObject = {"uri": uri_of(self._vault, file.path), "name": file.path}
        if revision.titles:
            listed["title"] = stem(file.path)
        mime_type = media_type_of(file.path)
        if mime_type is not None:
            listed["mimeType"] = mime_type
        listed["size"] = file.size
        if revision.titles:
            listed["annotations"] = {"lastModified": iso_time(file.modified_ns)}
        return listed

    def _to_listed_view(self, base: NoteStat, view: str, revision: Revision) -> JsonObject:
        """Return the entry of what a base shows first. Its size is not known before somebody reads it."""
        listed: JsonObject = {"uri": view_uri_of(self._vault, base.path, view), "name": f"{base.path}#{view}"}
        if revision.titles:
            listed["title"] = f"{stem(base.path)}: {view}"
        return {**listed, "description": "The rows of this view", "mimeType": NOTE_TYPE}

    def _list_templates(self, params: JsonObject, revision: Revision, _: Progress) -> JsonObject:
        refuse_cursor(params)
        description = 'A file of the vault by its path, such as "Folder/Note.md". The URI opens it in Obsidian too.'
        return listed_templates(template_of(self._vault), view_template_of(self._vault), description, revision)

    def _read_resource(self, params: JsonObject, revision: Revision, progress: Progress) -> JsonObject:
        resource = read_resource(self._vault, text_in(params, "uri"), MAX_ATTACHMENT_BYTES, progress)
        return {"contents": [_to_contents(resource)], **caching(revision, CHANGING_TTL_MS)}

    # ------------------------------------------------------------------ prompts

    def _list_prompts(self, params: JsonObject, revision: Revision, progress: Progress) -> JsonObject:
        refuse_cursor(params)
        prompts = list_prompts(self._vault, self._prompts_folder, progress).values()
        listed = [to_listed_prompt(prompt, revision) for prompt in prompts]
        return {"prompts": listed, **caching(revision, CHANGING_TTL_MS)}

    def _get_prompt(self, params: JsonObject, _: Revision, progress: Progress) -> JsonObject:
        name, arguments = prompt_in(params)
        prompt = find_prompt(self._vault, self._prompts_folder, name, progress)
        return to_filled(prompt, fill_prompt(self._vault, prompt, arguments, progress))

    # ------------------------------------------------------------------ completion

    def _complete(self, params: JsonObject, _: Revision, progress: Progress) -> JsonObject:
        meanings = self._meanings(object_in(params, "ref"), progress)
        name, value = argument_in(params, meanings)
        return to_completed(completions(self._vault, meanings[name], value, progress, filled_in(params)))

    def _meanings(self, reference: JsonObject, progress: Progress) -> dict[str, Meaning]:
        """Return what each argument of the prompt or template means."""
        match reference.get("type"):
            case "ref/prompt":
                prompt = find_prompt(self._vault, self._prompts_folder, text_in(reference, "name", "ref."), progress)
                return {argument.name: argument.meaning for argument in prompt.arguments}
            case "ref/resource":
                return meanings_in(reference, template_of(self._vault), view_template_of(self._vault))
            case _:
                raise VaultError(INVALID_ARGUMENTS, "ref.type must be 'ref/prompt' or 'ref/resource'")


def listed_templates(of_files: str, of_views: str, description: str, revision: Revision) -> JsonObject:
    """Return the result of ``resources/templates/list``: a template of files and one of views of bases."""
    file: JsonObject = {"uriTemplate": of_files, "name": "file", "description": description}
    view: JsonObject = {"uriTemplate": of_views, "name": "view", "description": _OF_VIEWS, "mimeType": NOTE_TYPE}
    if revision.titles:
        file["title"], view["title"] = "Note or attachment", "View of a base"
    return {"resourceTemplates": [file, view], **caching(revision, _TEMPLATES_TTL_MS)}


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


def prompt_in(params: JsonObject) -> tuple[str, dict[str, str]]:
    """Return the name and the arguments of a prompt in a request. Raises VaultError."""
    name = text_in(params, "name")
    arguments = {} if params.get("arguments") is None else object_in(params, "arguments")
    return name, {argument: text_in(arguments, argument) for argument in arguments}


def to_filled(prompt: Prompt, messages: Iterable[Message]) -> JsonObject:
    """Return the result of ``prompts/get``."""
    return {
        "description": prompt.description,
        "messages": [{"role": "user", "content": _to_content(message)} for message in messages],
    }


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
    shown = values[:MAX_VALUES]
    return {"completion": {"values": shown, "total": len(values), "hasMore": len(values) > len(shown)}}


def _to_content(message: Message) -> JsonObject:
    if isinstance(message, str):
        return {"type": "text", "text": message}
    return {"type": "resource", "resource": _to_contents(message)}


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


def text_in(params: JsonObject, name: str, where: str = "") -> str:
    """Return a text of the request. Raises VaultError if there is none."""
    value = params.get(name)
    if not isinstance(value, str):
        raise VaultError(INVALID_ARGUMENTS, f"{where}{name} must be a string, got {_got(params, name)}")
    return value


def object_in(params: JsonObject, name: str) -> JsonObject:
    """Return an object of the request. Raises VaultError if there is none."""
    value = params.get(name)
    if not isinstance(value, dict):
        raise VaultError(INVALID_ARGUMENTS, f"{name} must be an object, got {_got(params, name)}")
    return value


def _got(params: JsonObject, name: str) -> str:
    return jsonrpc.json_type(params[name]) if name in params else "nothing"
