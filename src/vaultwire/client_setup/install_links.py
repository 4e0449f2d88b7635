"""One-click links: a click lets the client ask whether it shall add our server. A link never carries a key.

Sources: https://cursor.com/docs/mcp/install-links, https://code.visualstudio.com/api/extension-guides/ai/mcp,
https://lmstudio.ai/docs/app/mcp/deeplink, https://block.github.io/goose/docs/getting-started/using-extensions.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode

from vaultwire.client_setup.clients import CLIENTS, Client
from vaultwire.client_setup.problems import SetupError

# goose refuses links that start any other program.
_GOOSE_STARTS = ("jbang", "npx", "uvx", "goosed", "docker")
_ABOUT = "Reads, searches and safely edits the notes of an Obsidian vault"


def link(client: Client, name: str, entry: Mapping[str, Any]) -> str:
    """Return the link that adds an entry to a client. Raises SetupError if the client has no such links."""
    if client.link == "cursor":
        return f"cursor://anysphere.cursor-deeplink/mcp/install?name={quote(name, safe='')}&config={_base64(entry)}"
    if client.link == "vscode":
        config = json.dumps({"name": name, **entry}, ensure_ascii=False, separators=(",", ":"))
        return f"vscode:mcp/install?{quote(config, safe='')}"
    if client.link == "lmstudio":
        return f"lmstudio://add_mcp?name={quote(name, safe='')}&config={_base64(entry)}"
    if client.link == "goose":
        return _goose(name, entry)
    titles = ", ".join(each.title for each in CLIENTS.values() if each.link)
    raise SetupError(f"{client.title} has no one-click links. These have: {titles}")


def _goose(name: str, entry: Mapping[str, Any]) -> str:
    about = [("id", name), ("name", name), ("description", _ABOUT), ("timeout", "300")]
    if "uri" in entry:
        return _query([("url", entry["uri"]), ("type", "streamable_http"), *about])
    command = str(entry["cmd"])
    if os.path.splitext(command)[0] not in _GOOSE_STARTS:
        raise SetupError(
            f"goose takes links only for programs started by {', '.join(_GOOSE_STARTS)}, and this one is {command}. "
            "Run vaultwire client-config goose instead"
        )
    return _query([("cmd", command), *(("arg", each) for each in entry["args"]), *about])


def _query(values: Sequence[tuple[str, str]]) -> str:
    return f"goose://extension?{urlencode(values, quote_via=quote)}"


def _base64(entry: Mapping[str, Any]) -> str:
    text = json.dumps(entry, ensure_ascii=False, separators=(",", ":"))
    return quote(base64.b64encode(text.encode()).decode(), safe="")
