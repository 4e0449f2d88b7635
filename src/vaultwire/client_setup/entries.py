"""The entry of a server in a client's file, as plain data: a command that the client starts, or an address over HTTP."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from vaultwire.client_setup import clients
from vaultwire.client_setup.clients import CLIENTS, Client, SetupError

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Http(NamedTuple):
    """A server over HTTP. Its key is the text ``key``, or in the variable of the environment that ``variable`` names."""

    url: str
    key: str = ""
    variable: str = ""
    key_file: str = ""


def stdio_entry(client: Client, name: str, command: Sequence[str]) -> dict[str, Any]:
    """Return the entry of a server that the client starts. Raises SetupError."""
    for word in command:
        if any("\ud800" <= character <= "\udfff" for character in word):  # how Python holds bytes that are not UTF-8
            raise SetupError(
                f"{word!r} is not UTF-8, and files of clients hold no other text. Rename that folder or file"
            )
    program, *arguments = command
    values = {
        clients.NAME: name,
        clients.COMMAND: program,
        clients.ARGUMENTS: arguments,
        clients.COMMAND_LINE: list(command),
    }
    return _filled(client.stdio, values)


def http_entry(client: Client, name: str, server: Http, bridge: Sequence[str]) -> dict[str, Any]:
    """Return the entry of a server over HTTP. ``bridge``: the command of ``vaultwire``. Raises SetupError.

    A client that knows only servers which it starts gets ``vaultwire connect``, which reads the key from its file.
    """
    if client.http is None:
        if server.variable:
            raise SetupError(
                f"{client.title} starts vaultwire connect for a server over HTTP, without your environment: "
                "give --key-file FILE instead of --key-env"
            )
        key_file = ["--key-file", server.key_file] if server.key_file else []
        return stdio_entry(client, name, [*bridge, "connect", server.url, *key_file])
    form = client.http
    headers = {}
    if server.variable:
        if not client.reference:
            raise SetupError(
                f"{client.title} does not read variables of the environment in its file: give --key-file FILE. The key is then "
                "in the client's file, which only you can read"
            )
        form = client.http_with_variable or form
        headers = {"Authorization": "Bearer " + client.reference % server.variable}
    elif server.key:
        headers = {"Authorization": f"Bearer {server.key}"}
    values = {
        clients.NAME: name,
        clients.URL: endpoint(server.url),
        clients.HEADERS: headers or None,
        clients.TOKEN_VARIABLE: server.variable,
    }
    return _filled(form, values)


def _filled(form: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    filled = {member: values.get(value, value) if isinstance(value, str) else value for member, value in form.items()}
    return {member: value for member, value in filled.items() if value is not None}


def renewed(entry: Mapping[str, Any], before: Any) -> dict[str, Any]:
    """Return an entry with what the person had added to the one before, such as ``disabled`` or ``env``."""
    kept = dict(before) if isinstance(before, Mapping) else {}
    return {
        **entry,
        **{key: value for key, value in kept.items() if key not in entry and key not in clients.OUR_MEMBERS},
    }


def endpoint(url: str) -> str:
    """Return the address of a server's MCP endpoint: a bare one gets ``/mcp``. Raises SetupError."""
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid or not url.isprintable() or " " in url:
        raise SetupError(
            f"not a URL of a server: {url!r}. Give one such as https://notes.example.org or http://127.0.0.1:3000"
        )
    if parts.username is not None or parts.password is not None:
        raise SetupError("a password in a URL ends in logs. Give the key with --key-env VARIABLE or --key-file FILE")
    return f"{url.rstrip('/')}/mcp" if parts.path in ("", "/") and not parts.query else url


def check_name(name: str) -> None:
    """Raise SetupError unless every client takes the name of a server."""
    if _NAME.fullmatch(name) is None:
        raise SetupError(
            f"not a name that every client takes: {name!r}. Use letters, digits, - and _, at most 64 of them"
        )


def check_variable(name: str) -> None:
    """Raise SetupError unless this can be the name of a variable. A key itself may look like one, so it is not repeated."""
    if _VARIABLE.fullmatch(name) is None:
        raise SetupError("--key-env takes the name of a variable, such as VAULTWIRE_KEY, and not the key itself")


# One-click links: a click lets the client ask whether it shall add our server. A link never carries a key.
#
# Sources: https://cursor.com/docs/mcp/install-links, https://code.visualstudio.com/api/extension-guides/ai/mcp,
# https://lmstudio.ai/docs/app/mcp/deeplink, https://block.github.io/goose/docs/getting-started/using-extensions.

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
