"""``vaultwire client-config``: what to paste into which file, for each client.

The entry goes to stdout and nothing else does, so that it can be piped; where it belongs is said on stderr.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from typing import Any, NamedTuple

from vaultwire.cli.terminal import say, say_data
from vaultwire.config import Config


class _Client(NamedTuple):
    """One client: the file its entries live in, and their form there."""

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
    say(f"Put this into {_CLIENTS[client].file}, beside what is there:", to_stderr=True)
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
        # A JSON string is a TOML basic string as long as nothing in it is written as a surrogate pair.
        listed = ", ".join(json.dumps(argument, ensure_ascii=False) for argument in arguments)
        quoted = json.dumps(command, ensure_ascii=False)
        return f"[mcp_servers.vaultwire]\ncommand = {quoted}\nargs = [{listed}]"
    server: dict[str, Any] = {"type": "stdio"} if form.names_transport else {}
    server |= {"command": command, "args": arguments}
    return json.dumps({form.key: {"vaultwire": server}}, indent=2, ensure_ascii=False)


def server_command() -> list[str]:
    """Return the command that starts this very installation: clients do not know its virtual environment."""
    script = os.path.join(os.path.dirname(sys.executable), "vaultwire.exe" if os.name == "nt" else "vaultwire")
    return [script] if os.path.exists(script) else [sys.executable, "-m", "vaultwire"]


def _options(config: Config) -> list[str]:
    prompts = [] if config.prompts is None else ["--prompts", config.prompts]
    policy = [] if config.policy is None else ["--policy", config.policy]
    backend = [] if config.backend is None else ["--backend", config.backend]
    dialect = [] if config.dialect == "mcp" else ["--dialect", config.dialect]
    flags = [
        flag
        for flag, is_set in (("--read-only", config.read_only), ("--require-read-first", config.read_first))
        if is_set
    ]
    vaults = [option for vault in config.vault_options for option in ("--vault", vault)]
    limits = [] if config.limits is None else config.limits.options()
    return ["stdio", *vaults, *flags, *prompts, *policy, *backend, *dialect, *limits]
