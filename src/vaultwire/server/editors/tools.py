"""The list of tools on an editor's socket, and checks of their arguments. Clients call these tools themselves.

Clients show their model ``getDiagnostics`` only: its description is product text. There is no ``executeCode``.
"""

from __future__ import annotations

import re
from typing import Any

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_TEXT = {"type": "string"}


def _tool(name: str, description: str, *required: str, **optional: dict[str, Any]) -> dict[str, Any]:
    properties = {**dict.fromkeys(required, _TEXT), **optional}
    schema = {"type": "object", "properties": properties, "required": list(required), "additionalProperties": True}
    return {"name": name, "description": description, "inputSchema": schema}


TOOLS = [
    _tool(
        "openDiff",
        "Show the person a change to a note; they accept it, edit it or refuse it",
        *("old_file_path", "new_file_path", "new_file_contents", "tab_name"),
    ),
    _tool("close_tab", "Close a change that is shown", "tab_name"),
    _tool("closeAllDiffTabs", "Close all changes that are shown"),
    _tool(
        "getDiagnostics",
        "What is broken in a note: links, embeds and headings that lead nowhere, broken frontmatter, properties of a "
        "wrong type, block ids used twice, broken canvases",
        uri={
            **_TEXT,
            "description": "The note: its path or file:// URI. Without it, the notes that were asked about before",
        },
    ),
    _tool(
        "openFile",
        "Show the person a note",
        "filePath",
        startLine={"type": "integer"},
        makeFrontmost={"type": "boolean"},
    ),
    _tool("getCurrentSelection", "What is selected in the note in front"),
    _tool("getLatestSelection", "What was selected last"),
    _tool("getOpenEditors", "The notes that are open"),
    _tool("getWorkspaceFolders", "The vault's folder"),
    _tool("checkDocumentDirty", "Whether a note has changes that are not saved", "filePath"),
    _tool("saveDocument", "Save a note", "filePath"),
]

# For Gemini CLI and Qwen Code (``ide_companion``).
COMPANION_TOOLS = [
    _tool(
        "openDiff", "Show the person a change to a note; they accept it, edit it or refuse it", "filePath", "newContent"
    ),
    _tool("closeDiff", "Close a change that is shown", "filePath", suppressNotification={"type": "boolean"}),
]


def argument(arguments: dict[str, Any], name: str, default: Any = None) -> str:
    """Return an argument that is a text. Raises ValueError, with a message for the client."""
    value = arguments.get(name, default)
    if not isinstance(value, str):
        raise ValueError(f"{name} must be a text")  # noqa: TRY004 - an argument's, not a programmer's, mistake
    return value


def name_argument(arguments: dict[str, Any], name: str, default: Any = None) -> str:
    """Return an argument that names a file or a tab: one line, because a person sees it. See ``argument``."""
    value = argument(arguments, name, default)
    if _CONTROL.search(value):
        raise ValueError(f"{name} must be one line of whole characters, without control characters")
    return value
