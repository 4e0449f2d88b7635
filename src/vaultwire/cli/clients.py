"""``vaultwire client-config`` and ``install``: the entry of a client's file, or a link that adds it; printed, or written.

Of ``client-config`` only the entry goes to stdout, so that it can be piped; everything else goes to stderr.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from typing import Any, NamedTuple

from vaultwire.cli import run_options
from vaultwire.cli.command import SERVERS, SETTING_UP, command
from vaultwire.cli.servers import read_key
from vaultwire.cli.terminal import complain, say, say_data, say_rows, say_styled
from vaultwire.client_setup import clients, hook_files, installing, skill_folders
from vaultwire.client_setup.clients import (
    CLIENTS,
    SCOPES,
    Client,
    ClientFile,
    Http,
    Scope,
    SetupError,
    System,
    find_file,
    find_hooks,
    find_skills,
)
from vaultwire.config import ConfigError, make_config, state_folder
from vaultwire.installation import server_command


class Setup(NamedTuple):
    """What a command line asks for: the client, the name and data of our entry, and the key if it is in the entry."""

    client: Client
    name: str
    scope: Scope
    entry: dict[str, Any]
    secret: str = ""


def _add_client_config(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("client", metavar="CLIENT", choices=tuple(CLIENTS), help=f"one of {', '.join(CLIENTS)}")
    linked = ", ".join(name for name, client in CLIENTS.items() if client.link)
    parser.add_argument("--link", action="store_true", help=f"print a one-click link instead, for {linked}")
    _add_entry(parser)


def _add_install(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "client",
        metavar="CLIENT",
        nargs="?",
        choices=tuple(CLIENTS),
        help=f"one of {', '.join(CLIENTS)}; none: list those on this computer",
    )
    parser.add_argument("--dry-run", action="store_true", help="show what would change, and change nothing")
    parser.add_argument("--undo", action="store_true", help="undo the last installation into this client")
    parser.add_argument(
        "--skills",
        action="store_true",
        help="instead of the entry, put skills into the folder where the client reads them: how to work with a vault",
    )
    parser.add_argument(
        "--hooks",
        action="store_true",
        help="instead of the entry, put hooks into the client's settings: a session begins with what memory has of the project",
    )
    parser.add_argument("--force", action="store_true", help="also if the client seems not to be installed here")
    _add_entry(parser)


def _add_entry(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what the entry is and where it belongs."""
    entry = parser.add_argument_group("the entry")
    entry.add_argument(
        "--scope", choices=SCOPES, default="user", help="your own file, or that of the project in this folder (user)"
    )
    entry.add_argument("--name", default="vaultwire", help="the name of the entry (vaultwire)")
    entry.add_argument(
        "--http", metavar="URL", help="use a running vaultwire serve at this address, instead of starting one"
    )
    entry.add_argument("--key-file", metavar="FILE", help="file with the API key of that server and nothing else")
    entry.add_argument("--key-env", metavar="VARIABLE", help="variable that holds the API key when the client runs")
    run_options.add_all(parser)


@command(
    "client-config",
    SERVERS,
    "print the entry that makes a client use vaultwire",
    "vaultwire client-config claude-desktop --vault ~/Notes",
    "vaultwire client-config cursor --vault ~/Notes --link",
    options=_add_client_config,
)
def client_config(options: argparse.Namespace) -> int:
    """Print the client's entry and return the exit code. Raises ConfigError."""
    try:
        setup = read_setup(options)
        if options.link:
            return _print_link(setup, options)
        say(f"For {setup.client.title}. {where(setup)}", to_stderr=True)
        say_data(installing.pasted(setup.client, setup.name, setup.entry))
    except SetupError as error:
        complain(str(error))
        return 1
    if options.client == "claude-code" and "command" in setup.entry:
        command = " ".join(map(shlex.quote, [setup.entry["command"], *setup.entry["args"]]))
        say(f"Or run: claude mcp add --scope user {setup.name} -- {command}", to_stderr=True)
    if setup.client.is_written:
        say(f"vaultwire install {options.client} does it for you.", to_stderr=True)
    say(f"Then: {setup.client.then}", to_stderr=True)
    return 0


def where(setup: Setup) -> str:
    """Return where a person puts the entry. Raises SetupError."""
    if setup.client.file is None:
        return setup.client.by_hand
    path = find_file(setup.client, setup.scope, this_system()).path
    return f"Put this into {path}, beside the entries there:"


def _print_link(setup: Setup, options: argparse.Namespace) -> int:
    if setup.secret:
        raise SetupError("a link with a key in it gives the key to everybody who sees the link: leave --key-file out")
    say_data(clients.link(setup.client, setup.name, setup.entry))
    kind = "the address of the server" if options.http else "paths of this computer: it works only here"
    say(f"Open it in a browser. {setup.client.title} asks before it adds the server. It has {kind}.", to_stderr=True)
    return 0


