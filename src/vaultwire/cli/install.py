"""``vaultwire install``: put vaultwire into a client's own file, or take it out with ``--undo``."""

from __future__ import annotations

import argparse

from vaultwire.cli import client_config
from vaultwire.cli.terminal import complain, say, say_data, say_rows, say_styled
from vaultwire.client_setup import entries, installing, places
from vaultwire.client_setup.clients import CLIENTS, Client
from vaultwire.client_setup.problems import SetupError
from vaultwire.config import state_folder

_ADDED, _REMOVED, _DIM = "32", "31", "2"


def run(options: argparse.Namespace) -> int:
    """Do it and return the exit code. Raises ConfigError."""
    try:
        if options.client is None:
            return _list_clients(options.name)
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
    wanted = client_config.read_wanted(options)
    client = wanted.client
    if not client.is_written:
        say(f"vaultwire writes no file of {client.title}. {client_config.where(wanted)}", to_stderr=True)
        say_data(installing.pasted(client, wanted.name, wanted.entry))
        return 1
    found = places.find(client, wanted.scope, client_config.this_system())
    if not found.is_installed and not options.force:
        raise SetupError(
            f"{client.title} seems not to be installed here: there is neither {found.path} nor a folder for it. "
            "Start it once, or give --force"
        )
    change = installing.plan(client, found.path, wanted.name, wanted.entry, secret=wanted.secret)
    if not change.changes:
        say(f"Nothing to change: {found.path} has this entry.")
        return 0
    _show(change)
    if options.dry_run:
        say("Nothing was written: this was a dry run.")
        return 0
    state = state_folder()
    record = installing.carry_out(change, state)
    say("", f"Written: {found.path}")
    if record.had_file:
        say(f"The file as it was before: {record.copy}")
    if wanted.secret:
        say("The file holds the key. Only you can read it.")
    say(f"Undo: vaultwire install {_again(options)} --undo", f"Now: {client.then}")
    return 0


def _undo(options: argparse.Namespace) -> int:
    client = CLIENTS[options.client]
    entries.check_name(options.name)
    if not client.is_written:
        raise SetupError(f"vaultwire writes no file of {client.title}: take the entry out by hand")
    found = places.find(client, options.scope, client_config.this_system())
    state = state_folder()
    change = installing.plan_undo(client, found.path, options.name, state)
    if not change.changes:
        say(f"Nothing to undo: {found.path} has no entry named {options.name}.")
        if change.undone is not None and change.undone.had_file:
            say(f"The file as it was before the installation: {change.undone.copy}")
    else:
        _show(change)
    if options.dry_run:
        say("Nothing was written: this was a dry run.")
        return 0
    installing.carry_out_undo(change, state)
    if change.changes:
        gone = change.after is None
        say(
            "",
            f"{'Deleted, because it was not there before' if gone else 'Written'}: {found.path}",
            f"Now: {client.then}",
        )
    return 0


def _show(change: installing.Plan) -> None:
    say_styled((change.path, "1"))
    for line in change.difference():
        say_styled((line, {"+": _ADDED, "-": _REMOVED}.get(line[:1], _DIM)))


def _again(options: argparse.Namespace) -> str:
    """Return the words that name the same file and entry."""
    scope = f" --scope {options.scope}" if options.scope != "user" else ""
    name = f" --name {options.name}" if options.name != "vaultwire" else ""
    return f"{options.client}{scope}{name}"


def _list_clients(name: str) -> int:
    """Print each client, whether it is on this computer, and whether it has vaultwire."""
    system = client_config.this_system()
    rows = []
    for each, client in CLIENTS.items():
        path, state = _state_of(client, name, system)
        rows.append(((each, "1"), (state, _ADDED if state == "has vaultwire" else ""), (path, _DIM)))
    say_rows(rows)
    return 0


def _state_of(client: Client, name: str, system: places.System) -> tuple[str, str]:
    if not client.is_written:
        return client.by_hand or places.find(client, "user", system).path, "by hand"
    found = places.find(client, "user", system)
    if installing.found_entry(client, found.path, name):
        return found.path, "has vaultwire"
    return found.path, "installed" if found.is_installed else "not found"
