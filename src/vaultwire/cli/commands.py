"""The commands and their options. The work of each command is in a module of its own beside this one."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from vaultwire import __version__
from vaultwire.cli import (
    audit,
    check,
    client_config,
    connect,
    demo,
    doctor,
    editor_commands,
    ide,
    keys,
    plugin,
    policy,
    run_options,
    serve,
    stdio,
    vaults,
)
from vaultwire.config import make_config

_DESCRIPTION = "One program between an Obsidian vault and the AI assistants and editors that work with it."
_EPILOG = "Start with: vaultwire demo. Then: vaultwire client-config claude-desktop --vault PATH"


def run(arguments: Sequence[str]) -> int:
    """Run a command line and return its exit code. A wrong one ends the process with 2 and says what is right."""
    options = _parser().parse_args(arguments)
    try:
        code: int = options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output has closed it: `vaultwire doctor | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="vaultwire", description=_DESCRIPTION, epilog=_EPILOG)
    parser.add_argument("--version", action="version", version=f"vaultwire {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_servers(commands)
    _add_editors(commands)
    _add_tools(commands)
    return parser


def _add_servers(commands: Any) -> None:
    """Add the commands that serve a vault or relay to a server."""
    over_stdio = commands.add_parser("stdio", help="serve a vault to an MCP client over stdin and stdout")
    run_options.add_all(over_stdio)
    over_stdio.add_argument(
        "--standalone", action="store_true", help="use no running vaultwire serve, even if there is one"
    )
    over_stdio.set_defaults(
        run=lambda options: stdio.serve(standalone=options.standalone, **run_options.read_all(options))
    )

    over_http = commands.add_parser("serve", help="serve a vault to clients over HTTP: MCP and a REST API")
    run_options.add_all(over_http)
    serve.add_options(over_http)
    over_http.set_defaults(run=lambda options: serve.run(make_config(**run_options.read_all(options)), options))

    relay = commands.add_parser("connect", help="connect an MCP client at stdin and stdout to a server elsewhere")
    connect.add_options(relay)
    relay.set_defaults(run=connect.run)


def _add_editors(commands: Any) -> None:
    """Add the commands for assistants that work with an editor."""
    editor = commands.add_parser(
        "ide", help="be an editor to Claude Code: it sees which note is open, and asks before it writes"
    )
    run_options.add_vault(editor)
    run_options.add_policy(editor)
    ide.add_options(editor)
    editor.set_defaults(run=lambda options: ide.run(make_config(options.vault, policy=options.policy), options))

    for name, words in (("mention", "mention a note to"), ("select", "show a note as the active one to")):
        command = commands.add_parser(name, help=f"{words} the assistants at a running vaultwire ide")
        run_options.add_vault(command)
        editor_commands.add_options(command)
        command.set_defaults(run=partial(editor_commands.run, do=name))

    installer = commands.add_parser("plugin", help="install the companion plugin in a vault's Obsidian, or remove it")
    plugin.add_options(installer)
    installer.set_defaults(run=plugin.run)


def _add_tools(commands: Any) -> None:
    """Add the commands that show, check and set up."""
    for name, module, text in (
        ("keys", keys, "issue, list and revoke the keys that clients on other computers need for serve"),
        ("policy", policy, "check a policy's file, and say what it allows and why"),
        ("audit", audit, "read and search the audit log, and check that it is complete"),
    ):
        command = commands.add_parser(name, help=text)
        module.add_options(command)
        command.set_defaults(run=module.run)

    commands.add_parser("vaults", help="list the vaults that Obsidian knows").set_defaults(run=lambda _: vaults.run())

    shown = commands.add_parser("demo", help="see a client and a server talk about a sample vault")
    shown.add_argument("--vault", metavar="PATH", help="talk about this vault instead, read-only")
    shown.set_defaults(
        run=lambda options: demo.run(make_config(options.vault, read_only=True) if options.vault else None)
    )

    linter = commands.add_parser("check", help="find what is broken in one note or in all notes")
    run_options.add_vault(linter)
    run_options.add_policy(linter)
    linter.add_argument("note", nargs="?", metavar="NOTE", help="path or name of one note (else: all)")
    linter.add_argument("--json", action="store_true", help="print the faults as JSON")
    linter.set_defaults(
        run=lambda options: check.run(
            make_config(options.vault, policy=options.policy), options.note, as_json=options.json
        )
    )

    examined = commands.add_parser("doctor", help="check this computer, a vault and the start-up time")
    run_options.add_vault(examined)
    run_options.add_policy(examined)
    examined.add_argument("--json", action="store_true", help="print the report as JSON")
    examined.set_defaults(
        run=lambda options: doctor.run(make_config(options.vault, policy=options.policy), as_json=options.json)
    )

    entry = commands.add_parser("client-config", help="print the entry that makes a client use vaultwire")
    run_options.add_all(entry)
    entry.add_argument("client", choices=client_config.CLIENTS, help="the client to print it for")
    entry.set_defaults(
        run=lambda options: client_config.run(options.client, make_config(**run_options.read_all(options)))
    )
