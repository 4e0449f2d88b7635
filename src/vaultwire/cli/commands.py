"""The commands and their options. Each command's work lives in a module of its own beside this one."""

from __future__ import annotations

import argparse
import functools
import os
import sys
from collections.abc import Sequence
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
    limit_options,
    plugin,
    policy,
    serve,
    stdio,
    vaults,
)
from vaultwire.config import BACKENDS, POLICY_VARIABLE, PROMPTS_VARIABLE, VAULT_VARIABLE, make_config
from vaultwire.protocol.dialects import DIALECTS

_DESCRIPTION = "One program between an Obsidian vault and the AI assistants and editors that work with it."
_EPILOG = "Start with: vaultwire demo. Then: vaultwire client-config claude-desktop --vault PATH"


def run(arguments: Sequence[str]) -> int:
    """Run a command line and return its exit code. A wrong one ends the process with 2 and says what is right."""
    options = _parser().parse_args(arguments)
    try:
        code: int = options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output has seen enough: `vaultwire doctor | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="vaultwire", description=_DESCRIPTION, epilog=_EPILOG)
    parser.add_argument("--version", action="version", version=f"vaultwire {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    vault = argparse.ArgumentParser(add_help=False)
    vault.add_argument(
        "--vault",
        action="append",
        metavar="[NAME=]PATH",
        help=f"folder of Markdown notes, or the name of a vault that Obsidian knows (else: ${VAULT_VARIABLE}); may be "
        "given more than once, for several vaults",
    )
    changes = argparse.ArgumentParser(add_help=False)
    changes.add_argument("--read-only", action="store_true", help="neither list nor run tools that change notes")
    changes.add_argument(
        "--require-read-first",
        action="store_true",
        dest="read_first",
        help="edit a note only in a session that has read it",
    )
    ruled = argparse.ArgumentParser(add_help=False)
    ruled.add_argument(
        "--policy",
        metavar="FILE",
        help=f"file that says what is allowed, see docs/policy.md (else: ${POLICY_VARIABLE})",
    )
    restrained = argparse.ArgumentParser(add_help=False)
    limit_options.add_options(restrained)
    changes.add_argument(
        "--backend",
        choices=BACKENDS,
        help="offer the obsidian_* tools, answered by the running app or on the files, see docs/obsidian-app.md",
    )
    ruled.add_argument(
        "--dialect",
        choices=DIALECTS,
        help="spell names, answers and errors as a contract has them, see docs/contracts.md",
    )
    prompts = argparse.ArgumentParser(add_help=False)
    prompts.add_argument(
        "--prompts", metavar="FOLDER", help=f"folder in the vault whose notes are prompts (else: ${PROMPTS_VARIABLE})"
    )

    over_stdio = commands.add_parser(
        "stdio",
        parents=[vault, changes, prompts, ruled, restrained],
        help="serve a vault to an MCP client over stdin and stdout",
    )
    over_stdio.add_argument(
        "--standalone", action="store_true", help="use no running vaultwire serve, even if there is one"
    )
    over_stdio.set_defaults(run=lambda options: stdio.serve(standalone=options.standalone, **_settings(options)))

    served = commands.add_parser(
        "serve",
        parents=[vault, changes, prompts, ruled, restrained],
        help="serve a vault to clients over HTTP: MCP and a REST API",
    )
    serve.add_options(served)
    served.set_defaults(run=lambda options: serve.run(make_config(**_settings(options)), options))

    _add_editors(commands, [vault, ruled])
    _add_companions(commands, vault)

    connected = commands.add_parser(
        "connect", help="serve an MCP client over stdin and stdout what a server elsewhere has"
    )
    connect.add_options(connected)
    connected.set_defaults(run=connect.run)

    keyed = commands.add_parser(
        "keys", help="issue, list and revoke the keys that callers of serve need from elsewhere"
    )
    keys.add_options(keyed)
    keyed.set_defaults(run=keys.run)

    policed = commands.add_parser("policy", help="check a policy's file, and say what it allows and why")
    policy.add_options(policed)
    policed.set_defaults(run=policy.run)

    audited = commands.add_parser(
        "audit", help="read and search the log of what was asked, and see whether it is whole"
    )
    audit.add_options(audited)
    audited.set_defaults(run=audit.run)

    listed = commands.add_parser("vaults", help="list the vaults that Obsidian knows")
    listed.set_defaults(run=lambda _: vaults.run())

    shown = commands.add_parser("demo", help="see a client and a server talk about a sample vault")
    shown.add_argument("--vault", metavar="PATH", help="talk about this vault instead, read-only")
    shown.set_defaults(run=_run_demo)

    checked = commands.add_parser(
        "doctor", parents=[vault, ruled], help="check this computer, a vault and the start-up time"
    )
    checked.add_argument("--json", action="store_true", help="print the report as JSON")
    checked.set_defaults(
        run=lambda options: doctor.run(make_config(options.vault, policy=options.policy), as_json=options.json)
    )

    entry = commands.add_parser(
        "client-config",
        parents=[vault, changes, prompts, ruled, restrained],
        help="print the entry that makes a client use vaultwire",
    )
    entry.add_argument("client", choices=client_config.CLIENTS, help="the client to print it for")
    entry.set_defaults(run=lambda options: client_config.run(options.client, make_config(**_settings(options))))
    return parser


def _add_editors(commands: Any, parents: list[argparse.ArgumentParser]) -> None:
    linted = commands.add_parser("check", parents=parents, help="find what is broken in a note or in all of them")
    linted.add_argument("note", nargs="?", metavar="NOTE", help="path or name of one note (else: all)")
    linted.add_argument("--json", action="store_true", help="print the faults as JSON")
    linted.set_defaults(run=_run_check)

    bridged = commands.add_parser(
        "ide",
        parents=parents,
        help="be an editor to Claude Code: it sees which note is open, and asks before it writes",
    )
    ide.add_options(bridged)
    bridged.set_defaults(run=lambda options: ide.run(make_config(options.vault, policy=options.policy), options))


def _add_companions(commands: Any, vault: argparse.ArgumentParser) -> None:
    """Add what goes with ``ide``."""
    for name, said in (("mention", "point a note out to"), ("select", "show a note as the one in front to")):
        pointed = commands.add_parser(name, parents=[vault], help=f"{said} the assistants at a running vaultwire ide")
        editor_commands.add_options(pointed)
        pointed.set_defaults(run=functools.partial(editor_commands.run, do=name))

    plugged = commands.add_parser("plugin", help="put the companion plugin into a vault's Obsidian, or take it out")
    plugin.add_options(plugged, vault)
    plugged.set_defaults(run=plugin.run)


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options that ``make_config`` takes."""
    names = ("vault", "read_only", "read_first", "prompts", "policy", "backend", "dialect")
    return {**{name: getattr(options, name) for name in names}, "limits": limit_options.read_limits(options)}


def _run_check(options: argparse.Namespace) -> int:
    config = make_config(options.vault, policy=options.policy)
    return check.run(config, options.note, as_json=options.json)


def _run_demo(options: argparse.Namespace) -> int:
    return demo.run(make_config(options.vault, read_only=True) if options.vault else None)
