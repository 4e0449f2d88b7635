"""The OpenAPI 3.1 document of the REST API, made from the tools' own schemas."""

from __future__ import annotations

from typing import Any

from vaultwire import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


def _object(*, optional: Collection[str] = (), **properties: Any) -> dict[str, Any]:
    """Return the schema of an object that has these properties and no others."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


_TEXT = {"type": "string"}
_CONTENT = {"type": "array", "items": {"$ref": "#/components/schemas/Content"}}
_SCHEMAS: dict[str, Any] = {
    "Content": {
        "type": "object",
        "description": "A block of content in MCP's own form.",
        "properties": {"type": _TEXT, "text": _TEXT},
        "required": ["type"],
    },
    "Called": {
        "description": "What came of a call: of one that worked, or of one whose tool could not do it.",
        "oneOf": [
            _object(success={"const": True}, content=_CONTENT),
            _object(success={"const": False}, content=_CONTENT, isError={"const": True}),
        ],
    },
    "Document": {"type": "object"},
    "Error": _object(error=_TEXT, message=_TEXT, details=_TEXT, optional=("details",)),
    "Health": _object(status={"const": "ok"}, version=_TEXT, protocolVersion={"const": "1"}),
    "Tools": _object(
        tools={
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": _TEXT, "description": _TEXT, "inputSchema": {"type": "object"}},
                "required": ["name", "description", "inputSchema"],
            },
        },
        hash={"type": "string", "pattern": "^[0-9a-f]{64}$"},
    ),
}
_ERRORS = {
    "400": "The body is not JSON of the form that is asked for.",
    "401": "A key is needed, and none of this server's was sent.",
    "403": "The request comes from a page that may not call.",
    "413": "The body has more than 1 MiB.",
    "429": "This client calls too often; Retry-After says in how many seconds it may again.",
    "500": "The server failed; its log says more.",
}


def to_document(tools: Sequence[dict[str, Any]], url: str) -> dict[str, Any]:
    """Return the document of the API at a URL, for the tools as ``GET /tools`` lists them."""
    paths: dict[str, Any] = {
        "/health": {"get": _reading("health", "Is the server alive?", "Health")},
        "/tools": {"get": _reading("tools", "The tools, and a hash that changes when they do.", "Tools")},
        "/openapi.json": {"get": _reading("openapi", "This document.", "Document")},
    }
    for tool in tools:
        paths[f"/tools/{tool['name']}/call"] = {"post": _calling(tool)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Vaultwire",
            "version": __version__,
            "summary": "The tools of one Obsidian vault, over HTTP.",
        },
        "servers": [{"url": url}],
        # The empty one: on the computer itself a server need not ask for a key.
        "security": [{}, {"key": []}],
        "paths": paths,
        "components": {
            "schemas": _SCHEMAS,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _reading(operation: str, summary: str, schema: str) -> dict[str, Any]:
    return {
        "operationId": operation,
        "summary": summary,
        "responses": {"200": _answer(summary, schema), "401": _error("401")},
    }


def _calling(tool: dict[str, Any]) -> dict[str, Any]:
    return {
        "operationId": tool["name"],
        "summary": tool["description"].partition("\n")[0],
        "description": tool["description"],
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": {
                        "type": "object",
                        "properties": {"arguments": _as_taken(tool["inputSchema"])},
                        "required": ["arguments"],
                    }
                }
            },
        },
        "responses": {
            "200": _answer("The tool was called; `success` says whether it could do it.", "Called"),
            **{status: _error(status) for status in _ERRORS},
        },
    }


def _as_taken(schema: dict[str, Any]) -> dict[str, Any]:
    """Return an input schema with no types for the members of objects that take any: these members are only examples.

    Lists of tools keep the types: some models' APIs refuse an object that names no typed member.
    """
    if schema["type"] == "array":
        return {**schema, "items": _as_taken(schema["items"])}
    if schema["type"] != "object":
        return schema
    members = schema["properties"]
    if schema["additionalProperties"] is True:
        return {**schema, "properties": {name: {} for name in members}}
    return {**schema, "properties": {name: _as_taken(member) for name, member in members.items()}}


def _answer(description: str, schema: str) -> dict[str, Any]:
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}
    return {"description": description, "content": content}


def _error(status: str) -> dict[str, Any]:
    return _answer(_ERRORS[status], "Error")
