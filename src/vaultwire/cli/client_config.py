"""``vaultwire client-config``: print the entry for a client's configuration file, and which file that is.

Only the entry goes to stdout, so that it can be piped; everything else goes to stderr.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from typing import Any, NamedTuple

from vaultwire.cli.terminal import say, say_data
from vaultwire.config import Config
from vaultwire.installation import server_command


class _Client(NamedTuple):
    """One client: its file, and the form of an entry in it."""

    file: str
    key: str = "mcpServers"
    names_transport: bool = False


def _claude_desktop_file() -> str:
    folder = {
        "darwin": "~/Library/Application Support/Claude",
        "win32": "%APPDATA%\\Claude\\",
    }.get(sys.platform, "~/.config/Claude")
    return os.path.join(folder, "claude_desktop_config.json")


_CLIENTS = {
    "claude-desktop": _Client(_claude_desktop_file()),
    "claude-code": _Client(".mcp.json in your project", names_transport=True),
    "cursor": _Client("~/.cursor/mcp.json"),
    "vscode": _Client(".vscode/mcp.json in your project", key="servers", names_transport=True),
    "gemini-cli": _Client("~/.gemini/settings.json"),
    "codex": _Client("~/.codex/config.toml"),
}
CLIENTS = tuple(_CLIENTS)


def run(client: str, config: Config) -> int:
    """Print the client's entry for this vault and return the exit code."""
    say(f"Put this into {_CLIENTS[client].file}, beside the entries there:", to_stderr=True)
    say_data(entry(client, config))
    if client == "claude-code":
        command = " ".join(map(shlex.quote, [*server_command(), *_options(config)]))
        say(f"Or run: claude mcp add --scope user vaultwire -- {command}", to_stderr=True)
    say("Then restart the client.", to_stderr=True)
    return 0


def entry(client: str, config: Config) -> str:
    """Return the text to paste: JSON, or TOML for codex."""
    command, *arguments = server_command()
    arguments += _options(config)
    form = _CLIENTS[client]
    if client == "codex":
        # A JSON string is also a TOML basic string, unless a character is written as a surrogate pair.
        listed = ", ".join(json.dumps(argument, ensure_ascii=False) for argument in arguments)
        quoted = json.dumps(command, ensure_ascii=False)
        return f"[mcp_servers.vaultwire]\ncommand = {quoted}\nargs = [{listed}]"
    server: dict[str, Any] = {"type": "stdio"} if form.names_transport else {}
    server |= {"command": command, "args": arguments}
    return json.dumps({form.key: {"vaultwire": server}}, indent=2, ensure_ascii=False)


def _options(config: Config) -> list[str]:
    """Return the command line that gives these settings."""
    arguments = ["stdio"]
    for vault in config.vault_options:
        arguments += ["--vault", vault]
    for option, is_set in (("--read-only", config.read_only), ("--require-read-first", config.read_first)):
        arguments += [option] if is_set else []
    dialect = None if config.dialect == "mcp" else config.dialect
    for option, value in (
        ("--prompts", config.prompts),
        ("--policy", config.policy),
        ("--backend", config.backend),
        ("--dialect", dialect),
    ):
        arguments += [] if value is None else [option, value]
    return arguments + config.limits.options()
