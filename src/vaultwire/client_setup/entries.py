"""The entry of a server in a client's file, as plain data: a command that the client starts, or an address over HTTP."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from vaultwire.client_setup import clients
from vaultwire.client_setup.clients import Client
from vaultwire.client_setup.problems import SetupError

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
