"""What the official conformance suite looks for in a server besides tools: resources, prompts and completions."""

from __future__ import annotations

import json
import re
from typing import Any

from conformance.fixtures import IMAGE, PNG, form
from vaultwire.protocol.revisions import Revision
from vaultwire.server.features import Features
from vaultwire.toolkit.registry import Client
from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS, VaultError

_TEMPLATE = re.compile(r"test://template/([^/]+)/data")
_RESOURCES = {
    "test://static-text": ("text/plain", "This is the content of the static text resource."),
    "test://static-binary": ("image/png", PNG),
    "test://watched-resource": ("text/plain", "Watched resource content"),
}
_PROMPTS: dict[str, tuple[str, ...]] = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
    "test_input_required_result_prompt": (),
}


class FixtureFeatures(Features):
    """Answers from the fixtures, not from a vault."""

    def answer(self, method: str, params: dict[str, Any], revision: Revision, client: Client) -> dict[str, Any]:
        caching = {"ttlMs": 0, "cacheScope": "private"} if revision.stateless else {}
        match method:
            case "resources/list":
                listed = [
                    {"uri": uri, "name": uri, "description": "A fixture", "mimeType": mime_type}
                    for uri, (mime_type, _) in _RESOURCES.items()
                ]
                return {"resources": listed, **caching}
            case "resources/templates/list":
                template = {"uriTemplate": "test://template/{id}/data", "name": "template", "description": "A fixture"}
                return {"resourceTemplates": [template], **caching}
            case "resources/read":
                return {"contents": [_contents(params["uri"])], **caching}
            case "prompts/list":
                return {"prompts": [_listed(name) for name in _PROMPTS], **caching}
            case "prompts/get":
                return {"messages": _messages(params["name"], params.get("arguments") or {}, client)}
            case "completion/complete":
                return {"completion": {"values": [], "total": 0, "hasMore": False}}
        raise AssertionError(method)


def _contents(uri: str) -> dict[str, Any]:
    filled = _TEMPLATE.fullmatch(uri)
    if filled:
        text = json.dumps({"id": filled[1], "templateTest": True, "data": f"Data for ID: {filled[1]}"})
        return {"uri": uri, "mimeType": "application/json", "text": text}
    if uri not in _RESOURCES:
        raise VaultError(FILE_NOT_FOUND, uri)
    mime_type, content = _RESOURCES[uri]
    return {"uri": uri, "mimeType": mime_type, "blob" if mime_type == "image/png" else "text": content}


def _listed(name: str) -> dict[str, Any]:
    arguments = [{"name": argument, "description": "A fixture", "required": True} for argument in _PROMPTS[name]]
    return {"name": name, "description": "A fixture", "arguments": arguments}


def _messages(name: str, arguments: dict[str, str], client: Client) -> list[dict[str, Any]]:
    if name not in _PROMPTS:
        raise VaultError(INVALID_ARGUMENTS, f"there is no prompt {name!r}")
    missing = [argument for argument in _PROMPTS[name] if argument not in arguments]
    if missing:
        raise VaultError(INVALID_ARGUMENTS, f"missing: {missing}")
    match name:
        case "test_simple_prompt":
            return [_user("This is a simple prompt for testing.")]
        case "test_prompt_with_arguments":
            return [_user(f"Prompt with arguments: arg1='{arguments['arg1']}', arg2='{arguments['arg2']}'")]
        case "test_prompt_with_embedded_resource":
            text = "Embedded resource content for testing."
            resource = {"uri": arguments["resourceUri"], "mimeType": "text/plain", "text": text}
            embedded = {"role": "user", "content": {"type": "resource", "resource": resource}}
            return [embedded, _user("Please process the embedded resource above.")]
        case "test_prompt_with_image":
            return [{"role": "user", "content": IMAGE}, _user("Please analyze the image above.")]
    question = form("What context should the prompt use?", {"context": {"type": "string"}}, "context")
    answer = client.ask({"user_context": question})["user_context"]
    return [_user(f"Context: {answer}")]


def _user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": {"type": "text", "text": text}}
