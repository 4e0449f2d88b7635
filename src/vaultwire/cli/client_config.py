"""``vaultwire client-config``: print the entry for a client's file, or a link that adds it, and which file that is.

Only the entry goes to stdout, so that it can be piped; everything else goes to stderr.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from typing import Any, NamedTuple

from vaultwire.cli import connect, run_options
from vaultwire.cli.terminal import complain, say, say_data
from vaultwire.client_setup import entries, install_links, installing, places
from vaultwire.client_setup.clients import CLIENTS, Client, Scope
from vaultwire.client_setup.entries import Http
from vaultwire.client_setup.places import System
from vaultwire.client_setup.problems import SetupError
from vaultwire.config import Config, ConfigError, make_config
from vaultwire.installation import server_command


class Wanted(NamedTuple):
    """What a command line asks for: the client, the name and data of our entry, and the key if it is in the entry."""

    client: Client
    name: str
    scope: Scope
    entry: dict[str, Any]
    secret: str = ""


def run(options: argparse.Namespace) -> int:
    """Print the client's entry and return the exit code. Raises ConfigError."""
    try:
        wanted = read_wanted(options)
        if options.link:
            return _print_link(wanted, options)
        say(f"For {wanted.client.title}. {where(wanted)}", to_stderr=True)
        say_data(installing.pasted(wanted.client, wanted.name, wanted.entry))
    except SetupError as error:
        complain(str(error))
        return 1
    if options.client == "claude-code" and "command" in wanted.entry:
        command = " ".join(map(shlex.quote, [wanted.entry["command"], *wanted.entry["args"]]))
        say(f"Or run: claude mcp add --scope user {wanted.name} -- {command}", to_stderr=True)
    if wanted.client.is_written:
        say(f"vaultwire install {options.client} does it for you.", to_stderr=True)
    say(f"Then: {wanted.client.then}", to_stderr=True)
    return 0


def where(wanted: Wanted) -> str:
    """Return where a person puts the entry. Raises SetupError."""
    if wanted.client.file is None:
        return wanted.client.by_hand
    path = places.find(wanted.client, wanted.scope, this_system()).path
    return f"Put this into {path}, beside the entries there:"


def _print_link(wanted: Wanted, options: argparse.Namespace) -> int:
    if wanted.secret:
        raise SetupError("a link with a key in it gives the key to everybody who sees the link: leave --key-file out")
    say_data(install_links.link(wanted.client, wanted.name, wanted.entry))
    kind = "the address of the server" if options.http else "paths of this computer: it works only here"
    say(f"Open it in a browser. {wanted.client.title} asks before it adds the server. It has {kind}.", to_stderr=True)
    return 0


def read_wanted(options: argparse.Namespace) -> Wanted:
    """Return what the options of ``add_entry_options`` ask for. Raises SetupError and ConfigError."""
    client = CLIENTS[options.client]
    entries.check_name(options.name)
    if options.http is None:
        if options.key_file or options.key_env:
            raise ConfigError("--key-file and --key-env are for a server over HTTP: give --http URL, too")
        entry = entry_for(client, make_config(**run_options.read_all(options)), options.name)
        return Wanted(client, options.name, options.scope, entry)
    server = _read_http(options)
    entry = entries.http_entry(client, options.name, server, server_command())
    secret = server.key if client.http is not None else ""
    if secret and options.scope == "project":
        raise ConfigError(
            "--key-file would put the key into a file of the project, which others get, too: use --key-env VARIABLE"
        )
    return Wanted(client, options.name, options.scope, entry, secret)


def _read_http(options: argparse.Namespace) -> Http:
    settings = run_options.read_all(options)
    given = [f"--{name.replace('_', '-')}" for name, value in settings.items() if value and name != "limits"]
    given += settings["limits"].options() if settings["limits"] else []
    if given:
        raise ConfigError(
            f"with --http, the server at that address decides about its vaults and what is allowed: leave {given[0]} out"
        )
    entries.endpoint(options.http)
    if options.key_file and options.key_env:
        raise ConfigError("give --key-file or --key-env, not both")
    if options.key_env:
        entries.check_variable(options.key_env)
        return Http(options.http, variable=options.key_env)
    if options.key_file:
        path = os.path.abspath(os.path.expanduser(options.key_file))
        return Http(options.http, key=connect.read_key(path), key_file=path)
    return Http(options.http)


def entry_for(client: Client, config: Config, name: str) -> dict[str, Any]:
    """Return the entry that starts a server with these settings."""
    return entries.stdio_entry(client, name, [*server_command(), *_options(config)])


def entry(client: str, config: Config) -> str:
    """Return the text to paste for a client."""
    return installing.pasted(CLIENTS[client], "vaultwire", entry_for(CLIENTS[client], config, "vaultwire"))


def this_system() -> System:
    """Return the computer that this runs on."""
    return System(sys.platform, os.environ, os.path.expanduser("~"), os.getcwd())


def _options(config: Config) -> list[str]:
    """Return the command line that gives these settings."""
    arguments = ["stdio"]
    for vault in config.vault_options:
        arguments += ["--vault", vault]
    for option, is_set in (
        ("--read-only", config.read_only),
        ("--require-read-first", config.read_first),
        ("--structured", config.structured),
    ):
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
