"""The short form in which tools are listed to a model: what it needs to choose and call one, and no more.

Every byte of the list is paid for in every conversation. What is left out here still holds: arguments are checked against
the full schema. ``tools.instructions`` says once what ``SAID_ONCE`` does not say with each argument.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any, TypeAlias

    Schema: TypeAlias = Mapping[str, Any]

NOTE_NAME = "The note, named as for read_notes."
FOLDER = "Look only below this folder. Empty for the whole vault."
LIMIT = "How many to return."
IF_MATCH = "Etag from read_notes. The note is changed only if it still is what was read."
DRY_RUN = "Only show what would be changed."
CURSOR = "next_cursor of the page before. Leave out for the first page."
VAULT = "Which vault. The first one if left out."
SAID_ONCE = frozenset((NOTE_NAME, FOLDER, LIMIT, IF_MATCH, DRY_RUN, CURSOR, VAULT))
# Arguments that are taken and not listed: rare ones, and those in whose place another one is listed.
_NOT_LISTED = {
    "search_notes": ("exact_total", "max_tokens"),
    "find_notes": ("alias",),
    "read_notes": ("max_characters",),
    "list_links": ("depth", "direction"),
    "query_base": ("block", "this", "max_tokens"),
    "create_note": ("beside", "allow_broken"),
    "append_daily_note": ("dry_run",),
    "edit_note": ("diff", "allow_broken"),
    "set_properties": ("properties", "if_match"),
    "rename": ("if_match",),
    "vault_overview": ("depth",),
}
# Arguments whose name says to a model what their description says to a reader of the page.
_SAYS_ITSELF = {
    "search_notes": ("query",),
    "find_notes": ("modified_before", "sort"),
    "list_links": ("path", "what", "to"),
    "vault_overview": ("what",),
    "list_tasks": ("text", "tag", "path", "sort"),
    "check_notes": ("path",),
    "create_note": ("path", "content", "template", "if_exists"),
    "append_daily_note": ("content",),
    "read_notes": ("part",),
    "edit_note": ("action", "content", "lines", "property"),
    "set_properties": ("paths", "remove"),
    "move_notes": ("paths",),
    "rename": ("what", "old", "new"),
    "delete_note": ("path",),
    "list_changes": ("path", "change", "since", "before"),
    "undo_changes": ("changes",),
    "more_tools": ("arguments",),
}
_KEPT = ("type", "description", "enum")
# What clients take to hold where an annotation is left out (the specification, "ToolAnnotations").
_DEFAULT_HINTS = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}


def lean_text(description: str) -> str:
    """Return what is said of a tool where it is listed: the first paragraph."""
    return description.partition("\n\n")[0]


def lean_schema(tool: str, schema: Schema) -> dict[str, Any]:
    """Return a tool's input schema as it is listed."""
    return _lean(schema, _NOT_LISTED.get(tool, ()), _SAYS_ITSELF.get(tool, ()))


def not_listed(tool: str) -> tuple[str, ...]:
    """Return the names of the arguments that a tool takes and that are not listed."""
    return _NOT_LISTED.get(tool, ())


def lean_hints(annotations: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool's annotations as they are listed: those that say more than none would."""
    hints = {name: value for name, value in annotations.items() if _DEFAULT_HINTS.get(name, value) is not value}
    hints.pop("title", None)  # the tool has it
    if hints.get("readOnlyHint"):  # the others speak of changes
        hints.pop("destructiveHint", None)
        hints.pop("idempotentHint", None)
    return hints


def _lean(schema: Schema, not_listed: Collection[str] = (), says_itself: Collection[str] = ()) -> dict[str, Any]:
    lean = {name: schema[name] for name in _KEPT if name in schema}
    if "items" in schema:
        lean["items"] = _lean(schema["items"], (), says_itself)
    if "properties" in schema:
        members = {name: each for name, each in schema["properties"].items() if name not in not_listed}
        lean["properties"] = {name: _lean(each, (), says_itself) for name, each in members.items()}
        for name, each in lean["properties"].items():
            if name in says_itself or each.get("description") in SAID_ONCE:
                each.pop("description", None)
        if schema.get("required"):
            lean["required"] = schema["required"]
    return lean
