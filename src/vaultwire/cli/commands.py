"""The commands and their options. Each command's work lives in a module of its own beside this one."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any

from vaultwire import __version__
from vaultwire.cli import client_config, demo, doctor, keys, serve, serve_stdio
from vaultwire.config import PROMPTS_VARIABLE, VAULT_VARIABLE, make_config

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
    vault.add_argument("--vault", metavar="PATH", help=f"folder of Markdown notes (else: ${VAULT_VARIABLE})")
    changes = argparse.ArgumentParser(add_help=False)
    changes.add_argument("--read-only", action="store_true", help="neither list nor run tools that change notes")
    changes.add_argument(
        "--require-read-first",
        action="store_true",
        dest="read_first",
        help="edit a note only in a session that has read it",
    )
    prompts = argparse.ArgumentParser(add_help=False)
    prompts.add_argument(
        "--prompts", metavar="FOLDER", help=f"folder in the vault whose notes are prompts (else: ${PROMPTS_VARIABLE})"
    )

    stdio = commands.add_parser(
        "stdio", parents=[vault, changes, prompts], help="serve a vault to an MCP client over stdin and stdout"
    )
    stdio.set_defaults(run=lambda options: serve_stdio(**_settings(options)))

    served = commands.add_parser(
        "serve", parents=[vault, changes, prompts], help="serve a vault to clients over HTTP: MCP and a REST API"
    )
    serve.add_options(served)
    served.set_defaults(run=lambda options: serve.run(make_config(**_settings(options)), options))

    keyed = commands.add_parser(
        "keys", help="issue, list and revoke the keys that callers of serve need from elsewhere"
    )
    keys.add_options(keyed)
    keyed.set_defaults(run=keys.run)

    shown = commands.add_parser("demo", help="see a client and a server talk about a sample vault")
    shown.add_argument("--vault", metavar="PATH", help="talk about this vault instead, read-only")
    shown.set_defaults(run=_run_demo)

    checked = commands.add_parser("doctor", parents=[vault], help="check this computer, a vault and the start-up time")
    checked.add_argument("--json", action="store_true", help="print the report as JSON")
    checked.set_defaults(run=lambda options: doctor.run(make_config(options.vault), as_json=options.json))

    entry = commands.add_parser(
        "client-config", parents=[vault, changes, prompts], help="print the entry that makes a client use vaultwire"
    )
    entry.add_argument("client", choices=client_config.CLIENTS, help="the client to print it for")
    entry.set_defaults(run=lambda options: client_config.run(options.client, make_config(**_settings(options))))
    return parser


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options that ``make_config`` takes."""
    names = ("vault", "read_only", "read_first", "prompts")
    return {name: getattr(options, name) for name in names}


def _run_demo(options: argparse.Namespace) -> int:
    return demo.run(make_config(options.vault, read_only=True) if options.vault else None)