def read_setup(options: argparse.Namespace) -> Setup:
    """Return what the options of ``add_entry_options`` ask for. Raises SetupError and ConfigError."""
    client = CLIENTS[options.client]
    clients.check_name(options.name)
    if options.http is None:
        if options.key_file or options.key_env:
            raise ConfigError("--key-file and --key-env are for a server over HTTP: give --http URL, too")
        config = make_config(**run_options.read_all(options))
        arguments = run_options.to_arguments(run_options.add_all, options, config)
        entry = clients.stdio_entry(client, options.name, [*server_command(), "stdio", *arguments])
        return Setup(client, options.name, options.scope, entry)
    server = _read_http(options)
    entry = clients.http_entry(client, options.name, server, server_command())
    secret = server.key if client.http is not None else ""
    if secret and options.scope == "project":
        raise ConfigError(
            "--key-file would put the key into a file of the project, which others get, too: use --key-env VARIABLE"
        )
    return Setup(client, options.name, options.scope, entry, secret)


def _read_http(options: argparse.Namespace) -> Http:
    given = run_options.given_arguments(run_options.add_all, vars(options))
    if given:
        raise ConfigError(
            f"with --http, the server at that address decides about its vaults and what is allowed: leave {given[0]} out"
        )
    clients.endpoint(options.http)
    if options.key_file and options.key_env:
        raise ConfigError("give --key-file or --key-env, not both")
    if options.key_env:
        clients.check_variable(options.key_env)
        return Http(options.http, variable=options.key_env)
    if options.key_file:
        path = os.path.abspath(os.path.expanduser(options.key_file))
        return Http(options.http, key=read_key(path), key_file=path)
    return Http(options.http)


def this_system() -> System:
    """Return the computer that this runs on."""
    return System(sys.platform, os.environ, os.path.expanduser("~"), os.getcwd())


_ADDED, _REMOVED, _DIM = "32", "31", "2"


@command(
    "install",
    SETTING_UP,
    "put vaultwire into a client's own file, or take it out",
    "vaultwire install",
    "vaultwire install claude-desktop --vault ~/Notes --dry-run",
    "vaultwire install cursor --http https://notes.example.org --key-env VAULTWIRE_KEY",
    "vaultwire install cursor --undo",
    "vaultwire install claude-code --skills",
    "vaultwire install claude-code --hooks --vault ~/Notes",
    options=_add_install,
)
def install(options: argparse.Namespace) -> int:
    """Do it and return the exit code. Raises ConfigError."""
    try:
        if options.client is None:
            if options.skills or options.hooks:
                kind = "skills" if options.skills else "hooks"
                raise ConfigError(f"name the client that shall get the {kind}, such as claude-code")
            return _list_clients(options.name)
        if options.skills and options.hooks:
            raise ConfigError("--skills and --hooks are installed one after the other: leave one out")
        if options.skills:
            return _install_skills(options)
        if options.hooks:
            return _install_hooks(options)
        if options.undo:
            return _undo(options)
        return _install(options)
    except SetupError as error:
        complain(str(error))
        return 1
    except OSError as error:
        complain(f"{error.filename or 'the file of the client'}: {error.strerror or error}")
        return 1


def _install(options: argparse.Namespace) -> int:
    setup = read_setup(options)
    client = setup.client
    if not client.is_written:
        say(f"vaultwire writes no file of {client.title}. {where(setup)}", to_stderr=True)
        say_data(installing.pasted(client, setup.name, setup.entry))
        return 1
    file = find_file(client, setup.scope, this_system())
    _check_installed(client, file, options)
    change = installing.plan(client, file.path, setup.name, setup.entry, secret=setup.secret)
    if not change.changes:
        say(f"Nothing to change: {file.path} has this entry.")
        return 0
    if not _show(change, options):
        return 0
    state = state_folder()
    record = installing.carry_out(change, state)
    say("", f"Written: {file.path}")
    if record.had_file:
        say(f"The file as it was before: {record.copy}")
    if setup.secret:
        say("The file holds the key. Only you can read it.")
    say(f"Undo: vaultwire install {_again(options)} --undo", f"Now: {client.then}")
    return 0


def _check_installed(client: Client, file: ClientFile, options: argparse.Namespace) -> None:
    if not file.is_installed and not options.force:
        raise SetupError(
            f"{client.title} seems not to be installed here: there is no folder of it. Start it once, or give --force"
        )


def _undo(options: argparse.Namespace) -> int:
    client = CLIENTS[options.client]
    clients.check_name(options.name)
    if not client.is_written:
        raise SetupError(f"vaultwire writes no file of {client.title}: take the entry out by hand")
    file = find_file(client, options.scope, this_system())
    state = state_folder()
    change = installing.plan_undo(client, file.path, options.name, state)
    if not change.changes:
        say(f"Nothing to undo: {file.path} has no entry named {options.name}.")
        if change.undone is not None and change.undone.had_file:
            say(f"The file as it was before the installation: {change.undone.copy}")
        _is_dry(options)
    elif _show(change, options):
        installing.carry_out_undo(change, state)
        done = "Deleted, because it was not there before" if change.after is None else "Written"
        say("", f"{done}: {file.path}", f"Now: {client.then}")
    return 0


