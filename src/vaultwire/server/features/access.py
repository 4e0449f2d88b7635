"""Applies a policy's rules for tools to resources, prompts and completions. Paths are hidden elsewhere (``vault.visibility``).

A client that may not call a tool must not get the tool's content in another way.
"""

from __future__ import annotations

from collections.abc import Callable

from vaultwire.protocol.revisions import Revision
from vaultwire.server.features.one_vault import CHANGING_TTL_MS, caching, to_completed
from vaultwire.server.results import LISTING, POLICY_DENIED, QUERYING, READING
from vaultwire.tools.resources import meaning_of, names_view
from vaultwire.vault.errors import VaultError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultwire.protocol.jsonrpc import JsonObject
    from vaultwire.server.features import Features
    from vaultwire.toolkit.registry import Client

# Prompts of a vault are notes, and their list shows the first line of each. Our own prompts embed a note.
_NEEDED = {
    "resources/list": (LISTING,),
    "resources/read": (READING,),
    "prompts/list": (READING,),
    "prompts/get": (READING,),
}
_REVIEW = "daily_review"  # it names the notes of a day
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
        if method == "prompts/list" and not may(LISTING):
            result["prompts"] = [prompt for prompt in result["prompts"] if prompt["name"] != _REVIEW]
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
    if method == "prompts/get" and params.get("name") == _REVIEW:
        return READING, LISTING
    if method == "resources/read" and isinstance(params.get("uri"), str) and names_view(params["uri"]):
        return READING, QUERYING
    if method != "completion/complete":
        return _NEEDED.get(method, ())
    reference, argument = params.get("ref"), params.get("argument")
    name = argument.get("name") if isinstance(argument, dict) else None
    values = _NEEDED_FOR_VALUES.get(meaning_of(name)) if isinstance(name, str) else None
    of_prompt = isinstance(reference, dict) and reference.get("type") == "ref/prompt"
    return (*((READING,) if of_prompt else ()), *((values,) if values else ()))