def _install_skills(options: argparse.Namespace) -> int:
    """Put the skills into the client's folder, or take them out."""
    entry = [f"--{name.replace('_', '-')}" for name in ("http", "key_file", "key_env") if getattr(options, name)]
    entry += run_options.given_arguments(run_options.add_all, vars(options))
    if entry:
        raise ConfigError(
            f"skills are the same for every vault and server: leave {entry[0]} out, or leave --skills out"
        )
    client = CLIENTS[options.client]
    file = find_skills(client, options.scope, this_system())
    state = state_folder()
    if options.undo:
        change = skill_folders.plan_undo(file.path, options.client, state)
    else:
        _check_installed(client, file, options)
        change = skill_folders.plan(file.path, options.client, state)
    say_styled((file.path, "1"))
    for path in change.write:
        say_styled((f"+ {path}", _ADDED))
    for path in change.remove:
        say_styled((f"- {path}", _REMOVED))
    for path in change.stay:
        say_styled((f"  {path} stays as it is: it is not, or no longer, what vaultwire wrote", _DIM))
    if change.others:
        titles = ", ".join(CLIENTS[name].title if name in CLIENTS else name for name in change.others)
        say(f"The skills stay for {titles}: that client reads the same folder.")
    elif not change.changes:
        say("Nothing to undo here." if options.undo else "Nothing to change: the skills are there.")
    if _is_dry(options):
        return 0
    skill_folders.carry_out(change, state)
    if change.changes and not options.undo:
        say(f"Undo: vaultwire install {_again(options)} --undo", f"Now: start a new session in {client.title}.")
    return 0


def _install_hooks(options: argparse.Namespace) -> int:
    """Put the hooks of memory into the client's settings, or take them out."""
    client = CLIENTS[options.client]
    file = find_hooks(client, options.scope, this_system())
    assert client.hooks is not None
    state = state_folder()
    if options.undo:
        change = hook_files.plan_undo(client.hooks, file.path, state)
    else:
        if options.http:
            raise ConfigError("hooks read the folder of memory themselves: give --vault PATH instead of --http")
        _check_installed(client, file, options)
        config = make_config(options.vault, policy=options.policy, memory_folder=options.memory_folder)
        arguments = run_options.to_arguments(run_options.add_memory, options, config)
        change = hook_files.plan(client.hooks, file.path, [*server_command(), "memory", "<action>", *arguments])
    if not change.changes:
        say(f"Nothing to undo: {file.path} has no such hooks." if options.undo else f"{file.path} has these hooks.")
        return 0
    if not _show(change, options):
        return 0
    if options.undo:
        installing.carry_out_undo(change, state)
        say("", f"{'Deleted' if change.after is None else 'Written'}: {file.path}")
        return 0
    installing.carry_out(change, state)
    say("", f"Written: {file.path}", f"Undo: vaultwire install {_again(options)} --undo", f"Now: {client.hooks.then}.")
    return 0


def _show(change: installing.Plan, options: argparse.Namespace) -> bool:
    """Print what changes; return whether it is to be written: not in a dry run."""
    say_styled((change.path, "1"))
    for line in change.difference():
        say_styled((line, {"+": _ADDED, "-": _REMOVED}.get(line[:1], _DIM)))
    return not _is_dry(options)


def _is_dry(options: argparse.Namespace) -> bool:
    if options.dry_run:
        say("Nothing was written: this was a dry run.")
    return bool(options.dry_run)


def _again(options: argparse.Namespace) -> str:
    """Return the words that name the same file and entry."""
    scope = f" --scope {options.scope}" if options.scope != "user" else ""
    name = f" --name {options.name}" if options.name != "vaultwire" else ""
    kind = " --skills" if options.skills else " --hooks" if options.hooks else ""
    return f"{options.client}{kind}{scope}{name}"


def _list_clients(name: str) -> int:
    """Print each client, whether it is on this computer, and whether it has vaultwire."""
    system = this_system()
    rows = []
    for each, client in CLIENTS.items():
        path, state = _state_of(client, name, system)
        rows.append(((each, "1"), (state, _ADDED if state == "has vaultwire" else ""), (path, _DIM)))
    say_rows(rows)
    return 0


def _state_of(client: Client, name: str, system: System) -> tuple[str, str]:
    if not client.is_written:
        return client.by_hand or find_file(client, "user", system).path, "by hand"
    file = find_file(client, "user", system)
    if installing.has_entry(client, file.path, name):
        return file.path, "has vaultwire"
    return file.path, "installed" if file.is_installed else "not found"
